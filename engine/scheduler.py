"""Continuous batching: first come first served admission, chunked prefill, and why the queue's head waits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.emission import StopStrings
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.types import Request, RequestRecord


@dataclass(eq=False)
class Sequence:
    """A request on its way through the engine."""

    request: Request
    record: RequestRecord
    max_tokens: int
    """Asked-for tokens, or fewer where the context length ends first."""
    slot: int = -1
    pages: list[int] = field(default_factory=list)
    length: int = 0
    """Tokens whose state and keys are committed; while decoding, the anchor's position."""
    anchor: int = -1
    stops: StopStrings | None = None
    aborted: bool = False
    """Its client left while a step was running; it goes before its tokens do."""

    @cached_property
    def _prompt(self) -> np.ndarray:
        return np.array(self.request.prompt_ids, dtype=np.int64)

    def tokens(self) -> np.ndarray:
        """Prompt and emitted tokens, int64 [n]."""
        return np.concatenate([self._prompt, np.array(self.record.token_ids, dtype=np.int64)])

    @property
    def prompt_done(self) -> bool:
        return self.length >= len(self.request.prompt_ids)


@dataclass(frozen=True)
class Turn:
    """What one step runs: stretches of prompts, or the running batch when there are none."""

    prefill: tuple[tuple[Sequence, int], ...]
    """Sequences with the number of prompt tokens to run now."""
    blocked_by: str
    """cap, state_slots, kv_pages, prefill_budget: why the queue's head stays; empty when nothing waits."""
    queued: int
    admitted: int
    kv_usage: float
    """Shares of the pools in use while the step runs, 0..1; requests that end in it still count."""
    state_usage: float


class Scheduler:
    """Prompts go first, one turn at a time; all requests past their prompt share every decode step.

    A request is admitted with the pages of its whole life (prompt, max_tokens and γ tokens of overhang), so
    a running request never runs out of memory.
    """

    def __init__(self, kv: KvPool, states: StatePool, cap: int, prefill_budget: int, chunk: int, gamma: int) -> None:
        self.kv, self.states = kv, states
        self.cap, self.prefill_budget, self.chunk, self.gamma = cap, prefill_budget, chunk, gamma
        self.waiting: deque[Sequence] = deque()
        self.prefilling: list[Sequence] = []
        self.running: list[Sequence] = []

    @property
    def admitted(self) -> int:
        return len(self.prefilling) + len(self.running)

    def lifetime_tokens(self, sequence: Sequence) -> int:
        """KV tokens the request can touch at most, rejected drafts after its last token included."""
        return len(sequence.request.prompt_ids) + sequence.max_tokens + self.gamma

    def schedule(self, now: float) -> Turn:
        """Choose the next step; admits from the queue while everything needed is free."""
        budget = self.prefill_budget
        turn: list[tuple[Sequence, int]] = []
        for sequence in self.prefilling:
            budget = self._take(sequence, budget, turn)
        blocked = ""
        while self.waiting:
            blocked = self._obstacle(self.waiting[0], budget)
            if blocked:
                break
            sequence = self._admit(now)
            budget = self._take(sequence, budget, turn)
        return Turn(tuple(turn), blocked, len(self.waiting), self.admitted, self.kv.usage, self.states.usage)

    def _take(self, sequence: Sequence, budget: int, turn: list[tuple[Sequence, int]]) -> int:
        """Give a prompt as much of the budget as fits; a cut falls on a multiple of the KDA chunk."""
        left = len(sequence.request.prompt_ids) - sequence.length
        count = left if left <= budget else (sequence.length + budget) // self.chunk * self.chunk - sequence.length
        if count <= 0:
            return 0
        turn.append((sequence, count))
        return budget - count

    def _obstacle(self, sequence: Sequence, budget: int) -> str:
        if self.admitted >= self.cap:
            return "cap"
        if self.states.free_count == 0:
            return "state_slots"
        if self.kv.pages_for(self.lifetime_tokens(sequence)) > self.kv.allocator.free_count:
            return "kv_pages"
        if budget < min(self.chunk, len(sequence.request.prompt_ids)):
            return "prefill_budget"
        return ""

    def _admit(self, now: float) -> Sequence:
        sequence = self.waiting.popleft()
        sequence.slot = self.states.acquire()
        sequence.pages = self.kv.allocator.allocate(self.kv.pages_for(self.lifetime_tokens(sequence)))
        sequence.record.scheduled_s = now
        self.prefilling.append(sequence)
        return sequence

    def start_decoding(self, sequence: Sequence) -> None:
        self.prefilling.remove(sequence)
        self.running.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Forget a request wherever it is and free what it holds."""
        for queue in (self.waiting, self.prefilling, self.running):
            if sequence in queue:
                queue.remove(sequence)
        if sequence.slot >= 0:
            self.states.release(sequence.slot)
            self.kv.allocator.release(sequence.pages)
            sequence.slot, sequence.pages = -1, []
