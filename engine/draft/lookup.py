"""Prompt lookup: guesses copied from where the last tokens stood before. No weights, nothing to train.

The newest earlier place of the longest matching suffix (NGRAMS tokens) is taken, and what followed there is
proposed. A row whose suffix never stood before proposes nothing.
Source: Saxena, "Prompt Lookup Decoding", 2023.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ConfigError, DraftConfig, ModelConfig
from engine.draft.base import WIDEST_BLOCK, Draft, DraftOptions
from engine.model.layers import PrefillSpan
from engine.model.target import Target

NGRAMS = (3, 2)
"""Suffix lengths tried, from the longest down."""


def continuation(tokens: np.ndarray, count: int) -> np.ndarray:
    """At most `count` tokens that followed the newest earlier occurrence of the suffix of `tokens` [n]; maybe none."""
    n = len(tokens)
    for size in NGRAMS:
        if n <= size:
            continue
        # starts 0 .. n - size - 1: the suffix itself is not an earlier place
        same = np.ones(n - size, dtype=bool)
        for offset in range(size):
            same &= tokens[offset : n - size + offset] == tokens[n - size + offset]
        starts = np.flatnonzero(same)
        if starts.size:
            after = starts[-1] + size
            return tokens[after : after + count]
    return tokens[:0]


class Lookup:
    """Reads the rows' own tokens; the target tells it nothing."""

    kv_layers = 0
    lookahead = 0
    keys = values = None
    parameters = bytes = 0
    linears = ()
    slot_tensors = ()

    @staticmethod
    def load_config(weights: Path, gamma: int, allow_untrained: bool = False) -> DraftConfig:
        if not 1 <= gamma <= WIDEST_BLOCK:
            raise ConfigError(f"--block-size {gamma}: lane lookup proposes 1 to {WIDEST_BLOCK} tokens a round")
        return DraftConfig(block_size=gamma, target_layer_ids=())

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        return ()

    def __init__(
        self, weights: Path, config: DraftConfig, target: Target, slots: int, kv_layer: int, options: DraftOptions
    ) -> None:
        # nothing was trained, so no width is beyond the trained one
        self.gamma = self.gamma_trained = options.gamma

    def prefill(self, ids: Tensor, taps: Tensor | None, next_ids: Tensor, span: PrefillSpan) -> None:
        """Nothing to remember: the tokens are with the request."""

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        ids = torch.full((batch.rows, self.gamma), -1)
        for row, history in enumerate(batch.histories):
            found = continuation(history.tokens(), self.gamma)
            ids[row, : len(found)] = torch.from_numpy(found)
        return Draft(ids, None, one_hot=True)

    def observe(self, batch: Batch, window: Tensor, taps: Tensor | None, correct: Tensor, bonus: Tensor) -> None:
        """Nothing to learn."""

    def reset(self) -> None:
        """Nothing to forget."""
