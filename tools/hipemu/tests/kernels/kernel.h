/* What the test kernels need in place of HIP's headers. */
#ifndef HIPEMU_TEST_KERNEL_H
#define HIPEMU_TEST_KERNEL_H

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef float f32;
typedef double f64;
typedef _Float16 f16;

typedef f16 h8 __attribute__((ext_vector_type(8)));
typedef f16 h16 __attribute__((ext_vector_type(16)));
typedef short s8 __attribute__((ext_vector_type(8)));
typedef short s16 __attribute__((ext_vector_type(16)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i8 __attribute__((ext_vector_type(8)));
typedef f32 f2 __attribute__((ext_vector_type(2)));
typedef f32 f8 __attribute__((ext_vector_type(8)));
typedef u32 w2 __attribute__((ext_vector_type(2)));
typedef u32 w4 __attribute__((ext_vector_type(4)));
typedef u32 w8 __attribute__((ext_vector_type(8)));

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device)) __attribute__((always_inline)) inline
#define NOINLINE static __attribute__((device)) __attribute__((noinline))
#define SHARED static __attribute__((shared))

DEVICE u32 lane()
{
    return __builtin_amdgcn_workitem_id_x();
}

DEVICE u32 group()
{
    return __builtin_amdgcn_workgroup_id_x();
}

#endif
