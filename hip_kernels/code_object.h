/* Code objects on disk: where they are looked for, and the checks before a runtime sees one. */
#ifndef D4R_HIP_KERNELS_CODE_OBJECT_H
#define D4R_HIP_KERNELS_CODE_OBJECT_H

#include "d4r/d4r.h"

/* The image stays alive (and where it is) until destroyed: HIP may read it after the module was loaded. */
typedef struct d4r_code_object {
    uint8_t *image;
    size_t size;
    char path[512];
    char sha256[65];
    bool ptx; /* text, which the driver compiles */
} d4r_code_object;

/* Finds and checks NAME.hsaco for an architecture ("gfx1201"): in `directory`, else $D4R_KERNELS, else next
 * to the library (../lib/d4r/kernels and the build tree), each with a folder per architecture. Checked: size,
 * ELF header and section bounds, machine AMDGPU, e_flags of exactly this architecture, SHA-256 against the
 * manifest NAME.json beside it. Errors: FEATURE (the architecture is not one of ours: they are listed),
 * NO_DEVICE (no code object found: paths listed; or it is damaged or of another architecture: file and value
 * named), MEMORY. */
d4r_status d4r_code_object_load(const char *directory, const char *arch, const char *name, const d4r_log *log,
                                d4r_code_object *object);
void d4r_code_object_destroy(d4r_code_object *object); /* zeroed content is fine */

/* Checks an image in memory; what load does after reading. `origin` names it in messages. */
d4r_status d4r_code_object_check(const uint8_t *image, size_t size, const char *arch, const char *origin,
                                 const d4r_log *log);

/* True for an architecture of architectures.def. */
bool d4r_architecture_known(const char *arch);

#endif
