"""What the block drafters DSpark and DFlash share: one pass over an anchor and masks.

The drafter owns one attention layer. Its keys and values over the context are made from the target's tapped
residuals (never from the drafter's own forward), so one matrix product a committed position keeps it up to
date. The block itself is bidirectional; the target's own lm_head turns its rows into logits.
Source: DSpark paper and DeepSpec (names block_size, markov_rank, target_layer_ids, sample_from_anchor).
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ConfigError, DraftConfig, ModelConfig
from engine.draft.base import WIDEST_BLOCK, DraftOptions
from engine.model.checkpoint import Checkpoint
from engine.model.layers import BF16, AttentionMixer, Mlp, PrefillSpan
from engine.model.target import Target


def load_block_config(path: Path, gamma: int, allow_untrained: bool) -> DraftConfig:
    """The config at `path`; `ConfigError` when γ is above the trained block and nobody asked for that."""
    config = DraftConfig.load(path)
    if not 1 <= gamma <= WIDEST_BLOCK:
        raise ConfigError(f"--block-size {gamma}: must be 1 to {WIDEST_BLOCK}; this drafter was trained for blocks of 1 to {config.block_size}")
    if gamma > config.block_size and not allow_untrained:
        raise ConfigError(
            f"--block-size {gamma}: this drafter was trained for blocks of 1 to {config.block_size}; "
            "--allow-untrained-gamma drafts beyond them and marks the run"
        )
    return config


class BlockDrafter:
    """Backbone with its context keys in the KV pool's extra layer and the last context row under the state slot."""

    kv_layers = 1
    lookahead = 0

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        depth = len(model.layer_types)
        if not config.target_layer_ids or max(config.target_layer_ids) >= depth:
            raise ConfigError(f"the drafter's target_layer_ids {list(config.target_layer_ids)}: must be layers 0 to {depth - 1} of the target")
        return config.target_layer_ids

    def __init__(
        self, source: Checkpoint, config: DraftConfig, target: Target, slots: int, kv_layer: int, options: DraftOptions, width: int
    ) -> None:
        """`width`: rows of a block, the anchor's included."""
        model, ops = target.config, target.ops
        d, m = model.hidden_size, len(config.target_layer_ids)
        self.gamma, self.gamma_trained = options.gamma, config.block_size
        self.stream, self.width = options.stream, width
        self.target, self.ops, self.eps = target, ops, model.rms_eps
        self.keys, self.values = target.kv.keys[kv_layer], target.kv.values[kv_layer]

        self.fc = ops.linear(source.take("fc.weight", d, m * d))
        self.hidden_norm = source.take("hidden_norm.weight", d, dtype=torch.float32)
        self.w_last = ops.linear(source.take("w_last.weight", d, d))
        self.mixer = AttentionMixer(model, source, "layer.", ops).with_kv_projection()
        self.mlp = Mlp(model, source, "layer.", ops)
        self.norm = source.take("norm.weight", d, dtype=torch.float32)
        trained = config.block_size + (not config.sample_from_anchor)
        positions = source.take("pos.weight", trained, d, dtype=torch.float32)
        # rows beyond the trained block, if asked for, stand where its last row stood
        rows = positions[torch.arange(width).clamp_max(trained - 1)]
        rows[1:] += target.embed[model.mask_token_id].float()
        self.block_rows = rows
        self.last = torch.zeros(slots, d, dtype=BF16)
        self.parameters, self.bytes = source.parameters, source.bytes
        self.linears = [self.fc, self.w_last, *self.mixer.linears, *self.mlp.linears]

    @property
    def slot_tensors(self) -> tuple[Tensor, ...]:
        return (self.last,)

    def _context(self, taps: Tensor) -> Tensor:
        """taps [n, m d] -> context rows c [n, d] bfloat16."""
        return self.ops.rms_norm(self.fc(taps), self.hidden_norm, self.eps, BF16)

    def _inject(self, context: Tensor, kv_slots: Tensor) -> None:
        k, v = self.mixer.project_kv(context)
        self.ops.kv_write(k, v, self.keys, self.values, kv_slots)

    def prefill(self, ids: Tensor, taps: Tensor, next_ids: Tensor, span: PrefillSpan) -> None:
        context = self._context(taps)
        self._inject(context, span.kv_slots)
        self.last[span.slot].copy_(context[-1])

    def _hidden(self, batch: Batch) -> Tensor:
        """Rows of all blocks after the drafter's last norm, [b, width, d] bfloat16."""
        b, w, d = batch.rows, self.width, self.block_rows.shape[1]
        x = self.w_last(self.last.index_select(0, batch.slots)).float()[:, None] + self.block_rows
        x[:, 0] += self.target.embedding(batch.anchors)
        x = x.view(b * w, d)
        q, k, v, gate = self.mixer.project(x)
        split = lambda t: t.view(b, w, *t.shape[1:])
        o = self.ops.block_attention(
            split(q), split(k), split(v), self.keys, self.values, batch.block_table, batch.lengths,
            page_size=batch.page_size, scale=self.mixer.scale,
        )
        self.mixer.finish(x, o, gate)
        self.mlp(x)
        return self.ops.rms_norm(x, self.norm, self.eps, BF16).view(b, w, d)

    def _logits(self, hidden: Tensor) -> Tensor:
        """Base logits U [b, n, V] of rows [b, n, d]."""
        b, n, d = hidden.shape
        return self.target.lm_head(hidden.reshape(b * n, d)).view(b, n, -1)

    def observe(self, batch: Batch, window: Tensor, taps: Tensor, correct: Tensor, bonus: Tensor) -> None:
        """Context rows of the whole window are written; those beyond the commit are overwritten before they are read."""
        b, width, _ = taps.shape
        context = self._context(taps.reshape(b * width, -1))
        self._inject(context, batch.window_slots)
        last = context.index_select(0, correct + torch.arange(0, b * width, width))
        self.last.index_copy_(0, batch.slots, last)

    def reset(self) -> None:
        self.last.zero_()
