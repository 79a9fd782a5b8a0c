/* The safetensors reader: what it accepts, and every way a header can lie. */
#include "models/tests/capture.h"

#include "models/format/safetensors.h"

/* A file image: length, header text, `data_bytes` bytes. */
static uint8_t *image(const char *header, size_t header_bytes, size_t data_bytes, size_t *size)
{
    *size = 8 + header_bytes + data_bytes;
    uint8_t *out = malloc(*size);
    assert_non_null(out);
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)header_bytes >> 8 * i);
    memcpy(out + 8, header, header_bytes);
    memset(out + 8 + header_bytes, 0x11, data_bytes);
    return out;
}

static d4r_status parse(const char *header, size_t data_bytes, struct capture *capture, d4r_safetensors *out)
{
    size_t size;
    uint8_t *file = image(header, strlen(header), data_bytes, &size);
    d4r_log log = capture_log(capture);
    d4r_status status = d4r_safetensors_parse("t.safetensors", file, size, size, &log, out);
    free(file);
    return status;
}

static void test_good(void **state)
{
    (void)state;
    struct capture capture;
    d4r_safetensors st;
    const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[6,18]},"
                         "\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,3],\"data_offsets\":[0,6]},"
                         "\"c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[18,20]},"
                         "\"z\":{\"dtype\":\"F16\",\"shape\":[4,0],\"data_offsets\":[6,6]}}   ";
    assert_int_equal(parse(header, 20, &capture, &st), D4R_OK);
    assert_int_equal(capture.errors, 0);
    assert_int_equal(st.count, 4);
    assert_string_equal(st.tensors[0].name, "a");
    const d4r_tensor *b = d4r_safetensors_find(&st, "b");
    assert_non_null(b);
    assert_int_equal(b->dtype, D4R_DTYPE_F32);
    assert_int_equal(b->dimensions, 1);
    assert_int_equal(b->elements, 3);
    assert_int_equal(b->offset, 8 + strlen(header) + 6);
    assert_int_equal(b->bytes, 12);
    assert_int_equal(d4r_safetensors_find(&st, "c")->elements, 1);
    assert_int_equal(d4r_safetensors_find(&st, "z")->bytes, 0);
    assert_null(d4r_safetensors_find(&st, "d"));
    d4r_safetensors_free(&st);
    assert_int_equal(parse("{}", 0, &capture, &st), D4R_OK);
    assert_int_equal(st.count, 0);
    d4r_safetensors_free(&st);
}

#define ONE(fields) "{\"a\":{" fields "}}"
#define TYPED(shape, offsets) ONE("\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets)
#define PAIR(first, second)                                               \
    "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":" first \
    "},\"b\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":" second "}}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *message;
} bad[] = {
    {"", 4, "header: not valid JSON"},
    {"[]", 0, "header: not a JSON object"},
    {"{", 0, "header: not valid JSON"},
    {"{} x", 0, "header: more text after the JSON object"},
    {"{\"a\\u0000\":{}}", 0, "contains a zero byte"},
    {"{\"a\":1}", 0, "tensor \"a\": its entry is not an object"},
    {"{\"\":{}}", 0, "its name must be"},
    {"{\"a\\nb\":{}}", 0, "tensor \"a?b\": its name must be"},
    {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"x\":1}}", 0, "__metadata__ holds something else than strings"},
    {ONE(""), 0, "tensor \"a\": dtype, shape or data_offsets is missing"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1]"), 4, "is missing"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":0"), 4, "unknown key"},
    {ONE("\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "a key occurs twice"},
    {ONE("\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]"), 4, "dtype is not a string"},
    {ONE("\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]"), 8, "dtype \"F64\"; convert it to"},
    {TYPED("4", "[0,16]"), 16, "shape is not a list"},
    {TYPED("[-1]", "[0,4]"), 4, "shape holds no whole number"},
    {TYPED("[1.5]", "[0,6]"), 6, "shape holds no whole number"},
    {TYPED("[\"1\"]", "[0,4]"), 4, "shape holds no whole number"},
    {TYPED("[1e300]", "[0,4]"), 4, "shape holds no whole number"},
    {TYPED("[1,1,1,1,1]", "[0,4]"), 4, "more than 4 dimensions"},
    {TYPED("[4294967296,4294967296]", "[0,0]"), 0, "the product of its shape overflows"},
    {TYPED("[4611686018427387904]", "[0,0]"), 0, "shape holds no whole number"},
    {TYPED("[4503599627370496,2048]", "[0,0]"), 0, "shape and dtype do not"},
    {TYPED("[1]", "4"), 4, "data_offsets is not a pair"},
    {TYPED("[1]", "[0]"), 4, "data_offsets is not a pair"},
    {TYPED("[1]", "[0,4,8]"), 4, "data_offsets is not a pair"},
    {TYPED("[1]", "[-4,0]"), 4, "data_offsets is not a pair"},
    {TYPED("[1]", "[4,0]"), 4, "leave the file's 4 bytes"},
    {TYPED("[1]", "[4,8]"), 4, "leave the file's 4 bytes"},
    {TYPED("[1]", "[0,9007199254740992]"), 4, "leave the file's 4 bytes"},
    {TYPED("[2]", "[0,4]"), 4, "span 4 bytes, but its shape and dtype do not"},
    {TYPED("[1]", "[0,4]"), 5, "1 bytes behind the last tensor belong to none"},
    {TYPED("[1]", "[1,5]"), 5, "leave a gap"},
    {PAIR("[0,4]", "[3,7]"), 7, "tensor \"b\": its data_offsets overlap"},
    {PAIR("[0,4]", "[0,4]"), 4, "overlap"},
    {PAIR("[0,4]", "[5,9]"), 9, "tensor \"b\": its data_offsets leave a gap"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
     0, "\"a\" occurs twice"},
};

static void test_bad_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct capture capture;
        d4r_safetensors st;
        d4r_status status = parse(bad[i].header, bad[i].data_bytes, &capture, &st);
        if (status != D4R_ERROR_MODEL) fail_msg("\"%s\": status %d", bad[i].header, (int)status);
        assert_one_error(&capture, bad[i].message);
        assert_one_error(&capture, "t.safetensors");
        assert_null(st.tensors);
        assert_int_equal(st.count, 0);
    }
}

static void check_raw(const uint8_t *data, size_t size, uint64_t file_size, const char *message)
{
    struct capture capture;
    d4r_safetensors st;
    d4r_log log = capture_log(&capture);
    assert_int_equal(d4r_safetensors_parse("t", data, size, file_size, &log, &st), D4R_ERROR_MODEL);
    assert_one_error(&capture, message);
}

static void test_bad_lengths(void **state)
{
    (void)state;
    uint8_t data[16] = {0};
    check_raw(data, 0, 0, "too short");
    check_raw(data, 7, 7, "too short");
    data[0] = 9;
    check_raw(data, 16, 16, "header length 9 is larger than the file");
    check_raw(data, 16, 1000, "header length 9 is larger than the file"); /* not in memory */
    memset(data, 0xff, 8);
    check_raw(data, 16, 16, "header length 18446744073709551615 is above 1048576");
    memset(data, 0, 8);
    data[2] = 0x10;
    data[0] = 1;
    check_raw(data, 16, 1u << 24, "header length 1048577 is above 1048576");
}

/* Deep nesting must end in an error, not in a full stack; many tensors in an error, not in an hour. */
static void test_huge_headers(void **state)
{
    (void)state;
    struct capture capture;
    d4r_safetensors st;
    size_t length = 1 << 20, at = 0;
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, '[', length);
    text[length] = 0;
    assert_int_equal(parse(text, 0, &capture, &st), D4R_ERROR_MODEL);
    assert_one_error(&capture, "nested too deeply");
    text[at++] = '{';
    for (int i = 0; at + 16 < length; i++) at += (size_t)sprintf(text + at, "%s\"%d\":{}", i ? "," : "", i);
    strcpy(text + at, "}");
    assert_int_equal(parse(text, 0, &capture, &st), D4R_ERROR_MODEL);
    assert_one_error(&capture, "more than 4096");
    free(text);
}

static void test_encode(void **state)
{
    (void)state;
    static const char *const metadata[] = {"format", "pt", NULL};
    const uint8_t first[8] = {1, 2, 3, 4, 5, 6, 7, 8}, second[6] = {9, 10, 11, 12, 13, 14};
    const uint8_t *data[2] = {first, second};
    d4r_tensor tensors[2] = {
        {.name = "x", .dtype = D4R_DTYPE_F32, .dimensions = 1, .shape = {2}, .elements = 2, .bytes = 8},
        {.name = "w",
         .dtype = D4R_DTYPE_F8_E4M3,
         .dimensions = 2,
         .shape = {2, 3},
         .elements = 6,
         .bytes = 6}};
    uint8_t *file;
    size_t size;
    struct capture capture;
    d4r_log log = capture_log(&capture);
    d4r_safetensors st;
    assert_int_equal(d4r_safetensors_encode(tensors, data, 2, metadata, &file, &size), D4R_OK);
    assert_int_equal((size - 14) % 8, 0);
    assert_int_equal(d4r_safetensors_parse("t", file, size, size, &log, &st), D4R_OK);
    assert_memory_equal(file + d4r_safetensors_find(&st, "x")->offset, first, 8);
    assert_memory_equal(file + d4r_safetensors_find(&st, "w")->offset, second, 6);
    d4r_safetensors_free(&st);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad_headers),
                                       cmocka_unit_test(test_bad_lengths),
                                       cmocka_unit_test(test_huge_headers), cmocka_unit_test(test_encode)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
