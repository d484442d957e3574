"""Cells and points in one line of words."""

from __future__ import annotations

from engine.bench.cells import Cell
from engine.csvio import Row


def describe(cell: Cell) -> str:
    length = "natural" if cell.declared_isl is None else str(cell.isl)
    what = cell.workload.content if cell.workload.dataset == "heldout" else f"{cell.workload.dataset} {cell.workload.content}"
    rate = "" if cell.request_rate is None else f" at {cell.request_rate:g}/s"
    hot = f" T={cell.sampling.temperature:g}" if cell.sampling.temperature else ""
    return f"{cell.arm.label} {what} ISL {length} OSL {cell.osl} x{cell.max_concurrency}{rate}{hot} repeat {cell.repeat}"


def outcome(point: Row) -> str:
    """The line a reader wants after a cell."""
    if point["status"] != "ok":
        return f"{point['status']}: {point['note']}"
    parts = [f"{point['output_throughput']:.0f} token/s"]
    if point["mean_tpot_ms"] is not None:
        parts.append(f"TPOT {point['mean_tpot_ms']:.2f} ms")
    if point.get("accept_length") is not None:
        parts.append(f"accept length {point['accept_length']:.2f}")
    if point["failed"]:
        parts.append(f"{point['failed']} failed")
    return ", ".join(parts)
