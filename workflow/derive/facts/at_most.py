"""Which arm serves the most at the largest concurrency, of all that were measured there side by side."""

from workflow.derive.facts import batch, front
from workflow.derive.registry import DECLARED, fact


def measured(read, level: int) -> dict[str, list[str]]:
    """Measurement -> keys of the output tokens/s of its arms with `level` requests in flight."""
    loads = {f"lanes.front.t{place}": f"lanes.front.t{place}.concurrency" for place in front.PLACES}
    here = [load for load, key in loads.items() if read.has(key) and read[key].value == level]
    return {
        "concurrency": [f"lanes.c{level}.{lane}.output_throughput" for lane in DECLARED["lane"]],
        "batch": [f"batch.c{level}.{arm}.output_throughput" for arm in batch.ARMS],
        "frontier": [f"{load}.{lane}.output_throughput" for load in here for lane in front.LANES],
    }


def widest(read) -> tuple[str, list[str]]:
    """The measurement with the most arms at the largest concurrency, and their keys: rates of unlike measurements, hours apart, are not compared."""
    keys = measured(read, round(read["lanes.most"].value))
    source = max(keys, key=lambda name: sum(map(read.has, keys[name])))
    return source, read.present(keys[source])


def arm_of(read, key: str) -> str:
    """Lane and block size of an arm."""
    *load, arm, _ = key.split(".")
    if load[1] == "front":
        return read.label(".".join([*load, arm, "arm"]))
    gamma = arm[1:] if arm in batch.SIZES else round(read["lanes.gamma"].value)
    return arm if arm == "plain" else f"dspark γ = {gamma}"


@fact("lanes.best_at_most.source", kind="label")
def source_at_most(read):
    """measurement with the most arms side by side at the largest concurrency"""
    return widest(read)[0]


@fact("lanes.best_at_most.arms", kind="count")
def how_many(read):
    """arms that this measurement ran there"""
    return len(widest(read)[1])


@fact("lanes.best_at_most.arm", kind="label")
def best_arm(read):
    """of these arms, the one with the largest output tokens/s"""
    return arm_of(read, read.largest(widest(read)[1]))


@fact("lanes.best_at_most.output_throughput", kind="rate", unit="token/s")
def best_rate(read):
    """output tokens/s of that arm"""
    return read[read.largest(widest(read)[1])]
