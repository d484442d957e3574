"""What is computed from the rows of one cell, the same way wherever it is shown. Sums over sums, never means of ratios."""

from __future__ import annotations

from collections.abc import Callable

from workflow.derive.registry import fact
from workflow.derive.rows import Rows
from workflow.derive.sample import Sample

BONUS = Sample(1.0, "token/round")
"""Every round gives one token of the target itself."""

MEASURES = {
    "accept_length": ("token/round", "length"),
    "emitted_per_round": ("token/round", "length"),
    "accept_rate": ("", "probability"),
    "step_ms": ("ms/step", "duration"),
    "draft_ms": ("ms/step", "duration"),
    "verify_ms": ("ms/step", "duration"),
    "commit_ms": ("ms/step", "duration"),
    "tpot_ms": ("ms/token", "duration"),
    "ttft_ms": ("ms", "duration"),
    "e2e_ms": ("ms", "duration"),
    "tokens_per_s": ("token/s", "rate"),
    "output_throughput": ("token/s", "rate"),
    "per_request_tokens_per_s": ("token/s", "rate"),
    "tokens_per_step": ("token/step", "length"),
    "achieved": ("", "length"),
    "speedup": ("", "ratio"),
}
"""Unit and kind of a measure, by the last part of its key."""


def decode_tokens(requests: Rows) -> Sample:
    """Tokens after each request's first."""
    return requests.sum("osl") - requests.count("token")


def accept_length(requests: Rows) -> Sample:
    return BONUS + requests.sum("accepted") / requests.sum("rounds")


def emitted_per_round(requests: Rows) -> Sample:
    return decode_tokens(requests) / requests.sum("rounds")


def accept_rate(requests: Rows) -> Sample:
    return requests.sum("accepted") / requests.sum("drafted")


def time_per_token(requests: Rows) -> Sample:
    """Client's clock from first token to end, over the tokens after the first."""
    return (requests.sum("e2e_ms") - requests.sum("ttft_ms")) / decode_tokens(requests)


def per_step(points: Rows, column: str) -> Sample:
    """Mean of a step time over all decode steps of the cell's points."""
    return points.dot(column, "steps") / points.sum("steps")


def output_throughput(points: Rows) -> Sample:
    """Output tokens over duration; where a campaign lacks the totals, the mean of its points' own rates."""
    if "total_output_tokens" in points.table.columns:
        return points.sum("total_output_tokens") / points.sum("duration_s")
    return points.mean("output_throughput")


def rounds_per_step(points: Rows) -> Sample:
    """One at a single request; what turns a step's time into a round's."""
    return points.sum("rounds") / points.sum("steps")


def register(template: str, measure: str, function: Callable, formula: str, **domains) -> None:
    """Register `function` under a key whose last part is a measure; unit and kind follow from it."""
    function.__doc__ = formula
    unit, kind = MEASURES[measure]
    fact(template, unit=unit, kind=kind, **domains)(function)


def alias(template: str, measures: tuple[str, ...], target: Callable, formula: str, **domains) -> None:
    """Register, for each measure M, `template.M` as the fact that `target(read, **fields)` names, plus `.M`."""
    for measure in measures:

        def function(read, _measure=measure, **fields):
            return read[f"{target(read, **fields)}.{_measure}"]

        register(f"{template}.{measure}", measure, function, formula, **domains)
