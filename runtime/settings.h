/* Checks shared by the recording level and the upscaler: each names the field and its values. */
#ifndef D4R_RUNTIME_SETTINGS_H
#define D4R_RUNTIME_SETTINGS_H

#include "d4r/d4r.h"

/* Output and largest render size (0, 0: output, replaced), against d4r's own limits. */
d4r_status d4r_check_sizes(const char *where, d4r_size output, d4r_size *max_render, const d4r_log *log);
d4r_status d4r_check_conventions(const char *where, const d4r_conventions *conventions, const d4r_log *log);

/* Whether the exposure image of a frame is read. */
static inline bool d4r_uses_exposure_image(const d4r_conventions *conventions)
{
    return !conventions->ldr && conventions->exposure_mode == D4R_EXPOSURE_TEXTURE;
}

/* Size of the motion image's rectangle. */
static inline d4r_size d4r_motion_size(const d4r_conventions *conventions, d4r_size render, d4r_size output)
{
    return conventions->motion_at_output ? output : render;
}

#endif
