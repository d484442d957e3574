"""Ways to run a decode step's linears that were tried for mode `fused`, timed beside the one that is served.

    python -m engine.bench.attempts --rows 1,4,8 --json

One row an attempt and number of rows: all linears of the shipped model once, as a step runs them. What cannot run here is a row
with the reason. Interleaved passes, least time of each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from ctypes import byref
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.arguments import Parser
from engine.bench.verify_cost import numbers
from engine.config import WEIGHTS, ConfigError
from engine.model.checkpoint import Checkpoint
from engine.model.fused.compiler import build
from engine.model.fused.pack import Packed
from engine.model.fused.structs import library

SERVED = "fused-fma"
ROWS_MAX = 64
Forward = Callable[[list[Tensor]], None]


@dataclass(frozen=True)
class Attempt:
    """One way at one number of rows."""

    name: str
    what: str
    rows: int
    ms: float | None
    times_served: float | None
    """ms over the served way's ms; above one: it did not pay."""
    setup_s: float | None
    """Packing and compiling; of a library in the cache, loading alone."""
    note: str = ""


def linears(weights: Path) -> list[Tensor]:
    """The matrices of one decode step, in order: [N, K] bfloat16."""
    tensors = Checkpoint(weights / "target.safetensors").tensors
    names = [name for name, tensor in tensors.items() if tensor.dim() == 2 and name != "embed.weight" and "conv" not in name]
    return [tensors[name].contiguous() for name in sorted(names)]


def fused(defines: tuple[str, ...]) -> Callable[[list[Tensor]], Forward]:
    """The C++ tiles, as they are or as a variant."""

    def prepare(matrices: list[Tensor]) -> Forward:
        lib = library(build(64, defines=defines).path)
        if defines and lib.fused_isa() != b"avx512_bf16":
            raise ConfigError("the compiler did not take the bfloat16 dot product")
        packed = Packed()
        structs = [packed.add(weight) for weight in matrices]
        packed.place()

        widest, deepest = max(w.shape[0] for w in matrices), max(w.shape[1] for w in matrices)
        out, scratch = torch.empty(ROWS_MAX, widest), torch.empty(ROWS_MAX, deepest)
        targets = out.data_ptr(), scratch.data_ptr()
        calls = [byref(struct) for struct in structs]

        def forward(inputs: list[Tensor]) -> None:
            rows = inputs[0].shape[0]
            for call, x in zip(calls, inputs):
                lib.fused_linear(call, x.data_ptr(), targets[0], rows, targets[1])

        forward.kept = packed, structs, out, scratch  # what the calls point into
        return forward

    return prepare


def dot(matrices: list[Tensor]) -> Forward:
    from engine.machine import Machine

    if "avx512_bf16" not in Machine.read().isa:
        raise ConfigError("this processor has no bfloat16 dot product")
    return fused(("FUSED_DOT",))(matrices)


def onednn(matrices: list[Tensor]) -> Forward:
    from kernels.linear.cpu import PackedLinear

    projects = [PackedLinear(weight, "packed") for weight in matrices]

    def forward(inputs: list[Tensor]) -> None:
        for project, x in zip(projects, inputs):
            project(x)

    return forward


def torch_float32(matrices: list[Tensor]) -> Forward:
    wide = [weight.float() for weight in matrices]

    def forward(inputs: list[Tensor]) -> None:
        for weight, x in zip(wide, inputs):
            torch.nn.functional.linear(x.float(), weight)

    return forward


def numba_float32(matrices: list[Tensor]) -> Forward:
    """Numba has no bfloat16, so it reads twice the bytes; with fastmath, or a sum would not be vectorised at all."""
    try:
        import numba
        import numpy as np
    except ImportError:
        raise ConfigError("numba is not installed") from None

    @numba.njit(fastmath=True)
    def project(weight, x, out):
        for n in range(weight.shape[0]):
            for r in range(x.shape[0]):
                total = np.float32(0)
                for k in range(weight.shape[1]):
                    total += weight[n, k] * x[r, k]
                out[r, n] = total

    wide = [weight.float().numpy() for weight in matrices]
    project(wide[0], np.ones((1, wide[0].shape[1]), np.float32), np.empty((1, wide[0].shape[0]), np.float32))

    def forward(inputs: list[Tensor]) -> None:
        for weight, x in zip(wide, inputs):
            project(weight, x.float().numpy(), np.empty((x.shape[0], weight.shape[0]), np.float32))

    return forward


WAYS: dict[str, tuple[str, Callable[[list[Tensor]], Forward]]] = {
    SERVED: ("C++ tiles, weights widened once, two float32 multiply-adds a pair; served", fused(())),
    "fused-dot": ("C++ tiles, one bfloat16 dot-product instruction a pair", dot),
    "onednn-bf16": ("oneDNN with packed bfloat16 weights, as mode eager runs them", onednn),
    "torch-float32": ("torch's float32 linear; its rows depend on their number", torch_float32),
    "numba-float32": ("a loop compiled by Numba on float32 weights", numba_float32),
}


def measure(weights: Path = WEIGHTS, rows: Sequence[int] = (1, 4, 8), passes: int = 15) -> list[Attempt]:
    """Every way at every number of rows, the served one first."""
    matrices = linears(weights)
    ready: dict[str, Forward] = {}
    setup: dict[str, float | None] = {}
    notes: dict[str, str] = {}
    for name, (_, prepare) in WAYS.items():
        start = time.perf_counter()
        try:
            ready[name] = prepare(matrices)
            setup[name] = time.perf_counter() - start
        except ConfigError as fault:
            setup[name], notes[name] = None, str(fault)
    generator = torch.Generator().manual_seed(0)
    best: dict[tuple[str, int], float] = {}
    with torch.inference_mode():
        for count in rows:
            inputs = [torch.randn(count, weight.shape[1], generator=generator).bfloat16() for weight in matrices]
            for turn in range(passes + 1):
                for name in sorted(ready, reverse=turn % 2 == 1):
                    start = time.perf_counter()
                    ready[name](inputs)
                    spent = 1e3 * (time.perf_counter() - start)
                    if turn:  # the first pass warms up
                        best[name, count] = min(best.get((name, count), spent), spent)
    served = {count: best.get((SERVED, count)) for count in rows}
    return [
        Attempt(
            name, what, count, best.get((name, count)),
            best[name, count] / served[count] if (name, count) in best and served[count] else None, setup[name], notes.get(name, ""),
        )
        for name, (what, _) in WAYS.items()
        for count in rows
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rows; exit 2 with one line on bad input."""
    parser = Parser(prog="python -m engine.bench.attempts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="1,4,8", metavar="R", help="rows a linear gets, like 1,4,8 (default 1,4,8)")
    parser.add_argument("--passes", type=int, default=15, metavar="N", help="timed passes over all ways, least time kept (default 15)")
    parser.add_argument("--json", action="store_true", help="one JSON object a row and line")
    args = parser.parse_args(argv)
    try:
        rows = numbers("--rows", args.rows)
        if not 1 <= min(rows) <= max(rows) <= ROWS_MAX or args.passes < 1:
            raise ConfigError(f"--rows must be 1 to {ROWS_MAX}, --passes at least 1")
        torch.set_num_threads(1)
        found = measure(rows=rows, passes=args.passes)
    except ConfigError as fault:
        print(f"engine.bench.attempts: {fault}", file=sys.stderr)
        return 2
    for attempt in found:
        if args.json:
            print(json.dumps(asdict(attempt)))
        else:
            time_or_note = f"{attempt.ms:8.3f} ms  x{attempt.times_served:.2f}" if attempt.ms is not None else attempt.note
            print(f"{attempt.name:<14} rows {attempt.rows:>2}  {time_or_note}   {attempt.what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
