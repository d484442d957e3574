"""The tests that codebases use to ask "is this a GPU tensor?", and what each would select here.

They agree on NVIDIA and on CPU. On ROCm, whose tensors live on devices called "cuda" while `torch.version.cuda` is None,
they part, and the wrong one sends every AMD tensor to a reference implementation without a word.
`python -m kernels.predicates` prints the table; `--out FILE.csv` writes it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from kernels.registry import choose


@dataclass(frozen=True)
class Build:
    """What a build of torch says about itself, and whether it sees a device."""

    name: str
    cuda: str | None
    hip: str | None
    available: bool

    @classmethod
    def here(cls) -> Build:
        """The build that runs."""
        name = "rocm" if torch.version.hip is not None else "cuda" if torch.version.cuda is not None else "cpu"
        return cls(name, torch.version.cuda, torch.version.hip, torch.cuda.is_available())


DESCRIBED = (Build("cuda", "12.8", None, True), Build("rocm", None, "6.4", True))
"""Builds with a device as their vendors ship them. A ROCm build of torch calls its devices "cuda" and says `is_cuda` of its tensors."""

GPU_TENSOR = SimpleNamespace(is_cuda=True, device=torch.device("cuda", 0))
"""All that a test or the registry may ask of a tensor on a device of either vendor."""

PREDICATES: dict[str, Callable[[Build, Any], bool]] = {
    "torch.version.cuda": lambda build, tensor: build.cuda is not None,
    "torch.version.hip": lambda build, tensor: build.hip is not None,
    "torch.cuda.is_available()": lambda build, tensor: build.available,
    'tensor.device.type == "cuda"': lambda build, tensor: tensor.device.type == "cuda",
    "tensor.is_cuda": lambda build, tensor: bool(tensor.is_cuda),
    "tensor.is_cuda and torch.version.cuda": lambda build, tensor: bool(tensor.is_cuda) and build.cuda is not None,
}
"""The last one is the strict test behind vendor-specific kernels; it must not guard a portable one."""


@dataclass(frozen=True)
class PredicateRow:
    """One predicate on one tensor of one build."""

    build: str
    simulated: int
    """1 where the build is described and not the one that runs; the registry's choice is real in both."""
    device: str
    predicate: str
    value: int
    selects: str
    """What a dispatcher built on this predicate would run: `triton` if it holds, else the CPU path."""
    registry_test: str
    """The test that the registry took."""
    registry_selects: str
    agrees: int


def truth_table(build: Build, tensor: Any, simulated: bool = False, op: str = "kda_verify") -> list[PredicateRow]:
    """Every predicate evaluated for `tensor` under `build`, beside the registry's choice for `op`."""
    registry, rule = choose(op, tensor)
    rows = []
    for predicate, holds in PREDICATES.items():
        value = holds(build, tensor)
        selects = "triton" if value else "cpu"
        device = tensor.device.type
        rows.append(
            PredicateRow(build.name, int(simulated), device, predicate, int(value), selects, rule.predicate, registry, int(selects == registry))
        )
    return rows


def all_tables() -> list[PredicateRow]:
    """The build that runs on every tensor it can make, then the builds of both vendors on a CPU and on a GPU tensor."""
    here = Build.here()
    tensors = [torch.zeros(1)] + ([torch.zeros(1, device="cuda")] if here.available else [])
    rows = [row for tensor in tensors for row in truth_table(here, tensor)]
    for build in DESCRIBED:
        if not (here.available and here.name == build.name):
            rows += [row for tensor in (torch.zeros(1), GPU_TENSOR) for row in truth_table(build, tensor, simulated=True)]
    return rows


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.predicates", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="write the table here instead of printing it")
    options = parser.parse_args(argv)
    rows = all_tables()
    part = options.out.with_suffix(".csv.part") if options.out else None
    handle = part.open("w", newline="", encoding="utf8") if part else sys.stdout
    writer = csv.DictWriter(handle, fieldnames=[field.name for field in fields(PredicateRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    if part:
        handle.close()
        os.replace(part, options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
