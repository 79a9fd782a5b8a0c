#include "runtime/settings.h"

#include <math.h>
#include "runtime/base/log.h"

d4r_frame_settings d4r_frame_settings_default(d4r_size render)
{
    return (d4r_frame_settings){
        .render = render, .motion_scale = {1.0f, 1.0f}, .exposure = 1.0f, .pre_exposure = 1.0f};
}

static d4r_status check_render(d4r_size render, d4r_size output, const d4r_log *log)
{
    if (render.width < D4R_MIN_DIMENSION || render.height < D4R_MIN_DIMENSION)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "settings.render is %ux%u; at least %ux%u is needed",
                        render.width, render.height, D4R_MIN_DIMENSION, D4R_MIN_DIMENSION);
    if (render.width > output.width || render.height > output.height)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "settings.render is %ux%u, larger than the output of %ux%u",
                        render.width, render.height, output.width, output.height);
    return D4R_OK;
}

d4r_status d4r_frame_settings_check(const d4r_frame_settings *settings, d4r_size output, const d4r_log *log)
{
    d4r_vec2 jitter, scale;
    d4r_status status;
    if (!settings) return d4r_fail(log, D4R_ERROR_ARGUMENT, "settings is NULL");
    jitter = settings->jitter;
    scale = settings->motion_scale;
    status = check_render(settings->render, output, log);
    if (status != D4R_OK) return status;
    if (!isfinite(jitter.x) || !isfinite(jitter.y))
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "settings.jitter is (%g, %g); it must be finite",
                        (double)jitter.x, (double)jitter.y);
    if (!isfinite(scale.x) || !isfinite(scale.y) || scale.x == 0 || scale.y == 0)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "settings.motion_scale is (%g, %g); both must be finite and not 0", (double)scale.x,
                        (double)scale.y);
    if (!isfinite(settings->pre_exposure) || settings->pre_exposure <= 0)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "settings.pre_exposure is %g; it must be finite and larger than 0",
                        (double)settings->pre_exposure);
    if (fabsf(jitter.x) > 1 || fabsf(jitter.y) > 1)
        d4r_log_print(log, D4R_LOG_WARNING,
                      "settings.jitter is (%g, %g); render pixels within 1 are expected", (double)jitter.x,
                      (double)jitter.y);
    if (settings->pre_exposure < 1e-4f || settings->pre_exposure > 1e4f)
        d4r_log_print(log, D4R_LOG_WARNING, "settings.pre_exposure is %g; 1e-4 to 1e4 is expected",
                      (double)settings->pre_exposure);
    return D4R_OK;
}

d4r_status d4r_check_sizes(const char *where, d4r_size output, d4r_size *max_render, const d4r_log *log)
{
    if (output.width < D4R_MIN_DIMENSION || output.height < D4R_MIN_DIMENSION ||
        output.width > D4R_MAX_DIMENSION || output.height > D4R_MAX_DIMENSION)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "%s.output is %ux%u; each must lie between %u and %u", where,
                        output.width, output.height, D4R_MIN_DIMENSION, D4R_MAX_DIMENSION);
    if (max_render->width == 0 && max_render->height == 0) *max_render = output;
    if (max_render->width < D4R_MIN_DIMENSION || max_render->height < D4R_MIN_DIMENSION ||
        max_render->width > output.width || max_render->height > output.height)
        return d4r_fail(log, D4R_ERROR_ARGUMENT,
                        "%s.max_render is %ux%u; it must lie between %ux%u and the output of %ux%u", where,
                        max_render->width, max_render->height, D4R_MIN_DIMENSION, D4R_MIN_DIMENSION,
                        output.width, output.height);
    return D4R_OK;
}

d4r_status d4r_check_conventions(const char *where, const d4r_conventions *conventions, const d4r_log *log)
{
    if ((unsigned)conventions->motion_unit > D4R_MOTION_NDC)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "%s.conventions.motion_unit is %d, which is unknown", where,
                        (int)conventions->motion_unit);
    if ((unsigned)conventions->exposure_mode > D4R_EXPOSURE_TEXTURE)
        return d4r_fail(log, D4R_ERROR_ARGUMENT, "%s.conventions.exposure_mode is %d, which is unknown",
                        where, (int)conventions->exposure_mode);
    return D4R_OK;
}
