"""Records that cross module borders inside the engine and reach the measuring scripts.

Times are `time.perf_counter()` seconds of one process (one wall clock); durations in CSVs are derived from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.config import SamplingParams


@dataclass(frozen=True)
class Request:
    """What a client asks for: prompt ids [isl] and how to sample."""

    request_id: str
    prompt_ids: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    trace: bool = False
    """Keep a `RoundRecord` of every round; costs extra softmaxes, so throughput runs leave it off."""


@dataclass(frozen=True)
class RoundRecord:
    """One draft and verification of one request: the rows of `trace.csv`."""

    start_s: float
    draft_ms: float
    verify_ms: float
    commit_ms: float
    drafted: tuple[int, ...]
    accepted: int
    """c, accepted drafts; the round commits c + 1 tokens with the bonus."""
    emitted: tuple[int, ...]
    """What the user got: the committed tokens cut at EOS, a stop or max_tokens."""
    draft_probs: tuple[float, ...] = ()
    target_probs: tuple[float, ...] = ()


@dataclass
class RequestRecord:
    """The life of one request. `accepted_histogram[c]` counts rounds that accepted c drafts."""

    request_id: str
    isl: int
    token_ids: list[int] = field(default_factory=list)
    queued_s: float = 0.0
    scheduled_s: float | None = None
    first_token_s: float | None = None
    end_s: float | None = None
    token_times_s: list[float] = field(default_factory=list)
    """One stamp an emitted token; tokens of one round share a stamp."""
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    """Drafts the target verified for this request, and those it accepted."""
    accepted_histogram: list[int] = field(default_factory=list)
    rounds_without_draft: int = 0
    """Rounds of width 1: the drafter had nothing to propose, or the length scheduler admitted nothing."""
    trimmed: int = 0
    """Drafts that were accepted and given up again because of a length cap."""
    finish_reason: str | None = None
    """`stop` (EOS, stop token or stop string), `length`, `abort`, or `error: why`."""
    matched_stop: str | None = None
    """The stop string that ended the text; it is still in `token_ids`."""
    logprobs: list[float] = field(default_factory=list)
    """One an emitted token, if asked for."""
    top_logprobs: list[list[tuple[int, float]]] = field(default_factory=list)
    """For each emitted token the likeliest ids with their logprobs, falling; ties by lower id."""
    trace: list[RoundRecord] = field(default_factory=list)
    cached_tokens: int | None = None
    """Prompt tokens that the prefix cache gave at the first admission; None without a cache."""
    retractions: int = 0
    """Times the request lost its memory to older ones and was replayed."""

    @property
    def osl(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True)
class StepRecord:
    """One engine iteration over the batch: the rows of `steps_X.csv`."""

    step: int
    kind: str
    """`prefill`, `decode` (one position a request) or `round` (draft, verify, commit)."""
    start_s: float
    step_ms: float
    running: int
    queued: int
    positions: int
    """Positions the target verified, the sum of the rows' windows, or prompt tokens in a prefill."""
    committed: int
    """Tokens committed over all rows, bonus included."""
    emitted: int
    draft_ms: float
    verify_ms: float
    commit_ms: float
    kv_usage: float
    """Share of the KV pool in use, 0..1."""
    state_usage: float
    """Share of the state slots in use, 0..1."""
    blocked_by: str = ""
    """Why the head of the queue was not admitted: cap, state_slots, kv_pages, new_token_reserve, prefill_budget, or empty."""
    padded: int = 0
    """Positions the target ran for nobody: a batch filled up to its captured bucket."""
    operator_ms: dict[str, float] | None = None
    """Wall time by operator class, in an instrumented boot only; its sum leaves out what happens between operators."""
    retracted: int = 0
    """Requests that lost their memory in this step; they wait to be replayed."""
