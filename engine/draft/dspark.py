"""DSpark: a block drafted in one pass over anchor and masks, then a serial Markov head.

The drafter owns one attention layer. Its keys and values over the context are made from the target's tapped
residuals (never from the drafter's own forward), so one matrix product a committed position keeps it up to
date. The block itself is bidirectional. The target's own lm_head turns the block into base logits U; the
Markov head adds B = W2(W1[x]) for the token x that was picked just before, one position after another.
Source: DSpark paper and DeepSpec (names block_size, markov_rank, target_layer_ids).
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ConfigError, DraftConfig, ModelConfig
from engine.draft.base import Draft
from engine.model.checkpoint import Checkpoint
from engine.model.layers import BF16, AttentionMixer, Mlp, PrefillSpan
from engine.model.target import Target

DRAFT_STREAM = 0


class DSpark:
    """Block drafter with a vanilla Markov head."""

    lookahead = 0

    @staticmethod
    def load_config(weights: Path, gamma: int) -> DraftConfig:
        config = DraftConfig.load(weights / "dspark.json")
        if not 1 <= gamma <= config.block_size:
            raise ConfigError(f"--block-size {gamma}: this drafter was trained for blocks of 1 to {config.block_size}")
        return config

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        return config.target_layer_ids

    def __init__(self, weights: Path, config: DraftConfig, gamma: int, target: Target, slots: int, kv_layer: int) -> None:
        source = Checkpoint(weights / "dspark.safetensors")
        model, ops = target.config, target.ops
        d, v, m = model.hidden_size, model.vocab_size, len(config.target_layer_ids)
        self.gamma, self.gamma_trained = gamma, config.block_size
        self.target, self.ops, self.eps = target, ops, model.rms_eps
        self.keys, self.values = target.kv.keys[kv_layer], target.kv.values[kv_layer]

        self.fc = ops.linear(source.take("fc.weight", d, m * d))
        self.hidden_norm = source.take("hidden_norm.weight", d, dtype=torch.float32)
        self.w_last = ops.linear(source.take("w_last.weight", d, d))
        self.mixer = AttentionMixer(model, source, "layer.", ops).with_kv_projection()
        self.mlp = Mlp(model, source, "layer.", ops)
        self.norm = source.take("norm.weight", d, dtype=torch.float32)
        self.w1 = source.take("markov.w1.weight", v, config.markov_rank)
        self.w2 = ops.linear(source.take("markov.w2.weight", v, config.markov_rank))
        rows = source.take("pos.weight", config.block_size, d, dtype=torch.float32)[:gamma].clone()
        rows[1:] += target.embed[model.mask_token_id].float()
        self.block_rows = rows
        self.last = torch.zeros(slots, d, dtype=BF16)
        self.parameters, self.bytes = source.parameters, source.bytes
        self.linears = [self.fc, self.w_last, *self.mixer.linears, *self.mlp.linears, self.w2]

    def _context(self, taps: Tensor) -> Tensor:
        """taps [n, m d] -> context rows c [n, d] bfloat16."""
        return self.ops.rms_norm(self.fc(taps), self.hidden_norm, self.eps, BF16)

    def _inject(self, context: Tensor, kv_slots: Tensor) -> None:
        k, v = self.mixer.project_kv(context)
        self.ops.kv_write(k, v, self.keys, self.values, kv_slots)

    @property
    def slot_tensors(self) -> tuple[Tensor, ...]:
        return (self.last,)

    def prefill(self, ids: Tensor, taps: Tensor, next_ids: Tensor, span: PrefillSpan) -> None:
        context = self._context(taps)
        self._inject(context, span.kv_slots)
        self.last[span.slot].copy_(context[-1])

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        base = self._block(batch)
        picks, laws, previous = [], [], batch.anchors
        for j in range(self.gamma):
            if keep_logits:
                positions = batch.lengths + (j + 1)
                previous, logits = self.ops.markov_sample(
                    base[:, j], previous, self.w1, self.w2, batch.temperature, batch.seeds, positions, DRAFT_STREAM
                )
                laws.append(logits)
            else:
                previous = self.ops.markov_greedy(base[:, j], previous, self.w1, self.w2)
            picks.append(previous)
        return Draft(torch.stack(picks, 1), torch.stack(laws, 1) if laws else None)

    def _block(self, batch: Batch) -> Tensor:
        """Base logits U [b, γ, V] of all block positions at once."""
        b, g, d = batch.rows, self.gamma, self.block_rows.shape[1]
        x = self.w_last(self.last.index_select(0, batch.slots)).float()[:, None] + self.block_rows
        x[:, 0] += self.target.embedding(batch.anchors)
        x = x.view(b * g, d)
        q, k, v, gate = self.mixer.project(x)
        split = lambda t: t.view(b, g, *t.shape[1:])
        o = self.ops.block_attention(
            split(q), split(k), split(v), self.keys, self.values, batch.block_table, batch.lengths,
            page_size=batch.page_size, scale=self.mixer.scale,
        )
        self.mixer.finish(x, o, gate)
        self.mlp(x)
        return self.target.logits(x, self.norm).view(b, g, -1)

    def observe(self, batch: Batch, window: Tensor, taps: Tensor, correct: Tensor, bonus: Tensor) -> None:
        """Context rows of the whole window are written; those beyond the commit are overwritten before they are read."""
        b, width, _ = taps.shape
        context = self._context(taps.view(b * width, -1))
        self._inject(context, batch.window_slots)
        last = context.index_select(0, correct + torch.arange(0, b * width, width))
        self.last.index_copy_(0, batch.slots, last)

    def reset(self) -> None:
        self.last.zero_()
