"""One case of the ledger: figures in, the division and its verdict out.

Times in milliseconds; τ in tokens a round (bonus included), so that with one draft of acceptance p, τ = 1 + p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workflow.derive import division
from workflow.derive.ledger.acceptance import Acceptance
from workflow.derive.ledger.rulers import Mismatch

VERDICTS = ("pays", "loses", "never pays", "open")


@dataclass(frozen=True)
class Entry:
    """Inputs of one case. `verify_ms` is None before a kernel exists; then only the break-even is known."""

    name: str
    decode_ms: float
    """T_decode: one plain step of one request, wall clock."""
    tau: float
    draft_ms: float
    verify_ms: float | None = None
    gamma: int = 1
    commit_ms: float = 0.0
    other_ms: float = 0.0
    """What a plain token costs outside its blocks."""
    round_other_ms: float | None = None
    """What a round costs outside its blocks; None: `other_ms` for each of its tokens."""
    measured_tok_s: float | None = None
    content: str = ""
    acceptance: Acceptance | None = None
    mismatches: tuple[Mismatch, ...] = ()
    predicted_speedup: float | None = None
    """A prediction made elsewhere, out of sample; None: the division of these figures."""

    @cached_property
    def token_ms(self) -> float:
        """Time of one token of plain decoding."""
        return self.decode_ms + self.other_ms

    @cached_property
    def break_even_ms(self) -> float:
        """The most that verification may cost."""
        return division.break_even_verify(self.tau, self.decode_ms, self.other_ms, self.draft_ms, self.commit_ms, self.round_other_ms)

    @property
    def break_even_steps(self) -> float:
        return self.break_even_ms / self.decode_ms

    @property
    def verify_steps(self) -> float | None:
        """How many decode steps one verification costs."""
        return None if self.verify_ms is None else self.verify_ms / self.decode_ms

    @cached_property
    def speedup(self) -> float | None:
        """Time of a token of plain decoding over that of speculation."""
        if self.predicted_speedup is not None:
            return self.predicted_speedup
        if self.verify_ms is None:
            return None
        return self.at(self.tau)

    def at(self, tau: float) -> float:
        """The speedup at another τ, everything else as it is."""
        return division.speedup(tau, self.decode_ms, self.other_ms, self.draft_ms, self.verify_ms, self.commit_ms, self.round_other_ms)

    @property
    def tok_s(self) -> float | None:
        return None if self.speedup is None else self.speedup * 1000 / self.token_ms

    @property
    def tau_needed(self) -> float | None:
        """The τ at which this verification breaks even; None when every token costs more outside than it gains."""
        if self.verify_ms is None:
            return None
        fixed = self.draft_ms + self.verify_ms + self.commit_ms + (self.round_other_ms or 0.0)
        gain = self.token_ms if self.round_other_ms is not None else self.decode_ms
        return fixed / gain

    @property
    def forwards_bound(self) -> float:
        """The speedup of a perfect guess whose γ + 1 positions cost γ + 1 forwards: below one, whatever the acceptance."""
        passes = self.gamma + 1
        return division.speedup(passes, self.decode_ms, self.other_ms, self.draft_ms, passes * self.decode_ms, self.commit_ms)

    @property
    def never(self) -> bool:
        """No acceptance repays this verification: at γ accepted drafts every round it still loses."""
        return self.verify_ms is not None and self.at(self.gamma + 1) <= 1

    @property
    def verdict(self) -> str:
        if self.speedup is None:
            return "open"
        if self.never:
            return "never pays"
        return "pays" if self.speedup > 1 else "loses"

    @property
    def gap_percent(self) -> float | None:
        """Prediction over measurement, less one."""
        if self.tok_s is None or self.measured_tok_s is None:
            return None
        return (self.tok_s / self.measured_tok_s - 1) * 100

    def as_dict(self) -> dict:
        """Everything that is known, for JSON."""
        row = {
            "name": self.name,
            "content": self.content or None,
            "gamma": self.gamma,
            "tau": self.tau,
            "decode_ms": self.decode_ms,
            "draft_ms": self.draft_ms,
            "verify_ms": self.verify_ms,
            "commit_ms": self.commit_ms,
            "verify_steps": self.verify_steps,
            "break_even_ms": self.break_even_ms,
            "break_even_steps": self.break_even_steps,
            "forwards_bound": self.forwards_bound,
            "tau_needed": self.tau_needed,
            "predicted_speedup": self.speedup,
            "predicted_tok_s": self.tok_s,
            "measured_tok_s": self.measured_tok_s,
            "gap_percent": self.gap_percent,
            "verdict": self.verdict,
            "mismatches": [mismatch.as_dict() for mismatch in self.mismatches],
        }
        return row | ({"acceptance": self.acceptance.as_dict()} if self.acceptance else {})
