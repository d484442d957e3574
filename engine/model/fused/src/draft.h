// The block drafters' forward: one bidirectional attention layer over anchor and masks, and what it learns from a window.
// One thread: a block is small beside the target's window.
#pragma once
#include "attention.h"
#include "work.h"

struct Drafter {
    Layer layer;
    Linear fc, w_last, kv, w2;  // kv: the key and value rows of the layer's in-projection
    const float *hidden_norm, *norm, *block_rows;  // block_rows [width, hidden]
    const uint16_t* w1;                            // Markov table [vocab, rank]
    int32_t rank, tap_width;
};

struct DraftCall {
    const int64_t *anchors, *slots, *table, *lengths, *kv_slots, *steps;
    int32_t rows, width, table_width, page_size;  // width: rows of a block, or of the window that is observed
    uint16_t* last;                               // [slots, hidden]
    float *keys, *values;
    uint16_t* hidden;      // [rows, width, hidden]
    const uint16_t* taps;  // [rows, width, tap_width]
    float* base;           // [rows, width, vocab]
    int64_t* picks;        // [rows, width]
    float* work;
};

static int draft_room(const DraftCall& c) { return room_of(c.table_width * c.page_size + c.width); }

static void draft_hidden(const Model& m, const Drafter& d, const DraftCall& c) {
    const int n = c.rows * c.width, size = m.hidden, group = m.heads / m.kv_heads, kv = m.kv_heads * DIM;
    const Work w(m, n, draft_room(c), 1, c.work);
    const Team team{0, 1, nullptr, w.inputs};
    const float scale = 1.0f / sqrtf((float)DIM);
    for (int r = 0; r < c.rows; r++) memcpy(w.picked + (int64_t)r * size, c.last + c.slots[r] * size, 2 * size);
    linear(team, d.w_last, w.picked, size, w.back, size, c.rows);
    for (int r = 0; r < n; r++) {
        const int request = r / c.width, place = r % c.width;
        float* x = w.x + (int64_t)r * size;
        for (int i = 0; i < size; i += LANES) {
            vec v = load(w.back + (int64_t)request * size + i) + load(d.block_rows + (int64_t)place * size + i);
            if (place == 0) v += load_bf16(m.embed + c.anchors[request] * size + i);
            store(x + i, v);
        }
        norm_bf16(x, d.layer.norm1, size, m.eps, w.h + (int64_t)r * w.ld_half);
    }
    linear(team, d.layer.in_proj, w.h, w.ld_half, w.wide, w.ld_wide, n);
    for (int r = 0; r < n; r++) {
        float *q = w.wide + (int64_t)r * w.ld_wide, *k = q + m.inner;
        for (int h = 0; h < m.heads; h++) norm_head(q + h * DIM, d.layer.q_norm, DIM, m.eps, scale);
        for (int h = 0; h < m.kv_heads; h++) norm_head(k + h * DIM, d.layer.k_norm, DIM, m.eps, 1.0f);
    }
    for (int i = 0; i < n * m.kv_heads; i++) {
        const int r = i / m.kv_heads, h = i % m.kv_heads, request = r / c.width;
        const float *p = w.wide + (int64_t)r * w.ld_wide, *first = w.wide + (int64_t)request * c.width * w.ld_wide + m.inner + h * DIM;
        float o[GROUP_MAX * DIM];
        const Block block{first, first + kv, w.ld_wide, c.width};
        attend(p + h * group * DIM, group, c.keys + h * DIM, c.values + h * DIM, kv, c.table + (int64_t)request * c.table_width, c.page_size,
               (int)c.lengths[request], block, w.scores, w.room, o);
        gate_bf16(o, p + m.inner + 2 * kv + h * group * DIM, group * DIM, w.a + (int64_t)r * m.inner + h * group * DIM);
    }
    linear(team, d.layer.out, w.a, m.inner, w.x, size, n, true);
    dense_mlp(team, m, d.layer, w.x, n, MlpScratch{w.wide, w.h, w.a, w.back, w.picked, w.ld_wide, w.ld_half});
    for (int r = 0; r < n; r++) norm_bf16(w.x + (int64_t)r * size, d.norm, size, m.eps, c.hidden + (int64_t)r * size);
}

// Largest of x, lowest index first among equals; NaN is never picked.
ONE_CODE int64_t argmax(const float* x, int n) {
    int64_t best = 0;
    float top = -INFINITY;
    for (int i = 0; i < n; i++)
        if (x[i] > top) {
            top = x[i];
            best = i;
        }
    return best;
}

static void draft_greedy(const Model& m, const Drafter& d, const DraftCall& c) {
    const int n = c.rows * c.width;
    draft_hidden(m, d, c);
    const Work w(m, n, draft_room(c), 1, c.work);
    const Team team{0, 1, nullptr, w.inputs};
    linear(team, m.lm_head, c.hidden, m.hidden, c.base, m.vocab, n);
    for (int j = 0; j < c.width; j++) {
        for (int r = 0; r < c.rows; r++) {
            const int64_t before = j ? c.picks[(int64_t)r * c.width + j - 1] : c.anchors[r];
            memcpy(w.h + (int64_t)r * w.ld_half, d.w1 + before * d.rank, 2 * d.rank);
        }
        // bias of the token before, added to the base logits of this position where they lie
        linear(team, d.w2, w.h, w.ld_half, c.base + (int64_t)j * m.vocab, c.width * m.vocab, c.rows, true);
        for (int r = 0; r < c.rows; r++) c.picks[(int64_t)r * c.width + j] = argmax(c.base + ((int64_t)r * c.width + j) * m.vocab, m.vocab);
    }
}

static void draft_observe(const Model& m, const Drafter& d, const DraftCall& c) {
    const int n = c.rows * c.width, size = m.hidden, kv = m.kv_heads * DIM;
    const Work w(m, n, draft_room(c), 1, c.work);
    // taps are wider than any other input: they are widened outside the forward's scratch
    const Team team{0, 1, nullptr, c.base};
    linear(team, d.fc, c.taps, d.tap_width, w.x, size, n);
    for (int r = 0; r < n; r++) norm_bf16(w.x + (int64_t)r * size, d.hidden_norm, size, m.eps, w.h + (int64_t)r * w.ld_half);
    linear(team, d.kv, w.h, w.ld_half, w.wide, w.ld_wide, n);
    for (int r = 0; r < n; r++) {
        float* k = w.wide + (int64_t)r * w.ld_wide;
        for (int h = 0; h < m.kv_heads; h++) norm_head(k + h * DIM, d.layer.k_norm, DIM, m.eps, 1.0f);
        if (c.kv_slots[r] < 0) continue;
        memcpy(c.keys + c.kv_slots[r] * kv, k, kv * sizeof(float));
        memcpy(c.values + c.kv_slots[r] * kv, k + kv, kv * sizeof(float));
    }
    for (int r = 0; r < c.rows; r++)
        memcpy(c.last + c.slots[r] * size, w.h + ((int64_t)r * c.width + c.steps[r]) * w.ld_half, 2 * size);
}
