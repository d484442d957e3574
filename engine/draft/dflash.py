"""DFlash: every mask of the block guesses the token at its own place, all at once; no guess knows another.

The block has γ + 1 rows, anchor and γ masks, and the anchor's row is dropped (`sample_from_anchor` false).
`block_size` is γ here as everywhere in this engine; SGLang's `--speculative-dflash-block-size` counts γ + 1.
"""

from __future__ import annotations

from pathlib import Path

import torch

from engine.batch import Batch
from engine.config import DraftConfig
from engine.draft.base import Draft, DraftOptions
from engine.draft.block import BlockDrafter, load_block_config
from engine.model.checkpoint import Checkpoint
from engine.model.target import Target


class DFlash(BlockDrafter):
    """Block drafter without a head of its own."""

    @staticmethod
    def load_config(weights: Path, gamma: int, allow_untrained: bool = False) -> DraftConfig:
        return load_block_config(weights / "dflash.json", gamma, allow_untrained)

    def __init__(
        self, weights: Path, config: DraftConfig, target: Target, slots: int, kv_layer: int, options: DraftOptions
    ) -> None:
        source = Checkpoint(weights / "dflash.safetensors")
        super().__init__(source, config, target, slots, kv_layer, options, width=options.gamma + 1)

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        b, gamma = batch.rows, self.gamma
        logits = self._logits(self._hidden(batch)[:, 1:])
        if not keep_logits:
            return Draft(self.ops.row_argmax(logits), None)
        logits = logits.float()
        positions = batch.lengths[:, None] + torch.arange(1, gamma + 1)
        each = lambda t: t.repeat_interleave(gamma)
        ids = self.ops.gumbel_sample(
            logits.view(b * gamma, -1), each(batch.temperature), each(batch.seeds), positions.reshape(-1), self.stream
        )
        return Draft(ids.view(b, gamma), logits)
