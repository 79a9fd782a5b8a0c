/* Device memory seen through its exported fd by the CPU.
 *
 * An opaque fd promises nothing to mmap. Software drivers hand out a memfd, though, and there the memory lies
 * at the end of the file, behind a header of less than a page. Since that is an observation and not an
 * interface, the mapping is accepted only if bytes written through the driver's own mapping appear in it, and
 * the other way round. */
#ifndef D4R_INTEROP_FD_MAP_H
#define D4R_INTEROP_FD_MAP_H

#include <stddef.h>
#include "d4r/d4r.h"

typedef struct d4r_fd_map {
    void *data;    /* the memory; NULL when not mapped */
    void *base;    /* of the mapping, for munmap */
    size_t length; /* of the mapping */
} d4r_fd_map;

/* Maps `allocation` bytes of device memory behind `fd`, verified against `reference`, the driver's mapping of
 * the same memory. The fd is not kept. D4R_ERROR_FEATURE: the fd cannot be used this way; `why` (may be NULL)
 * says why. The memory must not be in use; its contents are preserved. */
d4r_status d4r_fd_map_open(int fd, uint64_t allocation, void *reference, d4r_fd_map *map, const char **why);
void d4r_fd_map_close(d4r_fd_map *map); /* zeroed content is fine */

#endif
