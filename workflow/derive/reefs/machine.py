"""Reefs of the machine and of the procedure: what moved while one measured, and what a boot does not prove."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, stdev

from workflow.derive.measuring import taking_part
from workflow.derive.reefs.evidence import Evidence, by_file, has, place
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef


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
            groups[row["file"], row["stage"], row["label"], row["content"], row["isl"], row["osl"], row["max_concurrency"], row["request_rate"]].append(row)
    bad = []
    for rows in groups.values():
        values = [row["step_ms"] for row in rows]
        if len(values) > 1 and fmean(values) > 0 and stdev(values) / fmean(values) > 0.1:
            bad.append(rows[0])
    for rows in by_file(bad):
        yield place(rows), f"step latency of {len(rows)} cells varies by more than 10 % between repeats", len(rows)


@reef("R38-drift", WARNING)
def drift(data: Evidence):
    """The sentinel at the end of a command is not as fast as the one at its start: the machine warmed up, throttled or got busy.

    Trust what was measured side by side; do not compare the start of a file with its end.
    """
    limit = max(0.05, floor(data) or 0.0)
    for rows in by_file([row for row in data.points if row["stage"] == "sentinel" and has(row, "step_ms")]):
        logs = [math.log(row["step_ms"]) for row in rows]
        if len(logs) > 1 and max(logs) - min(logs) > limit:
            yield place(rows), f"sentinels differ by {100 * math.expm1(max(logs) - min(logs)):.0f} %, limit {100 * math.expm1(limit):.0f} %", len(rows)


@reef("R39-drift-over-gain", BLOCKING)
def drift_over_gain(data: Evidence):
    """The winner's gain is smaller than what the machine drifted by while it was searched.

    Do not report the gain; measure on a quieter machine.
    """
    about = (data.manifests.get("search.csv") or {}).get("search") or {}
    fresh = about.get("confirm") or {}
    rows = [row for row in data.points if row["file"] == "search.csv" and row["stage"] == "sentinel" and has(row, "step_ms")]
    if fresh.get("verdict") == "better" and len(rows) > 1 and not (fresh.get("lo") or 0) > 1:
        logs = [math.log(row["step_ms"]) for row in rows]
        gain = math.log(fresh["ratio"])
        if max(logs) - min(logs) > gain:
            yield place(rows), f"sentinels differ by {100 * math.expm1(max(logs) - min(logs)):.1f} %, the gain is {100 * math.expm1(gain):.1f} %", len(rows)


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


@reef("R51-moved-machine", WARNING)
def moved_machine(data: Evidence):
    """A fixed piece of work took another time before a cell than after it, also in the repeat of that cell.

    Read those rows with care; the machine was busy with something else.
    """
    bad = []
    for row in data.points:
        for kind in ("copy", "compute"):
            names = (f"probe_{kind}_before_ms", f"probe_{kind}_after_ms")
            if has(row, *names) and abs(math.log(row[names[1]] / row[names[0]])) > math.log(1.25):
                bad.append(row)
                break
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} cells between probes that differ by more than a quarter", len(rows)


@reef("R52-gate", BLOCKING)
def gate(data: Evidence):
    """The accuracy gate's own controls did not do what they must, so its other verdicts prove nothing.

    Mend the control first: plain must equal plain, the broken configuration must fail, the lower precision must show.
    """
    controls = ((data.manifests.get("gate.csv") or {}).get("gate") or {}).get("controls") or {}
    wrong = [name for name, value in controls.items() if value is False]
    if wrong:
        yield "gate manifest, controls", f"not as they must be: {', '.join(wrong)}", len(wrong)
