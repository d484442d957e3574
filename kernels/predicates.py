"""The tests that codebases use to ask "is this a GPU tensor?", and what each would select here.

They agree on NVIDIA and on CPU. On ROCm, whose tensors live on devices called "cuda" while `torch.version.cuda` is None,
they part, and the wrong one sends every AMD tensor to a reference implementation without a word.
`python -m kernels.predicates` prints the table of this process; `--out FILE.csv` writes it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from kernels.registry import choose

PREDICATES: dict[str, Callable[[Any], bool]] = {
    "torch.version.cuda": lambda tensor: torch.version.cuda is not None,
    "torch.version.hip": lambda tensor: torch.version.hip is not None,
    "torch.cuda.is_available()": lambda tensor: torch.cuda.is_available(),
    'tensor.device.type == "cuda"': lambda tensor: tensor.device.type == "cuda",
    "tensor.is_cuda": lambda tensor: bool(tensor.is_cuda),
    "tensor.is_cuda and torch.version.cuda": lambda tensor: bool(tensor.is_cuda) and torch.version.cuda is not None,
}
"""The last one is the strict test behind vendor-specific kernels; it must not guard a portable one."""


@dataclass(frozen=True)
class PredicateRow:
    """One predicate on one tensor of one environment."""

    environment: str
    device: str
    predicate: str
    value: bool
    selects: str
    """What a dispatcher built on this predicate would run: `triton` if it holds, else the CPU path."""
    registry_selects: str
    agrees: bool


def truth_table(environment: str, tensor: Any, op: str = "kda_verify") -> list[PredicateRow]:
    """Every predicate evaluated in this process for `tensor`, beside the registry's choice for `op`."""
    registry = choose(op, tensor)[0]
    rows = []
    for predicate, holds in PREDICATES.items():
        value = holds(tensor)
        selects = "triton" if value else "cpu"
        rows.append(PredicateRow(environment, str(tensor.device), predicate, value, selects, registry, selects == registry))
    return rows


def environment_name() -> str:
    """What this build of torch is made for."""
    if torch.version.hip is not None:
        return "rocm"
    return "cuda" if torch.version.cuda is not None else "cpu"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.predicates", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="write the table here instead of printing it")
    options = parser.parse_args(argv)
    tensors = [torch.zeros(1)]
    if torch.cuda.is_available():
        tensors.append(torch.zeros(1, device="cuda"))
    rows = [row for tensor in tensors for row in truth_table(environment_name(), tensor)]
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
