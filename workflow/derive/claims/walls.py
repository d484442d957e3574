"""The two pools."""

from workflow.derive.claims.kinds import above
from workflow.derive.facts.walls import END
from workflow.derive.registry import DECLARED, claim
from workflow.derive.sample import least


@claim("walls.opposite", kind="direction")
def opposite(read):
    """At the largest concurrency, plain decoding has filled more of the KV pool than of the state pool, and DSpark the other way round."""
    read.cite("walls.concurrency", *(f"walls.{lane}.{name}" for lane in DECLARED["lane"] for name in ("tokens", "slots", "cap", "queue")))
    return least([above(read["walls.plain.kv"], read["walls.plain.state"]), above(read["walls.dspark.state"], read["walls.dspark.kv"])])


@claim("walls.cap_trades_tokens", kind="direction")
def cap_trades_tokens(read):
    """At one block size, the lowest request cap leaves more token budget than the highest, and the first token waits longer."""
    read.cite("walls.cap.gamma", "walls.cap.concurrency", *(f"walls.cap.{end}.{what}" for end in END for what in ("cap", "output_throughput")))
    tokens, waits = ([read[f"walls.cap.{end}.{what}"] for end in END] for what in ("tokens", "ttft_ms"))
    return least([above(*tokens), above(*waits)])
