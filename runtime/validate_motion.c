/* The validation mode: evidence about motion vectors and jitter. Thresholds and their margins: docs/debugging.md. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/validate.h"

#define MIN_FRAMES 3        /* frames that must agree */
#define MIN_GAIN 1.5        /* dB by which another reading must fit better on average */
#define MIN_FRAME_GAIN 0.4  /* ... in every frame */
#define MIN_OVER_ZERO 0.6   /* dB by which it must beat no vectors at all */
#define UNRELATED_GAIN 3.0  /* dB by which no vectors must fit better */
#define UNRELATED_MATCH 0.8 /* ... and how badly the declared ones must match */
#define MIN_LENGTH 0.4      /* render pixels: shorter vectors tell nothing */
#define MIN_MATCH 0.75      /* correlation with the warped frame from which on the vectors are trusted */
#define SIGN_SHARE (-0.6)   /* share of the declared jitter that the image moves by */
#define LOW_SHARE 0.72
#define HIGH_SHARE 1.5
#define NO_SHARE 0.2
#define SIGN_PAIRS 5
#define MIN_EXPLAINED \
    0.05 /* of the squared difference, by the shifts: moire moves otherwise, but explains little */
#define ABSENT_ERROR 0.05
#define SCALE_PAIRS 6
#define MAX_ERROR 0.15 /* standard error of a share */
#define LONG 48.0      /* frames after which sums are halved */

static const char *const unit_names[] = {"render pixels", "output pixels", "UV (1 = the image)",
                                         "NDC (2 = the image)"};
static const char *const unit_constants[] = {"D4R_MOTION_RENDER_PIXELS", "D4R_MOTION_OUTPUT_PIXELS",
                                             "D4R_MOTION_UV", "D4R_MOTION_NDC"};

/* ---- readings ---- */

/* Render pixels per stored unit. */
static double unit_factor(d4r_motion_unit unit, uint32_t render, uint32_t output)
{
    switch (unit) {
    case D4R_MOTION_OUTPUT_PIXELS:
        return (double)render / output;
    case D4R_MOTION_UV:
        return render;
    case D4R_MOTION_NDC:
        return render / 2.0;
    case D4R_MOTION_RENDER_PIXELS:
        break;
    }
    return 1;
}

static void add(d4r_validate *v, d4r_reading reading)
{
    if (v->reading_count < D4R_V_HYPOTHESES) v->readings[v->reading_count++] = reading;
}

static void list_readings(d4r_validate *v)
{
    static const int signs[4][2] = {{1, 1}, {1, -1}, {-1, -1}, {-1, 1}};
    add(v, (d4r_reading){D4R_READING_DECLARED, v->conventions.motion_unit, 1, 1, 1});
    add(v, (d4r_reading){D4R_READING_ZERO, v->conventions.motion_unit, 0, 0, 1});
    for (int i = 1; i < 4; i++)
        add(v, (d4r_reading){D4R_READING_SIGN, v->conventions.motion_unit, signs[i][0], signs[i][1], 1});
    for (d4r_motion_unit unit = D4R_MOTION_RENDER_PIXELS; unit <= D4R_MOTION_NDC; unit++)
        for (int i = 0; i < 4 && unit != v->conventions.motion_unit; i++)
            add(v, (d4r_reading){D4R_READING_UNIT, unit, signs[i][0], signs[i][1], 1});
    add(v, (d4r_reading){D4R_READING_SCALE, v->conventions.motion_unit, 1, 1, 2});
    add(v, (d4r_reading){D4R_READING_SCALE, v->conventions.motion_unit, 1, 1, 0.5});
}

void d4r_validate_readings(d4r_validate *v, d4r_size render, const d4r_frame_settings *settings,
                           d4r_v_params *params)
{
    const d4r_conventions *c = &v->conventions;
    double sx = (c->motion_reversed ? -1.0 : 1.0) * (double)settings->motion_scale.x;
    double sy = (c->motion_reversed ? -1.0 : 1.0) * (c->motion_flip_y ? -1.0 : 1.0) *
                (double)settings->motion_scale.y;
    if (v->reading_count == 0) list_readings(v);
    params->hypothesis_count = v->reading_count;
    for (uint32_t i = 0; i < v->reading_count; i++) {
        const d4r_reading *r = &v->readings[i];
        params->hypotheses[i] = (d4r_gpu_vec4){
            .x = (float)(sx * r->sx * r->scale * unit_factor(r->unit, render.width, v->output.width)),
            .y = (float)(sy * r->sy * r->scale * unit_factor(r->unit, render.height, v->output.height))};
    }
}

/* ---- motion ---- */

static void fade(d4r_evidence *e)
{
    for (int i = 0; i < D4R_V_HYPOTHESES; i++) {
        e->gain[i] /= 2;
        e->against_zero[i] /= 2;
        e->wins[i] /= 2;
    }
    e->motion_frames /= 2;
}

/* Adds the frame's gains. Squared errors below 1e-7 count as that: nothing fits better than well. */
static void add_gains(d4r_validate *v, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    double error[D4R_V_HYPOTHESES] = {0}, zero;
    bool moves = false;
    for (uint32_t i = 0; i < v->reading_count; i++) {
        const float *a = slot + i * 8;
        bool seen = a[1] >= 0.25f * (a[1] + a[3]) && a[1] >= 500;
        error[i] = seen ? fmax((double)a[0] / (double)a[1], 1e-7) : -1;
        /* Readings that reach far are no evidence of motion by themselves, only when they fit. */
        moves |= seen && (double)a[2] / (double)a[1] >= MIN_LENGTH && (i == 0 || error[i] < 0.7 * error[0]);
    }
    if (error[0] < 0) moves = true;
    zero = error[1];
    if (!moves || zero < 0) return;
    /* Declared vectors that leave the screen explain as much as none. */
    if (error[0] < 0) error[0] = zero;
    for (uint32_t i = 0; i < v->reading_count; i++) {
        double gain = error[i] < 0 ? -10 : 10 * log10(error[0] / error[i]);
        e->gain[i] += gain;
        e->against_zero[i] += error[i] < 0 ? -10 : 10 * log10(zero / error[i]);
        e->wins[i] += gain >= MIN_FRAME_GAIN;
    }
    if (++e->motion_frames >= LONG) fade(e);
}

static void name_sign(d4r_validate *v, uint64_t frame, const d4r_reading *r, double gain, double frames)
{
    const char *field = r->sx < 0 && r->sy < 0         ? "conventions.motion_reversed"
                        : r->sx > 0                    ? "conventions.motion_flip_y"
                        : v->conventions.motion_flip_y ? "conventions.motion_reversed and clear motion_flip_y"
                                                       : "conventions.motion_reversed and motion_flip_y";
    bool set = r->sx < 0 && r->sy < 0 ? v->conventions.motion_reversed
               : r->sx > 0            ? v->conventions.motion_flip_y
                                      : false;
    d4r_validate_find(
        v, D4R_FINDING_MOTION_SIGN, frame, gain / MIN_GAIN,
        "motion vectors seem to point the other way%s: the frame before, moved by (%s, %s), fits %.1f dB "
        "better over %.0f frames; %s %s, or negate settings.motion_scale%s",
        r->sx < 0 && r->sy < 0 ? ""
        : r->sx < 0            ? " along x"
                               : " along y",
        r->sx < 0 ? "-x" : "x", r->sy < 0 ? "-y" : "y", gain, frames, set ? "clear" : "set", field,
        r->sx < 0 && r->sy < 0 ? ""
        : r->sx < 0            ? ".x"
                               : ".y");
}

static void name_unit(d4r_validate *v, uint64_t frame, const d4r_reading *r, double gain, double frames)
{
    d4r_motion_unit declared = v->conventions.motion_unit;
    char also[96] = "";
    if (r->sx < 0 || r->sy < 0)
        snprintf(also, sizeof also, " and negate settings.motion_scale%s",
                 r->sx < 0 && r->sy < 0 ? ""
                 : r->sx < 0            ? ".x"
                                        : ".y");
    else if (r->unit <= D4R_MOTION_OUTPUT_PIXELS && declared <= D4R_MOTION_OUTPUT_PIXELS)
        snprintf(also, sizeof also, ", or multiply settings.motion_scale by %.3g",
                 unit_factor(r->unit, v->previous_render.width, v->output.width) /
                     unit_factor(declared, v->previous_render.width, v->output.width));
    d4r_validate_find(
        v, D4R_FINDING_MOTION_UNIT, frame, gain / MIN_GAIN,
        "motion vectors seem to be in %s, not in %s: read so, the frame before fits %.1f dB better over "
        "%.0f frames; set conventions.motion_unit to %s%s",
        unit_names[r->unit], unit_names[declared], gain, frames, unit_constants[r->unit], also);
}

static void judge_motion(d4r_validate *v, uint64_t frame)
{
    const d4r_evidence *e = &v->evidence;
    double frames = e->motion_frames, gain;
    uint32_t best = 0;
    const d4r_reading *r;
    if (frames < MIN_FRAMES || d4r_validate_known(v, D4R_FINDING_RENDER_RECTANGLE)) return;
    for (uint32_t i = 1; i < v->reading_count; i++)
        if (e->gain[i] > e->gain[best] + 1e-6) best = i;
    gain = e->gain[best] / frames;
    r = &v->readings[best];
    if (gain < MIN_GAIN || e->wins[best] < 0.85 * frames) return;
    if (r->kind == D4R_READING_ZERO) {
        /* Things whose light stands still while they move fit badly too, but only they. */
        if (frames >= 2 * MIN_FRAMES && gain >= UNRELATED_GAIN && v->matches > 0 &&
            v->match[0] < UNRELATED_MATCH)
            d4r_validate_find(
                v, D4R_FINDING_MOTION_UNRELATED, frame, gain / MIN_GAIN,
                "motion vectors do not seem to describe the frames: without them the frame before fits %.1f "
                "dB "
                "better over %.0f frames, and no other sign, scale or unit does; check that they are of this "
                "frame and cleared where nothing is drawn",
                gain, frames);
        return;
    }
    if (e->against_zero[best] / frames < MIN_OVER_ZERO) return;
    if (r->kind == D4R_READING_SIGN) name_sign(v, frame, r, gain, frames);
    if (r->kind == D4R_READING_UNIT) name_unit(v, frame, r, gain, frames);
    if (r->kind == D4R_READING_SCALE)
        d4r_validate_find(
            v, D4R_FINDING_MOTION_SCALE, frame, gain / MIN_GAIN,
            "motion vectors seem to be %s: times %g, the frame before fits %.1f dB better over %.0f frames; "
            "multiply settings.motion_scale by %g",
            r->scale > 1 ? "half as long as they should be" : "twice as long as they should be", r->scale,
            gain, frames, r->scale);
}

void d4r_validate_motion(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    double before = v->evidence.motion_frames;
    add_gains(v, slot);
    if (v->evidence.motion_frames != before) judge_motion(v, record->id);
}

/* ---- jitter ---- */

/* Gauss-Jordan without pivoting: all pivots of a positive definite matrix are positive; false for others, as products of
 * two frames' gradients give where a few bright, aliased pixels outweigh everything. Also the inverse's diagonal. */
static bool solve(const double normal[4][4], const double right[4], double x[4], double diagonal[4])
{
    double a[4][9];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 9; j++) a[i][j] = j < 4 ? normal[i][j] : j == 4 ? right[i] : j - 5 == i;
    for (int c = 0; c < 4; c++) {
        if (!(a[c][c] > 1e-6 * normal[c][c]) || !(normal[c][c] > 0)) return false;
        for (int i = 0; i < 4; i++) {
            double f = a[i][c] / a[c][c];
            for (int j = c; j < 9 && i != c; j++) a[i][j] -= f * a[c][j];
        }
    }
    for (int i = 0; i < 4; i++) {
        x[i] = a[i][4] / a[i][i];
        diagonal[i] = a[i][5 + i] / a[i][i];
    }
    return true;
}

bool d4r_validate_jitter_share(const d4r_evidence *e, double share[2], double error[2], double *explained)
{
    double x[4], diagonal[4];
    if (e->jitter_pairs < MIN_FRAMES || !solve(e->normal, e->right, x, diagonal)) return false;
    double left = e->squares;
    for (int i = 0; i < 4; i++) left -= x[i] * e->right[i];
    if (left < 0) return false; /* more explained than there is */
    *explained = 1 - left / fmax(e->squares, 1e-30);
    /* The blur makes about 25 pixels one observation. */
    double variance = left / fmax(e->pixels, 1) * 25;
    for (int i = 0; i < 2; i++) {
        share[i] = x[i];
        error[i] = diagonal[i] > 0 ? sqrt(variance * diagonal[i]) : 1e9;
    }
    return isfinite(share[0]) && isfinite(share[1]);
}

static void add_shift(d4r_evidence *e, const d4r_validate_record *r, const float *a)
{
    /* The shift left over is D s, s = (a_x, a_y, b_x, b_y), D = (dx 0 1 0; 0 dy 0 1). */
    const double d[2][4] = {{r->dx, 0, 1, 0}, {0, r->dy, 0, 1}};
    const double g[2][2] = {{(double)a[2], (double)a[4]}, {(double)a[4], (double)a[3]}};
    const double m[2] = {(double)a[0], (double)a[1]};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            e->right[i] += d[k][i] * m[k];
            for (int j = 0; j < 4; j++)
                for (int l = 0; l < 2; l++) e->normal[i][j] += d[k][i] * g[k][l] * d[l][j];
        }
    e->squares += (double)a[5];
    e->pixels += (double)a[6];
    if (++e->jitter_pairs < LONG) return;
    for (int i = 0; i < 4; i++) {
        e->right[i] /= 2;
        for (int j = 0; j < 4; j++) e->normal[i][j] /= 2;
    }
    e->squares /= 2;
    e->pixels /= 2;
    e->jitter_pairs /= 2;
}

/* Vectors declared as jittered that are not make the image move by the jitter a second time: 2 of 1. */
static void name_jittered(d4r_validate *v, uint64_t frame, const double share[2], double pairs)
{
    d4r_validate_find(v, D4R_FINDING_JITTER_SCALE, frame, fmax(share[0], share[1]) / HIGH_SHARE,
                      "the motion vectors do not seem to contain the jitter: over %.0f frames the image "
                      "moved by %.2g (x) and %.2g "
                      "(y) of the declared jitter besides them; clear conventions.motion_jittered, or, if "
                      "they do contain it, "
                      "settings.jitter is too small by that factor",
                      pairs, share[0], share[1]);
}

static void name_scale(d4r_validate *v, uint64_t frame, const double share[2], double pairs)
{
    double x = share[0], y = share[1], mean = (x + y) / 2;
    char hint[96] = "";
    if (v->conventions.motion_jittered && mean > 1) {
        name_jittered(v, frame, share, pairs);
        return;
    }
    if (mean > 20)
        snprintf(hint, sizeof hint, "; values this small look like UV or NDC");
    else if (mean < 1 && v->output.width > v->previous_render.width)
        snprintf(hint, sizeof hint, "; output pixels given as render pixels look like this");
    d4r_validate_find(
        v, D4R_FINDING_JITTER_SCALE, frame,
        mean > 1 ? fmax(x, y) / HIGH_SHARE : LOW_SHARE / fmax(fmin(x, y), 0.05),
        "settings.jitter seems to be %s: over %.0f frames the image moved by %.2g (x) and %.2g (y) of the "
        "declared jitter; multiply it by that (it is in render pixels)%s",
        mean > 1 ? "too small" : "too large", pairs, x, y, hint);
}

static void judge_jitter(d4r_validate *v, uint64_t frame)
{
    const d4r_evidence *e = &v->evidence;
    double share[2], error[2], explained;
    bool minus[2], fine[2], off[2];
    /* Wrong vectors leave shifts of their own. */
    if (d4r_validate_known(v, D4R_FINDING_RENDER_RECTANGLE) ||
        d4r_validate_known(v, D4R_FINDING_MOTION_SIGN) || d4r_validate_known(v, D4R_FINDING_MOTION_SCALE) ||
        d4r_validate_known(v, D4R_FINDING_MOTION_UNIT) || d4r_validate_known(v, D4R_FINDING_MOTION_UNRELATED))
        return;
    if (!d4r_validate_jitter_share(e, share, error, &explained)) return;
    for (int i = 0; i < 2; i++) {
        if (error[i] > MAX_ERROR * fmax(1, fabs(share[i]))) return;
        minus[i] = share[i] < SIGN_SHARE;
        fine[i] = share[i] > 0.4;
        off[i] = share[i] > HIGH_SHARE || share[i] < LOW_SHARE;
    }
    if (e->jitter_pairs >= SIGN_PAIRS && explained >= MIN_EXPLAINED && (minus[0] || fine[0]) &&
        (minus[1] || fine[1]) && (minus[0] || minus[1])) {
        const char *axis = minus[0] && minus[1] ? "" : minus[0] ? ".x" : ".y";
        d4r_validate_find(
            v, D4R_FINDING_JITTER_SIGN, frame, fmin(share[0], share[1]) / SIGN_SHARE,
            "settings.jitter%s seems to have the wrong sign: over %.0f frames the image moved by %.2f (x) "
            "and "
            "%.2f (y) of the declared jitter, 1 is right; negate settings.jitter%s, or the offset of the "
            "projection (the sample of pixel x lies at x + 0.5 + jitter, y down)",
            axis, e->jitter_pairs, share[0], share[1], axis);
    } else if (e->jitter_pairs >= SCALE_PAIRS && fabs(share[0]) < NO_SHARE && fabs(share[1]) < NO_SHARE &&
               error[0] < ABSENT_ERROR && error[1] < ABSENT_ERROR) {
        d4r_validate_find(
            v, D4R_FINDING_JITTER_ABSENT, frame, NO_SHARE / fmax(fmax(share[0], share[1]), 0.04),
            "the image does not seem to be jittered as declared: over %.0f frames it moved by %.2f (x) and "
            "%.2f "
            "(y) of settings.jitter; apply the jitter to the projection, or, if the vectors contain it, set "
            "conventions.motion_jittered",
            e->jitter_pairs, share[0], share[1]);
    } else if (e->jitter_pairs >= SCALE_PAIRS && explained >= MIN_EXPLAINED && off[0] && off[1] &&
               share[0] > 0.25 && share[1] > 0.25 && (share[0] > 1) == (share[1] > 1)) {
        name_scale(v, frame, share, e->jitter_pairs);
    }
}

void d4r_validate_jitter(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    const float *a = slot + D4R_V_SLICE_SHIFT * 8;
    if (v->matches == 0 || v->match[0] < MIN_MATCH || (record->dx == 0 && record->dy == 0) || a[6] < 500)
        return;
    add_shift(&v->evidence, record, a);
    judge_jitter(v, record->id);
}
