// What Python hands over: the model once, a call a forward. `structs.py` has the same fields in the same order.
#pragma once
#include "linear.h"

#ifndef FUSED_DIM
#define FUSED_DIM 64
#endif
constexpr int DIM = FUSED_DIM;  // head dimension, a multiple of LANES

struct Layer {
    int32_t kind;   // 0 KDA, 1 attention
    int32_t place;  // index among the layers of its kind, hence in the pools
    int32_t tap;    // index among the tapped layers, or -1
    int32_t experts;
    const float* norm1;
    Linear in_proj, gates, out;
    const float *conv, *a_exp, *dt_bias, *o_norm;  // KDA; conv [4, 3 inner]
    const float *q_norm, *k_norm;                  // attention
    const float* norm2;
    Linear gate_up, down;  // dense MLP
    Linear router;         // mixture of experts
    const Linear *expert_gate_up, *expert_down;
};

struct Model {
    int32_t vocab, hidden, inner, heads, dim, kv_heads, rank, ffn, layer_count, kda_layers, tap_count, experts_per_token;
    float eps, decay_floor;
    const uint16_t* embed;
    const float* norm;
    Linear lm_head;
    const Layer* layers;
};

struct Call {
    const int64_t *ids, *slots, *table, *lengths, *kv_slots;
    int32_t rows, width, table_width, page_size;
    int32_t serial, threads, state_kind, reserved;  // state_kind: 0 float32, 1 bfloat16, 2 float16
    char* temporal;                                 // strides below in bytes
    int64_t temporal_layer, temporal_slot;
    uint16_t* conv;  // strides in elements
    int64_t conv_layer, conv_slot;
    char* snapshots;
    int64_t snap_layer, snap_position, snap_row;
    uint16_t* inputs;  // [kda layers, rows, width + 3, 3 inner]
    float* const* keys;
    float* const* values;
    float* logits;    // [rows, width, vocab]
    uint16_t* taps;   // [rows, width, tap_count * hidden] or null
    float* work;      // `work_floats`
    double* timers;   // [CLASSES] or null
    int64_t* touched; // experts read, rows that asked: [2] or null
};
