"""The layers of the hybrid, for inference: in-projections fused at load, the residual updated in place.

Every layer has two entries. `window` advances b requests by W positions (W = 1 is a decode step); `prefill`
runs a stretch of one prompt. The residual x [n, d] float32 is written in place, n = b * W or T.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ModelConfig
from engine.memory.state_pool import StatePool
from engine.model import rounded_state
from engine.model.checkpoint import Checkpoint
from engine.model.operators import Operators

BF16 = torch.bfloat16
GATE_LANES = 32
"""Width the per-head beta logits are padded to: vectorised sigmoids then see whole registers, in any batch."""


@dataclass(frozen=True)
class PrefillSpan:
    """Where a stretch of one prompt stands: `start` is the absolute position of its first token."""

    start: int
    slot: int
    """State slot."""
    pages: Tensor
    """[P] int64 page ids of the request."""
    kv_slots: Tensor
    """[T] int64 KV token slots of the stretch."""
    page_size: int


class Mlp:
    """x += down(silu(gate) * up), gate and up in one projection."""

    def __init__(self, config: ModelConfig, source: Checkpoint, prefix: str, ops: Operators) -> None:
        d, f = config.hidden_size, config.intermediate_size
        self.eps = config.rms_eps
        self.norm = source.take(f"{prefix}norm2.weight", d, dtype=torch.float32)
        self.gate_up = ops.linear(source.take(f"{prefix}mlp.gate_up.weight", 2 * f, d))
        self.down = ops.linear(source.take(f"{prefix}mlp.down.weight", d, f))
        self.rms_norm, self.silu_mul = ops.rms_norm, ops.silu_mul
        self.linears = (self.gate_up, self.down)

    def __call__(self, x: Tensor) -> None:
        h = self.rms_norm(x, self.norm, self.eps, BF16)
        x.add_(self.down(self.silu_mul(self.gate_up(h))))


class ExpertMlp:
    """x += sum over the row's experts of weight * down(silu(gate) * up), experts in ascending order.

    Weights are the softmax over the chosen logits. The order makes a row's sum independent of its batch.
    """

    def __init__(self, config: ModelConfig, source: Checkpoint, prefix: str, ops: Operators) -> None:
        d, f, count = config.hidden_size, config.intermediate_size, config.num_experts
        self.eps, self.chosen = config.rms_eps, config.num_experts_per_tok
        self.norm = source.take(f"{prefix}norm2.weight", d, dtype=torch.float32)
        self.router = ops.linear(source.take(f"{prefix}mlp.router.weight", count, d))
        self.gate_ups = [ops.linear(w) for w in source.take(f"{prefix}mlp.experts.gate_up.weight", count, 2 * f, d).unbind()]
        self.downs = [ops.linear(w) for w in source.take(f"{prefix}mlp.experts.down.weight", count, d, f).unbind()]
        self.rms_norm, self.silu_mul = ops.rms_norm, ops.silu_mul
        self.linears = (self.router, *self.gate_ups, *self.downs)
        self.touched = 0
        """Experts whose weights were read, summed over calls."""

    def __call__(self, x: Tensor) -> None:
        h = self.rms_norm(x, self.norm, self.eps, BF16)
        # a stable sort: among equal logits the lowest expert wins, in any batch
        logits, order = self.router(h).float().sort(dim=1, descending=True, stable=True)
        chosen, weights = order[:, : self.chosen], logits[:, : self.chosen].softmax(1)
        for expert in chosen.unique().tolist():
            rows, place = (chosen == expert).nonzero(as_tuple=True)
            y = self.downs[expert](self.silu_mul(self.gate_ups[expert](h.index_select(0, rows))))
            x.index_add_(0, rows, y.float() * weights[rows, place].unsqueeze(1))
            self.touched += 1


def mlp_for(config: ModelConfig, source: Checkpoint, prefix: str, ops: Operators) -> Mlp | ExpertMlp:
    return (ExpertMlp if config.num_experts else Mlp)(config, source, prefix, ops)


class KdaMixer:
    """Gated delta rule with a decay per key channel.

    One in-projection carries q|k|v, both low-rank gate inputs and beta; one block-diagonal projection
    expands both low-rank gates. Exact zeros off the diagonal leave every sum unchanged.
    """

    def __init__(self, config: ModelConfig, source: Checkpoint, prefix: str, ops: Operators, index: int) -> None:
        """`index`: this layer's place among the KDA layers, hence in the state pool."""
        d, inner, heads, rank = config.hidden_size, config.inner_size, config.num_heads, config.gate_rank
        self.config, self.ops, self.index = config, ops, index
        self.inner, self.heads, self.dim = inner, heads, config.head_dim
        self.scale = config.head_dim**-0.5

        take = lambda name, *shape, **kw: source.take(f"{prefix}kda.{name}", *shape, **kw)
        self.norm = source.take(f"{prefix}norm1.weight", d, dtype=torch.float32)
        beta = torch.zeros(GATE_LANES, d, dtype=BF16)
        beta[:heads] = take("b.weight", heads, d)
        parts = [take("qkv.weight", 3 * inner, d), take("f_a.weight", rank, d), take("g_a.weight", rank, d), beta]
        self.in_proj = ops.linear(torch.cat(parts))
        self.channels = 3 * inner
        self.cuts = (3 * inner, 2 * rank, heads, GATE_LANES - heads)
        expand = torch.zeros(2 * inner, 2 * rank, dtype=BF16)
        expand[:inner, :rank] = take("f_b.weight", inner, rank)
        expand[inner:, rank:] = take("g_b.weight", inner, rank)
        self.gates = ops.linear(expand)
        self.out = ops.linear(take("o.weight", d, inner))
        self.conv = take("conv.weight", 3 * inner, config.conv_width, dtype=torch.float32).t().contiguous()
        self.a_log = take("A_log", heads, dtype=torch.float32)
        self.dt_bias = take("dt_bias", inner, dtype=torch.float32)
        self.o_norm = take("o_norm.weight", config.head_dim, dtype=torch.float32)
        self.linears = (self.in_proj, self.gates, self.out)

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """x [n, d] -> conv input [n, 3 inner], log-decay [n, H, K], beta [n, H], output gate [n, H, V]."""
        n = x.shape[0]
        p = self.in_proj(self.ops.rms_norm(x, self.norm, self.config.rms_eps, BF16))
        packed, low, b, _ = p.split_with_sizes(self.cuts, 1)
        f, gate = self.gates(low).split(self.inner, 1)
        g, beta = self.ops.kda_gate(f, b, self.a_log, self.dt_bias, self.config.decay_floor)
        return packed, g, beta, gate.view(n, self.heads, self.dim)

    def _split(self, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Convolved [..., 3 inner] -> q, k l2-normalised and v, each [..., H, 64]."""
        y = y.view(*y.shape[:-1], 3 * self.heads, self.dim)
        qk, v = y.split_with_sizes((2 * self.heads, self.heads), -2)
        q, k = self.ops.l2_norm(qk).split(self.heads, -2)
        return q, k, v

    def _finish(self, x: Tensor, o: Tensor, gate: Tensor) -> None:
        o = self.ops.rms_norm_gated(o, gate, self.o_norm, self.config.rms_eps, BF16)
        x.add_(self.out(o.reshape(x.shape[0], self.inner)))

    def window(self, x: Tensor, batch: Batch, width: int, pool: StatePool, snapshots: Tensor | None) -> Tensor:
        """Advance b requests by `width` positions.

        With `snapshots` [W, b, H, K, V] the pool is only read and the state after each position lands
        there; without (plain decoding, W = 1) the pool is advanced at once. Returns the convolution's
        window states [W, b, 3, D], which the caller commits.
        """
        b, i = batch.rows, self.index
        qkv, g, beta, gate = self._project(x)
        y, windows = self.ops.short_conv_window(qkv.view(b, width, self.channels), self.conv, pool.conv[i], batch.slots)
        q, k, v = self._split(y)
        if snapshots is not None and pool.replay:
            by_position = lambda t: t.view(b, width, *t.shape[1:])
            self.replayed = (k, v, by_position(g), by_position(beta))
        if pool.dtype is not torch.float32:
            g, beta = g.view(b, width, self.heads, self.dim), beta.view(b, width, self.heads)
            o = rounded_state.window(self.ops, q, k, v, g, beta, pool.temporal[i], batch.slots, self.scale, snapshots)
        elif snapshots is None:
            o, _ = self.ops.kda_decode(
                q[:, 0], k[:, 0], v[:, 0], g, beta, pool.temporal[i], scale=self.scale, slots=batch.slots
            )
        else:
            g, beta = g.view(b, width, self.heads, self.dim), beta.view(b, width, self.heads)
            o, _ = self.ops.kda_verify(
                q, k, v, g, beta, pool.temporal[i], scale=self.scale, slots=batch.slots, snapshots=snapshots
            )
        self._finish(x, o.reshape(b * width, self.heads, self.dim), gate)
        return windows

    def replay(self, pool: StatePool, slots: Tensor, correct: Tensor) -> None:
        """Run positions 0..correct [b] of the last window again, from the states in the pool, which advance.

        Step by step in decode form, whose bits are those of the window.
        """
        for t in range(self.replayed[0].shape[1]):
            rows = torch.nonzero(correct >= t).flatten()
            if not len(rows):
                break
            k, v, g, beta = (x[rows, t] for x in self.replayed)
            state, mine = pool.temporal[self.index], slots[rows]
            # the outputs were had in the window: any query will do
            if pool.dtype is torch.float32:
                self.ops.kda_decode(k, k, v, g, beta, state, scale=self.scale, slots=mine)
            else:
                k, v, g, beta = (x.unsqueeze(1) for x in (k, v, g, beta))
                rounded_state.window(self.ops, k, k, v, g, beta, state, mine, self.scale, None)

    def prefill(self, x: Tensor, span: PrefillSpan, pool: StatePool) -> None:
        """A stretch of one prompt in chunked form; the pool's slot is advanced."""
        i, slot, n = self.index, span.slot, x.shape[0]
        qkv, g, beta, gate = self._project(x)
        y, conv = self.ops.short_conv_prefill(qkv, self.conv, pool.conv[i, slot])
        pool.conv[i, slot].copy_(conv)
        q, k, v = self._split(y)
        state = pool.temporal[i, slot : slot + 1]
        if pool.dtype is not torch.float32:
            o = rounded_state.prefill(self.ops, q, k, v, g, beta, state, self.scale, self.config.kda_chunk)
            self._finish(x, o, gate)
            return
        o, new = self.ops.kda_prefill(
            q[None], k[None], v[None], g[None], beta[None], state, scale=self.scale, chunk=self.config.kda_chunk
        )
        state.copy_(new)
        self._finish(x, o.view(n, self.heads, self.dim), gate)


class AttentionMixer:
    """Grouped-query attention without positions: RMS-normalised queries and keys, sigmoid output gate."""

    def __init__(self, config: ModelConfig, source: Checkpoint, prefix: str, ops: Operators) -> None:
        d, inner = config.hidden_size, config.inner_size
        self.config, self.ops = config, ops
        self.heads, self.kv_heads, self.dim = config.num_heads, config.num_kv_heads, config.head_dim
        self.kv = self.kv_heads * self.dim
        self.inner = inner
        self.scale = config.head_dim**-0.5

        take = lambda name, *shape, **kw: source.take(f"{prefix}attn.{name}", *shape, **kw)
        self.norm = source.take(f"{prefix}norm1.weight", d, dtype=torch.float32)
        qkv = take("qkv.weight", inner + 2 * self.kv, d)
        self.in_proj = ops.linear(torch.cat([qkv, take("gate.weight", inner, d)]))
        self.kv_proj = None
        self.kv_weight = qkv[inner:]
        self.out = ops.linear(take("o.weight", d, inner))
        self.q_norm = take("q_norm.weight", self.dim, dtype=torch.float32)
        self.k_norm = take("k_norm.weight", self.dim, dtype=torch.float32)
        self.linears = (self.in_proj, self.out)

    def with_kv_projection(self) -> AttentionMixer:
        """Also pack the key and value rows alone, for drafters that inject context."""
        self.kv_proj = self.ops.linear(self.kv_weight.contiguous())
        self.linears = (*self.linears, self.kv_proj)
        return self

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """x [n, d] -> q [n, Hq, 64], k [n, Hkv, 64], v [n, Hkv, 64] and the gate logits [n, Hq, 64], float32."""
        p = self.in_proj(self.ops.rms_norm(x, self.norm, self.config.rms_eps, BF16)).float()
        p = p.view(x.shape[0], -1, self.dim)
        q, k, v, gate = p.split_with_sizes((self.heads, self.kv_heads, self.kv_heads, self.heads), 1)
        q = self.ops.rms_norm(q, self.q_norm, self.config.rms_eps)
        k = self.ops.rms_norm(k, self.k_norm, self.config.rms_eps)
        return q, k, v, gate

    def project_kv(self, c: Tensor) -> tuple[Tensor, Tensor]:
        """c [n, d] bf16, taken as it is -> k, v [n, Hkv, 64] float32."""
        n = c.shape[0]
        p = self.kv_proj(c).float()
        k = self.ops.rms_norm(p[:, : self.kv].view(n, self.kv_heads, self.dim), self.k_norm, self.config.rms_eps)
        return k, p[:, self.kv :].view(n, self.kv_heads, self.dim)

    def finish(self, x: Tensor, o: Tensor, gate: Tensor) -> None:
        o = o.reshape(gate.shape).mul_(gate.sigmoid())
        x.add_(self.out(o.to(BF16).view(x.shape[0], self.inner)))

    def window(self, x: Tensor, batch: Batch, width: int, keys: Tensor, values: Tensor) -> None:
        """Write the window's keys and values, then attend position by position."""
        q, k, v, gate = self.project(x)
        self.ops.kv_write(k, v, keys, values, batch.window_slots)
        q = q.view(batch.rows, width, self.heads, self.dim)
        o = self.ops.verify_attention(
            q, keys, values, batch.block_table, batch.lengths, page_size=batch.page_size, scale=self.scale
        )
        self.finish(x, o, gate)

    def prefill(self, x: Tensor, span: PrefillSpan, keys: Tensor, values: Tensor) -> None:
        q, k, v, gate = self.project(x)
        self.ops.kv_write(k, v, keys, values, span.kv_slots)
        o = self.ops.prefill_attention(q, keys, values, span.pages, span.start, page_size=span.page_size, scale=self.scale)
        self.finish(x, o, gate)
