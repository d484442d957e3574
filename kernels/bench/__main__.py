"""Parity and time of each operator against its reference; one JSON object a line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import torch

from kernels.bench.cases import CASES, Case, Inputs
from kernels.bench.contenders import compiled, fla, sdpa
from kernels.bench.kda_layer import kda_layer
from kernels.bench.sizes import SIZES, Size
from kernels.bench.timing import measure
from kernels.registry import backends, choose, load


def call_of(op: str, implementation: Callable[..., Any], case: Case) -> Callable[[], Any]:
    """The timed call. In-place operators write into clones, so that one backend does not see another's work."""
    if op == "linear":
        project = implementation(*case.args)
        return lambda: project(case.kwargs["x"])
    args = list(case.args)
    for position in case.written:
        args[position] = args[position].clone()
    if not case.written:
        return lambda: implementation(*args, **case.kwargs)

    def run() -> tuple[torch.Tensor, ...]:
        implementation(*args, **case.kwargs)
        return tuple(args[position] for position in case.written)

    return run


def tensors(result: Any) -> list[torch.Tensor]:
    """All tensors of a result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in tensors(item)]
    return []


def largest_error(result: Any, wanted: Any) -> float:
    """Largest absolute difference over all outputs; infinite if a shape differs or a number is missing."""
    worst = 0.0
    for ours, reference in zip(tensors(result), tensors(wanted)):
        if ours.numel() != reference.numel():
            return float("inf")
        difference = (ours.double().reshape(-1) - reference.double().reshape(-1)).abs()
        worst = max(worst, float(difference.max()) if difference.numel() else 0.0)
    return worst


def operator_rows(op: str, size: Size, device: torch.device, repeats: int, extra: bool) -> Iterator[dict[str, Any]]:
    """One row a backend of `op`, the reference first."""
    case = CASES[op](Inputs(size, device))
    chosen = choose(op, torch.zeros(1, device=device))[0]
    names = [name for name in ("reference", *backends(op)) if name != "triton" or chosen == "triton"]
    names = list(dict.fromkeys(name for name in names if name != "cpu" or device.type == "cpu"))
    wanted, reference_us = None, None
    calls = [(name, call_of(op, load(op, name), case)) for name in names]
    if extra:
        calls += [found for contender in (sdpa, fla, compiled) if (found := contender(op, case))]
    for name, call in calls:
        result = call()
        if wanted is None:
            wanted = [tensor.clone() for tensor in tensors(result)]
        timing = measure(call, device, repeats, warmup=max(2, repeats // 5))
        reference_us = reference_us or timing.median_us
        yield {
            "row": "operator",
            "operator": op,
            "backend": name,
            "chosen": name == chosen,
            "size": size.name,
            "device": device_name(device),
            "max_abs_error": largest_error(result, wanted),
            "speedup": reference_us / timing.median_us,
            **asdict(timing),
        }


def layer_rows(size: Size, device: torch.device, repeats: int) -> Iterator[dict[str, Any]]:
    """Cost of a KDA layer at 1 .. W positions, and the ratio to one position, for both recurrences."""
    for label, recurrence in (("chosen", None), ("reference", "reference")):
        windows = sorted({1, 2, size.window, 8}) if size.name != "small" else [1, size.window]
        layers = {window: kda_layer(Inputs(size, device), window, recurrence) for window in windows}
        # Interleaved, so that a slow spell of the machine falls on every window alike.
        samples: dict[int, list[float]] = {window: [] for window in windows}
        for _ in range(5):
            for window, layer in layers.items():
                samples[window].append(measure(layer, device, max(1, repeats // 5), warmup=2).median_us)
        one = sorted(samples[1])[2]
        for window in windows:
            median = sorted(samples[window])[2]
            yield {
                "row": "kda_layer",
                "recurrence": label,
                "size": size.name,
                "device": device_name(device),
                "positions": window,
                "median_us": median,
                "ratio_to_one_position": median / one,
            }


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def usable(name: str) -> torch.device | None:
    """The device of that name; None, after a line that says why, where no row can be timed on it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        print(f"--device {name}: expected cpu, cuda or cuda:N (ROCm devices are called cuda, too)", file=sys.stderr)
        return None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        print(f"--device {name}: torch sees {torch.cuda.device_count() or 'no'} CUDA or ROCm device; use --device cpu", file=sys.stderr)
        return None
    return device


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.bench", description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="small", help="problem size (default: small, a smoke test)")
    parser.add_argument("--device", default="cpu", help="torch device to run on (default: cpu)")
    parser.add_argument("--operator", action="append", metavar="NAME", help="only this operator, or kda_layer (repeatable; default: all)")
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="timed calls a row (default: 20)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="torch CPU threads (default: 1)")
    parser.add_argument("--no-contenders", action="store_true", help="skip torch SDPA, torch.compile and flash-linear-attention")
    options = parser.parse_args(argv)
    known = [*CASES, "kda_layer"]
    unknown = [name for name in options.operator or () if name not in known]
    if unknown:
        print(f"--operator {unknown[0]}: no such operator; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    if options.repeats < 1 or options.threads < 1:
        print("--repeats and --threads must be at least 1", file=sys.stderr)
        return 2
    device = usable(options.device)
    if device is None:
        return 2
    torch.set_num_threads(options.threads)
    size = SIZES[options.size]
    wanted = options.operator or known
    with torch.inference_mode():
        for op in wanted:
            if op == "kda_layer":
                rows = layer_rows(size, device, options.repeats)
            else:
                rows = operator_rows(op, size, device, options.repeats, not options.no_contenders)
            for row in rows:
                print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
