#include "models/format/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.h"

static d4r_status check_stat(const char *path, int fd, uint64_t cap, const d4r_log *log, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st)) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return d4r_fail(log, D4R_ERROR_MODEL, "%s: a directory, expected a file", path);
    if (!S_ISREG(st.st_mode)) return d4r_fail(log, D4R_ERROR_MODEL, "%s: not a regular file", path);
    if ((uint64_t)st.st_size > cap)
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: %jd bytes, more than the %" PRIu64 " such a file may have",
                        path, (intmax_t)st.st_size, cap);
    *size = (size_t)st.st_size;
    return D4R_OK;
}

static d4r_status read_all(const char *path, int fd, size_t size, const d4r_log *log, uint8_t *data)
{
    size_t done = 0;
    /* One byte more than expected is asked for, so that a file that grows meanwhile is noticed. */
    while (done < size + 1) {
        ssize_t n = read(fd, data + done, size + 1 - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
        if (n == 0) break;
        done += (size_t)n;
    }
    if (done != size)
        return d4r_fail(log, D4R_ERROR_IO, "%s: its size changed while it was read; try again", path);
    data[size] = 0;
    return D4R_OK;
}

d4r_status d4r_file_read(const char *path, uint64_t cap, const d4r_log *log, uint8_t **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    /* O_NONBLOCK: opening a FIFO must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return d4r_fail(log, D4R_ERROR_MODEL, "%s: no such file", path);
    if (fd < 0) return d4r_fail(log, D4R_ERROR_IO, "%s: %s", path, strerror(errno));
    size_t bytes = 0;
    uint8_t *buffer = NULL;
    d4r_status status = check_stat(path, fd, cap, log, &bytes);
    if (status == D4R_OK && !(buffer = malloc(bytes + 1)))
        status = d4r_fail(log, D4R_ERROR_MEMORY, "%s: no memory for %zu bytes", path, bytes);
    if (status == D4R_OK) status = read_all(path, fd, bytes, log, buffer);
    close(fd);
    if (status != D4R_OK) {
        free(buffer);
        return status;
    }
    *data = buffer;
    *size = bytes;
    return D4R_OK;
}

char *d4r_path_join(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

void d4r_sha256_hex(const uint8_t *data, size_t size, char hex[65])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, size, data);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

const char *d4r_printable(char buffer[D4R_PRINTABLE_SIZE], const char *text)
{
    size_t n = 0;
    for (; text[n] && n < D4R_PRINTABLE_SIZE - 4; n++)
        buffer[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    strcpy(buffer + n, text[n] ? "..." : "");
    return buffer;
}
