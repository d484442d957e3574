"""The target model: prompt stretches in chunked form, verify windows position by position.

Two entries. `prefill` runs a stretch of one prompt; `window` runs W positions of b requests and returns the
logits of each. Numbers of a position depend on its request and its absolute position alone: not on the
batch, not on W, not on how the prompt was cut (at multiples of the KDA chunk).
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ModelConfig
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.layers import BF16, AttentionMixer, ExpertMlp, KdaMixer, Mlp, PrefillSpan, mlp_for
from engine.model.operators import Operators


class Target:
    """Weights of the target with the pools they write to.

    `tap_layers`: layers whose residual output is returned (0-based); what a drafter reads.
    """

    def __init__(
        self,
        config: ModelConfig,
        source: Checkpoint,
        ops: Operators,
        kv: KvPool,
        states: StatePool,
        tap_layers: tuple[int, ...] = (),
    ) -> None:
        v, d = config.vocab_size, config.hidden_size
        self.config, self.ops, self.kv, self.states = config, ops, kv, states
        self.tap_layers = tap_layers
        self.embed = source.take("embed.weight", v, d)
        self.mixers: list[KdaMixer | AttentionMixer] = []
        self.mlps: list[Mlp | ExpertMlp] = []
        for i, kind in enumerate(config.layer_types):
            prefix = f"layers.{i}."
            if kind == "K":
                self.mixers.append(KdaMixer(config, source, prefix, ops, config.kda_layers.index(i)))
            else:
                self.mixers.append(AttentionMixer(config, source, prefix, ops))
            self.mlps.append(mlp_for(config, source, prefix, ops))
        self.norm = source.take("norm.weight", d, dtype=torch.float32)
        self.lm_head = ops.linear(source.take("lm_head.weight", v, d))
        self._kv_of = {layer: place for place, layer in enumerate(config.attention_layers)}

    @property
    def linears(self) -> list:
        return [p for part in (*self.mixers, *self.mlps) for p in part.linears] + [self.lm_head]

    def embedding(self, ids: Tensor) -> Tensor:
        """ids [n] -> [n, d] float32."""
        return self.embed.index_select(0, ids).float()

    def logits(self, x: Tensor, norm: Tensor | None = None) -> Tensor:
        """Residual [n, d] -> [n, V] bfloat16; a drafter gives its own final norm."""
        return self.lm_head(self.ops.rms_norm(x, self.norm if norm is None else norm, self.config.rms_eps, BF16))

    def window(self, ids: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """ids [b, W] at positions lengths .. lengths + W - 1 -> logits [b, W, V], taps [b, W, m d] or None.

        W = 1 advances the state at once; W > 1 leaves it where it was: `commit` then picks how far it goes.
        Keys and values are written for all W positions; those beyond the commit are overwritten later.
        """
        b, width = ids.shape
        x = self.embedding(ids.view(-1))
        snapshots = None if width == 1 else self.states.snapshots(b, width)
        windows, taps = [], []
        for layer, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps)):
            if isinstance(mixer, KdaMixer):
                scratch = None if snapshots is None else snapshots[0 if self.states.replay else mixer.index]
                windows.append(mixer.window(x, batch, width, self.states, scratch))
            else:
                place = self._kv_of[layer]
                mixer.window(x, batch, width, self.kv.keys[place], self.kv.values[place])
            mlp(x)
            if layer in self.tap_layers:
                taps.append(x.to(BF16))
        self._windows = torch.stack(windows)  # [L, W, b, 3, D]
        logits = self.logits(x).view(b, width, -1)
        if width == 1:
            self.commit(batch, torch.zeros(b, dtype=torch.int64))
        return logits, torch.cat(taps, 1).view(b, width, -1) if taps else None

    def commit(self, batch: Batch, correct: Tensor) -> None:
        """Keep the state after position `correct` [b] of the last window: c accepted drafts and the anchor."""
        width = self._windows.shape[1]
        if width > 1 and self.states.replay:
            for mixer in self.mixers:
                if isinstance(mixer, KdaMixer):
                    mixer.replay(self.states, batch.slots, correct)
        elif width > 1:
            self.ops.state_commit(self.states.temporal, self.states.snapshots(batch.rows, width), batch.slots, correct)
        self.ops.state_commit(self.states.conv, self._windows, batch.slots, correct)

    def prefill(self, ids: Tensor, span: PrefillSpan, last: bool) -> tuple[Tensor | None, Tensor | None]:
        """ids [T] -> logits [V] of the last row when `last`, taps [T, m d] or None. State and KV are advanced."""
        x = self.embedding(ids)
        taps = []
        for layer, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps)):
            if isinstance(mixer, KdaMixer):
                mixer.prefill(x, span, self.states)
            else:
                place = self._kv_of[layer]
                mixer.prefill(x, span, self.kv.keys[place], self.kv.values[place])
            mlp(x)
            if layer in self.tap_layers:
                taps.append(x.to(BF16))
        return self.logits(x[-1:])[0] if last else None, torch.cat(taps, 1) if taps else None

    def mode_facts(self) -> dict:
        """What the execution mode came to at this boot, for the server-info record."""
        return {}

    @property
    def repacked_bytes(self) -> int:
        """Weights that this mode keeps a second time, in a layout of its own."""
        return 0

    def time_classes(self, on: bool) -> None:
        """Clock operator classes inside the forward, where it is one call; operators called from here are clocked from outside."""

    def class_ms(self) -> dict[str, float]:
        """Milliseconds by operator class since the last call of this; empty when nothing inside is clocked."""
        return {}

    def experts_touched(self) -> int:
        """Experts whose weights were read since the last call of this, summed over layers and calls."""
        experts = [mlp for mlp in self.mlps if isinstance(mlp, ExpertMlp)]
        total = sum(mlp.touched for mlp in experts)
        for mlp in experts:
            mlp.touched = 0
        return total

    def padded_positions(self, rows: int, width: int) -> int:
        """Positions that a window of `rows` requests runs for nobody."""
        return 0

    def take_padded(self) -> int:
        """Positions run for nobody since the last call of this."""
        return 0

    def capture(self, top: int, width: int) -> None:
        """Prepare windows of `width` positions of up to `top` requests, in a mode that records them. Pools must be final."""
