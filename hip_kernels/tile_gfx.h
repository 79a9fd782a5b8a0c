/* What the gfx11 and gfx12 machines share: types, windows, lanes. Included by tile_gfx11.h and tile_gfx12.h.
 */
#ifndef D4R_HIP_KERNELS_TILE_GFX_H
#define D4R_HIP_KERNELS_TILE_GFX_H

#include "hip_kernels/m_args.h"
#include "models/format/m_layout.h"

#ifndef TILE_WINDOWS
#define TILE_WINDOWS 1
#endif
#define TILE_FN static __attribute__((device, always_inline)) inline
#define TILE_UNROLL _Pragma("unroll")
#define TILE_ROLL _Pragma("nounroll")
#define TILE_FENCE 0x2 /* sched_barrier: only VALU instructions may move across */
#define TILE_EACH_WINDOW(w) TILE_UNROLL for (int w = 0; w < TILE_WINDOWS; w++)

typedef float tile_v8f __attribute__((ext_vector_type(8)));
typedef float tile_v4f __attribute__((ext_vector_type(4)));
typedef float tile_v2f __attribute__((ext_vector_type(2)));
typedef int tile_v2i __attribute__((ext_vector_type(2)));

/* f32 tile: register r of half h is channel 8h + r of the lane's token. */
typedef struct tile_f32 {
    tile_v8f v[TILE_WINDOWS];
} tile_f32;
typedef struct tile_row {
    float v[TILE_WINDOWS]; /* equal in both halves */
} tile_row;
typedef struct tile_matrix {
    const unsigned char *panels;
    int in_tiles;
} tile_matrix;
typedef struct tile_group {
    int lane, half;
    int fine_columns;
    int masked;                     /* some window has keys outside; uniform */
    unsigned outside[TILE_WINDOWS]; /* bit k: key k is outside the grid; uniform */
    int inside[TILE_WINDOWS];       /* this lane's token exists and is to be stored */
    int token[TILE_WINDOWS];        /* index in the block's grid */
    int fine[TILE_WINDOWS];         /* index of the 2x2 finer tokens' first one */
    /* What the kernel has staged in LDS: parts of the layer's matrices and vectors, by offset in its weights. All of
     * it is constant after inlining. */
    const unsigned char *staged;
    int matrices_first, matrices_end, vectors_first, vectors_end;
#ifdef TILE_HALF /* 8x8 windows: tile_half_gfx.h */
    int place, coarse;
    unsigned outside_places[4]; /* as `outside`, of each place's tokens */
    unsigned char *memory, *keys;
    float one; /* 1, unknown to the compiler: conversions become fused multiply-adds, one instruction each */
#endif
} tile_group;

TILE_FN int tile_clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* Windows index * TILE_WINDOWS and following; `index` is uniform. False when there is none. */
TILE_FN int tile_open(tile_group *g, const d4r_m_args *a, int index)
{
    if (index * TILE_WINDOWS >= a->windows) return 0;
    g->lane = (int)(__builtin_amdgcn_workitem_id_x() & 31);
    g->half = g->lane >> 4;
    g->fine_columns = 2 * a->columns;
    g->masked = 0;
    TILE_EACH_WINDOW(w)
    {
        const int exists = index * TILE_WINDOWS + w < a->windows;
        const int window = exists ? index * TILE_WINDOWS + w : index * TILE_WINDOWS;
        const int window_y = window / a->windows_x, window_x = window - window_y * a->windows_x;
        const int column = 4 * window_x - a->shift + (g->lane & 3);
        const int row = 4 * window_y - a->shift + (g->lane >> 2 & 3);
        const int c = tile_clamp(column, a->columns - 1), r = tile_clamp(row, a->rows - 1);
        const int in = c == column && r == row;
        g->outside[w] = ~__builtin_amdgcn_ballot_w32(in) & 0xffffu;
        g->masked |= g->outside[w] != 0;
        g->inside[w] = in && exists;
        g->token[w] = r * a->columns + c;
        g->fine[w] = 2 * r * g->fine_columns + 2 * c;
    }
    return 1;
}
TILE_FN int tile_fine_offset(const tile_group *g, int q)
{
    return (q >> 1) * g->fine_columns + (q & 1);
}

/* The other half's value of the same token. */
TILE_FN int tile_other_bits(int x)
{
    return __builtin_amdgcn_permlanex16(0, x, 0x76543210, 0xfedcba98, 0, 0);
}
TILE_FN float tile_other(float x)
{
    return __builtin_bit_cast(float, tile_other_bits(__builtin_bit_cast(int, x)));
}

TILE_FN tile_matrix tile_matrix_at(const tile_group *g, const d4r_m_args *a, int offset, int in_tiles)
{
    tile_matrix m;
    if (offset >= g->matrices_first && offset < g->matrices_end)
        m.panels = g->staged + (offset - g->matrices_first) * TILE_PANEL_SCALE;
    else
        m.panels = a->panels + offset * TILE_PANEL_SCALE;
    m.in_tiles = in_tiles;
    return m;
}
TILE_FN const unsigned char *tile_vector_at(const tile_group *g, const d4r_m_args *a, int offset)
{
    if (offset >= g->vectors_first && offset < g->vectors_end)
        return g->staged + (g->matrices_end - g->matrices_first) * TILE_PANEL_SCALE +
               (offset - g->vectors_first);
    return a->weights + offset;
}

/* Copies a part of the layer's matrices and vectors to LDS, once for all waves of the workgroup. Offsets and sizes
 * are multiples of 16 bytes; `memory` is uniform. */
TILE_FN void tile_copy(unsigned char *to, const unsigned char *from, int bytes, int threads)
{
    typedef int v4i __attribute__((ext_vector_type(4)));
    for (int i = 16 * (int)__builtin_amdgcn_workitem_id_x(); i < bytes; i += 16 * threads)
        *(v4i *)(to + i) = *(const v4i *)(from + i);
}
TILE_FN void tile_stage(tile_group *g, const d4r_m_args *a, unsigned char *memory, int matrices_first,
                        int matrices_end, int vectors_first, int vectors_end, int threads)
{
    const int matrix_bytes = (matrices_end - matrices_first) * TILE_PANEL_SCALE;
    tile_copy(memory, a->panels + matrices_first * TILE_PANEL_SCALE, matrix_bytes, threads);
    tile_copy(memory + matrix_bytes, a->weights + vectors_first, vectors_end - vectors_first, threads);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    g->staged = memory;
    g->matrices_first = matrices_first;
    g->matrices_end = matrices_end;
    g->vectors_first = vectors_first;
    g->vectors_end = vectors_end;
}

#endif
