"""What the length of the output changes."""

from workflow.derive.claims.kinds import above, flat
from workflow.derive.facts.osl import keys
from workflow.derive.registry import DECLARED, claim


def cite(read) -> None:
    both = ("ttft_ms", "tpot_ms", "output_throughput", "distinct_4gram_share")
    read.cite(
        "osl.shortest", "osl.longest", "osl.lengths", "osl.isl", "osl.flat_until",
        *(f"osl.at_{end}.{lane}.{measure}" for end in ("shortest", "longest") for lane in DECLARED["lane"] for measure in both),
        *(f"osl.at_{end}.dspark.{measure}" for end in ("shortest", "longest") for measure in ("accept_length", "speedup")),
    )  # fmt: skip


def levels(read, lane: str, measure: str) -> list:
    found = keys(read, lane, measure)
    if len(found) < 2:
        read.unresolved("one output length only")
    return [read[key] for key in found]


@claim("osl.tpot_flat", kind="flat")
def tpot_flat(read):
    """Plain decoding's time per token is the same at every output length, within the bound."""
    cite(read)
    return flat(levels(read, "plain", "tpot_ms"), read.threshold("osl.tpot_flat"))


@claim("osl.ttft_flat", kind="flat")
def ttft_flat(read):
    """Plain decoding's time to first token is the same at every output length, within the bound."""
    cite(read)
    return flat(levels(read, "plain", "ttft_ms"), read.threshold("osl.ttft_flat"))


@claim("osl.accept_rises", kind="direction", says=("holds.rise", "unresolved.rise", "missing.rise", "fails.fall"))
def accept_rises(read):
    """The accept length is larger at the longest output than at the shortest."""
    cite(read)
    if read["osl.longest"].value == read["osl.shortest"].value:
        read.unresolved("one output length only")
    return above(read["osl.at_longest.dspark.accept_length"], read["osl.at_shortest.dspark.accept_length"])
