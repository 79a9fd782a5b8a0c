/* d4r-scene's files against their own conventions, from the files alone: sizes, finite values, motion recomputed in double
 * from depth and cameras, references warped by the vectors, jitter found by its PSNR. argv[1] is the tool. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>

#define W 160 /* render */
#define H 90
#define OW 320 /* output */
#define OH 180
#define FRAMES 3

static const char *tool;
static char root[] = "/tmp/d4r-scene-test-XXXXXX";

struct frame {
    float *color, *reference; /* tonemapped to c / (1 + c), three channels */
    float *depth, *motion;
    double jitter[2], camera[4][4], tan_x;
};

static struct frame frames[FRAMES];

static int run_tool(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && '%s' %s 2>%s/err >%s/out", root, tool, arguments, root, root);
    int result = system(command);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static void *read_file(const char *folder, const char *name, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    char *data = malloc(size + 1);
    assert_non_null(data);
    size_t got = fread(data, 1, size + 1, file);
    fclose(file);
    if (size < 1u << 20 && got > size) fail_msg("%s is larger than %zu bytes", path, size);
    data[got < size ? got : size] = 0;
    return data;
}

static float half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent ? ldexp(1 + mantissa / 1024.0, exponent - 15) : ldexp(mantissa, -24);
    if (exponent == 31) value = mantissa ? NAN : INFINITY;
    return (float)(bits & 0x8000 ? -value : value);
}

/* RGBA16F of exactly this size, checked and tonemapped. */
static float *read_color(const char *folder, const char *name, int w, int h)
{
    size_t pixels = (size_t)w * (size_t)h;
    uint16_t *bits = read_file(folder, name, pixels * 8);
    float *out = malloc(pixels * 3 * sizeof *out), largest = 0;
    assert_non_null(out);
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < 4; c++) {
            float v = half(bits[4 * i + c]);
            assert_true(isfinite(v) && v >= 0);
            if (c == 3) assert_true(v == 1);
            largest = fmaxf(largest, v);
            if (c < 3) out[3 * i + c] = v / (1 + v);
        }
    assert_true(largest > 5); /* there is something bright in every scene */
    free(bits);
    return out;
}

static void read_camera(const cJSON *item, struct frame *f)
{
    const cJSON *rows = cJSON_GetObjectItem(item, "camera_to_world");
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            f->camera[i][k] = cJSON_GetArrayItem(cJSON_GetArrayItem(rows, i), k)->valuedouble;
    f->tan_x = tan(cJSON_GetObjectItem(item, "fov_x_deg")->valuedouble * 3.14159265358979 / 360);
}

static void load(const char *folder)
{
    char *text = read_file(folder, "frames.json", 100000);
    cJSON *root_item = cJSON_Parse(text), *list = cJSON_GetObjectItem(root_item, "frames");
    assert_int_equal(cJSON_GetArraySize(list), FRAMES);
    assert_int_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(root_item, "output"), 1)->valueint, OH);
    for (int i = 0; i < FRAMES; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        struct frame *f = &frames[i];
        f->color = read_color(folder, cJSON_GetObjectItem(item, "color")->valuestring, W, H);
        f->reference = read_color(folder, cJSON_GetObjectItem(item, "reference")->valuestring, OW, OH);
        f->depth = read_file(folder, cJSON_GetObjectItem(item, "depth")->valuestring, W * H * 4);
        f->motion = read_file(folder, cJSON_GetObjectItem(item, "motion")->valuestring, W * H * 8);
        for (int k = 0; k < 2; k++)
            f->jitter[k] = cJSON_GetArrayItem(cJSON_GetObjectItem(item, "jitter"), k)->valuedouble;
        read_camera(cJSON_GetObjectItem(item, "camera"), f);
        for (int p = 0; p < W * H; p++) {
            assert_true(f->depth[p] >= 0 && f->depth[p] <= 1);
            assert_true(isfinite(f->motion[2 * p]) && isfinite(f->motion[2 * p + 1]));
        }
    }
    cJSON_Delete(root_item);
    free(text);
}

static void unload(void)
{
    for (int i = 0; i < FRAMES; i++) {
        free(frames[i].color);
        free(frames[i].reference);
        free(frames[i].depth);
        free(frames[i].motion);
    }
}

/* Where the surface of pixel p of frame k was in frame k - 1 if only the camera moved, in double from depth and cameras. */
static void camera_motion(const struct frame *now, const struct frame *before, int p, double motion[2])
{
    double sx = p % W + 0.5 + now->jitter[0], sy = p / W + 0.5 + now->jitter[1], tan_y = now->tan_x * OH / OW;
    double z = now->depth[p] > 0 ? 0.1 / now->depth[p] : 1;
    const double local[3] = {(sx / W * 2 - 1) * now->tan_x * z, -(sy / H * 2 - 1) * tan_y * z, -z};
    double relative[3] = {0}, there[3] = {0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) relative[i] += now->camera[i][k] * local[k];
        if (now->depth[p] > 0) relative[i] += now->camera[i][3] - before->camera[i][3];
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) there[i] += before->camera[k][i] * relative[k];
    motion[0] = (there[0] / (-there[2] * now->tan_x) + 1) / 2 * W - sx;
    motion[1] = (-there[1] / (-there[2] * tan_y) + 1) / 2 * H - sy;
}

static void sample(const float *image, int w, int h, double x, double y, double rgb[3])
{
    double fx = fmin(fmax(x - 0.5, 0), w - 1.001), fy = fmin(fmax(y - 0.5, 0), h - 1.001);
    int ix = (int)fx, iy = (int)fy;
    for (int c = 0; c < 3; c++) {
        const float *a = image + ((size_t)iy * (size_t)w + (size_t)ix) * 3 + c, *b = a + (size_t)w * 3;
        rgb[c] = (a[0] * (1 - fx + ix) + a[3] * (fx - ix)) * (1 - fy + iy) +
                 (b[0] * (1 - fx + ix) + b[3] * (fx - ix)) * (fy - iy);
    }
}

/* Not at the edge of the image or of an object: 3x3 depths within 5 %. */
static bool smooth(const struct frame *f, int p)
{
    int x = p % W, y = p / W;
    if (x < 2 || y < 2 || x >= W - 2 || y >= H - 2) return false;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            float a = f->depth[p], b = f->depth[p + dy * W + dx];
            if (fabsf(a - b) > 0.05f * fmaxf(a, b)) return false;
        }
    return true;
}

static double psnr(double sum, long count)
{
    return count ? fmin(100, -10 * log10(sum / (double)count / 3 + 1e-12)) : 0;
}

static double square_distance(const double a[3], const double b[3])
{
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

/* The median error must be at rounding level: the planes hold f32, the cameras nine digits. */
static void check_exact_motion(double still_share)
{
    for (int k = 1; k < FRAMES; k++) {
        int exact = 0, sky = 0;
        for (int p = 0; p < W * H; p++) {
            double want[2];
            camera_motion(&frames[k], &frames[k - 1], p, want);
            double error = hypot(frames[k].motion[2 * p] - want[0], frames[k].motion[2 * p + 1] - want[1]);
            exact += error < 0.002;
            if (frames[k].depth[p] == 0) {
                sky++;
                assert_true(error < 0.002);
            }
        }
        print_message("frame %d: %.1f %% of the vectors are the camera's to 0.002 px, %d pixels of sky\n", k,
                      100.0 * exact / (W * H), sky);
        assert_true(exact >= still_share * W * H);
    }
}

/* Table (b): the previous reference, warped by the vectors, must look like the current one, and better than with any
 * mistake. `moving`: only where objects move by themselves; there the camera's motion is one of the mistakes. */
static void check_warp(bool moving, double margin)
{
    static const char *const names[] = {"warped", "unwarped", "negated", "y flipped", "camera only"};
    double sums[5] = {0}, value[5];
    long count = 0;
    for (int k = 1; k < FRAMES; k++)
        for (int p = 0; p < W * H; p++) {
            const struct frame *f = &frames[k];
            double mx = f->motion[2 * p], my = f->motion[2 * p + 1], camera[2], a[3], b[3];
            double sx = p % W + 0.5 + f->jitter[0], sy = p / W + 0.5 + f->jitter[1];
            camera_motion(f, &frames[k - 1], p, camera);
            if (moving && hypot(mx - camera[0], my - camera[1]) < 0.05) continue;
            if (!smooth(f, p) || sx + mx < 1 || sy + my < 1 || sx + mx > W - 1 || sy + my > H - 1) continue;
            const double tries[5][2] = {{mx, my}, {0, 0}, {-mx, -my}, {mx, -my}, {camera[0], camera[1]}};
            sample(f->reference, OW, OH, sx * OW / W, sy * OH / H, a);
            for (int i = 0; i < 5; i++) {
                sample(frames[k - 1].reference, OW, OH, (sx + tries[i][0]) * OW / W,
                       (sy + tries[i][1]) * OH / H, b);
                sums[i] += square_distance(a, b);
            }
            count++;
        }
    for (int i = 0; i < 5; i++) {
        value[i] = psnr(sums[i], count);
        print_message("%s%s: %.2f dB\n", moving ? "moving, " : "", names[i], value[i]);
    }
    assert_true(count > (moving ? 100 : W * H / 4));
    for (int i = 1; i < (moving ? 5 : 4); i++)
        if (value[0] < value[i] + (i == 3 ? margin / 4 : margin)) fail_msg("%s is too good", names[i]);
}

/* Table (c): the colour must fit the reference best at + jitter. */
static void check_jitter(void)
{
    static const char *const names[] = {"+j", "-j", "y flipped", "x flipped", "none"};
    static const double signs[5][2] = {{1, 1}, {-1, -1}, {1, -1}, {-1, 1}, {0, 0}};
    double sums[5] = {0}, value[5];
    long count = 0;
    for (int k = 0; k < FRAMES; k++)
        for (int p = 0; p < W * H; p++) {
            const struct frame *f = &frames[k];
            double a[3] = {f->color[3 * p], f->color[3 * p + 1], f->color[3 * p + 2]}, b[3];
            for (int i = 0; i < 5; i++) {
                double sx = p % W + 0.5 + signs[i][0] * f->jitter[0],
                       sy = p / W + 0.5 + signs[i][1] * f->jitter[1];
                sample(f->reference, OW, OH, sx * OW / W, sy * OH / H, b);
                sums[i] += square_distance(a, b);
            }
            count++;
        }
    for (int i = 0; i < 5; i++) {
        value[i] = psnr(sums[i], count);
        print_message("jitter %s: %.2f dB\n", names[i], value[i]);
    }
    for (int i = 1; i < 5; i++)
        if (value[0] < value[i] + 0.5) fail_msg("jitter %s is too good", names[i]);
}

static void render(const char *scene)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments,
             "--scene %s --frames 3 --start 0.3 --fps 12 --render 160x90 --output 320x180 --samples 16 "
             "--motion-bits 32 "
             "--validate %s",
             scene, scene);
    int code = run_tool(arguments);
    if (code) {
        char *text = read_file(".", "err", 1 << 20);
        print_message("%s\n", text);
        free(text);
    }
    assert_int_equal(code, 0);
    load(scene);
}

static void test_street(void **state)
{
    (void)state;
    render("street");
    check_exact_motion(0.85);
    check_warp(false, 3);
    check_warp(true, 1.2);
    check_jitter();
    unload();
}

static void test_gallery(void **state)
{
    (void)state;
    render("gallery");
    check_exact_motion(0.85);
    check_warp(false, 3);
    check_jitter();
    unload();
}

static void test_chart(void **state)
{
    (void)state;
    render("chart");
    check_exact_motion(1);
    for (int k = 0; k < FRAMES; k++)
        for (int p = 0; p < 2 * W * H; p++) assert_true(fabsf(frames[k].motion[p]) < 1e-4f);
    check_jitter();
    unload();
}

/* The same options give the same bytes; odd sizes work; f16 vectors are the f32 ones rounded. */
static void test_repeat(void **state)
{
    (void)state;
    static const char options[] =
        "--scene street --frames 1 --render 97x71 --output 203x149 --samples 5 --seed 7";
    char arguments[256];
    for (int i = 0; i < 3; i++) {
        snprintf(arguments, sizeof arguments, "%s %s r%d", options, i == 2 ? "--motion-bits 32" : "", i);
        int code = run_tool(arguments);
        assert_int_equal(code, 0);
    }
    static const struct {
        const char *name;
        size_t size;
    } files[] = {{"color-0000.bin", 97 * 71 * 8},
                 {"depth-0000.bin", 97 * 71 * 4},
                 {"motion-0000.bin", 97 * 71 * 4},
                 {"reference-0000.bin", 203 * 149 * 8}};
    for (size_t i = 0; i < 4; i++) {
        void *a = read_file("r0", files[i].name, files[i].size),
             *b = read_file("r1", files[i].name, files[i].size);
        assert_memory_equal(a, b, files[i].size);
        free(a);
        free(b);
    }
    uint16_t *narrow = read_file("r0", "motion-0000.bin", 97 * 71 * 4);
    float *wide = read_file("r2", "motion-0000.bin", 97 * 71 * 8);
    for (int i = 0; i < 97 * 71 * 2; i++)
        assert_true(fabsf(half(narrow[i]) - wide[i]) <= fabsf(wide[i]) * 0x1p-11f + 0x1p-25f);
    free(narrow);
    free(wide);
}

/* Several sizes: each frame is that of a run with its size alone, its reference that of any run. */
static void test_sizes_in_turn(void **state)
{
    static const int sizes[2][2] = {{97, 71}, {64, 80}};
    static const char *const names[] = {"color", "depth", "motion"};
    static const size_t bytes[] = {8, 4, 4};
    const char *common = "--scene gallery --frames 3 --output 128x96 --samples 2";
    char arguments[256], name[32];
    (void)state;
    snprintf(arguments, sizeof arguments, "%s --render 97x71,64x80 --validate turns", common);
    int code = run_tool(arguments);
    assert_int_equal(code, 0);
    char *text = read_file(".", "out", 10000);
    assert_non_null(strstr(text, "3 frames 97x71 and 1 more sizes in turn, references 128x96"));
    free(text);
    for (int k = 0; k < 2; k++) {
        snprintf(arguments, sizeof arguments, "%s --render %dx%d alone%d", common, sizes[k][0], sizes[k][1],
                 k);
        code = run_tool(arguments);
        assert_int_equal(code, 0);
    }
    text = read_file("turns", "frames.json", 100000);
    cJSON *json = cJSON_Parse(text), *list = cJSON_GetObjectItem(json, "frames");
    assert_int_equal(cJSON_GetArraySize(list), 3);
    for (int i = 0; i < 3; i++) {
        const cJSON *render = cJSON_GetObjectItem(cJSON_GetArrayItem(list, i), "render");
        const char *alone = i % 2 ? "alone1" : "alone0";
        for (int k = 0; k < 2; k++)
            assert_int_equal(cJSON_GetArrayItem(render, k)->valueint, sizes[i % 2][k]);
        for (size_t n = 0; n < 4; n++) {
            size_t size = n < 3 ? (size_t)sizes[i % 2][0] * (size_t)sizes[i % 2][1] * bytes[n] : 128 * 96 * 8;
            snprintf(name, sizeof name, "%s-%04d.bin", n < 3 ? names[n] : "reference", i);
            void *a = read_file("turns", name, size), *b = read_file(alone, name, size);
            assert_memory_equal(a, b, size);
            free(a);
            free(b);
        }
    }
    cJSON_Delete(json);
    free(text);
}

static void expect(int code, const char *message, const char *arguments)
{
    int have = run_tool(arguments);
    char *text = read_file(".", "err", 100000);
    if (have != code || !strstr(text, message)) fail_msg("%s: exit %d, \"%s\"", arguments, have, text);
    if (code) assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    free(text);
}

static void test_usage(void **state)
{
    (void)state;
    expect(0, "", "--help");
    expect(0, "", "--list");
    expect(2, "one output folder is needed", "");
    expect(2, "'--bogus': unknown option", "--bogus x");
    expect(2, "--scene: 'moon' is not a scene: street, gallery or chart", "--scene moon x");
    expect(2, "--render: '32x32' is not WIDTHxHEIGHT", "--render 32x32 x");
    expect(2, "--render: '64x64,' is not WIDTHxHEIGHT", "--render 64x64, x");
    expect(2, "--render: '64x64x64' is not WIDTHxHEIGHT", "--render 64x64x64 x");
    expect(2, "--render: '80x80,,64x64' is not WIDTHxHEIGHT", "--render 80x80,,64x64 x");
    expect(2, "--render: '64x64,80' is not WIDTHxHEIGHT", "--render 64x64,80 x");
    expect(2, "--render 640x64 is larger than --output 320x180", "--render 64x64,640x64 --output 320x180 x");
    expect(2, "--render 640x90 is larger than --output 320x180", "--render 640x90 --output 320x180 x");
    expect(2, "--frames: '0' is not a number from 1 to 10000", "--frames 0 x");
    expect(2, "--motion-bits: '24' is not 16 or 32", "--motion-bits 24 x");
    expect(2, "'--fps': its value is missing", "--fps");
    expect(5, "nowhere/x", "--frames 1 nowhere/x");
    expect(3, "is not the one asked for", "--device moonshine x");
    char path[256];
    snprintf(path, sizeof path, "%s/x", root);
    assert_int_not_equal(access(path, F_OK), 0);
}

static int remove_root(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !mkdtemp(root)) return 1;
    tool = argv[1];
    /* For the tool only: the driver leaks, and is unloaded before the leak could be put down to it. */
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    if (run_tool("--frames 1 --render 64x64 --output 64x64 --reference-from 1 probe") == 3) {
        fprintf(stderr, "skipped: d4r-scene finds no Vulkan device\n");
        remove_root(NULL);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_usage),   cmocka_unit_test(test_street),
                                       cmocka_unit_test(test_gallery), cmocka_unit_test(test_chart),
                                       cmocka_unit_test(test_repeat),  cmocka_unit_test(test_sizes_in_turn)};
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
