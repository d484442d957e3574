"""Where to stop."""

from workflow.derive.claims.kinds import above, within
from workflow.derive.facts.scale import keys
from workflow.derive.facts.segments import GAINS, PLACES
from workflow.derive.registry import DECLARED, claim


def cite(read) -> None:
    names = ("output_throughput", "per_request_tokens_per_s", "ttft_ms", "tpot_ms", "achieved", "step_ms", "tokens_per_step")
    read.cite(
        "scale.gain",
        *(
            f"scale.{lane}.{name}"
            for lane in DECLARED["lane"]
            for name in (
                "knee",
                "knee_tied",
                "max_throughput",
                "max_at",
                "gain",
                "tokens_per_step_gain",
                "step_gain",
                *(f"at_{place}.{measure}" for place in ("one", "knee", "most") for measure in names),
            )
        ),
    )


@claim("scale.knee", kind="superlative", says=("highest",))
def knee(read):
    """Throughput over end-to-end time is larger somewhere below the largest concurrency than at it, in both lanes."""
    cite(read)
    margins = []
    for lane in DECLARED["lane"]:
        found = read.present(keys(read, lane, "power"))
        if len(found) < 2:
            read.unresolved("one concurrency only")
        best = max(found[:-1], key=lambda key: read[key].value)
        margins.append(above(read[best], read[found[-1]]))
    return min(margins, key=lambda margin: margin.value)


@claim("scale.achieved_enough", kind="bound", says=("worst",))
def achieved_enough(read):
    """The achieved concurrency is at least the bound's share of the one asked for, at every level."""
    cite(read)
    return above(read["scale.worst_achieved"], read.threshold("scale.achieved_enough"))


@claim("scale.step_identity", kind="product", measure="relative gap", says=("worst",))
def step_identity(read):
    """The throughput recomputed from the step rows equals the client's within the bound: an identity, not a prediction."""
    cite(read)
    return within(read["scale.identity_gap"], read.threshold("scale.step_identity"))


@claim("scale.pays.s{place}", kind="direction", place=PLACES)
def pays(read, place):
    """In the plain lane, going on to the next concurrency of the sweep adds more to the tokens of a step than to its time."""
    segment = f"scale.s{place}"
    read.cite(*(f"{segment}.{what}" for what in ("from", "to", "waves")), *(f"{segment}.dspark.{what}" for what in GAINS))
    return above(read[f"{segment}.plain.tokens_gain"], read[f"{segment}.plain.step_gain"])
