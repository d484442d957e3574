"""Markov heads: what the token picked just before adds to the base logits of the next draft position.

p_k(v) is proportional to exp(U_k(v) + B_k(v)), one position after another, x_0 the anchor. With e = W1[x_{k-1}]:
vanilla  B_k = W2 e
gated    B_k = W2 (a * e), a = sigmoid(Wgate [h_k ; e] + b)
rnn      [gate ; cand ; out] = W [s_{k-1} ; e ; h_k] + b, s_k = sig(gate) s_{k-1} + (1 - sig(gate)) tanh(cand), B_k = W2 tanh(out)
Source: DSpark paper, DeepSpec (names vanilla, gated, rnn).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.config import ConfigError
from engine.model.checkpoint import Checkpoint
from engine.model.operators import Operators


class MarkovHead(Protocol):
    """`state` is None at the first draft position; rows do not see each other."""

    linears: list

    def logits(self, base: Tensor, previous: Tensor, hidden: Tensor, state: Any) -> tuple[Tensor, Any]:
        """U_k [b, V], x_{k-1} [b], h_k [b, d] -> (U_k + B_k [b, V] float32, state)."""


class _Table:
    """W1 and W2 of every head."""

    def __init__(self, source: Checkpoint, prefix: str, vocab: int, rank: int, ops: Operators) -> None:
        self.w1 = source.take(f"{prefix}w1.weight", vocab, rank)
        self.w2 = ops.linear(source.take(f"{prefix}w2.weight", vocab, rank))
        self.ops = ops
        self.linears = [self.w2]

    def _add(self, base: Tensor, scaled: Tensor) -> Tensor:
        return self.w2(scaled.to(torch.bfloat16)).float().add_(base)


class VanillaHead(_Table):
    """The token before alone decides; its step is one fused operator."""

    def logits(self, base: Tensor, previous: Tensor, hidden: Tensor, state: None) -> tuple[Tensor, None]:
        return self._add(base, self.w1.index_select(0, previous)), None


class GatedHead(_Table):
    """The block's own row opens and closes the channels of the token before."""

    def __init__(self, source: Checkpoint, vocab: int, rank: int, hidden: int, ops: Operators) -> None:
        super().__init__(source, "", vocab, rank, ops)
        self.gate = ops.linear(source.take("gate.weight", rank, hidden + rank))
        self.bias = source.take("gate.bias", rank, dtype=torch.float32)
        self.linears = [self.w2, self.gate]

    def logits(self, base: Tensor, previous: Tensor, hidden: Tensor, state: None) -> tuple[Tensor, None]:
        e = self.w1.index_select(0, previous)
        a = torch.sigmoid(self.gate(torch.cat([hidden, e], 1)).float() + self.bias)
        return self._add(base, a * e), None


class RnnHead(_Table):
    """A state [b, r] float32 runs along the block."""

    def __init__(self, source: Checkpoint, vocab: int, rank: int, hidden: int, ops: Operators) -> None:
        super().__init__(source, "", vocab, rank, ops)
        self.cell = ops.linear(source.take("cell.weight", 3 * rank, 2 * rank + hidden))
        self.bias = source.take("cell.bias", 3 * rank, dtype=torch.float32)
        self.linears = [self.w2, self.cell]

    def logits(self, base: Tensor, previous: Tensor, hidden: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        e = self.w1.index_select(0, previous)
        if state is None:
            state = torch.zeros(e.shape)
        z = torch.cat([state.to(torch.bfloat16), e, hidden], 1)
        gate, candidate, out = (self.cell(z).float() + self.bias).chunk(3, 1)
        # contiguous rows of whole vectors: torch's scalar rest of a row would round otherwise
        keep, candidate, out = torch.sigmoid(gate.contiguous()), torch.tanh(candidate.contiguous()), torch.tanh(out.contiguous())
        return self._add(base, out), keep * state + (1 - keep) * candidate


HEADS = {"gated": GatedHead, "rnn": RnnHead}


def load_head(weights: Path, name: str, vocab: int, rank: int, hidden: int, ops: Operators) -> tuple[MarkovHead, Checkpoint]:
    """A head trained apart from the backbone, with the file it came from; `ConfigError` when it is not there."""
    path = weights / f"dspark_markov_{name}.safetensors"
    if not path.is_file():
        raise ConfigError(f"--markov-head-type {name}: {path} not found; train it with `python -m engine.train redraft` or take vanilla")
    source = Checkpoint(path)
    return HEADS[name](source, vocab, rank, hidden, ops), source
