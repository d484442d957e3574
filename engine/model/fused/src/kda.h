// Kimi Delta Attention, one head of one request at a time, position after position.
#pragma once
#include "model.h"
#include "rows.h"

template <int KIND> INLINE vec load_state(const char* p, int i) {
    if (KIND == 0) return load((const float*)p + i);
#if defined(__FLT16_MAX__)
    if (KIND == 2) return load_f16((const uint16_t*)p + i);
#endif
    return load_bf16((const uint16_t*)p + i);
}

template <int KIND> INLINE void store_state(char* p, int i, vec v) {
    if (KIND == 0) return store((float*)p + i, v);
#if defined(__FLT16_MAX__)
    if (KIND == 2) return store_f16((uint16_t*)p + i, v);
#endif
    store_bf16((uint16_t*)p + i, v);
}

// S <- S diag(exp g) + k (beta (v - (S diag(exp g))^T k))^T, o = S^T q; S [DIM, DIM], `after` may be `before`.
template <int KIND>
static __attribute__((noinline)) void kda_step(const char* before, char* after, const float* q, const float* k, const float* v, const float* decay, float beta, float* o) {
    constexpr int N = DIM / LANES;
    vec a[2][N], u[N];
    UNROLL for (int j = 0; j < N; j++) a[0][j] = a[1][j] = all(0.0f);
    for (int i = 0; i < DIM; i += 2)
        UNROLL for (int half = 0; half < 2; half++) {
            const float reach = decay[i + half] * k[i + half];
            UNROLL for (int j = 0; j < N; j++) a[half][j] += load_state<KIND>(before, (i + half) * DIM + LANES * j) * reach;
        }
    UNROLL for (int j = 0; j < N; j++) {
        u[j] = beta * (load(v + LANES * j) - (a[0][j] + a[1][j]));
        a[0][j] = a[1][j] = all(0.0f);
    }
    for (int i = 0; i < DIM; i += 2)
        UNROLL for (int half = 0; half < 2; half++)
            UNROLL for (int j = 0; j < N; j++) {
                const int at = (i + half) * DIM + LANES * j;
                vec s = load_state<KIND>(before, at) * decay[i + half] + u[j] * k[i + half];
                store_state<KIND>(after, at, s);
                a[half][j] += s * q[i + half];
            }
    UNROLL for (int j = 0; j < N; j++) store(o + LANES * j, a[0][j] + a[1][j]);
}

typedef void (*KdaStep)(const char*, char*, const float*, const float*, const float*, const float*, float, float*);

static const KdaStep KDA_STEP[] = {kda_step<0>, kda_step<1>, kda_step<2>};  // by Call::state_kind

// Four taps of the short convolution and SiLU; x points at the oldest of four inputs, each `channels` apart.
ONE_CODE void conv_head(const uint16_t* x, const float* weight, int channels, int n, float* y) {
    for (int i = 0; i < n; i += LANES) {
        vec total = load_bf16(x + i) * load(weight + i);
        for (int tap = 1; tap < 4; tap++) total += load_bf16(x + (int64_t)tap * channels + i) * load(weight + (int64_t)tap * channels + i);
        store(y + i, total * sigmoid16(total));
    }
}

// decay = exp(floor * sigmoid(a (f + bias)))
ONE_CODE void decay_head(const float* f, const float* bias, float a, float floor, int n, float* out) {
    for (int i = 0; i < n; i += LANES) store(out + i, exp16(floor * sigmoid16(a * (load(f + i) + load(bias + i)))));
}

// RMSNorm(o) * sigmoid(gate) to bfloat16.
ONE_CODE void gated_norm(const float* o, const float* gate, const float* weight, int n, float eps, uint16_t* out) {
    const float inverse = inverse_norm(o, n, eps, n);
    for (int i = 0; i < n; i += LANES) store_bf16(out + i, load(o + i) * inverse * load(weight + i) * sigmoid16(load(gate + i)));
}

// Positions first .. first + count - 1 of one request's head. projected: rows of in_proj, fg: rows of the two low-rank gates.
static void kda_head(const Model& m, const Layer& l, const Call& c, int request, int head, int first, int count, const float* projected, int ldp, const float* fg, int ldg, uint16_t* out, KdaStep step, int state_size) {
    constexpr int D = DIM;
    const int inner = m.inner, channels = 3 * inner;
    const float scale = 1.0f / sqrtf((float)D);
    float q[D], k[D], v[D], decay[D], o[D];
    const uint16_t* inputs = c.inputs + ((int64_t)l.place * c.rows + request) * (c.width + 3) * channels;
    const int64_t head_bytes = (int64_t)head * D * D * state_size;
    char* home = c.temporal + l.place * c.temporal_layer + c.slots[request] * c.temporal_slot + head_bytes;
    char* window = c.width == 1 ? nullptr : c.snapshots + l.place * c.snap_layer + request * c.snap_row + head_bytes;
    for (int i = 0; i < count; i++) {
        const int t = first + i;
        const int64_t row = (int64_t)request * count + i;
        const uint16_t* x = inputs + (int64_t)t * channels;
        conv_head(x + head * D, l.conv + head * D, channels, D, q);
        conv_head(x + inner + head * D, l.conv + inner + head * D, channels, D, k);
        conv_head(x + 2 * inner + head * D, l.conv + 2 * inner + head * D, channels, D, v);
        l2_head(q, D, scale);
        l2_head(k, D, 1.0f);
        decay_head(fg + row * ldg + head * D, l.dt_bias + head * D, l.a_exp[head], m.decay_floor, D, decay);
        const float logit = projected[row * ldp + channels + 2 * m.rank + head];
        const float beta = sigmoid16(all(logit))[0];
        const char* before = t == 0 ? home : window + (t - 1) * c.snap_position;
        step(before, window ? window + t * c.snap_position : home, q, k, v, decay, beta, o);
        gated_norm(o, fg + row * ldg + inner + head * D, l.o_norm, D, m.eps, out + row * inner + head * D);
    }
}
