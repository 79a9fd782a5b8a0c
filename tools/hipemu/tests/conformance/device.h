/* What conformance kernels are written in. The same source becomes a gfx11/gfx12 kernel (clang -x hip) and a host
 * function (clang -x c++, where host_run.c provides the work-items). */
#ifndef HIPEMU_CONFORMANCE_DEVICE_H
#define HIPEMU_CONFORMANCE_DEVICE_H

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef float f32;
typedef double f64;
typedef _Float16 f16;

typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x8 __attribute__((ext_vector_type(8)));
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x8 __attribute__((ext_vector_type(8)));
typedef i32 i32x2 __attribute__((ext_vector_type(2)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#ifdef __HIP__
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256)))
#define INLINE static __attribute__((device, always_inline)) inline
#define CALLED static __attribute__((device, noinline))
#define LDS __attribute__((shared))
#define DEVICE __attribute__((device))
#else
#define KERNEL extern "C"
#define INLINE static __attribute__((always_inline)) inline
#define CALLED static __attribute__((noinline))
#define LDS static
#define DEVICE
#endif

template <class To, class From> INLINE To bits(From value)
{
    return __builtin_bit_cast(To, value);
}

#ifdef __HIP__

INLINE u32 local_id()
{
    return __builtin_amdgcn_workitem_id_x();
}
INLINE u32 group_id()
{
    return __builtin_amdgcn_workgroup_id_x();
}
INLINE u32 group_size()
{
    return __builtin_amdgcn_workgroup_size_x();
}
INLINE void barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
INLINE u32 bpermute(u32 value, u32 lane)
{
    return __builtin_amdgcn_ds_bpermute((i32)(lane * 4), (i32)value);
}
INLINE u32 permlanex16(u32 value, u32 low, u32 high)
{
    return __builtin_amdgcn_permlanex16(0, value, low, high, false, false);
}
INLINE u32 permlane16(u32 value, u32 low, u32 high)
{
    return __builtin_amdgcn_permlane16(0, value, low, high, false, false);
}
INLINE u32 readlane(u32 value, u32 lane)
{
    return __builtin_amdgcn_readlane(value, lane);
}
INLINE u32 readfirstlane(u32 value)
{
    return __builtin_amdgcn_readfirstlane(value);
}
INLINE u32 ballot(bool value)
{
    return __builtin_amdgcn_ballot_w32(value);
}
INLINE u32 lane_id()
{
    return __builtin_amdgcn_mbcnt_lo(~0u, 0);
}
template <int control> INLINE u32 dpp(u32 old, u32 value)
{
    return __builtin_amdgcn_update_dpp((i32)old, (i32)value, control, 0xf, 0xf, false);
}
template <int pattern> INLINE u32 swizzle(u32 value)
{
    return __builtin_amdgcn_ds_swizzle((i32)value, pattern);
}
INLINE f32 med3(f32 a, f32 b, f32 c)
{
    return __builtin_amdgcn_fmed3f(a, b, c);
}
INLINE f32 rcp(f32 x)
{
    return __builtin_amdgcn_rcpf(x);
}
INLINE f32 rsq(f32 x)
{
    return __builtin_amdgcn_rsqf(x);
}
INLINE f32 exp2_hw(f32 x)
{
    return __builtin_amdgcn_exp2f(x);
}
INLINE f32 log2_hw(f32 x)
{
    return __builtin_amdgcn_logf(x);
}
INLINE f32 sqrt_hw(f32 x)
{
    return __builtin_amdgcn_sqrtf(x);
}
INLINE f32 fract(f32 x)
{
    return __builtin_amdgcn_fractf(x);
}
INLINE f32 frexp_mantissa(f32 x)
{
    return __builtin_amdgcn_frexp_mantf(x);
}
INLINE i32 frexp_exponent(f32 x)
{
    return __builtin_amdgcn_frexp_expf(x);
}
INLINE bool fp_class(f32 x, i32 mask)
{
    return __builtin_amdgcn_classf(x, mask);
}
INLINE u32 perm_bytes(u32 a, u32 b, u32 selector)
{
    return __builtin_amdgcn_perm(a, b, selector);
}
INLINE u32 align_bits(u32 a, u32 b, u32 shift)
{
    return __builtin_amdgcn_alignbit(a, b, shift);
}
INLINE u32 sad_u8(u32 a, u32 b, u32 sum)
{
    return __builtin_amdgcn_sad_u8(a, b, sum);
}
INLINE u32 unsigned_bits(u32 value, u32 offset, u32 width)
{
    return __builtin_amdgcn_ubfe(value, offset, width);
}
INLINE i32 signed_bits(i32 value, u32 offset, u32 width)
{
    return __builtin_amdgcn_sbfe(value, offset, width);
}
/* Rounds toward zero. */
INLINE u32 pack_f16_rtz(f32 a, f32 b)
{
    return bits<u32>(__builtin_amdgcn_cvt_pkrtz(a, b));
}

#define ATOMIC(op, pointer, value) \
    __hip_atomic_##op(pointer, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ATOMIC_LDS(op, pointer, value) \
    __hip_atomic_##op(pointer, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)
INLINE bool atomic_swap_if(u32 *pointer, u32 *expected, u32 value)
{
    return __hip_atomic_compare_exchange_strong(pointer, expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                __HIP_MEMORY_SCOPE_AGENT);
}
INLINE u32 atomic_read(u32 *pointer)
{
    return __hip_atomic_load(pointer, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
INLINE void atomic_add_f32(f32 *pointer, f32 value)
{
    ATOMIC(fetch_add, pointer, value);
}

#if HIPEMU_CLASS == 12
/* MODE.FP16_OVFL: finite values saturate in conversions to FP8 and f16. */
INLINE void saturate_conversions()
{
    __builtin_amdgcn_s_setreg(1 | 23 << 6 | 0 << 11, 1);
}
INLINE u32 fp8_pack(f32 a, f32 b, u32 old, bool)
{
    return __builtin_amdgcn_cvt_pk_fp8_f32(a, b, (i32)old, false);
}
INLINE u32 bf8_pack(f32 a, f32 b, u32 old, bool)
{
    return __builtin_amdgcn_cvt_pk_bf8_f32(a, b, (i32)old, true);
}
template <int byte> INLINE f32 fp8_unpack(u32 value)
{
    return __builtin_amdgcn_cvt_f32_fp8((i32)value, byte);
}
template <int byte> INLINE f32 bf8_unpack(u32 value)
{
    return __builtin_amdgcn_cvt_f32_bf8((i32)value, byte);
}
template <bool high> INLINE f32x2 fp8_unpack2(u32 value)
{
    return __builtin_amdgcn_cvt_pk_f32_fp8((i32)value, high);
}
typedef f16x8 wmma_f16_operand;
INLINE f32x8 wmma_f16(f16x8 a, f16x8 b, f32x8 c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c);
}
INLINE f32x8 wmma_fp8(i32x2 a, i32x2 b, f32x8 c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c);
}
#else
typedef f16x16 wmma_f16_operand;
INLINE f32x8 wmma_f16(f16x16 a, f16x16 b, f32x8 c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
#endif

#else /* host */

extern "C" {
u32 host_local_id(void);
u32 host_group_id(void);
u32 host_group_size(void);
void host_barrier(void);
/* Every live work-item of the wave passes `size` bytes; the result is all 32 slots, 256 bytes each (of a lane that has
 * ended: what it last passed, and *live lacks its bit). Valid until the wave's next exchange but one. */
const u8 *host_exchange(const void *value, u32 size, u32 *live);
f32 host_exp2(f32 x);
f32 host_log2(f32 x);
f32 host_sqrt(f32 x);
f32 host_round_f16_rtz(f32 x);
u32 host_f8_encode(f32 x, bool bf8, bool saturate);
f32 host_f8_decode(u32 code, bool bf8);
}

INLINE u32 local_id()
{
    return host_local_id();
}
INLINE u32 group_id()
{
    return host_group_id();
}
INLINE u32 group_size()
{
    return host_group_size();
}
INLINE void barrier()
{
    host_barrier();
}
INLINE u32 lane_id()
{
    return host_local_id() & 31;
}
INLINE u32 slot_u32(const u8 *slots, u32 lane)
{
    return *(const u32 *)(slots + lane * 256);
}
INLINE u32 bpermute(u32 value, u32 lane)
{
    u32 live;
    return slot_u32(host_exchange(&value, 4, &live), lane & 31);
}
INLINE u32 nibble(u32 low, u32 high, u32 lane)
{
    return ((lane & 8 ? high : low) >> (lane & 7) * 4) & 15;
}
INLINE u32 permlanex16(u32 value, u32 low, u32 high)
{
    return bpermute(value, ((lane_id() & 16) ^ 16) + nibble(low, high, lane_id()));
}
INLINE u32 permlane16(u32 value, u32 low, u32 high)
{
    return bpermute(value, (lane_id() & 16) + nibble(low, high, lane_id()));
}
INLINE u32 readlane(u32 value, u32 lane)
{
    return bpermute(value, lane);
}
INLINE u32 readfirstlane(u32 value)
{
    u32 live;
    const u8 *slots = host_exchange(&value, 4, &live);
    return slot_u32(slots, live ? __builtin_ctz(live) : 0);
}
INLINE u32 ballot(bool value)
{
    u32 live, word = value, mask = 0;
    const u8 *slots = host_exchange(&word, 4, &live);
    for (u32 i = 0; i < 32; i++) mask |= (live >> i & 1 & slot_u32(slots, i)) << i;
    return mask;
}
/* Controls as AMD's ISA documents number them. */
template <int control> INLINE u32 dpp(u32 old, u32 value)
{
    u32 live, lane = lane_id(), row = lane & 16, at = lane & 15;
    const u8 *slots = host_exchange(&value, 4, &live);
    i32 from = -1;
    if (control < 0x100)
        from = (i32)((lane & ~3u) + (control >> (lane & 3) * 2 & 3)); /* quad_perm */
    else if (control >= 0x101 && control <= 0x10f)
        from = at + (control & 15) < 16 ? (i32)(lane + (control & 15)) : -1; /* row_shl */
    else if (control >= 0x111 && control <= 0x11f)
        from = at >= (control & 15) ? (i32)(lane - (control & 15)) : -1; /* row_shr */
    else if (control >= 0x121 && control <= 0x12f)
        from = (i32)(row + ((at - (control & 15)) & 15)); /* row_ror */
    else if (control == 0x140)
        from = (i32)(row + (15 - at)); /* row_mirror */
    else if (control == 0x141)
        from = (i32)((lane & ~7u) + (7 - (lane & 7))); /* row_half_mirror */
    else if (control >= 0x150 && control <= 0x15f)
        from = (i32)(row + (control & 15)); /* row_share */
    else if (control >= 0x160 && control <= 0x16f)
        from = (i32)(row + (at ^ (control & 15))); /* row_xmask */
    return from < 0 ? old : slot_u32(slots, (u32)from);
}
/* Bit mask mode: and, or, xor masks of five bits. */
template <int pattern> INLINE u32 swizzle(u32 value)
{
    return bpermute(value, ((lane_id() & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

INLINE f32 med3(f32 a, f32 b, f32 c)
{
    f32 low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}
INLINE f32 rcp(f32 x)
{
    return (f32)(1.0 / (f64)x);
}
INLINE f32 rsq(f32 x)
{
    return (f32)(1.0 / __builtin_sqrt((f64)x));
}
INLINE f32 exp2_hw(f32 x)
{
    return host_exp2(x);
}
INLINE f32 log2_hw(f32 x)
{
    return host_log2(x);
}
INLINE f32 sqrt_hw(f32 x)
{
    return host_sqrt(x);
}
INLINE f32 fract(f32 x)
{
    f32 y = x - __builtin_floorf(x);
    f32 below_one = bits<f32>(0x3f7fffffu);
    return y < below_one || y != y ? y : below_one;
}
INLINE i32 frexp_exponent(f32 x)
{
    u32 u = bits<u32>(x) & 0x7fffffff;
    if (u == 0 || u >= 0x7f800000) return 0;
    if (u < 0x00800000) return -117 - __builtin_clz(u);
    return (i32)(u >> 23) - 126;
}
INLINE f32 frexp_mantissa(f32 x)
{
    u32 u = bits<u32>(x) & 0x7fffffff;
    if (u == 0 || u >= 0x7f800000) return x;
    u32 mantissa = u < 0x00800000 ? u << (__builtin_clz(u) - 8) : u;
    return bits<f32>((bits<u32>(x) & 0x80000000) | 0x3f000000 | (mantissa & 0x7fffff));
}
INLINE bool fp_class(f32 x, i32 mask)
{
    u32 u = bits<u32>(x), m = u & 0x7fffffff;
    bool negative = u >> 31;
    u32 kind = m > 0x7f800000    ? (m & 0x400000 ? 1 : 0)
               : m == 0x7f800000 ? (negative ? 2 : 9)
               : m >= 0x00800000 ? (negative ? 3 : 8)
               : m               ? (negative ? 4 : 7)
                                 : (negative ? 5 : 6);
    return mask >> kind & 1;
}
INLINE u32 perm_bytes(u32 a, u32 b, u32 selector)
{
    u64 both = (u64)a << 32 | b;
    u32 result = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 s = selector >> i * 8 & 255;
        u32 byte = s < 8     ? (u32)(both >> s * 8 & 255)
                   : s == 8  ? (b >> 15 & 1 ? 255 : 0)
                   : s == 9  ? (b >> 31 ? 255 : 0)
                   : s == 10 ? (a >> 15 & 1 ? 255 : 0)
                   : s == 11 ? (a >> 31 ? 255 : 0)
                   : s == 12 ? 0
                             : 255;
        result |= byte << i * 8;
    }
    return result;
}
INLINE u32 align_bits(u32 a, u32 b, u32 shift)
{
    return (u32)(((u64)a << 32 | b) >> (shift & 31));
}
INLINE u32 sad_u8(u32 a, u32 b, u32 sum)
{
    for (u32 i = 0; i < 32; i += 8) {
        i32 d = (i32)(a >> i & 255) - (i32)(b >> i & 255);
        sum += (u32)(d < 0 ? -d : d);
    }
    return sum;
}
INLINE u32 unsigned_bits(u32 value, u32 offset, u32 width)
{
    offset &= 31, width &= 31;
    return width ? value >> offset & ((1u << width) - 1) : 0;
}
INLINE i32 signed_bits(i32 value, u32 offset, u32 width)
{
    offset &= 31, width &= 31;
    if (!width) return 0;
    if (offset + width >= 32) return value >> offset;
    return (i32)((u32)value << (32 - offset - width)) >> (32 - width);
}
INLINE u32 pack_f16_rtz(f32 a, f32 b)
{
    return bits<u16>((f16)host_round_f16_rtz(a)) | (u32)bits<u16>((f16)host_round_f16_rtz(b)) << 16;
}

#define ATOMIC(op, pointer, value) __atomic_##op(pointer, value, __ATOMIC_RELAXED)
#define ATOMIC_LDS(op, pointer, value) __atomic_##op(pointer, value, __ATOMIC_RELAXED)
#define __atomic_exchange(pointer, value, order) __atomic_exchange_n(pointer, value, order)
INLINE bool atomic_swap_if(u32 *pointer, u32 *expected, u32 value)
{
    return __atomic_compare_exchange_n(pointer, expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
INLINE u32 atomic_read(u32 *pointer)
{
    return __atomic_load_n(pointer, __ATOMIC_RELAXED);
}
INLINE void atomic_add_f32(f32 *pointer, f32 value)
{
    *pointer += value;
} /* work-items take turns */

INLINE void saturate_conversions() {}
INLINE u32 fp8_pack(f32 a, f32 b, u32 old, bool saturate)
{
    return (old & 0xffff0000) | host_f8_encode(a, false, saturate) | host_f8_encode(b, false, saturate) << 8;
}
INLINE u32 bf8_pack(f32 a, f32 b, u32 old, bool saturate)
{
    return (old & 0xffff) | host_f8_encode(a, true, saturate) << 16 | host_f8_encode(b, true, saturate) << 24;
}
template <int byte> INLINE f32 fp8_unpack(u32 value)
{
    return host_f8_decode(value >> byte * 8 & 255, false);
}
template <int byte> INLINE f32 bf8_unpack(u32 value)
{
    return host_f8_decode(value >> byte * 8 & 255, true);
}
template <bool high> INLINE f32x2 fp8_unpack2(u32 value)
{
    u32 half = high ? value >> 16 : value;
    return f32x2{host_f8_decode(half & 255, false), host_f8_decode(half >> 8 & 255, false)};
}

/* Products in double precision from what the lanes hold; layouts as AMD's matrix instruction calculator gives them. */
#if HIPEMU_CLASS == 12
typedef f16x8 wmma_f16_operand;
/* A and B: lane m + 16 (k / 8), element k % 8. D: lane n + 16 (m / 8), element m % 8. */
INLINE u32 operand_lane(u32 index, u32 k)
{
    return index + 16 * (k / 8);
}
INLINE u32 operand_element(u32 k)
{
    return k % 8;
}
INLINE u32 result_row(u32 lane, u32 element)
{
    return element + 8 * (lane / 16);
}
#else
typedef f16x16 wmma_f16_operand;
/* A and B: lane m (and again m + 16), element k. D: lane n + 16 (m % 2), element m / 2. */
INLINE u32 operand_lane(u32 index, u32 k)
{
    return index;
}
INLINE u32 operand_element(u32 k)
{
    return k;
}
INLINE u32 result_row(u32 lane, u32 element)
{
    return element * 2 + lane / 16;
}
#endif

template <class Operand, class Value> INLINE f32x8 wmma_double(Operand a, Operand b, f32x8 c, Value value)
{
    struct {
        Operand a, b;
    } mine = {a, b};
    u32 live, lane = lane_id();
    const u8 *slots = host_exchange(&mine, sizeof mine, &live);
    f32x8 d;
    for (u32 e = 0; e < 8; e++) {
        u32 m = result_row(lane, e), n = lane & 15;
        f64 sum = (f64)c[e];
        for (u32 k = 0; k < 16; k++) {
            const u8 *row = slots + operand_lane(m, k) * 256, *column = slots + operand_lane(n, k) * 256;
            sum += value(row, operand_element(k)) * value(column + sizeof(Operand), operand_element(k));
        }
        d[e] = (f32)sum;
    }
    return d;
}
INLINE f32x8 wmma_f16(wmma_f16_operand a, wmma_f16_operand b, f32x8 c)
{
    return wmma_double(a, b, c, [](const u8 *base, u32 i) { return (f64)((const f16 *)base)[i]; });
}
INLINE f32x8 wmma_fp8(i32x2 a, i32x2 b, f32x8 c)
{
    return wmma_double(a, b, c, [](const u8 *base, u32 i) { return (f64)host_f8_decode(base[i], false); });
}
#endif

#endif
