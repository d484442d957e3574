"""Reefs of speculation: what an accept length does not say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from workflow.derive.reefs.evidence import CELL, PROBING, Evidence, Row, by_file, has, place
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef
from workflow.derive.reefs.pair import Pair, cells, pairs


@reef("R11-chunked-itl", NOTE, pair="ms")
def chunked_itl(data: Evidence):
    """Gaps between emissions are gaps between rounds, not between tokens.

    Never rank a speculative lane against plain decoding by ITL; TPOT is the time of a token.
    """
    bad = [row for row in data.points if has(row, "mean_itl_ms", "mean_tpot_ms") and row["mean_itl_ms"] > 1.2 * row["mean_tpot_ms"]]
    for rows in by_file(bad):
        yield place(rows), f"ITL is up to {max(row['mean_itl_ms'] / row['mean_tpot_ms'] for row in rows):.1f} times TPOT", len(rows), pairs(rows, "mean_itl_ms", "mean_tpot_ms")


@reef("R12-halved-itl", WARNING, pair="ms")
def halved_itl(data: Evidence):
    """Gaps between emissions are shorter than the time of a token: some emission was counted twice.

    Stamp tokens where they are emitted, once.
    """
    bad = [row for row in data.points if has(row, "mean_itl_ms", "mean_tpot_ms") and row["mean_itl_ms"] < 0.8 * row["mean_tpot_ms"]]
    for rows in by_file(bad):
        yield place(rows), f"ITL is down to {min(row['mean_itl_ms'] / row['mean_tpot_ms'] for row in rows):.2f} of TPOT", len(rows), pairs(rows, "mean_itl_ms", "mean_tpot_ms")


@reef("R16-constant-acceptance", WARNING)
def constant_acceptance(data: Evidence):
    """The accept length is the same to three digits in cells of different text: it may be a lifetime average.

    Take counters as the difference over the cell.
    """
    seen: dict[tuple, list] = defaultdict(list)
    for row in data.speculative():
        if has(row, "accept_length"):
            seen[row["file"], row["label"], row["stage"], round(row["accept_length"], 3)].append(row)
    for (_, label, _, value), rows in seen.items():
        if len({row["content"] for row in rows}) >= 3:
            yield place(rows), f"{label}: {value} in {len(rows)} cells of different content", len(rows)


@reef("R17-short-sample", WARNING, pair="plain")
def short_sample(data: Evidence):
    """An accept length over a few hundred rounds: a share near one half is known to some ten points only.

    Pool the repeats, or measure more rounds; read the interval.
    """
    bad = [row for row in data.speculative() if has(row, "rounds") and row["rounds"] < 400 and row["stage"] not in ("sentinel", *PROBING)]
    for rows in by_file(bad):
        yield place(rows), f"down to {min(row['rounds'] for row in rows):.0f} rounds a cell", len(rows), _pooled(rows)


def _pooled(rows: Sequence[Row]) -> list[Pair]:
    """The accept length of each row beside the one over all short repeats of its cell; a cell without repeats has nothing to be held against."""
    repeats: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        if has(row, "accept_length", "accepted") and row["rounds"]:
            repeats[tuple(row[name] for name in CELL)].append(row)
    found = []
    for same in repeats.values():
        pooled = 1 + sum(row["accepted"] for row in same) / sum(row["rounds"] for row in same)
        beside = cells(same, "accepted", "rounds")
        found += [Pair(row["accept_length"], pooled, (*cells([row], "accept_length"), *beside)) for row in same if len(same) > 1]
    return found


@reef("R18-counters", BLOCKING, pair="plain")
def counters(data: Evidence):
    """Accept length, rounds and accepted drafts contradict each other.

    Read the counters again; a gauge was summed, or the bonus was counted twice.
    """
    bad = []
    for row in data.speculative():
        if not has(row, "accept_length", "rounds", "accepted") or not row["rounds"]:
            continue
        wrong = abs(_counted(row) - row["accept_length"]) > 1e-5
        if wrong or (has(row, "block_size") and row["accept_length"] > row["block_size"] + 1 + 1e-6):
            bad.append(row)
    for rows in by_file(bad):
        row = rows[0]
        yield place(rows), f"accept length {row['accept_length']:.4f} from {row['accepted']:g} accepted in {row['rounds']:g} rounds", len(rows), pairs(rows, "accept_length", _counted, "accepted", "rounds")


def _counted(row: Row) -> float:
    """Accept length from the row's own counts."""
    return 1 + row["accepted"] / row["rounds"]


@reef("R31-dead-speculation", BLOCKING)
def dead_speculation(data: Evidence):
    """Speculation was configured and accepts nothing: it is off, or the draft is broken.

    Look at the drafted count and the server's notes before comparing anything.
    """
    bad = [
        row for row in data.speculative()
        if row["stage"] != "sentinel" and silent(row)
        # a lookup drafter proposes only what it has seen
        and not (row["lane"] == "lookup" and row["rounds"])
    ]
    for rows in by_file(bad):
        drafted, accepted = ("an unknown number" if rows[0][name] is None else f"{rows[0][name]:g}" for name in ("drafted", "accepted"))
        yield place(rows), f"{rows[0]['label']}: {drafted} drafted, {accepted} accepted", len(rows)


def silent(row) -> bool:
    """Whether nothing was drafted or accepted, or served tokens come with no word on acceptance at all; an unknown count is no zero."""
    if row["drafted"] is None:
        return row["accept_length"] is None and has(row, "output_throughput") or row["accept_length"] == 1
    return row["drafted"] == 0 or (row["accepted"] == 0 and (row["rounds"] or 0) >= 100)


@reef("R16-lifetime", WARNING)
def lifetime(data: Evidence):
    """The accept length is the server's average since it started, warm-up and earlier cells included.

    Take counters as the difference over the cell, or the counts of the requests themselves.
    """
    for rows in by_file([row for row in data.points if row["accept_scope"] == "lifetime"]):
        yield place(rows), f"{len(rows)} accept lengths over the server's lifetime", len(rows)


@reef("R16-one-rank", BLOCKING)
def one_rank(data: Evidence):
    """The accept length is that of one data-parallel rank over its lifetime, and others served requests too.

    Sum the counters of all ranks over the cell.
    """
    for rows in by_file([row for row in data.points if row["accept_scope"] == "one_rank"]):
        yield place(rows), f"{len(rows)} accept lengths of the first rank only", len(rows)


@reef("R21-estimated", NOTE)
def estimated(data: Evidence):
    """The accept length was estimated from tokens, since the server does not count its verify steps.

    Read counters of drafts from the server before and after the cell.
    """
    for rows in by_file([row for row in data.points if row["accept_scope"] == "estimated"]):
        yield place(rows), f"{len(rows)} estimated accept lengths", len(rows)


@reef("R23-random-ids", WARNING)
def random_ids(data: Evidence):
    """Acceptance on random ids: no draft was trained on such text, and the target loops on it.

    Report acceptance by content class of real text.
    """
    bad = [row for row in data.speculative() if row["dataset"] in ("random-ids", "random") and row["stage"] not in PROBING]
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} speculative cells on {rows[0]['dataset']}", len(rows)


@reef("R24-loops", WARNING)
def loops(data: Evidence):
    """The outputs repeat themselves: a draft guesses a loop easily.

    Put the share of distinct 4-grams beside the accept length, and prefer teacher-forced histories.
    """
    bad = [row for row in data.speculative() if has(row, "distinct_4gram_share") and row["distinct_4gram_share"] < 0.5]
    for rows in by_file(bad):
        worst = min(rows, key=lambda row: row["distinct_4gram_share"])
        yield place(rows), f"{worst['content']}: {100 * worst['distinct_4gram_share']:.0f} % of the 4-grams are distinct", len(rows)


@reef("R29-temperature", BLOCKING)
def temperature(data: Evidence):
    """A row does not say at which temperature it was measured.

    Record the temperature of every request; greedy and sampled acceptance are different quantities.
    """
    bad = [row for row in data.points if row["temperature"] is None]
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} rows without temperature", len(rows)


@reef("R29-unlike-temperature", BLOCKING)
def unlike_temperature(data: Evidence):
    """A speculative lane stands beside plain decoding at another temperature.

    Compare lanes at one temperature; greedy and sampled decoding are different loads.
    """
    found: dict[tuple, dict[bool, set]] = defaultdict(lambda: {True: set(), False: set()})
    rows: dict[tuple, list] = defaultdict(list)
    for row in data.points:
        if has(row, "temperature") and row["stage"] != "sentinel":
            key = tuple(row[name] for name in ("file", "stage", "content", "dataset", "isl", "osl", "max_concurrency", "request_rate"))
            found[key][row["lane"] == "plain"].add(row["temperature"])
            rows[key].append(row)
    for key, sides in found.items():
        if sides[True] and sides[False] - sides[True] and sides[True].isdisjoint(sides[False]):
            plain, drafting = (", ".join(f"{one:g}" for one in sorted(sides[side])) for side in (True, False))
            yield place(rows[key]), f"plain decoding at temperature {plain}, speculation at {drafting}", len(rows[key])


@reef("R20-rate-by-width", NOTE)
def rate_by_width(data: Evidence):
    """Rows of different block sizes stand side by side: the share of drafts accepted falls with the block size whatever the draft is worth.

    Compare accept lengths, or the acceptance of each position given the one before.
    """
    for rows in by_file([row for row in data.speculative() if has(row, "block_size", "accepted", "drafted") and row["drafted"]]):
        shares = {size: [row for row in rows if row["block_size"] == size] for size in sorted({row["block_size"] for row in rows})}
        if len(shares) > 1:
            narrow, wide = (sum(row["accepted"] for row in group) / sum(row["drafted"] for row in group) for group in (shares[min(shares)], shares[max(shares)]))
            told = f"{100 * narrow:.0f} % of the drafts accepted at block size {min(shares):g}, {100 * wide:.0f} % at {max(shares):g}"
            yield place(rows), told, len(rows)


@reef("R22-unequal-positions", NOTE)
def unequal_positions(data: Evidence):
    """One probability a token does not describe the acceptance: positions of a block differ from its powers by more than five points.

    Do not extrapolate to another block size by the formula of equal probabilities; read the acceptance of each position.
    """
    bad = []
    for row in data.speculative():
        reached = reached_of(data.requests_of(row))
        if len(reached) > 1:
            p = equal_probability(sum(reached), len(reached))
            off = max(abs(share - p**at) for at, share in enumerate(reached, 1))
            if off > 0.05:
                bad.append((off, row))
    for rows in by_file([row for _, row in bad]):
        worst = max(off for off, row in bad if row["file"] == rows[0]["file"])
        yield place(rows), f"up to {100 * worst:.0f} points between a position and the powers of one probability, {len(rows)} cells", len(rows)


def reached_of(requests) -> list[float]:
    """Share of the rounds that accept at least 1, 2, ... drafts; empty where no histogram of accepted counts was kept or few rounds are in it."""
    total: list[int] = []
    for request in requests:
        counts = [int(part) for part in str(request["accepted_histogram"] or "").split(";") if part]
        total = [sum(pair) for pair in zip_longest(total, counts, fillvalue=0)]
    rounds = sum(total)
    return [sum(total[at:]) / rounds for at in range(1, len(total))] if rounds >= 100 else []


def equal_probability(accepted: float, width: int) -> float:
    """The p whose powers p + p^2 + ... + p^width sum to the drafts accepted a round, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**at for at in range(1, width + 1)) < accepted else (low, middle)
    return low


@reef("R30-mixed-rules", BLOCKING)
def mixed_rules(data: Evidence):
    """One stage compares arms that accept by different rules at a temperature above zero.

    Compare acceptance under one rule.
    """
    rules: dict[tuple, set] = defaultdict(set)
    rows: dict[tuple, list] = defaultdict(list)
    for row in data.speculative():
        if row["temperature"] and row["accept_rule"]:
            key = row["file"], row["stage"], row["temperature"]
            rules[key].add(row["accept_rule"])
            rows[key].append(row)
    for key, found in rules.items():
        if len(found) > 1:
            yield place(rows[key]), f"rules {', '.join(sorted(map(str, found)))} at temperature {key[2]:g}", len(rows[key])


@reef("R32-not-lossless", BLOCKING)
def not_lossless(data: Evidence):
    """Greedy outputs of a speculative lane differ from plain decoding's.

    Find the first token that differs; compare plain with plain first.
    """
    for name, manifest in data.manifests.items():
        found = manifest.get("lossless") or {}
        if name.startswith(("search", "sweep")) and found.get("differing"):
            different = found["compared"] - found["equal"]
            yield f"{name} manifest, lossless", f"{different} of {found['compared']} outputs differ, first {found['differing'][0]}", different


@reef("R49-sampling-not-speed", NOTE)
def sampling_not_speed(data: Evidence):
    """Two runs of one configuration differ in throughput as much as in accept length: the prompts differ, not the speed.

    Compare arms on the same prompts, or divide by the accept length first.
    """
    groups: dict[tuple, list] = defaultdict(list)
    names = ("file", "stage", "label", "content", "isl", "osl", "max_concurrency", "request_rate", "temperature", "dataset")
    for row in data.speculative():
        if has(row, "decode_throughput", "accept_length"):
            groups[tuple(row[name] for name in names)].append(row)
    bad = []
    for rows in groups.values():
        for one, other in pairwise(rows):
            speed = math.log(other["decode_throughput"] / one["decode_throughput"])
            accept = math.log(other["accept_length"] / one["accept_length"])
            if abs(speed) > 0.05 and abs(speed - accept) < 0.25 * abs(speed):
                bad.append((speed, accept, other))
    for rows in by_file([row for _, _, row in bad]):
        speed, accept, _ = next(one for one in bad if one[2] is rows[0])
        yield place(rows), f"throughput ×{math.exp(speed):.2f}, accept length ×{math.exp(accept):.2f} between two repeats", len(rows)
