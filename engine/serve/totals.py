"""What a server has done since it started, and since its cache was flushed."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from engine.types import RequestRecord, StepRecord

RECENT_STEPS = 40
"""Decode steps behind `last_gen_throughput`, as in SGLang's log interval."""


@dataclass
class Totals:
    """Counters never go back; the ones under `since_flush` do, as SGLang's do."""

    steps: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    running: int = 0
    queued: int = 0
    kv_usage: float = 0.0
    state_usage: float = 0.0
    rounds_since_flush: int = 0
    committed_since_flush: int = 0
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=RECENT_STEPS))

    def step(self, step: StepRecord | None) -> None:
        """Take one engine step in."""
        if step is None:
            return
        self.steps += 1
        self.running, self.queued = step.running, step.queued
        self.kv_usage, self.state_usage = step.kv_usage, step.state_usage
        self.generation_tokens += step.emitted
        if step.kind != "prefill":
            self.recent.append((step.step_ms / 1e3, step.emitted))
        if step.kind == "round":
            self.rounds_since_flush += step.running
            self.committed_since_flush += step.committed

    def idle(self) -> None:
        """Nothing runs and nothing waits; what the prefix cache keeps is not in use."""
        self.running = self.queued = 0
        self.kv_usage = self.state_usage = 0.0

    def finish(self, record: RequestRecord) -> None:
        """Take one ended request in."""
        self.prompt_tokens += record.isl
        self.rounds += record.rounds
        self.drafted += record.drafted
        self.accepted += record.accepted
        self.finished[(record.finish_reason or "abort").split(":", 1)[0]] += 1

    def flush(self) -> None:
        self.rounds_since_flush = self.committed_since_flush = 0
        self.recent.clear()

    @property
    def last_gen_throughput(self) -> float:
        """Tokens a second over the latest decode steps."""
        seconds = sum(s for s, _ in self.recent)
        return sum(tokens for _, tokens in self.recent) / seconds if seconds else 0.0

    @property
    def accept_length(self) -> float | None:
        """Committed tokens a round since the flush, bonus included; None before the first round."""
        return self.committed_since_flush / self.rounds_since_flush if self.rounds_since_flush else None


def prometheus(totals: Totals, ready: bool) -> str:
    """The counters in Prometheus' text format, version 0.0.4."""
    lines: list[str] = []

    def metric(name: str, kind: str, text: str, *samples: tuple[str, float]) -> None:
        lines.extend((f"# HELP soundings_{name} {text}", f"# TYPE soundings_{name} {kind}"))
        lines.extend(f"soundings_{name}{labels} {value:.17g}" for labels, value in samples)

    metric("ready", "gauge", "1 once a token has been generated.", ("", ready))
    metric("running_requests", "gauge", "Requests in the latest step.", ("", totals.running))
    metric("queued_requests", "gauge", "Requests waiting for admission after the latest step.", ("", totals.queued))
    metric("kv_usage_ratio", "gauge", "Share of the KV pool in use.", ("", totals.kv_usage))
    metric("state_usage_ratio", "gauge", "Share of the state slots in use.", ("", totals.state_usage))
    metric("steps_total", "counter", "Engine steps.", ("", totals.steps))
    metric("prompt_tokens_total", "counter", "Prompt tokens of ended requests.", ("", totals.prompt_tokens))
    metric("generation_tokens_total", "counter", "Tokens given to clients.", ("", totals.generation_tokens))
    reasons = [(f'{{reason="{reason}"}}', count) for reason, count in sorted(totals.finished.items())]
    metric("requests_total", "counter", "Ended requests by finish reason.", *reasons)
    metric("spec_rounds_total", "counter", "Rounds of ended requests.", ("", totals.rounds))
    metric("spec_draft_tokens_total", "counter", "Drafts that were verified.", ("", totals.drafted))
    metric("spec_accepted_tokens_total", "counter", "Drafts that were accepted.", ("", totals.accepted))
    return "\n".join(lines) + "\n"
