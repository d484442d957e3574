"""Shape, dtype, device and stride contracts of operators, checked before a kernel reads memory.

A contract is written once beside the reference; every backend of the operator calls it, so that the
same mistake gives the same sentence on every device.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

DTYPES = {
    "f32": (torch.float32,),
    "float": (torch.float32, torch.bfloat16, torch.float16),
    "int": (torch.int64,),
    "bool": (torch.bool,),
    "any": (),
}

MOST_LAYOUTS = 4096
"""Accepted layouts that one contract remembers; prompts of every length would fill the memory otherwise."""

MAX_BLOCK_SIZE = 15
"""Largest γ any kernel accepts; the verify window then has 16 positions."""


@dataclass(frozen=True)
class Argument:
    """One tensor argument: symbolic dimensions, accepted dtypes, whether it must be contiguous and whether it may be None."""

    dims: tuple[str, ...]
    dtype: str
    contiguous: bool
    optional: bool


class Contract:
    """Symbolic shapes of one operator's tensors.

    `Contract("op", q="B H K | f32", pool="N H K | f32 | contiguous", x="... D | float")`: equal letters must
    have equal sizes, a leading `...` takes any dimensions (equal over all arguments that have it), an
    integer is itself. The last stride must be one. `| optional` lets the argument be None. What was accepted once is
    accepted again by a look-up, so a check costs a hot path no more than reading the arguments' layouts.
    """

    def __init__(self, op: str, **arguments: str) -> None:
        self.op = op
        self.arguments: dict[str, Argument] = {}
        self.accepted: dict[tuple, dict[str, int]] = {}
        for name, text in arguments.items():
            parts = [part.strip() for part in text.split("|")]
            dtype = parts[1] if len(parts) > 1 else "any"
            if dtype not in DTYPES:
                raise KeyError(f"contract of {op}: unknown dtype group {dtype!r} of {name}")
            self.arguments[name] = Argument(tuple(parts[0].split()), dtype, "contiguous" in parts[2:], "optional" in parts[2:])

    def check(self, **tensors: torch.Tensor | None) -> dict[str, int]:
        """Sizes of the letters (not to be changed); ValueError naming the argument, its shape and the shape it should have.

        None stands for an optional argument that was not given.
        """
        try:
            # Flat and inlined: these lines are the whole cost of a check that was passed before.
            layout = (*tensors, *[t if t is None else (t.shape, t.stride(), t.dtype, t.device) for t in tensors.values()])
            sizes = self.accepted.get(layout)
        except (AttributeError, TypeError):
            layout = sizes = None
        if sizes is None:
            sizes = self._examine(tensors)
            if len(self.accepted) >= MOST_LAYOUTS:
                self.accepted.clear()
            self.accepted[layout] = sizes
        return sizes

    def _examine(self, tensors: dict[str, torch.Tensor | None]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        origin: dict[str, str] = {}
        lead: tuple[int, ...] | None = None
        device: torch.device | None = None
        for name, tensor in tensors.items():
            argument = self.arguments[name]
            if tensor is None and argument.optional:
                continue
            if not isinstance(tensor, torch.Tensor):
                raise ValueError(f"{self.op}: {name} must be a tensor [{self._text(argument)}], got {type(tensor).__name__}")  # noqa: TRY004
            shape = tuple(tensor.shape)
            dims = argument.dims
            inner = shape
            if dims and dims[0] == "...":
                dims = dims[1:]
                if len(shape) < len(dims):
                    raise self._shape_error(name, shape, argument, sizes, origin, lead)
                split = len(shape) - len(dims)
                if lead is None:
                    lead = shape[:split]
                if shape[:split] != lead:
                    raise self._shape_error(name, shape, argument, sizes, origin, lead)
                inner = shape[split:]
            if len(inner) != len(dims):
                raise self._shape_error(name, shape, argument, sizes, origin, lead)
            for letter, size in zip(dims, inner):
                wanted = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
                origin.setdefault(letter, name)
                if wanted != size:
                    raise self._shape_error(name, shape, argument, sizes, origin, lead)
            accepted = DTYPES[argument.dtype]
            if accepted and tensor.dtype not in accepted:
                names = ", ".join(str(dtype) for dtype in accepted)
                raise ValueError(f"{self.op}: {name} {list(shape)} has dtype {tensor.dtype}, expected {names}")
            if device is None:
                device = tensor.device
            elif tensor.device != device:
                raise ValueError(f"{self.op}: {name} {list(shape)} is on {tensor.device}, the arguments before it on {device}")
            if shape and shape[-1] > 1 and tensor.stride(-1) != 1:
                raise ValueError(
                    f"{self.op}: {name} {list(shape)} has strides {list(tensor.stride())}; the last must be 1, "
                    f"as in a contiguous {list(shape)}"
                )
            if argument.contiguous and not tensor.is_contiguous():
                raise ValueError(
                    f"{self.op}: {name} {list(shape)} is written in place and must be contiguous, "
                    f"its strides are {list(tensor.stride())}"
                )
        return sizes

    def _text(self, argument: Argument) -> str:
        return ", ".join(argument.dims)

    def _shape_error(
        self,
        name: str,
        shape: tuple[int, ...],
        argument: Argument,
        sizes: dict[str, int],
        origin: dict[str, str],
        lead: tuple[int, ...] | None,
    ) -> ValueError:
        expected = []
        for letter in argument.dims:
            if letter == "...":
                expected.extend(str(size) for size in lead or ("...",))
            elif letter in sizes and origin.get(letter) != name:
                expected.append(str(sizes[letter]))
            else:
                expected.append(letter)
        known = {origin[d] for d in argument.dims if d in sizes and origin[d] != name}
        source = f" (sizes from {', '.join(sorted(known))})" if known else ""
        return ValueError(
            f"{self.op}: {name} has shape {list(shape)}, expected [{', '.join(expected)}] for [{self._text(argument)}]{source}"
        )


def check_block_size(op: str, block_size: int) -> None:
    """γ must lie in 1..15."""
    if not 1 <= block_size <= MAX_BLOCK_SIZE:
        raise ValueError(f"{op}: block size γ = {block_size} is outside 1..{MAX_BLOCK_SIZE}")


def check_probabilities(op: str, name: str, probabilities: torch.Tensor, tolerance: float = 1e-3) -> None:
    """Debug check: every row of [..., V] is finite, non-negative and sums to one within `tolerance`."""
    if not bool(torch.isfinite(probabilities).all()) or bool((probabilities < 0).any()):
        raise ValueError(f"{op}: {name} {list(probabilities.shape)} has negative or non-finite probabilities")
    error = (probabilities.sum(-1) - 1.0).abs().max()
    if float(error) > tolerance:
        raise ValueError(
            f"{op}: {name} {list(probabilities.shape)} has rows that do not sum to one, worst off by {float(error):.3g}, "
            f"expected rows [{probabilities.shape[-1]}] summing to one"
        )
