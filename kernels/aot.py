"""How a Triton kernel is compiled ahead of time: argument types and launch constants, without a device.

Every `triton.py` lists its kernels in `VARIANTS`, with the constants that its wrapper launches for the sizes of a
real model, so that the compiled facts speak of the kernels that run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

TYPES = ("i1", "i32", "i64", "fp32")

Warps = int | dict[str, int]
"""Warps a program, or one number for "cuda" and one for "hip": an AMD wave has 64 lanes, an NVIDIA warp 32."""


def launch_warps(table: Warps) -> int:
    """The number for the vendor that this build of torch is made for."""
    if isinstance(table, int):
        return table
    return table["hip" if torch.version.hip is not None else "cuda"]


@dataclass(frozen=True)
class Variant:
    """One compilation: `signature` names every argument with its type or "constexpr"."""

    kernel: Any
    signature: dict[str, str]
    constexprs: dict[str, Any]
    num_warps: Warps

    def warps(self, backend: str) -> int:
        """Warps a program on "cuda" or "hip"."""
        return self.num_warps if isinstance(self.num_warps, int) else self.num_warps[backend]

    @property
    def name(self) -> str:
        return self.kernel.__name__.lstrip("_")

    @property
    def pointers(self) -> tuple[int, ...]:
        """Positions of the pointer arguments; torch allocations are 16-byte aligned, which allows vector loads."""
        return tuple(i for i, kind in enumerate(self.signature.values()) if kind.startswith("*"))


def variant(kernel: Any, num_warps: Warps, **arguments: Any) -> Variant:
    """Build a variant: a string such as "*bf16" or "i32" is a runtime argument, anything else a constexpr.

    Arguments in the kernel's order; ValueError if one is missing, unknown or out of order.
    """
    names = list(kernel.arg_names)
    if list(arguments) != names:
        raise ValueError(f"{kernel.__name__}: variant gives {list(arguments)}, the kernel takes {names}")
    runtime = {n: v for n, v in arguments.items() if isinstance(v, str) and (v.startswith("*") or v in TYPES)}
    return Variant(
        kernel=kernel,
        signature={n: runtime.get(n, "constexpr") for n in names},
        constexprs={n: v for n, v in arguments.items() if n not in runtime},
        num_warps=num_warps,
    )
