"""The engine: requests in, records out, one step at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence as Rows
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from engine.batch import Batch, int64, token_slots
from engine.config import EngineConfig, ModelConfig
from engine.draft import Draft, Drafter, drafter_class
from engine.memory.budget import Costs, Pools, check_machine, size_pools
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.memory.storage import renew
from engine.model.checkpoint import Checkpoint
from engine.model.clock import OperatorClock
from engine.model.cost_only import weights_folder
from engine.model.layers import PrefillSpan
from engine.model.modes import make_target
from engine.model.operators import Operators
from engine.scheduler import Scheduler, Sequence, Turn
from engine.trace import RoundStamps, round_record
from engine.types import Request, RequestRecord, StepRecord
from engine.verify import accept, pick

clock = time.perf_counter

WARM_ROWS, WARM_TOKENS = 2, 512
"""Sizes of the pools that exist while the weights are loaded."""


class Engine:
    """Continuous batching over one target and, in a speculative lane, one drafter.

    Raises `ConfigError` on settings that cannot be served. A request that cannot be served ends with a
    finish reason `error: why`; the engine goes on.
    """

    def __init__(self, config: EngineConfig) -> None:
        started = clock()
        config = replace(config, weights=weights_folder(config))
        model = ModelConfig.load(config.weights / "target.json")
        config.check(model)
        torch.set_num_threads(config.threads)
        self.config, self.model = config, model

        kind = drafter_class(config.lane)
        gamma = config.block_size if kind else 0
        draft_config = kind.load_config(config.weights, gamma) if kind else None
        with torch.inference_mode():
            source = Checkpoint(config.weights / "target.safetensors")
            self.clock = OperatorClock() if config.instrument else None
            self.ops = Operators.resolve(source.take("norm.weight", model.hidden_size), self.clock)
            layers = len(model.attention_layers)
            self.kv = KvPool(
                layers + (1 if kind else 0), WARM_TOKENS, config.page_size, model.num_kv_heads, model.head_dim
            )
            self.states = StatePool(model, WARM_ROWS, WARM_ROWS, gamma + 1 if kind else 0, getattr(torch, config.mamba_ssm_dtype))
            taps = kind.taps(draft_config, model) if kind else ()
            self.target = make_target(config, model, source, self.ops, self.kv, self.states, taps)
            self.drafter: Drafter | None = (
                kind(config.weights, draft_config, gamma, self.target, WARM_ROWS + 1, layers) if kind else None
            )
            self.target.time_classes(config.instrument)
            self._source = source
            self.pools = size_pools(config, self._costs())
            check_machine(self.pools, config)
            self._carve(self.pools)
        self.gamma = gamma
        self.scheduler = Scheduler(
            self.kv, self.states, self.pools.cap, config.chunked_prefill_size, config.prefill_cut(model), gamma
        )
        self._sequences: dict[str, Sequence] = {}
        self._finished: list[RequestRecord] = []
        self._batch: Batch | None = None
        self._steps = 0
        self.boot_s = clock() - started

    def _costs(self) -> Costs:
        drafter = self.drafter
        rows = sum(t[0].numel() * t.element_size() for t in drafter.slot_tensors) if drafter else 0
        return Costs(
            weights=self._source.bytes + self.target.repacked_bytes + (drafter.bytes if drafter else 0),
            slot=self.states.bytes_per_slot + rows,
            window=self.states.bytes_per_window,
            token=self.kv.bytes_per_token,
        )

    def _carve(self, pools: Pools) -> None:
        """Memory for the pools in place of the small ones that the weights were loaded beside."""
        self.kv.carve(pools.tokens)
        self.states.carve(pools.state_slots, pools.cap)
        for rows in self.drafter.slot_tensors if self.drafter else ():
            renew(rows, (pools.state_slots + 1, *rows.shape[1:]))

    @property
    def effective_max_running_requests(self) -> int:
        return self.pools.cap

    # requests in and out

    def add_request(self, request: Request) -> None:
        """Queue a request. One that can never be served is finished at once with the reason."""
        record = RequestRecord(request.request_id, isl=len(request.prompt_ids), queued_s=clock())
        if self.gamma:
            record.accepted_histogram = [0] * (self.gamma + 1)
        reason = self._refusal(request)
        if reason:
            record.finish_reason, record.end_s = f"error: {reason}", record.queued_s
            self._finished.append(record)
            return
        room = self.config.context_length - record.isl
        sequence = Sequence(request, record, max_tokens=min(request.sampling.max_tokens, room))
        need, capacity = self.scheduler.lifetime_tokens(sequence), self.kv.tokens
        if self.kv.pages_for(need) > self.kv.allocator.pages:
            record.finish_reason = (
                f"error: prompt, max_tokens and draft overhang need {need} KV tokens, the pool holds {capacity}"
            )
            record.end_s = record.queued_s
            self._finished.append(record)
            return
        self._sequences[request.request_id] = sequence
        self.scheduler.waiting.append(sequence)

    def _refusal(self, request: Request) -> str | None:
        ids, limit = request.prompt_ids, self.config.context_length
        if request.request_id in self._sequences:
            return f"request id {request.request_id} is already being served"
        if not ids:
            return "the prompt is empty; it must have at least one token"
        if len(ids) >= limit:
            return f"the prompt has {len(ids)} tokens, the context length {limit} leaves room for {limit - 1}"
        if min(ids) < 0 or max(ids) >= self.model.vocab_size:
            return f"a prompt token id is outside 0..{self.model.vocab_size - 1}"
        return request.sampling.fault()

    @property
    def has_work(self) -> bool:
        """Some request is queued or being served."""
        return bool(self._sequences)

    def pop_finished(self) -> list[RequestRecord]:
        """Records of requests that ended since the last call, in the order they ended."""
        finished, self._finished = self._finished, []
        return finished

    def abort(self, request_id: str) -> bool:
        """End a request between two steps and free what it holds; False when it is not being served."""
        sequence = self._sequences.get(request_id)
        if sequence is None:
            return False
        self._finish(sequence, "abort", clock())
        return True

    def generate(self, requests: list[Request]) -> list[RequestRecord]:
        """Serve a list to its end; records in the order asked. Other clients' records stay to be popped."""
        wanted = {request.request_id for request in requests}
        if len(wanted) != len(requests):
            raise ValueError("generate: request ids must be distinct")
        for request in requests:
            self.add_request(request)
        done: dict[str, RequestRecord] = {}
        others: list[RequestRecord] = []
        while len(done) < len(requests):
            for record in self.pop_finished():
                if record.request_id in wanted:
                    done[record.request_id] = record
                else:
                    others.append(record)
            if len(done) < len(requests):
                self.step()
        self._finished = others + self._finished
        return [done[request.request_id] for request in requests]

    @torch.inference_mode()
    def flush_cache(self) -> None:
        """Forget everything earlier requests left behind; RuntimeError while requests are being served."""
        if self._sequences:
            raise RuntimeError(f"flush_cache: {len(self._sequences)} requests are being served; drain or abort them first")
        self._batch = None
        if self.drafter:
            self.drafter.reset()

    def close(self) -> None:
        """Drop weights and pools; the engine cannot be used afterwards."""
        for name in ("target", "drafter", "kv", "states", "scheduler", "_batch", "_source", "ops"):
            setattr(self, name, None)
        self._sequences.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # the step loop

    @torch.inference_mode()
    def step(self) -> StepRecord | None:
        """Run one turn: prompt stretches if any are due, else one decode step or round of all running requests."""
        start = clock()
        turn = self.scheduler.schedule(start)
        if turn.prefill:
            return self._prefill(turn, start)
        if not self.scheduler.running:
            return None
        return self._round(turn, start) if self.drafter else self._decode(turn, start)

    def _round(self, turn: Turn, start: float) -> StepRecord:
        """The speculative round: draft from q, verify against p, keep the longest honest prefix, add the bonus."""
        batch = self._running_batch()
        drafter, target = self.drafter, self.target

        # draft: gamma tokens a row from q, each row after its anchor
        began = clock()
        draft = drafter.propose(batch, keep_logits=batch.any_sampled or batch.traced)
        drafted = clock()

        # verify: p at the anchor and after every draft, in one forward of the target
        window = torch.cat([batch.anchors[:, None], draft.ids], 1)
        logits, taps = target.window(window, batch)
        verified = clock()

        # accept: c drafts and one token more, from p where all were taken, else from the residual max(p - q, 0)
        correct, bonus = accept(self.ops, logits, draft, batch)
        target.commit(batch, correct)
        committed = clock()

        # the drafter learns what the target said about the committed positions
        drafter.observe(batch, window, taps, correct, bonus)
        learned = clock()

        stamps = RoundStamps(
            start_s=began,
            draft_ms=1e3 * (drafted - began + learned - committed),
            verify_ms=1e3 * (verified - drafted),
            commit_ms=1e3 * (committed - verified),
        )
        emitted, total = self._advance(batch, draft, logits, correct, bonus, stamps)
        rows = batch.rows
        return self._record("round", turn, start, rows, rows * (self.gamma + 1), total, emitted, stamps)

    def _decode(self, turn: Turn, start: float) -> StepRecord:
        """Plain decoding: the anchor of every running request, one position, one token."""
        batch = self._running_batch()
        began = clock()
        logits, _ = self.target.window(batch.anchors[:, None], batch)
        decoded = clock()
        ids = pick(self.ops, logits[:, 0], batch, batch.lengths + 1)
        picked = clock()
        stamps = RoundStamps(began, draft_ms=0.0, verify_ms=1e3 * (decoded - began), commit_ms=1e3 * (picked - decoded))
        emitted, total = self._advance(batch, None, logits, None, ids, stamps)
        return self._record("decode", turn, start, batch.rows, batch.rows, total, emitted, stamps)

    def _prefill(self, turn: Turn, start: float) -> StepRecord:
        """Prompt stretches one after another; a prompt that ends here emits its first token."""
        began = clock()
        positions = emitted = 0
        for sequence, count in turn.prefill:
            positions += count
            logits = self._prefill_stretch(sequence, count)
            if logits is not None:
                emitted += self._first_token(sequence, logits)
        done = clock()
        stamps = RoundStamps(began, draft_ms=0.0, verify_ms=1e3 * (done - began), commit_ms=0.0)
        return self._record("prefill", turn, start, turn.admitted, positions, positions, emitted, stamps)

    def _prefill_stretch(self, sequence: Sequence, count: int) -> Tensor | None:
        prompt, at = sequence.request.prompt_ids, sequence.length
        end = at + count
        span = PrefillSpan(
            start=at,
            slot=sequence.slot,
            pages=int64(sequence.pages),
            kv_slots=int64(token_slots(sequence.pages, at, count, self.kv.page_size)),
            page_size=self.kv.page_size,
        )
        ids = int64(prompt[at:end])
        logits, taps = self.target.prefill(ids, span, last=end == len(prompt))
        if self.drafter:
            self.drafter.prefill(ids, taps, int64(prompt[at + 1 : end + 1]), span)
        sequence.length = end
        return logits

    def _first_token(self, sequence: Sequence, logits: Tensor) -> int:
        batch = self._make_batch([sequence])
        logits = logits[None]
        token = pick(self.ops, logits, batch, batch.lengths).item()
        now = clock()
        if not math.isfinite(logits.sum(dtype=torch.float32).item()):
            self._fail_non_finite(sequence, now)
            return 0
        sequence.record.first_token_s = now
        self.scheduler.start_decoding(sequence)
        self._batch = None
        return len(self._emit(sequence, [token], now))

    # what a step leaves behind

    def _advance(
        self, batch: Batch, draft: Draft | None, logits: Tensor, correct: Tensor | None, bonus: Tensor, stamps: RoundStamps
    ) -> tuple[int, int]:
        """Commit the step's tokens row by row; returns (emitted, committed) tokens over all rows."""
        # NaN and infinities survive a sum, so one number a row tells whether its logits were finite
        health = logits.sum(dim=(1, 2), dtype=torch.float32).tolist()
        accepted = correct.tolist() if draft else [0] * batch.rows
        drafts = draft.ids.tolist() if draft else [[]] * batch.rows
        bonuses = bonus.tolist()
        now = clock()
        emitted = committed = 0
        for row, sequence in enumerate(list(self.scheduler.running)):
            if not math.isfinite(health[row]):
                self._fail_non_finite(sequence, now)
                continue
            c = accepted[row]
            tokens = [*drafts[row][:c], bonuses[row]]
            sequence.length += c + 1
            sequence.anchor = bonuses[row]
            if draft:
                record = sequence.record
                record.rounds += 1
                record.drafted += self.gamma
                record.accepted += c
                record.accepted_histogram[c] += 1
            given = self._emit(sequence, tokens, now)
            emitted += len(given)
            committed += c + 1
            if sequence.request.trace:
                sequence.record.trace.append(round_record(self.ops, row, c, given, draft, logits, batch, stamps))
        if self._batch is batch:
            self._batch = self._moved(batch)
        return emitted, committed

    def _emit(self, sequence: Sequence, tokens: list[int], now: float) -> list[int]:
        """Hand tokens to the client, cut where plain decoding would have stopped."""
        record, sampling = sequence.record, sequence.request.sampling
        given: list[int] = []
        sequence.anchor = tokens[-1]
        for token in tokens:
            given.append(token)
            record.token_ids.append(token)
            record.token_times_s.append(now)
            ended = token == self.model.eos_token_id and not sampling.ignore_eos
            if ended or token in sampling.stop_token_ids:
                self._finish(sequence, "stop", now)
                break
            if len(record.token_ids) >= sequence.max_tokens:
                self._finish(sequence, "length", now)
                break
        return given

    def _finish(self, sequence: Sequence, reason: str, now: float) -> None:
        self.scheduler.remove(sequence)
        del self._sequences[sequence.request.request_id]
        sequence.record.finish_reason, sequence.record.end_s = reason, now
        self._finished.append(sequence.record)
        self._batch = None

    def _fail_non_finite(self, sequence: Sequence, now: float) -> None:
        self.kv.scrub(sequence.pages)
        self._finish(sequence, "error: the logits are not finite", now)

    # the batch

    def _running_batch(self) -> Batch:
        if self._batch is None:
            self._batch = self._make_batch(self.scheduler.running)
        return self._batch

    def _make_batch(self, sequences: Rows[Sequence]) -> Batch:
        """Tensors of the rows; everything but anchors, lengths and token slots lives until membership changes."""
        pages = max(len(s.pages) for s in sequences)
        sampling = [s.request.sampling for s in sequences]
        greedy = [p.greedy for p in sampling]
        return Batch(
            slots=int64([s.slot for s in sequences]),
            block_table=int64([s.pages + [0] * (pages - len(s.pages)) for s in sequences]),
            page_size=self.kv.page_size,
            # top_k 1 is greedy whatever the temperature, so the drafter must not sample for it either
            temperature=torch.tensor([0.0 if g else p.temperature for g, p in zip(greedy, sampling)]),
            top_k=int64([p.top_k for p in sampling]),
            top_p=torch.tensor([p.top_p for p in sampling]),
            seeds=int64([self.config.seed if p.seed is None else p.seed for p in sampling]),
            greedy=torch.tensor(greedy),
            any_sampled=not all(greedy),
            any_truncated=any(not g and (p.top_k > 0 or p.top_p < 1.0) for g, p in zip(greedy, sampling)),
            traced=any(s.request.trace for s in sequences),
            **self._position(sequences),
        )

    def _moved(self, batch: Batch) -> Batch:
        for name, value in self._position(self.scheduler.running).items():
            setattr(batch, name, value)
        return batch

    def _position(self, sequences: Rows[Sequence]) -> dict[str, Tensor]:
        size, width = self.kv.page_size, self.gamma + 1
        slots = [token_slots(s.pages, s.length - 1, width + 1, size) for s in sequences]
        return {
            "anchors": int64([s.anchor for s in sequences]),
            "lengths": int64([s.length for s in sequences]),
            "window_slots": int64([slot for row in slots for slot in row[1:]]),
            "previous_slots": int64([row[0] for row in slots]),
        }

    # facts

    def _record(
        self, kind: str, turn: Turn, start: float, running: int, positions: int, committed: int, emitted: int, stamps: RoundStamps
    ) -> StepRecord:
        self._steps += 1
        return StepRecord(
            step=self._steps,
            kind=kind,
            start_s=start,
            step_ms=1e3 * (clock() - start),
            running=running,
            queued=turn.queued,
            positions=positions,
            committed=committed,
            emitted=emitted,
            draft_ms=stamps.draft_ms,
            verify_ms=stamps.verify_ms,
            commit_ms=stamps.commit_ms,
            kv_usage=turn.kv_usage,
            state_usage=turn.state_usage,
            blocked_by=turn.blocked_by,
            operator_ms=self._operator_ms(),
        )

    def _operator_ms(self) -> dict[str, float] | None:
        """Where the step's time went by operator class; None unless the boot is instrumented."""
        if self.clock is None:
            return None
        spent = self.clock.take()
        for kind, ms in self.target.class_ms().items():
            spent[kind] = spent.get(kind, 0.0) + ms
        return spent

    def server_info(self) -> dict:
        """Facts of this boot: settings, what they came to, sizes, and the row-invariance self-test."""
        from engine.facts import server_info  # keeps the step loop's file about the step loop

        return server_info(self)
