// Paged attention of one position: its own tokens in their order, so a window gives the bits of single steps.
#pragma once
#include "model.h"
#include "rows.h"

constexpr int GROUP_MAX = 8;

// Tokens that lie outside the pool: a draft block's own keys and values, `stride` floats apart.
struct Block {
    const float *keys, *values;
    int64_t stride;
    int count;
};

// q [group][DIM] scaled; keys and values of one KV head, `stride` floats from token to token: `context` tokens of the pool, then
// those of the block. scores: group * room floats.
ONE_CODE void attend(const float* q, int group, const float* keys, const float* values, int64_t stride, const int64_t* table, int page, int context, const Block& block, float* scores, int room, float* o) {
    constexpr int N = DIM / LANES;
    const int length = context + block.count;
    // runs of tokens at one distance: a page each, then the block
    for (int at = 0; at < length;) {
        const bool paged = at < context;
        const float* k = paged ? keys + table[at / page] * page * stride : block.keys;
        const int64_t step = paged ? stride : block.stride;
        const int left = paged ? context - at : block.count, count = paged && left > page ? page : left;
        for (int i = 0; i < count; i++, k += step) {
            vec row[N];
            UNROLL for (int j = 0; j < N; j++) row[j] = load(k + LANES * j);
            for (int g = 0; g < group; g++) {
                vec a = row[0] * load(q + g * N * LANES);
                UNROLL for (int j = 1; j < N; j++) a += row[j] * load(q + (g * N + j) * LANES);
                scores[g * room + at + i] = sum(a);
            }
        }
        at += count;
    }
    float weight_sum[GROUP_MAX];
    for (int g = 0; g < group; g++) {
        float* s = scores + g * room;
        float top = s[0];
        for (int i = 1; i < length; i++) top = s[i] > top ? s[i] : top;
        for (int i = length; i % LANES; i++) s[i] = -INFINITY;
        vec total = all(0.0f);
        for (int i = 0; i < length; i += LANES) {
            vec raw = load(s + i);
            vec e = exp16(raw - top);
            e = raw == -INFINITY ? all(0.0f) : e;
            store(s + i, e);
            total += e;
        }
        weight_sum[g] = sum(total);
    }
    vec a[GROUP_MAX][N];
    for (int g = 0; g < group; g++)
        UNROLL for (int j = 0; j < N; j++) a[g][j] = all(0.0f);
    for (int at = 0; at < length;) {
        const bool paged = at < context;
        const float* v = paged ? values + table[at / page] * page * stride : block.values;
        const int64_t step = paged ? stride : block.stride;
        const int left = paged ? context - at : block.count, count = paged && left > page ? page : left;
        for (int i = 0; i < count; i++, v += step)
            for (int g = 0; g < group; g++)
                UNROLL for (int j = 0; j < N; j++) a[g][j] += load(v + LANES * j) * scores[g * room + at + i];
        at += count;
    }
    for (int g = 0; g < group; g++)
        UNROLL for (int j = 0; j < N; j++) store(o + (g * N + j) * LANES, a[g][j] / weight_sum[g]);
}

// o * sigmoid(gate) to bfloat16.
ONE_CODE void gate_bf16(const float* o, const float* gate, int n, uint16_t* out) {
    for (int i = 0; i < n; i += LANES) store_bf16(out + i, load(o + i) * sigmoid16(load(gate + i)));
}
