"""What moves the accept length."""

from workflow.derive.claims.kinds import above, below, flat, rising
from workflow.derive.facts.accept import keys
from workflow.derive.facts.acceptance import TENTHS
from workflow.derive.registry import claim
from workflow.derive.sample import least

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


@claim("accept.depends_on_sampling", kind="direction", says=("fall",))
def depends_on_sampling(read):
    """The accept length is smaller when sampling at temperature 1 than under greedy decoding."""
    read.cite(
        *(f"accept.by_temperature.t{tenths}" for tenths in TENTHS),
        *(f"accept.by_temperature.{content}.t{tenths}" for content in ORDER for tenths in TENTHS),
        "accept.by_temperature.loss",
    )
    return below(read["accept.by_temperature.t10"], read["accept.by_temperature.t0"])


@claim("accept.short_runs_mislead", kind="bound", measure="relative gap")
def short_runs_mislead(read):
    """Over a few rounds the accept length of some content is off by more than the bound from its value over many."""
    read.cite("accept.by_rounds.worst_off", "accept.by_rounds.short_rounds", "accept.by_rounds.long_rounds")
    if read["accept.by_rounds.short_rounds"].value == read["accept.by_rounds.long_rounds"].value:
        read.unresolved("one number of rounds only")
    return read["accept.by_rounds.worst_off"].to("") - read.threshold("accept.short_runs_mislead").to("")


@claim("accept.external_brackets", kind="bound")
def external_brackets(read):
    """The accept length of the mixed load, at every concurrency, lies between the lowest and the highest that others observed."""
    read.cite(*(f"accept.external.{name}" for name in ("context", "hardware")), "lanes.gamma")
    low, high = read["accept.external.low"], read["accept.external.high"]
    return least([above(read["accept.by_concurrency.min"], low), below(read["accept.by_concurrency.max"], high)])
