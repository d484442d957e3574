"""The engine: requests in, records out, one step at a time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence as Rows
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from engine.batch import Batch, int64, token_slots
from engine.config import ConfigError, EngineConfig, ModelConfig, SamplingParams
from engine.draft import Draft, Drafter, DraftOptions, drafter_class
from engine.draft.lengths import LengthScheduler
from engine.emission import StopStrings, end_of, record_logprobs
from engine.memory.budget import Costs, Pools, check_machine, size_pools
from engine.memory.kv_pool import KvPool
from engine.memory.limit import MemoryExhausted, ProcessMemory, allocation_failure
from engine.memory.prefix_cache import PrefixCache
from engine.memory.state_pool import StatePool
from engine.memory.storage import renew
from engine.model.checkpoint import Checkpoint
from engine.model.clock import OperatorClock
from engine.model.cost_only import weights_folder
from engine.model.layers import PrefillSpan
from engine.model.modes import fuse_drafter, make_target
from engine.model.operators import Operators
from engine.replay import replay
from engine.round import Outcome, groups, proposed
from engine.scheduler import NewTokenRatio, Scheduler, Turn
from engine.sequence import Sequence
from engine.trace import RoundStamps, round_record
from engine.types import Request, RequestRecord, StepRecord
from engine.verify import accept, cap, pick

clock = time.perf_counter

WARM_ROWS, WARM_SLOTS, WARM_TOKENS, WARM_PROMPT = 2, 10, 1024, 192
"""Sizes of the pools that exist while the weights are loaded, and of the prompts that warm the libraries up."""
EXTRA_BUFFERS = 2
"""State slots that strategy extra_buffer holds beside a request's own."""


class Engine:
    """Continuous batching over one target and, in a speculative lane, one drafter.

    Raises `ConfigError` on settings that cannot be served. A request that cannot be served ends with a
    finish reason `error: why`; the engine goes on.
    """

    def __init__(self, config: EngineConfig, memory: ProcessMemory | None = None) -> None:
        """`memory`: this process's, where it may be limited to the budget; the limit then holds until the process ends."""
        started = clock()
        config = replace(config, weights=weights_folder(config))
        model = ModelConfig.load(config.weights / "target.json")
        config.check(model)
        torch.set_num_threads(config.threads)
        self.config, self.model = config, model

        kind = drafter_class(config.lane)
        gamma = config.block_size if kind else 0
        draft_config = kind.load_config(config.weights, gamma, config.allow_untrained_gamma) if kind else None
        with torch.inference_mode():
            source = Checkpoint(config.weights / "target.safetensors")
            self.clock = OperatorClock() if config.instrument else None
            self.ops = Operators.resolve(source.take("norm.weight", model.hidden_size), self.clock)
            layers = len(model.attention_layers)
            self.kv = KvPool(
                layers + (kind.kv_layers if kind else 0), WARM_TOKENS, config.page_size, model.num_kv_heads, model.head_dim
            )
            self.states = StatePool(
                model, WARM_SLOTS, WARM_ROWS, gamma + 1 if kind else 0, getattr(torch, config.mamba_ssm_dtype), config.enable_linear_replayssm_spec
            )
            taps = kind.taps(draft_config, model) if kind else ()
            self.target = make_target(config, model, source, self.ops, self.kv, self.states, taps)
            self.drafter: Drafter | None = (
                kind(config.weights, draft_config, self.target, WARM_SLOTS + 1, layers, DraftOptions.of(config)) if kind else None
            )
            self._fused_draft_bytes = fuse_drafter(self.drafter, self.target)
            self.lengths = LengthScheduler(self.ops, config.sps_table) if config.verify_mode != "static" else None
            self.target.time_classes(config.instrument)
            self._source = source
        self.gamma = gamma
        self._sequences: dict[str, Sequence] = {}
        self._finished: list[RequestRecord] = []
        self._batch: Batch | None = None
        self._steps = 0
        self._stepping = False
        self._token_bytes: list[bytes] | None = None
        self.draft_totals = Counter()
        self.memory = memory
        costs = self._costs()
        pools = size_pools(config, costs)
        check_machine(pools, config)
        if memory:
            memory.return_freed_memory()
            self._warm_up()
            if config.device_memory:
                memory.enforce(config.device_memory - costs.weights)
        self._serve_from(pools)
        self.target.capture(min(config.cuda_graph_max_bs or pools.cap, pools.cap), gamma + 1)
        self.available_mem_bytes = memory.free_bytes() if memory else None
        if memory:
            memory.watch_peak()
        self.boot_s = clock() - started

    def _serve_from(self, pools: Pools) -> None:
        """Carve the pools and start with empty queues."""
        config = self.config
        self.pools = pools
        with torch.inference_mode():
            self._carve(pools)
        self.cache = self._prefix_cache()
        self.scheduler = Scheduler(
            self.kv, self.states, pools.cap, config.chunked_prefill_size, config.prefill_cut(self.model), self.gamma,
            NewTokenRatio(config.schedule_conservativeness), self.cache,
            buffers=EXTRA_BUFFERS if config.radix_strategy == "extra_buffer" and self.cache else 0,
        )

    def _warm_up(self) -> None:
        """Serve two requests from small pools: what libraries keep from their first call must not count against the budget."""
        self._serve_from(Pools(WARM_TOKENS, WARM_SLOTS, WARM_ROWS, "asked", 1, 0, ()))
        prompt = tuple(i % 7 + 4 for i in range(min(WARM_PROMPT, self.config.context_length // 2)))
        self.generate([Request(f"warm-up {i}", prompt[i:], SamplingParams(temperature=float(i), max_tokens=4, ignore_eos=True)) for i in range(WARM_ROWS)])
        self._batch, self._steps = None, 0
        self.draft_totals.clear()
        with torch.inference_mode():
            self._carve(Pools(self.config.page_size, 1, 0, "asked", 1, 0, ()))

    def _costs(self) -> Costs:
        drafter = self.drafter
        rows = sum(t[0].numel() * t.element_size() for t in drafter.slot_tensors) if drafter else 0
        return Costs(
            weights=self._source.bytes + self.target.repacked_bytes + (drafter.bytes if drafter else 0) + self._fused_draft_bytes,
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
        self.states.companions = self.drafter.slot_tensors if self.drafter else ()

    def _prefix_cache(self) -> PrefixCache | None:
        config = self.config
        if not config.radix_cache:
            return None
        block = math.lcm(config.page_size, config.prefill_cut(self.model))
        lookahead = self.drafter.lookahead if self.drafter else 0
        return PrefixCache(self.kv.allocator, self.states, config.page_size, block, lookahead, config.mamba_max_states_per_path)

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
        if request.sampling.stop:
            sequence.stops = StopStrings(self._token_bytes, request.sampling.stop)
        self._sequences[request.request_id] = sequence
        self.scheduler.submit(sequence)

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
        return request.sampling.fault() or self._stop_refusal(request)

    def _stop_refusal(self, request: Request) -> str | None:
        """Stop strings need the tokenizer, which is read when the first request brings some."""
        if not request.sampling.stop or self._token_bytes is not None:
            return None
        from engine.model.tokenizer import Tokenizer

        try:
            self._token_bytes = Tokenizer.load(self.config.weights).token_bytes(self.model.vocab_size)
        except ConfigError as fault:
            return f"stop strings need the tokenizer: {fault}"
        return None

    @property
    def has_work(self) -> bool:
        """Some request is queued or being served."""
        return bool(self._sequences)

    def pop_finished(self) -> list[RequestRecord]:
        """Records of requests that ended since the last call, in the order they ended."""
        finished, self._finished = self._finished, []
        return finished

    def record(self, request_id: str) -> RequestRecord | None:
        """The record of a request that is queued or being served, growing with its tokens; None when it is neither."""
        sequence = self._sequences.get(request_id)
        return sequence.record if sequence else None

    def abort(self, request_id: str) -> bool:
        """End a request and free what it holds; False when it is not being served.

        While a step runs (another thread's, say) the request is only marked: its row is dropped before the step's
        tokens are handed out, and its slot and pages are freed when the step ends.
        """
        sequence = self._sequences.get(request_id)
        if sequence is None:
            return False
        if self._stepping:
            sequence.aborted = True
            return True
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
        self.draft_totals.clear()
        if self.cache:
            self.cache.flush()
        if self.drafter:
            self.drafter.reset()

    def close(self) -> None:
        """Drop weights and pools; the engine cannot be used afterwards."""
        for name in ("target", "drafter", "kv", "states", "scheduler", "cache", "_batch", "_source", "ops"):
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
        self._stepping = True
        try:
            return self._turn(start)
        finally:
            self._stepping = False
            for sequence in [s for s in self._sequences.values() if s.aborted]:
                self._finish(sequence, "abort", clock())

    def _turn(self, start: float) -> StepRecord | None:
        turn = self.scheduler.schedule(start)
        if turn.prefill:
            return self._prefill(turn, start)
        if not self.scheduler.running:
            return None
        if turn.retracted:
            self._batch = None
        try:
            return self._round(turn, start) if self.drafter else self._decode(turn, start)
        except (RuntimeError, MemoryError) as fault:
            exhausted = allocation_failure(fault, self.memory)
            if exhausted is None:
                raise
        return self._batch_exhausted(turn, start, exhausted)

    def _round(self, turn: Turn, start: float) -> StepRecord:
        """The speculative round: draft from q, verify against p, keep the longest honest prefix, add the bonus."""
        batch = self._running_batch(turn)
        drafter, target, rule = self.drafter, self.target, self.config.accept_rule
        began = clock()
        verify_s = commit_s = 0.0

        # draft: at most gamma tokens a row from q, each row after its anchor
        draft = drafter.propose(batch, keep_logits=batch.any_sampled or batch.traced)
        widths, caps = self._widths(draft)

        outcomes: list[Outcome] = []
        for part, rows, guess, width in groups(batch, draft, widths):
            # verify: p at the anchor and after every draft, in one forward of the target
            verifying = clock()
            window = torch.cat([part.anchors[:, None], guess.ids], 1)
            logits, taps = target.window(window, part)
            verified = clock()

            # accept: c drafts and one token more, from p where all were taken, else from the residual max(p - q, 0)
            trimmed = None
            if width == 1:
                correct, bonus = torch.zeros(len(rows), dtype=torch.int64), pick(self.ops, logits[:, 0], part, part.lengths + 1)
            else:
                correct, bonus = accept(self.ops, logits, guess, part, rule)
                if caps is not None:
                    correct, bonus, trimmed = cap(guess, correct, bonus, caps)
                target.commit(part, correct)
            committed = clock()

            # the drafter learns what the target said about the committed positions
            drafter.observe(part, window, taps, correct, bonus)
            outcomes.append(Outcome(part, rows, guess, logits, correct, bonus, trimmed))
            verify_s += verified - verifying
            commit_s += committed - verified

        stamps = RoundStamps(
            start_s=began,
            draft_ms=1e3 * (clock() - began - verify_s - commit_s),
            verify_ms=1e3 * verify_s,
            commit_ms=1e3 * commit_s,
        )
        emitted, total = self._advance(batch, outcomes, stamps)
        positions = sum(outcome.logits.shape[0] * outcome.logits.shape[1] for outcome in outcomes)
        return self._record("round", turn, start, batch.rows, positions, total, emitted, stamps)

    def _widths(self, draft: Draft) -> tuple[Tensor | None, Tensor | None]:
        """(window of each row or None for the whole one, cap on each row's acceptance or None)."""
        if self.config.lane == "lookup":
            return proposed(draft) + 1, None
        if self.lengths is None:
            return None, None
        admitted = self.lengths.widths(draft.confidence)
        return (admitted, None) if self.config.verify_mode == "compact" else (None, admitted)

    def _decode(self, turn: Turn, start: float) -> StepRecord:
        """Plain decoding: the anchor of every running request, one position, one token."""
        batch = self._running_batch(turn)
        began = clock()
        logits, _ = self.target.window(batch.anchors[:, None], batch)
        decoded = clock()
        ids = pick(self.ops, logits[:, 0], batch, batch.lengths + 1)
        picked = clock()
        stamps = RoundStamps(began, draft_ms=0.0, verify_ms=1e3 * (decoded - began), commit_ms=1e3 * (picked - decoded))
        outcome = Outcome(batch, list(range(batch.rows)), None, logits, None, ids)
        emitted, total = self._advance(batch, [outcome], stamps)
        return self._record("decode", turn, start, batch.rows, batch.rows, total, emitted, stamps)

    def _prefill(self, turn: Turn, start: float) -> StepRecord:
        """Prompt stretches one after another; a prompt that ends here emits its first token."""
        began = clock()
        positions = emitted = 0
        for sequence, count in turn.prefill:
            if sequence.slot < 0:  # ended by a fault earlier in this turn
                continue
            positions += count
            try:
                emitted += self._known_tokens(sequence, count)
            except (RuntimeError, MemoryError) as fault:
                exhausted = allocation_failure(fault, self.memory)
                if exhausted is None:
                    raise
                self._finish(sequence, f"error: {exhausted}", clock())
        done = clock()
        stamps = RoundStamps(began, draft_ms=0.0, verify_ms=1e3 * (done - began), commit_ms=0.0)
        return self._record("prefill", turn, start, turn.admitted, positions, positions, emitted, stamps)

    def _known_tokens(self, sequence: Sequence, count: int) -> int:
        """Run `count` tokens of a prompt, or of what an earlier stay generated; tokens emitted at its end."""
        logits = None
        if sequence.length < sequence.isl:
            logits = self._prefill_stretch(sequence, count)
            self.scheduler.checkpoint(sequence)
        else:
            replay(self, sequence, count)
        return self._first_token(sequence, logits) if sequence.length == sequence.known else 0

    def _batch_exhausted(self, turn: Turn, start: float, exhausted: MemoryExhausted) -> StepRecord:
        """A step of the running batch ran out of memory half-way: states may be ahead of their tokens.

        The newest request ends, so that the next try is smaller; the others are rebuilt from their tokens.
        """
        running = sorted(self.scheduler.running, key=lambda s: s.arrival)
        self._finish(running[-1], f"error: {exhausted}", clock())
        others = [s for s in reversed(running[:-1]) if s in self.scheduler.running]
        for sequence in others:
            self.scheduler.retract(sequence)
        self._batch = None
        record = self._record("round" if self.drafter else "decode", turn, start, len(running), 0, 0, 0, RoundStamps(start, 0.0, 0.0, 0.0))
        return replace(record, retracted=turn.retracted + len(others), queued=len(self.scheduler.waiting), blocked_by=turn.blocked_by or ("kv_pages" if others else ""))

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

    def _first_token(self, sequence: Sequence, logits: Tensor | None) -> int:
        """The known tokens are through: emit the token after the prompt, unless an earlier stay has."""
        if sequence.record.token_ids:
            sequence.anchor = sequence.record.token_ids[-1]
            self.scheduler.start_decoding(sequence)
            self._batch = None
            return 0
        batch = self.make_batch([sequence])
        logits = logits[None]
        token = pick(self.ops, logits, batch, batch.lengths).item()
        now = clock()
        if not math.isfinite(logits.sum(dtype=torch.float32).item()):
            self._fail_non_finite(sequence, now)
            return 0
        self.scheduler.start_decoding(sequence)
        self._batch = None
        if sequence.aborted:
            return 0
        sequence.record.first_token_s = now
        return len(self._emit(sequence, [token], logits, now))

    # what a step leaves behind

    def _advance(self, batch: Batch, outcomes: Rows[Outcome], stamps: RoundStamps) -> tuple[int, int]:
        """Commit the step's tokens row by row; returns (emitted, committed) tokens over all rows."""
        sequences = list(self.scheduler.running)
        now = clock()
        emitted = committed = 0
        for outcome in outcomes:
            # NaN and infinities survive a sum, so one number a row tells whether its logits were finite
            health = outcome.logits.sum(dim=(1, 2), dtype=torch.float32).tolist()
            accepted = outcome.correct.tolist() if outcome.draft else [0] * len(outcome.rows)
            drafts = outcome.draft.ids.tolist() if outcome.draft else [[]] * len(outcome.rows)
            bonuses = outcome.bonus.tolist()
            trimmed = outcome.trimmed.tolist() if outcome.trimmed is not None else [0] * len(outcome.rows)
            for place, row in enumerate(outcome.rows):
                sequence = sequences[row]
                if sequence.aborted:
                    continue
                if not math.isfinite(health[place]):
                    self._fail_non_finite(sequence, now)
                    continue
                c = accepted[place]
                tokens = [*drafts[place][:c], bonuses[place]]
                sequence.length += c + 1
                sequence.anchor = bonuses[place]
                if outcome.draft:
                    self._count_round(sequence.record, len(drafts[place]), c, trimmed[place])
                given = self._emit(sequence, tokens, outcome.logits[place], now)
                emitted += len(given)
                committed += c + 1
                if sequence.request.trace:
                    sequence.record.trace.append(round_record(self.ops, place, c, given, outcome, stamps))
        return emitted, committed

    def _count_round(self, record: RequestRecord, drafts: int, accepted: int, trimmed: int) -> None:
        record.rounds += 1
        record.drafted += drafts
        record.accepted += accepted
        record.accepted_histogram[accepted] += 1
        record.rounds_without_draft += drafts == 0
        record.trimmed += trimmed
        self.draft_totals.update(
            rounds=1, drafted=drafts, accepted=accepted, rounds_without_draft=int(drafts == 0), trimmed=trimmed
        )

    def _emit(self, sequence: Sequence, tokens: list[int], logits: Tensor, now: float) -> list[int]:
        """Hand tokens to the client, cut where plain decoding would have stopped; logits [>= n, V] decided them."""
        record, sampling = sequence.record, sequence.request.sampling
        eos = None if sampling.ignore_eos else self.model.eos_token_id
        given: list[int] = []
        sequence.anchor = tokens[-1]
        reason = None
        for token in tokens:
            given.append(token)
            record.token_ids.append(token)
            record.token_times_s.append(now)
            reason = end_of(record, token, eos, sampling.stop_token_ids, sequence.stops, sequence.max_tokens)
            if reason:
                break
        if sampling.logprobs is not None:
            record_logprobs(record, logits, given, sampling.logprobs)
        if reason:
            self._finish(sequence, reason, now)
        return given

    def _finish(self, sequence: Sequence, reason: str, now: float) -> None:
        self.scheduler.remove(sequence)
        del self._sequences[sequence.request.request_id]
        sequence.record.finish_reason, sequence.record.end_s = reason, now
        self._finished.append(sequence.record)
        self._batch = None

    def _fail_non_finite(self, sequence: Sequence, now: float) -> None:
        self.kv.scrub(sequence.pages[sequence.shared :])
        self._finish(sequence, "error: the logits are not finite", now)

    # the batch

    def _running_batch(self, turn: Turn) -> Batch:
        if self._batch is None:
            self._batch = self.make_batch(self.scheduler.running)
        else:
            if turn.grown:
                self._batch.block_table = block_table(self.scheduler.running)
            self._moved(self._batch)
        return self._batch

    def make_batch(self, sequences: Rows[Sequence]) -> Batch:
        """Tensors of the rows; everything but anchors, lengths and token slots lives until membership changes."""
        sampling = [s.request.sampling for s in sequences]
        greedy = [p.greedy for p in sampling]
        return Batch(
            slots=int64([s.slot for s in sequences]),
            block_table=block_table(sequences),
            page_size=self.kv.page_size,
            # top_k 1 is greedy whatever the temperature, so the drafter must not sample for it either
            temperature=torch.tensor([0.0 if g else p.temperature for g, p in zip(greedy, sampling)]),
            top_k=int64([p.top_k for p in sampling]),
            top_p=torch.tensor([p.top_p for p in sampling]),
            min_p=torch.tensor([p.min_p for p in sampling]),
            seeds=int64([self.config.seed if p.seed is None else p.seed for p in sampling]),
            greedy=torch.tensor(greedy),
            any_sampled=not all(greedy),
            any_truncated=any(not g and (p.top_k > 0 or p.top_p < 1.0 or p.min_p > 0.0) for g, p in zip(greedy, sampling)),
            traced=any(s.request.trace for s in sequences),
            histories=tuple(sequences),
            **self._position(sequences),
        )

    def _moved(self, batch: Batch) -> None:
        for name, value in self._position(self.scheduler.running).items():
            setattr(batch, name, value)

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
            retracted=turn.retracted,
            padded=self.target.take_padded(),
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


def block_table(sequences: Rows[Sequence]) -> Tensor:
    """[b, P] page ids of each row, padded with 0."""
    pages = max(len(s.pages) for s in sequences)
    return int64([s.pages + [0] * (pages - len(s.pages)) for s in sequences])
