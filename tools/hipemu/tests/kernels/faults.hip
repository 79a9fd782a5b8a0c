/* Planted faults: each kernel does one thing wrong. */
#include "kernel.h"

KERNEL void load_at(const u32 *p, u32 *out, u32 index, u32 bad_lane)
{
    out[lane()] = lane() == bad_lane ? p[index] : p[lane()];
}

KERNEL void store_at(u32 *p, u32 index)
{
    if (lane() == 5) p[index] = 1;
}

KERNEL void scalar_load_at(const u32 *p, u32 *out, u32 index)
{
    out[lane()] = p[index + group()];
}

KERNEL void misaligned(const u8 *p, u32 *out, u32 offset)
{
    out[lane()] = *(const u32 *)(p + offset + 4 * lane());
}

/* packed structures may lie anywhere: the compiler knows, but the address alone does not show it */
struct __attribute__((packed)) odd {
    u8 tag;
    u32 value;
};
KERNEL void packed_fields(const odd *p, u32 *out)
{
    out[lane()] = p[lane()].value + p[lane()].tag;
}

KERNEL void misaligned_atomic(u8 *p)
{
    __atomic_fetch_add((u32 *)(p + 2), 1u, __ATOMIC_RELAXED);
}

KERNEL void lds_index(u32 *out, u32 index)
{
    SHARED u32 shared[64];
    shared[lane()] = lane();
    __builtin_amdgcn_s_barrier();
    out[lane()] = shared[index + lane()];
}

KERNEL void lds_never_written(u32 *out)
{
    SHARED u32 shared[64];
    if (lane() != 7) shared[lane()] = lane();
    __builtin_amdgcn_s_barrier();
    out[lane()] = shared[lane()];
}

/* Two waves: with the barrier left out, wave 1 reads what wave 0 has written. */
KERNEL void lds_race(u32 *out, u32 with_barrier)
{
    SHARED u32 shared[64];
    shared[lane()] = lane();
    if (with_barrier) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    out[lane()] = ((volatile u32 *)shared)[63 - lane()];
}

/* Atomics on the same word do not race with one another. */
KERNEL void lds_atomics(u32 *out)
{
    SHARED u32 sum;
    if (lane() == 0) sum = 0;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    __atomic_fetch_add(&sum, lane(), __ATOMIC_RELAXED);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[lane()] = sum;
}

KERNEL void scratch_index(u32 *out, u32 index)
{
    volatile u32 local[8];
    for (u32 i = 0; i < 8; i++) local[i] = i;
    out[lane()] = local[index];
}

KERNEL void traps(u32 *out)
{
    if (out[0] == 0) __builtin_trap();
    out[1] = 1;
}

KERNEL void spins(volatile u32 *flag)
{
    while (*flag == 0) {
    }
}

/* An image instruction: not among those emulated. */
KERNEL void unknown(u32 *out)
{
    __asm__ volatile(".long 0xf0040f00, 0x00020400");
    out[lane()] = 1;
}

KERNEL void jumps_nowhere(u32 *out)
{
    u32 low = out[0], high = out[1];
    __asm__ volatile("s_mov_b32 s40, %0\n\ts_mov_b32 s41, %1\n\ts_setpc_b64 s[40:41]"
                     :
                     : "s"(low), "s"(high)
                     : "s40", "s41");
}

KERNEL void half_wave_wmma(u32 *out)
{
    __asm__ volatile("s_mov_b32 exec_lo, 0xffff\n\t"
#if HIPEMU_CLASS == 12
                     "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"
#else
                     "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"
#endif
                     ::
                         : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
                           "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23");
    out[0] = 1;
}
