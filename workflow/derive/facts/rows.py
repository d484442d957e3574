"""A transcribed campaign from its point rows: no request rows, no step rows, a row a configuration.

Step latency is accept length times time per token, the last resort where a server does not report it; every fact of it says so.
"""

from workflow.derive import decompose
from workflow.derive.facts.loss import PARTS
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample


def points(read, family: str, **where) -> Rows:
    """Point rows of a transcribed file; Missing where the rows were measured here, since request rows say more there."""
    table = read.campaign.find("points", family)
    if table is not None and read.campaign.manifests[table.file].get("status") not in ("transcribed", "imported"):
        raise Missing("the rows of this campaign were measured here and are reported from its requests")
    return read.points(family, **where)


def one(read, family: str, **where) -> Rows:
    rows = points(read, family, **where)
    if len(rows) != 1:
        raise Missing(f"{len(rows)} rows of {rows.table.file} with {rows.where}; one was expected")
    return rows


def levels(rows: Rows, column: str) -> list[int]:
    """Distinct whole numbers of a column, in order."""
    return sorted({round(value) for value in rows.read(column)})


def step(rows: Rows, tpot: str = "median_tpot_ms") -> Sample:
    """Accept length times time per token: wall time of a round, no step rows asked."""
    return rows.sum("accept_length") * rows.sum(tpot)


# input length


def at_length(read, isl: int) -> Rows:
    return one(read, "isl", isl=isl)


def lengths(read) -> list[int]:
    return levels(points(read, "isl"), "isl")


def fastest(read) -> int:
    """The input length with the largest output throughput: where the loss is counted from."""
    return max(lengths(read), key=lambda isl: at_length(read, isl).sum("output_throughput").value)


@fact("rows.isl.i{isl}.accept_length", kind="length", unit="token/round")
def accept_length(read, isl):
    """accept length at one input length, as published"""
    return at_length(read, isl).sum("accept_length")


@fact("rows.isl.i{isl}.step_ms", kind="duration", unit="ms/round")
def step_of(read, isl):
    """accept length x median time per token at one input length"""
    return step(at_length(read, isl))


@fact("rows.isl.i{isl}.output_throughput", kind="rate", unit="token/s")
def output_throughput(read, isl):
    """output throughput at one input length, as published"""
    return at_length(read, isl).sum("output_throughput")


@fact("rows.isl.{which}", kind="count", unit="token", which=("shortest", "longest"))
def end(read, which):
    """end of the published input lengths"""
    return Sample((lengths(read)[0] if which == "shortest" else lengths(read)[-1]), "token")


@fact("rows.isl.fastest", kind="count", unit="token")
def fastest_length(read):
    """input length with the largest output throughput"""
    return Sample(fastest(read), "token")


@fact("rows.isl.accept_{which}", kind="length", unit="token/round", which=("shortest", "fastest", "longest"))
def accept_at(read, which):
    """accept length there"""
    return read[f"rows.isl.i{round(read[f'rows.isl.{which}'].value)}.accept_length"]


@fact("rows.isl.accept_peak", kind="count", unit="token")
def accept_peak(read):
    """input length with the largest accept length"""
    keys = {f"rows.isl.i{isl}.accept_length": isl for isl in lengths(read)}
    return Sample(keys[read.largest(keys)], "token")


@fact("rows.isl.step_{which}_ms", kind="duration", unit="ms/round", which=("fastest", "longest"))
def step_at(read, which):
    """accept length x median time per token there"""
    return step(at_length(read, round(read[f"rows.isl.{which}"].value)))


@fact("rows.isl.throughput_{which}", kind="rate", unit="token/s", which=("fastest", "longest"))
def throughput_at(read, which):
    """output throughput there"""
    return read[f"rows.isl.i{round(read[f'rows.isl.{which}'].value)}.output_throughput"]


@fact("rows.isl.{factor}", kind="ratio", factor=("step_growth", "accept_loss", "throughput_loss"))
def factor(read, factor):
    """how many times from the fastest input length to the longest"""
    if factor == "step_growth":
        return read["rows.isl.step_longest_ms"] / read["rows.isl.step_fastest_ms"]
    if factor == "accept_loss":
        return read["rows.isl.accept_fastest"] / read["rows.isl.accept_longest"]
    ends = (at_length(read, round(read[f"rows.isl.{which}"].value)).sum("output_throughput") for which in ("fastest", "longest"))
    return next(ends) / next(ends)


@fact("rows.isl.step_log_share", kind="percent", unit="percent")
def log_share(read):
    """ln(step growth) / (ln(step growth) + ln(accept loss))"""
    grown, lost = (read[f"rows.isl.{name}"].log() for name in ("step_growth", "accept_loss"))
    return grown / (grown + lost)


def term(read, isl: int) -> decompose.Term:
    """Published means of one input length as terms of E = P + R S."""
    rows = at_length(read, isl)
    tokens = rows.sum("osl").values - 1
    return decompose.Term(
        rows.sum("mean_e2e_ms"), rows.sum("mean_ttft_ms"), Sample(tokens, "token"), rows.sum("accept_length"), step(rows, "mean_tpot_ms")
    )


def split(read) -> decompose.Split:
    ends = (round(read[f"rows.isl.{which}"].value) for which in ("fastest", "longest"))
    return decompose.split(*(term(read, isl) for isl in ends))


@fact("rows.loss.{part}_ms", kind="duration", unit="ms", part=(*PARTS, "total"))
def part_ms(read, part):
    """what the part added from the fastest input length to the longest, on published means"""
    return getattr(split(read), part)


@fact("rows.loss.{part}_share", kind="percent", unit="percent", part=PARTS)
def part_share(read, part):
    """the part's milliseconds / what was added in all"""
    found = split(read)
    return getattr(found, part) / found.total


@fact("rows.loss.shares_sum", kind="percent", unit="percent")
def shares_sum(read):
    """sum of the four shares"""
    return sum((read[f"rows.loss.{part}_share"] for part in PARTS), Sample(0.0, "percent"))


# the request cap, at one block size


def caps(read) -> dict[int, str]:
    """Effective cap -> label, of the boots of the cap sweep."""
    rows = points(read, "search", stage="cap")
    return dict(sorted(zip(map(round, rows.read("effective_max_running_requests")), rows.texts("label"))))


def capped(read, cap: int, stage: str = "search") -> Rows:
    """The row of one cap. `stage`: "search" for its load, "cap" for its boot."""
    found = caps(read)
    if cap not in found:
        raise Missing(f"no boot of the cap sweep has a cap of {cap}")
    return one(read, "search", stage=stage, label=found[cap])


@fact("rows.cap.c{cap}.output_throughput", kind="rate", unit="token/s")
def cap_throughput(read, cap):
    """output throughput under one request cap, block size left at its default"""
    return capped(read, cap).sum("output_throughput")


@fact("rows.cap.c{cap}.ttft_s", kind="duration", unit="s")
def cap_ttft(read, cap):
    """median time to the first token under one request cap"""
    return capped(read, cap).sum("median_ttft_ms")


@fact("rows.cap.c{cap}.accept_length", kind="length", unit="token/round")
def cap_accept(read, cap):
    """accept length under one request cap"""
    return capped(read, cap).sum("accept_length")


@fact("rows.cap.c{cap}.tokens", kind="count")
def cap_tokens(read, cap):
    """KV tokens of the pool under one request cap"""
    return round(capped(read, cap, stage="cap").read("max_total_num_tokens")[0])


@fact("rows.cap.lowest", kind="count")
def cap_lowest(read):
    """lowest cap that was tried"""
    return min(caps(read))


def register_cap_end(part: str, kind: str, unit: str) -> None:
    @fact(f"rows.cap.at_{{end}}.{part}", kind=kind, unit=unit, end=("lowest", "default"))
    def cap_end(read, end):
        """the value under the lowest cap that was tried, or under the default"""
        return read[f"rows.cap.c{round(read[f'rows.cap.{end}'].value)}.{part}"]


for name, kind, unit in (("output_throughput", "rate", "token/s"), ("ttft_s", "duration", "s"), ("tokens", "count", "")):
    register_cap_end(name, kind, unit)


@fact("rows.cap.default", kind="count")
def cap_default(read):
    """effective cap of the boot that was given none"""
    rows = points(read, "search", stage="cap", max_running_requests=None)
    return levels(rows, "effective_max_running_requests")[-1]


@fact("rows.cap.{side}", kind="count", side=("lowered", "raised"))
def cap_tries(read, side):
    """caps tried below the default, or above it"""
    default = read["rows.cap.default"].value
    tried = points(read, "search", stage="cap").read("effective_max_running_requests")
    return int(sum(tried < default) if side == "lowered" else sum(tried > default))


@fact("rows.cap.best", kind="count")
def cap_best(read):
    """cap with the largest output throughput"""
    keys = {f"rows.cap.c{cap}.output_throughput": cap for cap in caps(read)}
    return keys[read.largest(keys)]


@fact("rows.cap.best_throughput", kind="rate", unit="token/s")
def cap_best_throughput(read):
    """output throughput under the best cap"""
    return read[f"rows.cap.c{round(read['rows.cap.best'].value)}.output_throughput"]


@fact("rows.cap.gain", kind="ratio")
def cap_gain(read):
    """output throughput under the best cap / under the default"""
    return read["rows.cap.best_throughput"] / read[f"rows.cap.c{round(read['rows.cap.default'].value)}.output_throughput"]


# the block size, at the default cap

BLOCKS = ("2", "3", "5", "default")


def row_of(read, block: str) -> Rows:
    """The row of one block size with nothing else changed: no cap, no other flag, the load of the cap sweep."""
    size = None if block == "default" else int(block)
    base = capped(read, round(read["rows.cap.default"].value))
    load = {"isl": levels(base, "isl")[0], "max_concurrency": levels(base, "max_concurrency")[0]}
    return one(read, "search", stage="search", lane="dspark", block_size=size, max_running_requests=None, note=None, **load)


@fact("rows.block.{block}.accept_length", kind="length", unit="token/round", block=BLOCKS)
def block_accept(read, block):
    """accept length at one block size"""
    return row_of(read, block).sum("accept_length")


@fact("rows.block.{block}.step_ms", kind="duration", unit="ms/round", block=BLOCKS)
def block_step(read, block):
    """accept length x median time per token at one block size"""
    return step(row_of(read, block))


@fact("rows.block.{block}.output_throughput", kind="rate", unit="token/s", block=BLOCKS)
def block_throughput(read, block):
    """output throughput at one block size"""
    return row_of(read, block).sum("output_throughput")


@fact("rows.block.best", kind="count", unit="token")
def block_best(read):
    """block size with the largest output throughput"""
    keys = {f"rows.block.{name}.output_throughput": name for name in BLOCKS}
    best = keys[read.largest(keys)]
    if best == "default":
        raise Missing("the default block size serves the most, and the publication does not say how large it is")
    return Sample(int(best), "token")


@fact("rows.block.gain", kind="ratio")
def block_gain(read):
    """output throughput at the best block size / at the default one, cap left at its default"""
    return read[f"rows.block.{round(read['rows.block.best'].value)}.output_throughput"] / read["rows.block.default.output_throughput"]


@fact("rows.block.over_best_cap", kind="ratio")
def over_best_cap(read):
    """output throughput at the best block size / under the best cap at the default block size"""
    return read[f"rows.block.{round(read['rows.block.best'].value)}.output_throughput"] / read["rows.cap.best_throughput"]


@fact("rows.block.jump.{jump}", kind="ratio", jump=("2_3", "3_5", "5_default"))
def jump(read, jump):
    """step latency at the wider block size / at the narrower one"""
    narrow, wide = jump.split("_")
    return read[f"rows.block.{wide}.step_ms"] / read[f"rows.block.{narrow}.step_ms"]


# both lanes at one load


def lane_levels(read, lane: str) -> Rows:
    base = capped(read, round(read["rows.cap.default"].value))
    return points(read, "search", stage="search", lane=lane, isl=levels(base, "isl")[0])


@fact("rows.lanes.shared", kind="count")
def shared(read):
    """largest client concurrency at which both lanes were run on the same load"""
    both = set.intersection(*(set(levels(lane_levels(read, lane), "max_concurrency")) for lane in ("plain", "dspark")))
    if not both:
        raise Missing("no concurrency was run in both lanes")
    return max(both)


@fact("rows.lanes.shared_levels", kind="count")
def shared_levels(read):
    """client concurrencies at which both lanes were run on the same load"""
    return len(set.intersection(*(set(levels(lane_levels(read, lane), "max_concurrency")) for lane in ("plain", "dspark"))))


@fact("rows.lanes.{lane}.output_throughput", kind="rate", unit="token/s")
def lane_throughput(read, lane):
    """largest output throughput of the lane at the concurrency that both were run at"""
    rows = points(read, "search", stage="search", lane=lane, max_concurrency=round(read["rows.lanes.shared"].value))
    return Sample(rows.read("output_throughput").max(), "token/s")


@fact("rows.lanes.ratio", kind="ratio")
def lanes_ratio(read):
    """plain output throughput / the largest speculative one, at the concurrency that both were run at"""
    return read["rows.lanes.plain.output_throughput"] / read["rows.lanes.dspark.output_throughput"]


# achieved concurrency


def asked(read) -> list[int]:
    return levels(points(read, "concurrency"), "max_concurrency")


@fact("rows.achieved.c{concurrency}", kind="percent", unit="percent")
def achieved(read, concurrency):
    """achieved / asked concurrency at one level"""
    return one(read, "concurrency", max_concurrency=concurrency).sum("concurrency") / concurrency


@fact("rows.achieved.least", kind="percent", unit="percent")
def least_achieved(read):
    """smallest achieved / asked concurrency over the levels"""
    return read[min((f"rows.achieved.c{level}" for level in asked(read)), key=lambda key: read[key].value)]


@fact("rows.achieved.least_from_eight", kind="percent", unit="percent")
def least_from_eight(read):
    """smallest achieved / asked concurrency over the levels from eight on"""
    keys = [f"rows.achieved.c{level}" for level in asked(read) if level >= 8]
    return read[min(read.present(keys), key=lambda key: read[key].value)]
