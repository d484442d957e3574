// One call a forward: every layer of the target over a window of positions.
#include "attention.h"
#include "draft.h"
#include "kda.h"
#include "mlp.h"
#include "work.h"

namespace {

int score_room(const Call& c) { return room_of(c.table_width * c.page_size); }

void kda_layer(const Team& team, const Model& m, const Layer& l, const Call& c, const Work& w, int first, int count) {
    const int rows = c.rows * count, channels = 3 * m.inner;
    const int state_size = c.state_kind ? 2 : 4;
    double t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) norm_bf16(w.x + (int64_t)r * m.hidden, l.norm1, m.hidden, m.eps, w.h + (int64_t)r * w.ld_half);
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.in_proj, w.h, w.ld_half, w.wide, w.ld_wide, rows);
    t = team.lap(t, LINEAR);
    for (int r = team.first(rows); r < team.last(rows); r++) {
        const int request = r / count, position = first + r % count;
        const float* p = w.wide + (int64_t)r * w.ld_wide;
        uint16_t* inputs = c.inputs + ((int64_t)l.place * c.rows + request) * (c.width + 3) * channels;
        if (position == 0) memcpy(inputs, c.conv + l.place * c.conv_layer + c.slots[request] * c.conv_slot, 3 * channels * sizeof(uint16_t));
        to_bf16(p, channels, inputs + (int64_t)(position + 3) * channels);
        to_bf16(p + channels, 2 * m.rank, w.a + (int64_t)r * w.ld_half);
    }
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.gates, w.a, w.ld_half, w.fg, w.ld_fg, rows);
    t = team.lap(t, LINEAR);
    const KdaStep step = KDA_STEP[c.state_kind];
    const int items = c.rows * m.heads;
    for (int i = team.first(items); i < team.last(items); i++)
        kda_head(m, l, c, i / m.heads, i % m.heads, first, count, w.wide, w.ld_wide, w.fg, w.ld_fg, w.a, step, state_size);
    t = team.lap(t, KDA);
    linear(team, l.out, w.a, m.inner, w.x, m.hidden, rows, true);
    team.lap(t, LINEAR);
}

void attention_layer(const Team& team, const Model& m, const Layer& l, const Call& c, const Work& w, int first, int count) {
    const int rows = c.rows * count, D = DIM, group = m.heads / m.kv_heads, kv = m.kv_heads * D;
    float *keys = c.keys[l.place], *values = c.values[l.place];
    const float scale = 1.0f / sqrtf((float)D);
    double t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) norm_bf16(w.x + (int64_t)r * m.hidden, l.norm1, m.hidden, m.eps, w.h + (int64_t)r * w.ld_half);
    t = team.lap(t, ELEMENTWISE);
    linear(team, l.in_proj, w.h, w.ld_half, w.wide, w.ld_wide, rows);
    t = team.lap(t, LINEAR);
    for (int r = team.first(rows); r < team.last(rows); r++) {
        float *q = w.wide + (int64_t)r * w.ld_wide, *k = q + m.inner, *v = k + kv;
        for (int h = 0; h < m.heads; h++) norm_head(q + h * D, l.q_norm, D, m.eps, scale);
        for (int h = 0; h < m.kv_heads; h++) norm_head(k + h * D, l.k_norm, D, m.eps, 1.0f);
        const int64_t slot = c.kv_slots[(int64_t)(r / count) * c.width + first + r % count];
        if (slot < 0) continue;
        memcpy(keys + slot * kv, k, kv * sizeof(float));
        memcpy(values + slot * kv, v, kv * sizeof(float));
    }
    t = team.lap(t, ELEMENTWISE);
    float* scores = w.scores + (int64_t)team.id * GROUP_MAX * w.room;
    const int items = rows * m.kv_heads;
    for (int i = team.first(items); i < team.last(items); i++) {
        const int r = i / m.kv_heads, h = i % m.kv_heads, request = r / count;
        const float* p = w.wide + (int64_t)r * w.ld_wide;
        float o[GROUP_MAX * DIM];
        const int length = (int)c.lengths[request] + first + r % count + 1;
        attend(p + h * group * D, group, keys + h * D, values + h * D, kv, c.table + (int64_t)request * c.table_width, c.page_size, length, Block{}, scores, w.room, o);
        gate_bf16(o, p + m.inner + 2 * kv + h * group * D, group * D, w.a + (int64_t)r * m.inner + h * group * D);
    }
    t = team.lap(t, ATTENTION);
    linear(team, l.out, w.a, m.inner, w.x, m.hidden, rows, true);
    team.lap(t, LINEAR);
}

// Positions first .. first + count - 1 of every request, through all layers.
void pass(const Team& team, const Model& m, const Call& c, const Work& w, int first, int count) {
    const int rows = c.rows * count, d = m.hidden;
    auto place = [&](int r) { return (int64_t)(r / count) * c.width + first + r % count; };
    double t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) from_bf16(m.embed + c.ids[place(r)] * d, d, w.x + (int64_t)r * d);
    team.lap(t, ELEMENTWISE);
    const MlpScratch scratch{w.wide, w.h, w.a, w.back, w.picked, w.ld_wide, w.ld_half};
    for (int i = 0; i < m.layer_count; i++) {
        const Layer& l = m.layers[i];
        if (l.kind == 0) kda_layer(team, m, l, c, w, first, count);
        else attention_layer(team, m, l, c, w, first, count);
        if (l.experts) expert_mlp(team, m, l, w.x, rows, scratch, w.experts, w.weights, c.touched);
        else dense_mlp(team, m, l, w.x, rows, scratch);
        if (l.tap >= 0 && c.taps)
            for (int r = team.first(rows); r < team.last(rows); r++) to_bf16(w.x + (int64_t)r * d, d, c.taps + place(r) * m.tap_count * d + (int64_t)l.tap * d);
    }
    t = team.now();
    for (int r = team.first(rows); r < team.last(rows); r++) norm_bf16(w.x + (int64_t)r * d, m.norm, d, m.eps, w.h + (int64_t)r * w.ld_half);
    t = team.lap(t, ELEMENTWISE);
    if (count == c.width) {
        linear(team, m.lm_head, w.h, w.ld_half, c.logits, m.vocab, rows);
    } else {
        // one position of every request: their logits lie a window apart
        linear(team, m.lm_head, w.h, w.ld_half, c.logits + (int64_t)first * m.vocab, c.width * m.vocab, rows);
    }
    team.lap(t, LM_HEAD);
}

void run_team(const Model& m, const Call& c, Team team) {
    const Work w(m, c.rows * (c.serial ? 1 : c.width), score_room(c), team.size, c.work);
    team.wide = w.inputs + (int64_t)team.id * w.rows * w.ld_half;
    if (!c.serial) return pass(team, m, c, w, 0, c.width);
    for (int t = 0; t < c.width; t++) pass(team, m, c, w, t, 1);
}

}  // namespace

extern "C" {

// Which of the code paths this file was compiled to.
const char* fused_isa() {
#if defined(FUSED_DOT)
    return "avx512_bf16";
#elif defined(__AVX512F__)
    return "avx512f";
#elif defined(__AVX2__)
    return "avx2";
#elif defined(__SSE2__)
    return "sse2";
#else
    return "portable";
#endif
}

int fused_float16() {
#if defined(__FLT16_MAX__)
    return 1;
#else
    return 0;
#endif
}

// Sizes of the structs, so that Python can refuse a layout that drifted.
int64_t fused_size_of(int which) {
    const int64_t sizes[] = {sizeof(Layer), sizeof(Model), sizeof(Call), sizeof(Drafter), sizeof(DraftCall)};
    return sizes[which];
}

int64_t fused_work_floats(const Model* m, const Call* c) {
    return Work(*m, c->rows * c->width, score_room(*c), c->threads, nullptr).floats;
}

void fused_window(const Model* m, const Call* c) {
    if (c->threads <= 1) return run_team(*m, *c, Team{0, 1, c->timers, nullptr});
#if defined(_OPENMP)
#pragma omp parallel num_threads(c->threads)
    run_team(*m, *c, Team{omp_get_thread_num(), omp_get_num_threads(), c->timers, nullptr});
#else
    run_team(*m, *c, Team{0, 1, c->timers, nullptr});
#endif
}

// Keep the state after position steps[b] of the last window of each request; a step outside it leaves the request alone.
void fused_commit(const Model* m, const Call* c, const int64_t* steps) {
    const int channels = 3 * m->inner;
    const int64_t state_bytes = (int64_t)m->heads * m->dim * m->dim * (c->state_kind ? 2 : 4);
    for (int b = 0; b < c->rows; b++) {
        const int64_t step = steps[b];
        if (step < 0 || step >= c->width) continue;
        for (int l = 0; l < m->kda_layers; l++) {
            const uint16_t* inputs = c->inputs + ((int64_t)l * c->rows + b) * (c->width + 3) * channels;
            memcpy(c->conv + l * c->conv_layer + c->slots[b] * c->conv_slot, inputs + (step + 1) * channels, 3 * channels * sizeof(uint16_t));
            if (c->width > 1)
                memcpy(c->temporal + l * c->temporal_layer + c->slots[b] * c->temporal_slot, c->snapshots + l * c->snap_layer + step * c->snap_position + b * c->snap_row, state_bytes);
        }
    }
}

// x [rows, k] bfloat16 -> out [rows, n]: the linear alone, for the self-test and the bench.
// `wide`: rows * k floats of scratch.
void fused_linear(const Linear* l, const uint16_t* x, float* out, int rows, float* wide) {
    linear(Team{0, 1, nullptr, wide}, *l, x, l->k, out, l->n, rows);
}

int64_t fused_draft_work_floats(const Model* m, const DraftCall* c) {
    return Work(*m, c->rows * c->width, draft_room(*c), 1, nullptr).floats;
}

// The block of every request: rows after the drafter's last norm.
void fused_draft_hidden(const Model* m, const Drafter* d, const DraftCall* c) { draft_hidden(*m, *d, *c); }

// Base logits of those rows, then greedy picks through the vanilla Markov head.
void fused_draft_greedy(const Model* m, const Drafter* d, const DraftCall* c) { draft_greedy(*m, *d, *c); }

// What the drafter learns from a window's taps.
void fused_draft_observe(const Model* m, const Drafter* d, const DraftCall* c) { draft_observe(*m, *d, *c); }

}  // extern "C"
