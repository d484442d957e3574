"""One boot: a child process with one engine, pinned to one CPU. It reads orders and writes answers, a JSON object a line.

Orders: `ready`, `boot` {config, fault, cpu}, `run` {requests, max_concurrency, trace, due_s}, `probe` {cpu}, and in place of a boot `verify_cost` {words};
the end of the input ends the process.
Answers: {"ok": ...} or {"error": kind, "message": ...}.
Before the first order everything is imported that an engine needs, nothing of it before the thread count is fixed. The boot may
be pinned to another CPU than the imports were: it comes before the first weight is read and the first pool is made.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from engine.bench import probe
from engine.bench.client import LoopResult, closed_loop, open_loop
from engine.config import ConfigError, EngineConfig, SamplingParams
from engine.memory.limit import ProcessMemory, allocation_failure
from engine.types import Request, RequestRecord, StepRecord
from engine.uncollected import uncollected

Order = dict[str, Any]
MakeEngine = Callable[[EngineConfig], Any]
OUT_OF_MEMORY = "out of memory"
"""In the finish reason of a request that an allocation failure ended."""


def real_engine() -> MakeEngine:
    """Imports what an engine needs; returns what makes one."""
    import torch

    from engine.engine import Engine

    def make(config: EngineConfig) -> Engine:
        torch.set_num_threads(config.threads)
        return Engine(config, ProcessMemory())

    return make


def error_kind(error: BaseException) -> str:
    """oom or crash, as the points' status says it."""
    return "oom" if allocation_failure(error) else "crash"


def request_of(order: Order, trace: bool) -> Request:
    sampling = SamplingParams(**order["sampling"])
    more = {"trace": True} if trace else {}
    return Request(order["request_id"], tuple(order["prompt_ids"]), sampling, **more)


def memory_now(engine: Any) -> dict:
    """What the process knows about its memory after a load."""
    info = engine.server_info()
    return {name: info.get(name) for name in ("available_mem_bytes", "activation_peak_bytes")}


def request_answer(record: RequestRecord, start: float) -> dict:
    def after(stamp: float | None) -> float | None:
        return None if stamp is None else stamp - start

    return {
        "request_id": record.request_id,
        "isl": record.isl,
        "token_ids": record.token_ids,
        "queued_s": after(record.queued_s),
        "scheduled_s": after(record.scheduled_s),
        "first_token_s": after(record.first_token_s),
        "end_s": after(record.end_s),
        # tokens of one round share a stamp: an emission
        "emissions_s": [after(stamp) for stamp in sorted(set(record.token_times_s))],
        "rounds": record.rounds,
        "drafted": record.drafted,
        "accepted": record.accepted,
        "accepted_histogram": record.accepted_histogram,
        "finish_reason": record.finish_reason,
        "cached_tokens": record.cached_tokens,
        "retractions": record.retractions,
        "logprobs": getattr(record, "logprobs", None),
        "trace": [{**asdict(one), "start_s": one.start_s - start} for one in record.trace],
    }


def step_answer(step: StepRecord, start: float) -> dict:
    return {**asdict(step), "start_s": step.start_s - start}


def run_answer(result: LoopResult) -> dict:
    return {
        "duration_s": result.end_s - result.start_s,
        "requests": [request_answer(record, result.start_s) for record in result.requests],
        "steps": [step_answer(step, result.start_s) for step in result.steps],
        "arrivals_s": {name: due - result.start_s for name, due in result.arrivals.items()},
    }


class Worker:
    """Carries out orders on one engine."""

    def __init__(self, make_engine: MakeEngine) -> None:
        self.make_engine = make_engine
        self.engine: Any = None

    def ready(self, order: Order) -> dict:
        """Processor time so far, which is that of the imports, and when they were done, on the clock that all processes share."""
        return {"cpu_s": time.process_time(), "at_s": time.monotonic()}

    def boot(self, order: Order) -> dict:
        pin(order.get("cpu"))
        config = dict(order["config"])
        if order.get("fault"):
            from engine.bench import faults

            faults.install(order["fault"])
        self.engine = self.make_engine(EngineConfig(**{**config, "weights": Path(config["weights"])}))
        gc.collect()
        gc.freeze()
        return self.engine.server_info()

    def run(self, order: Order) -> dict:
        requests = [request_of(one, order.get("trace", False)) for one in order["requests"]]
        self.engine.flush_cache()
        # a collection in the middle of a cell is not the engine's time
        gc.collect()
        gc.disable()
        try:
            due = order.get("due_s")
            result = (
                closed_loop(self.engine, requests, order["max_concurrency"])
                if due is None
                else open_loop(self.engine, requests, due, order["max_concurrency"])
            )
        finally:
            gc.enable()
        for record in result.requests:
            # the engine goes on after such a request; the load it belonged to has not fitted
            if record.finish_reason and OUT_OF_MEMORY in record.finish_reason:
                raise MemoryError(record.finish_reason)
        return {**run_answer(result), **memory_now(self.engine)}

    def probe(self, order: Order) -> dict:
        """Also without an engine, and then on the processor that the order names."""
        pin(order.get("cpu"))
        return probe.measure()

    def verify_cost(self, order: Order) -> dict:
        from engine.bench import verify_cost

        return {"rows": [asdict(row) for row in verify_cost.asked(verify_cost.parser().parse_args(order["words"]))]}

    def answer(self, order: Order) -> dict:
        """Out of memory is an answer; every other fault of the engine ends the process with a traceback."""
        try:
            return {"ok": getattr(self, order["order"])(order)}
        except ConfigError as error:
            return {"error": "config", "message": str(error)}
        except (MemoryError, RuntimeError) as error:
            if error_kind(error) != "oom":
                raise
            return {"error": "oom", "message": " ".join(str(error).split())}


def pin(cpu: int | None) -> None:
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def serve(worker: Worker, orders: TextIO, answers: TextIO) -> None:
    """Answer until the input ends."""
    for line in orders:
        answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
        answers.flush()


def main(imports: Callable[[], MakeEngine] = real_engine, argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine.bench.worker", description="One engine process of a measurement; started by engine.sweep and engine.search."
    )
    parser.add_argument("--cpu", type=int, help="processor to pin this process to, until its boot names another; not pinned when absent")
    args = parser.parse_args(argv)
    pin(args.cpu)
    # Ctrl-C at a terminal reaches every process of it; the command decides what becomes of this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # whatever a library prints must not reach the pipe of answers
    answers = os.fdopen(os.dup(1), "w", encoding="utf8")
    os.dup2(2, 1)
    with uncollected():
        make_engine = imports()
    serve(Worker(make_engine), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # the answers are out, and taking an engine apart object by object costs a tenth of a boot
    os._exit(code)
