"""MTP-1: one causal layer over (last residual, next token) guesses the token after next; γ = 1.

Its keys and values cover the prompt too: fed only from the first generated token on, the head looks at empty
places and guesses badly. `--draft-prompt-kv off` leaves them empty on purpose, so that this fault can be measured.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ConfigError, DraftConfig, ModelConfig
from engine.draft.base import Draft, DraftOptions
from engine.model.checkpoint import Checkpoint
from engine.model.layers import BF16, AttentionMixer, Mlp, PrefillSpan
from engine.model.target import Target


class Mtp:
    """Position t holds the pair (h_t, x_{t+1}) and predicts x_{t+2}; at the anchor's turn t = lengths - 1."""

    kv_layers = 1
    lookahead = 1

    @staticmethod
    def load_config(weights: Path, gamma: int, allow_untrained: bool = False) -> DraftConfig:
        if gamma != 1:
            raise ConfigError(f"--block-size {gamma}: lane mtp drafts exactly 1 token a round")
        return DraftConfig.load(weights / "mtp.json")

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        return (len(model.layer_types) - 1,)

    def __init__(
        self, weights: Path, config: DraftConfig, target: Target, slots: int, kv_layer: int, options: DraftOptions
    ) -> None:
        source = Checkpoint(weights / "mtp.safetensors")
        model, ops = target.config, target.ops
        d = model.hidden_size
        self.gamma, self.gamma_trained = 1, 1
        self.stream, self.prompt_kv = options.stream, options.prompt_kv
        self.target, self.ops, self.eps = target, ops, model.rms_eps
        self.keys, self.values = target.kv.keys[kv_layer], target.kv.values[kv_layer]

        self.norm_h = source.take("norm_h.weight", d, dtype=torch.float32)
        self.norm_e = source.take("norm_e.weight", d, dtype=torch.float32)
        self.fc = ops.linear(source.take("fc.weight", d, 2 * d))
        self.mixer = AttentionMixer(model, source, "layer.", ops)
        self.mlp = Mlp(model, source, "layer.", ops)
        self.norm = source.take("norm.weight", d, dtype=torch.float32)
        self.hidden = torch.zeros(slots, d, dtype=BF16)
        self.parameters, self.bytes = source.parameters, source.bytes
        self.linears = [self.fc, *self.mixer.linears, *self.mlp.linears]

    def _join(self, hidden: Tensor, ids: Tensor) -> Tensor:
        """hidden [n, d] of positions t and ids [n] of positions t + 1 -> residual [n, d] float32."""
        h = self.ops.rms_norm(hidden, self.norm_h, self.eps, BF16)
        e = self.ops.rms_norm(self.target.embedding(ids), self.norm_e, self.eps, BF16)
        return self.fc(torch.cat([h, e], 1)).float()

    def _write(self, hidden: Tensor, ids: Tensor, kv_slots: Tensor) -> None:
        _, k, v, _ = self.mixer.project(self._join(hidden, ids))
        self.ops.kv_write(k, v, self.keys, self.values, kv_slots.contiguous())  # a column of the window's slots

    @property
    def slot_tensors(self) -> tuple[Tensor, ...]:
        return (self.hidden,)

    def prefill(self, ids: Tensor, taps: Tensor, next_ids: Tensor, span: PrefillSpan) -> None:
        known = next_ids.shape[0]
        if known and self.prompt_kv:
            self._write(taps[:known], next_ids, span.kv_slots[:known])
        elif known:
            # zeros, not what an earlier request left there: the fault must not depend on the pool's history
            empty = torch.zeros(known, *self.keys.shape[1:])
            self.ops.kv_write(empty, empty, self.keys, self.values, span.kv_slots[:known])
        self.hidden[span.slot].copy_(taps[-1])

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        x = self._join(self.hidden.index_select(0, batch.slots), batch.anchors)
        q, k, v, gate = self.mixer.project(x)
        self.ops.kv_write(k, v, self.keys, self.values, batch.previous_slots)
        o = self.ops.decode_attention(
            q, self.keys, self.values, batch.block_table, batch.lengths, page_size=batch.page_size, scale=self.mixer.scale
        )
        self.mixer.finish(x, o, gate)
        self.mlp(x)
        logits = self.target.logits(x, self.norm)
        if not keep_logits:
            return Draft(self.ops.row_argmax(logits)[:, None], None)
        ids = self.ops.gumbel_sample(logits.float(), batch.temperature, batch.seeds, batch.lengths + 1, self.stream)
        return Draft(ids[:, None], logits.float()[:, None])

    def observe(self, batch: Batch, window: Tensor, taps: Tensor, correct: Tensor, bonus: Tensor) -> None:
        """The accepted draft's pair is written now; the newest pair is written by the next `propose`.

        Rows that accepted nothing get their newest pair here as well, with the bits `propose` will write again.
        """
        b, width, _ = taps.shape
        if bool(correct.any()):
            following = torch.where(correct > 0, window[:, 1], bonus)
            self._write(taps[:, 0], following, batch.window_slots.view(b, width)[:, 0])
        last = taps.reshape(b * width, -1).index_select(0, correct + torch.arange(0, b * width, width))
        self.hidden.index_copy_(0, batch.slots, last)

    def reset(self) -> None:
        self.hidden.zero_()
