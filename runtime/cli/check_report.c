#include <math.h>
#include "runtime/cli/check.h"

static const char *const unit_names[] = {"render pixels", "output pixels", "UV", "NDC"};
static const char *const sign_names[] = {"as declared", "x negated", "y negated", "both negated"};

typedef struct reporter {
    const cli_sequence *sequence;
    const d4r_log *log;
    unsigned warnings, wrong; /* wrong: conventions */
} reporter;

static void warn(reporter *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(reporter *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d4r_log_print(r->log, D4R_LOG_WARNING, "%s: %s", r->sequence->file, text);
    r->warnings++;
}

/* A convention that does not fit. */
#define wrong(r, ...) ((r)->wrong++, warn(r, __VA_ARGS__))

static void say(const reporter *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const reporter *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d4r_log_print(r->log, D4R_LOG_INFO, "check: %s", text);
}

static void report_motion(reporter *r, const cli_check *c)
{
    const d4r_conventions *conventions = &r->sequence->conventions;
    if (!c->motion_x_known && !c->motion_y_known) {
        say(r, "vectors: mean length %.3f render pixels: nothing moves enough to tell", c->motion_size);
        return;
    }
    say(r,
        "vectors (mean %.2f render pixels), PSNR of the warped previous frame: as declared %.2f dB, x "
        "negated %.2f, "
        "y negated %.2f, both negated %.2f, ignored %.2f",
        c->motion_size, c->motion[0], c->motion[1], c->motion[2], c->motion[3], c->unwarped);
    say(r, "vector unit: render pixels %.2f dB, output pixels %.2f, UV %.2f, NDC %.2f", c->unit[0],
        c->unit[1], c->unit[2], c->unit[3]);
    bool x = c->best_motion & 1, y = (c->best_motion & 2) != 0;
    if (x && (y || !c->motion_y_known))
        wrong(r, "vectors fit better reversed (%.2f dB, declared %.2f): try --motion-direction %s",
              c->motion[c->best_motion], c->motion[0],
              conventions->motion_reversed ? "to-previous" : "from-previous");
    else if (x)
        wrong(r,
              "vectors fit better reversed and with y flipped (%.2f dB, declared %.2f): try "
              "--motion-direction %s "
              "--motion-y %s",
              c->motion[c->best_motion], c->motion[0],
              conventions->motion_reversed ? "to-previous" : "from-previous",
              conventions->motion_flip_y ? "down" : "up");
    else if (y)
        wrong(r, "vectors fit better with y flipped (%.2f dB, declared %.2f): try --motion-y %s",
              c->motion[c->best_motion], c->motion[0], conventions->motion_flip_y ? "down" : "up");
    if (c->best_unit != (int)conventions->motion_unit)
        wrong(r, "vectors fit better as %s (%.2f dB) than as %s (%.2f): try --motion-unit or --motion-scale",
              unit_names[c->best_unit], c->motion[c->best_motion], unit_names[conventions->motion_unit],
              c->unit[conventions->motion_unit]);
    if (c->motion[c->best_motion] < c->unwarped - 0.1)
        wrong(r,
              "warping the previous frame by the vectors makes it worse (%.2f dB, unwarped %.2f) under every "
              "convention",
              c->motion[c->best_motion], c->unwarped);
}

static void report_jitter(reporter *r, const cli_check *c)
{
    d4r_size render = r->sequence->frames[0].settings.render;
    if (c->jitter_size < 1e-6) {
        if (render.width < r->sequence->output.width)
            warn(r, "the jitter never changes: without it the details between render pixels are never seen");
        return;
    }
    if (!c->jitter_x_known && !c->jitter_y_known) {
        say(r, "jitter: no detail that could tell its sign");
        return;
    }
    say(r,
        "jitter: as declared %.2f dB, x negated %.2f, y negated %.2f, both negated %.2f; contained in the "
        "vectors "
        "%.2f",
        c->jitter[0], c->jitter[1], c->jitter[2], c->jitter[3], c->jittered[1]);
    bool inside = r->sequence->conventions.motion_jittered;
    if (c->jittered_known && (c->best_jittered != 0) != inside) {
        wrong(r, "vectors fit better %s jitter in them (%.2f dB against %.2f): try --motion-jittered %s",
              inside ? "without" : "with", c->jittered[!inside], c->jittered[inside], inside ? "no" : "yes");
        return;
    }
    /* What the option must say in all, not on top of what it said. */
    const unsigned negated = (unsigned)c->best_jitter ^ r->sequence->jitter_negated;
    if (c->best_jitter && !inside)
        wrong(r, "jitter fits better with %s (%.2f dB, declared %.2f): try --jitter-sign %c%c",
              sign_names[c->best_jitter], c->jitter[c->best_jitter], c->jitter[0], negated & 1 ? '-' : '+',
              negated & 2 ? '-' : '+');
}

static void report_depth(reporter *r, const cli_check *c)
{
    bool regular = r->sequence->conventions.depth_regular;
    if (!c->depth_places) {
        say(r, "depth: cannot tell which way it grows: no surface comes out from behind another");
        return;
    }
    say(r,
        "depth: at %zu places where a surface comes out from behind another, the one declared nearer fits "
        "with "
        "%.2f dB, the farther with %.2f (only the nearer fits %zu, only the farther %zu)%s",
        c->depth_places, c->depth_nearer, c->depth_farther, c->depth_fits[0], c->depth_fits[1],
        c->depth_known ? "" : ": cannot tell which way depth grows");
    if (c->depth_wrong)
        wrong(r, "depth fits better the other way round (%zu places against %zu): try --depth %s",
              c->depth_fits[1], c->depth_fits[0], regular ? "inverted" : "regular");
}

static void report_values(reporter *r, const cli_check *c)
{
    if (c->bad_color) warn(r, "%zu colour pixels are not finite; they are repaired", c->bad_color);
    if (c->bad_motion) warn(r, "%zu vectors are not finite; they count as zero", c->bad_motion);
    if (c->bad_depth) warn(r, "%zu depth values are not finite; they count as far", c->bad_depth);
    if (c->depth_low < 0 || c->depth_high > 1)
        wrong(r, "depth spans %g..%g; values in [0, 1] are expected", (double)c->depth_low,
              (double)c->depth_high);
    if (c->depth_low == c->depth_high) warn(r, "depth is %g everywhere", (double)c->depth_low);
    if (r->sequence->conventions.ldr && c->color_high > 1.001f)
        wrong(r, "colour reaches %g but is declared display-referred: try --color hdr",
              (double)c->color_high);
    if (c->color_high <= 0) warn(r, "colour is black everywhere");
}

unsigned cli_check_report(const cli_sequence *sequence, const cli_check *check, const d4r_log *log)
{
    reporter r = {sequence, log, 0, 0};
    if (check->left_out)
        say(&r, "%zu pair%s of frames left out: after a cut, or of two render sizes", check->left_out,
            check->left_out > 1 ? "s" : "");
    if (!check->pairs) {
        say(&r, "fewer than two comparable frames: conventions cannot be checked");
        return 0;
    }
    report_motion(&r, check);
    report_jitter(&r, check);
    report_depth(&r, check);
    report_values(&r, check);
    if (!r.warnings) say(&r, "every declared convention fits");
    return r.wrong;
}

cJSON *cli_check_json(const cli_check *check)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "pairs", (double)check->pairs);
    cJSON_AddNumberToObject(root, "motion_size", check->motion_size);
    cJSON_AddNumberToObject(root, "jitter_size", check->jitter_size);
    cJSON_AddNumberToObject(root, "unwarped_db", check->unwarped);
    cJSON_AddItemToObject(root, "motion_sign_db", cJSON_CreateDoubleArray(check->motion, 4));
    cJSON_AddItemToObject(root, "motion_unit_db", cJSON_CreateDoubleArray(check->unit, 4));
    cJSON_AddItemToObject(root, "jitter_sign_db", cJSON_CreateDoubleArray(check->jitter, 4));
    cJSON_AddItemToObject(root, "motion_jittered_db", cJSON_CreateDoubleArray(check->jittered, 2));
    cJSON_AddStringToObject(root, "best_motion_sign", sign_names[check->best_motion]);
    cJSON_AddStringToObject(root, "best_motion_unit", unit_names[check->best_unit]);
    cJSON_AddStringToObject(root, "best_jitter_sign", sign_names[check->best_jitter]);
    cJSON_AddNumberToObject(root, "depth_places", (double)check->depth_places);
    cJSON_AddNumberToObject(root, "depth_nearer_db", check->depth_nearer);
    cJSON_AddNumberToObject(root, "depth_farther_db", check->depth_farther);
    cJSON_AddBoolToObject(root, "depth_known", check->depth_known);
    cJSON_AddBoolToObject(root, "depth_wrong", check->depth_wrong);
    cJSON_AddBoolToObject(root, "motion_x_known", check->motion_x_known);
    cJSON_AddBoolToObject(root, "motion_y_known", check->motion_y_known);
    cJSON_AddBoolToObject(root, "jitter_x_known", check->jitter_x_known);
    cJSON_AddBoolToObject(root, "jitter_y_known", check->jitter_y_known);
    return root;
}
