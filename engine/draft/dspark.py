"""DSpark: a block drafted in one pass, then a serial Markov head that links its guesses.

The anchor's row guesses too (row k of the block guesses x_{k+1}), so γ rows give γ guesses.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import DraftConfig
from engine.draft.base import Draft, DraftOptions
from engine.draft.block import BlockDrafter, load_block_config
from engine.draft.confidence import ConfidenceHead
from engine.draft.markov import VanillaHead, load_head
from engine.model.checkpoint import Checkpoint
from engine.model.target import Target


class DSpark(BlockDrafter):
    """Block drafter with a vanilla, gated or recurrent Markov head."""

    @staticmethod
    def load_config(weights: Path, gamma: int, allow_untrained: bool = False) -> DraftConfig:
        return load_block_config(weights / "dspark.json", gamma, allow_untrained)

    def __init__(
        self, weights: Path, config: DraftConfig, target: Target, slots: int, kv_layer: int, options: DraftOptions
    ) -> None:
        source = Checkpoint(weights / "dspark.safetensors")
        super().__init__(source, config, target, slots, kv_layer, options, width=options.gamma)
        vocab, d, ops = target.config.vocab_size, target.config.hidden_size, self.ops
        vanilla = VanillaHead(source, "markov.", vocab, config.markov_rank, ops)
        sources = [source]
        if options.markov_head_type == "vanilla":
            self.head, self.w1, self.w2 = None, vanilla.w1, vanilla.w2
            self.linears += vanilla.linears
        else:
            self.head, found = load_head(weights, options.markov_head_type, vocab, config.markov_rank, d, ops)
            self.linears += self.head.linears
            sources.append(found)
        self.confidence = ConfidenceHead(weights, config.markov_rank, d) if options.confidence else None
        if self.confidence:
            self.embedding = vanilla.w1
            sources.append(self.confidence.source)
        self.parameters, self.bytes = sum(s.parameters for s in sources), sum(s.bytes for s in sources)

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        hidden = self._hidden(batch)
        base = self._logits(hidden)
        picks, laws, state = [batch.anchors], [], None
        for j in range(self.gamma):
            positions = batch.lengths + (j + 1)
            if self.head is not None:
                logits, state = self.head.logits(base[:, j], picks[-1], hidden[:, j], state)
                drawn = (
                    self.ops.gumbel_sample(logits, batch.temperature, batch.seeds, positions, self.stream)
                    if keep_logits else self.ops.row_argmax(logits)
                )
                laws.append(logits)
            elif keep_logits:
                drawn, logits = self.ops.markov_sample(
                    base[:, j], picks[-1], self.w1, self.w2, batch.temperature, batch.seeds, positions, self.stream
                )
                laws.append(logits)
            else:
                drawn = self.ops.markov_greedy(base[:, j], picks[-1], self.w1, self.w2)
            picks.append(drawn)
        ids = torch.stack(picks[1:], 1)
        return Draft(ids, torch.stack(laws, 1) if keep_logits else None, self._confidence(hidden, picks))

    def _confidence(self, hidden: Tensor, picks: list[Tensor]) -> Tensor | None:
        if self.confidence is None:
            return None
        previous = torch.stack(picks[:-1], 1)
        return self.confidence(hidden, self.embedding[previous])
