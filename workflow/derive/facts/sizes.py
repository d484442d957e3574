"""What the division starts from, by size of model: the terms of a step in eager mode, one request, off the verify-cost sweep. No acceptance enters."""

from workflow.derive.facts.replayed import MODELS
from workflow.derive.registry import fact
from workflow.derive.sample import Sample

SIZES = {"trained": "trained", **MODELS}
WINDOW = 4
TERMS = {"decode": ("plain", 1), "draft": ("dspark", WINDOW), "verify": ("dspark", WINDOW)}
"""Term -> the lane and the width of the steps that it is a part of."""


@fact("modes.size.{size}.{term}_ms", kind="duration", unit="ms/step", size=tuple(SIZES), term=tuple(TERMS))
def term_ms(read, size, term):
    """median over steps of one request in eager mode: T_decode, the forward of a plain step; T_draft and T_verify of a round, the window of four positions"""
    lane, width = TERMS[term]
    rows = read.costs(model=SIZES[size], mode="eager", quantity=term, lane=lane, instrument="off", batch=1, width=width)
    return Sample(rows.read("median_ms").mean(), rows.unit("median_ms"))


@fact("modes.size.{size}.verify_ratio", kind="ratio", size=tuple(SIZES))
def verify_ratio(read, size):
    """T_verify / T_decode, one model"""
    return read[f"modes.size.{size}.verify_ms"] / read[f"modes.size.{size}.decode_ms"]
