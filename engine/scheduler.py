"""Continuous batching: first come first served admission, chunked prefill, retraction, and why the queue's head waits."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from engine.memory.kv_pool import KvPool
from engine.memory.prefix_cache import PrefixCache
from engine.memory.state_pool import StatePool
from engine.new_token_ratio import NewTokenRatio
from engine.sequence import Sequence


@dataclass(frozen=True)
class Turn:
    """What one step runs: stretches of known tokens, or the running batch when there are none."""

    prefill: tuple[tuple[Sequence, int], ...]
    """Sequences with the number of tokens to run now; prompt tokens, or generated ones that are replayed."""
    blocked_by: str
    """cap, state_slots, kv_pages, new_token_reserve, prefill_budget: why the queue's head stays; empty when nothing waits."""
    queued: int
    admitted: int
    retracted: int
    grown: bool
    """Some running request got more pages."""
    kv_usage: float
    """Shares of the pools that requests use while the step runs, 0..1; cached prefixes nobody reads do not count."""
    state_usage: float


class Scheduler:
    """Known tokens go first, one turn at a time; all requests past theirs share every decode step.

    A request is admitted with the pages of its known tokens; pages for new tokens are taken as they come. When
    none is left, cached prefixes go first, then the newest running request is retracted: it loses what
    it holds, keeps its place at the head of the queue, and is replayed later. The oldest is never
    retracted, so every request ends.
    """

    def __init__(
        self, kv: KvPool, states: StatePool, cap: int, prefill_budget: int, cut: int, gamma: int, ratio: NewTokenRatio, cache: PrefixCache | None,
        buffers: int = 0,
    ) -> None:
        """`cut`: prompts are cut at multiples of it; `buffers`: state slots held beside a request's own."""
        self.kv, self.states, self.cache = kv, states, cache
        self.cap, self.prefill_budget, self.cut, self.window = cap, prefill_budget, cut, gamma + 1
        self.ratio, self.buffers = ratio, buffers
        self.waiting: deque[Sequence] = deque()
        self.prefilling: list[Sequence] = []
        self.running: list[Sequence] = []
        self._arrivals = 0

    def submit(self, sequence: Sequence) -> None:
        """Queue a new request."""
        self._arrivals += 1
        sequence.arrival = self._arrivals
        self.waiting.append(sequence)

    @property
    def admitted(self) -> int:
        return len(self.prefilling) + len(self.running)

    def lifetime_tokens(self, sequence: Sequence) -> int:
        """KV tokens the request can touch at most, rejected drafts after its last token included."""
        return sequence.isl + sequence.max_tokens + self.window - 1

    def schedule(self, now: float) -> Turn:
        """Choose the next step; admits from the queue while everything needed is free."""
        if not self.admitted:
            self.ratio.reset()
        budget = self.prefill_budget
        turn: list[tuple[Sequence, int]] = []
        for sequence in self.prefilling:
            budget = self._take(sequence, budget, turn)
        blocked = ""
        while self.waiting:
            blocked = self._admit(self.waiting[0], budget, now)
            if blocked:
                break
            budget = self._take(self.prefilling[-1], budget, turn)
        retracted, grown = 0, False
        if not turn and self.running:
            retracted, grown = self._grow()
            self.ratio.decay()
            if retracted:
                blocked = blocked or "kv_pages"
        return Turn(tuple(turn), blocked, len(self.waiting), self.admitted, retracted, grown, self.kv_usage, self.state_usage)

    # what a turn runs

    def _take(self, sequence: Sequence, budget: int, turn: list[tuple[Sequence, int]]) -> int:
        """Give a request as much of the budget as fits: its prompt up to the next pause, then what is replayed."""
        at = sequence.length
        while at < sequence.known and budget > 0:
            goal = next(place for place in (*sequence.pauses, sequence.isl, sequence.known) if place > at)
            count = goal - at
            if count > budget:
                count = budget if at >= sequence.isl else (at + budget) // self.cut * self.cut - at
            if count <= 0:
                return 0
            turn.append((sequence, count))
            at, budget = at + count, budget - count
        return budget

    # admission

    def _admit(self, sequence: Sequence, budget: int, now: float) -> str:
        """Move the head of the queue to the prefilling ones, or say what is missing."""
        if self.admitted >= self.cap:
            return "cap"
        node, matched = self.cache.match(sequence.request.prompt_ids) if self.cache else (None, 0)
        if self.cache:
            self.cache.lock(node)
            node.pins += 1
        obstacle = self._obstacle(sequence, node, budget)
        if not obstacle:
            self.waiting.popleft()
            self._occupy(sequence, node, matched)
            if sequence.record.scheduled_s is None:
                sequence.record.scheduled_s = now
            self.prefilling.append(sequence)
        if self.cache:
            node.pins -= 1
            if obstacle:
                self.cache.unlock(node)
        return obstacle

    def _obstacle(self, sequence: Sequence, node, budget: int) -> str:
        cache = self.cache
        if self.states.free_count + (cache.evictable_slots if cache else 0) < 1 + self.buffers:
            return "state_slots"
        shared = node.depth * cache.pages_per_block if cache else 0
        available = self.kv.allocator.free_count + (cache.evictable_pages if cache else 0)
        own = self._pages_now(sequence) - shared
        if own > available:
            return "kv_pages"
        reserve = self._pages_expected(sequence) - self._pages_now(sequence)
        reserve += sum(max(0, self._pages_expected(s) - len(s.pages)) for s in (*self.prefilling, *self.running))
        if own + reserve > available:
            return "new_token_reserve"
        left = sequence.known - (node.depth * cache.block if cache else 0)
        return "prefill_budget" if budget < min(self.cut, left) else ""

    def _pages_now(self, sequence: Sequence) -> int:
        return self.kv.pages_for(min(self.lifetime_tokens(sequence), sequence.known + self.window))

    def _pages_expected(self, sequence: Sequence) -> int:
        to_come = sequence.max_tokens - len(sequence.record.token_ids)
        tokens = sequence.known + math.ceil(self.ratio.of(sequence) * to_come) + self.window
        return self.kv.pages_for(min(self.lifetime_tokens(sequence), tokens))

    def _occupy(self, sequence: Sequence, node, matched: int) -> None:
        """Slots and pages for the request, from the prefix cache where it has them."""
        cache = self.cache
        sequence.slot = self._slot()
        sequence.buffers = [self._slot() for _ in range(self.buffers)]
        sequence.length, sequence.shared = 0, 0
        if cache:
            hit = node.depth * cache.block
            if hit:
                self.states.copy(node.slot, sequence.slot)
            sequence.node, sequence.length = node, hit
            sequence.pages, sequence.shared = cache.pages_of(node), node.depth * cache.pages_per_block
            last = cache.deepest(sequence.request.prompt_ids) * cache.block
            sequence.pauses = tuple(sorted({place for place in (matched, last) if place > hit}))
            if not sequence.record.retractions:
                sequence.record.cached_tokens = hit
                cache.lookups += 1
                cache.hits += hit > 0
        if not sequence.length:
            self.states.clear(sequence.slot)
        count = self._pages_now(sequence) - sequence.shared
        room = self.kv.pages_for(self.lifetime_tokens(sequence)) - count - sequence.shared
        sequence.pages = sequence.pages + self._pages(count, room, sequence)

    def _slot(self) -> int:
        slot = self.states.take()
        if slot is None:
            self.cache.evict_slot()
            slot = self.states.take()
        return slot

    def _pages(self, count: int, room: int, owner: Sequence) -> list[int]:
        self._make_room(count)
        return self.kv.allocator.allocate(count, room, owner)

    def _make_room(self, count: int) -> None:
        missing = count - self.kv.allocator.free_count
        if missing > 0:
            self.cache.evict_pages(missing)

    # running out

    def _grow(self) -> tuple[int, bool]:
        """Pages for the next step of every running request; retracts the newest ones until they suffice."""
        retracted = 0
        while True:
            needs = [(s, self.kv.pages_for(s.length + self.window) - len(s.pages)) for s in self.running]
            missing = sum(need for _, need in needs if need > 0)
            available = self.kv.allocator.free_count + (self.cache.evictable_pages if self.cache else 0)
            if missing <= available:
                break
            if len(self.running) == 1:
                raise RuntimeError(f"the KV pool of {self.kv.allocator.pages} pages cannot hold one request that admission let in")
            self.retract(max(self.running, key=lambda s: s.arrival))
            retracted += 1
        if retracted:
            self.ratio.raise_after(self.running)
        for sequence, need in needs:
            if need > 0:
                self._make_room(need)
                sequence.pages += self.kv.allocator.extend(sequence.pages[-1], need)
        return retracted, missing > 0

    def retract(self, sequence: Sequence) -> None:
        """Take everything from a request and put it back at the head of the queue; its tokens so far are kept."""
        self._leave(sequence)
        self._release(sequence)
        sequence.record.retractions += 1
        self.waiting.appendleft(sequence)

    # checkpoints

    def checkpoint(self, sequence: Sequence) -> None:
        """Prefill stands at `sequence.length`: keep the state for the prefix cache where its block ends here."""
        cache, at = self.cache, sequence.length
        if not cache or at % cache.block or at > cache.deepest(sequence.request.prompt_ids) * cache.block or at <= sequence.node.depth * cache.block:
            return
        if not self.states.finite(sequence.slot):
            return
        if self.buffers:
            self._track(sequence, at)
        else:
            self._share(sequence, at)
            if sequence.node.slot < 0 and cache.room_on_path(sequence.node) and (self.states.free_count or cache.evict_slot()):
                slot = self.states.take()
                self.states.copy(sequence.slot, slot)
                cache.keep(sequence.node, slot)

    def _track(self, sequence: Sequence, at: int) -> None:
        """extra_buffer: states wait in the request's own buffers, the two newest of them, until the prompt is done."""
        used = [buffer for _, buffer in sequence.tracked]
        free = [buffer for buffer in sequence.buffers if buffer not in used]
        buffer = free[0] if free else sequence.tracked.pop(0)[1]
        self.states.copy(sequence.slot, buffer)
        sequence.tracked.append((at, buffer))

    def _share(self, sequence: Sequence, at: int) -> None:
        """Hand the pages of the prompt up to `at` to the prefix cache; the request reads them from there."""
        end = at // self.kv.page_size
        own = sequence.pages[sequence.shared : end]
        sequence.node, pages = self.cache.insert(sequence.node, sequence.request.prompt_ids, at, own)
        sequence.pages[sequence.shared : end] = pages
        sequence.shared = end

    def start_decoding(self, sequence: Sequence) -> None:
        """The known tokens are through: join the running batch; buffered checkpoints become the prefix cache's."""
        self.prefilling.remove(sequence)
        self.running.append(sequence)
        for at, buffer in sequence.tracked:
            self._share(sequence, at)
            if sequence.node.slot < 0 and self.cache.room_on_path(sequence.node):
                sequence.buffers.remove(buffer)
                self.cache.keep(sequence.node, buffer, pinned=True)
                sequence.pinned.append(sequence.node)
        sequence.tracked = []

    # leaving

    def remove(self, sequence: Sequence) -> None:
        """Forget a request wherever it is and free what it holds."""
        self._leave(sequence)
        self._release(sequence)

    def _leave(self, sequence: Sequence) -> None:
        for queue in (self.waiting, self.prefilling, self.running):
            if sequence in queue:
                queue.remove(sequence)

    def _release(self, sequence: Sequence) -> None:
        if sequence.slot < 0:
            return
        for slot in (sequence.slot, *sequence.buffers):
            self.states.release(slot)
        self.kv.allocator.release(sequence.pages[sequence.shared :])
        self.kv.allocator.unclaim(sequence)
        for node in sequence.pinned:
            self.cache.unpin(node)
        if self.cache:
            self.cache.unlock(sequence.node)
        sequence.slot, sequence.pages, sequence.shared, sequence.node = -1, [], 0, None
        sequence.buffers, sequence.tracked, sequence.pinned, sequence.pauses = [], [], [], ()
        sequence.length, sequence.anchor = 0, -1

    # use of the pools

    @property
    def kv_usage(self) -> float:
        """Share of KV pages that requests read or write."""
        return (self.kv.allocator.used_count - (self.cache.evictable_pages if self.cache else 0)) / self.kv.allocator.pages

    @property
    def state_usage(self) -> float:
        """Share of state slots that requests hold, their pinned checkpoints included."""
        used = self.states.slots - self.states.free_count
        return (used - (self.cache.evictable_slots if self.cache else 0)) / self.states.slots
