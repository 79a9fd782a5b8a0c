/* Runs the fuzz target on mutations of good inputs, without libFuzzer: "fuzz_loader COUNT [SEED]"; writes the good
 * inputs as a corpus: "fuzz_loader --write FOLDER". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const seeds[] = {"1{\"name\":\"n\",\"output\":[640,360],\"hdr\":true,\"depth_inverted\":"
                                    "true,\"near\":0.1,\"motion_unit\":\"uv\","
                                    "\"motion_scale\":[1,1],\"bits\":{\"color\":16},\"frames\":[{\"color\":"
                                    "\"c\",\"motion\":\"m\",\"depth\":\"d\","
                                    "\"reference\":null,\"render\":[320,180],\"jitter\":[0.25,-0.5],"
                                    "\"exposure\":1.5,\"pre_exposure\":1,\"reset\":false,"
                                    "\"camera\":{\"fov_x_deg\":60}}]}",
                                    "1{\"output\":[64,64],\"frames\":[{\"color\":\"c\",\"motion\":\"m\","
                                    "\"depth\":\"d\",\"render\":[64,64],\"jitter\":[0,0]},"
                                    "{\"color\":\"c\",\"motion\":\"m\",\"depth\":\"d\",\"render\":[64,64],"
                                    "\"jitter\":[0,0],\"exposure\":\"e.npy\"}]}"};

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % bound);
}

static size_t npy_seed(uint8_t *out)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 2), }  \n",
        "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 5, 4), }  \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }     \n"};
    static const size_t data[] = {48, 120, 48};
    uint32_t which = random_below(3);
    size_t length = strlen(headers[which]);
    out[0] = '0';
    memcpy(out + 1, "\x93NUMPY\1\0", 8);
    out[9] = (uint8_t)length;
    out[10] = 0;
    memcpy(out + 11, headers[which], length);
    memset(out + 11 + length, 0x3c, data[which]);
    return 11 + length + data[which];
}

/* Overwrites, removes, repeats or replaces a few bytes. */
static size_t mutate(uint8_t *bytes, size_t size, size_t capacity)
{
    static const char *const words[] = {"-1", "1e999",       "null",    "[", "]", "{}",
                                        "\"", "99999999999", "\\u0000", "0", "'"};
    for (uint32_t n = random_below(4); n; n--) {
        uint32_t at = 1 + random_below((uint32_t)size - 1);
        switch (random_below(4)) {
        case 0:
            bytes[at] = (uint8_t)random_below(256);
            break;
        case 1: {
            size_t cut = random_below(8) < 1 ? size - at : 1 + random_below(8);
            if (cut > size - at) cut = size - at;
            memmove(bytes + at, bytes + at + cut, size - at - cut);
            size -= cut;
            break;
        }
        default: {
            const char *word = words[random_below(sizeof words / sizeof *words)];
            size_t length = strlen(word);
            if (size + length > capacity) break;
            memmove(bytes + at + length, bytes + at, size - at);
            memcpy(bytes + at, word, length);
            size += length;
        }
        }
        if (size < 2) return 2;
    }
    return size;
}

static int write_seed(const char *folder, int number, const uint8_t *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/seed-%d", folder, number);
    FILE *file = fopen(path, "wb");
    if (!file) return 1;
    size_t written = fwrite(bytes, 1, size, file);
    return fclose(file) || written != size;
}

static int write_seeds(const char *folder)
{
    uint8_t bytes[512];
    int failed = 0;
    for (int i = 0; i < 2; i++) failed |= write_seed(folder, i, (const uint8_t *)seeds[i], strlen(seeds[i]));
    for (int i = 2; i < 10; i++) {
        size_t size = npy_seed(bytes);
        failed |= write_seed(folder, i, bytes, size);
    }
    return failed;
}

int main(int count, char **arguments)
{
    static uint8_t bytes[4096];
    if (count == 3 && !strcmp(arguments[1], "--write")) return write_seeds(arguments[2]);
    long rounds = count > 1 ? atol(arguments[1]) : 10000;
    if (count > 2) random_state = (uint64_t)atol(arguments[2]);
    for (long i = 0; i < rounds; i++) {
        size_t size;
        if (i & 1) {
            const char *seed = seeds[random_below(2)];
            size = strlen(seed);
            memcpy(bytes, seed, size);
        } else {
            size = npy_seed(bytes);
        }
        size = mutate(bytes, size, sizeof bytes);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    printf("%ld inputs\n", rounds);
    return 0;
}
