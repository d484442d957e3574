"""Where a memory budget ends: free memory after boot over several boots, the largest fraction that still serves, and the step to search in.

A fraction is served when a hostile load (long prompts, all at once) runs to its end. The boundary of a real limit moves a
little from boot to boot, so a search must not step finer than what the boots themselves disagree about.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.arguments import Parser
from engine.backends.base import EngineFailure
from engine.backends.embedded import EmbeddedBackend
from engine.config import WEIGHTS, ConfigError, EngineConfig, parse_size

BOOTS = 5
FINEST_STEP = 0.01
RUN_TIMEOUT_S = 300.0


def search_step(free_bytes: Sequence[int], device_memory: int) -> float:
    """Step of a search over mem_fraction_static: 0.01, or twice the spread of free memory over boots where that is more."""
    return max(FINEST_STEP, 2 * (max(free_bytes) - min(free_bytes)) / device_memory)


def free_over_boots(config: EngineConfig, boots: int = BOOTS, backend: Callable[..., EmbeddedBackend] = EmbeddedBackend) -> list[int]:
    """available_mem_bytes of `boots` fresh processes. EngineFailure where a boot dies."""
    free = []
    for _ in range(boots):
        with backend(config) as engine:
            free.append(engine.boot()["available_mem_bytes"])
    return free


def serves(config: EngineConfig, requests: list[dict], max_concurrency: int, backend: Callable[..., EmbeddedBackend] = EmbeddedBackend) -> tuple[bool, str]:
    """Whether a fresh boot serves the load; otherwise why not, `oom at boot` or `oom in the load` with the bytes."""
    with backend(config) as engine:
        stage = "at boot"
        try:
            engine.boot()
            stage = "in the load"
            engine.run(requests, max_concurrency, RUN_TIMEOUT_S)
        except EngineFailure as failure:
            if failure.status != "oom":
                raise
            return False, f"oom {stage}: {failure.note}"
    return True, "served"


def largest_fraction(
    config: EngineConfig, requests: list[dict], max_concurrency: int, low: float, high: float, step: float,
    backend: Callable[..., EmbeddedBackend] = EmbeddedBackend,
) -> tuple[float, list[tuple[float, str]]]:
    """Bisection over mem_fraction_static on multiples of `step` between `low`, which serves, and `high`; the boundary and what was tried."""
    tried: list[tuple[float, str]] = []
    good, bad = 0, round((high - low) / step) + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        fraction = round(low + middle * step, 6)
        ok, why = serves(replace(config, mem_fraction_static=fraction), requests, max_concurrency, backend)
        tried.append((fraction, why))
        good, bad = (middle, bad) if ok else (good, middle)
    return round(low + good * step, 6), tried


def hostile_requests(count: int, length: int, max_tokens: int, vocabulary: int = 4096) -> list[dict]:
    """Prompts that share nothing, so that neither cache nor repetition helps."""
    return [
        {
            "request_id": f"r{i}",
            "prompt_ids": [4 + (7919 * i + 31 * j * (i + 1)) % (vocabulary - 4) for j in range(length)],
            "sampling": {"max_tokens": max_tokens, "ignore_eos": True},
        }
        for i in range(count)
    ]


def main(argv: list[str] | None = None) -> int:
    p = Parser(prog="python -m engine.bench.boundary", description=__doc__.split("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--device-memory", default="256M", metavar="SIZE", help="budget of each boot")
    p.add_argument("--mem-fraction-static", type=float, default=0.8, metavar="F", help="fraction of the boots that are compared, and the lowest one searched")
    p.add_argument("--lane", default="dspark", help="lane of the boots")
    p.add_argument("--block-size", type=int, default=3, metavar="N", help="tokens drafted a round")
    p.add_argument("--weights", type=Path, default=WEIGHTS, metavar="DIR", help="weights folder")
    p.add_argument("--boots", type=int, default=BOOTS, metavar="N", help="boots, and boundaries where --search is given")
    p.add_argument("--search", action="store_true", help="also find the largest fraction that serves the hostile load, once a boot")
    p.add_argument("--requests", type=int, default=4, metavar="N", help="hostile prompts, all at once")
    p.add_argument("--isl", type=int, default=4096, metavar="N", help="their length in tokens")
    p.add_argument("--chunked-prefill-size", type=int, default=4096, metavar="N", help="prompt tokens a prefill turn takes")
    args = p.parse_args(argv)
    try:
        config = EngineConfig(
            weights=args.weights, lane=args.lane, block_size=args.block_size, device_memory=parse_size(args.device_memory),
            mem_fraction_static=args.mem_fraction_static, chunked_prefill_size=args.chunked_prefill_size, radix_cache=False, max_running_requests=8,
        )
        free = free_over_boots(config, args.boots)
        step = search_step(free, config.device_memory)
        report: dict = {"available_mem_bytes": free, "step": step}
        if args.search:
            load = hostile_requests(args.requests, args.isl, 8)
            ok, why = serves(config, load, args.requests)
            if not ok:
                raise ConfigError(f"--mem-fraction-static {args.mem_fraction_static}: does not serve the load ({why}); a search begins where it does, name a lower one")
            found = [largest_fraction(config, load, args.requests, args.mem_fraction_static, 1.0, step) for _ in range(args.boots)]
            report |= {"boundaries": [fraction for fraction, _ in found], "tried": [tried for _, tried in found]}
    except ConfigError as fault:
        print(f"engine.bench.boundary: {fault}", file=sys.stderr)
        return 2
    except EngineFailure as fault:
        print(f"engine.bench.boundary: {fault.status}: {fault.note}", file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
