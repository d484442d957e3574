"""The gated and the recurrent Markov head, trained on the frozen block drafter.

Both add ``B_k`` to the base logits of draft position k as the vanilla head does, but look
at the block's hidden row ``h_k`` as well. Source: DeepSpec (names ``gated``, ``rnn``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.train.draft_model import Markov


class GatedHead(nn.Module):
    """``B_k = W2(a * e)``, ``a = sigmoid(Wgate [h_k ; e] + b)``, ``e = W1[x_{k-1}]``."""

    def __init__(self, vanilla: Markov, hidden: int) -> None:
        super().__init__()
        vocabulary, rank = vanilla.w1.weight.shape
        self.w1 = nn.Embedding(vocabulary, rank)
        self.w2 = nn.Linear(rank, vocabulary, bias=False)
        self.gate = nn.Linear(hidden + rank, rank)
        # starts as the vanilla head with every gate almost open
        self.w1.load_state_dict(vanilla.w1.state_dict())
        self.w2.load_state_dict(vanilla.w2.state_dict())
        nn.init.normal_(self.gate.weight, std=0.01)
        nn.init.constant_(self.gate.bias, 3.0)

    def step(self, previous: Tensor, hidden: Tensor, state: None = None) -> tuple[Tensor, None]:
        """previous ids [...], hidden [..., d] -> (logits [..., V], no state)."""
        e = self.w1(previous)
        a = torch.sigmoid(self.gate(torch.cat([hidden, e], -1)))
        return self.w2(a * e), None


class RnnHead(nn.Module):
    """``B_k = W2(tanh(out))`` with a state carried over the block's positions.

    ``[gate ; cand ; out] = W [s_{k-1} ; e ; h_k] + b``, ``s_k = sig(gate) s_{k-1} + (1 - sig(gate)) tanh(cand)``, ``s_0 = 0``.
    """

    def __init__(self, vanilla: Markov, hidden: int) -> None:
        super().__init__()
        vocabulary, rank = vanilla.w1.weight.shape
        self.w1 = nn.Embedding(vocabulary, rank)
        self.w2 = nn.Linear(rank, vocabulary, bias=False)
        self.cell = nn.Linear(2 * rank + hidden, 3 * rank)
        self.w1.load_state_dict(vanilla.w1.state_dict())
        self.w2.load_state_dict(vanilla.w2.state_dict())
        # starts near the vanilla head: out = e / s, W2 * s, where s keeps tanh in its linear part
        scale = 3 * float(vanilla.w1.weight.detach().std())
        with torch.no_grad():
            self.w2.weight.mul_(scale)
            nn.init.normal_(self.cell.weight, std=0.01)
            nn.init.zeros_(self.cell.bias)
            self.cell.weight[2 * rank :, rank : 2 * rank].add_(torch.eye(rank) / scale)

    def step(
        self, previous: Tensor, hidden: Tensor, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """previous ids [...], hidden [..., d], state [..., r] or None (zeros) -> (logits [..., V], state)."""
        e = self.w1(previous)
        if state is None:
            state = torch.zeros_like(e)
        gate, candidate, out = self.cell(torch.cat([state, e, hidden], -1)).chunk(3, -1)
        keep = torch.sigmoid(gate)
        return self.w2(torch.tanh(out)), keep * state + (1 - keep) * torch.tanh(candidate)


class ConfidenceHead(nn.Module):
    """``c_k = sigmoid(w [h_k ; W1[x_{k-1}]] + b)``: P(draft k is accepted | all before it were)."""

    def __init__(self, hidden: int, rank: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden + rank, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def of(self, inputs: Tensor) -> Tensor:
        """inputs [..., d + r]: the block's row, then vanilla W1 of the previous token -> logits [...]."""
        return self.linear(inputs).squeeze(-1)


@dataclass(frozen=True)
class Calibration:
    """Sequential temperature scaling: one temperature a draft position, fitted left to right."""

    temperatures: tuple[float, ...]
    ece_before: float
    ece_after: float
    num_samples: int


def expected_calibration_error(predicted: Tensor, happened: Tensor, bins: int = 15) -> float:
    """Mean gap of predicted probability and observed share over equally wide bins, weighted by their counts."""
    place = (predicted * bins).long().clamp(max=bins - 1)
    count = torch.zeros(bins).index_add_(0, place, torch.ones_like(predicted))
    gap = torch.zeros(bins).index_add_(0, place, predicted - happened.float())
    return float(gap.abs().sum() / count.sum())


def fit_temperatures(logits: Tensor, right: Tensor) -> Calibration:
    """logits [N, gamma] of the confidence head, right bool [N, gamma] whether each draft was accepted.

    Position k's temperature minimises the calibration error of the cumulative product up to k, with the
    temperatures of the positions before it already fixed.
    """
    grid = torch.linspace(0.4, 3.0, 53)
    survived = right.long().cumprod(1).bool()
    before = torch.sigmoid(logits).cumprod(1)
    product = torch.ones(len(logits))
    chosen: list[float] = []
    for k in range(logits.shape[1]):
        errors = [
            expected_calibration_error(product * torch.sigmoid(logits[:, k] / t), survived[:, k])
            for t in grid.tolist()
        ]
        best = float(grid[errors.index(min(errors))])
        chosen.append(round(best, 3))
        product = product * torch.sigmoid(logits[:, k] / best)
    after = torch.stack([
        torch.sigmoid(logits[:, k] / t) for k, t in enumerate(chosen)
    ], 1).cumprod(1)

    def mean_error(predicted: Tensor) -> float:
        parts = [
            expected_calibration_error(predicted[:, k], survived[:, k])
            for k in range(predicted.shape[1])
        ]
        return round(sum(parts) / len(parts), 4)

    return Calibration(tuple(chosen), mean_error(before), mean_error(after), len(logits))
