"""Accepted counts of real rounds, played back in the rounds of a model whose text means nothing.

A model with random weights has times and no acceptance. With the counts that a trained model's rounds had, its speculative loop
drafts, verifies and commits as a loop with that acceptance would, and a throughput comes out. Such a row is simulated: nobody
has seen this model accept anything.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from engine import csvio
from engine.batch import Batch
from engine.config import ConfigError
from engine.draft.base import Draft
from engine.model.operators import Operators

POINTS, STEPS = "sweep_window.csv", "steps_window.csv"


@dataclass(frozen=True)
class AcceptanceTrace:
    """`counts`: accepted drafts of one round each, in a fixed shuffled order; `source` names the rows they come from."""

    gamma: int
    counts: tuple[int, ...]
    source: str

    @property
    def tokens_per_round(self) -> float:
        """Mean commit length: accepted drafts and the bonus."""
        return 1 + sum(self.counts) / len(self.counts)


def read_trace(folder: Path, gamma: int, seed: int = 0) -> AcceptanceTrace:
    """The rounds of a campaign's DSpark cells of block size `gamma`, one request at a time, all contents together.

    A step with one running request committed its accepted drafts and the bonus. ConfigError where the files are missing or hold no such round.
    """
    try:
        points = csvio.read("points", folder / POINTS)
        packed = folder / f"{STEPS}.gz"
        content = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / STEPS).read_bytes()
        steps = csvio.parse("steps", content, STEPS)
    except OSError as fault:
        raise ConfigError(f"acceptance {folder}: {fault.filename}: {fault.strerror}; expected {POINTS} and {STEPS} of a measured campaign") from None
    except csvio.TableError as fault:
        raise ConfigError(f"acceptance {folder}: {fault}") from None
    wanted = {
        row["run_id"] for row in points
        if row["status"] == "ok" and (row["stage"], row["lane"], row["mode"], row["block_size"]) == ("window", "dspark", "eager", gamma)
    }
    counts = [row["committed"] - 1 for row in steps if row["run_id"] in wanted and row["kind"] == "round" and row["running"] == 1]
    if not counts:
        raise ConfigError(f"acceptance {folder}: {POINTS} and {STEPS} hold no round of lane dspark with block size {gamma}")
    if not all(0 <= count <= gamma for count in counts):
        raise ConfigError(f"acceptance {folder}: {STEPS}: a round committed {max(counts) + 1} tokens, block size {gamma} allows 1 to {gamma + 1}")
    # neighbours in the file are of one text; a short visit must meet them all
    random.Random(seed).shuffle(counts)
    return AcceptanceTrace(gamma, tuple(counts), f"{folder.name}/{STEPS}")


@dataclass
class ReplayedAcceptance:
    """Stands in for `engine.verify.accept` of one engine: the same operators run, then the next counts of the trace are taken."""

    trace: AcceptanceTrace
    at: int = field(default=0)

    def __call__(self, ops: Operators, logits: Tensor, draft: Draft, batch: Batch, rule: str = "chain") -> tuple[Tensor, Tensor]:
        best = ops.row_argmax(logits)
        ops.greedy_accept(draft.ids, best)
        counts = self.trace.counts
        correct = torch.tensor([counts[(self.at + row) % len(counts)] for row in range(batch.rows)])
        self.at += batch.rows
        return correct, best.gather(1, correct[:, None])[:, 0]
