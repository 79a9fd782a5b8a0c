/* validate_report [--plants | --top-plants] FOLDER...: plays sequences in validation mode and prints evidence and findings, for the
 * tables of docs/debugging.md, as they are or with every planted mistake (also in the middle of their top alone). Exit status 1 when a sequence that is played as it is raises a finding. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/engine/test_model.h"
#include "tests/validate/player.h"

static void print(const play_list *list, plant p, const play_result *r, size_t count)
{
    const d4r_evidence *e = &r->evidence;
    double share[2] = {NAN, NAN}, error[2] = {NAN, NAN}, best = -99, explained = NAN;
    int which = 0;
    for (int i = 1; i < D4R_V_HYPOTHESES && e->motion_frames > 0; i++)
        if (e->gain[i] / e->motion_frames > best && e->gain[i] != 0) {
            best = e->gain[i] / e->motion_frames;
            which = i;
        }
    d4r_validate_jitter_share(e, share, error, &explained);
    printf(
        "%s | %s | frames %zu | match %.2f | best reading %d %+.2f dB over %.0f | jitter %.2f+-%.2f "
        "%.2f+-%.2f of %.0f, %.2f explained | "
        "zeros %.4f ones %.4f mean %.3f votes %.0f:%.0f | level frames %.0f | geometric %.2f | lines %.0f\n",
        list->name, plant_name(p), count, r->least_match, which, best, e->motion_frames, share[0], error[0],
        share[1], error[1], e->jitter_pairs, explained, e->zeros / e->depth_pixels, e->ones / e->depth_pixels,
        e->depth_sum / e->depth_pixels, e->nearer_before, e->farther_before, e->level_frames, e->geometric,
        e->lines_frames);
    for (uint32_t i = 0; i < r->count; i++)
        printf("    %s%s (confidence %.2f, frame %llu, %llu frames): %s\n",
               r->findings[i].code == plant_code(p) ? "" : "!! ", d4r_finding_name(r->findings[i].code),
               (double)r->findings[i].confidence, (unsigned long long)r->findings[i].frame,
               (unsigned long long)r->findings[i].frames, r->findings[i].sentence);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    vk_test t;
    bool top = argc > 1 && strcmp(argv[1], "--top-plants") == 0, alarm = false;
    bool all = top || (argc > 1 && strcmp(argv[1], "--plants") == 0);
    d4r_model *model = test_model_create(1);
    if (!model || !vk_test_create(&t)) return 77;
    for (int i = all ? 2 : 1; i < argc; i++)
        for (plant p = PLANT_NONE; p < (all ? PLANT_COUNT : PLANT_JITTER_SIGN); p++) {
            play_list list;
            play_result result;
            if (!play_load(argv[i], all ? 10 : 1000, &list)) return 5;
            if (top) play_crop(&list, 224, 128);
            plant_apply(p, &list);
            play(&t, model, &list, &result);
            print(&list, p, &result, list.count);
            alarm = alarm || (p == PLANT_NONE && result.count > 0);
            play_free(&list);
        }
    alarm = alarm || t.messages > 0;
    vk_test_destroy(&t);
    test_model_destroy(model);
    return alarm;
}
