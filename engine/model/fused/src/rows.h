// Operations on one row.
#pragma once
#include "vector.h"

INLINE float inverse_norm(const float* x, int n, float eps, float count) {
    vec a = all(0.0f);
    for (int i = 0; i < n; i += LANES) {
        vec v = load(x + i);
        a += v * v;
    }
    return 1.0f / sqrtf(sum(a) / count + eps);
}

// RMSNorm of x [n] to bfloat16.
ONE_CODE void norm_bf16(const float* x, const float* weight, int n, float eps, uint16_t* out) {
    const float inverse = inverse_norm(x, n, eps, n);
    for (int i = 0; i < n; i += LANES) store_bf16(out + i, load(x + i) * inverse * load(weight + i));
}

// RMSNorm of one head in place, then times `scale`.
ONE_CODE void norm_head(float* x, const float* weight, int n, float eps, float scale) {
    const float inverse = inverse_norm(x, n, eps, n);
    for (int i = 0; i < n; i += LANES) store(x + i, load(x + i) * inverse * load(weight + i) * scale);
}

ONE_CODE void l2_head(float* x, int n, float scale) {
    const float inverse = inverse_norm(x, n, 1e-6f, 1.0f);
    for (int i = 0; i < n; i += LANES) store(x + i, load(x + i) * inverse * scale);
}

// silu(gate) * up of gate_up [2 n] to bfloat16.
ONE_CODE void silu_mul(const float* gate_up, int n, uint16_t* out) {
    for (int i = 0; i < n; i += LANES) {
        vec gate = load(gate_up + i);
        store_bf16(out + i, gate * sigmoid16(gate) * load(gate_up + n + i));
    }
}

ONE_CODE void to_bf16(const float* x, int n, uint16_t* out) {
    for (int i = 0; i < n; i += LANES) store_bf16(out + i, load(x + i));
}

ONE_CODE void from_bf16(const uint16_t* x, int n, float* out) {
    for (int i = 0; i < n; i += LANES) store(out + i, load_bf16(x + i));
}
