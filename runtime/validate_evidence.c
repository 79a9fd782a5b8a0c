/* The validation mode: evidence from a frame's statistics. Thresholds and their margins: docs/debugging.md. */
#include <math.h>
#include "runtime/validate.h"

#define MIN_FRAMES 3
#define LEVEL_FRAMES 6 /* for what a fade could look like */

const char *d4r_finding_name(d4r_finding_code code)
{
    switch (code) {
#define NAME(constant, text)     \
    case D4R_FINDING_##constant: \
        return text
        NAME(NONE, "none");
        NAME(JITTER_SIGN, "jitter_sign");
        NAME(JITTER_SCALE, "jitter_scale");
        NAME(JITTER_ABSENT, "jitter_absent");
        NAME(MOTION_SIGN, "motion_sign");
        NAME(MOTION_SCALE, "motion_scale");
        NAME(MOTION_UNIT, "motion_unit");
        NAME(MOTION_UNRELATED, "motion_unrelated");
        NAME(DEPTH_CONVENTION, "depth_convention");
        NAME(MISSING_RESET, "missing_reset");
        NAME(RENDER_RECTANGLE, "render_rectangle");
        NAME(EXPOSURE, "exposure");
        NAME(COLOR_ENCODED, "color_encoded");
        NAME(COLOR_LINEAR, "color_linear");
        NAME(COLOR_NOT_FINITE, "color_not_finite");
        NAME(MOTION_NOT_FINITE, "motion_not_finite");
        NAME(DEPTH_NOT_FINITE, "depth_not_finite");
        NAME(JITTER_RANGE, "jitter_range");
        NAME(JITTER_CONSTANT, "jitter_constant");
        NAME(RESET_ALWAYS, "reset_always");
        NAME(RENDER_SIZE, "render_size");
        NAME(EXPOSURE_VALUE, "exposure_value");
        NAME(MOTION_SIZE, "motion_size");
        NAME(SAME_IMAGE, "same_image");
#undef NAME
    }
    return "unknown";
}

static const float *slice(const float *slot, int index)
{
    return slot + index * 8;
}

/* ---- cuts ---- */

#define GOOD_MATCH 0.7
#define CUT_MATCH 0.35

static double correlation(const float *a)
{
    double n = (double)a[5], x = (double)a[0] / n, y = (double)a[1] / n;
    double xx = (double)a[2] / n - x * x, yy = (double)a[3] / n - y * y, xy = (double)a[4] / n - x * y;
    return xx > 1e-7 && yy > 1e-7 ? xy / sqrt(xx * yy) : -2;
}

static bool any_reading_fits(const d4r_validate *v, const float *slot)
{
    const float *a = slice(slot, D4R_V_SLICE_MATCH);
    double n = (double)a[5], mean = (double)a[0] / n, variance = (double)a[2] / n - mean * mean;
    for (uint32_t i = 0; i < v->reading_count; i++) {
        const float *h = slot + i * 8;
        if (h[1] >= 500 && (double)h[0] / (double)h[1] < 0.6 * variance) return true;
    }
    return false;
}

static void confirm_cut(d4r_validate *v)
{
    v->cut_suspected = false;
    d4r_validate_find(
        v, D4R_FINDING_MISSING_RESET, v->cut_frame, (1 - v->cut_match) / (1 - CUT_MATCH),
        "frame %llu seems to be a cut without a reset: its correlation with the frame before, moved by the "
        "vectors, is %.2f after %.2f in the frames before and good again in the next; set settings.reset in "
        "the first frame after a cut",
        (unsigned long long)v->cut_frame, v->cut_match, v->cut_before);
}

static void take_match(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    const float *a = slice(slot, D4R_V_SLICE_MATCH), *h = slot;
    double match = a[5] >= 500 && a[5] >= 0.25f * (h[1] + h[3]) ? correlation(a) : -2;
    if (match < -1) {
        v->cut_suspected = false;
        v->matches = 0;
        return;
    }
    if (v->cut_suspected && match >= GOOD_MATCH) confirm_cut(v);
    v->cut_suspected = false;
    if (match < CUT_MATCH && v->matches >= 2 && v->match[0] >= GOOD_MATCH && v->match[1] >= GOOD_MATCH &&
        !any_reading_fits(v, slot)) {
        v->cut_suspected = true;
        v->cut_frame = record->id;
        v->cut_match = match;
        v->cut_before = fmin(v->match[0], v->match[1]);
    }
    for (int i = 7; i > 0; i--) v->match[i] = v->match[i - 1];
    v->match[0] = match;
    if (v->matches < 8) v->matches++;
}

/* ---- depth ---- */

#define MIN_NEAR 0.002 /* share of pixels at exactly the nearest depth, with (almost) none at the farthest */
#define MAX_FAR 0.0001
#define MIN_VOTES 100.0 /* pixels that show up */
#define VOTE_FRAMES 4
#define MIN_SHARE 0.9

static void take_depth(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    const float *a = slice(slot, D4R_V_SLICE_DEPTH);
    if (a[2] < 500) return;
    e->zeros += (double)a[0];
    e->ones += (double)a[1];
    e->depth_pixels += (double)a[2];
    e->depth_sum += (double)a[3];
    e->above_half += (double)a[6];
    e->depth_high = fmax(e->depth_high, (double)a[7]);
    if (record->pair && v->matches > 0 && v->match[0] >= 0.75) {
        e->nearer_before += (double)a[v->conventions.depth_regular ? 5 : 4];
        e->farther_before += (double)a[v->conventions.depth_regular ? 4 : 5];
    }
    e->depth_frames++;
}

static void judge_depth(d4r_validate *v, uint64_t frame)
{
    const d4r_evidence *e = &v->evidence;
    bool regular = v->conventions.depth_regular;
    const char *declared = regular ? "regular" : "inverted", *other = regular ? "inverted" : "regular";
    const char *fix = regular ? "clear" : "set";
    double n = e->depth_pixels, near = (regular ? e->zeros : e->ones) / n,
           far = (regular ? e->ones : e->zeros) / n;
    double votes = e->nearer_before + e->farther_before;
    if (e->depth_frames < MIN_FRAMES) return;
    if (near >= MIN_NEAR && far <= MAX_FAR)
        d4r_validate_find(
            v, D4R_FINDING_DEPTH_CONVENTION, frame, near / MIN_NEAR,
            "depth seems to be %s, not %s: %.1f %% of the pixels lie at exactly %d, which would be the near "
            "plane, and %.3f %% at exactly %d; %s conventions.depth_regular",
            other, declared, 100 * near, regular ? 0 : 1, 100 * far, regular ? 1 : 0, fix);
    else if (e->depth_frames > VOTE_FRAMES && !d4r_validate_known(v, D4R_FINDING_RENDER_RECTANGLE) &&
             votes >= MIN_VOTES && e->farther_before >= MIN_SHARE * votes)
        d4r_validate_find(v, D4R_FINDING_DEPTH_CONVENTION, frame, e->farther_before / votes / MIN_SHARE,
                          "depth seems to be %s, not %s: of %.0f pixels that show up from behind something, "
                          "%.0f were hidden "
                          "by something farther away; %s conventions.depth_regular",
                          other, declared, votes, e->farther_before, fix);
    else if (!regular && e->zeros == 0 && (e->above_half >= 0.98 * n && e->depth_sum > 0.8 * n))
        d4r_validate_find(v, D4R_FINDING_DEPTH_CONVENTION, frame, e->depth_sum / n / 0.8,
                          "depth seems to be regular, not inverted: its mean is %.3f and nothing is at 0, "
                          "while inverted depth "
                          "(near / z) is small nearly everywhere; set conventions.depth_regular",
                          e->depth_sum / n);
}

/* ---- exposure and colour ---- */

#define DARK_AUTO 0.03 /* exposed mean luma; automatic exposure aims at 0.235 */
#define DARK 0.002
#define BRIGHT 20.0
#define MIN_GEOMETRIC 0.8 /* geometric / arithmetic mean of the luma */

static void take_level(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    const float *a = slice(slot, D4R_V_SLICE_COLOR), *header = slice(slot, D4R_V_SLICE_HEADER);
    double n = (double)a[3], mean = (double)a[0] / n, spread = sqrt(fmax((double)a[1] / n - mean * mean, 0));
    double pre = (double)record->settings.pre_exposure, level = mean / pre * (double)header[1];
    bool automatic = v->conventions.exposure_mode == D4R_EXPOSURE_AUTO;
    double dark = automatic ? DARK_AUTO : DARK;
    bool odd = mean > 0 && spread > 0.05 * mean && (level < dark || level > BRIGHT);
    /* A fade passes through the dark quickly; a wrong factor stays. */
    if (!odd || (e->level_frames > 0 && (level < 0.5 * e->level_low || level > 2 * e->level_high))) {
        e->level_frames = 0;
        if (!odd) return;
    }
    e->level_low = e->level_frames > 0 ? fmin(e->level_low, level) : level;
    e->level_high = e->level_frames > 0 ? fmax(e->level_high, level) : level;
    if (++e->level_frames < LEVEL_FRAMES) return;
    if (automatic)
        d4r_validate_find(
            v, D4R_FINDING_EXPOSURE, record->id, dark / level,
            "the colour seems far too dark: its mean luma is %.2g, %.0f times below what automatic exposure "
            "can lift; check settings.pre_exposure (%g: what the colour was already multiplied by), or use "
            "D4R_EXPOSURE_SCALAR if the scene is meant so",
            mean / pre, 0.005 * pre / mean, pre);
    else
        d4r_validate_find(
            v, D4R_FINDING_EXPOSURE, record->id, level < dark ? dark / level : level / BRIGHT,
            "the exposure seems to be off by about %.2g: colour / pre-exposure (%g) times exposure (%g) has "
            "a "
            "mean luma of %.2g, about 0.2 is usual; check settings.exposure or the exposure image, and "
            "settings.pre_exposure",
            level < dark ? 0.2 / level : level / 0.2, pre, (double)header[1], level);
}

static void take_encoding(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    const float *a = slice(slot, D4R_V_SLICE_COLOR);
    double n = (double)a[3], mean = (double)a[0] / n, geometric = exp((double)a[2] / n) / fmax(mean, 1e-9);
    double spread = sqrt(fmax((double)a[1] / n - mean * mean, 0)) / fmax(mean, 1e-9), top = (double)a[7];
    bool encoded = top <= 1.0005 && top >= 0.85 && geometric > MIN_GEOMETRIC && spread > 0.15 && mean > 0.1;
    e->encoded_frames = encoded ? e->encoded_frames + 1 : 0;
    e->geometric = encoded && (e->encoded_frames == 1 || geometric < e->geometric) ? geometric : e->geometric;
    if (e->encoded_frames >= LEVEL_FRAMES)
        d4r_validate_find(
            v, D4R_FINDING_COLOR_ENCODED, record->id, (1 - MIN_GEOMETRIC) / (1 - e->geometric),
            "the colour seems to be display-referred (sRGB or tone mapped), not linear: over %.0f frames it "
            "never exceeds %.3g, and the geometric mean of its luma is %.2f of the arithmetic one (linear: "
            "below 0.75); pass the colour before tone mapping, or set conventions.ldr",
            e->encoded_frames, top, e->geometric);
}

static void take_ldr(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    const float *a = slice(slot, D4R_V_SLICE_COLOR);
    double above = (double)a[4] / (double)a[3];
    e->ldr_frames = above > 0.002 ? e->ldr_frames + 1 : 0;
    if (e->ldr_frames >= LEVEL_FRAMES)
        d4r_validate_find(v, D4R_FINDING_COLOR_LINEAR, record->id, above / 0.002,
                          "the colour seems to be linear HDR, not display-referred: %.2g %% of the pixels "
                          "are above 1, up to "
                          "%.3g; clear conventions.ldr",
                          100 * above, (double)a[7]);
}

static void take_color(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    if (slice(slot, D4R_V_SLICE_COLOR)[3] < 500) return;
    if (v->conventions.ldr) {
        take_ldr(v, record, slot);
        return;
    }
    take_level(v, record, slot);
    take_encoding(v, record, slot);
}

/* ---- rectangle ---- */

#define MIN_BAND 4.0     /* lines */
#define MIN_SHARP 0.5    /* share of the first line behind a border that changes */
#define MIN_CHANGED 0.25 /* share of all pixels that change */

/* Lines at top, bottom, left, right that never change; -1 for a side where the picture does not begin at once. */
static void bands_of(const d4r_validate_record *record, const float *a, double bands[4])
{
    double size[4] = {record->render.height, record->render.height, record->render.width,
                      record->render.width};
    double live[2] = {(double)(a[3] - a[2] + 1),
                      (double)(a[1] - a[0] + 1)}; /* length of a row, of a column */
    bands[0] = (double)a[0];
    bands[1] = size[1] - 1 - (double)a[1];
    bands[2] = (double)a[2];
    bands[3] = size[3] - 1 - (double)a[3];
    for (int i = 0; i < 4; i++) {
        double share = (double)a[4 + i] / live[i / 2];
        if (bands[i] < fmax(MIN_BAND, size[i] / 100) || share < MIN_SHARP) bands[i] = -1;
    }
}

static void take_rectangle(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    d4r_evidence *e = &v->evidence;
    const float *a = slice(slot, D4R_V_SLICE_LINES);
    double bands[4];
    if (a[1] < 0 || slice(slot, D4R_V_SLICE_HEADER)[3] < (float)MIN_CHANGED) return;
    bands_of(record, a, bands);
    bool any_row = bands[0] > 0 || bands[1] > 0, any_column = bands[2] > 0 || bands[3] > 0, same = true;
    for (int i = 0; i < 4 && e->lines_frames > 0; i++) same = same && bands[i] == e->band_low[i];
    e->lines_frames = any_row && any_column ? (same ? e->lines_frames + 1 : 1) : 0;
    for (int i = 0; i < 4; i++) e->band_low[i] = bands[i];
    if (e->lines_frames < MIN_FRAMES) return;
    for (int i = 0; i < 4; i++) bands[i] = fmax(bands[i], 0);
    d4r_validate_find(
        v, D4R_FINDING_RENDER_RECTANGLE, record->id,
        fmax(bands[0] + bands[1], bands[2] + bands[3]) / MIN_BAND,
        "the render rectangle of %ux%u seems to be wrong: %.0f rows at its top and %.0f at its bottom, %.0f "
        "columns at its left and %.0f at its right never change in %.0f frames while all the rest does, so "
        "that %.0fx%.0f pixels from (%.0f, %.0f) on are drawn; check images.*.origin and settings.render",
        record->render.width, record->render.height, bands[0], bands[1], bands[2], bands[3], e->lines_frames,
        record->render.width - bands[2] - bands[3], record->render.height - bands[0] - bands[1], bands[2],
        bands[0]);
}

/* ---- values that are not finite ---- */

static void take_bad(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    static const d4r_finding_code codes[3] = {D4R_FINDING_COLOR_NOT_FINITE, D4R_FINDING_MOTION_NOT_FINITE,
                                              D4R_FINDING_DEPTH_NOT_FINITE};
    static const char *const names[3] = {"color", "motion", "depth"};
    static const char *const effects[3] = {"they are repaired from their neighbours",
                                           "they count as no motion", "they count as far away"};
    const float *a = slice(slot, D4R_V_SLICE_BAD);
    for (int i = 0; i < 3; i++) {
        v->evidence.bad_frames[i] += a[i] > 0;
        if (v->evidence.bad_frames[i] < MIN_FRAMES || !(a[i] > 0)) continue;
        d4r_validate_find(
            v, codes[i], record->id, 10,
            "images.%s holds NaN or infinity in %.2g %% of the pixels (%s); find out what writes them",
            names[i], 100 * (double)a[i] / (double)a[3], effects[i]);
    }
}

/* ---- a frame ---- */

void d4r_validate_take(d4r_validate *v, const d4r_validate_record *record, const float *slot)
{
    take_color(v, record, slot);
    take_bad(v, record, slot);
    /* A picture that is nearly black or white says little. */
    if (v->evidence.level_frames > 0) {
        v->matches = 0;
        v->cut_suspected = false;
    } else if (record->pair) {
        take_match(v, record, slot);
        take_rectangle(v, record, slot);
        d4r_validate_motion(v, record, slot);
        d4r_validate_jitter(v, record, slot);
    } else {
        v->matches = 0;
        v->cut_suspected = false;
    }
    take_depth(v, record, slot);
    judge_depth(v, record->id);
}
