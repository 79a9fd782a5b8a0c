/* Half conversion, raw planes, .npy and OpenEXR: right files give right values, wrong files give the right
 * status and a message that names file and field. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <openexr.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/cli/half.h"
#include "runtime/cli/image.h"
#include "tests/cli/capture_log.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "test_image.%ld", (long)getpid());
    return mkdir(folder, 0777);
}

static int remove_folder(void **state)
{
    (void)state;
    cli_remove_tree(folder);
    return 0;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* ---- half */

/* The value of a half by its definition, in double. */
static double half_by_definition(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double size = exponent == 31 ? (mantissa ? NAN : INFINITY)
                  : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                 : ldexp(mantissa, -24);
    return half & 0x8000 ? -size : size;
}

static void test_half_values(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 65536; half++) {
        double wanted = half_by_definition((uint16_t)half);
        float value = cli_half_to_float((uint16_t)half);
        if (isnan(wanted)) {
            assert_true(isnan(value));
            assert_true(isnan(cli_half_to_float(cli_float_to_half(value))));
        } else {
            assert_true((double)value == wanted && !signbit(value) == !(half >> 15));
            assert_int_equal(cli_float_to_half(value), half);
        }
    }
}

/* Every midpoint between two halves goes to the even one, its neighbours to the nearer one. */
static void test_half_rounding(void **state)
{
    (void)state;
    for (unsigned half = 0; half < 0x7bff; half++) {
        double low = half_by_definition((uint16_t)half), high = half_by_definition((uint16_t)(half + 1));
        float middle = (float)((low + high) / 2);
        assert_int_equal(cli_float_to_half(middle), half & 1 ? half + 1 : half);
        assert_int_equal(cli_float_to_half(nextafterf(middle, INFINITY)), half + 1);
        assert_int_equal(cli_float_to_half(nextafterf(middle, 0)), half);
        assert_int_equal(cli_float_to_half(-middle), 0x8000 | (half & 1 ? half + 1 : half));
    }
    assert_int_equal(cli_float_to_half(65519.0f), 0x7bff);
    assert_int_equal(cli_float_to_half(65520.0f), 0x7c00);
    assert_int_equal(cli_float_to_half(INFINITY), 0x7c00);
    assert_int_equal(cli_float_to_half(1e-30f), 0);
}

/* ---- raw */

static void expect_failure(const char *name, const cli_expect *expect, d4r_status status, const char *message)
{
    kept_lines kept;
    d4r_log log = keeping_log(&kept);
    cli_image image;
    assert_int_equal(cli_image_load(in_folder(name), expect, &log, &image), status);
    assert_null(image.data);
    if (!strstr(kept.text, message)) fail_msg("'%s' is not in: %s", message, kept.text);
    assert_non_null(strstr(kept.text, name));
    assert_non_null(strstr(kept.text, expect->field));
}

static void test_raw(void **state)
{
    (void)state;
    uint16_t values[2 * 3 * 4];
    for (unsigned i = 0; i < 24; i++) values[i] = cli_float_to_half((float)i / 4);
    cli_expect expect = {.field = "frames[7].color", .kind = CLI_COLOR, .size = {3, 2}, .bits = 16};
    cli_image image;
    write_bytes("good.bin", values, sizeof values);
    assert_int_equal(cli_image_load(in_folder("good.bin"), &expect, NULL, &image), D4R_OK);
    assert_true(image.half && image.channels == 4 && image.bytes == sizeof values);
    assert_true(cli_image_get(&image, 2, 1, 3) == 23.0f / 4);
    cli_image_free(&image);
    write_bytes("short.bin", values, sizeof values - 1);
    expect_failure("short.bin", &expect, D4R_ERROR_INPUT,
                   "47 bytes, but 3x2 with 4 channels of 16 bits needs 48");
    write_bytes("empty.bin", values, 0);
    expect_failure("empty.bin", &expect, D4R_ERROR_INPUT, "0 bytes");
    expect.bits = 32;
    expect_failure("good.bin", &expect, D4R_ERROR_INPUT, "needs 96");
    expect_failure("absent.bin", &expect, D4R_ERROR_IO, "No such file");
    mkdir(in_folder("folder.bin"), 0777);
    expect_failure("folder.bin", &expect, D4R_ERROR_IO, "not a regular file");
    float depth[2] = {0.5f, 0.25f};
    expect = (cli_expect){.field = "frames[0].depth", .kind = CLI_DEPTH, .size = {2, 1}, .bits = 32};
    write_bytes("depth.bin", depth, sizeof depth);
    assert_int_equal(cli_image_load(in_folder("depth.bin"), &expect, NULL, &image), D4R_OK);
    assert_true(!image.half && cli_image_get(&image, 1, 0, 0) == 0.25f);
    cli_image_free(&image);
}

static void test_packed10(void **state)
{
    (void)state;
    uint32_t word = 1023u | 512u << 10 | 0u << 20 | 3u << 30;
    cli_expect expect = {
        .field = "picture 0", .kind = CLI_COLOR, .size = {1, 1}, .bits = 16, .packed10 = true};
    cli_image image;
    write_bytes("ten.bin", &word, 4);
    assert_int_equal(cli_image_load(in_folder("ten.bin"), &expect, NULL, &image), D4R_OK);
    assert_true(cli_image_get(&image, 0, 0, 0) == 1 && cli_image_get(&image, 0, 0, 2) == 0);
    assert_float_equal(cli_image_get(&image, 0, 0, 1), 512.0 / 1023, 1e-7);
    assert_true(cli_image_get(&image, 0, 0, 3) == 1);
    cli_image_free(&image);
    write_bytes("ten.bin", &word, 3);
    expect_failure("ten.bin", &expect, D4R_ERROR_INPUT, "RGB10A2 needs 4");
}

/* ---- npy */

typedef struct npy_case {
    const char *header;
    int version;
    size_t data;         /* bytes after the header */
    const char *message; /* NULL: it is fine */
} npy_case;

static size_t make_npy(const npy_case *c, unsigned char *out)
{
    size_t length = strlen(c->header), prefix = c->version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)c->version;
    out[7] = 0;
    for (size_t i = 0; i < prefix - 8; i++) out[8 + i] = (unsigned char)(length >> (8 * i));
    memcpy(out + prefix, c->header, length);
    memset(out + prefix + length, 0, c->data);
    return prefix + length + c->data;
}

static const npy_case motion_cases[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }\n", 1, 48, NULL},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3, 2)}", 2, 24, NULL},
    {"{\"shape\":(2,3,2),\"fortran_order\":False,\"descr\":\"<f4\"}", 3, 48, NULL},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }", 1, 47,
     "47 bytes of data, but its header needs 48"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }", 1, 49, "49 bytes of data"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 2), }", 1, 96, "type '<f8'"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3, 2), }", 1, 48, "type '>f4'"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 2), }", 1, 48, "Fortran order"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 1, 24,
     "its shape is not [height, width, 2]"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", 1, 96, "its shape is not"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3, 2), }", 1, 0, "its shape is not"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), }", 1, 48,
     "2x3 pixels, but 3x2 are needed"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3, 2), }", 1, 48,
     "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, -2), }", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2, 1, 1), }", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, }", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'shape': (2, 3, 2), }", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3, 2), }", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), 'more': 1}", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2)} x", 1, 48, "is not a dictionary"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", 1, 24, "is not a dictionary"},
    {"{'descr': '<f4, 'fortran_order': False", 1, 48, "is not a dictionary"},
    {"", 1, 48, "is not a dictionary"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }", 4, 48, "unknown .npy format version"},
};

static void test_npy_headers(void **state)
{
    (void)state;
    static unsigned char bytes[1024];
    cli_expect expect = {.field = "frames[1].motion", .kind = CLI_MOTION, .size = {3, 2}};
    for (size_t i = 0; i < sizeof motion_cases / sizeof *motion_cases; i++) {
        kept_lines kept;
        d4r_log log = keeping_log(&kept);
        cli_image image;
        size_t size = make_npy(&motion_cases[i], bytes);
        d4r_status status = cli_npy_parse("m.npy", bytes, size, &expect, &log, &image);
        if (motion_cases[i].message) {
            assert_int_equal(status, D4R_ERROR_INPUT);
            if (!strstr(kept.text, motion_cases[i].message))
                fail_msg("case %zu: '%s' is not in: %s", i, motion_cases[i].message, kept.text);
            assert_non_null(strstr(kept.text, "m.npy"));
            assert_non_null(strstr(kept.text, "frames[1].motion"));
        } else {
            if (status != D4R_OK) fail_msg("case %zu: %s", i, kept.text);
            cli_image_free(&image);
        }
    }
}

/* A file cut anywhere is an error, never a crash or a read beyond its end (the sanitizer build sees those). */
static void test_npy_truncated(void **state)
{
    (void)state;
    static unsigned char bytes[1024];
    cli_expect expect = {.field = "f", .kind = CLI_MOTION, .size = {3, 2}};
    size_t size = make_npy(&motion_cases[0], bytes);
    for (size_t cut = 0; cut < size; cut++) {
        cli_image image;
        unsigned char *exact = malloc(cut + 1);
        memcpy(exact, bytes, cut);
        exact = realloc(exact, cut ? cut : 1);
        assert_int_equal(cli_npy_parse("m.npy", exact, cut, &expect, NULL, &image), D4R_ERROR_INPUT);
        free(exact);
    }
    write_bytes("not.npy", "PNG", 3);
    expect_failure("not.npy", &expect, D4R_ERROR_INPUT, "not a .npy file");
}

static void fill(cli_image *image, unsigned seed)
{
    for (uint32_t y = 0; y < image->size.height; y++)
        for (uint32_t x = 0; x < image->size.width; x++)
            for (uint32_t c = 0; c < image->channels; c++) {
                seed = seed * 1664525u + 1013904223u;
                cli_image_set(image, x, y, c, (float)(seed >> 8) / 65536.0f - 20.0f);
            }
}

static void test_npy_round_trip(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        cli_image image, back;
        cli_expect expect = {.field = "f", .kind = CLI_COLOR, .size = {33, 17}};
        assert_int_equal(cli_image_create(&image, expect.size, 4, half, NULL), D4R_OK);
        fill(&image, 7);
        assert_int_equal(cli_npy_write_image(in_folder("round.npy"), &image, NULL), D4R_OK);
        assert_int_equal(cli_image_load(in_folder("round.npy"), &expect, NULL, &back), D4R_OK);
        assert_int_equal(back.half, half);
        assert_memory_equal(image.data, back.data, image.bytes);
        cli_image_free(&image);
        cli_image_free(&back);
    }
}

/* ---- OpenEXR */

static void ignore(exr_const_context_t context, exr_result_t code, const char *message)
{
    (void)context, (void)code, (void)message;
}

typedef struct exr_layout {
    const char *const *names;
    int count;
    exr_pixel_type_t type;
    exr_compression_t compression;
} exr_layout;

/* Writes channel k of pixel (x, y) as x + 2 y + 0.5 k (exact in half). */
static exr_result_t write_exr(const char *path, const exr_layout *layout, int width, int height)
{
    exr_context_t context = NULL;
    exr_context_initializer_t setup = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_encode_pipeline_t encode = EXR_ENCODE_PIPELINE_INITIALIZER;
    int part, lines = 1, unit = layout->type == EXR_PIXEL_HALF ? 2 : 4;
    unsigned char *pixels = calloc((size_t)(width * height * layout->count), 4);
    setup.error_handler_fn = ignore;
    exr_result_t code = exr_start_write(&context, path, EXR_WRITE_FILE_DIRECTLY, &setup);
    if (!code) code = exr_add_part(context, "p", EXR_STORAGE_SCANLINE, &part);
    if (!code) code = exr_initialize_required_attr_simple(context, 0, width, height, layout->compression);
    for (int k = 0; !code && k < layout->count; k++)
        code =
            exr_add_channel(context, 0, layout->names[k], layout->type, EXR_PERCEPTUALLY_LOGARITHMIC, 1, 1);
    if (!code) code = exr_write_header(context);
    if (!code) code = exr_get_scanlines_per_chunk(context, 0, &lines);
    for (int i = 0; i < width * height * layout->count; i++) {
        int k = i % layout->count, x = i / layout->count % width, y = i / layout->count / width;
        float value = (float)x + 2 * (float)y + 0.5f * (float)k;
        uint16_t half = cli_float_to_half(value);
        uint32_t whole = (uint32_t)value;
        memcpy(pixels + i * unit,
               layout->type == EXR_PIXEL_HALF   ? (void *)&half
               : layout->type == EXR_PIXEL_UINT ? (void *)&whole
                                                : (void *)&value,
               (size_t)unit);
    }
    for (int y = 0; !code && y < height; y += lines) {
        exr_chunk_info_t chunk;
        code = exr_write_scanline_chunk_info(context, 0, y, &chunk);
        if (!code)
            code = y ? exr_encoding_update(context, 0, &chunk, &encode)
                     : exr_encoding_initialize(context, 0, &chunk, &encode);
        for (int c = 0; !code && c < encode.channel_count; c++) {
            int k = 0;
            while (strcmp(encode.channels[c].channel_name, layout->names[k])) k++;
            encode.channels[c].user_pixel_stride = unit * layout->count;
            encode.channels[c].user_line_stride = unit * layout->count * width;
            encode.channels[c].encode_from_ptr = pixels + (y * width * layout->count + k) * unit;
        }
        if (!code && !y) code = exr_encoding_choose_default_routines(context, 0, &encode);
        if (!code) code = exr_encoding_run(context, 0, &encode);
    }
    exr_encoding_destroy(context, &encode);
    if (context) exr_finish(&context);
    free(pixels);
    return code;
}

static const char *const rgba[] = {"R", "G", "B", "A"};

static void check_exr(const char *name, const cli_expect *expect, int channels, double tolerance)
{
    kept_lines kept;
    d4r_log log = keeping_log(&kept);
    cli_image image;
    if (cli_image_load(in_folder(name), expect, &log, &image) != D4R_OK) fail_msg("%s", kept.text);
    for (uint32_t y = 0; y < expect->size.height; y++)
        for (uint32_t x = 0; x < expect->size.width; x++)
            for (int k = 0; k < channels; k++)
                assert_float_equal(cli_image_get(&image, x, y, (uint32_t)k), x + 2.0 * y + 0.5 * k,
                                   tolerance);
    if (channels == 3) assert_true(cli_image_get(&image, 1, 1, 3) == 1);
    cli_image_free(&image);
}

static void test_exr_compressions(void **state)
{
    (void)state;
    cli_expect expect = {.field = "frames[0].color", .kind = CLI_COLOR, .size = {37, 41}};
    for (int compression = EXR_COMPRESSION_NONE; compression <= EXR_COMPRESSION_B44A; compression++) {
        exr_layout layout = {rgba, 4, EXR_PIXEL_HALF, (exr_compression_t)compression};
        assert_int_equal(write_exr(in_folder("c.exr"), &layout, 37, 41), 0);
        /* B44 is lossy: 4x4 blocks with 6-bit steps of the block's range. */
        check_exr("c.exr", &expect, 4, compression >= EXR_COMPRESSION_B44 ? 2 : 0);
    }
    exr_layout layout = {rgba, 4, EXR_PIXEL_FLOAT, EXR_COMPRESSION_PXR24};
    assert_int_equal(write_exr(in_folder("c.exr"), &layout, 37, 41), 0);
    check_exr("c.exr", &expect, 4, 1e-2);
}

static void test_exr_channels(void **state)
{
    (void)state;
    static const char *const xy[] = {"X", "Y"}, *const layered[] = {"motion.X", "motion.Y"},
                             *const z[] = {"Z"}, *const v[] = {"V"}, *const red[] = {"R", "G"};
    cli_expect motion = {.field = "frames[0].motion", .kind = CLI_MOTION, .size = {8, 8}};
    cli_expect depth = {.field = "frames[0].depth", .kind = CLI_DEPTH, .size = {8, 8}};
    cli_expect color = {.field = "frames[0].color", .kind = CLI_COLOR, .size = {8, 8}};
    const struct {
        exr_layout layout;
        const cli_expect *expect;
        int channels;
    } good[] = {{{xy, 2, EXR_PIXEL_FLOAT, EXR_COMPRESSION_ZIP}, &motion, 2},
                {{layered, 2, EXR_PIXEL_HALF, EXR_COMPRESSION_ZIPS}, &motion, 2},
                {{red, 2, EXR_PIXEL_HALF, EXR_COMPRESSION_PIZ}, &motion, 2},
                {{z, 1, EXR_PIXEL_FLOAT, EXR_COMPRESSION_NONE}, &depth, 1},
                {{v, 1, EXR_PIXEL_HALF, EXR_COMPRESSION_RLE}, &depth, 1},
                {{z, 1, EXR_PIXEL_UINT, EXR_COMPRESSION_ZIP}, &depth, 1},
                {{rgba, 3, EXR_PIXEL_HALF, EXR_COMPRESSION_ZIP}, &color, 3}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(write_exr(in_folder("g.exr"), &good[i].layout, 8, 8), 0);
        check_exr("g.exr", good[i].expect, good[i].channels, 0);
    }
    expect_failure("g.exr", &(cli_expect){.field = "frames[0].color", .kind = CLI_COLOR, .size = {9, 8}},
                   D4R_ERROR_INPUT, "8x8 pixels, but 9x8 are needed");
    exr_layout missing = {xy, 2, EXR_PIXEL_HALF, EXR_COMPRESSION_ZIP};
    assert_int_equal(write_exr(in_folder("m.exr"), &missing, 8, 8), 0);
    expect_failure("m.exr", &color, D4R_ERROR_INPUT, "no channels R, G, B");
    exr_layout one = {z, 1, EXR_PIXEL_HALF, EXR_COMPRESSION_ZIP};
    assert_int_equal(write_exr(in_folder("m.exr"), &one, 8, 8), 0);
    expect_failure("m.exr", &motion, D4R_ERROR_INPUT, "no channels X, Y or R, G");
}

static size_t read_whole(const char *name, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static void test_exr_damaged(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 16], damaged[1 << 16];
    cli_expect expect = {.field = "frames[2].color", .kind = CLI_COLOR, .size = {16, 16}};
    exr_layout layout = {rgba, 4, EXR_PIXEL_HALF, EXR_COMPRESSION_ZIP};
    assert_int_equal(write_exr(in_folder("d.exr"), &layout, 16, 16), 0);
    size_t size = read_whole("d.exr", bytes, sizeof bytes);
    /* The attribute: name, type, length 1, value. */
    static const char attribute[] = "compression\0compression\0\1\0\0\0";
    unsigned char *found = memmem(bytes, size, attribute, sizeof attribute - 1);
    assert_non_null(found);
    for (int value = 8; value < 10; value++) {
        found[sizeof attribute - 1] = (unsigned char)value;
        write_bytes("dwa.exr", bytes, size);
        expect_failure("dwa.exr", &expect, D4R_ERROR_INPUT,
                       value == 8 ? "compression DWAA is not" : "compression DWAB is not");
    }
    found[sizeof attribute - 1] = EXR_COMPRESSION_ZIP;
    for (size_t cut = 0; cut < size; cut += 7) {
        write_bytes("cut.exr", bytes, cut);
        expect_failure("cut.exr", &expect, D4R_ERROR_INPUT, "not a readable OpenEXR file");
    }
    /* Bytes changed at random: an error or a picture, never a crash. */
    unsigned seed = 1;
    for (int round = 0; round < 300; round++) {
        cli_image image;
        memcpy(damaged, bytes, size);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            damaged[(seed >> 8) % size] = (unsigned char)(seed >> 3);
        }
        write_bytes("r.exr", damaged, size);
        if (cli_image_load(in_folder("r.exr"), &expect, NULL, &image) == D4R_OK) cli_image_free(&image);
    }
    write_bytes("text.exr", "hello", 5);
    expect_failure("text.exr", &expect, D4R_ERROR_INPUT, "not a readable OpenEXR file");
    expect_failure("absent.exr", &expect, D4R_ERROR_IO, "No such file");
}

static void test_exr_round_trip(void **state)
{
    (void)state;
    static const cli_kind kinds[] = {CLI_COLOR, CLI_MOTION, CLI_DEPTH};
    for (int i = 0; i < 6; i++) {
        cli_image image, back;
        cli_expect expect = {.field = "f", .kind = kinds[i / 2], .size = {51, 23}};
        bool half = i & 1 && kinds[i / 2] != CLI_DEPTH;
        assert_int_equal(cli_image_create(&image, expect.size, cli_kind_channels(expect.kind), half, NULL),
                         D4R_OK);
        fill(&image, (unsigned)i);
        assert_int_equal(cli_exr_write(in_folder("w.exr"), &image, expect.kind, NULL), D4R_OK);
        assert_int_equal(cli_image_load(in_folder("w.exr"), &expect, NULL, &back), D4R_OK);
        assert_memory_equal(image.data, back.data, image.bytes);
        cli_image_free(&image);
        cli_image_free(&back);
    }
}

/* What cannot be written says why: here a limit on the size of files, as a full disk would be. */
static void test_write_reasons(void **state)
{
    (void)state;
    enum { SIZE = 128 };
    static uint8_t noise[SIZE * SIZE * 3];
    uint32_t random = 1;
    cli_image image;
    assert_int_equal(cli_image_create(&image, (d4r_size){SIZE, SIZE}, 4, false, NULL), D4R_OK);
    for (size_t i = 0; i < (size_t)SIZE * SIZE * 4; i++) { /* nothing that compresses below the limit */
        random = random * 1664525u + 1013904223u;
        ((float *)image.data)[i] = (float)(random >> 8) / 16777216.0f;
        if (i < sizeof noise) noise[i] = (uint8_t)(random >> 24);
    }
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    for (int kind = 0; kind < 4; kind++) {
        static const char *const names[] = {"full.bin", "full.npy", "full.exr", "full.png"};
        kept_lines kept;
        d4r_log log = keeping_log(&kept);
        const char *path = in_folder(names[kind]);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        d4r_status status = kind == 0   ? cli_write_file(path, image.data, image.bytes, &log)
                            : kind == 1 ? cli_npy_write_image(path, &image, &log)
                            : kind == 2 ? cli_exr_write(path, &image, CLI_COLOR, &log)
                                        : cli_png_write(path, image.size, noise, &log);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, D4R_ERROR_IO);
        char expected[64];
        snprintf(expected, sizeof expected, "%s: cannot be written: File too large\n", names[kind]);
        if (!strstr(kept.text, expected)) fail_msg("'%s' is not in: %s", expected, kept.text);
        unlink(path);
    }
    cli_image_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_values),
        cmocka_unit_test(test_half_rounding),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_packed10),
        cmocka_unit_test(test_npy_headers),
        cmocka_unit_test(test_npy_truncated),
        cmocka_unit_test(test_npy_round_trip),
        cmocka_unit_test(test_exr_compressions),
        cmocka_unit_test(test_exr_channels),
        cmocka_unit_test(test_exr_damaged),
        cmocka_unit_test(test_exr_round_trip),
        cmocka_unit_test(test_write_reasons),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
