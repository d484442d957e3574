"""Reefs of the machine and of the procedure: what moved while one measured, and what a boot does not prove."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev

from workflow.derive.measuring import taking_part
from workflow.derive.reefs.evidence import CELL, Evidence, Row, by_file, has, place
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef
from workflow.derive.reefs.pair import Pair, cells, pairs


def floor(data: Evidence) -> float | None:
    """Largest |ln ratio| of the A/A comparisons in time per token."""
    found = [abs(row["log_ratio"]) for row in data.noise if row["metric"] == "mean_tpot_ms" and has(row, "log_ratio")]
    return max(found, default=None)


@reef("R34-mixed-code", WARNING)
def mixed_code(data: Evidence):
    """The files of this campaign were measured by different versions of the code.

    Measure the older ones again before comparing across files.
    """
    codes: dict[str, list[str]] = defaultdict(list)
    for name, manifest in data.manifests.items():
        if version := measuring_code(manifest, data.backend):
            codes[version].append(name)
    if len(codes) > 1:
        yield "manifests, code", "; ".join(f"{code}: {', '.join(sorted(names)[:3])}" for code, names in sorted(codes.items())), len(codes)


def measuring_code(manifest: dict, backend: str) -> str:
    """Twelve hex digits of the code that measured, without modules that the backend does not load; the manifest's own where it lists no modules."""
    modules = taking_part(manifest.get("fingerprint") or {}, backend)
    if not modules:
        return manifest.get("code") or ""
    return hashlib.sha256("".join(f"{name}={value}\n" for name, value in sorted(modules.items())).encode("utf8")).hexdigest()[:12]


def mixed_versions(tools: Iterable[str]) -> dict[str, set[str]]:
    """Tool -> its versions, of those that occur in several (`guidellm 0.5.3`, `guidellm 0.8.1`)."""
    versions: dict[str, set[str]] = defaultdict(set)
    for tool in tools:
        name, _, last = tool.rpartition(" ")
        if name and last[:1].isdigit():
            versions[name].add(last)
    return {name: found for name, found in versions.items() if len(found) > 1}


@reef("R34-mixed-tools", BLOCKING)
def mixed_tools(data: Evidence):
    """One file of this campaign was imported from two versions of one tool, whose definitions may differ.

    Import each version as a campaign of its own, or measure the older rows again.
    """
    for name, manifest in data.manifests.items():
        mixed = mixed_versions((manifest.get("import") or {}).get("tools", ()))
        if mixed:
            yield f"{name} manifest, import", "; ".join(f"{tool}: {', '.join(sorted(found))}" for tool, found in sorted(mixed.items())), len(mixed)


@reef("R34-mixed-machines", BLOCKING)
def mixed_machines(data: Evidence):
    """Rows of one file come from different machines or thread counts.

    Compare inside one machine only.
    """
    for rows in by_file(data.points):
        found = {(row["host"], row["threads"]) for row in rows}
        if len(found) > 1:
            yield place(rows), f"{len(found)} combinations of host and threads", len(rows)


@reef("R37-spread", NOTE)
def spread(data: Evidence):
    """Repeats of one cell vary by more than a tenth.

    Read the intervals; more repeats, or a quieter machine.
    """
    groups: dict[tuple, list] = defaultdict(list)
    for row in data.points:
        if has(row, "step_ms") and row["stage"] != "sentinel":
            groups[tuple(row[name] for name in CELL)].append(row)
    bad = []
    for rows in groups.values():
        values = [row["step_ms"] for row in rows]
        if len(values) > 1 and fmean(values) > 0 and stdev(values) / fmean(values) > 0.1:
            bad.append(rows[0])
    for rows in by_file(bad):
        yield place(rows), f"step latency of {len(rows)} cells varies by more than 10 % between repeats", len(rows)


@reef("R38-drift", WARNING, pair="ms")
def drift(data: Evidence):
    """The sentinel at the end of a command is not as fast as the one at its start: the machine warmed up, throttled or got busy.

    Trust what was measured side by side; do not compare the start of a file with its end.
    """
    for rows, drifted in drifts(data):
        yield place(rows), f"sentinels differ by {percent(drifted)}, limit {percent(limit(data))}", len(rows), [
            Pair(rows[0]["step_ms"], row["step_ms"], cells([row, rows[0]], "step_ms")) for row in rows[1:]
        ]


def limit(data: Evidence) -> float:
    """ln ratio up to which two sentinels may differ: what A/A repeats differ by, and no less than one in twenty."""
    return max(math.log(1.05), floor(data) or 0.0)


def drifts(data: Evidence) -> Iterator[tuple[list[Row], float]]:
    """Sentinels of each file whose step latencies differ by more than the limit, and the ln ratio of the slowest to the fastest."""
    for rows in by_file([row for row in data.points if row["stage"] == "sentinel" and has(row, "step_ms")]):
        drifted = math.log(max(row["step_ms"] for row in rows) / min(row["step_ms"] for row in rows))
        if drifted > limit(data):
            yield rows, drifted


def percent(log_ratio: float) -> str:
    return f"{100 * math.expm1(log_ratio):.0f} %"


@reef("R39-drift-over-gain", BLOCKING)
def drift_over_gain(data: Evidence):
    """A gain is smaller than what the machine drifted by while it was measured.

    Do not report the gain; measure on a quieter machine.
    """
    for rows, drifted in drifts(data):
        gains = sorted(gain for gain in gains_of(data, rows[0]["file"]) if limit(data) < gain < drifted)
        if gains:
            told = f"sentinels differ by {percent(drifted)}; gains smaller than that: {len(gains)}, from {percent(gains[0])} to {percent(gains[-1])}"
            yield place(rows), told, len(gains)


def gains_of(data: Evidence, file: object) -> list[float]:
    """ln of the gains that a file claims: of a search its confirmed winner's, of a sweep every lane's over plain decoding beside it."""
    if file == "search.csv":
        fresh = ((data.manifests.get("search.csv") or {}).get("search") or {}).get("confirm") or {}
        # an interval above one proves the gain on the minutes of the confirmation, not on a machine that changed its speed meanwhile
        return [math.log(fresh["ratio"])] if fresh.get("verdict") == "better" else []
    groups: dict[tuple, list[float]] = defaultdict(list)
    for own, plain in beside_plain([row for row in data.points if row["file"] == file and row["stage"] != "sentinel" and has(row, "mean_tpot_ms")]):
        groups[own["label"], *(own.get(name) for name in LOAD)].append(math.log(plain["mean_tpot_ms"] / own["mean_tpot_ms"]))
    return [fmean(logs) for logs in groups.values()]


LOAD = ("stage", "content", "dataset", "isl", "osl", "max_concurrency", "request_rate", "temperature", "mode", "num_prompts")


def beside_plain(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Cells of other lanes, each with the plain cell of the same boot block, pass and load."""
    plain = {where_of(row): row for row in rows if row["lane"] == "plain"}
    for row in rows:
        if row["lane"] != "plain" and where_of(row) in plain:
            yield row, plain[where_of(row)]


def where_of(row: Row) -> tuple:
    return tuple(row.get(name) for name in ("boot", "in_boot_pass", *LOAD))


@reef("R40-boot-is-no-proof", BLOCKING)
def boot_is_no_proof(data: Evidence):
    """A memory ceiling was accepted without a hostile probe that passed at that very fraction.

    Run a wave that fills every prefill chunk at the lane's concurrency before calling a fraction safe.
    """
    about = ((data.manifests.get("search.csv") or {}).get("search") or {}).get("memory") or {}
    for lane, found in about.items():
        fraction = found.get("fraction")
        passed = [
            row for row in data.points
            if row["stage"] == "memory" and row["lane"] == lane and has(row, "mem_fraction_static") and abs(row["mem_fraction_static"] - (fraction or 0)) < 1e-6
        ]
        if fraction is not None and not any((row["completed"] or 0) > 0 and not row["failed"] for row in passed):
            yield "search manifest, memory", f"{lane}: {fraction} without a passed probe", 1


@reef("R40-open-ceiling", NOTE)
def open_ceiling(data: Evidence):
    """The search for a memory ceiling ended before the next step above it had failed.

    The ceiling is at least this; allow more boots to bound it.
    """
    about = ((data.manifests.get("search.csv") or {}).get("search") or {}).get("memory") or {}
    for lane, found in about.items():
        if not found.get("bounded", True):
            yield "search manifest, memory", f"{lane}: {found.get('fraction')} after {len(found.get('attempts', ()))} boots", 1


@reef("R50-stolen-time", WARNING)
def stolen_time(data: Evidence):
    """The hypervisor took the processor away while a cell ran.

    Repeat those cells, or measure on a machine of one's own.
    """
    bad = [row for row in data.points if has(row, "steal_share") and row["steal_share"] > 0.02]
    for rows in by_file(bad):
        yield place(rows), f"up to {100 * max(row['steal_share'] for row in rows):.0f} % of a cell's time", len(rows)


@reef("R51-moved-machine", WARNING, pair="ms")
def moved_machine(data: Evidence):
    """A fixed piece of work took another time before a cell than after it, also in the repeat of that cell, or before forwards were timed than after.

    Read those rows with care; the machine was busy with something else.
    """
    bad, moved = [], {}
    for row in [*data.points, *data.costs]:
        for kind in ("copy", "compute"):
            names = (f"probe_{kind}_before_ms", f"probe_{kind}_after_ms")
            if has(row, *names) and abs(math.log(row[names[1]] / row[names[0]])) > math.log(1.25):
                bad.append(row)
                moved[row["file"], row["line"]] = pairs([row], *names)
                break
    for rows in by_file(bad):
        known = [pair for row in rows for pair in moved[row["file"], row["line"]]]
        yield place(rows), f"{len(rows)} cells between probes that differ by more than a quarter", len(rows), known


@reef("R53-scattered-memory", WARNING)
def scattered_memory(data: Evidence):
    """A boot took its pools out of scattered pages, and which boot gets which pages can decide what it measures.

    Compact memory before measuring (as root: echo 1 > /proc/sys/vm/compact_memory), or measure on a machine that has not been up for long.
    """
    bad = [row for row in data.points if has(row, "free_huge_share") and row["free_huge_share"] < 0.6]
    for rows in by_file(bad):
        least = min(row["free_huge_share"] for row in rows)
        yield place(rows), f"as little as {100 * least:.0f} % of free memory in blocks of 2 MiB", len({row.get("boot_id") for row in rows})


CONTROLS = {"off_off_lossless": "base-again", "broken_fails": "broken", "state_moves": "state-bf16"}
"""Control of the gate -> the configuration that shows it."""


@reef("R52-gate", BLOCKING)
def gate(data: Evidence):
    """The accuracy gate's own controls did not do what they must, or gave no answer, so its other verdicts prove nothing.

    Mend the control first: plain must equal plain, the broken configuration must fail, the lower precision must show.
    """
    about = (data.manifests.get("gate.csv") or {}).get("gate") or {}
    controls, left_out = about.get("controls") or {}, {one["config"] for one in about.get("skipped", ())}
    wrong = [name for name, value in controls.items() if value is False]
    if wrong:
        yield "gate manifest, controls", f"not as they must be: {', '.join(wrong)}", len(wrong)
    # a control that was skipped has its reason beside it; any other that shows nothing was lost
    lost = [name for name, value in controls.items() if value is None and CONTROLS.get(name) not in left_out]
    if lost:
        yield "gate manifest, controls", f"without an answer: {', '.join(lost)}", len(lost)
    failed = [one["config"] for one in about.get("unanswered", ()) if one["role"] == "candidate"]
    if failed:
        yield "gate manifest, unanswered", f"candidates without an answer: {', '.join(failed)}", len(failed)
