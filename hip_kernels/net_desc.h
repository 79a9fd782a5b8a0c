/* A preset's network as its machines see it: what the CPU network, the HIP network, tools and tests need to know of it. One
 * table a preset; nothing that runs a network names one. */
#ifndef D4R_HIP_KERNELS_NET_DESC_H
#define D4R_HIP_KERNELS_NET_DESC_H

#include <stdbool.h>
#include "d4r/d4r.h"
#include "hip_kernels/cpu_level.h"
#include "hip_kernels/m_args.h"
#include "hip_kernels/m_launch.h"

#define D4R_NET_MAX_LAYERS 11
#define D4R_NET_MAX_BUFFERS 10
#define D4R_NET_NO_LAYER (-1)

/* Runs the items first .. last - 1 of one launch. */
typedef void (*d4r_cpu_kernel_fn)(const d4r_m_args *args, int first, int last);

/* A preset's CPU kernels of one instruction set level. */
typedef struct d4r_cpu_machine {
    int windows_an_item;
    int panel_scale; /* bytes of the prepared image for each byte of the packed one */
    d4r_cpu_kernel_fn layers[D4R_NET_MAX_LAYERS];
    /* Into `panels`: packed bytes * panel_scale, zeroed, 64-byte aligned. */
    void (*prepare)(const uint8_t *network, unsigned char *panels);
} d4r_cpu_machine;

typedef struct d4r_net_layer {
    const char *name;
    uint32_t out_level, out_channels; /* tokens written: (grid >> level), values each */
    int input;                        /* layer that is read; D4R_NET_NO_LAYER: the network's tokens */
    int skip;                         /* layer that is added after the expand; D4R_NET_NO_LAYER: none */
    int buffer;     /* on a device: which buffer is written; -1: the caller's head (the last layer) */
    size_t weights; /* offset in the packed image */
} d4r_net_layer;

typedef struct d4r_net_desc {
    d4r_preset id;
    const char *preset;  /* "M" */
    const char *kernels; /* name of the code object: "m" */
    uint32_t layer_count, buffer_count;
    uint32_t
        phases; /* variants of every launch; the number of evaluations so far, modulo this, selects one */
    uint32_t grid_step;               /* a token grid is a multiple of it, and at least it */
    uint32_t grid_most;               /* tokens a side */
    uint32_t token_bytes, head_bytes; /* a token in the shared buffers */
    uint32_t value_bytes;             /* of all layers: 1 FP8, 2 f16 */
    const char *dtype;                /* NumPy type of a value */
    size_t image_bytes;               /* the packed image, hipnet.bin */
    d4r_net_layer (*layer)(unsigned index);
    /* The arguments of a launch that follow from layer, grid and phase; pointers are NULL. */
    d4r_m_args (*shape)(unsigned index, d4r_size grid, uint32_t phase);
    uint64_t (*macs)(unsigned index, d4r_size grid);
    const d4r_m_kernel *(*kernel)(d4r_m_machine machine, unsigned index);
    /* Machines but gfx12, which reads the image as it is, have the matrices in a form of their own: image_bytes * panel_scale
     * bytes, offsets in proportion. */
    unsigned (*panel_scale)(d4r_m_machine machine);
    void (*prepare)(d4r_m_machine machine, const uint8_t *network, uint8_t *panels);
    bool panels_hold_all; /* vectors too: the kernels read nothing of the image itself */
    const d4r_cpu_machine
        *cpu[D4R_CPU_LEVEL_COUNT]; /* NULL: not built; twice the same: the lower level's name is used */
} d4r_net_desc;

extern const d4r_net_desc d4r_m_net, d4r_k_net;
#define D4R_NET_COUNT 2
extern const d4r_net_desc *const d4r_nets[D4R_NET_COUNT];
const d4r_net_desc *d4r_net_find(d4r_preset id); /* NULL: unknown */

static inline bool d4r_net_grid_valid(const d4r_net_desc *net, d4r_size grid)
{
    return grid.width >= net->grid_step && grid.height >= net->grid_step &&
           grid.width % net->grid_step == 0 && grid.height % net->grid_step == 0 &&
           grid.width <= net->grid_most && grid.height <= net->grid_most;
}
/* Bytes that a layer writes. */
static inline size_t d4r_net_layer_bytes(const d4r_net_desc *net, unsigned index, d4r_size grid)
{
    const d4r_net_layer l = net->layer(index);
    return (size_t)(grid.width >> l.out_level) * (grid.height >> l.out_level) * l.out_channels *
           net->value_bytes;
}

#endif
