"""Run the gate's configurations: one boot each, every question as often as it has seeds, raw answers as rows."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from engine import csvio
from engine.backends.base import Backend, EngineFailure
from engine.bench import gate_binding, gate_served
from engine.bench.estimate import CostModel
from engine.bench.gate_plan import ANSWER_PROMPT, ANSWER_TOKENS, GREEDY, TEXT, Config, Question, share_of
from engine.bench.gate_score import scored
from engine.bench.journal import digest
from engine.bench.rows import ended
from engine.bench.session import Session
from engine.bench.stages import Gate
from engine.config import SamplingParams
from engine.csvio import Row

PATIENCE_S = 900.0
LOGPROBS = "logprobs" in SamplingParams.__dataclass_fields__
"""Whether this engine returns log probabilities; without them nothing can be called bit-equal."""


class GateRunner:
    """Collects the rows of one gate on a session's engines, journal and ledger."""

    def __init__(self, session: Session, stage: Gate, encode: Callable[[str], Sequence[int]], decode: Callable[[Sequence[int]], str]) -> None:
        self.session, self.stage = session, stage
        self.encode, self.decode = encode, decode
        self.rows: list[Row] = []

    def run(self, config: Config, asked: Sequence[Question], left: int = 0) -> None:
        """One configuration, from the journal where it is already there. A boot or a run that fails leaves one row, which says how.

        `left`: configurations that may follow. Answers are not timed, so their processes import while this one's are given.
        """
        session = self.session
        if why := gate_served.why_not(session.campaign, config):
            self.skip(config, why)
            return
        if session.campaign.server is None:
            config = gate_binding.in_regime(config, self.stage)
        questions = share_of(config, self.stage, asked)
        key = digest([session.identity, session.campaign.identity(), config, questions, self.stage.max_concurrency])
        done = session.journal.closed(key)
        if done is not None:
            self.rows += done[-1]["rows"]
            for record in done:
                if record["kind"] == "boot" and record["info"]:
                    session.info.setdefault(record["lane"], record["info"])
            session.progress.result(f"{config.arm.label}: taken from the journal", self.planned_s(questions))
            return
        session.begin(key)
        number = session.boots
        session.boots += 1
        session.progress.cell("gate", f"boot {config.arm.label}")
        boot_id = f"gate-b{number:03d}"
        engine, started_s = self.engine(config, boot_id)
        found: list[Row] = []
        begin = time.perf_counter()
        try:
            info = engine.boot() if session.campaign.server is None else session.booted(engine, config.arm)
            boot_s = time.perf_counter() - begin
            session.served_before = True
            session.info.setdefault(config.arm.lane, info)
            record = {"kind": "boot", "number": number, "boot_id": boot_id, "label": config.arm.label, "lane": config.arm.lane, "stage": "gate"}
            session.note({**record, "seconds": started_s + boot_s, "info": info})
            if session.pool is not None:
                session.pool.ahead(left)
            for task in config.tasks:
                session.progress.cell("gate", f"{config.arm.label}: {task}")
                found += self.task(engine, config, boot_id, [one for one in questions if one.task == task])
        except EngineFailure as failure:
            if session.campaign.server is not None and failure.status in ("rejected", "skipped"):
                self.skip(config, failure.note)
            else:
                self.fail(config, failure, boot_id)
            session.cost.wasted_s += started_s + time.perf_counter() - begin
            return
        finally:
            engine.stop()
        session.cost.cells += 1
        session.cost.cell_s += time.perf_counter() - begin - boot_s
        session.cost.requests += len(found)
        session.journal.append({"kind": "closed", **session.open, "rows": found})
        self.rows += found
        session.progress.result(f"{config.arm.label}: {len(found)} answers", self.planned_s(questions))

    def engine(self, config: Config, boot_id: str) -> tuple[Backend, float]:
        """What is booted for a configuration, and what the start of its process has cost already in seconds."""
        session = self.session
        if session.campaign.server is None:
            return session.worker(config.arm, config.fault)
        return session.engine_class(session.config(config.arm), session.cpu, session.logs / boot_id, not session.served_before), 0.0

    def skip(self, config: Config, why: str) -> None:
        self.rows.append(gate_served.skipped_row(self.session.campaign, config, why))
        self.session.progress.say(f"{config.arm.label}: skipped: {why}")

    def fail(self, config: Config, failure: EngineFailure, boot_id: str) -> None:
        """What was answered before the failure is not kept: half a configuration is none."""
        about = {**self.constant(config), "boot_id": boot_id}
        self.rows.append(csvio.skipped("gate", gate_served.printable(" ".join(failure.note.split())), failure.status, **about))
        self.session.progress.say(f"{config.arm.label}: {failure.status}: {failure.note}")

    def constant(self, config: Config) -> Row:
        """Columns of every row of a configuration."""
        arm = config.arm
        machine = {name: self.session.constant[name] for name in ("campaign", "host", "device", "threads")}
        changed = ";".join(f"{name}={value}" for name, value in arm.knobs) or None
        return {**machine, "config": arm.label, "role": config.role, "lane": arm.lane, "block_size": arm.block_size, "knobs": changed}

    def planned_s(self, questions: Sequence[Question]) -> float:
        return planned_s(questions, self.stage.max_concurrency)

    def task(self, engine, config: Config, boot_id: str, questions: Sequence[Question]) -> list[Row]:
        """Every repeat of one half in one closed loop."""
        orders, meant = [], []
        for question in questions:
            for repeat, seed in enumerate(question.seeds):
                orders.append(self.order(f"r{len(orders)}", question, seed))
                meant.append((question, repeat, seed))
        if not orders:
            return []
        answer = engine.run(orders, self.stage.max_concurrency, PATIENCE_S)
        by_id = {record["request_id"]: record for record in answer["requests"]}
        # a request that was lost is no wrong answer
        lost = [record["finish_reason"] for record in answer["requests"] if not ended(record)]
        if lost:
            raise EngineFailure("crash", f"{config.arm.label}: a question was not answered: {lost[0]}")
        bound = gate_binding.bound_steps(config, answer["steps"])
        return [self.row(config, boot_id, *one, by_id[order["request_id"]]) | {"bound_steps": bound} for order, one in zip(orders, meant, strict=True)]

    def order(self, request_id: str, question: Question, seed: int) -> dict:
        ids = question.prompt if isinstance(question.prompt, tuple) else (self.session.held_out.bos, *self.encode(question.prompt))
        how = question.sampling
        more = {"logprobs": 0} if LOGPROBS and question.task == GREEDY else {}
        sampling = {"temperature": how.temperature, "top_p": how.top_p, "top_k": how.top_k, "max_tokens": question.max_tokens, "seed": seed}
        return {"request_id": request_id, "prompt_ids": ids, "sampling": {**sampling, **more}}

    def row(self, config: Config, boot_id: str, question: Question, repeat: int, seed: int, record: dict) -> Row:
        arm, settings = config.arm, self.session.config(config.arm)
        served = self.session.campaign.server is not None
        knobs = settings.settings if served else vars(settings)
        ids = record["token_ids"]
        logprobs = record.get("logprobs") or []
        # an answer over HTTP may count its rounds without saying what each of them accepted
        drafting = bool(record["accepted_histogram"]) or (served and arm.lane != "plain")
        raw: Row = {
            **self.constant(config),
            "mode": knobs.get("mode"),
            "mamba_ssm_dtype": knobs.get("mamba_ssm_dtype"),
            "boot_id": boot_id,
            "task": question.task,
            "problem": question.problem,
            "repeat": repeat,
            "temperature": question.sampling.temperature,
            "top_p": question.sampling.top_p,
            "seed": seed,
            "expected": question.expected,
            "finish_reason": record["finish_reason"],
            "isl": record["isl"],
            "osl": len(ids) if ids is not None else record["output_tokens"] or 0,
            "rounds": record["rounds"] if drafting else None,
            "drafted": record["drafted"] if drafting else None,
            "accepted": record["accepted"] if drafting else None,
            "accepted_histogram": ";".join(map(str, record["accepted_histogram"])) or None,
            "logprob_sha": hashlib.sha256(",".join(value.hex() for value in logprobs).encode()).hexdigest()[:12] if logprobs else None,
            "output_ids": None if ids is None else " ".join(map(str, ids)),
            "output": gate_served.printable(record["text"] if served else self.decode(ids)),
        }
        return scored(raw)


COSTS = CostModel()
TEXT_PROMPT = 64


def samples_s(task: str, samples: int, max_tokens: int, max_concurrency: int) -> float:
    """Rough seconds of one half, for the estimate alone: prefill, and tokens that cost more where few are decoded together."""
    prompt, tokens = (TEXT_PROMPT, max_tokens) if task == TEXT else (ANSWER_PROMPT, min(max_tokens, ANSWER_TOKENS))
    return COSTS.prefill_s(samples, prompt) + samples * tokens * (1.3 + 5.0 / max_concurrency) / 1000.0


def planned_s(questions: Sequence[Question], max_concurrency: int) -> float:
    """Rough seconds of one configuration, its boot included."""
    return COSTS.boot_s + sum(samples_s(one.task, len(one.seeds), one.max_tokens, max_concurrency) for one in questions)
