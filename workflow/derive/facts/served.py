"""A foreign server at the loads it was given: plain decoding beside the lane that drafts, whichever that is."""

from workflow.derive.facts import measures
from workflow.derive.measuring import SERVERS
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows

ENDS = ("least", "most")
SIDES = ("plain", "draft")


def load(read, **where) -> Rows:
    """Rows of the concurrency sweep of a campaign whose backend is another server."""
    rows = read.points("concurrency", stage="concurrency", status="ok", **where)
    if not set(rows.texts("backend")) <= SERVERS:
        raise Missing("this campaign measured no server over HTTP")
    return rows


def lane(read, side: str) -> str:
    """plain, or the only other lane of the sweep."""
    found = sorted(set(load(read).texts("lane")) - {"plain"})
    if side == "plain":
        return side
    if len(found) != 1:
        raise Missing(f"one lane beside plain is needed; the concurrency sweep has {', '.join(found) or 'none'}")
    return found[0]


def levels(read) -> list[int]:
    """Requests in flight at which both sides were measured, rising."""
    by_side = [set(load(read, lane=lane(read, side)).texts("max_concurrency")) for side in SIDES]
    found = sorted(map(int, set.intersection(*by_side)))
    if not found:
        raise Missing("no concurrency was measured with drafts and without them")
    return found


def level(read, end: str) -> int:
    return levels(read)[0 if end == "least" else -1]


def points(read, end: str, side: str) -> Rows:
    return load(read, lane=lane(read, side), max_concurrency=level(read, end))


@fact("served.server", kind="label")
def server(read):
    """the server that answered, with its version where it tells one"""
    rows = load(read)
    versions = set(rows.texts("server_version")) - {""} if "server_version" in rows.table.columns else set()
    return " ".join([*sorted(set(rows.texts("backend"))), *sorted(versions)])


@fact("served.lane", kind="label")
def drafting(read):
    """lane that drafts in the concurrency sweep"""
    return lane(read, "draft")


@fact("served.gamma", kind="count")
def gamma(read):
    """most tokens that one round of that lane may draft"""
    found = set(load(read, lane=lane(read, "draft")).texts("block_size"))
    if len(found) != 1:
        raise Missing(f"the concurrency sweep has several block sizes: {', '.join(sorted(found))}")
    return int(found.pop())


@fact("served.{end}.concurrency", kind="count", end=ENDS)
def concurrency(read, end):
    """smallest or largest number of requests in flight at which both sides were measured"""
    return level(read, end)


@fact("served.{end}.{side}.output_throughput", kind="rate", unit="token/s", end=ENDS, side=SIDES)
def output_throughput(read, end, side):
    """output tokens / duration, prefill included, sums over the boots"""
    return measures.output_throughput(points(read, end, side))


@fact("served.{end}.{side}.tpot_ms", kind="duration", unit="ms/token", end=ENDS, side=SIDES)
def tpot_ms(read, end, side):
    """mean over the requests of each one's time per token, mean over the boots"""
    return points(read, end, side).mean("mean_tpot_ms")


@fact("served.{end}.{side}.ttft_ms", kind="duration", unit="ms", end=ENDS, side=SIDES)
def ttft_ms(read, end, side):
    """mean over the requests from sent to the first byte of content, mean over the boots"""
    return points(read, end, side).mean("mean_ttft_ms")


@fact("served.{end}.{side}.step_ms", kind="duration", unit="ms/step", end=ENDS, side=SIDES)
def step_ms(read, end, side):
    """step latency as `step_source` says it was read, mean over the boots"""
    return points(read, end, side).mean("step_ms")


@fact("served.{end}.accept_length", kind="length", unit="token/round", end=ENDS)
def accept_length(read, end):
    """1 + accepted drafts / rounds, sums over the boots"""
    return measures.accept_length(points(read, end, "draft"))


@fact("served.{end}.ratio", kind="ratio", end=ENDS)
def ratio(read, end):
    """output tokens/s with drafts / without them at that load"""
    return read[f"served.{end}.draft.output_throughput"] / read[f"served.{end}.plain.output_throughput"]
