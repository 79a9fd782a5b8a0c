/* Which way depth grows. Where a surface comes into view, its vectors lead to a place of the previous frame that shows
 * what hid it: two pixels of the current frame then lead to one place, and the previous frame looks like the nearer. */
#include <math.h>
#include <stdlib.h>
#include "runtime/cli/check_pair.h"

#define FITS 0.03 /* luma of c/(1+c) */
#define MISFITS 0.1
#define MIN_PLACES 30      /* fewer tell nothing */
#define MIN_RATIO 1.5      /* between the places that speak for and against */
#define MIN_MARGIN 3.0     /* dB between the nearer and the farther surface */
#define MIN_RANK_STEP 0.1f /* two surfaces: this share of the frame's pixels lies between them in depth */
#define MARGIN 1           /* pixels to the edge of a surface */
#define MAX_RANKED 16384

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Share of the pixels that are below each pixel's depth, the same for every monotonic depth; not finite counts as 0. */
static float *make_ranks(const cli_image *depth)
{
    size_t pixels = (size_t)depth->size.width * depth->size.height, step = pixels / MAX_RANKED + 1, count = 0;
    const float *values = depth->data;
    float *sorted = malloc((pixels / step + 1) * sizeof *sorted), *rank = malloc((pixels + 1) * sizeof *rank);
    for (size_t i = 0; sorted && i < pixels; i += step)
        if (isfinite(values[i])) sorted[count++] = values[i];
    if (sorted && rank) qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t i = 0; sorted && rank && i < pixels; i++) {
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (sorted[middle] < values[i])
                low = middle + 1;
            else
                high = middle;
        }
        rank[i] = count && isfinite(values[i]) ? (float)low / (float)count : 0;
    }
    if (!sorted) {
        free(rank);
        rank = NULL;
    }
    free(sorted);
    return rank;
}

/* How far the current value lies outside of what the previous frame shows around the place: at edges, and of thin things,
 * the samples of two frames differ though the surface is the same. */
static double misfit(const check_pair *p, const double place[2], float value)
{
    int cx = (int)(place[0] + 0.5), cy = (int)(place[1] + 0.5), width = (int)p->size.width,
        height = (int)p->size.height;
    float low = INFINITY, high = -INFINITY;
    for (int y = cy - 1; y <= cy + 1; y++)
        for (int x = cx - 1; x <= cx + 1; x++) {
            if (x < 0 || y < 0 || x >= width || y >= height) continue;
            float v = p->previous[(size_t)y * (size_t)width + (size_t)x];
            low = fminf(low, v);
            high = fmaxf(high, v);
        }
    return value < low       ? (double)(low - value)
           : value > high    ? (double)(value - high)
           : isfinite(value) ? 0
                             : NAN;
}

typedef struct claim {
    float rank, error; /* squared */
    bool taken;
} claim;

/* Whether the 3x3 pixels around it are one surface. */
static bool inside_surface(const check_pair *p, const float *rank, uint32_t x, uint32_t y)
{
    if (x < MARGIN || y < MARGIN || x + MARGIN >= p->size.width || y + MARGIN >= p->size.height) return false;
    float low = INFINITY, high = -INFINITY;
    for (uint32_t j = y - MARGIN; j <= y + MARGIN; j++)
        for (uint32_t i = x - MARGIN; i <= x + MARGIN; i++) {
            low = fminf(low, rank[(size_t)j * p->size.width + i]);
            high = fmaxf(high, rank[(size_t)j * p->size.width + i]);
        }
    return high - low < MIN_RANK_STEP / 2;
}

/* On a surface at least three pixels wide: the samples of a thinner thing may have missed it in the previous frame. */
static bool on_wide_surface(const check_pair *p, const float *rank, uint32_t x, uint32_t y)
{
    if (x < 1 || y < 1 || x + 1 >= p->size.width || y + 1 >= p->size.height) return false;
    float own = rank[(size_t)y * p->size.width + x];
    for (uint32_t j = y - 1; j <= y + 1; j++)
        for (uint32_t i = x - 1; i <= x + 1; i++)
            if (fabsf(rank[(size_t)j * p->size.width + i] - own) < MIN_RANK_STEP / 2 &&
                inside_surface(p, rank, i, j))
                return true;
    return false;
}

/* Keeps the highest and the lowest pixel of every place. */
static void collect(const cli_sequence *sequence, const check_pair *p, const check_hypothesis *h,
                    const float *rank, claim (*places)[2])
{
    check_warp warp = check_warp_of(sequence, p, h);
    for (uint32_t y = 0; y < p->size.height; y++)
        for (uint32_t x = 0; x < p->size.width; x++) {
            double place[2];
            size_t at = (size_t)y * p->size.width + x;
            if (!on_wide_surface(p, rank, x, y) || !check_place(sequence, p, &warp, x, y, place)) continue;
            double error = misfit(p, place, p->current[at]);
            if (!isfinite(error)) continue;
            claim c = {rank[at], (float)(error * error), true};
            claim *cell = places[(size_t)(place[1] + 0.5) * p->size.width + (size_t)(place[0] + 0.5)];
            if (!cell[0].taken || c.rank > cell[0].rank) cell[0] = c;
            if (!cell[1].taken || c.rank < cell[1].rank) cell[1] = c;
        }
}

d4r_status check_depth(const cli_sequence *sequence, const check_pair *pairs, const check_hypothesis *h,
                       const d4r_log *log, cli_check *check)
{
    double sums[2] = {0, 0};
    size_t count = 0, fits[2] = {0, 0}; /* places where only that one fits */
    for (size_t i = 0; i < check->pairs; i++) {
        size_t pixels = (size_t)pairs[i].size.width * pairs[i].size.height;
        float *rank = make_ranks(&pairs[i].depth);
        claim(*places)[2] = calloc(pixels, sizeof *places);
        if (!places || !rank) {
            free(places);
            free(rank);
            return d4r_fail(log, D4R_ERROR_MEMORY, "no memory to check conventions");
        }
        collect(sequence, &pairs[i], h, rank, places);
        for (size_t k = 0; k < pixels; k++) {
            if (places[k][0].rank - places[k][1].rank < MIN_RANK_STEP) continue;
            for (int j = 0; j < 2; j++) sums[j] += (double)places[k][j].error;
            for (int j = 0; j < 2; j++)
                fits[j] += places[k][j].error <= (float)(FITS * FITS) &&
                           places[k][1 - j].error >= (float)(MISFITS * MISFITS);
            count++;
        }
        free(places);
        free(rank);
    }
    int nearer = sequence->conventions.depth_regular ? 1 : 0; /* index of the one that is declared nearer */
    check->depth_places = count;
    check->depth_nearer = count ? -10 * log10(sums[nearer] / (double)count + 1e-10) : 0;
    check->depth_farther = count ? -10 * log10(sums[1 - nearer] / (double)count + 1e-10) : 0;
    check->depth_fits[0] = fits[nearer];
    check->depth_fits[1] = fits[1 - nearer];
    /* Both must say the same: shading that moves without vectors fools either. */
    double margin = check->depth_nearer - check->depth_farther;
    size_t most = check->depth_fits[margin < 0], least = check->depth_fits[margin >= 0];
    check->depth_known =
        fabs(margin) >= MIN_MARGIN && most >= MIN_PLACES && (double)most >= MIN_RATIO * (double)least;
    check->depth_wrong = check->depth_known && margin < 0;
    return D4R_OK;
}
