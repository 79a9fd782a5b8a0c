/* The HIP path when something is wrong: every HIP call failing once, a lost device, lack of memory, refused imports,
 * damaged code objects, no device, no library. Each gives an error in bounded time, leaves nothing behind, and frames
 * after a failed one are right again where the device still works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nettle/sha2.h>
#include <cmocka.h>
#include "hip_kernels/code_object.h"
#include "tests/engine/test_model.h"
#include "tests/hip/hip_rig.h"

static vk_test device;
static d4r_model *model;
static char folder[] = "/tmp/d4r-hip-XXXXXX";

/* ---- one life of an engine ---- */

enum { FRAMES = 3 };

/* Preset K's least grid takes the emulator a second a frame, several on a crowded machine. */
static uint32_t slowness(void)
{
    return test_preset() == D4R_PRESET_K ? 6 : 1;
}

typedef struct life {
    d4r_status created;
    d4r_status frames[FRAMES];
    uint8_t *picture; /* after the last frame */
    size_t bytes;
    uint64_t milliseconds, calls_first,
        calls_frames; /* HIP calls up to the first frame's end, up to the last's */
} life;

static life live(const hip_variant *variant)
{
    life l = {.created = D4R_OK};
    hip_rig h;
    uint64_t begin = test_now_ms();
    hip_rig_error();
    l.created = hip_rig_open(&h, &device, model, variant, 5000 * slowness());
    if (l.created == D4R_OK) {
        for (uint32_t n = 0; n < FRAMES; n++) {
            l.frames[n] = rig_run(&h.r, n);
            if (n == 0) l.calls_first = env_calls();
        }
        l.calls_frames = env_calls();
        l.picture = rig_read(&h.r, &l.bytes);
        hip_rig_close(&h);
    }
    l.milliseconds = test_now_ms() - begin;
    return l;
}

static bool all_good(const life *l)
{
    bool good = l->created == D4R_OK;
    for (int n = 0; n < FRAMES; n++) good = good && l->frames[n] == D4R_OK;
    return good;
}

/* ---- every call fails once ---- */

/* The names of calls that failed, from the emulator's trace. */
static bool read_failed(const char *trace, char name[64])
{
    char line[1024];
    FILE *file = fopen(trace, "r");
    bool found = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *start = strchr(line, '#');
        if (!start || !strstr(line, "by injection")) continue;
        found = sscanf(start, "#%*u %63[A-Za-z0-9]", name) == 1;
    }
    fclose(file);
    return found;
}

typedef struct tally {
    unsigned runs, refused, failed_frames, unharmed;
    char names[64][64];
    unsigned name_count;
} tally;

static void count_name(tally *t, const char *name)
{
    for (unsigned i = 0; i < t->name_count; i++)
        if (strcmp(t->names[i], name) == 0) return;
    if (t->name_count < 64) snprintf(t->names[t->name_count++], sizeof t->names[0], "%s", name);
}

/* What one failing call may lead to: refused with a message; or at most one failed frame with a message, and the last
 * frame is always a good one; or nothing at all (calls whose failure changes nothing, such as freeing). */
static void judge(const life *l, const life *good, const char *name, tally *t)
{
    t->runs++;
    count_name(t, name);
    assert_int_equal(env_live(), 0);
    assert_true(l->milliseconds < 20000 * slowness());
    if (l->created != D4R_OK) {
        t->refused++;
        assert_true(l->created < 0);
        assert_true(strlen(hip_rig_error()) > 0);
        return;
    }
    unsigned failed = 0;
    for (int n = 0; n < FRAMES; n++) {
        failed += l->frames[n] != D4R_OK;
        if (l->frames[n] != D4R_OK) assert_int_equal(l->frames[n], D4R_ERROR_NETWORK);
    }
    t->failed_frames += failed;
    assert_true(failed <= 1);
    if (failed) assert_true(strlen(hip_rig_error()) > 0);
    if (failed) return;
    t->unharmed++;
    assert_int_equal(l->bytes, good->bytes);
    assert_memory_equal(l->picture, good->picture, good->bytes);
}

static void fail_each_call(const hip_variant *variant, unsigned first, unsigned step)
{
    char trace[64], name[64];
    tally t = {0};
    env_reset("gfx1201");
    life good = live(variant);
    assert_true(all_good(&good));
    unsigned fds = env_fds();
    snprintf(trace, sizeof trace, "%s/trace", folder);
    for (unsigned n = first;; n += step) {
        /* Later frames make the first one's calls again. */
        if (n > good.calls_first && n <= good.calls_frames && !env_long()) continue;
        env_reset("gfx1201");
        unlink(trace);
        env_set("FAIL", "%u", n);
        env_set("TRACE", "%s", trace);
        env_apply();
        life l = live(variant);
        uint64_t objects = env_live();
        env_reset("gfx1201"); /* closes the trace */
        bool injected = read_failed(trace, name);
        if (getenv("D4R_TEST_VERBOSE") && injected)
            fprintf(stderr, "call %u, %s: created %d, frames %d %d %d\n", n, name, l.created, l.frames[0],
                    l.frames[1], l.frames[2]);
        assert_int_equal(objects, 0);
        if (injected) judge(&l, &good, name, &t);
        free(l.picture);
        if (!injected) break;
    }
    assert_int_equal(env_fds(), fds);
    free(good.picture);
    printf("%s: %u calls failed (%u different ones): %u refused, %u frames failed, %u unharmed\n",
           hip_variant_name(variant), t.runs, t.name_count, t.refused, t.failed_frames, t.unharmed);
    for (unsigned i = 0; i < t.name_count; i++) printf("    %s\n", t.names[i]);
    if (step == 1) assert_true(t.refused > 0 && t.failed_frames > 0 && t.unharmed > 0);
}

static void every_call_fails_once(void **state)
{
    (void)state;
    /* Plain by event, graphs by callback behind a marker: together every call of the table. In short runs every third
     * call of the second, in sanitizer builds fewer; all with D4R_LONG_TESTS=1, then for all variants. */
    hip_variant plain = hip_variant_at(0), other = hip_variant_at(7);
    const unsigned step = test_preset() == D4R_PRESET_K ? 19 * FAULT_STEP : FAULT_STEP; /* a second a frame */
    fail_each_call(&plain, 1, env_long() ? 1 : step);
    if (test_preset() == D4R_PRESET_M || env_long()) fail_each_call(&other, 1, env_long() ? 1 : 3 * step);
    for (unsigned i = 1; env_long() && i < 7; i++) {
        hip_variant variant = hip_variant_at(i);
        fail_each_call(&variant, 1, 1);
    }
    assert_int_equal(device.messages, 0);
}

/* ---- the device and its memory ---- */

static void lost_device(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        for (int forgets = 0; forgets < 2; forgets++) {
            hip_variant variant = hip_variant_at(i);
            hip_rig h;
            env_reset("gfx1201");
            env_set("LOST", "15");
            env_apply();
            if (forgets) env_mutate("callback-never");
            if (forgets && variant.completion == D4R_HIP_COMPLETION_EVENT) continue;
            assert_int_equal(hip_rig_open(&h, &device, model, &variant, forgets ? 500 : 5000 * slowness()),
                             D4R_OK);
            if (!forgets) assert_int_equal(rig_run(&h.r, 0), D4R_OK);
            uint64_t begin = test_now_ms();
            for (uint32_t n = 1; n < 4; n++) {
                d4r_status status = rig_run(&h.r, n);
                assert_true(status == D4R_ERROR_NETWORK || (forgets && status == D4R_ERROR_TIMEOUT));
            }
            hip_rig_close(&h);
            assert_true(test_now_ms() - begin < 8000 * slowness());
            assert_int_equal(env_live(), 0);
        }
    env_mutate(NULL);
    assert_int_equal(device.messages, 0);
}

/* A runtime forgets one callback, and the device is well: that frame ends by the watchdog, and soon frames are good again. */
static void forgotten_callback(void **state)
{
    (void)state;
    for (unsigned i = 2; i < 8; i += 5) {
        hip_variant variant = hip_variant_at(i);
        hip_rig h;
        env_reset("gfx1201");
        assert_int_equal(hip_rig_open(&h, &device, model, &variant, 1000 * SLOWNESS), D4R_OK);
        assert_int_equal(rig_run(&h.r, 0), D4R_OK);
        env_mutate("callback-never");
        assert_int_equal(rig_run(&h.r, 1), D4R_ERROR_TIMEOUT);
        env_mutate(NULL);
        /* The network looks for a while whether the callback comes after all; frames until then fail at once. */
        d4r_status status = D4R_ERROR_NETWORK;
        for (uint32_t n = 2; n < 40 * SLOWNESS && status == D4R_ERROR_NETWORK; n++) {
            status = rig_run(&h.r, n);
            test_sleep_ms(30);
        }
        assert_int_equal(status, D4R_OK);
        hip_rig_close(&h);
        assert_int_equal(env_live(), 0);
    }
    assert_int_equal(device.messages, 0);
}

/* A callback that comes after the network is gone finds what it needs, and nothing else. */
static void late_callback(void **state)
{
    hip_variant variant = hip_variant_at(2);
    hip_rig h;
    (void)state;
    env_reset("gfx1201");
    assert_int_equal(hip_rig_open(&h, &device, model, &variant, 300), D4R_OK);
    const unsigned before = env_late_calls();
    env_mutate("callback-late");
    assert_int_equal(rig_run(&h.r, 0), D4R_ERROR_TIMEOUT);
    env_mutate(NULL);
    hip_rig_close(&h);
    assert_int_equal(env_live(), 0);
    for (int waited = 0; env_late_calls() == before && waited < 20000; waited += 10) test_sleep_ms(10);
    assert_int_equal(env_late_calls(), before + 1);
    assert_int_equal(device.messages, 0);
}

/* Memory for ever more of the network's buffers, then for all of them. */
static void out_of_memory(void **state)
{
    unsigned refused = 0;
    (void)state;
    hip_variant variant = hip_variant_at(0);
    for (uint64_t bytes = 4096; bytes < (64u << 20); bytes *= 2) {
        env_reset("gfx1100"); /* two copies of the weights */
        env_set("MEMORY", "%llu", (unsigned long long)bytes);
        env_apply();
        life l = live(&variant);
        assert_int_equal(env_live(), 0);
        if (l.created == D4R_OK) {
            assert_true(all_good(&l));
        } else {
            refused++;
            assert_int_equal(l.created, D4R_ERROR_MEMORY);
            assert_true(hip_rig_said("cannot allocate"));
        }
        free(l.picture);
    }
    printf("%u sizes refused\n", refused);
    assert_true(refused > 5);
}

static void refused_import(void **state)
{
    (void)state;
    unsigned fds = env_fds();
    for (unsigned i = 0; i < 2; i++) {
        hip_variant variant = hip_variant_at(i);
        env_reset("gfx1201");
        env_set("IMPORT", "refuse");
        env_apply();
        life l = live(&variant);
        assert_int_equal(l.created, D4R_ERROR_DEVICE);
        assert_true(hip_rig_said("refused to import"));
        assert_int_equal(env_live(), 0);
    }
    assert_int_equal(env_fds(), fds);
}

static void no_device_or_library(void **state)
{
    d4r_network *network = NULL;
    d4r_hip_network_params params = {0};
    hip_rig h;
    (void)state;
    hip_variant variant = hip_variant_at(0);
    env_reset("none");
    assert_int_equal(hip_rig_open(&h, &device, model, &variant, 1000), D4R_ERROR_NO_DEVICE);
    assert_true(hip_rig_said("no HIP device was found"));
    assert_true(hip_rig_said("libhipshim"));
    hip_rig_error();
    env_reset("gfx1201");
    params.library = "/nonexistent/libamdhip64.so";
    assert_int_equal(d4r_network_create_hip(model, &params, NULL, &network), D4R_ERROR_NO_DEVICE);
    assert_null(network);
    params.library = "libm.so.6"; /* a library, but no HIP runtime */
    assert_int_equal(d4r_network_create_hip(model, &params, NULL, &network), D4R_ERROR_NO_DEVICE);
    assert_null(network);
    /* An architecture without kernels; a device that does not exist. */
    params = (d4r_hip_network_params){.device = "7"};
    assert_int_equal(d4r_network_create_hip(model, &params, NULL, &network), D4R_OK);
    rig_params caller = {.model = model, .network = network, .render = {64, 64}, .output = {96, 64}};
    rig r;
    rig_create(&r, &device, &caller);
    assert_int_equal(r.status, D4R_ERROR_NO_DEVICE);
    rig_destroy(&r);
    d4r_network_destroy(&network);
    assert_int_equal(env_live(), 0);
}

/* ---- code objects ---- */

typedef struct blob {
    uint8_t *data;
    size_t size;
} blob;

static blob read_blob(const char *arch)
{
    char path[512];
    blob b = {0};
    snprintf(path, sizeof path, "%s/%s/m.hsaco", KERNELS_FOLDER, arch);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.data = malloc(b.size);
    assert_non_null(b.data);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static void hash_of(const uint8_t *data, size_t size, char text[65])
{
    struct sha256_ctx context;
    uint8_t digest[32];
    sha256_init(&context);
    sha256_update(&context, size, data);
    sha256_digest(&context, sizeof digest, digest);
    for (int i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static void write_text(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* A kernels folder whose gfx1201 is this file; manifest NULL: one that fits it. */
static void install(const uint8_t *data, size_t size, const char *manifest)
{
    char path[128], text[512], hash[65];
    snprintf(path, sizeof path, "%s/gfx1201", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/gfx1201/m.hsaco", folder);
    write_text(path, data, size);
    hash_of(data, size, hash);
    snprintf(text, sizeof text, "{\"name\":\"m\",\"architecture\":\"gfx1201\",\"sha256\":\"%s\"}", hash);
    if (!manifest) manifest = text;
    snprintf(path, sizeof path, "%s/gfx1201/m.json", folder);
    write_text(path, manifest, strlen(manifest));
}

static d4r_status check_installed(void)
{
    d4r_code_object object;
    d4r_status status = d4r_code_object_load(folder, "gfx1201", "m", NULL, &object);
    d4r_code_object_destroy(&object);
    return status;
}

/* Creating an engine with the installed file; everything must be gone afterwards. */
static d4r_status try_installed(void)
{
    hip_variant variant = hip_variant_at(0);
    hip_rig h;
    env_reset("gfx1201");
    setenv("D4R_KERNELS", folder, 1);
    d4r_status status = hip_rig_open(&h, &device, model, &variant, 2000);
    if (status == D4R_OK) hip_rig_close(&h);
    setenv("D4R_KERNELS", KERNELS_FOLDER, 1);
    assert_int_equal(env_live(), 0);
    return status;
}

static void put(blob *b, size_t at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) b->data[at + (size_t)i] = (uint8_t)(value >> (8 * i));
}

static void bad_code_objects(void **state)
{
    (void)state;
    blob good = read_blob("gfx1201"), other = read_blob("gfx1100");
    install(good.data, good.size, NULL);
    assert_int_equal(check_installed(), D4R_OK);
    assert_int_equal(try_installed(), D4R_OK);
    /* Another architecture under this name; a relabelled one, which passes the flags but not the loader. */
    install(other.data, other.size, NULL);
    assert_int_equal(try_installed(), D4R_ERROR_NO_DEVICE);
    assert_true(hip_rig_said("built for gfx1100"));
    hip_rig_error();
    /* The manifest: of another file, without a hash, no JSON, missing. */
    install(good.data, good.size, "{\"sha256\":\"00\"}");
    assert_int_equal(try_installed(), D4R_ERROR_NO_DEVICE);
    assert_true(hip_rig_said("SHA-256"));
    install(good.data, good.size, "{}");
    assert_int_equal(check_installed(), D4R_ERROR_NO_DEVICE);
    install(good.data, good.size, "not json");
    assert_int_equal(check_installed(), D4R_ERROR_NO_DEVICE);
    char path[128];
    snprintf(path, sizeof path, "%s/gfx1201/m.json", folder);
    unlink(path);
    assert_int_equal(try_installed(), D4R_ERROR_NO_DEVICE);
    assert_true(hip_rig_said("manifest"));
    /* Missing altogether: the paths tried are listed. */
    snprintf(path, sizeof path, "%s/gfx1201/m.hsaco", folder);
    unlink(path);
    hip_rig_error();
    assert_int_equal(try_installed(), D4R_ERROR_NO_DEVICE);
    assert_true(hip_rig_said(path));
    free(good.data);
    free(other.data);
}

/* Damaged files whose manifest fits: truncated anywhere, tables that point elsewhere, flipped bytes. */
static void damaged_code_objects(void **state)
{
    (void)state;
    blob good = read_blob("gfx1201");
    static const size_t sizes[] = {0, 1, 7, 16, 63, 64, 65, 120, 1000, 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        install(good.data, sizes[i], NULL);
        assert_int_equal(check_installed(), D4R_ERROR_NO_DEVICE);
    }
    for (int i = 1; i < 16; i++) { /* the section table lies at the end */
        install(good.data, good.size * (size_t)i / 16, NULL);
        assert_int_equal(check_installed(), D4R_ERROR_NO_DEVICE);
    }
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
    } lies[] = {
        {0, 1, 0},      {4, 1, 1},           {5, 1, 2},         {18, 2, 62},         {48, 1, 0x41},
        {48, 1, 0xff},  {32, 8, UINT64_MAX}, {32, 8, 1u << 30}, {40, 8, UINT64_MAX}, {40, 8, UINT64_MAX - 63},
        {54, 2, 0},     {54, 2, 1},          {56, 2, 0xffff},   {58, 2, 0},          {58, 2, 65},
        {60, 2, 0xffff}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        blob bad = {malloc(good.size), good.size};
        memcpy(bad.data, good.data, good.size);
        put(&bad, lies[i].at, lies[i].value, lies[i].bytes);
        install(bad.data, bad.size, NULL);
        assert_int_equal(check_installed(), D4R_ERROR_NO_DEVICE);
        free(bad.data);
    }
    /* What no check of ours can see is the loader's to refuse: no crash, no leak. */
    uint64_t random = 1;
    unsigned refused = 0;
    const unsigned flips = env_long() ? 300 : 20;
    for (unsigned i = 0; i < flips; i++) {
        blob bad = {malloc(good.size), good.size};
        memcpy(bad.data, good.data, good.size);
        for (int k = 0; k < 4; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bad.data[(random >> 33) % (i % 2 ? good.size : 4096)] ^= (uint8_t)(1u << (random >> 20) % 8);
        }
        install(bad.data, bad.size, NULL);
        d4r_status status = try_installed();
        refused += status != D4R_OK;
        if (status != D4R_OK) assert_int_equal(status, D4R_ERROR_NO_DEVICE);
        free(bad.data);
    }
    printf("%u of %u files with flipped bits refused\n", refused, flips);
    free(good.data);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s stays\n", folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once), cmocka_unit_test(lost_device),
        cmocka_unit_test(forgotten_callback),    cmocka_unit_test(late_callback),
        cmocka_unit_test(out_of_memory),         cmocka_unit_test(refused_import),
        cmocka_unit_test(no_device_or_library),  cmocka_unit_test(bad_code_objects),
        cmocka_unit_test(damaged_code_objects),
    };
    if (!vk_test_create(&device)) return 77;
    if (!mkdtemp(folder)) return 1;
    env_start();
    watch_init(&device);
    model = env_model(9);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    env_model_free(model);
    remove_folder();
    vk_test_destroy(&device);
    return failed || device.messages ? 1 : 0;
}
