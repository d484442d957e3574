"""A synthetic campaign: the files a measuring run would write, from a toy cost model instead of an engine.

For tests and for looking at the page without measuring. Nothing here was measured; the manifests say so (a machine named
"synthetic", a note). Deterministic: one `Physics`, one set of files.

    python -m tests.data.synthetic --out workflow/build/synthetic-campaign
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import hashlib
import io
import json
import math
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.data.synthetic_cost import write_verify_cost
from tests.data.synthetic_gate import write_gate
from tests.data.synthetic_instrument import write_instrument
from tests.data.synthetic_stages import FAULT, STEP, by_stage, ledger, search_stages, waits
from tests.data.synthetic_sweeps import MORE, more_sweeps
from workflow.derive.shown import OPERATORS, TARGETS

CONTENTS = ("arith", "code", "en", "zh")


@dataclass(frozen=True)
class Physics:
    """The toy cost model. Times in ms, acceptance as conditional probability of the first draft."""

    decode_ms: float = 4.0
    per_row_ms: float = 0.55
    """Added to a step for every request beyond the first."""
    verify_growth: float = 0.07
    """T_verify(w) = T_decode * (1 + verify_growth * (w - 1) + verify_curve * (w - 1)^2)."""
    verify_curve: float = 0.004
    verify_row_growth: float = 0.10
    """How much more a further row costs for each further position in its window."""
    draft_ms: float = 0.8
    draft_per_token_ms: float = 0.07
    mtp_draft_ms: float = 0.6
    commit_ms: float = 0.1
    other_ms: float = 0.12
    """Per emitted token, not amortised by speculation."""
    between_ms: float = 0.0
    """Between steps, on nobody's clock but the client's."""
    prefill_ms: float = 0.12
    """Per prompt token."""
    context_ms: float = 0.0004
    """Added to a step per token of context; the draft pays `draft_context` times it."""
    draft_context: float = 1.5
    accept: dict = field(default_factory=lambda: {"arith": 0.93, "code": 0.8, "en": 0.78, "zh": 0.62})
    accept_decay: float = 0.96
    """Factor a draft position."""
    accept_context: float = 0.0
    """Acceptance lost for every doubling of the prompt beyond 64."""
    accept_width: float = 0.0
    """Acceptance gained for every further token of the block: below 0, wide blocks guess worse."""
    accept_temperature: float = 0.2
    """Share of the acceptance lost at temperature 1."""
    forced: float = 0.8
    """Factor on the acceptance after true histories, which hold no loops."""
    random_accept: float = 0.5
    """Acceptance after prompts of random token ids."""
    accept_batch: float = 0.0
    """Acceptance lost for every doubling of the concurrency; 0 in an engine whose rows are independent."""
    modes: dict = field(default_factory=lambda: {"eager": (1.0, 1.0, 1.0), "graph": (0.85, 1.1, 1.0), "fused": (0.12, 12.0, 0.3)})
    """Mode -> factors on a forward of one position, on what each further position adds to it in shares, and on everything else."""
    lookup_accept: float = 0.6
    """Factor on the acceptance of what is looked up in the text so far."""
    boot_noise: float = 0.006
    step_noise: float = 0.02
    boot_s: float = 0.8
    peak_bytes: int = 6 << 20
    """Transient memory of the hostile wave."""
    peak_shown: float = 1.0
    """Share of it that the wave at the anchor shows."""
    cache_cost: float = 1.06
    """Factor on plain steps with the prefix cache on."""
    cache_saves: float = 0.9
    """Share of a shared prompt that the cache spares."""
    cache_slots: int = 3
    """State slots a request takes with the cache on."""
    knob_gain: float = 1.3
    """How much faster a step is with the one setting that does something."""


@dataclass(frozen=True)
class Plan:
    """Sizes of the campaign."""

    repeats: int = 2
    prompts: int = 4
    osl: int = 64
    gammas: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    isls: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    concurrencies: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    rates: tuple[int, ...] = (2, 6, 14)
    aa_boots: int = 4
    contents: tuple[str, ...] = CONTENTS
    base_gamma: int = 3
    grid: int = 120
    """Configurations that a full grid would have."""
    seed: int = 11


@dataclass(frozen=True)
class Cell:
    """One arm at one load: what becomes a row of a points file."""

    stage: str
    lane: str
    gamma: int
    content: str
    isl: int
    concurrency: int
    boot: int
    repeat: int
    requests: int
    osl: int
    label: str = ""
    mode: str = "eager"
    rate: float = 0.0
    """Requests a second on a timetable, `concurrency` at most at once; 0: a closed loop."""

    @property
    def seed(self) -> tuple:
        """What its noise is drawn from."""
        *known, mode, rate = dataclasses.astuple(self)
        return (*known, *(() if mode == "eager" else (mode,)), *((rate,) if rate else ()))


def machine_of(seed: int, run_id: str) -> dict[str, float]:
    """What a quiet machine records beside a cell: the load of one engine, nothing stolen, a probe that hardly moves."""
    rng = rng_of(seed, "machine", run_id)
    probes = {f"probe_{kind}_{side}_ms": round(5.0 * float(np.exp(rng.normal(0, 0.01))), 4) for kind in ("copy", "compute") for side in ("before", "after")}
    return {**probes, "steal_share": 0.0, "load_average": round(1.05 + 0.1 * float(rng.random()), 2), "measured_again": 0}


def rng_of(*parts) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big"))


def step_times(physics: Physics, cell: Cell, running: int, context: float) -> tuple[float, float, float]:
    """(draft, verify, commit) ms of one step over `running` rows."""
    decode, wider, rest = physics.modes[cell.mode]
    if cell.lane == "plain":
        return 0.0, decode * physics.decode_ms + physics.per_row_ms * (running - 1) + physics.context_ms * context, rest * physics.commit_ms / 2
    extra = cell.gamma
    growth = 1 + wider * (physics.verify_growth * extra + physics.verify_curve * extra**2)
    rows = physics.per_row_ms * (running - 1) * (1 + physics.verify_row_growth * extra)
    verify = decode * physics.decode_ms * growth + rows + physics.context_ms * context
    if cell.lane == "lookup":
        return 0.02, verify, physics.commit_ms
    base = physics.mtp_draft_ms if cell.lane == "mtp" else physics.draft_ms + physics.draft_per_token_ms * cell.gamma
    draft = base + 0.3 * physics.per_row_ms * (running - 1) + physics.draft_context * physics.context_ms * context
    return rest * draft, verify, rest * physics.commit_ms * (1 + 0.2 * (running - 1))


def acceptance(physics: Physics, cell: Cell, content: str) -> float:
    first = physics.accept[content] - physics.accept_context * math.log2(cell.isl / 64) - physics.accept_batch * math.log2(cell.concurrency)
    first += physics.accept_width * (cell.gamma - 1)
    return min(max(first, 0.02), 0.995) * {"mtp": 0.97, "dflash": 0.94, "lookup": physics.lookup_accept}.get(cell.lane, 1.0)


def simulate(physics: Physics, plan: Plan, cell: Cell) -> tuple[list[dict], list[dict], float]:
    """Requests and steps of a closed loop with `cell.concurrency` clients, or of arrivals on a timetable; seconds of the whole cell."""
    noise = rng_of(plan.seed, "time", cell.seed)
    boot_factor = math.exp(
        rng_of(plan.seed, "boot", cell.stage, cell.boot, cell.lane, cell.gamma, cell.label).normal(0, physics.boot_noise)
    )
    contents = plan.contents if cell.content == "mixed" else (cell.content,)
    waiting = []
    for index in range(cell.requests):
        # The prompt, hence what is accepted where, is the same for every arm and every load.
        luck = rng_of(plan.seed, "prompt", cell.content, cell.repeat, index).random((cell.osl + 10, 8))
        content = contents[index % len(contents)]
        waiting.append(
            {
                "index": index,
                "content": content,
                "chance": acceptance(physics, cell, content),
                "luck": luck,
                "emitted": 0,
                "rounds": 0,
                "accepted": 0,
                "histogram": [0] * (cell.gamma + 1),
            }
        )
    running, requests, steps, now = [], [], [], 0.0
    gaps = rng_of(plan.seed, "arrivals", cell.repeat).exponential(1.0, len(waiting)).cumsum()
    for item, at in zip(waiting, gaps):
        item["due"] = item["queued"] = at / cell.rate if cell.rate else 0.0
    while waiting or running:
        if not running and waiting[0]["due"] > now:
            now = waiting[0]["due"]
        if waiting and len(running) < cell.concurrency and waiting[0]["due"] <= now:
            item = waiting.pop(0)
            duration = physics.prefill_ms * cell.isl * boot_factor * math.exp(noise.normal(0, physics.step_noise))
            item["queued"] = item["scheduled"] = now
            row = {
                "kind": "prefill",
                "draft_ms": 0.0,
                "verify_ms": duration,
                "commit_ms": 0.0,
                "running": len(running) + 1,
                "positions": cell.isl,
            }
            rows = [(item, 1)]
        else:
            context = float(np.mean([cell.isl + item["emitted"] for item in running]))
            draft, verify, commit = step_times(physics, cell, len(running), context)
            factor = boot_factor * math.exp(noise.normal(0, physics.step_noise))
            window = 1 if cell.lane == "plain" else cell.gamma + 1
            row = {
                "kind": "decode" if cell.lane == "plain" else "round",
                "draft_ms": draft * factor,
                "verify_ms": verify * factor,
                "commit_ms": commit * factor,
                "running": len(running),
                "positions": len(running) * window,
            }
            rows = [(item, None) for item in running]
        committed = emitted = 0
        finished = []
        for item, fixed in rows:
            if fixed or cell.lane == "plain":
                take = give = 1
            else:
                luck = item["luck"][item["emitted"]]
                hits = 0
                while hits < cell.gamma and luck[hits] < item["chance"] * physics.accept_decay**hits:
                    hits += 1
                item["rounds"] += 1
                item["accepted"] += hits
                item["histogram"][hits] += 1
                take, give = hits + 1, min(hits + 1, cell.osl - item["emitted"])
            item["emitted"] += give
            committed += take
            emitted += give
            if item["emitted"] >= cell.osl:
                finished.append(item)
        blocks = row["draft_ms"] + row["verify_ms"] + row["commit_ms"]
        # A prefill's own client time is left out: the first token's cost is in TTFT.
        other = physics.other_ms * physics.modes[cell.mode][2]
        duration = blocks + (0.0 if row["kind"] == "prefill" else other * emitted * boot_factor)
        steps.append(
            {
                "step": len(steps),
                "start_s": now,
                "step_ms": duration,
                "queued": len(waiting),
                "committed": committed,
                "emitted": emitted,
                "kv_usage": 0.01 * len(running),
                "state_usage": len(running) / 48,
                "retracted": 0,
                "blocked_by": "",
                **row,
            }
        )
        now += (duration + physics.between_ms) / 1000
        if row["kind"] == "prefill":
            rows[0][0]["first"] = now
            running.append(rows[0][0])
        for item in finished:
            if item in running:
                running.remove(item)
            requests.append(
                {
                    **({"arrival_s": item["due"]} if cell.rate else {}),
                    "request_id": f"r{item['index']}",
                    "prompt_id": f"{cell.content}-{cell.repeat}-{item['index']}",
                    "queued_s": item["queued"],
                    "scheduled_s": item["scheduled"],
                    "first_token_s": item["first"],
                    "end_s": now,
                    "isl": cell.isl,
                    "osl": item["emitted"],
                    "rounds": "" if cell.lane == "plain" else item["rounds"],
                    "drafted": "" if cell.lane == "plain" else item["rounds"] * cell.gamma,
                    "accepted": "" if cell.lane == "plain" else item["accepted"],
                    "accepted_histogram": "" if cell.lane == "plain" else ";".join(map(str, item["histogram"])),
                    "cached_tokens": 0,
                    "retractions": 0,
                    "finish_reason": "length",
                    "status": "ok",
                    "content": item["content"],
                }
            )
    return requests, steps, now


class Campaign:
    """Collects rows stage by stage and writes the folder."""

    def __init__(self, physics: Physics, plan: Plan, name: str):
        self.physics, self.plan, self.name = physics, plan, name
        self.tables: dict[str, list[dict]] = {}
        self.clock = 0.0

    def measure(self, sweep: str, cell: Cell, physics: Physics | None = None, **more) -> dict:
        """One cell; `physics` in place of the campaign's, `more` columns of its point."""
        physics = physics or self.physics
        requests, steps, seconds = simulate(physics, self.plan, cell)
        plain = cell.lane == "plain"
        run_id = f"{cell.stage}-{len(self.tables.get(points_file(sweep), ())):04d}"
        rounds = [s for s in steps if s["kind"] != "prefill"]
        total = sum(r["osl"] for r in requests)
        e2e = [1000 * (r["end_s"] - r["queued_s"]) for r in requests]
        ttft = [1000 * (r["first_token_s"] - r["queued_s"]) for r in requests]
        tpot = [1000 * (r["end_s"] - r["first_token_s"]) / (r["osl"] - 1) for r in requests]
        mean = lambda key: sum(s[key] for s in rounds) / len(rounds)
        accepted = "" if plain else sum(r["accepted"] for r in requests)
        n_rounds = "" if plain else sum(r["rounds"] for r in requests)
        point = {
            "run_id": run_id,
            "campaign": self.name,
            "backend": "external",
            "stage": cell.stage,
            "label": cell.label or (f"{cell.lane}" if plain else f"{cell.lane}-g{cell.gamma}"),
            "lane": cell.lane,
            "mode": cell.mode,
            "boot": cell.boot,
            "boot_id": f"{cell.stage}-{cell.boot}-{cell.label or cell.lane}-{cell.gamma}",
            "repeat": cell.repeat,
            "in_boot_pass": 0,
            "seed": self.plan.seed,
            "host": "synthetic",
            "device": "cpu",
            "model": "synthetic",
            "threads": 1,
            "code": "synthetic",
            "server_version": "synthetic",
            "image_digest": "",
            "weights_revision": "synthetic",
            "failure": "",
            "block_size": "" if plain else cell.gamma,
            "dataset": "synthetic",
            "content": cell.content,
            "isl": cell.isl,
            "osl": cell.osl,
            "num_prompts": cell.requests,
            "max_concurrency": cell.concurrency,
            "request_rate": "inf",
            "temperature": 0.0,
            "top_p": 1.0,
            "top_k": 0,
            "ignore_eos": "off",
            "status": "ok",
            "note": "",
            "boot_s": physics.boot_s,
            "effective_max_running_requests": 48,
            **machine_of(self.plan.seed, run_id),
            "duration_s": seconds,
            "completed": len(requests),
            "failed": 0,
            "request_throughput": len(requests) / seconds,
            "output_throughput": total / seconds,
            "total_throughput": (total + cell.isl * len(requests)) / seconds,
            **{
                f"{stat}_{name}_ms": value
                for name, values in (("ttft", ttft), ("tpot", tpot), ("e2e", e2e))
                for stat, value in (
                    ("mean", float(np.mean(values))),
                    ("median", float(np.median(values))),
                    ("p99", float(np.percentile(values, 99))),
                )
            },
            "concurrency": sum(e2e) / 1000 / seconds,
            "steps": len(rounds),
            "rounds": n_rounds,
            "drafted": "" if plain else n_rounds * cell.gamma,
            "accepted": accepted,
            "accept_length": "" if plain else 1 + accepted / n_rounds,
            "emitted_per_round": "" if plain else (total - len(requests)) / n_rounds,
            "distinct_4gram_share": 0.82 + 0.02 * CONTENTS.index(cell.content) if cell.content in CONTENTS else 0.85,
            "step_ms": mean("step_ms"),
            "step_source": "steps",
            "draft_ms": mean("draft_ms"),
            "verify_ms": mean("verify_ms"),
            "commit_ms": mean("commit_ms"),
            "other_ms": mean("step_ms") - mean("draft_ms") - mean("verify_ms") - mean("commit_ms"),
            "between_ms": 0.0,
            "total_input_tokens": sum(r["isl"] for r in requests),
            "total_output_tokens": total,
            "decode_tokens": total - len(requests),
            "decode_throughput": (total - len(requests)) / sum(s["step_ms"] for s in rounds) * 1000,
            "kv_usage_max": 0.2,
            "state_usage_max": 0.5,
            "queue_max": 0,
            "retracted": 0,
            **waits(cell.stage, cell.lane),
            **dict.fromkeys(("mem_fraction_static", "device_memory_bytes", "available_mem_bytes", "activation_peak_bytes", *FAULT), ""),
            "chunked_prefill_size": 2048, "max_total_num_tokens": 16384, "state_slots": 48, "radix_cache": "off", "cache_hit_rate": 0.0,
            **(timetable(cell.rate, requests) if cell.rate else {}),
            **more,
        }
        self.clock += seconds
        self.add(points_file(sweep), [point])
        self.add(
            f"requests_{sweep}.csv",
            [{"run_id": run_id, **r, "ttft_ms": t, "tpot_ms": p, "e2e_ms": e} for r, t, p, e in zip(requests, ttft, tpot, e2e)],
        )
        self.add(f"steps_{sweep}.csv", [{"run_id": run_id, **s} for s in steps])
        return point

    def add(self, file: str, rows: list[dict]) -> None:
        self.tables.setdefault(file, []).extend(rows)

    def build(self) -> None:
        plan = self.plan
        arms = [("plain", 0)] + [("dspark", g) for g in plan.gammas] + [("mtp", 1)]
        others = [("dflash", plan.base_gamma), ("lookup", plan.base_gamma)]
        for repeat in range(plan.repeats):
            for content in plan.contents:
                for lane, gamma in arms + others:
                    label = lane if (lane, gamma) in others else ""
                    self.measure("window", Cell("window", lane, gamma, content, 128, 1, repeat, repeat, plan.prompts, plan.osl, label))
            for mode in self.physics.modes:
                for lane, gamma in (("plain", 0), ("dspark", 1), ("dspark", plan.base_gamma)):
                    label = f"{lane}-g{gamma}-{mode}" if gamma else f"{lane}-{mode}"
                    self.measure("window", Cell("modes", lane, gamma, "code", 128, 1, repeat, repeat, plan.prompts, plan.osl, label, mode))
            for isl in plan.isls:
                for lane, gamma in (("plain", 0), ("dspark", plan.base_gamma)):
                    self.measure("isl", Cell("isl", lane, gamma, "code", isl, 1, repeat, repeat, 2, plan.osl))
            for concurrency in plan.concurrencies:
                for lane, gamma in (("plain", 0), ("dspark", plan.base_gamma)):
                    self.measure(
                        "concurrency", Cell("concurrency", lane, gamma, "mixed", 128, concurrency, repeat, repeat, 32, plan.osl // 2)
                    )
            for rate in plan.rates:
                for lane, gamma in (("plain", 0), ("dspark", plan.base_gamma)):
                    cell = Cell("rate", lane, gamma, "mixed", 128, 32, repeat, repeat, 100, plan.osl // 4, rate=rate)
                    self.measure("rate", cell)
        base = ("dspark", plan.base_gamma)
        load = {"content": "mixed", "isl": 128, "concurrency": 4, "requests": 4 * plan.prompts, "osl": plan.osl // 2}

        def search(stage: str, lane: str, gamma: int, boot: int, label: str = "") -> dict:
            return self.measure("search", Cell(stage=stage, lane=lane, gamma=gamma, boot=boot, repeat=boot, label=label, **load))

        for boot in range(plan.aa_boots):
            pair = [search("aa", *base, boot, label) for label in ("base-a", "base-b")]
            for metric in ("mean_tpot_ms", "decode_throughput", "output_throughput", "step_ms", "accept_length"):
                a, b = pair[0][metric], pair[1][metric]
                self.add(
                    "noise.csv",
                    [
                        {
                            "campaign": self.name,
                            "comparison": boot,
                            "repeat": boot,
                            "label_a": "base-a",
                            "label_b": "base-b",
                            "boot_id_a": pair[0]["boot_id"],
                            "boot_id_b": pair[1]["boot_id"],
                            "metric": metric,
                            "value_a": a,
                            "value_b": b,
                            "log_ratio": math.log(b / a),
                        }
                    ],
                )
        for boot in range(plan.repeats):
            rows = [search("window", lane, gamma, boot, "base" if (lane, gamma) == base else "") for lane, gamma in arms if lane != "mtp"]
        best = min(rows, key=lambda row: row["mean_tpot_ms"])
        for boot in range(plan.aa_boots):
            search("confirm", *base, boot, "base")
            search("confirm", best["lane"], best["block_size"] or 0, boot, "candidate")
        search_stages(self, load)
        more_sweeps(self)
        self.sentinels()
        self.trace()
        self.kernels()

    def sentinels(self) -> None:
        """The cell that every command measures at its start and again at its end."""
        for sweep in [file.removeprefix("requests_").removesuffix(".csv") for file in self.tables if file.startswith("requests_")]:
            for boot, when in enumerate(("start", "end")):
                self.measure(sweep, Cell("sentinel", "plain", 0, "code", 128, 1, boot, boot, 1, self.plan.osl, f"sentinel-{when}"))

    def kernels(self) -> None:
        """Binaries of every operator that the report shows, and what the device tests select."""
        for operator in OPERATORS:
            rng = rng_of(self.plan.seed, "kernels", operator)
            sha = "".join(rng.choice(list("0123456789abcdef"), 16))
            for target in TARGETS:
                nvidia = target.startswith("sm_")
                row = {"operator": operator, "kernel": operator, "target": target, "source_sha": sha}
                row |= {"bin_bytes": int(rng.integers(5000, 60000)), "registers": int(rng.integers(8, 250))}
                row |= {"scalar_registers": 0 if nvidia else 40, "shared_bytes": int(rng.integers(0, 40)) * 256, "spills": 0}
                row |= {"instructions": int(rng.integers(80, 900)), "matrix_instructions": 16 if operator == "kda_prefill" else 0}
                row |= {"num_warps": 4, "warp_size": 32 if nvidia else 64, "dispatch": "tensor.is_cuda", "fallbacks": "cpu reference"}
                self.add("kernels.csv", [row | {"triton_version": "3.7.1"}])
        says = {"torch.version.cuda": (1, 0, 0), "torch.version.hip": (0, 1, 1), "torch.cuda.is_available()": (1, 1, 1)}
        says |= dict.fromkeys(('tensor.device.type == "cuda"', "tensor.is_cuda"), (1, 1, 0))
        says["tensor.is_cuda and torch.version.cuda"] = (1, 0, 0)
        for (build, device), place in zip((("cuda", "cuda"), ("rocm", "cuda"), ("rocm", "cpu")), range(3)):
            for predicate, values in says.items():
                value, gpu = values[place], device == "cuda"
                row = {"build": build, "simulated": 1, "device": device, "predicate": predicate, "value": value}
                row |= {"selects": "triton" if value else "cpu", "registry_test": "tensor.is_cuda" if gpu else 'tensor.device.type == "cpu"'}
                self.add("predicates.csv", [row | {"registry_selects": "triton" if gpu else "cpu", "agrees": int(bool(value) == gpu)}])

    def trace(self) -> None:
        rng = rng_of(self.plan.seed, "trace")
        position, gamma, clock = 130, self.plan.base_gamma, 0.0
        for number in range(6):
            cost = {"draft_ms": 1.1, "verify_ms": 4.9, "commit_ms": 0.12}
            alive = [float(rng.random()) < 0.8 for _ in range(gamma)]
            hits = alive.index(False) if False in alive else gamma
            for role, slot in [("anchor", 0), *(("draft", k) for k in range(1, gamma + 1)), ("bonus", hits + 1)]:
                self.add(
                    "trace.csv",
                    [
                        {
                            "campaign": self.name,
                            "run_id": "trace",
                            "request_id": "trace",
                            "lane": "dspark",
                            "block_size": gamma,
                            "content": "code",
                            "round": number,
                            "role": role,
                            "slot": slot,
                            "position": position + slot,
                            "token": int(rng.integers(4, 4096)),
                            "text": ("for", " i", " in", "(x", "):", " return")[int(rng.integers(6))],
                            "q": round(float(rng.uniform(0.4, 0.99)), 4) if role == "draft" else "",
                            "p": round(float(rng.uniform(0.4, 0.99)), 4) if role != "anchor" else "",
                            "accepted": int(slot <= hits) if role == "draft" else "",
                            "emitted": int(role != "anchor" and slot <= hits + (role == "bonus")),
                            "start_s": clock / 1000,
                            **cost,
                        }
                    ],
                )
            position += hits + 1
            clock += sum(cost.values()) + 0.2

    def write(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "campaign.yaml").write_text(
            f"# Synthetic: for tests only, nothing in this folder was measured.\nname: {self.name}\nbackend: external\n"
            "hardware: synthetic, not a machine\nsource: tests/data/synthetic.py\n",
            "utf8",
        )
        for file, rows in self.tables.items():
            text = io.StringIO()
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {k: (round(v, 4 if file.startswith("steps") else 6) if isinstance(v, float) else v) for k, v in row.items()} for row in rows
            )
            data = text.getvalue().encode()
            write(out / file, data)
            write(
                out / (file.removesuffix(".csv") + ".manifest.json"),
                (json.dumps(self.manifest(file, data, len(rows)), indent=1) + "\n").encode(),
            )

    def manifest(self, file: str, data: bytes, rows: int) -> dict:
        thresholds = Path(__file__).resolve().parents[2] / "workflow" / "derive" / "thresholds.yaml"
        alone = file.removesuffix(".csv")
        kind = alone if alone in ("noise", "trace", "kernels", "predicates") else {"requests": "requests", "steps": "steps"}.get(
            file.split("_")[0], "points"
        )
        family = (
            "search"
            if file in ("search.csv", "noise.csv") or file.endswith("_search.csv")
            else "window"
            if file in ("trace.csv", "kernels.csv", "predicates.csv")
            else file.split("_")[1].removesuffix(".csv")
        )
        points = self.tables["search.csv" if family == "search" else f"sweep_{family}.csv"]
        boots, seconds = len({row["boot_id"] for row in points}), sum(row["duration_s"] or 0.0 for row in points)
        total = seconds + boots * self.physics.boot_s
        minute = ("search", "window", "isl", "concurrency", "rate", *MORE).index(family) * 5
        model = {
            "name": "synthetic",
            "params": 8_350_000,
            "bytes": 16_700_000,
            "layers": 8,
            "kda_layers": 6,
            "attention_layers": 2,
            "hidden_size": 256,
            "vocab_size": 4096,
            "state_bytes": 448_512,
            "kv_bytes_per_token": 1024,
            "drafters": {
                "dspark": {"params": 1_400_000, "bytes": 2_800_000, "block_size": 7},
                "mtp": {"params": 1_000_000, "bytes": 2_000_000, "block_size": 1},
            },
            "training": {"tokens": 5_000_000, "gate_problems": 100, "gate_exact": 98},
        }
        return {
            "schema": 1,
            "file": file,
            "kind": kind,
            "campaign": self.name,
            "command": f"python -m tests.data.synthetic # {family}",
            "config": dataclasses.asdict(self.plan) | {"memory": {"step": STEP}},
            "preset": "synthetic",
            "commit": "0" * 40,
            "dirty": False,
            "code": "0" * 12,
            "fingerprint": {"tests.data.synthetic": "0" * 64},
            "versions": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.0.0"},
            "machine": {
                "host": "synthetic",
                "cpu": "synthetic (not measured)",
                "cores": 2,
                "memory_bytes": 24 * 2**30,
                "os": "synthetic",
                "load_average_start": [0.1, 0.1, 0.1],
                "load_average_end": [0.4, 0.2, 0.1],
                "pinned_cpu": 0,
                "steal_share": 0.001,
                "other_share": 0.004,
            },
            "threads": 1,
            "seeds": {"base": self.plan.seed},
            "start": f"2026-01-01T00:{minute:02d}:00Z",
            "end": f"2026-01-01T00:{minute + int(total // 60):02d}:{int(total % 60):02d}Z",
            "seconds": total,
            "rows": rows,
            "sha256": hashlib.sha256(data).hexdigest(),
            "thresholds_sha256": hashlib.sha256(thresholds.read_bytes()).hexdigest() if thresholds.is_file() else None,
            "model": model,
            "cost": {
                "boots": boots,
                "boot_s": boots * self.physics.boot_s,
                "cells": len(points),
                "cell_s": seconds,
                "warmup_s": 0.0,
                "requests": sum(row["completed"] or 0 for row in points),
                "failed": 0,
                "total_s": total,
                **({"by_stage": by_stage(points, self.physics.boot_s)} if family == "search" else {}),
            },
            **({"search": ledger(points, total, self.plan.grid)} if family == "search" else {}),
            "lossless": {"compared": 100, "equal": 100, "differing": []},
            "notes": ["synthetic: written by a toy cost model for tests, nothing was measured"],
        }


def timetable(rate: float, requests: list[dict]) -> dict:
    """Columns of a point whose requests came on a timetable."""
    waits = [1000 * (r["queued_s"] - r["arrival_s"]) for r in requests]
    firsts = [1000 * (r["first_token_s"] - r["arrival_s"]) for r in requests]
    ends = [1000 * (r["end_s"] - r["arrival_s"]) for r in requests]
    found = {"request_rate": int(rate), "client_lag_ms": max(waits), "mean_client_queue_ms": float(np.mean(waits))}
    found |= {"mean_scheduled_ttft_ms": float(np.mean(firsts)), "median_scheduled_ttft_ms": float(np.median(firsts))}
    return found | {"p99_scheduled_ttft_ms": float(np.percentile(firsts, 99)), "mean_scheduled_latency_ms": float(np.mean(ends))}


def points_file(sweep: str) -> str:
    return "search.csv" if sweep == "search" else f"sweep_{sweep}.csv"


def write(path: Path, data: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def write_campaign(out: Path, physics: Physics = Physics(), plan: Plan = Plan(), name: str = "synthetic") -> Path:
    """Write one complete campaign folder and return it."""
    campaign = Campaign(physics, plan, name)
    campaign.build()
    campaign.write(out)
    write_gate(out, name)
    write_instrument(out, name)
    write_verify_cost(out, name)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.data.synthetic", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write; its files of the same names are replaced")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    arguments = parser.parse_args()
    folder = write_campaign(arguments.out, plan=dataclasses.replace(Plan(), seed=arguments.seed))
    print(f"{folder}: synthetic campaign for tests, nothing in it was measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
