"""What transcribed rows say. Directions must exceed the A/A differences that the publication's own repeats show."""

from workflow.derive.claims.kinds import above, flat, largest, rising, sums_to, within
from workflow.derive.facts.loss import PARTS
from workflow.derive.facts.rows import lengths
from workflow.derive.facts.rows_load import concurrencies, output_lengths
from workflow.derive.registry import claim
from workflow.derive.sample import Sample, least


@claim("rows.loss_closes", kind="sum", measure="share")
def closes(read):
    """The four shares of the published loss sum to one, and what prefill, step and acceptance leave over stays within the bound."""
    read.cite(*(f"rows.loss.{part}_share" for part in PARTS), *(f"rows.loss.{part}_ms" for part in (*PARTS, "total")))
    whole = sums_to(read.exact("rows.loss.shares_sum"), Sample(100.0, "percent"))
    return whole if whole.value < 0 else within(read.exact("rows.loss.rest_share"), read.threshold("loss.closes"))


@claim("rows.accept_falls", kind="monotone", says=("fall", "fails.rise"))
def accept_falls(read):
    """The published accept length falls at every step to a longer input."""
    read.cite("rows.isl.accept_peak", "rows.isl.accept_shortest", "rows.isl.accept_fastest", "rows.isl.accept_longest")
    return rising([read.exact(f"rows.isl.i{isl}.accept_length") for isl in reversed(lengths(read))])


@claim("rows.lower_cap_serves_more", kind="direction")
def lower_cap(read):
    """At the default block size, the best request cap serves more than the default cap."""
    read.cite("rows.cap.best", "rows.cap.default", "rows.cap.best_throughput", "rows.cap.lowered", "rows.cap.raised")
    return above(read["rows.cap.gain"])


@claim("rows.narrow_block_serves_more", kind="direction")
def narrow_block(read):
    """At the default cap, the best block size serves more than the default one."""
    read.cite("rows.block.best", "rows.block.over_best_cap")
    return above(read["rows.block.gain"])


@claim("rows.step_cliff", kind="superlative", says=("holds.rise",))
def step_cliff(read):
    """Step latency jumps more between one pair of neighbouring block sizes than between the others."""
    read.cite(*(f"rows.block.{name}.step_ms" for name in ("2", "3", "5", "default")))
    return largest(read["rows.block.jump.3_5"], [read["rows.block.jump.2_3"], read["rows.block.jump.5_default"]])


@claim("rows.plain_serves_more", kind="direction", says=("faster",))
def plain_serves_more(read):
    """At the client concurrency that both lanes were run at, plain decoding serves more than speculation."""
    read.cite("rows.lanes.shared", "rows.lanes.plain.output_throughput", "rows.lanes.dspark.output_throughput")
    return above(read["rows.lanes.ratio"])


@claim("rows.ttft_flat", kind="flat")
def ttft_flat(read):
    """The published time to first token is the same at every output length, within the bound."""
    read.cite("rows.osl.shortest", "rows.osl.longest", *(f"rows.osl.at_{end}.{part}" for end in ("shortest", "longest") for part in ("ttft_ms", "accept_length")))
    found = output_lengths(read)
    if len(found) < 2:
        read.unresolved("one output length only")
    return flat([read[f"rows.osl.o{osl}.ttft_ms"] for osl in found], read.threshold("osl.ttft_flat"))


@claim("rows.more_requests_serve_more", kind="monotone")
def more_requests(read):
    """The published output throughput is larger at each concurrency than at the one below it."""
    read.cite("rows.concurrency.least", "rows.concurrency.most",
              *(f"rows.concurrency.at_{end}.{part}" for end in ("least", "most") for part in ("output_throughput", "per_request", "ttft_ms")))  # fmt: skip
    found = concurrencies(read)
    if len(found) < 2:
        read.unresolved("one concurrency only")
    return rising([read[f"rows.concurrency.c{level}.output_throughput"] for level in found])


@claim("rows.cache_pays_on_shared", kind="direction")
def cache_pays(read):
    """On prompts with a shared prefix, each published setting of the prefix cache serves more than none."""
    read.cite("rows.cache.random.on.ratio", "rows.cache.random.lazy.ratio", "rows.cache.on.running", "rows.cache.off.running")
    return least([above(read[f"rows.cache.shared.{side}.ratio"]) for side in ("on", "lazy")])


@claim("rows.memory_wall", kind="bound")
def memory_wall(read):
    """Plain decoding, as published: each share of memory that ran out is above each that came up."""
    read.cite("rows.memory.plain.least", "rows.memory.plain.tokens_at_least", "rows.memory.plain.tokens_at_served")
    return above(read.exact("rows.memory.plain.ran_out"), read.exact("rows.memory.plain.served"))
