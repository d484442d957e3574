// Scratch of one forward, carved from one allocation.
#pragma once
#include "mlp.h"

static int64_t up(int64_t n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }
static int room_of(int tokens) { return (tokens + LANES - 1) / LANES * LANES; }

// With base null it only counts.
struct Work {
    float *x, *wide, *fg, *back, *weights, *scores, *inputs;
    uint16_t *h, *a, *picked;
    int32_t* experts;
    int ld_wide, ld_fg, ld_half, room, rows;
    int64_t floats;

    Work(const Model& m, int rows, int room, int threads, float* base) : room(room), rows(rows) {
        const int64_t widest = 4 * m.inner + 2 * m.rank + BLOCK, mlp = 2 * m.ffn;
        ld_wide = up(widest > mlp ? widest : mlp) + BLOCK;
        ld_fg = up(2 * m.inner);
        int64_t half = m.hidden > m.inner ? m.hidden : m.inner;
        ld_half = up(half > m.ffn ? half : m.ffn);
        int64_t at = 0;
        auto take = [&](int64_t n) {
            float* p = base ? base + at : nullptr;
            at += (n + LANES - 1) / LANES * LANES;
            return p;
        };
        x = take((int64_t)rows * m.hidden);
        wide = take((int64_t)rows * ld_wide);
        fg = take((int64_t)rows * ld_fg);
        back = take((int64_t)rows * m.hidden);
        weights = take((int64_t)rows * PICKS_MAX);
        experts = (int32_t*)take((int64_t)rows * PICKS_MAX);
        h = (uint16_t*)take((int64_t)rows * ld_half / 2);
        a = (uint16_t*)take((int64_t)rows * ld_half / 2);
        picked = (uint16_t*)take((int64_t)rows * m.hidden / 2);
        inputs = take((int64_t)threads * rows * ld_half);
        scores = take((int64_t)threads * GROUP_MAX * room);
        floats = at;
    }
};

