/* Small vector maths, integer hashing and value noise, for host and device. */
#ifndef D4R_TRAIN_VEC_H
#define D4R_TRAIN_VEC_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define HD __host__ __device__ __forceinline__
#else
#define HD static inline
#endif

#define TAU 6.28318530717958647692f

typedef struct {
    float x, y, z;
} vec3;

HD vec3 v3(float x, float y, float z)
{
    vec3 r;
    r.x = x, r.y = y, r.z = z;
    return r;
}
HD vec3 v3_load(const float *p) { return v3(p[0], p[1], p[2]); }
HD vec3 v3_add(vec3 a, vec3 b) { return v3(a.x + b.x, a.y + b.y, a.z + b.z); }
HD vec3 v3_sub(vec3 a, vec3 b) { return v3(a.x - b.x, a.y - b.y, a.z - b.z); }
HD vec3 v3_mul(vec3 a, vec3 b) { return v3(a.x * b.x, a.y * b.y, a.z * b.z); }
HD vec3 v3_scale(vec3 a, float s) { return v3(a.x * s, a.y * s, a.z * s); }
HD vec3 v3_madd(vec3 a, vec3 b, float s) { return v3(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s); }
HD float v3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD vec3 v3_cross(vec3 a, vec3 b)
{
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
HD vec3 v3_norm(vec3 a) { return v3_scale(a, 1.f / sqrtf(v3_dot(a, a) + 1e-20f)); }
HD vec3 v3_mix(vec3 a, vec3 b, float t) { return v3_madd(a, v3_sub(b, a), t); }

HD float clampf(float x, float lo, float hi) { return fminf(fmaxf(x, lo), hi); }
HD float saturate(float x) { return clampf(x, 0.f, 1.f); }
HD float mixf(float a, float b, float t) { return a + (b - a) * t; }
HD float fract(float x) { return x - floorf(x); }
HD float smooth(float lo, float hi, float x)
{
    float t = saturate((x - lo) / (hi - lo));
    return t * t * (3.f - 2.f * t);
}

/* Affine 3x4 matrices, row major. */
HD vec3 xf_point(const float *m, vec3 p)
{
    return v3(m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3], m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
              m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]);
}
HD vec3 xf_dir(const float *m, vec3 d)
{
    return v3(m[0] * d.x + m[1] * d.y + m[2] * d.z, m[4] * d.x + m[5] * d.y + m[6] * d.z,
              m[8] * d.x + m[9] * d.y + m[10] * d.z);
}
/* Multiplication by the transposed linear part: normals, when m is the inverse transform. */
HD vec3 xf_normal(const float *m, vec3 n)
{
    return v3(m[0] * n.x + m[4] * n.y + m[8] * n.z, m[1] * n.x + m[5] * n.y + m[9] * n.z,
              m[2] * n.x + m[6] * n.y + m[10] * n.z);
}
/* Rotation about a unit axis, 3x3 row major. */
HD void rotation(vec3 a, float angle, float *r)
{
    float c = cosf(angle), s = sinf(angle), k = 1.f - c;
    r[0] = c + a.x * a.x * k, r[1] = a.x * a.y * k - a.z * s, r[2] = a.x * a.z * k + a.y * s;
    r[3] = a.y * a.x * k + a.z * s, r[4] = c + a.y * a.y * k, r[5] = a.y * a.z * k - a.x * s;
    r[6] = a.z * a.x * k - a.y * s, r[7] = a.z * a.y * k + a.x * s, r[8] = c + a.z * a.z * k;
}

HD uint32_t hash1(uint32_t x)
{
    x ^= x >> 16, x *= 0x7feb352du;
    x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ (x >> 16);
}
HD uint32_t hash2(int a, int b, uint32_t seed)
{
    return hash1((uint32_t)a * 0x9e3779b1u ^ hash1((uint32_t)b * 0x85ebca6bu ^ seed));
}
HD float unit_float(uint32_t h) { return (float)(h >> 8) * (1.f / 16777216.f); }

HD float fade_curve(float t) { return t * t * t * (t * (t * 6.f - 15.f) + 10.f); }
HD float noise2(float u, float v, uint32_t seed)
{
    float fu = floorf(u), fv = floorf(v);
    int i = (int)fu, j = (int)fv;
    float a = fade_curve(u - fu), b = fade_curve(v - fv);
    return mixf(mixf(unit_float(hash2(i, j, seed)), unit_float(hash2(i + 1, j, seed)), a),
                mixf(unit_float(hash2(i, j + 1, seed)), unit_float(hash2(i + 1, j + 1, seed)), a), b);
}
/* How much of a pattern of this period survives a filter of this footprint: 1 point sampled, 0 averaged away. */
HD float survives(float period, float footprint) { return saturate(period / (footprint + 1e-9f) - 1.f); }
HD float fbm(float u, float v, uint32_t seed, int octaves, float footprint)
{
    float sum = 0.f, amplitude = .5f, total = 0.f;
    for (int o = 0; o < octaves; o++) {
        float w = survives(1.f, footprint);
        sum += amplitude * (w > 0.f ? mixf(.5f, noise2(u, v, seed + (uint32_t)o * 7919u), w) : .5f);
        total += amplitude;
        float t = 1.6f * u + 1.2f * v;
        v = 1.6f * v - 1.2f * u, u = t;
        footprint *= 2.f, amplitude *= .55f;
    }
    return sum / total;
}

#endif
