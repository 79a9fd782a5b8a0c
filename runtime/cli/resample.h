/* Plain spatial upscalers, the baselines: they know the jitter, nothing else. */
#ifndef D4R_RUNTIME_CLI_RESAMPLE_H
#define D4R_RUNTIME_CLI_RESAMPLE_H

#include "runtime/cli/image.h"

typedef enum cli_filter { CLI_NEAREST, CLI_BILINEAR, CLI_BICUBIC /* Catmull-Rom */ } cli_filter;

/* RGBA f32 of size `output` from the render-size colour, in its own (linear) values; edges are clamped. */
d4r_status cli_upscale(const cli_image *color, d4r_vec2 jitter, cli_filter filter, d4r_size output,
                       const d4r_log *log, cli_image *result);

#endif
