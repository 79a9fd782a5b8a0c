/* Small kernels for the API, fault and checker tests. */
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define LDS __attribute__((shared))
typedef unsigned int u32;

static __attribute__((device, always_inline)) inline u32 item()
{
    return __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}

/* out[i] = in[i] * factor + add */
KERNEL void scale_add(const u32 *in, u32 *out, u32 n, u32 factor, u32 add)
{
    u32 i = item();
    if (i < n) out[i] = in[i] * factor + add;
}

struct params {
    const u32 *in;
    u32 *out;
    u32 n, unused;
};
KERNEL void by_struct(struct params p)
{
    u32 i = item();
    if (i < p.n) p.out[i] = ~p.in[i];
}

/* One work-item stores past the end. */
KERNEL void out_of_bounds(u32 *out, u32 n)
{
    u32 i = item();
    out[i == 37 ? n : i] = i;
}

KERNEL void reads_memory(const u32 *in, u32 *out)
{
    u32 i = item();
    out[i] = in[i] + 1;
}

/* Stores at odd addresses, which the source does not admit. */
KERNEL void misaligned(unsigned char *out)
{
    u32 i = item();
    *(volatile u32 *)(out + i * 5) = i;
}

KERNEL void reads_lds(u32 *out)
{
    LDS u32 cells[64];
    u32 t = __builtin_amdgcn_workitem_id_x();
    if (t != 5) cells[t] = t;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[t] = cells[t ^ 1];
}

/* Two waves exchange through LDS without a barrier. */
KERNEL void races(u32 *out)
{
    LDS volatile u32 cells[64];
    u32 t = __builtin_amdgcn_workitem_id_x();
    cells[t] = t;
    out[t] = cells[t ^ 32];
}

KERNEL void never_ends(volatile u32 *flag)
{
    while (*flag == 0) {}
}

KERNEL void dynamic_lds(u32 *out)
{
    extern LDS u32 cells[];
    u32 t = __builtin_amdgcn_workitem_id_x(), n = __builtin_amdgcn_workgroup_size_x();
    cells[t] = t * 3;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[t] = cells[n - 1 - t];
}
