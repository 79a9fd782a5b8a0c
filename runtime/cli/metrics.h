/* Picture quality: PSNR, SSIM and tPSNR on display values.
 *
 * display(v) = sRGB(clip(max(v, 0) / (1 + max(v, 0)))) a channel for HDR pictures, clip(v) for LDR ones. PSNR is
 * over R, G, B with peak 1; SSIM (11x11 Gaussian, sigma 1.5, windows that lie inside the picture) is on Rec.709
 * luma of the display values; tPSNR is the PSNR of the differences of consecutive frames. */
#ifndef D4R_RUNTIME_CLI_METRICS_H
#define D4R_RUNTIME_CLI_METRICS_H

#include "runtime/cli/image.h"

#define CLI_PSNR_CAP 100.0 /* reported for identical pictures */

/* A picture as display values, interleaved RGB. */
typedef struct cli_display {
    d4r_size size;
    float *rgb;
    size_t not_finite; /* pixels of the source with a NaN or Inf among R, G, B */
} cli_display;

float cli_display_value(float value, bool ldr); /* NaN gives 0, Inf 1 */
d4r_status cli_display_make(const cli_image *image, bool ldr, const d4r_log *log, cli_display *display);
void cli_display_free(cli_display *display);

/* Sizes must agree. Non-zero `rect` = x, y, width, height restricts PSNR to a part. */
double cli_psnr(const cli_display *a, const cli_display *b, const uint32_t rect[4]);
/* NaN when the picture is smaller than 11x11 or memory is exhausted. */
double cli_ssim(const cli_display *a, const cli_display *b);
/* Of two consecutive frames each. */
double cli_tpsnr(const cli_display *a, const cli_display *a_before, const cli_display *b,
                 const cli_display *b_before);

#endif
