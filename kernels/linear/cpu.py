"""Row-invariant bfloat16 linear: oneDNN with a packed weight, and only row counts that passed a self-test.

A row's bits must not change with the number of rows beside it, or a verify window of W positions would
disagree with W decode steps. Libraries do not promise that, they choose a kernel by shape and by
instruction set; so each weight shape is tried on this host (again when library, processor or code have
changed, see `stamp`), and the fastest mode that holds is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from kernels.linear import stamp
from kernels.linear.reference import CONTRACT, check_input

ROW_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128)
"""Row counts that are run. Others are padded with zero rows up to the next, beyond the last in blocks of it."""
LARGE_ROW_COUNTS = (2048, 512)
"""Row counts of long prompts, each used where it passed a test of its own; a call of many rows is up to a sixth faster than its blocks."""
LARGE_FEATURES = 2048
"""Outputs above which no count of `LARGE_ROW_COUNTS` is tried: vocabularies are projected for the last row of a prompt only."""
PADDED_ROWS = 8
MODES = ("packed", "plain", "padded", "rowwise")


def _packed(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """oneDNN's own weight layout saves a reorder a call; raises RuntimeError where this build lacks it."""
    if weight.dtype is not torch.bfloat16 or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        raise RuntimeError("no bfloat16 kernels of oneDNN on this host")
    handle = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 1)
    pointwise = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: pointwise(x, handle, None, "none", [], "")


def _plain(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    functional = torch.nn.functional.linear
    return lambda x: functional(x, weight)


def _padded(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Always `PADDED_ROWS` rows a call: one shape, hence one kernel."""
    functional = torch.nn.functional.linear

    def project(x: torch.Tensor) -> torch.Tensor:
        count = x.shape[0]
        blocks = []
        for start in range(0, count, PADDED_ROWS):
            block = x[start : start + PADDED_ROWS]
            missing = PADDED_ROWS - block.shape[0]
            if missing:
                block = torch.cat([block, block.new_zeros(missing, block.shape[1])])
            blocks.append(functional(block, weight))
        return torch.cat(blocks)[:count]

    return project


def _rowwise(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """The slowest and the one that holds by construction: every call is the same one-row product."""
    functional = torch.nn.functional.linear
    return lambda x: torch.cat([functional(x[i : i + 1], weight) for i in range(x.shape[0])])


_BUILDERS = {"packed": _packed, "plain": _plain, "padded": _padded, "rowwise": _rowwise}


def _mismatches(project: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, rows: tuple[int, ...]) -> list[int]:
    """Row counts at which some row differs in bits from the same row projected alone.

    Two placements are tried for each count, so that a kernel that treats its first rows differently from
    its last is caught too.
    """
    alone = torch.cat([project(x[i : i + 1]) for i in range(x.shape[0])])
    bad = []
    for count in rows:
        last = x.shape[0] - count
        head = torch.equal(project(x[:count]), alone[:count])
        tail = torch.equal(project(x[last:]), alone[last:])
        if not (head and tail):
            bad.append(count)
    return bad


def linear_self_test(weight: torch.Tensor, rows: tuple[int, ...] | None = None) -> dict:
    """Which mode is row-invariant for this weight's shape on this host.

    weight [N, K]; rows: row counts to try (default `ROW_COUNTS`). Returns `mode` (the first of `MODES` that
    holds), `rows_tested`, and `mismatches`: mode -> row counts that differed (or why it could not run).
    The input is random with a fixed seed: the kernel that a library picks depends on shapes, not on values.
    RuntimeError if not even row by row is reproducible.
    """
    CONTRACT.check(weight=weight)
    rows = tuple(sorted(set(rows or ROW_COUNTS)))
    generator = torch.Generator().manual_seed(20)
    x = torch.randn(rows[-1], weight.shape[1], generator=generator).to(weight.dtype)
    mismatches: dict[str, list[int] | str] = {}
    for mode in MODES:
        try:
            project = _BUILDERS[mode](weight)
            bad = _mismatches(project, x, rows)
        except (RuntimeError, AttributeError, NotImplementedError) as error:
            if mode != "packed":
                raise
            mismatches[mode] = f"not available: {str(error).splitlines()[0]}"
            continue
        mismatches[mode] = bad
        if not bad:
            return {"mode": mode, "rows_tested": rows, "mismatches": mismatches}
    raise RuntimeError(f"linear: weight {list(weight.shape)}: no mode gives reproducible rows on this host: {mismatches}")


def large_counts(weight: torch.Tensor, mode: str) -> tuple[int, ...]:
    """Those of `LARGE_ROW_COUNTS` whose rows equal, to the bit, those of blocks that `linear_self_test` has tried."""
    if mode not in ("packed", "plain") or weight.shape[0] > LARGE_FEATURES:
        return ()
    project, block = _BUILDERS[mode](weight), ROW_COUNTS[-1]
    x = torch.randn(LARGE_ROW_COUNTS[0], weight.shape[1], generator=torch.Generator().manual_seed(22)).to(weight.dtype)
    alone = torch.cat([project(part) for part in x.split(block)])
    starts = {n: {0, len(x) - n} for n in LARGE_ROW_COUNTS}
    return tuple(n for n in LARGE_ROW_COUNTS if all(torch.equal(project(x[at : at + n]), alone[at : at + n]) for at in starts[n]))


class PackedLinear:
    """Project rows [M, K] -> [M, N]; a row's bits depend on that row only."""

    def __init__(self, weight: torch.Tensor, mode: str, large: tuple[int, ...] = ()) -> None:
        """`large`: row counts beyond `ROW_COUNTS` that may be run, descending."""
        self.weight = weight
        self.out_features, self.in_features = weight.shape
        self.mode, self.large = mode, large
        self._project = _BUILDERS[mode](weight)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [M, K] in the weight's dtype -> [M, N] in the same dtype."""
        check_input(x, self.weight)
        count = x.shape[0]
        if count in _RUNNABLE or count in self.large:
            return self._project(x)
        if count == 0:
            return x.new_empty(0, self.out_features)
        block = ROW_COUNTS[-1]
        if count > block:
            sizes = []
            for size in (*self.large, block):
                sizes += [size] * ((count - sum(sizes)) // size)
            if sum(sizes) < count:
                sizes.append(count - sum(sizes))
            return torch.cat([self(part) for part in x.split(sizes)])
        padded = next(rows for rows in ROW_COUNTS if rows >= count)
        return self._project(torch.cat([x, x.new_zeros(padded - count, x.shape[1])]))[:count]


_RUNNABLE = frozenset(ROW_COUNTS)


def prepare(weight: torch.Tensor, mode: str, large: tuple[int, ...]) -> None:
    """Call every row count once: a library makes its kernel at the first call of a shape, and that may not fall into a timed step."""
    project = _BUILDERS[mode](weight)
    for count in (*ROW_COUNTS, *large):
        project(weight.new_zeros(count, weight.shape[1]))


def finding(kept: object) -> tuple[str, tuple[int, ...]] | None:
    """Mode and large row counts out of a stamp; None where it holds anything else."""
    match kept:
        case {"mode": str(mode), "large": list(large)} if mode in MODES and all(count in LARGE_ROW_COUNTS for count in large):
            return mode, tuple(large)
    return None


@cache
def mode_for(out_features: int, in_features: int, dtype: torch.dtype, threads: int) -> tuple[str, tuple[int, ...]]:
    """The mode of a weight shape under this thread count and its large row counts, tested where no stamp has them."""
    shape = {"shape": [out_features, in_features], "dtype": str(dtype), "threads": threads}
    if (known := finding(stamp.kept(shape))) is not None:
        prepare(torch.zeros(out_features, in_features, dtype=dtype), *known)
        return known
    generator = torch.Generator().manual_seed(21)
    weight = torch.randn(out_features, in_features, generator=generator).to(dtype)
    mode = linear_self_test(weight)["mode"]
    large = large_counts(weight, mode)
    stamp.keep(shape, {"mode": mode, "large": list(large)})
    return mode, large


def linear(weight: torch.Tensor) -> PackedLinear:
    """Same semantics as the reference, with the mode that `linear_self_test` chose for this shape and thread count."""
    CONTRACT.check(weight=weight)
    return PackedLinear(weight, *mode_for(*weight.shape, weight.dtype, torch.get_num_threads()))
