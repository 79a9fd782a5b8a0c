/* A whole Swin block of preset M at C 64: window of 16 tokens, two heads of 32, MLP 128, FP8 operands, f32
 * accumulators. One wave a window; every product is weights times activations, so that accumulators become the next
 * operands without LDS. gfx12 multiplies FP8, gfx11 the same values as f16.
 *
 * A tile of weights is a matrix operand: 16 output channels by 16 input channels, in the order of the machine's lanes
 * (gfx12: 8 bytes a lane, gfx11: 16 f16 a lane for lanes 0..15). Order of tiles: Wq, Wk, Wv, Wo [m][k] of 4 x 4, W1
 * [8][4], W2 [4][8]. */
#include "kernel.h"

enum { C = 64, TILES = C / 16, HIDDEN = 128, HIDDEN_TILES = HIDDEN / 16, HEADS = 2 };

struct arguments {
    const u8 *x;       /* [window][16 tokens][C] */
    u8 *y;             /* the same */
    const u8 *weights; /* tiles */
    const f32 *bias;   /* [head][key][query] */
};

DEVICE f32 other_half(f32 x)
{
    u32 u = __builtin_bit_cast(u32, x);
    return __builtin_bit_cast(f32, __builtin_amdgcn_permlanex16(0, u, 0x76543210, 0xfedcba98, false, false));
}

DEVICE f32 clamp448(f32 v)
{
    return __builtin_amdgcn_fmed3f(v, -448.0f, 448.0f);
}

/* ---- what differs between the machines: operands, and accumulators turned into them */

#if HIPEMU_CLASS == 12

typedef i2 operand;

DEVICE f8 multiply(operand a, operand b, f8 c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c);
}

/* Row of accumulator register r in this lane. */
DEVICE int row_of(int r)
{
    return r + 8 * (lane() / 16);
}

DEVICE operand to_operand(f8 v)
{
    int low = 0, high = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = clamp448(v[i]);
    low = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], low, false);
    low = __builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], low, true);
    high = __builtin_amdgcn_cvt_pk_fp8_f32(v[4], v[5], high, false);
    high = __builtin_amdgcn_cvt_pk_fp8_f32(v[6], v[7], high, true);
    return (operand){low, high};
}

DEVICE operand load_tile(const u8 *tiles, int index)
{
    return ((const operand *)(tiles + index * 256))[lane()];
}

/* Token lane % 16, channels of accumulator rows. */
DEVICE f8 load_tokens(const u8 *token, int tile)
{
    i2 w = *(const i2 *)(token + 16 * tile + 8 * (lane() / 16));
    f2 a = __builtin_amdgcn_cvt_pk_f32_fp8(w.x, false), b = __builtin_amdgcn_cvt_pk_f32_fp8(w.x, true);
    f2 c = __builtin_amdgcn_cvt_pk_f32_fp8(w.y, false), d = __builtin_amdgcn_cvt_pk_f32_fp8(w.y, true);
    return (f8){a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y};
}

DEVICE void store_tokens(u8 *token, int tile, f8 v)
{
    *(operand *)(token + 16 * tile + 8 * (lane() / 16)) = to_operand(v);
}

#else

typedef h16 operand;

DEVICE f8 multiply(operand a, operand b, f8 c)
{
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}

DEVICE int row_of(int r)
{
    return 2 * r + lane() / 16;
}

/* The nearest e4m3 value, ties to even: below 2^-6 by aligning to 2^-9, else in the bits. */
DEVICE f32 round_fp8(f32 v)
{
    v = clamp448(v);
    u32 u = __builtin_bit_cast(u32, v);
    f32 normal = __builtin_bit_cast(f32, (u + 0x7ffff + (u >> 20 & 1)) & 0xfff00000);
    f32 magnitude = __builtin_fabsf(v);
    f32 tiny = __builtin_copysignf((magnitude + 24576.0f) - 24576.0f, v);
    return magnitude < 0x1p-6f ? tiny : normal;
}

DEVICE u32 pack(f32 low, f32 high)
{
    h8 h;
    h[0] = (f16)low;
    h[1] = (f16)high;
    w4 words = __builtin_bit_cast(w4, h);
    return words[0];
}

/* Rows 2r and 2r + 1 sit in the two halves of the wave; an operand wants both in each. */
DEVICE operand to_operand(f8 v)
{
    w8 r;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        f32 mine = round_fp8(v[i]), theirs = other_half(mine);
        r[i] = lane() < 16 ? pack(mine, theirs) : pack(theirs, mine);
    }
    return __builtin_bit_cast(operand, r);
}

DEVICE operand load_tile(const u8 *tiles, int index)
{
    return ((const operand *)(tiles + index * 512))[lane() % 16];
}

DEVICE f32 expand_fp8(u32 b)
{
    u32 body = b & 0x7f, sign = (b & 0x80) << 24;
    f32 magnitude = __builtin_bit_cast(f32, body << 20) * 0x1p120f;
    return __builtin_bit_cast(f32, __builtin_bit_cast(u32, magnitude) | sign);
}

DEVICE f8 load_tokens(const u8 *token, int tile)
{
    f8 v;
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = expand_fp8(token[16 * tile + row_of(i)]);
    return v;
}

DEVICE u8 narrow_fp8(f32 v)
{
    f32 r = round_fp8(v) * 0x1p-120f;
    u32 u = __builtin_bit_cast(u32, r);
    return (u8)((u >> 20 & 0x7f) | (u >> 24 & 0x80));
}

DEVICE void store_tokens(u8 *token, int tile, f8 v)
{
#pragma unroll
    for (int i = 0; i < 8; i++) token[16 * tile + row_of(i)] = narrow_fp8(v[i]);
}

#endif

/* ---- the block */

/* Each token scaled to a root mean square of one. */
DEVICE void normalise(const f8 *x, operand *n)
{
    f32 sum = 0;
#pragma unroll
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < 8; i++) sum += x[t][i] * x[t][i];
    sum += other_half(sum);
    f32 scale = __builtin_amdgcn_rsqf(sum * (1.0f / C) + 1e-6f);
#pragma unroll
    for (int t = 0; t < TILES; t++) n[t] = to_operand(x[t] * scale);
}

DEVICE f8 zero()
{
    return (f8)0.0f;
}

/* Attention of one head: the output's two operand tiles. */
DEVICE void attend(const arguments &a, int head, const operand *n, operand *out)
{
    operand q[2], k[2], v[2];
#pragma unroll
    for (int m = 0; m < 2; m++) {
        f8 aq = zero(), ak = zero(), av = zero();
        int row = (head * 2 + m) * TILES;
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            aq = multiply(load_tile(a.weights, row + t), n[t], aq);
            ak = multiply(load_tile(a.weights, TILES * TILES + row + t), n[t], ak);
            av = multiply(n[t], load_tile(a.weights, 2 * TILES * TILES + row + t), av); /* transposed */
        }
        q[m] = to_operand(aq);
        k[m] = to_operand(ak);
        v[m] = to_operand(av);
    }
    f8 s;
#pragma unroll
    for (int i = 0; i < 8; i++) s[i] = a.bias[(head * 16 + row_of(i)) * 16 + lane() % 16];
    s = multiply(k[0], q[0], s);
    s = multiply(k[1], q[1], s);
    f32 top = s[0], sum = 0;
    for (int i = 1; i < 8; i++) top = __builtin_fmaxf(top, s[i]);
    top = __builtin_fmaxf(top, other_half(top));
    for (int i = 0; i < 8; i++) {
        s[i] = __builtin_amdgcn_exp2f(s[i] - top);
        sum += s[i];
    }
    sum += other_half(sum);
    f32 scale = __builtin_amdgcn_rcpf(sum) * (1.0f / 256);
    operand p = to_operand(s * 256.0f);
    out[0] = to_operand(multiply(v[0], p, zero()) * scale);
    out[1] = to_operand(multiply(v[1], p, zero()) * scale);
}

DEVICE f32 activate(f32 y)
{
    f32 c = __builtin_amdgcn_fmed3f(y, -2.4f, 2.4f);
    return y * (0.5f + c * (0.412f - 0.081f * __builtin_fabsf(c)));
}

KERNEL __attribute__((amdgpu_flat_work_group_size(32, 32))) void swin(arguments a)
{
    const u8 *token = a.x + (group() * 16 + lane() % 16) * C;
    f8 x[TILES];
    operand n[TILES], o[TILES];
#pragma unroll
    for (int t = 0; t < TILES; t++) x[t] = load_tokens(token, t);
    normalise(x, n);
#pragma unroll
    for (int head = 0; head < HEADS; head++) attend(a, head, n, o + 2 * head);
#pragma unroll
    for (int m = 0; m < TILES; m++)
        for (int t = 0; t < TILES; t++)
            x[m] = multiply(load_tile(a.weights, (3 * TILES + m) * TILES + t), o[t], x[m]);
    normalise(x, n);
    const int w1 = 4 * TILES * TILES, w2 = w1 + HIDDEN_TILES * TILES;
#pragma unroll
    for (int j = 0; j < HIDDEN_TILES; j++) {
        f8 u = zero();
#pragma unroll
        for (int t = 0; t < TILES; t++) u = multiply(load_tile(a.weights, w1 + j * TILES + t), n[t], u);
        for (int i = 0; i < 8; i++) u[i] = activate(u[i]);
        operand h = to_operand(u);
#pragma unroll
        for (int m = 0; m < TILES; m++)
            x[m] = multiply(load_tile(a.weights, w2 + m * HIDDEN_TILES + j), h, x[m]);
    }
    u8 *out = a.y + (group() * 16 + lane() % 16) * C;
#pragma unroll
    for (int t = 0; t < TILES; t++) store_tokens(out, t, x[t]);
}
