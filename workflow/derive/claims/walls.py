"""The two pools."""

from workflow.derive.claims.kinds import above
from workflow.derive.registry import DECLARED, claim
from workflow.derive.sample import least


@claim("walls.opposite", kind="direction")
def opposite(read):
    """At the largest concurrency, plain decoding has filled more of the KV pool than of the state pool, and DSpark the other way round."""
    read.cite("walls.concurrency", *(f"walls.{lane}.{name}" for lane in DECLARED["lane"] for name in ("tokens", "slots", "cap", "queue")))
    return least([above(read["walls.plain.kv"], read["walls.plain.state"]), above(read["walls.dspark.state"], read["walls.dspark.kv"])])
