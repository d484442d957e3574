"""The engine: requests in, records out, one step at a time."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor

from engine.batch import Batch
from engine.batch_builder import BatchBuilder
from engine.boot import WARM_ROWS, WARM_SLOTS, WARM_TOKENS, boot_costs, serve_from, warm_up
from engine.config import ConfigError, EngineConfig, ModelConfig
from engine.draft import Draft, Drafter, DraftOptions, drafter_class
from engine.draft.lengths import LengthScheduler
from engine.emission import StopStrings
from engine.handout import advance
from engine.memory.budget import check_machine, size_pools
from engine.memory.kv_pool import KvPool
from engine.memory.limit import ProcessMemory, allocation_failure
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.clock import OperatorClock
from engine.model.cost_only import weights_folder
from engine.model.modes import fuse_drafter, make_target
from engine.model.operators import Operators
from engine.prompts import prefill
from engine.recovery import shrink_batch
from engine.refusal import refusal
from engine.round import Outcome, groups, proposed
from engine.scheduler import Turn
from engine.sequence import Sequence
from engine.step_record import step_record
from engine.trace import RoundStamps
from engine.types import Request, RequestRecord, StepRecord
from engine.verify import accept, cap, pick

clock = time.perf_counter


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
        self.batches = BatchBuilder(config.page_size, gamma + 1, config.seed)
        self._sequences: dict[str, Sequence] = {}
        self._finished: list[RequestRecord] = []
        self.batch: Batch | None = None
        self.steps = 0
        self._stepping = False
        self._token_bytes: list[bytes] | None = None
        self.draft_totals = Counter()
        self.accept = accept
        """The acceptance rule of a round; a cost model's may be played back (engine.bench.replayed)."""
        self.memory = memory
        costs = boot_costs(self)
        pools = size_pools(config, costs)
        check_machine(pools, config)
        if memory:
            if config.device_memory:
                memory.return_freed_memory()
            else:
                memory.keep_freed_memory()
            warm_up(self)
            if config.device_memory:
                memory.enforce(config.device_memory - costs.weights)
        serve_from(self, pools)
        self.target.capture(min(config.cuda_graph_max_bs or pools.cap, pools.cap), gamma + 1)
        self.available_mem_bytes = memory.free_bytes() if memory else None
        if memory:
            memory.watch_peak()
        self.boot_s = clock() - started

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
            self._refuse(record, reason)
            return
        room = self.config.context_length - record.isl
        sequence = Sequence(request, record, max_tokens=min(request.sampling.max_tokens, room))
        need, capacity = self.scheduler.lifetime_tokens(sequence), self.kv.tokens
        if self.kv.pages_for(need) > self.kv.allocator.pages:
            self._refuse(record, f"prompt, max_tokens and draft overhang need {need} KV tokens, the pool holds {capacity}")
            return
        if request.sampling.stop:
            sequence.stops = StopStrings(self._token_bytes, request.sampling.stop)
        self._sequences[request.request_id] = sequence
        self.scheduler.submit(sequence)

    def _refuse(self, record: RequestRecord, reason: str) -> None:
        record.finish_reason, record.end_s = f"error: {reason}", record.queued_s
        self._finished.append(record)

    def _refusal(self, request: Request) -> str | None:
        if request.request_id in self._sequences:
            return f"request id {request.request_id} is already being served"
        return refusal(request, self.config.context_length, self.model.vocab_size) or self._stop_refusal(request)

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
        self.finish(sequence, "abort", clock())
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
        self.batch = None
        self.draft_totals.clear()
        if self.cache:
            self.cache.flush()
        if self.drafter:
            self.drafter.reset()

    def close(self) -> None:
        """Drop weights and pools; the engine cannot be used afterwards."""
        for name in ("target", "drafter", "kv", "states", "scheduler", "cache", "batch", "_source", "ops"):
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
                self.finish(sequence, "abort", clock())

    def _turn(self, start: float) -> StepRecord | None:
        turn = self.scheduler.schedule(start)
        if turn.prefill:
            return prefill(self, turn, start)
        if not self.scheduler.running:
            return None
        if turn.retracted:
            self.batch = None
        try:
            return self._round(turn, start) if self.drafter else self._decode(turn, start)
        except (RuntimeError, MemoryError) as fault:
            exhausted = allocation_failure(fault, self.memory)
            if exhausted is None:
                raise
        return shrink_batch(self, turn, start, exhausted)

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
                correct, bonus = self.accept(self.ops, logits, guess, part, rule)
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
        emitted, total = advance(self, batch, outcomes, stamps)
        positions = sum(outcome.logits.shape[0] * outcome.logits.shape[1] for outcome in outcomes)
        return step_record(self, "round", turn, start, batch.rows, positions, total, emitted, stamps)

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
        emitted, total = advance(self, batch, [outcome], stamps)
        return step_record(self, "decode", turn, start, batch.rows, batch.rows, total, emitted, stamps)

    def _running_batch(self, turn: Turn) -> Batch:
        running = self.scheduler.running
        if self.batch is None:
            self.batch = self.batches.build(running)
        else:
            self.batches.move(self.batch, running, turn.grown)
        return self.batch

    def finish(self, sequence: Sequence, reason: str, now: float) -> None:
        """End a request that is queued or being served: free what it holds, hand its record out."""
        self.scheduler.remove(sequence)
        del self._sequences[sequence.request.request_id]
        sequence.record.finish_reason, sequence.record.end_s = reason, now
        self._finished.append(sequence.record)
        self.batch = None

    # facts

    def server_info(self) -> dict:
        """Facts of this boot: settings, what they came to, sizes, and the row-invariance self-test."""
        from engine.facts import server_info  # keeps the step loop's file about the step loop

        return server_info(self)
