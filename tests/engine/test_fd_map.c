/* Mapping device memory through its fd: what is accepted, what is refused. A memfd plays the driver's part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "interop/fd_map.h"

#define SIZE 12288u

typedef struct memory {
    int fd;
    size_t length;
    unsigned char *base, *reference;
} memory;

/* A file of header + SIZE bytes; the driver's mapping of the memory starts at `offset`. */
static memory make(size_t header, size_t offset)
{
    memory m = {.fd = memfd_create("test", MFD_ALLOW_SEALING), .length = header + SIZE};
    assert_true(m.fd >= 0);
    assert_int_equal(ftruncate(m.fd, (off_t)m.length), 0);
    m.base = mmap(NULL, m.length, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
    assert_true(m.base != MAP_FAILED);
    for (size_t i = 0; i < m.length; i++) m.base[i] = (unsigned char)(i * 7 + i / 256);
    m.reference = m.base + offset;
    return m;
}

static void drop(memory *m)
{
    munmap(m->base, m->length);
    close(m->fd);
}

static void accept_one(size_t header, size_t offset)
{
    memory m = make(header, offset);
    unsigned char *before = malloc(m.length);
    d4r_fd_map map;
    const char *why = NULL;
    memcpy(before, m.base, m.length);
    assert_int_equal(d4r_fd_map_open(m.fd, SIZE, m.reference, &map, &why), D4R_OK);
    assert_null(why);
    assert_memory_equal(before, m.base, m.length); /* the probes are gone */
    ((unsigned char *)map.data)[100] = 99;
    assert_int_equal(m.reference[100], 99);
    d4r_fd_map_close(&map);
    assert_null(map.data);
    d4r_fd_map_close(&map);
    free(before);
    drop(&m);
}

static void accepted(void **state)
{
    (void)state;
    accept_one(0, 0);
    accept_one(64, 0); /* (st_size - size) rounded down to a page: a short header shares the first page */
    accept_one(4096, 4096);
    accept_one(4096 + 200, 4096);
}

static void refused(void **state)
{
    memory m = make(4096, 0); /* the driver's mapping is elsewhere: the probes do not show */
    unsigned char *before = malloc(m.length);
    int pipes[2];
    d4r_fd_map map;
    const char *why = NULL;
    (void)state;
    memcpy(before, m.base, m.length);
    assert_int_equal(d4r_fd_map_open(m.fd, SIZE, m.reference, &map, &why), D4R_ERROR_FEATURE);
    assert_non_null(strstr(why, "not the memory's"));
    assert_memory_equal(before, m.base, m.length);
    assert_null(map.data);
    assert_int_equal(d4r_fd_map_open(m.fd, m.length + 1, m.reference, &map, &why), D4R_ERROR_FEATURE);
    assert_non_null(strstr(why, "smaller"));
    assert_int_equal(d4r_fd_map_open(m.fd, SIZE, NULL, &map, &why), D4R_ERROR_FEATURE);
    assert_int_equal(d4r_fd_map_open(-1, SIZE, m.reference, &map, &why), D4R_ERROR_FEATURE);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(d4r_fd_map_open(pipes[0], SIZE, m.reference, &map, NULL), D4R_ERROR_FEATURE);
    close(pipes[0]);
    close(pipes[1]);
    free(before);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepted), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
