#include <errno.h>
#include <png.h>
#include <string.h>
#include "runtime/cli/image.h"

d4r_status cli_png_write(const char *path, d4r_size size, const uint8_t *rgb, const d4r_log *log)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = size.width;
    image.height = size.height;
    image.format = PNG_FORMAT_RGB;
    errno = 0;
    if (png_image_write_to_file(&image, path, 0, rgb, 0, NULL)) return D4R_OK;
    /* libpng says "Write Error" of a full disk: the system knows better. */
    return d4r_fail(log, D4R_ERROR_IO, "%s: cannot be written: %s", path,
                    errno ? strerror(errno) : image.message);
}
