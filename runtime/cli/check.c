#include "runtime/cli/check_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS 12
#define MAX_SAMPLES 60000.0 /* pixels compared a pair; larger frames are sampled on a grid */
#define MIN_MARGIN 0.1      /* dB between two hypotheses that counts as a decision */

static float *luma_of(const cli_image *color)
{
    size_t pixels = (size_t)color->size.width * color->size.height;
    float *luma = malloc(pixels * sizeof *luma);
    if (!luma) return NULL;
    for (uint32_t y = 0; y < color->size.height; y++)
        for (uint32_t x = 0; x < color->size.width; x++) {
            float r = cli_image_get(color, x, y, 0), g = cli_image_get(color, x, y, 1),
                  b = cli_image_get(color, x, y, 2);
            float value = 0.2126f * r + 0.7152f * g + 0.0722f * b;
            value = isfinite(value) && value < 0 ? 0 : value;
            luma[(size_t)y * color->size.width + x] = isfinite(value) ? value / (1 + value) : NAN;
        }
    return luma;
}

static void free_pair(check_pair *p)
{
    free(p->current);
    free(p->previous);
    cli_image_free(&p->motion);
    cli_image_free(&p->depth);
}

/* ---- warping */

double check_sample(const check_pair *p, const double place[2])
{
    double fx = floor(place[0]), fy = floor(place[1]);
    uint32_t width = p->size.width, x0 = (uint32_t)fx, y0 = (uint32_t)fy;
    const float *at = p->previous + (size_t)y0 * width + x0;
    double tx = place[0] - fx, ty = place[1] - fy;
    uint32_t right = x0 + 1 < width ? 1 : 0;
    size_t below = y0 + 1 < p->size.height ? width : 0;
    return (1 - ty) * ((1 - tx) * (double)at[0] + tx * (double)at[right]) +
           ty * ((1 - tx) * (double)at[below] + tx * (double)at[below + right]);
}

/* Factors from stored vectors to render pixels. */
static void unit_factors(const cli_sequence *sequence, const check_pair *p, d4r_motion_unit unit,
                         double factor[2])
{
    double render[2] = {p->size.width, p->size.height},
           output[2] = {sequence->output.width, sequence->output.height};
    for (int i = 0; i < 2; i++)
        factor[i] = unit == D4R_MOTION_RENDER_PIXELS   ? 1
                    : unit == D4R_MOTION_OUTPUT_PIXELS ? render[i] / output[i]
                    : unit == D4R_MOTION_UV            ? render[i]
                                                       : render[i] / 2;
    factor[0] *= (double)p->scale.x;
    factor[1] *= (double)p->scale.y;
}

static uint32_t stride_for(d4r_size size)
{
    double stride = ceil(sqrt((double)size.width * size.height / MAX_SAMPLES));
    return stride < 1 ? 1 : (uint32_t)stride;
}

/* The stored vector that belongs to a render pixel. */
static void vector_at(const cli_sequence *sequence, const check_pair *p, uint32_t x, uint32_t y,
                      double vector[2])
{
    if (sequence->conventions.motion_at_output) {
        x = (uint32_t)((x + 0.5) * p->motion.size.width / p->size.width);
        y = (uint32_t)((y + 0.5) * p->motion.size.height / p->size.height);
    }
    vector[0] = (double)cli_image_get(&p->motion, x, y, 0);
    vector[1] = (double)cli_image_get(&p->motion, x, y, 1);
}

check_warp check_warp_of(const cli_sequence *sequence, const check_pair *p, const check_hypothesis *h)
{
    check_warp warp = {.shift = {0, 0}};
    unit_factors(sequence, p, h->unit, warp.factor);
    warp.factor[0] *= h->sx;
    warp.factor[1] *= h->sy;
    if (!h->jittered) {
        warp.shift[0] = h->jx * (double)(p->jitter.x - p->jitter_previous.x);
        warp.shift[1] = h->jy * (double)(p->jitter.y - p->jitter_previous.y);
    }
    return warp;
}

bool check_place(const cli_sequence *sequence, const check_pair *p, const check_warp *warp, uint32_t x,
                 uint32_t y, double place[2])
{
    double vector[2];
    vector_at(sequence, p, x, y, vector);
    place[0] = x + warp->shift[0];
    place[1] = y + warp->shift[1];
    for (int i = 0; i < 2; i++)
        if (warp->factor[i] != 0) place[i] += warp->factor[i] * vector[i];
    return place[0] >= 0 && place[1] >= 0 && place[0] <= p->size.width - 1 && place[1] <= p->size.height - 1;
}

/* Squared error of one pair under a hypothesis, added to sums[0] (pixels counted in sums[1]). */
static void warp_pair(const cli_sequence *sequence, const check_pair *p, const check_hypothesis *h,
                      double sums[2])
{
    uint32_t step = stride_for(p->size);
    check_warp warp = check_warp_of(sequence, p, h);
    for (uint32_t y = 0; y < p->size.height; y += step)
        for (uint32_t x = 0; x < p->size.width; x += step) {
            double place[2];
            if (!check_place(sequence, p, &warp, x, y, place)) continue;
            double error = check_sample(p, place) - (double)p->current[(size_t)y * p->size.width + x];
            if (!isfinite(error)) continue;
            sums[0] += error * error;
            sums[1] += 1;
        }
}

static double warp_psnr(const cli_sequence *sequence, const check_pair *pairs, size_t count,
                        const check_hypothesis *h)
{
    double sums[2] = {0, 0}, possible = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t step = stride_for(pairs[i].size);
        possible +=
            (double)((pairs[i].size.width + step - 1) / step) * ((pairs[i].size.height + step - 1) / step);
        warp_pair(sequence, &pairs[i], h, sums);
    }
    if (sums[1] < possible / 10) return 0; /* nearly everything leaves the screen: no explanation */
    double mean = sums[0] / sums[1];
    return mean > 1e-10 ? -10 * log10(mean) : 100;
}

/* ---- reading pairs */

static void survey(const cli_sequence *sequence, const cli_planes *planes, cli_check *check)
{
    (void)sequence;
    const cli_image *color = &planes->color, *motion = &planes->motion, *depth = &planes->depth;
    for (uint32_t y = 0; y < color->size.height; y++)
        for (uint32_t x = 0; x < color->size.width; x++) {
            float d = cli_image_get(depth, x, y, 0);
            bool good = true;
            for (uint32_t c = 0; c < 3; c++) {
                float v = cli_image_get(color, x, y, c);
                good = good && isfinite(v);
                if (isfinite(v) && v > check->color_high) check->color_high = v;
            }
            check->bad_color += !good;
            check->bad_depth += !isfinite(d);
            if (isfinite(d)) check->depth_low = fminf(check->depth_low, d);
            if (isfinite(d)) check->depth_high = fmaxf(check->depth_high, d);
        }
    for (uint32_t y = 0; y < motion->size.height; y++)
        for (uint32_t x = 0; x < motion->size.width; x++)
            check->bad_motion +=
                !isfinite(cli_image_get(motion, x, y, 0)) || !isfinite(cli_image_get(motion, x, y, 1));
}

static bool usable(const cli_sequence *sequence, size_t index)
{
    const d4r_frame_settings *now = &sequence->frames[index].settings,
                             *before = &sequence->frames[index - 1].settings;
    return !now->reset && now->render.width == before->render.width &&
           now->render.height == before->render.height;
}

static d4r_status load_pair(const cli_sequence *sequence, size_t index, const d4r_log *log, cli_check *check,
                            check_pair *p)
{
    const cli_frame *frame = &sequence->frames[index], *before = frame - 1;
    cli_planes planes;
    char field[64];
    cli_image color;
    cli_expect expect = {
        .field = field, .kind = CLI_COLOR, .size = before->settings.render, .bits = sequence->color_bits};
    memset(p, 0, sizeof *p);
    d4r_status status = cli_planes_load(sequence, index, log, &planes);
    if (status != D4R_OK) return status;
    survey(sequence, &planes, check);
    snprintf(field, sizeof field, "frames[%zu].color", index - 1);
    status = cli_image_load(before->color, &expect, log, &color);
    if (status == D4R_OK) {
        p->size = frame->settings.render;
        p->jitter = frame->settings.jitter;
        p->jitter_previous = before->settings.jitter;
        p->scale = frame->settings.motion_scale;
        p->current = luma_of(&planes.color);
        p->previous = luma_of(&color);
        p->motion = planes.motion;
        p->depth = planes.depth;
        memset(&planes.motion, 0, sizeof planes.motion);
        memset(&planes.depth, 0, sizeof planes.depth);
        if (!p->current || !p->previous)
            status = d4r_fail(log, D4R_ERROR_MEMORY, "no memory to check conventions");
        cli_image_free(&color);
    }
    cli_planes_free(&planes);
    if (status != D4R_OK) free_pair(p);
    return status;
}

static d4r_status load_pairs(const cli_sequence *sequence, const d4r_log *log, cli_check *check,
                             check_pair *pairs)
{
    size_t candidates = sequence->frame_count > 1 ? sequence->frame_count - 1 : 0;
    size_t step = candidates > MAX_PAIRS ? candidates / MAX_PAIRS : 1;
    d4r_status status = D4R_OK;
    for (size_t i = 1; status == D4R_OK && i <= candidates && check->pairs < MAX_PAIRS; i += step) {
        if (!usable(sequence, i)) {
            check->left_out++;
            continue;
        }
        status = load_pair(sequence, i, log, check, &pairs[check->pairs]);
        if (status == D4R_OK) check->pairs++;
    }
    return status;
}

static void measure_sizes(const cli_sequence *sequence, const check_pair *pairs, cli_check *check)
{
    double motion = 0, pixels = 0, jitter = 0;
    for (size_t i = 0; i < check->pairs; i++) {
        const check_pair *p = &pairs[i];
        double factor[2];
        unit_factors(sequence, p, sequence->conventions.motion_unit, factor);
        for (uint32_t y = 0; y < p->size.height; y += 4)
            for (uint32_t x = 0; x < p->size.width; x += 4) {
                double vector[2];
                vector_at(sequence, p, x, y, vector);
                double length = hypot(vector[0] * factor[0], vector[1] * factor[1]);
                if (!isfinite(length)) continue;
                motion += length;
                pixels += 1;
            }
        jitter +=
            hypot((double)(p->jitter.x - p->jitter_previous.x), (double)(p->jitter.y - p->jitter_previous.y));
    }
    check->motion_size = pixels > 0 ? motion / pixels : 0;
    check->jitter_size = check->pairs ? jitter / (double)check->pairs : 0;
}

/* ---- deciding */

static int best_of(const double *values, int count, int preferred)
{
    int best = preferred;
    for (int i = 0; i < count; i++)
        if (values[i] > values[best] + 1e-9) best = i;
    return best;
}

/* Margin between the best hypotheses with and without `bit`. */
static bool sign_known(const double values[4], int bit)
{
    double with = fmax(values[bit], values[3]), without = fmax(values[0], values[3 - bit]);
    return fabs(with - without) >= MIN_MARGIN;
}

static void sign_of(int index, double *x, double *y)
{
    *x = index & 1 ? -1 : 1;
    *y = index & 2 ? -1 : 1;
}

static void try_motion(const cli_sequence *sequence, const check_pair *pairs, check_hypothesis *h,
                       cli_check *check)
{
    d4r_motion_unit declared = sequence->conventions.motion_unit;
    double table[4][4];
    for (int unit = 0; unit < 4; unit++)
        for (int sign = 0; sign < 4; sign++) {
            double x, y;
            sign_of(sign, &x, &y);
            check_hypothesis trial = *h;
            trial.unit = (d4r_motion_unit)unit;
            trial.sx = x * (sequence->conventions.motion_reversed ? -1 : 1);
            trial.sy = y * (sequence->conventions.motion_reversed ? -1 : 1) *
                       (sequence->conventions.motion_flip_y ? -1 : 1);
            table[unit][sign] = warp_psnr(sequence, pairs, check->pairs, &trial);
        }
    double by_unit[4];
    for (int unit = 0; unit < 4; unit++) {
        check->unit[unit] = table[unit][0];
        by_unit[unit] = table[unit][best_of(table[unit], 4, 0)];
    }
    check->best_unit = best_of(by_unit, 4, (int)declared);
    check->unit_known =
        by_unit[check->best_unit] >= by_unit[declared] + MIN_MARGIN || check->best_unit == (int)declared;
    if (!check->unit_known) check->best_unit = (int)declared;
    memcpy(check->motion, table[check->best_unit], sizeof check->motion);
    check->best_motion = best_of(check->motion, 4, 0);
    check->motion_x_known = sign_known(check->motion, 1);
    check->motion_y_known = sign_known(check->motion, 2);
    if (!check->motion_x_known) check->best_motion &= 2;
    if (!check->motion_y_known) check->best_motion &= 1;
    double x, y;
    sign_of(check->best_motion, &x, &y);
    h->unit = (d4r_motion_unit)check->best_unit;
    h->sx = x * (sequence->conventions.motion_reversed ? -1 : 1);
    h->sy =
        y * (sequence->conventions.motion_reversed ? -1 : 1) * (sequence->conventions.motion_flip_y ? -1 : 1);
}

static void try_jitter(const cli_sequence *sequence, const check_pair *pairs, check_hypothesis *h,
                       cli_check *check)
{
    for (int sign = 0; sign < 4; sign++) {
        check_hypothesis trial = *h;
        trial.jittered = false;
        sign_of(sign, &trial.jx, &trial.jy);
        check->jitter[sign] = warp_psnr(sequence, pairs, check->pairs, &trial);
    }
    check->best_jitter = best_of(check->jitter, 4, 0);
    check->jitter_x_known = sign_known(check->jitter, 1);
    check->jitter_y_known = sign_known(check->jitter, 2);
    if (!check->jitter_x_known) check->best_jitter &= 2;
    if (!check->jitter_y_known) check->best_jitter &= 1;
    sign_of(check->best_jitter, &h->jx, &h->jy);
    check_hypothesis trial = *h;
    for (int with = 0; with < 2; with++) {
        trial.jittered = with;
        check->jittered[with] = warp_psnr(sequence, pairs, check->pairs, &trial);
    }
}

d4r_status cli_check_planes(const cli_sequence *sequence, const d4r_log *log)
{
    d4r_status status = D4R_OK;
    for (size_t i = 0; status == D4R_OK && i < sequence->frame_count && !cli_interrupted(); i++) {
        cli_planes planes;
        cli_image reference = {0};
        status = cli_planes_load(sequence, i, log, &planes);
        if (status != D4R_OK) break;
        cli_planes_free(&planes);
        if (sequence->frames[i].reference) status = cli_reference_load(sequence, i, log, &reference);
        cli_image_free(&reference);
    }
    return status;
}

d4r_status cli_check_run(const cli_sequence *sequence, const d4r_log *log, cli_check *check)
{
    check_pair pairs[MAX_PAIRS];
    memset(check, 0, sizeof *check);
    check->depth_low = INFINITY;
    check->depth_high = -INFINITY;
    check->best_unit = (int)sequence->conventions.motion_unit;
    d4r_status status = load_pairs(sequence, log, check, pairs);
    if (status == D4R_OK && check->pairs) {
        check_hypothesis h = {.unit = sequence->conventions.motion_unit,
                              .jittered = sequence->conventions.motion_jittered,
                              .jx = 1,
                              .jy = 1};
        check_hypothesis still = h;
        measure_sizes(sequence, pairs, check);
        check->unwarped = warp_psnr(sequence, pairs, check->pairs, &still);
        /* Vectors move further than jitter, so they are settled first, then again with the jitter's signs. */
        for (int round = 0; round < 2; round++) {
            try_motion(sequence, pairs, &h, check);
            try_jitter(sequence, pairs, &h, check);
        }
        check->best_jittered = sequence->conventions.motion_jittered;
        check->jittered_known = fabs(check->jittered[1] - check->jittered[0]) >= MIN_MARGIN;
        if (check->jittered_known) check->best_jittered = check->jittered[1] > check->jittered[0];
        h.jittered = check->best_jittered;
        status = check_depth(sequence, pairs, &h, log, check);
    }
    for (size_t i = 0; i < check->pairs; i++) free_pair(&pairs[i]);
    return status;
}
