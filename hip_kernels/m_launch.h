/* How the network's kernels are launched: shared by the kernels, the host code and the reports.
 *
 * A workgroup has D4R_M_WAVES waves; each wave owns one group of windows at a time. The panels are the
 * matrices of hipnet.bin in the machine's own form (d4r_m_prepare_panels). */
#ifndef D4R_HIP_KERNELS_M_LAUNCH_H
#define D4R_HIP_KERNELS_M_LAUNCH_H

#include "hip_kernels/m_layers.h"

typedef enum d4r_m_machine {
    D4R_M_MACHINE_GFX12, /* FP8 operands: hipnet.bin as it is */
    D4R_M_MACHINE_GFX11, /* f16 operands, output rows permuted */
    D4R_M_MACHINE_NV,    /* f16 operands in mma.sync order; PTX for any machine from sm_89 on */
    D4R_M_MACHINE_SM90   /* the same operands; the cubin, which shares more in shared memory */
} d4r_m_machine;

typedef struct d4r_m_kernel {
    const char *function;  /* entry point in the code object */
    unsigned threads;      /* a workgroup */
    unsigned windows;      /* a workgroup works on at a time */
    unsigned shared_bytes; /* of dynamic shared memory */
    unsigned
        resident; /* workgroups a multiprocessor that take all windows in turns; 0: one group a workgroup */
} d4r_m_kernel;

/* Of one layer on a machine; static storage. */
const d4r_m_kernel *d4r_m_kernel_of(d4r_m_machine machine, d4r_m_layer layer);

/* Bytes of a prepared weight: 1 or 2. */
unsigned d4r_m_panel_scale(d4r_m_machine machine);
/* Fills `panels` (D4R_M_NET_BYTES * scale bytes) from hipnet.bin; what lies between matrices becomes zero. */
void d4r_m_prepare_panels(d4r_m_machine machine, const uint8_t *network, uint8_t *panels);

#endif
