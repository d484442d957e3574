"""What others observed of the accept length, each with its own conditions; external.csv says which, and what stops a comparison."""

from __future__ import annotations

import numpy as np

from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

PREFIX = "accept_"
"""How the name of an observation of accept length begins."""


def observations(read) -> Rows:
    rows = read.external()
    keep = np.array([name.startswith(PREFIX) for name in rows.texts("id")])
    if not keep.any():
        raise Missing("external.csv observes no accept length")
    return rows.where_true(keep)


@fact("accept.external.{end}", kind="length", unit="token/round", end=("low", "high"))
def end(read, end):
    """the lowest or the highest accept length that an outside observer reports"""
    found = observations(read).read(end)
    return Sample(found.min() if end == "low" else found.max(), "token/round")


@fact("accept.external.context", kind="count", unit="token")
def context(read):
    """the longest context among the outside observations"""
    return Sample(observations(read).read("context").max(), "token")


@fact("accept.external.hardware", kind="label")
def hardware(read):
    """hardware of the outside observations"""
    return ", ".join(dict.fromkeys(observations(read).texts("hardware")))
