"""What moves the accept length."""

from workflow.derive.claims.kinds import below, flat, rising
from workflow.derive.facts.accept import keys
from workflow.derive.registry import claim

ORDER = ("zh", "en", "code", "arith")
"""The order that the content claim states, from the shortest accept length to the longest."""


@claim("accept.flat_over_batch", kind="flat")
def flat_over_batch(read):
    """The accept length of the same requests is the same at every concurrency, within the bound."""
    read.cite(
        "accept.by_concurrency.min",
        "accept.by_concurrency.max",
        "accept.by_concurrency.span",
        "accept.by_concurrency.distinct_4gram_share",
        "lanes.least",
        "lanes.most",
        "lanes.levels",
    )
    found = keys(read)
    if len(found) < 2:
        read.unresolved("one concurrency only")
    return flat([read[key] for key in found], read.threshold("accept.flat_over_batch"))


@claim("accept.falls_with_context", kind="direction", says=("fall",))
def falls_with_context(read):
    """The accept length is smaller at the longest input than at the shortest."""
    read.cite("isl.shortest", "isl.longest", "isl.accept_span", "isl.lengths", "isl.distinct_4gram_share", "accept.detectable")
    if read["isl.longest"].value == read["isl.shortest"].value:
        read.unresolved("one input length only")
    return below(read["accept.at_longest"], read["accept.at_shortest"])


@claim("accept.content_order", kind="monotone")
def content_order(read):
    """The accept length rises from Chinese to English to code to arithmetic, at one block size, one request at a time."""
    read.cite(*(f"window.{content}.distinct_4gram_share" for content in ORDER), "accept.by_content.all", "lanes.gamma")
    return rising([read[f"accept.by_content.{content}"] for content in ORDER])
