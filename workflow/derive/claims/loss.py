"""The loss over input length."""

import math

from workflow.derive.claims.kinds import sums_to, within
from workflow.derive.facts.loss import PARTS
from workflow.derive.registry import claim
from workflow.derive.sample import Sample, greatest


def cite(read) -> None:
    read.cite(
        "loss.from_isl",
        "loss.to_isl",
        "loss.from_ms",
        "loss.to_ms",
        "loss.e2e_ratio",
        "loss.total_ms",
        "loss.shares_sum",
        *(f"loss.{part}_ms" for part in PARTS),
        *(f"loss.{part}_share" for part in PARTS),
        "loss.largest.part",
        "loss.largest.share",
        "loss.whatif.step",
        "loss.whatif.accept",
        "loss.whatif.prefill",
    )


@claim("loss.closes", kind="sum", measure="share")
def closes(read):
    """The four shares sum to one, and what prefill, step and acceptance leave over stays within the bound."""
    cite(read)
    whole = sums_to(read.exact("loss.shares_sum"), Sample(100.0, "percent"))
    if whole.value < 0:
        return whole
    return within(read["loss.rest_share"], read.threshold("loss.closes")), share_noise(read)


@claim("loss.step_dominates", kind="superlative", measure="share", says=("largest",))
def step_dominates(read):
    """The step's share of the loss is larger than prefill's, acceptance's and the rest's."""
    cite(read)
    others = greatest([read[f"loss.{part}_share"] for part in PARTS if part != "step"])
    return read["loss.step_share"] - others, math.sqrt(2) * share_noise(read)


def share_noise(read) -> float:
    """The share that a step off by the A/A noise would be given."""
    return read.floor / abs(read["loss.e2e_ratio"].log().value)
