// x += down(silu(gate) * up), dense or through the experts that each row's router picks.
#pragma once
#include "model.h"
#include "rows.h"

struct MlpScratch {
    float* wide;      // [rows, widest projection]
    uint16_t *h, *a;  // [rows, widest input]
    float* back;      // [rows, hidden]: one expert's rows on their way back
    uint16_t* picked; // [rows, hidden]: one expert's rows
    int ld_wide, ld_half;
};

static void dense_mlp(const Team& team, const Model& m, const Layer& l, float* x, int rows, const MlpScratch& s) {
    double t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) norm_bf16(x + (int64_t)r * m.hidden, l.norm2, m.hidden, m.eps, s.h + (int64_t)r * s.ld_half);
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.gate_up, s.h, s.ld_half, s.wide, s.ld_wide, rows);
    t = team.lap(t, LINEAR);
    for (int r = team.first(rows); r < team.last(rows); r++) silu_mul(s.wide + (int64_t)r * s.ld_wide, m.ffn, s.a + (int64_t)r * s.ld_half);
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.down, s.a, s.ld_half, x, m.hidden, rows, true);
    team.lap(t, LINEAR);
}

// The `k` largest of logits [n], lowest index first among equals, and their softmax. Experts come out ascending.
ONE_CODE void pick_experts(const float* logits, int n, int k, int32_t* experts, float* weights) {
    bool taken[256] = {};
    for (int i = 0; i < k; i++) {
        int best = -1;
        for (int e = 0; e < n; e++)
            if (!taken[e] && (best < 0 || logits[e] > logits[best])) best = e;
        taken[best] = true;
    }
    float top = -INFINITY, total = 0.0f;
    for (int e = 0, i = 0; e < n; e++)
        if (taken[e]) {
            experts[i++] = e;
            top = logits[e] > top ? logits[e] : top;
        }
    for (int i = 0; i < k; i++) total += weights[i] = exp16(all(logits[experts[i]] - top))[0];
    for (int i = 0; i < k; i++) weights[i] /= total;
}

ONE_CODE void add_scaled(float* x, const float* y, float weight, int n) {
    for (int i = 0; i < n; i += LANES) store(x + i, load(x + i) + load(y + i) * weight);
}

constexpr int PICKS_MAX = 8;

// Expert after expert in ascending order; a row adds its own in that order whatever the batch.
static void expert_mlp(const Team& team, const Model& m, const Layer& l, float* x, int rows, const MlpScratch& s, int32_t* experts, float* weights, int64_t* touched) {
    const int k = m.experts_per_token;
    double t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) norm_bf16(x + (int64_t)r * m.hidden, l.norm2, m.hidden, m.eps, s.h + (int64_t)r * s.ld_half);
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.router, s.h, s.ld_half, s.wide, s.ld_wide, rows);
    t = team.lap(t, LINEAR);
    for (int r = team.first(rows); r < team.last(rows); r++) pick_experts(s.wide + (int64_t)r * s.ld_wide, l.experts, k, experts + r * PICKS_MAX, weights + r * PICKS_MAX);
    t = team.lap(t, ELEMENTWISE);
    for (int e = 0; e < l.experts; e++) {
        int found = 0;
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < k; i++)
                if (experts[r * PICKS_MAX + i] == e) {
                    if (found % team.size == team.id) memcpy(s.picked + (int64_t)found * m.hidden, s.h + (int64_t)r * s.ld_half, 2 * m.hidden);
                    found++;
                }
        if (!found) continue;
        if (touched && team.id == 0) {
            touched[0]++;
            touched[1] += found;
        }
        t = team.lap(t, ELEMENTWISE);
        linear(team, l.expert_gate_up[e], s.picked, m.hidden, s.wide, s.ld_wide, found);
        t = team.lap(t, LINEAR);
        for (int r = team.first(found); r < team.last(found); r++) silu_mul(s.wide + (int64_t)r * s.ld_wide, m.ffn, s.a + (int64_t)r * s.ld_half);
        t = team.lap(t, ELEMENTWISE);
        linear(team, l.expert_down[e], s.a, s.ld_half, s.back, m.hidden, found);
        t = team.lap(t, LINEAR);
        int at = 0;
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < k; i++)
                if (experts[r * PICKS_MAX + i] == e) {
                    if (r % team.size == team.id) add_scaled(x + (int64_t)r * m.hidden, s.back + (int64_t)at * m.hidden, weights[r * PICKS_MAX + i], m.hidden);
                    at++;
                }
        t = team.lap(t, ELEMENTWISE);
    }
}
