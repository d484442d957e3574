"""What every drafter offers the step loop."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from torch import Tensor

from engine.batch import Batch
from engine.config import DraftConfig, ModelConfig
from engine.model.layers import PrefillSpan


@dataclass(frozen=True)
class Draft:
    """One block of guesses for each row."""

    ids: Tensor
    """[b, γ] int64."""
    logits: Tensor | None
    """[b, γ, V] float32, the law the ids were drawn from before the temperature; None when nobody will read it."""


class Drafter(Protocol):
    """Guesses γ tokens a row after its anchor, from the target's tapped residuals.

    The engine calls `prefill` for each stretch of a prompt, then in every round `propose` before the target's
    window and `observe` after acceptance. State of a request lives under its state slot and in the KV
    pool's extra layers at the request's own token slots; nothing is kept by batch row.
    """

    gamma: int
    gamma_trained: int
    keys: Tensor
    values: Tensor
    parameters: int
    bytes: int
    linears: list
    lookahead: int
    """Prompt tokens after position t that the keys and values at t depend on."""

    @property
    def slot_tensors(self) -> tuple[Tensor, ...]:
        """What a request leaves under its state slot: tensors [slots, ...], copied wherever its state is copied."""

    @staticmethod
    def load_config(weights: Path, gamma: int) -> DraftConfig:
        """The drafter's config; `ConfigError` when γ is not one it can draft."""

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        """Target layers whose residual output it reads, 0-based."""

    def prefill(self, ids: Tensor, taps: Tensor, next_ids: Tensor, span: PrefillSpan) -> None:
        """ids [T] with taps [T, m d]; next_ids [T'] are the tokens that follow, T' = T or T - 1 at the prompt's end."""

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        """γ guesses a row for positions lengths + 1 .. lengths + γ."""

    def observe(self, batch: Batch, window: Tensor, taps: Tensor, correct: Tensor, bonus: Tensor) -> None:
        """After a round: window [b, W] ids, taps [b, W, m d], accepted count c [b] and bonus id [b]."""

    def reset(self) -> None:
        """Forget every request."""
