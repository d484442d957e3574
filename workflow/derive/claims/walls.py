"""The two pools."""

import math

from workflow.derive.claims.kinds import above, counted
from workflow.derive.facts.walls import CAPS, END
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


@claim("walls.full_by_construction", kind="count", measure="caps")
def full_by_construction(read):
    """Under each request cap that the load could fill, the pool has state slots in proportion to the cap, and all of them are in use."""
    read.cite("walls.cap.gamma", "walls.cap.concurrency", *(f"walls.cap.{end}.{what}" for end in END for what in ("cap", "slots", "state")))
    tried = round(read.exact("walls.cap.reached").value)
    if tried < 2:
        read.unresolved("fewer than two request caps were tried under as many requests in flight")
    return counted(read["walls.cap.full"], tried)


@claim("walls.default_cap_best", kind="superlative", says=("unresolved.largest",))
def default_cap_best(read):
    """At one block size, more tokens/s are served under the default request cap than under any other that was tried."""
    read.cite("walls.cap.gamma", "walls.cap.concurrency", *(f"walls.cap.{what}" for what in ("default", "rival.cap", "rival.ratio", "detectable")))
    margin = least([above(read[key]) for key in read.present(f"walls.cap.t{place}.ratio" for place in CAPS)])
    if not read.has("walls.cap.detectable"):
        read.unresolved("nothing says how far the ratio may be off")
    return margin, math.log1p(read.exact("walls.cap.detectable").to("").value)


@claim("walls.queue_cause", kind="bound", measure="share")
def queue_cause(read):
    """In most of the steps with a request waiting, plain decoding waits for KV pages, and DSpark for state slots or for the cap."""
    read.cite(*(f"walls.{lane}.{what}" for lane in DECLARED["lane"] for what in ("queue_cause", "queue_share")))
    if not all(read.exact(f"walls.{lane}.waits").value for lane in DECLARED["lane"]):
        read.unresolved("no request waited in one of the lanes")
    return least([read[f"walls.{lane}.wall_share"].to("") - 0.5 for lane in DECLARED["lane"]])
