/* A small safetensors reader and writer: 8 bytes header length, a JSON header, the tensors' bytes.
 * Everything the header says is checked against the file before it is used. */
#ifndef D4R_MODELS_FORMAT_SAFETENSORS_H
#define D4R_MODELS_FORMAT_SAFETENSORS_H

#include "d4r/d4r.h"

#define D4R_SAFETENSORS_MAX_HEADER (1u << 20)
#define D4R_SAFETENSORS_MAX_TENSORS 4096u
#define D4R_TENSOR_NAME_SIZE 128
#define D4R_TENSOR_MAX_DIMENSIONS 4

typedef enum d4r_dtype { D4R_DTYPE_F8_E4M3, D4R_DTYPE_F16, D4R_DTYPE_BF16, D4R_DTYPE_F32 } d4r_dtype;
#define D4R_DTYPE_COUNT 4

const char *d4r_dtype_name(d4r_dtype dtype);
size_t d4r_dtype_bytes(d4r_dtype dtype);

typedef struct d4r_tensor {
    char name[D4R_TENSOR_NAME_SIZE];
    d4r_dtype dtype;
    uint32_t dimensions;
    uint64_t shape[D4R_TENSOR_MAX_DIMENSIONS];
    uint64_t elements;
    uint64_t offset; /* of the first byte, from the start of the file */
    uint64_t bytes;
} d4r_tensor;

/* Sorted by name. */
typedef struct d4r_safetensors {
    d4r_tensor *tensors;
    size_t count;
} d4r_safetensors;

/* Parses the header. `data` holds at least the whole header (8 + its length bytes); file_size is the size of
 * the file, which may be larger than what is in memory. The tensors must cover the bytes behind the header
 * exactly: no gap, no overlap, nothing past the end. `path` is used in messages only. On error *out is empty.
 */
d4r_status d4r_safetensors_parse(const char *path, const uint8_t *data, size_t size, uint64_t file_size,
                                 const d4r_log *log, d4r_safetensors *out);
void d4r_safetensors_free(d4r_safetensors *safetensors);
/* NULL when there is none of that name. */
const d4r_tensor *d4r_safetensors_find(const d4r_safetensors *safetensors, const char *name);

/* Writes a file image: header and bytes. `offset` of the tensors is ignored (they are laid out one after the
 * other, aligned to nothing but their order; put wide types first), `data` holds each tensor's bytes. *image
 * is freed by the caller. `metadata` (NULL-terminated pairs key, value; printed as they are, so no quotes or
 * control characters) may be NULL. */
d4r_status d4r_safetensors_encode(const d4r_tensor *tensors, const uint8_t *const *data, size_t count,
                                  const char *const *metadata, uint8_t **image, size_t *image_size);

#endif
