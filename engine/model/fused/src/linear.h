// y = x W^T on packed bfloat16 weights. One accumulator a (row, output), k ascending: a row's bits do not depend on the
// rows beside it, and a tile of weights is read once for all of them.
#pragma once
#include "rows.h"
#include "team.h"
#include "vector.h"

constexpr int BLOCK = 64;  // outputs of one tile
// Accumulators must fit the registers: ROW_GROUP rows times COLUMNS vectors, beside a column of weights.
#if defined(__AVX512F__)
constexpr int ROW_GROUP = 6, COLUMNS = 4;
#else
constexpr int ROW_GROUP = 3, COLUMNS = 2;
#endif

// Packed [ceil(n / 64)][k / 2][4][16][2]: for each pair of inputs, the pairs of 64 outputs side by side.
struct Linear {
    const uint16_t* w;
    int32_t n;
    int32_t k;
};

// FUSED_DOT: pairs of bfloat16 go into one instruction. On a Sapphire Rapids, where that runs at half rate, it is level while the
// weights come from memory and slower for many rows; the plain form widens the weights once, then needs two multiply-adds a
// row. `engine.bench.attempts` times both.
#if defined(FUSED_DOT)
typedef uint16_t input;
#else
typedef float input;
#endif

INLINE void put(float* out, vec v, bool add) { store(out, add ? load(out) + v : v); }

template <int R>
INLINE void tile(const uint16_t* w, int pairs, const input* x, int ldx, float* out, int ldo, int columns, bool add) {
    for (int first = 0; first < 4; first += COLUMNS) {
        vec acc[R][COLUMNS];
        UNROLL for (int r = 0; r < R; r++)
            UNROLL for (int j = 0; j < COLUMNS; j++) acc[r][j] = all(0.0f);
        for (int p = 0; p < pairs; p++) {
            const uint16_t* at = w + (int64_t)p * 2 * BLOCK + 32 * first;
            // ahead of the hardware's own prefetch, which stops at page borders
            UNROLL for (int j = 0; j < COLUMNS; j++) __builtin_prefetch(at + 1536 + 32 * j);
            UNROLL for (int j = 0; j < COLUMNS; j++) {
#if defined(FUSED_DOT)
                const __m512bh both = (__m512bh)_mm512_loadu_si512(at + 32 * j);
                UNROLL for (int r = 0; r < R; r++) {
                    int32_t pair;
                    memcpy(&pair, x + (int64_t)r * ldx + 2 * p, 4);
                    acc[r][j] = (vec)_mm512_dpbf16_ps((__m512)acc[r][j], both, (__m512bh)_mm512_set1_epi32(pair));
                }
#else
                uvec both;
                memcpy(&both, at + 32 * j, 64);
                const vec even = (vec)(both << 16), odd = (vec)(both & 0xffff0000u);
                UNROLL for (int r = 0; r < R; r++) {
                    acc[r][j] += even * x[(int64_t)r * ldx + 2 * p];
                    acc[r][j] += odd * x[(int64_t)r * ldx + 2 * p + 1];
                }
#endif
            }
        }
        UNROLL for (int r = 0; r < R; r++) {
            float* row = out + (int64_t)r * ldo + LANES * first;
            if (columns == BLOCK) {
                UNROLL for (int j = 0; j < COLUMNS; j++) put(row + LANES * j, acc[r][j], add);
            } else {
                float last[COLUMNS * LANES];
                UNROLL for (int j = 0; j < COLUMNS; j++) store(last + LANES * j, acc[r][j]);
                for (int i = 0; i < COLUMNS * LANES && LANES * first + i < columns; i++) row[i] = add ? row[i] + last[i] : last[i];
            }
        }
    }
}

ONE_CODE void tile_rows(const uint16_t* w, int pairs, const input* x, int ldx, float* out, int ldo, int columns, bool add, int rows) {
    switch (rows) {
        case 1: return tile<1>(w, pairs, x, ldx, out, ldo, columns, add);
        case 2: return tile<2>(w, pairs, x, ldx, out, ldo, columns, add);
        case 3: return tile<3>(w, pairs, x, ldx, out, ldo, columns, add);
#if defined(__AVX512F__)
        case 4: return tile<4>(w, pairs, x, ldx, out, ldo, columns, add);
        case 5: return tile<5>(w, pairs, x, ldx, out, ldo, columns, add);
        default: return tile<6>(w, pairs, x, ldx, out, ldo, columns, add);
#endif
    }
}

// x [rows, k] bfloat16 with row stride ldx -> out [rows, n] with row stride ldo, added to what is there when `add`.
static void linear(const Team& team, const Linear& l, const uint16_t* x, int ldx, float* out, int ldo, int rows, bool add = false) {
    const int blocks = (l.n + BLOCK - 1) / BLOCK, groups = (rows + ROW_GROUP - 1) / ROW_GROUP;
    const int64_t size = (int64_t)BLOCK * l.k;
#if defined(FUSED_DOT)
    const input* in = x;
#else
    const int ldw = l.k;
    for (int r = 0; r < rows; r++) from_bf16(x + (int64_t)r * ldx, l.k, team.wide + (int64_t)r * ldw);
    const input* in = team.wide;
    ldx = ldw;
#endif
    for (int b = team.first(blocks); b < team.last(blocks); b++) {
        const int columns = l.n - b * BLOCK < BLOCK ? l.n - b * BLOCK : BLOCK;
        for (int g = 0; g < groups; g++) {
            const int start = (int64_t)rows * g / groups, end = (int64_t)rows * (g + 1) / groups;
            tile_rows(l.w + b * size, l.k / 2, in + (int64_t)start * ldx, ldx, out + (int64_t)start * ldo + b * BLOCK, ldo, columns, add, end - start);
        }
    }
}
