/* Preset K's packer against the tests' own one on the same random tensors, its canonical file, and damaged files. */
#include "models/tests/capture.h"

#include <unistd.h>
#include "models/format/file.h"
#include "models/format/k_pack.h"
#include "tests/network/half_ref.h"
#include "tests/network/k_tensors.h"

static uint8_t *file;
static size_t size;
static k_tensors *tensors;

static int set_up(void **state)
{
    char path[] = "/tmp/d4r_k_pack_XXXXXX";
    struct capture capture;
    const d4r_log log = capture_log(&capture);
    (void)state;
    const int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    tensors = k_tensors_random(5, 1.0);
    const bool ok = k_tensors_write_safetensors(tensors, path) &&
                    d4r_file_read(path, 1u << 24, &log, &file, &size) == D4R_OK;
    unlink(path);
    return ok ? 0 : 1;
}
static int tear_down(void **state)
{
    (void)state;
    free(file);
    k_tensors_free(tensors);
    return 0;
}

static d4r_status read_file(struct capture *capture, const uint8_t *data, d4r_k_weights *weights)
{
    const d4r_log log = capture_log(capture);
    return d4r_k_weights_read("file", data, size, &log, weights);
}

static void same_as_the_tests_packer(void **state)
{
    struct capture capture;
    d4r_k_weights weights;
    (void)state;
    uint8_t *expected = malloc(D4R_K_NET_BYTES), *packed = malloc(D4R_K_NET_BYTES);
    assert_true(expected && packed);
    k_tensors_pack(tensors, expected);
    memset(packed, 0xff, D4R_K_NET_BYTES);
    assert_int_equal(read_file(&capture, file, &weights), D4R_OK);
    d4r_k_pack(&weights, packed);
    assert_memory_equal(packed, expected, D4R_K_NET_BYTES);
    /* The canonical file reads as the same weights. */
    uint8_t *image = NULL;
    size_t image_size = 0;
    d4r_k_weights again;
    const d4r_log log = capture_log(&capture);
    assert_int_equal(d4r_k_weights_encode(&weights, &image, &image_size), D4R_OK);
    assert_int_equal(d4r_k_weights_read("image", image, image_size, &log, &again), D4R_OK);
    assert_int_equal(again.bytes, weights.bytes);
    assert_memory_equal(again.data, weights.data, weights.bytes);
    d4r_k_weights_free(&again);
    d4r_k_weights_free(&weights);
    free(image);
    free(expected);
    free(packed);
}

static void every_tensor_once(void **state)
{
    size_t elements = 0;
    (void)state;
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor a = d4r_k_tensor_at(i);
        elements += d4r_k_tensor_elements(&a);
        for (int k = 0; k < i; k++) assert_string_not_equal(a.name, d4r_k_tensor_at(k).name);
    }
    assert_int_equal(elements, 1008356);
}

/* All f32 values that are rounded: midpoints of f16 and their neighbours, subnormals, the largest. */
static void weights_round_to_nearest_even(void **state)
{
    struct capture capture;
    const d4r_log log = capture_log(&capture);
    d4r_k_weights weights, rounded;
    (void)state;
    /* An F32 copy of the file's weights, with values of our own in the first tensor. */
    assert_int_equal(read_file(&capture, file, &weights), D4R_OK);
    d4r_tensor list[D4R_K_TENSOR_COUNT] = {0};
    const uint8_t *data[D4R_K_TENSOR_COUNT];
    float *values[D4R_K_TENSOR_COUNT];
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        const d4r_k_tensor t = d4r_k_tensor_at(i);
        const size_t n = d4r_k_tensor_elements(&t);
        values[i] = calloc(n, 4);
        assert_non_null(values[i]);
        data[i] = (const uint8_t *)values[i];
        snprintf(list[i].name, sizeof list[i].name, "%s", t.name);
        list[i].dtype = D4R_DTYPE_F32;
        list[i].dimensions = t.cols ? 2 : 1;
        list[i].shape[0] = t.rows;
        list[i].shape[1] = t.cols;
        list[i].elements = n;
        list[i].bytes = 4 * n;
        for (size_t k = 0; t.weight && k < n; k++) {
            const uint16_t low = (uint16_t)(k * 7919 % 0x7bff);
            const float middle = (float)((half_ref_decode(low) + half_ref_decode((uint16_t)(low + 1))) / 2);
            values[i][k] = (k & 1 ? -1.0f : 1.0f) *
                           (k % 3 == 0 ? middle : middle * (1 + ((int)(k % 3) - 1.5f) * 0x1p-22f));
        }
    }
    uint8_t *image = NULL;
    size_t image_size = 0;
    assert_int_equal(d4r_safetensors_encode(list, data, D4R_K_TENSOR_COUNT, NULL, &image, &image_size),
                     D4R_OK);
    assert_int_equal(d4r_k_weights_read("image", image, image_size, &log, &rounded), D4R_OK);
    for (int i = 0; i < D4R_K_TENSOR_COUNT; i++) {
        for (size_t k = 0; d4r_k_tensor_at(i).weight && k < list[i].elements; k++) {
            uint16_t bits;
            memcpy(&bits, rounded.data + rounded.offset[i] + 2 * k, 2);
            assert_int_equal(bits, half_ref_encode(values[i][k]));
        }
        free(values[i]);
    }
    free(image);
    d4r_k_weights_free(&weights);
    d4r_k_weights_free(&rounded);
}

static void replace(uint8_t *copy, const char *from, const char *to)
{
    memcpy(copy, file, size);
    uint8_t *at = memmem(copy, size, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

static void damaged_files(void **state)
{
    struct capture capture;
    d4r_k_weights weights;
    (void)state;
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    replace(copy, "enc3.qv.bias", "enc3.xy.bias");
    assert_int_equal(read_file(&capture, copy, &weights), D4R_ERROR_MODEL);
    assert_one_error(&capture, "enc3.qv.bias");
    assert_null(weights.data);
    replace(copy, "\"head.weight\":{\"dtype\":\"F16\",\"shape\":[40,32]",
            "\"head.weight\":{\"dtype\":\"F16\",\"shape\":[32,40]");
    assert_int_equal(read_file(&capture, copy, &weights), D4R_ERROR_MODEL);
    assert_one_error(&capture, "[40, 32]");
    memcpy(copy, file, size);
    memset(copy + size - 4, 0xff, 4); /* the last bias: NaN */
    assert_int_equal(read_file(&capture, copy, &weights), D4R_ERROR_MODEL);
    assert_one_error(&capture, "head.bias");
    const float large = 65536.0f;
    memcpy(copy + size - 4, &large, 4);
    assert_int_equal(read_file(&capture, copy, &weights), D4R_ERROR_MODEL);
    assert_one_error(&capture, "65504");
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_tests_packer),
        cmocka_unit_test(every_tensor_once),
        cmocka_unit_test(weights_round_to_nearest_even),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests_name("k_pack", tests, set_up, tear_down);
}
