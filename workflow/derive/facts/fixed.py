"""A step without a draft, as the steps of all block sizes have it: what a round costs before its first draft, beside a plain step.

No lane drafts nothing, so the cost is read off the straight line through the steps by γ; how far these lie from it is a fact of its own.
"""

from __future__ import annotations

from workflow.derive.facts.window import arms, gamma_of
from workflow.derive.line import through
from workflow.derive.registry import fact
from workflow.derive.sample import Sample, greatest


def steps(read) -> dict[int, Sample]:
    """γ -> step latency, all contents."""
    return {gamma_of(key): read[key] for key in read.present(arms("all", "step_ms"))}


def line(read) -> tuple[Sample, Sample]:
    """(step at γ = 0, what a draft adds) of the least-squares line."""
    found = steps(read)
    return through(list(found), list(found.values()), "drafts")


@fact("window.fixed.step_ms", kind="duration", unit="ms/step", status="computed")
def step(read):
    """where the least-squares line through the step latency by γ, all contents, meets no draft"""
    return line(read)[0]


@fact("window.fixed.draft_adds_ms", kind="duration", unit="ms/step", status="computed")
def draft_adds(read):
    """slope of that line: what one more draft adds to a step"""
    return line(read)[1]


@fact("window.fixed.overhead_ms", kind="duration", unit="ms/step", status="computed")
def overhead(read):
    """step of that line without a draft - plain step"""
    return read["window.fixed.step_ms"] - read["window.all.plain.step_ms"]


@fact("window.fixed.off_line_ms", kind="duration", unit="ms/step", status="computed")
def off_line(read):
    """largest |step - line| over the block sizes"""
    return greatest([abs(time - read["window.fixed.step_ms"] - read["window.fixed.draft_adds_ms"] * gamma) for gamma, time in steps(read).items()])
