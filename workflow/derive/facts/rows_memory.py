"""Shares of memory in transcribed rows: which came up, which ran out, and what each left for keys and values."""

import numpy as np

from workflow.derive.facts.faults import COLUMN, SAID
from workflow.derive.facts.memory import RAN_OUT, share
from workflow.derive.facts.rows import points
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

TRIES = tuple(range(1, 7))
CAME_UP = "came-up"
OUTCOMES = {"ok": CAME_UP, "oom": RAN_OUT}
"""Status of a row -> how the try ended."""


def tries(read, lane: str, *statuses: str) -> Rows:
    return points(read, "search", stage="memory", lane=lane, status=statuses or tuple(OUTCOMES))


def one_try(read, lane: str, place: int) -> Rows:
    """The row of one share, the lowest share first."""
    rows = tries(read, lane)
    order = np.argsort(rows.read("mem_fraction_static"), kind="stable")
    if place > len(order):
        raise Missing(f"{len(order)} fractions were tried in lane {lane}")
    return rows.where_true(np.arange(len(order)) == order[place - 1])


@fact("rows.memory.{lane}.t{place}.fraction", kind="percent", unit="percent", place=TRIES)
def fraction(read, lane, place):
    """share of the device's memory for weights and pools, as published"""
    return share(one_try(read, lane, place).read("mem_fraction_static")[0])


@fact("rows.memory.{lane}.t{place}.outcome", kind="label", place=TRIES)
def outcome(read, lane, place):
    """how the try ended, as published"""
    return OUTCOMES[one_try(read, lane, place).texts("status")[0]]


@fact("rows.memory.{lane}.t{place}.tokens", kind="count", place=TRIES)
def tokens(read, lane, place):
    """KV tokens of the pool at that share"""
    return round(one_try(read, lane, place).read("max_total_num_tokens")[0])


@fact("rows.memory.{lane}.t{place}.{said}", kind="bytes", unit="byte", place=TRIES, said=SAID)
def fault(read, lane, place, said):
    """what the allocation that failed at that share had asked for, or what was free then, as published"""
    return Sample(float(one_try(read, lane, place).read(COLUMN[said])[0]), "byte")


@fact("rows.memory.{lane}.{end}", kind="percent", unit="percent", end=("least", "served", "ran_out"))
def end_of(read, lane, end):
    """lowest share that came up, highest that did, or lowest that ran out"""
    found = tries(read, lane, "oom" if end == "ran_out" else "ok").read("mem_fraction_static")
    return share(found.max() if end == "served" else found.min())


@fact("rows.memory.{lane}.tokens_at_{end}", kind="count", end=("least", "served"))
def tokens_at(read, lane, end):
    """KV tokens of the pool at that share"""
    rows = tries(read, lane, "ok")
    at = rows.read("mem_fraction_static")
    return round(rows.read("max_total_num_tokens")[at.argmin() if end == "least" else at.argmax()])
