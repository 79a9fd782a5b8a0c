/* d4r_model_load: a good directory, and every kind of damage with its status and message. */
#include "models/tests/capture.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/format/file.h"
#include "models/format/fp8.h"
#include "models/format/m_pack.h"
#include "models/format/manifest.h"
#include "models/format/model.h"
#include "models/format/model_write.h"
#include "models/format/neutral.h"

static char root[] = "/tmp/d4r-model-test-XXXXXX";
static char directory[64];

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_bytes(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

__attribute__((noinline)) /* gcc 12 sees a dangling pointer once it is inlined */
static uint8_t *
read_bytes(const char *name, size_t *size)
{
    uint8_t *data = NULL;
    assert_int_equal(d4r_file_read(path_of(name), 1u << 30, NULL, &data, size), D4R_OK);
    return data;
}

static void remove_directory(void)
{
    static const char *const names[] = {"weights.safetensors", "weights.bin", "hipnet.bin", "lut.bin",
                                        "model.json",          "note.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (unlink(path_of(names[i])) && (errno == EISDIR || errno == EPERM)) rmdir(path_of(names[i]));
    rmdir(directory);
}

/* A fresh model whose weights are not all zero. */
static int setup(void **state)
{
    (void)state;
    d4r_m_neutral params = d4r_m_neutral_default();
    d4r_m_weights weights;
    remove_directory();
    assert_int_equal(d4r_m_weights_create(&weights), D4R_OK);
    for (size_t i = 0; i < D4R_M_TENSOR_COUNT; i++)
        if (d4r_m_tensors[i].kind == D4R_M_WEIGHT)
            for (size_t k = 0; k < d4r_m_tensor_elements(&d4r_m_tensors[i]); k++)
                weights.data[weights.offset[i] + k] = (uint8_t)((k * 37 + i * 11) % 126);
    assert_int_equal(d4r_m_neutral_fill(&params, NULL, &weights), D4R_OK);
    assert_int_equal(d4r_m_model_write(directory, true, &weights, "test model", "CC0-1.0", NULL), D4R_OK);
    d4r_m_weights_free(&weights);
    return 0;
}

static int group_setup(void **state)
{
    (void)state;
    if (!mkdtemp(root)) return -1;
    snprintf(directory, sizeof directory, "%s/m", root);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    remove_directory();
    return rmdir(root);
}

static void expect(d4r_status status, const char *file, const char *message)
{
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_model *model = (d4r_model *)&capture; /* must become NULL */
    d4r_status have = d4r_model_load(directory, &log, &model);
    if (have != status) fail_msg("status %d, expected %d: \"%s\"", (int)have, (int)status, capture.error);
    assert_null(model);
    assert_one_error(&capture, message);
    assert_one_error(&capture, file);
}

/* Makes model.json agree with the files as they are, so that what comes after the hash is tested. */
static void bless(void)
{
    d4r_manifest manifest;
    size_t size;
    uint8_t *text = read_bytes("model.json", &size);
    assert_int_equal(d4r_manifest_parse("model.json", (char *)text, size, NULL, &manifest), D4R_OK);
    free(text);
    for (int i = 0; i < D4R_FILE_COUNT; i++) {
        if (!manifest.files[i].sha256[0]) continue;
        uint8_t *data = read_bytes(d4r_model_file_names[i], &size);
        manifest.files[i].size = size;
        d4r_sha256_hex(data, size, manifest.files[i].sha256);
        free(data);
    }
    char *printed = d4r_manifest_print(&manifest);
    write_bytes("model.json", printed, strlen(printed));
    free(printed);
}

static void test_good(void **state)
{
    (void)state;
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_model *model;
    d4r_model_info info;
    char hex[65];
    size_t size;
    assert_int_equal(d4r_model_load(directory, &log, &model), D4R_OK);
    assert_int_equal(capture.errors + capture.warnings, 0);
    assert_int_equal(d4r_model_get_info(model, &info), D4R_OK);
    assert_int_equal(info.preset, D4R_PRESET_M);
    assert_string_equal(info.name, "test model");
    assert_string_equal(info.licence, "CC0-1.0");
    assert_int_equal(info.packed_bytes, D4R_M_STAGE_BYTES + D4R_M_NET_BYTES);
    assert_int_equal(info.parameter_count, 1169702);
    assert_string_equal(model->directory, directory);
    assert_int_equal((uintptr_t)model->network % 256, 0);
    assert_int_equal((uintptr_t)model->stage_weights % 64, 0);
    uint8_t *text = read_bytes("model.json", &size);
    d4r_sha256_hex(text, size, hex);
    assert_string_equal(info.sha256, hex);
    free(text);
    uint8_t *network = read_bytes("hipnet.bin", &size);
    assert_int_equal(size, model->network_bytes);
    assert_memory_equal(network, model->network, size);
    free(network);
    d4r_model_destroy(&model);
    assert_null(model);
    d4r_model_destroy(&model);
    d4r_model_destroy(NULL);
    assert_int_equal(d4r_model_load(NULL, &log, &model), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_model_load(directory, &log, NULL), D4R_ERROR_ARGUMENT);
    assert_int_equal(d4r_model_get_info(NULL, &info), D4R_ERROR_ARGUMENT);
}

/* NIST's vector, so that the hash is SHA-256 and not merely the same function twice. */
static void test_sha256(void **state)
{
    (void)state;
    char hex[65];
    d4r_sha256_hex((const uint8_t *)"abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_missing_and_wrong_kind(void **state)
{
    static const char *const names[] = {"model.json", "weights.safetensors", "weights.bin", "hipnet.bin"};
    for (size_t i = 0; i < 4; i++) {
        setup(state);
        unlink(path_of(names[i]));
        expect(D4R_ERROR_MODEL, names[i], "no such file");
        assert_int_equal(mkdir(path_of(names[i]), 0700), 0);
        expect(D4R_ERROR_MODEL, names[i], "a directory, expected a file");
        rmdir(path_of(names[i]));
        assert_int_equal(mkfifo(path_of(names[i]), 0600), 0);
        expect(D4R_ERROR_MODEL, names[i], "not a regular file"); /* and does not hang */
        unlink(path_of(names[i]));
        write_bytes(names[i], "", 0);
        expect(D4R_ERROR_MODEL, names[i], i ? "0 bytes, but" : "not valid JSON");
    }
    remove_directory();
    expect(D4R_ERROR_MODEL, "m/model.json", "no such file");
}

static void test_sizes_and_hashes(void **state)
{
    static const char *const names[] = {"weights.safetensors", "weights.bin", "hipnet.bin"};
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        setup(state);
        uint8_t *data = read_bytes(names[i], &size);
        write_bytes(names[i], data, size - 1);
        expect(D4R_ERROR_MODEL, names[i], i ? "but preset M's has" : "but model.json says");
        data[size / 2] ^= 1;
        write_bytes(names[i], data, size);
        expect(D4R_ERROR_MODEL, names[i], "its SHA-256 is not the one in model.json");
        data[size / 2] ^= 1;
        free(data);
        assert_int_equal(truncate(path_of(names[i]), 64 << 20), 0);
        expect(D4R_ERROR_MODEL, names[i], "67108864 bytes, more than the");
    }
    setup(state);
    assert_int_equal(truncate(path_of("model.json"), D4R_MANIFEST_MAX_BYTES + 1), 0);
    expect(D4R_ERROR_MODEL, "model.json", "more than the 65536");
}

/* Hashes agree, content does not. */
static void test_packed_differs(void **state)
{
    static const char *const names[] = {"weights.bin", "hipnet.bin"};
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        setup(state);
        uint8_t *data = read_bytes(names[i], &size);
        data[100] = 0x7f; /* a NaN among the weights */
        write_bytes(names[i], data, size);
        free(data);
        bless();
        expect(D4R_ERROR_MODEL, names[i],
               "byte 100 is not what weights.safetensors packs to; pack the model again");
    }
}

/* Replaces text in the safetensors header by text of the same length. */
static void edit_header(const char *from, const char *to)
{
    size_t size;
    uint8_t *data = read_bytes("weights.safetensors", &size);
    uint8_t *at = memmem(data, size, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    write_bytes("weights.safetensors", data, size);
    free(data);
    bless();
}

static void test_safetensors_content(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } edits[] = {
        {"\"mid2.qkv.weight\"", "\"mid2.qkw.weight\"", "tensor \"mid2.qkw.weight\" is not one of preset M's"},
        {"\"mid2.qkv.weight\"", "\"mid1.qkv.weight\"", "\"mid1.qkv.weight\" occurs twice"},
        {"[192,64]", "[64,192]", "tensor \"enc1.qkv.weight\": its shape is not [192, 64]"},
        {"[3,49]", "[49,3]", "tensor \"enc2.rel_bias\": its shape is not [3, 49]"},
        {"\"data_offsets\":[0,256]", "\"data_offsets\":[0,255]",
         "tensor \"input.embed.bias\": data_offsets span"},
        {"\"dtype\":\"F32\"", "\"dtype\":\"I32\"", "dtype \"I32\"; convert it to"},
        {"\"data_offsets\":[0,256]", "\"data_offsets\":[1,257]", "leave a gap before it"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        setup(state);
        edit_header(edits[i].from, edits[i].to);
        expect(D4R_ERROR_MODEL, "weights.safetensors", edits[i].message);
    }
    size_t size;
    setup(state);
    uint8_t *data = read_bytes("weights.safetensors", &size);
    data[size - 1] = 0xff;
    write_bytes("weights.safetensors", data, size);
    bless();
    expect(D4R_ERROR_MODEL, "weights.safetensors",
           "tensor \"expand1.weight\": element 24575 is not a finite number");
    memset(data, 0xff, 8);
    write_bytes("weights.safetensors", data, size);
    bless();
    expect(D4R_ERROR_MODEL, "weights.safetensors", "header length 18446744073709551615 is above");
    free(data);
    write_bytes("weights.safetensors", "\x02\0\0\0\0\0\0\0{}", 10);
    bless();
    expect(D4R_ERROR_MODEL, "weights.safetensors",
           "tensor \"input.embed.weight\" [64, 128] of preset M is missing");
}

/* Replaces text in model.json by text of any length. */
static void edit_manifest(const char *from, const char *to)
{
    size_t size;
    uint8_t *text = read_bytes("model.json", &size);
    char *at = strstr((char *)text, from);
    assert_non_null(at);
    FILE *file = fopen(path_of("model.json"), "wb");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - (char *)text), (char *)text, to, at + strlen(from));
    assert_int_equal(fclose(file), 0);
    free(text);
}

static void test_manifest(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } edits[] = {
        {"{", "", "more text after the JSON object"},
        {"{", "[{", "not valid JSON"},
        {"}\n}", "}\n},{}", "more text after"},
        {"\"format_version\":\t1", "\"format_version\":\t2", "format_version: 2, but this library reads 1"},
        {"\"format_version\":\t1", "\"format_version\":\t\"1\"",
         "format_version: \"1\", but a whole number is needed"},
        {"\"format_version\":\t1,", "", "format_version: missing"},
        {"\"preset\":\t\"M\"", "\"preset\":\t\"Z\"", "preset: \"Z\", but this library reads \"M\" or \"K\""},
        {"\"preset\":\t\"M\"", "\"preset\":\t\"K\"", "dimensions.features: 20, but preset K's 32 is needed"},
        {"\"preset\":\t\"M\"", "\"preset\":\t\"M\",\"preset\":\"M\"", "\"preset\" occurs twice"},
        {"\"preset\":\t\"M\"", "\"preset\":\t13", "preset: 13, but a string is needed"},
        {"\"test model\"", "\"\"", "name: is empty"},
        {"\"test model\"", "\"a\\nb\"", "name: contains a control character"},
        {"\"test model\"", "\"a\\u0000b\"", "contains a zero byte"},
        {"\"test model\"", "5", "name: 5, but a string is needed"},
        {"\"CC0-1.0\"", "null", "licence: null, but a string is needed"},
        {"\"window\":\t4", "\"window\":\t8", "dimensions.window: 8, but preset M's 4 is needed"},
        {"[64, 96, 128]", "[64, 96, 256]",
         "dimensions.channels: [64,96,256], but preset M's [64,96,128] is needed"},
        {"[64, 96, 128]", "[64, 96, 128, 1]", "dimensions.channels"},
        {"\"window\":\t4,", "", "dimensions: not the dimensions of preset M"},
        {"\"window\":\t4", "\"window\":4,\"window\":4", "dimensions: a key occurs twice"},
        {"\"weights.bin\"", "\"../secret\"", "files.\"../secret\": not a file of a preset M model"},
        {"\"weights.bin\"", "\"hipnet.bin\"", "files: a file is listed twice"},
        {"\"size\":\t13072", "\"size\":\t-1",
         "files.\"weights.bin\".size: -1, but a whole number of bytes, 0 or more, is needed"},
        {"\"size\":\t13072", "\"size\":\t1e999", "a whole number of bytes, 0 or more, is needed"},
        {"\"size\":\t13072", "\"size\":\t13071", "13072 bytes, but model.json says 13071"},
        {"\"sha256\":\t\"", "\"sha256\":\t\"0", "hex digits is needed"},
        {"\"sha256\":\t\"", "\"sha-256\":\t\"", ".sha256: missing, but a text of 64"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        setup(state);
        edit_manifest(edits[i].from, edits[i].to);
        expect(D4R_ERROR_MODEL, i == 23 ? "weights.bin" : "model.json", edits[i].message);
    }
}

/* Nesting and the longest text that is allowed. */
static void test_manifest_texts(void **state)
{
    char *deep = malloc(60001);
    assert_non_null(deep);
    memset(deep, '[', 60000);
    deep[60000] = 0;
    setup(state);
    edit_manifest("\"test model\"", deep);
    expect(D4R_ERROR_MODEL, "model.json", "nested too deeply");
    memset(deep, 'x', 201);
    strcpy(deep + 201, "\"");
    deep[0] = '"';
    setup(state);
    edit_manifest("\"test model\"", deep);
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_model *model;
    assert_int_equal(d4r_model_load(directory, &log, &model), D4R_OK); /* 200 bytes are allowed */
    d4r_model_destroy(&model);
    memset(deep + 1, 'x', 201);
    strcpy(deep + 202, "\"");
    setup(state);
    edit_manifest("\"test model\"", deep);
    expect(D4R_ERROR_MODEL, "model.json", "name: is longer than 200 bytes");
    free(deep);
}

static void test_listing_must_be_complete(void **state)
{
    size_t size;
    (void)state;
    uint8_t *text = read_bytes("model.json", &size);
    char *at = strstr((char *)text, ",\n\t\t\"hipnet.bin\"");
    assert_non_null(at);
    strcpy(at, "\n\t}\n}\n");
    write_bytes("model.json", text, strlen((char *)text));
    free(text);
    expect(D4R_ERROR_MODEL, "model.json", "files: \"hipnet.bin\" is not listed");
}

static void test_unreadable(void **state)
{
    (void)state;
    if (geteuid() == 0) skip(); /* root reads everything */
    assert_int_equal(chmod(path_of("weights.bin"), 0), 0);
    expect(D4R_ERROR_IO, "weights.bin", "Permission denied");
}

/* Writing: never over something else, and never a part. */
static void test_write(void **state)
{
    (void)state;
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_m_weights weights;
    assert_int_equal(d4r_m_weights_create(&weights), D4R_OK);
    assert_int_equal(d4r_m_model_write(directory, false, &weights, "n", "l", &log), D4R_ERROR_IO);
    assert_one_error(&capture, "exists already; --force replaces it");
    write_bytes("note.txt", "x", 1);
    log = capture_log(&capture);
    assert_int_equal(d4r_m_model_write(directory, true, &weights, "n", "l", &log), D4R_ERROR_IO);
    assert_one_error(&capture, "holds \"note.txt\", which is no file of a model");
    unlink(path_of("note.txt"));
    log = capture_log(&capture);
    assert_int_equal(d4r_m_model_write(directory, true, &weights, "", "l", &log), D4R_ERROR_ARGUMENT);
    assert_one_error(&capture, "name is empty");
    assert_int_equal(d4r_m_model_write(directory, true, &weights, "n", "a\tb", &log), D4R_ERROR_ARGUMENT);
    d4r_model *model;
    assert_int_equal(d4r_model_load(directory, &log, &model), D4R_OK); /* untouched so far */
    assert_string_equal(model->info.name, "test model");
    d4r_model_destroy(&model);
    assert_int_equal(d4r_m_model_write(directory, true, &weights, "new", "l", &log), D4R_OK);
    assert_int_equal(d4r_model_load(directory, &log, &model), D4R_OK);
    assert_string_equal(model->info.name, "new");
    d4r_model_destroy(&model);
    remove_directory();
    assert_int_equal(mkdir(directory, 0700), 0); /* an empty directory may be taken */
    assert_int_equal(d4r_m_model_write(directory, false, &weights, "new", "l", &log), D4R_OK);
    remove_directory();
    log = capture_log(&capture);
    assert_int_equal(d4r_m_model_write("/proc/nowhere/m", false, &weights, "n", "l", &log), D4R_ERROR_IO);
    assert_one_error(&capture, "/proc/nowhere/m");
    d4r_m_weights_free(&weights);
}

/* ---- preset K ---- */

static int setup_k(void **state)
{
    (void)state;
    const d4r_k_neutral neutral = d4r_k_neutral_default();
    d4r_k_weights weights;
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    remove_directory();
    assert_non_null(tables);
    assert_int_equal(d4r_k_weights_create(&weights), D4R_OK);
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor t = d4r_k_tensor_at(i);
        for (size_t k = 0; t.weight && k < d4r_k_tensor_elements(&t); k++) {
            const uint16_t half = (uint16_t)(0x2000 + (k * 37 + (size_t)i * 11) % 0x1000);
            memcpy(weights.data + weights.offset[i] + 2 * k, &half, 2);
        }
    }
    assert_int_equal(d4r_k_neutral_fill(&neutral, NULL, &weights, tables), D4R_OK);
    assert_int_equal(d4r_k_model_write(directory, true, &weights, tables, "test model", "CC0-1.0", NULL),
                     D4R_OK);
    d4r_k_weights_free(&weights);
    free(tables);
    return 0;
}

static void test_k_good(void **state)
{
    (void)state;
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_model *model;
    d4r_model_info info;
    size_t size;
    assert_int_equal(d4r_model_load(directory, &log, &model), D4R_OK);
    assert_int_equal(capture.errors + capture.warnings, 0);
    assert_int_equal(d4r_model_get_info(model, &info), D4R_OK);
    assert_int_equal(info.preset, D4R_PRESET_K);
    assert_int_equal(info.packed_bytes, D4R_K_NET_BYTES + D4R_K_TABLES_BYTES);
    size_t parameters = 0;
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor t = d4r_k_tensor_at(i);
        parameters += d4r_k_tensor_elements(&t);
    }
    assert_int_equal(info.parameter_count, parameters);
    assert_null(model->stage_weights);
    assert_int_equal(model->stage_weight_bytes, 0);
    assert_int_equal(model->table_bytes, D4R_K_TABLES_BYTES);
    assert_int_equal((uintptr_t)model->network % 256, 0);
    uint8_t *tables = read_bytes("lut.bin", &size), *network = read_bytes("hipnet.bin", &size);
    assert_int_equal(size, D4R_K_NET_BYTES);
    assert_memory_equal(network, model->network, size);
    assert_memory_equal(tables, model->tables, D4R_K_TABLES_BYTES);
    free(tables);
    free(network);
    d4r_model_destroy(&model);
}

static void test_k_files(void **state)
{
    static const char *const names[] = {"weights.safetensors", "hipnet.bin", "lut.bin"};
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        setup_k(state);
        uint8_t *data = read_bytes(names[i], &size);
        write_bytes(names[i], data, size - 1);
        expect(D4R_ERROR_MODEL, names[i], i ? "but preset K's has" : "but model.json says");
        data[size / 2] ^= 1;
        write_bytes(names[i], data, size);
        expect(D4R_ERROR_MODEL, names[i], "its SHA-256 is not the one in model.json");
        free(data);
        unlink(path_of(names[i]));
        expect(D4R_ERROR_MODEL, names[i], "no such file");
    }
    size_t size;
    setup_k(state);
    uint8_t *data = read_bytes("hipnet.bin", &size);
    data[100] ^= 1;
    write_bytes("hipnet.bin", data, size);
    free(data);
    bless();
    expect(D4R_ERROR_MODEL, "hipnet.bin",
           "byte 100 is not what weights.safetensors packs to; pack the model again");
}

/* One weight of table 3, phase 5, shape 2, tap 7, or all of that shape. */
static void test_k_tables(void **state)
{
    static const struct {
        uint16_t bits;
        bool all;
        const char *message;
    } edits[] = {{0x7e00, false, "a weight is not a finite number"},
                 {0x7c00, false, "a weight is not a finite number"},
                 {0xfc00, false, "a weight is not a finite number"},
                 {0x8001, false, "a weight is negative"},
                 {0x003f, true, "its weights sum to less than 1/16384"}}; /* 16 * 63 * 2^-24 */
    const size_t at = ((3u * D4R_K_TABLE_PHASES + 5) * D4R_K_SHAPES + 2) * 2 * D4R_K_TAPS;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        size_t size;
        setup_k(state);
        uint8_t *data = read_bytes("lut.bin", &size);
        assert_int_equal(size, D4R_K_TABLES_BYTES);
        for (size_t tap = 0; tap < D4R_K_TAPS; tap++)
            if (edits[i].all || tap == 7) memcpy(data + at + 2 * tap, &edits[i].bits, 2);
        write_bytes("lut.bin", data, size);
        bless();
        expect(D4R_ERROR_MODEL, "lut.bin: table 3, phase 5, shape 2", edits[i].message);
        for (size_t tap = 0; tap < D4R_K_TAPS; tap++) memcpy(data + at + 2 * tap, &(uint16_t){0x0040}, 2);
        write_bytes("lut.bin", data, size); /* 16 * 64 * 2^-24 is 1/16384 */
        free(data);
        bless();
        d4r_model *model = NULL;
        assert_int_equal(d4r_model_load(directory, NULL, &model), D4R_OK);
        d4r_model_destroy(&model);
    }
}

static void test_k_manifest(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } edits[] = {
        {"\"preset\":\t\"K\"", "\"preset\":\t\"M\"", "dimensions.features: 32, but preset M's 20 is needed"},
        {"\"tables\":\t16", "\"tables\":\t15", "dimensions.tables: 15, but preset K's 16 is needed"},
        {"[32, 64, 128, 192, 256, 256]", "[32, 64, 128, 192, 256]",
         "dimensions.hidden: [32,64,128,192,256], but preset K's [32,64,128,192,256,256] is needed"},
        {"\"lut.bin\":", "\"weights.bin\":", "files.\"weights.bin\": not a file of a preset K model"},
        {"\"lut.bin\":", "\"hipnet.bin\":", "files: a file is listed twice"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        setup_k(state);
        edit_manifest(edits[i].from, edits[i].to);
        expect(D4R_ERROR_MODEL, "model.json", edits[i].message);
    }
}

/* The neutral tables: the definition, evaluated again here, within f16's rounding. */
static void test_k_neutral(void **state)
{
    (void)state;
    static const double least = 1.0 / 63;
    const d4r_k_gaussian shapes[D4R_K_SHAPES] = {[3] = {24, 24, 12}, [7] = {3, 6, -1}, [15] = {24, 6, 0}};
    uint8_t *tables = malloc(D4R_K_TABLES_BYTES);
    d4r_k_neutral bad = d4r_k_neutral_default();
    d4r_k_weights weights;
    assert_non_null(tables);
    d4r_k_tables_fill(shapes, tables);
    assert_int_equal(d4r_k_tables_check("tables", tables, NULL), D4R_OK);
    for (int i = 0; i < D4R_K_TABLES * D4R_K_TABLE_PHASES * D4R_K_SHAPES; i++) {
        const d4r_k_gaussian *g = &shapes[i % 16];
        const double rho = 0.5 + 3.0 * (i / 1024) / 28, py = (i / 16 % 64 / 8 + 0.5) / 8,
                     px = (i / 16 % 8 + 0.5) / 8;
        double want[16], sum = 0;
        for (int t = 0; t < 16; t++) {
            const double x = t % 4 - 1 - px, y = t / 4 - 1 - py;
            want[t] = exp(-rho / 4 * (g->a * x * x + g->b * y * y + 2 * g->c * x * y));
            sum += want[t];
        }
        for (int t = 0; t < 16; t++) {
            uint16_t bits;
            memcpy(&bits, tables + (size_t)i * 32 + 2 * t, 2);
            if (sum < least) want[t] *= least / sum;
            const double have = d4r_half_to_float(bits);
            if (fabs(have - want[t]) > want[t] * 0x1.01p-11 + 0x1p-25)
                fail_msg("%d, %d: %g, not %g", i, t, have, want[t]);
        }
    }
    bad.keep = 1;
    assert_int_equal(d4r_k_weights_create(&weights), D4R_OK);
    struct capture capture;
    d4r_log log = capture_log(&capture);
    assert_int_equal(d4r_k_neutral_fill(&bad, &log, &weights, tables), D4R_ERROR_ARGUMENT);
    assert_one_error(&capture, "keep: 1 is outside (0, 1)");
    d4r_k_weights_free(&weights);
    free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_good, setup),
        cmocka_unit_test(test_sha256),
        cmocka_unit_test_setup(test_missing_and_wrong_kind, setup),
        cmocka_unit_test_setup(test_sizes_and_hashes, setup),
        cmocka_unit_test_setup(test_packed_differs, setup),
        cmocka_unit_test_setup(test_safetensors_content, setup),
        cmocka_unit_test_setup(test_manifest, setup),
        cmocka_unit_test_setup(test_manifest_texts, setup),
        cmocka_unit_test_setup(test_listing_must_be_complete, setup),
        cmocka_unit_test_setup(test_unreadable, setup),
        cmocka_unit_test_setup(test_write, setup),
        cmocka_unit_test_setup(test_k_good, setup_k),
        cmocka_unit_test(test_k_files),
        cmocka_unit_test(test_k_tables),
        cmocka_unit_test(test_k_manifest),
        cmocka_unit_test(test_k_neutral),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
