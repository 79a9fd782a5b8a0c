/* What hip.c needs of the NVIDIA adaptors beyond the table. */
#ifndef D4R_INTEROP_HIP_NVIDIA_H
#define D4R_INTEROP_HIP_NVIDIA_H

#include <stddef.h>

/* "sm_90" of a device ordinal; "" when the driver does not tell. */
void d4r_hip_nvidia_arch(int device, char *arch, size_t size);

#endif
