"""The acceptance sweep: accept length by sampling temperature, and by how many rounds one looks at."""

from __future__ import annotations

import numpy as np

from workflow.derive.facts import measures
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

SWEEP = "acceptance"
TENTHS = (0, 7, 10)
"""Temperatures whose facts every campaign has as keys, in tenths."""


def at(read, tenths: int, **where) -> Rows:
    """Requests of one temperature; Missing when there are none."""
    rows = read.requests(SWEEP, **where)
    return chosen(rows, np.isclose(rows.table.numbers("temperature")[rows.index], tenths / 10), f"temperature {tenths / 10:g}")


def chosen(rows: Rows, keep: np.ndarray, what: str) -> Rows:
    if not keep.any():
        raise Missing(f"{rows.table.file} has no good row with {what}")
    return rows.where_true(keep)


def looked_at(rows: Rows, pick) -> Rows:
    """The requests of each content's and repeat's cell with the fewest (`min`) or the most (`max`) prompts: text that ends early gets more of them."""
    prompts = rows.table.numbers("num_prompts")[rows.index]
    owners = list(zip(rows.texts("content"), rows.texts("repeat")))
    found = {owner: pick(count for count, own in zip(prompts, owners) if own == owner) for owner in set(owners)}
    return rows.where_true(prompts == np.array([found[owner] for owner in owners]))


@fact("accept.by_temperature.t{tenths}", kind="length", unit="token/round", tenths=TENTHS)
def by_temperature(read, tenths):
    """1 + accepted / rounds, bonus included, pooled over contents and requests; the temperature in tenths"""
    return measures.accept_length(at(read, tenths))


@fact("accept.by_temperature.{one_content}.t{tenths}", kind="length", unit="token/round", tenths=TENTHS)
def by_content_and_temperature(read, one_content, tenths):
    """accept length of one content at one temperature, pooled over the requests"""
    return measures.accept_length(at(read, tenths, content=one_content))


@fact("accept.by_temperature.loss", kind="percent", unit="percent")
def temperature_loss(read):
    """1 - accept length at temperature 1 / greedy"""
    return 1 - read["accept.by_temperature.t10"] / read["accept.by_temperature.t0"]


@fact("accept.by_rounds.{look}_rounds", kind="count", look=("short", "long"))
def rounds_looked_at(read, look):
    """rounds of one content and boot, greedy, in the cells with the fewest or the most prompts: the least of the contents"""
    rows = looked_at(at(read, 0), min if look == "short" else max)
    counts, places = rows.read("rounds"), list(zip(rows.texts("run_id"), rows.texts("content")))
    return min(sum(n for n, at_place in zip(counts, places) if at_place == place) for place in set(places))


@fact("accept.by_rounds.{one_content}.{look}", kind="length", unit="token/round", look=("short", "long"))
def by_rounds(read, one_content, look):
    """greedy accept length of one content in the cells with the fewest or the most prompts"""
    return measures.accept_length(looked_at(at(read, 0, content=one_content), min if look == "short" else max))


@fact("accept.by_rounds.worst_off", kind="percent", unit="percent")
def worst_off(read):
    """largest |accept length of the few rounds / of the many - 1| over the contents"""
    found = []
    for content in ("arith", "code", "en", "zh"):
        keys = [f"accept.by_rounds.{content}.{look}" for look in ("short", "long")]
        if all(read.has(key) for key in keys):
            found.append(abs((read[keys[0]] / read[keys[1]] - 1).number()))
    if not found:
        raise Missing("no content of the acceptance sweep was looked at over few rounds and over many")
    return Sample(np.max(found, axis=0))
