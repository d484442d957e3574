"""The loss over input length, split into prefill, step cost, acceptance and the rest; the parts sum to the whole."""

from workflow.derive import decompose
from workflow.derive.facts import measures
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

PARTS = ("prefill", "step", "accept", "rest")
HELD = ("step", "accept", "prefill")
"""Parts that can be held at what they are for the shortest input."""


def term(read, which: str) -> decompose.Term:
    """Means of the speculative lane at the shortest or longest input."""
    isl = round(read[f"loss.{which}_isl"].value)
    requests, points = read.requests("isl", isl=isl, lane="dspark"), read.points("isl", isl=isl, lane="dspark")
    return decompose.Term(
        e2e=requests.mean("e2e_ms"),
        prefill=requests.mean("ttft_ms"),
        tokens=measures.decode_tokens(requests) / requests.count(),
        tau=measures.emitted_per_round(requests),
        step=measures.per_step(points, "step_ms") / measures.rounds_per_step(points),
    )


def parts(read) -> decompose.Split:
    return decompose.split(term(read, "from"), term(read, "to"))


@fact("loss.from_isl", kind="count", unit="token")
def from_isl(read):
    """shortest input length measured"""
    return read["isl.shortest"]


@fact("loss.to_isl", kind="count", unit="token")
def to_isl(read):
    """longest input length measured"""
    if read["isl.longest"].value == read["isl.shortest"].value:
        raise Missing("one input length only")
    return read["isl.longest"]


@fact("loss.{which}_ms", kind="duration", unit="ms", which=("from", "to"))
def end_to_end(read, which):
    """mean end-to-end time of the speculative lane at that input length"""
    return term(read, which).e2e


@fact("loss.e2e_ratio", kind="ratio")
def e2e_ratio(read):
    """mean end-to-end time at the longest input / at the shortest"""
    return term(read, "to").e2e / term(read, "from").e2e


@fact("loss.{part}_ms", kind="duration", unit="ms", part=(*PARTS, "total"))
def part_ms(read, part):
    """what the part added: prefill ΔP; step L(RS) Δln S; acceptance -L(RS) Δln τ; rest what is left; total ΔE"""
    return getattr(parts(read), part)


@fact("loss.{part}_share", kind="percent", unit="percent", part=PARTS)
def part_share(read, part):
    """the part's share of the change: its milliseconds / ΔE, equal to its share of Δln E"""
    found = parts(read)
    return getattr(found, part) / found.total


def largest(read) -> str:
    """The part with the largest share."""
    return max(PARTS, key=lambda part: read[f"loss.{part}_share"].value)


@fact("loss.largest.part", kind="label")
def largest_part(read):
    """part with the largest share of the loss"""
    return f"part of the loss: {largest(read)}"


@fact("loss.largest.share", kind="percent", unit="percent")
def largest_share(read):
    """largest of the four shares"""
    return read[f"loss.{largest(read)}_share"]


@fact("loss.shares_sum", kind="percent", unit="percent")
def shares_sum(read):
    """sum of the four shares"""
    return sum((read[f"loss.{part}_share"] for part in PARTS), Sample(0.0, "percent"))


@fact("loss.whatif.{part}_ms", kind="duration", unit="ms", status="computed", part=HELD)
def what_if_ms(read, part):
    """end-to-end time at the longest input had this part alone stayed as at the shortest"""
    return decompose.what_if(term(read, "from"), term(read, "to"), part)


@fact("loss.whatif.{part}", kind="ratio", status="computed", part=HELD)
def what_if(read, part):
    """end-to-end time at the longest input / the same had this part alone stayed as at the shortest: what holding it would be worth"""
    return term(read, "to").e2e / read[f"loss.whatif.{part}_ms"]
