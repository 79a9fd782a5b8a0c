/* frames.json: every wrong field gives D4R_ERROR_INPUT and a message with file and field path. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include "runtime/cli/sequence.h"
#include "tests/cli/capture_log.h"

#define FRAME "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0.25,-0.5]"
#define ONE(sequence, frame) "{\"output\":[640,360]," sequence "\"frames\":[{" frame "}]}"

static d4r_status parse(const char *text, kept_lines *kept, cli_sequence *sequence)
{
    d4r_log log = keeping_log(kept);
    return cli_frames_json_parse("dir/frames.json", text, strlen(text), &log, sequence);
}

static const struct {
    const char *text, *message;
} bad[] = {
    {ONE("\"pre_exposure\":0,", FRAME), "pre_exposure: must be positive (1e-30 to 1e30), found 0"},
    {ONE("", FRAME ",\"exposure\":-1"), "frames[0].exposure: must be positive (1e-30 to 1e30), found -1"},
    {ONE("", FRAME ",\"jitter\":[0,0]"), "frames[0].jitter: given twice; leave one"},
    {ONE("", FRAME) "{}", "text after the end of the JSON, in line 1"},
    {"", "not valid JSON near line 1"},
    {"{\n\"output\": [640,\n 360", "not valid JSON near line 3"},
    {"[1, 2]", "must hold a JSON object"},
    {"{}", "output: missing"},
    {"{\"output\":640}", "output: must be [width, height] in whole pixels, 1 to 1000000 each, found 640"},
    {"{\"output\":[640,360,1]}", "output: must be [width, height] in whole pixels"},
    {"{\"output\":[640,\"360\"]}", "output: must be [width, height] in whole pixels"},
    {"{\"output\":[640.5,360]}", "output: must be [width, height] in whole pixels"},
    {"{\"output\":[0,0]}", "output: must be [width, height] in whole pixels"},
    {"{\"output\":[-640,360]}", "output: must be [width, height]"},
    {"{\"output\":[1e300,360]}",
     "output: must be [width, height] in whole pixels, 1 to 1000000 each, found [1e+300,360]"},
    {"{\"output\":[640,360]}", "frames: must be an array"},
    {"{\"output\":[640,360],\"frames\":[]}", "frames: must be an array of 1 to 1000000 frames, found []"},
    {"{\"output\":[640,360],\"frames\":[1]}", "frames[0]: must be an object"},
    {ONE("\"version\":2,", FRAME), "version: must be 1, the only version there is, found 2"},
    {ONE("\"name\":7,", FRAME), "name: must be a non-empty string"},
    {ONE("\"near\":0,", FRAME), "near: must be positive"},
    {ONE("\"hdr\":1,", FRAME), "hdr: must be true or false"},
    {ONE("\"depth_inverted\":\"yes\",", FRAME), "depth_inverted: must be true or false"},
    {ONE("\"motion_direction\":\"back\",", FRAME),
     "motion_direction: must be one of \"to_previous\" \"from_previous\""},
    {ONE("\"motion_y\":1,", FRAME), "motion_y: must be a non-empty string"},
    {ONE("\"motion_size\":\"big\",", FRAME), "motion_size: must be one of \"render\" \"output\""},
    {ONE("\"motion_unit\":\"px\",", FRAME), "motion_unit: must be one of \"render_pixels\""},
    {ONE("\"motion_jittered\":0,", FRAME), "motion_jittered: must be true or false"},
    {ONE("\"exposure_mode\":\"x\",", FRAME), "exposure_mode: must be one of \"auto\""},
    {ONE("\"motion_scale\":0,", FRAME), "motion_scale: must be positive"},
    {ONE("\"motion_scale\":[1,-1],", FRAME), "motion_scale: must be positive"},
    {ONE("\"motion_scale\":1e31,", FRAME), "motion_scale: must be positive (1e-30 to 1e30; motion_direction "
                                           "and motion_y reverse vectors), found 1e+31"},
    {ONE("\"motion_scale\":[1,1e-40],", FRAME), "motion_scale: must be positive (1e-30 to 1e30; "},
    {ONE("\"motion_scale\":1e999,", FRAME), "vectors), found inf"},
    {ONE("\"motion_scale\":\"1\",", FRAME), "motion_scale: must be a positive number or [x, y], found \"1\""},
    {ONE("\"motion_scale\":[1],", FRAME), "motion_scale: must be an array of two numbers, found [1]"},
    {ONE("\"jitter_sign\":[1,0],", FRAME), "jitter_sign: must be [x, y] with 1 or -1 each, found [1,0]"},
    {ONE("\"pre_exposure\":\"a\",", FRAME), "pre_exposure: must be a number, found \"a\""},
    {ONE("\"pre_exposure\":1e39,", FRAME),
     "pre_exposure: must be a number of at most 3.4e38 (finite as a float), "
     "found 1e+39"},
    {ONE("\"version\":-1e999,", FRAME),
     "version: must be a number of at most 3.4e38 (finite as a float), found -inf"},
    {ONE("", FRAME ",\"pre_exposure\":1e300"), "frames[0].pre_exposure: must be a number of at most 3.4e38"},
    {ONE("", FRAME ",\"exposure\":1e300"), "frames[0].exposure: must be a number of at most 3.4e38"},
    {ONE("\"bits\":16,", FRAME), "bits: must be an object"},
    {ONE("\"bits\":{\"color\":8},", FRAME), "bits.color: must be 16 or 32"},
    {ONE("", "\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,0]"),
     "frames[0].color: missing"},
    {ONE("", "\"color\":\"\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,0]"),
     "frames[0].color: must be a non-empty string"},
    {ONE("", "\"color\":\"c\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,0]"),
     "frames[0].motion: missing"},
    {ONE("", "\"color\":\"c\",\"motion\":\"m\",\"render\":[320,180],\"jitter\":[0,0]"),
     "frames[0].depth: missing"},
    {ONE("", "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"jitter\":[0,0]"),
     "frames[0].render: missing"},
    {ONE("", "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180]"),
     "frames[0].jitter: missing"},
    {ONE("", "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[1e999,0]"),
     "frames[0].jitter: must be two numbers of at most 3.4e38 (finite as a float), found [inf,0]"},
    {ONE("", "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,-1e39]"),
     "frames[0].jitter: must be two numbers of at most 3.4e38 (finite as a float), found [0,-1e+39]"},
    {ONE("",
         "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,3.4029e38]"),
     "frames[0].jitter: must be two numbers of at most 3.4e38"},
    {ONE("", "\"color\":\"c1\\u0000.npy\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":["
             "0,0]"),
     "line 1: a string with \\u0000"},
    {ONE("\n\"a\\u0000b\":1,", FRAME), "line 2: a string with \\u0000"},
    {ONE("", FRAME ",\"reference\":3"), "frames[0].reference: must be a non-empty string"},
    {ONE("", FRAME ",\"motion_scale\":-1"), "frames[0].motion_scale: must be positive"},
    {ONE("", FRAME ",\"reset\":\"no\""), "frames[0].reset: must be true or false"},
    {ONE("", FRAME ",\"exposure\":[1]"),
     "frames[0].exposure: must be a positive number or a file name, found [1]"},
    {ONE("", FRAME ",\"camera\":1"), "frames[0].camera: must be an object"},
    {"{\"output\":[640,360],\"frames\":[{" FRAME ",\"exposure\":1},{" FRAME ",\"exposure\":\"e\"}]}",
     "frames[].exposure: numbers and file names must not be mixed"},
};

static void test_bad_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kept_lines kept;
        cli_sequence sequence;
        d4r_status status = parse(bad[i].text, &kept, &sequence);
        if (status != D4R_ERROR_INPUT) fail_msg("case %zu: status %d for %s", i, status, bad[i].text);
        if (!strstr(kept.text, bad[i].message))
            fail_msg("case %zu: '%s' is not in: %s", i, bad[i].message, kept.text);
        assert_non_null(strstr(kept.text, "dir/frames.json: "));
    }
}

/* Too deep for cJSON, which would only say where; just not too deep; bytes that end a C string. */
static void test_text(void **state)
{
    (void)state;
    kept_lines kept;
    cli_sequence sequence;
    char text[4096];
    for (int depth = 998; depth <= 1001; depth++) { /* below the object of the file */
        size_t used = (size_t)snprintf(text, sizeof text, "{\"output\":[640,360],\n\"_deep\":");
        memset(text + used, '[', (size_t)depth);
        memset(text + used + depth, ']', (size_t)depth);
        snprintf(text + used + 2 * depth, sizeof text - used - 2 * (size_t)depth,
                 ",\"frames\":[{" FRAME "}]}");
        d4r_status status = parse(text, &kept, &sequence);
        assert_int_equal(status, depth < 1000 ? D4R_OK : D4R_ERROR_INPUT);
        if (status == D4R_OK)
            cli_sequence_free(&sequence);
        else
            assert_non_null(strstr(kept.text, "line 2: more than 1000 arrays and objects inside each other"));
    }
    d4r_log log = keeping_log(&kept);
    static const char zero[] = "{\"output\":[640,360],\n\"name\":\"a\0b\"}";
    assert_int_equal(cli_frames_json_parse("dir/frames.json", zero, sizeof zero - 1, &log, &sequence),
                     D4R_ERROR_INPUT);
    assert_non_null(strstr(kept.text, "line 2: a zero byte"));
    /* A backslash before u0000 is itself escaped: a text like any other. */
    assert_int_equal(parse(ONE("\"name\":\"a\\\\u0000\",", FRAME), &kept, &sequence), D4R_OK);
    assert_string_equal(sequence.name, "a\\u0000");
    cli_sequence_free(&sequence);
    /* No name is near one of 3000 letters. */
    size_t used = (size_t)snprintf(text, sizeof text, "{\"output\":[640,360],\"");
    memset(text + used, 'f', 3000);
    snprintf(text + used + 3000, sizeof text - used - 3000, "\":1,\"frames\":[{" FRAME "}]}");
    assert_int_equal(parse(text, &kept, &sequence), D4R_OK);
    assert_non_null(strstr(kept.text, "unknown field, ignored"));
    assert_null(strstr(kept.text, "meant"));
    cli_sequence_free(&sequence);
}

/* Checks after parsing: sizes, scale, exposure. The files need not exist: sizes are looked at first. */
static const struct {
    const char *text, *message;
} unfit[] = {
    {"{\"output\":[63,360],\"frames\":[{" FRAME "}]}", "output: 63x360 is smaller than 64x64"},
    {"{\"output\":[640,16385],\"frames\":[{" FRAME "}]}", "output: 640x16385 is larger than 16384x16384"},
    {"{\"output\":[319,360],\"frames\":[{" FRAME "}]}",
     "frames[0].render: 320x180 is larger than the output 319x360"},
    {"{\"output\":[640,360],\"frames\":[{\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,63]"
     ",\"jitter\":[0,0]}]}",
     "frames[0].render: 320x63 is smaller than 64x64"},
    {ONE("\"exposure_mode\":\"texture\",", FRAME),
     "frames[0].exposure: exposure_mode is texture, but no file is named"},
    {"{\"output\":[640,360],\"frames\":[{" FRAME "},{" FRAME ",\"exposure\":\"e\"}]}",
     "frames[0].exposure: missing: frames[1] names a file, so every frame must"},
    {ONE("\"exposure_mode\":\"scalar\",", FRAME ",\"exposure\":\"e\""),
     "frames[0].exposure: exposure_mode is scalar, but a file is named: a number is needed"},
};

static void test_unfit_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
        kept_lines kept;
        cli_sequence sequence;
        if (parse(unfit[i].text, &kept, &sequence) != D4R_OK) fail_msg("case %zu: %s", i, kept.text);
        d4r_log log = keeping_log(&kept);
        assert_int_equal(cli_sequence_check(&sequence, &log), D4R_ERROR_INPUT);
        if (!strstr(kept.text, unfit[i].message))
            fail_msg("case %zu: '%s' is not in: %s", i, unfit[i].message, kept.text);
        cli_sequence_free(&sequence);
    }
}

static void test_warnings(void **state)
{
    (void)state;
    kept_lines kept;
    cli_sequence sequence;
    assert_int_equal(parse(ONE("\"motion_sacle\":2,\"_note\":1,", FRAME ",\"rest\":true"), &kept, &sequence),
                     D4R_OK);
    assert_non_null(strstr(kept.text, "motion_sacle: unknown field, ignored"));
    assert_non_null(strstr(kept.text, "frames[0].rest: unknown field, ignored"));
    assert_null(strstr(kept.text, "_note"));
    cli_sequence_free(&sequence);
    assert_int_equal(
        parse(
            ONE("",
                "\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[320,180],\"jitter\":[0,-1.5]"),
            &kept, &sequence),
        D4R_OK);
    d4r_log log = keeping_log(&kept);
    assert_int_equal(cli_sequence_check(&sequence, &log), D4R_ERROR_IO); /* the planes do not exist */
    assert_non_null(strstr(kept.text, "frames[0].jitter: 0, -1.5 is beyond one render pixel"));
    assert_non_null(strstr(kept.text, "dir/c: No such file or directory (dir/frames.json: frames[0].color)"));
    cli_sequence_free(&sequence);
}

/* Every file of the sequence exists: this program, which is never read here. */
static void test_exposures(void **state)
{
    (void)state;
#define SELF                                                                                   \
    "\"color\":\"/proc/self/exe\",\"motion\":\"/proc/self/exe\",\"depth\":\"/proc/self/exe\"," \
    "\"render\":[320,180],\"jitter\":[0,0]"
    kept_lines kept;
    cli_sequence sequence;
    d4r_log log = keeping_log(&kept);
    static const struct {
        const char *text;
        bool warns;
        float exposures[3];
    } cases[] = {
        {"{\"output\":[640,360],\"frames\":[{" SELF "},{" SELF ",\"exposure\":3},{" SELF "}]}",
         true,
         {1, 3, 1}},
        {"{\"output\":[640,360],\"frames\":[{" SELF ",\"exposure\":1},{" SELF ",\"exposure\":3},{" SELF
         ",\"exposure\":2}]}",
         false,
         {1, 3, 2}},
        {"{\"output\":[640,360],\"exposure_mode\":\"scalar\",\"frames\":[{" SELF "},{" SELF "},{" SELF "}]}",
         false,
         {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text, &kept, &sequence), D4R_OK);
        log = keeping_log(&kept);
        assert_int_equal(cli_sequence_check(&sequence, &log), D4R_OK);
        assert_int_equal(sequence.conventions.exposure_mode, D4R_EXPOSURE_SCALAR);
        for (int f = 0; f < 3; f++)
            assert_true(sequence.frames[f].settings.exposure == cases[i].exposures[f]);
        const char *warning =
            strstr(kept.text, "frames[0].exposure: missing in 2 of 3 frames, where 1 is used; "
                              "frames[1] has a number");
        assert_int_equal(warning != NULL, cases[i].warns);
        cli_sequence_free(&sequence);
    }
}

static void test_every_convention(void **state)
{
    (void)state;
    kept_lines kept;
    cli_sequence s;
    assert_int_equal(
        parse("{\"version\":1,\"name\":\"n\",\"output\":[640,360],\"hdr\":false,\"depth_inverted\":false,"
              "\"near\":0.1,"
              "\"motion_direction\":\"from_previous\",\"motion_y\":\"up\",\"motion_size\":\"output\","
              "\"motion_unit\":\"ndc\","
              "\"motion_jittered\":true,\"motion_scale\":[2,3],\"jitter_sign\":[1,-1],\"pre_exposure\":4,"
              "\"bits\":{\"color\":32,\"motion\":32,\"depth\":16,\"reference\":32},"
              "\"frames\":[{" FRAME ",\"exposure\":1.5,\"reset\":true,\"reference\":null},"
              "{" FRAME ",\"motion_scale\":5,\"pre_exposure\":6,\"reference\":\"/abs/r\"}]}",
              &kept, &s),
        D4R_OK);
    const d4r_conventions *c = &s.conventions;
    assert_true(c->ldr && c->depth_regular && c->motion_reversed && c->motion_flip_y && c->motion_at_output);
    assert_true(c->motion_jittered && c->motion_unit == D4R_MOTION_NDC &&
                c->exposure_mode == D4R_EXPOSURE_SCALAR);
    assert_true(s.color_bits == 32 && s.motion_bits == 32 && s.depth_bits == 16 && s.reference_bits == 32);
    const d4r_frame_settings *a = &s.frames[0].settings, *b = &s.frames[1].settings;
    assert_true(a->jitter.x == 0.25f && a->jitter.y == 0.5f && a->reset && a->exposure == 1.5f &&
                a->pre_exposure == 4);
    assert_true(a->motion_scale.x == 2 && a->motion_scale.y == 3 && b->motion_scale.x == 5 &&
                b->motion_scale.y == 5);
    assert_true(b->pre_exposure == 6 && !b->reset && a->render.width == 320 && a->render.height == 180);
    assert_string_equal(s.frames[0].color, "dir/c");
    assert_null(s.frames[0].reference);
    assert_string_equal(s.frames[1].reference, "/abs/r");
    cli_sequence_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_fields), cmocka_unit_test(test_unfit_values),
        cmocka_unit_test(test_warnings),   cmocka_unit_test(test_text),
        cmocka_unit_test(test_exposures),  cmocka_unit_test(test_every_convention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
