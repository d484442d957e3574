"""Muon for the matrices and AdamW for the rest, on flat buffers shared by two ranks.

Muon (Jordan et al. 2024) replaces the momentum of a matrix by the nearest
semi-orthogonal matrix, found with five Newton-Schulz iterations.  Every rank keeps the
whole momentum; the iterations are divided over the ranks and their results summed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: Tensor) -> Tensor:
    """Five quintic Newton-Schulz iterations on [N, rows, columns]."""
    a, b, c = _NEWTON_SCHULZ
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.transpose(1, 2) if tall else x


@dataclass(frozen=True)
class Block:
    """A matrix inside the flat buffer: a parameter or one part of a packed parameter."""

    offset: int
    rows: int
    columns: int


def uses_muon(name: str, parameter: Tensor) -> bool:
    """Matrices inside the layers, except convolution taps and the four-row beta map."""
    if parameter.ndim != 2 or min(parameter.shape) < 32:
        return False
    return not name.startswith(("embed.", "lm_head.", "pos.", "markov."))


def split_rows(name: str, rows: int) -> list[int]:
    """Packed projections are orthogonalised part by part."""
    if name.endswith("kda.qkv.weight"):
        return [rows // 3] * 3
    if name.endswith("attn.qkv.weight"):  # two query heads share a key and a value head
        return [rows // 2, rows // 4, rows // 4]
    if name.endswith("gate_up.weight"):
        return [rows // 2, rows // 2]
    return [rows]


class Optimizer:
    """One step from summed gradients; ``rate`` scales both learning rates."""

    def __init__(
        self,
        model: nn.Module,
        rank: int,
        ranks: int,
        muon_rate: float = 0.02,
        adam_rate: float = 3e-3,
        clip: float = 1.0,
    ) -> None:
        self.rank, self.ranks = rank, ranks
        self.muon_rate, self.adam_rate, self.clip = muon_rate, adam_rate, clip
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        named.sort(key=lambda item: not uses_muon(*item))
        self.blocks: list[Block] = []
        size = 0
        for name, parameter in named:
            if uses_muon(name, parameter):
                offset = size
                for rows in split_rows(name, parameter.shape[0]):
                    self.blocks.append(Block(offset, rows, parameter.shape[1]))
                    offset += rows * parameter.shape[1]
            size += parameter.numel()
        self.muon_size = sum(b.rows * b.columns for b in self.blocks)
        # one flat buffer a kind; the parameters and their gradients are views into it,
        # the last gradient element carries rank 0's clock
        self.values = torch.empty(size)
        self.gradient = torch.zeros(size + 1)
        at = 0
        for _, parameter in named:
            end = at + parameter.numel()
            self.values[at:end] = parameter.data.flatten()
            parameter.data = self.values[at:end].view_as(parameter)
            parameter.grad = self.gradient[at:end].view_as(parameter)
            at = end
        self.momentum = torch.zeros(self.muon_size)
        self.first = torch.zeros(size - self.muon_size)
        self.second = torch.zeros(size - self.muon_size)
        self.steps = 0

    def state(self) -> dict[str, Tensor | int]:
        return {
            "momentum": self.momentum, "first": self.first, "second": self.second,
            "steps": self.steps,
        }

    def load(self, state: dict) -> None:
        self.momentum.copy_(state["momentum"])
        self.first.copy_(state["first"])
        self.second.copy_(state["second"])
        self.steps = state["steps"]

    def reduce(self, clock: float, micro_batches: int) -> tuple[float, float]:
        """Average gradients over ranks and micro-batches; (gradient norm, rank 0's clock)."""
        self.gradient[-1] = clock if self.rank == 0 else 0.0
        if self.ranks > 1:
            dist.all_reduce(self.gradient)
        clock = float(self.gradient[-1])
        self.gradient[-1] = 0.0
        self.gradient.mul_(1.0 / (self.ranks * micro_batches))
        return float(self.gradient.norm()), clock

    def step(self, norm: float, rate: float) -> None:
        """Clip to ``clip`` and update; ``norm`` must be finite."""
        self.steps += 1
        if norm > self.clip:
            self.gradient.mul_(self.clip / norm)
        self._muon(rate)
        self._adam(rate)

    def zero(self) -> None:
        self.gradient.zero_()

    def _muon(self, rate: float) -> None:
        gradient = self.gradient[: self.muon_size]
        self.momentum.lerp_(gradient, 0.05)
        wanted = gradient.lerp(self.momentum, 0.95)
        update = torch.zeros(self.muon_size)
        shapes: dict[tuple[int, int], list[Block]] = {}
        for block in self.blocks:
            shapes.setdefault((block.rows, block.columns), []).append(block)
        for (rows, columns), blocks in shapes.items():
            own = blocks[self.rank :: self.ranks]
            if not own:
                continue
            size = rows * columns
            stacked = torch.stack(
                [wanted[b.offset : b.offset + size].view(rows, columns) for b in own]
            )
            scale = max(1.0, rows / columns) ** 0.5
            for block, matrix in zip(own, orthogonalise(stacked), strict=True):
                update[block.offset : block.offset + size] = (matrix * scale).flatten()
        if self.ranks > 1:
            dist.all_reduce(update)
        self.values[: self.muon_size].add_(update, alpha=-self.muon_rate * rate)

    def _adam(self, rate: float) -> None:
        gradient = self.gradient[self.muon_size : -1]
        self.first.lerp_(gradient, 0.1)
        self.second.lerp_(gradient.square(), 0.05)
        first = self.first / (1 - 0.9**self.steps)
        second = (self.second / (1 - 0.95**self.steps)).sqrt_().add_(1e-10)
        self.values[self.muon_size :].addcdiv_(first, second, value=-self.adam_rate * rate)
