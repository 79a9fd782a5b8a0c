/* picture_spread OUT CLEAN FRAMES X Y RADIUS: exit code 0 when every picture of OUT is finite and differs from
 * CLEAN only within RADIUS output pixels of (X, Y) and its way along the motion (+-RADIUS more a frame). Outside,
 * a difference of display values below one 8-bit step is allowed: a measured exposure changes a little when one
 * pixel is left out of the mean. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cli/metrics.h"
#include "runtime/cli/picture.h"

static d4r_status load(const char *folder, size_t index, cli_display *display)
{
    cli_pictures pictures;
    cli_image image;
    d4r_status status = cli_pictures_open(folder, cli_log(), &pictures);
    if (status != D4R_OK) return status;
    status = cli_pictures_load(&pictures, index, cli_log(), &image);
    if (status == D4R_OK) status = cli_display_make(&image, false, cli_log(), display);
    cli_image_free(&image);
    cli_pictures_free(&pictures);
    return status;
}

int main(int count, char **arguments)
{
    cli_start("picture_spread");
    if (count != 7) return 2;
    long frames = atol(arguments[3]), cx = atol(arguments[4]), cy = atol(arguments[5]),
         radius = atol(arguments[6]);
    int bad = 0;
    for (long i = 0; i < frames; i++) {
        cli_display a, b;
        if (load(arguments[1], (size_t)i, &a) != D4R_OK || load(arguments[2], (size_t)i, &b) != D4R_OK)
            return 1;
        long inside = 0, outside = 0, far = radius * (i < 1 ? 1 : i);
        double worst = 0;
        for (size_t p = 0; p < (size_t)a.size.width * a.size.height; p++) {
            double difference = 0;
            for (size_t c = 0; c < 3; c++)
                difference = fmax(difference, fabs((double)a.rgb[3 * p + c] - (double)b.rgb[3 * p + c]));
            if (difference < 1.0 / 255) continue;
            long x = (long)(p % a.size.width), y = (long)(p / a.size.width);
            if (labs(x - cx) <= far && labs(y - cy) <= far)
                inside++;
            else
                outside++;
            worst = fmax(worst, difference);
        }
        printf("frame %ld: %zu not finite, %ld pixels differ near, %ld elsewhere, largest difference %.3f\n",
               i, a.not_finite, inside, outside, worst);
        bad += a.not_finite != 0 || outside != 0;
        cli_display_free(&a);
        cli_display_free(&b);
    }
    return bad != 0;
}
