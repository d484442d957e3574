// Sixteen lanes at a time, in the compiler's own vector type: one text for AVX-512, AVX2 and SSE2.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

constexpr int LANES = 16;
typedef float vec __attribute__((vector_size(64)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef uint32_t uvec __attribute__((vector_size(64)));
typedef float loose __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t half_loose __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint16_t halves __attribute__((vector_size(32)));

// Loops over registers: unrolled whatever the optimisation level thinks.
#define UNROLL _Pragma("GCC unroll 16")
#define INLINE static inline __attribute__((always_inline))
// One machine code for every call, whatever the batch: an operation that rounds may not be specialised by its caller.
#define ONE_CODE static __attribute__((noinline, noclone))

INLINE vec load(const float* p) { return *(const loose*)p; }
INLINE void store(float* p, vec v) { *(loose*)p = v; }
INLINE vec all(float v) { return vec{v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v}; }

// Pairwise, always in the same order.
INLINE float sum(vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#else
    float a[LANES];
    store(a, v);
    for (int step = LANES / 2; step; step /= 2)
        for (int i = 0; i < step; i++) a[i] += a[i + step];
    return a[0];
#endif
}

// bfloat16: the upper half of a float, rounded to nearest even.
INLINE float widen(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

INLINE vec load_bf16(const uint16_t* p) {
    uvec wide = __builtin_convertvector(*(const half_loose*)p, uvec) << 16;
    return (vec)wide;
}

INLINE void store_bf16(uint16_t* p, vec v) {
#if defined(__AVX512BF16__)
    __m256bh packed = _mm512_cvtneps_pbh((__m512)v);
    memcpy(p, &packed, 32);
#else
    uvec bits = (uvec)v;
    uvec rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uvec kept = (bits >> 16) | 0x40u;  // NaN stays NaN
    ivec nan = v != v;
    uvec chosen = (uvec)(((ivec)kept & nan) | ((ivec)rounded & ~nan));
    *(half_loose*)p = __builtin_convertvector(chosen, halves);
#endif
}

#if defined(__FLT16_MAX__)
typedef _Float16 f16x __attribute__((vector_size(32), aligned(2), may_alias));
INLINE vec load_f16(const uint16_t* p) { return __builtin_convertvector(*(const f16x*)p, vec); }
INLINE void store_f16(uint16_t* p, vec v) {
    typedef _Float16 plain __attribute__((vector_size(32)));
    *(f16x*)p = __builtin_convertvector(v, plain);
}
#endif

// exp, relative error below 2e-7; the argument is held inside the range of normal floats.
INLINE vec exp16(vec x) {
    x = x < -87.0f ? all(-87.0f) : x;
    x = x > 88.0f ? all(88.0f) : x;
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    vec n = (x * 1.44269504088896341f + magic) - magic;
    vec r = x - n * 0.693359375f - n * -2.12194440e-4f;
    vec p = all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    vec y = p * (r * r) + r + 1.0f;
    ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
    return y * (vec)power;
}

INLINE vec sigmoid16(vec x) { return 1.0f / (1.0f + exp16(-x)); }
