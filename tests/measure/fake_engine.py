"""A stand-in that keeps the engine's interface: tokens are a function of the prompt, time is real but next to nothing."""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque

from engine.config import ConfigError, EngineConfig
from engine.types import Request, RequestRecord, RoundRecord, StepRecord


def token_at(prompt: tuple[int, ...], index: int, noise: object = "") -> int:
    digest = hashlib.sha256(f"{prompt}|{index}|{noise}".encode()).digest()
    return 4 + int.from_bytes(digest[:2], "big") % 4000


class FakeEngine:
    """`FAKE_FAULT` = KIND or KIND:LANE makes it misbehave: boot, crash, oom, hang, refuse, refuse-warm-up, differ, config."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.gamma = 0 if config.lane == "plain" else config.block_size
        self.waiting: deque[tuple[Request, RequestRecord]] = deque()
        self.running: list[tuple[Request, RequestRecord]] = []
        self.finished: list[RequestRecord] = []
        self.steps = self.loads = 0
        self.fail("boot", lambda: os._exit(3))
        self.fail("config", lambda: self.refuse_config())
        if self.asked("no-cache") and config.radix_cache and config.device_memory:
            raise ConfigError("--radix-cache: this stand-in has none")

    def asked(self, kind: str) -> bool:
        fault, _, lane = os.environ.get("FAKE_FAULT", "").partition(":")
        return fault == kind and lane in ("", self.config.lane)

    def fail(self, kind: str, act) -> None:
        if self.asked(kind):
            act()

    def refuse_config(self) -> None:
        raise ConfigError("--block-size: 9 is above the trained 7")

    def oom(self) -> None:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried to allocate 123 bytes."
        )

    def crash(self) -> None:
        raise RuntimeError("a fault inside the engine")

    def add_request(self, request: Request) -> None:
        record = RequestRecord(request.request_id, isl=len(request.prompt_ids), queued_s=time.perf_counter())
        if self.gamma:
            record.accepted_histogram = [0] * (self.gamma + 1)
        # a load begins with a flush; the first of a boot warms it up, and with one request in flight it is r0 alone
        if self.asked("refuse-warm-up" if self.loads == 1 else "refuse") and request.request_id == ("r0" if self.loads == 1 else "r1"):
            record.finish_reason, record.end_s = "error: too long", record.queued_s
            self.finished.append(record)
            return
        self.waiting.append((request, record))

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.running or self.finished)

    def pop_finished(self) -> list[RequestRecord]:
        done, self.finished = self.finished, []
        return done

    def flush_cache(self) -> None:
        if self.running or self.waiting:
            raise RuntimeError("not idle")
        self.loads += 1

    def step(self) -> StepRecord | None:
        start = time.perf_counter()
        self.fail("oom", self.oom)
        self.fail("crash", self.crash)
        self.fail("hang", lambda: time.sleep(60))
        if self.waiting:
            return self.prefill(start)
        return self.decode(start) if self.running else None

    def record(self, kind: str, start: float, positions: int, committed: int, emitted: int) -> StepRecord:
        self.steps += 1
        third = 250 * (time.perf_counter() - start)
        return StepRecord(
            self.steps,
            kind,
            start,
            1000 * (time.perf_counter() - start),
            len(self.running),
            len(self.waiting),
            positions,
            committed,
            emitted,
            third if self.gamma and kind != "prefill" else 0.0,
            third,
            third,
            0.1,
            0.2,
            "",
        )

    def noise(self, request: Request) -> object:
        """What a token depends on beside the prompt; a broken verifier forgets the seed after the first token."""
        hot = request.sampling.temperature > 0 and not self.asked("greedy-verify")
        return request.sampling.seed if hot else ""

    def prefill(self, start: float) -> StepRecord:
        request, record = self.waiting.popleft()
        record.scheduled_s = start
        now = time.perf_counter()
        record.first_token_s = now
        self.running.append((request, record))
        self.emit(request, record, [token_at(request.prompt_ids, 0, self.noise(request))], now)
        return self.record("prefill", start, len(request.prompt_ids), 1, 1)

    def emit(self, request: Request, record: RequestRecord, tokens: list[int], now: float) -> int:
        given = tokens[: request.sampling.max_tokens - len(record.token_ids)]
        record.token_ids += given
        record.token_times_s += [now] * len(given)
        if len(record.token_ids) >= request.sampling.max_tokens:
            record.finish_reason, record.end_s = "length", now
            self.running = [pair for pair in self.running if pair[1] is not record]
            self.finished.append(record)
        return len(given)

    def decode(self, start: float) -> StepRecord:
        time.sleep(0.0002)
        now = time.perf_counter()
        rows, committed, emitted = len(self.running), 0, 0
        for request, record in list(self.running):
            at = len(record.token_ids)
            accepted = at % (self.gamma + 1) if self.gamma else 0
            tokens = [token_at(request.prompt_ids, at + i, self.noise(request)) for i in range(accepted + 1)]
            if self.asked("differ"):
                tokens[0] = 7
            committed += len(tokens)
            if self.gamma:
                record.rounds += 1
                record.drafted += self.gamma
                record.accepted += accepted
                record.accepted_histogram[accepted] += 1
            before = len(record.token_ids)
            emitted += self.emit(request, record, tokens, now)
            if request.trace:
                drafts = (*tokens[:accepted], *[9] * (self.gamma - accepted))
                given = tuple(record.token_ids[before:])
                record.trace.append(RoundRecord(start, 0.1, 0.2, 0.05, drafts, accepted, given, (0.5,) * self.gamma, (0.6,) * self.gamma))
        return self.record("round" if self.gamma else "decode", start, rows * (self.gamma + 1), committed, emitted)

    def server_info(self) -> dict:
        return {
            "lane": self.config.lane,
            "max_total_num_tokens": 1024,
            "available_mem_bytes": 1000 if self.config.device_memory else None,
            "activation_peak_bytes": 700 if self.config.device_memory else None,
            "state_slots": 8,
            "effective_max_running_requests": 8,
            "state_bytes_per_slot": 4096,
            "kv_bytes_per_token": 64,
            "gamma_trained": 7 if self.gamma else 0,
            "row_invariance": {"ok": True, "shapes": []},
        }
