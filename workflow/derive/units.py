"""Units of columns and facts, checked with pint.

Tokens, rounds, steps and requests are dimensions of their own here, so that tokens a step over seconds a step is tokens a second and
nothing else. Unit expressions travel as text; the algebra on them is pint's, remembered per pair.
"""

from __future__ import annotations

from functools import cache, lru_cache

import pint

DEFINITIONS = (
    "second = [time] = s",
    "millisecond = 0.001 second = ms",
    "minute = 60 second = min",
    "byte = [information]",
    "token = [token]",
    "round = [round]",
    "step = [step]",
    "boot = [boot]",
    "percent = 0.01",
)

# A column measures one of these; the schema's `unit` is the plain form, without what a mean is taken over.
POINTS = {
    "accept_length": "token/round",
    "accepted": "token",
    "activation_peak_bytes": "byte",
    "available_mem_bytes": "byte",
    "between_ms": "ms/step",
    "boot_s": "s/boot",
    "client_lag_ms": "ms",
    "client_loop_lag_ms": "ms",
    "commit_ms": "ms/step",
    "decode_throughput": "token/s",
    "decode_tokens": "token",
    "draft_ms": "ms/step",
    "drafted": "token",
    "duration_s": "s",
    "emitted_per_round": "token/round",
    "mean_client_queue_ms": "ms",
    "mean_e2e_ms": "ms",
    "mean_tpot_ms": "ms/token",
    "mean_ttft_ms": "ms",
    "median_scheduled_ttft_ms": "ms",
    "median_tpot_ms": "ms/token",
    "median_ttft_ms": "ms",
    "other_ms": "ms/step",
    "oom_asked_bytes": "byte",
    "oom_free_bytes": "byte",
    "output_throughput": "token/s",
    "p99_scheduled_ttft_ms": "ms",
    "request_throughput": "1/s",
    "rounds": "round",
    "step_ms": "ms/step",
    "steps": "step",
    "total_output_tokens": "token",
    "verify_ms": "ms/step",
}
REQUESTS = {
    "accepted": "token",
    "accepted_histogram": "round",
    "drafted": "token",
    "e2e_ms": "ms",
    "isl": "token",
    "osl": "token",
    "rounds": "round",
    "tpot_ms": "ms/token",
    "ttft_ms": "ms",
}
STEPS = {
    "committed": "token",
    "commit_ms": "ms",
    "draft_ms": "ms",
    "emitted": "token",
    "running": "round",
    "step_ms": "ms",
    "verify_ms": "ms",
}
"""One row is one step: times are of that step; `running` rows each do one round in it (of width 1 in the plain lane)."""
TRACE = {"commit_ms": "ms", "draft_ms": "ms", "verify_ms": "ms"}
KERNELS = {"bin_bytes": "byte", "shared_bytes": "byte"}
VERIFY_COST = {
    "min_ms": "ms/step",
    "median_ms": "ms/step",
    "block_sum_ms": "ms/step",
    "bound_ms": "ms/step",
    "weights_bytes": "byte",
    "tokens_per_round": "token/round",
}
CLOCKED = ("concurrency",)
"""Columns without a unit that come off a clock all the same: the achieved concurrency is a ratio of two times."""
COLUMNS = {
    "points": POINTS,
    "requests": REQUESTS,
    "steps": STEPS,
    "trace": TRACE,
    "noise": {},
    "kernels": KERNELS,
    "verify_cost": VERIFY_COST,
    "gate": {},
    "predicates": {},
    "figures": {},
    "external": {},
    "published": {},
    "pages": {"seconds": "s"},
    "instrument": {},
}


class UnitError(ValueError):
    """Quantities that cannot be combined, or a fact whose unit is not the declared one."""


@lru_cache(maxsize=1)
def registry() -> pint.UnitRegistry:
    units = pint.UnitRegistry(None)
    for line in DEFINITIONS:
        units.define(line)
    return units


@cache
def _parsed(unit: str) -> pint.Quantity:
    try:
        return registry().Quantity(1.0, registry().parse_units(unit))
    except (pint.errors.UndefinedUnitError, pint.errors.DefinitionSyntaxError) as error:
        raise UnitError(f"unit {unit!r}: {error}") from None


def _text(quantity: pint.Quantity) -> str:
    # Seconds over milliseconds are dimensionless but not 1: only an empty product of units is written as nothing.
    text = str(quantity.units)
    return "" if text == "dimensionless" else text


@cache
def multiply(a: str, b: str) -> str:
    return _text(_parsed(a) * _parsed(b))


@cache
def divide(a: str, b: str) -> str:
    return _text(_parsed(a) / _parsed(b))


@cache
def factor(unit: str, target: str) -> float:
    """What a value in `unit` is multiplied by to be in `target`. Raises UnitError when they measure different things."""
    try:
        return float(_parsed(unit).to(_parsed(target).units).magnitude)
    except pint.errors.DimensionalityError:
        raise UnitError(f"{unit or 'a plain number'} is not {target or 'a plain number'}") from None


@cache
def timed(unit: str) -> bool:
    """True when a quantity of this unit comes off a clock."""
    return "[time]" in _parsed(unit).dimensionality
