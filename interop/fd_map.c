#include "interop/fd_map.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE 4096u
#define PROBE 16u

static void fill_probe(unsigned char *probe, unsigned seed)
{
    for (unsigned i = 0; i < PROBE; i++) probe[i] = (unsigned char)(seed * 37u + i * 101u + 13u);
}

/* Writes through one mapping, reads through the other, puts the old bytes back. Byte-wise volatile access:
 * the compiler cannot know that the two mappings alias. */
static bool probe_at(volatile unsigned char *write, const volatile unsigned char *read, unsigned seed)
{
    unsigned char probe[PROBE], old[PROBE];
    bool same = true;
    fill_probe(probe, seed);
    for (unsigned i = 0; i < PROBE; i++) old[i] = write[i];
    for (unsigned i = 0; i < PROBE; i++) write[i] = probe[i];
    for (unsigned i = 0; i < PROBE; i++) same = same && read[i] == probe[i];
    for (unsigned i = 0; i < PROBE; i++) write[i] = old[i];
    return same;
}

static bool same_memory(unsigned char *a, unsigned char *b, uint64_t size)
{
    uint64_t places[] = {0, size / 2, size > PROBE ? size - PROBE : 0};
    if (size < PROBE) return false;
    for (unsigned i = 0; i < 3; i++)
        if (!probe_at(a + places[i], b + places[i], 2 * i) ||
            !probe_at(b + places[i], a + places[i], 2 * i + 1))
            return false;
    return true;
}

static d4r_status refuse(const char **why, const char *reason)
{
    if (why) *why = reason;
    return D4R_ERROR_FEATURE;
}

d4r_status d4r_fd_map_open(int fd, uint64_t allocation, void *reference, d4r_fd_map *map, const char **why)
{
    struct stat st;
    uint64_t offset;
    void *base;
    memset(map, 0, sizeof *map);
    if (fd < 0) return refuse(why, "the memory was not exported");
    if (!reference) return refuse(why, "there is no host mapping to verify the fd against");
    /* Only memfds and tmpfs files know seals: dma-bufs, which need synchronisation calls, are left alone. */
    if (fcntl(fd, F_GET_SEALS) < 0) return refuse(why, "the fd is not a memfd");
    if (fstat(fd, &st) != 0 || st.st_size < 0 || (uint64_t)st.st_size < allocation)
        return refuse(why, "the fd's file is smaller than the allocation");
    offset = ((uint64_t)st.st_size - allocation) / PAGE * PAGE;
    base = mmap(NULL, allocation, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (base == MAP_FAILED) return refuse(why, "mmap of the fd failed");
    if (!same_memory(base, reference, allocation)) {
        munmap(base, allocation);
        return refuse(why, "the fd's bytes are not the memory's");
    }
    map->data = map->base = base;
    map->length = allocation;
    return D4R_OK;
}

void d4r_fd_map_close(d4r_fd_map *map)
{
    if (map->base) munmap(map->base, map->length);
    memset(map, 0, sizeof *map);
}
