/* How preset K's kernels are launched, and the weights in each machine's form.
 *
 * Eight phases, so eight immutable graphs of eleven launches: for a grid and a phase, d4r_k_layer_shape gives a launch's
 * arguments but for the pointers, d4r_k_kernel_of the kernel; grid = ceil(windows / windows of a workgroup). */
#ifndef D4R_HIP_KERNELS_K_LAUNCH_H
#define D4R_HIP_KERNELS_K_LAUNCH_H

#include "hip_kernels/k_layers.h"
#include "hip_kernels/m_launch.h"

/* Of one layer on a machine; static storage. */
const d4r_m_kernel *d4r_k_kernel_of(d4r_m_machine machine, d4r_k_layer layer);
/* Fills `panels` (D4R_K_NET_BYTES) from the packed image: the whole image, tiles in the machine's order. A launch's
 * `weights` and `panels` both point at the layer in it. */
void d4r_k_prepare_panels(d4r_m_machine machine, const uint8_t *network, uint8_t *panels);

#endif
