"""Every claim through every verdict, by campaigns whose rows say so."""

import hashlib
import json
from dataclasses import replace

import pytest

from tests.data.partial import only_failed
from tests.data.synthetic import CONTENTS, Physics, Plan, write_campaign
from tests.data.synthetic_sweeps import PEAK
from tests.derive.edit import drop, remove, rewrite, scale
from workflow.derive import load, registry
from workflow.derive.evaluate import Derivation
from workflow.derive.fact import VERDICTS
from workflow.derive.facts.binding import KNOBS

PLAN = Plan(repeats=2, prompts=6, osl=24, isls=(64, 4096), concurrencies=(1, 4, 16))
CALM = Physics(boot_noise=0.0005, step_noise=0.002)


def cook(folder):
    """Rows that contradict one another, for verdicts that no engine gives."""
    for gamma in range(1, 8):
        for block in ("verify_ms", "draft_ms"):
            scale(folder, "sweep_window.csv", block, 9.0, label=f"dspark-g{gamma}")
    scale(folder, "requests_isl.csv", "e2e_ms", 1.5, isl="4096")
    scale(folder, "sweep_concurrency.csv", "duration_s", 0.1, max_concurrency="16")
    scale(folder, "sweep_concurrency.csv", "mean_e2e_ms", 0.3, max_concurrency="16")
    scale(folder, "search.csv", "mean_tpot_ms", 2.0, stage="confirm", label="candidate")
    slow_knobs(folder)
    roomy = {"effective_max_running_requests": "160"}
    rewrite(folder, "search.csv", lambda rows: [row | roomy if (row["stage"], row["label"]) == ("cache", "radix-on") else row for row in rows])
    scale(folder, "sweep_concurrency.csv", "kv_usage_max", 4, lane="plain")
    scale(folder, "search.csv", "mean_ttft_ms", 99.0, stage="factorial", effective_max_running_requests="48")
    scale(folder, "search.csv", "output_throughput", 0.1, stage="factorial", effective_max_running_requests="48")
    scale(folder, "search.csv", "state_usage_max", 0.5, stage="factorial")
    scale(folder, "search.csv", "output_throughput", 0.2, stage="frontier", label="mtp")
    scale(folder, "search.csv", "mean_tpot_ms", 0.2, stage="frontier", label="mtp")
    scale(folder, "search.csv", "mean_ttft_ms", 0.2, stage="frontier", label="mtp")
    scale(folder, "search.csv", "output_throughput", 0.5, stage="knobs", label="chunked_prefill_size=1024@bind")
    plain_waits(folder, cap="200")
    rooms(folder, chunk_tokens="9000", chunk_peaks=(ROOM_PEAK, ROOM_PEAK))
    scale(folder, "sweep_isl.csv", "load_average", 3.0)
    scale(folder, "sweep_rate.csv", "p99_scheduled_ttft_ms", 4.0, request_rate="2")
    scale(folder, "instrument.csv", "theirs", 1.5, quantity="tpot_ms")
    scale(folder, "sweep_verify_cost.csv", "bound_ms", 0.1, mode="fused")
    for model, factor in (("random-25m", 3.0), ("random-60m", 3.0), ("random-moe", 0.3)):
        scale(folder, "sweep_verify_cost.csv", "median_ms", factor, model=model, quantity="verify")
    every_wave("oom", {"status": "ok", "failed": "0"})(folder)
    search_section(folder, (0.2, 0.1, 0.3), could_bind=False, verdict="inert by construction")


def slow_knobs(folder):
    for label in ("chunked_prefill_size=64", "mamba_ssm_dtype=bfloat16"):
        scale(folder, "search.csv", "mean_tpot_ms", 2.0, stage="knobs", label=label)


def accept(folder, osl, count):
    """Requests of one output length with so many accepted guesses."""
    told = {"accepted": str(count)}
    rewrite(folder, "requests_osl.csv", lambda rows: [row | told if row["osl"] == osl and row["accepted"] else row for row in rows])


def longer_is_easier(folder):
    """Long answers repeat themselves: more of their guesses are right. And of the lanes at their best, DSpark has the first token soonest."""
    accept(folder, "16", 0)
    scale(folder, "search.csv", "mean_ttft_ms", 0.2, stage="frontier", lane="dspark")


def longer_is_harder(folder):
    """Long answers are guessed worse, and their tokens and first tokens take longer. Memory and slots do not add up, and every knob costs."""
    slow_knobs(folder)
    accept(folder, "64", 0)
    scale(folder, "requests_osl.csv", "e2e_ms", 2.0, osl="64")
    scale(folder, "requests_osl.csv", "ttft_ms", 1.5, osl="64")
    every_wave("oom", {"oom_asked_bytes": "1024"})(folder)
    more = {"state_slots": "100"}
    rewrite(folder, "search.csv", lambda rows: [row | more if (row["stage"], row["label"]) == ("cache", "radix-off") else row for row in rows])


def every_wave(status, becomes):
    """The tries of the memory stage that ended in one way, told otherwise."""

    def change(folder):
        rewrite(
            folder, "search.csv", lambda rows: [row | becomes if row["stage"] == "memory" and row["status"] == status else row for row in rows]
        )

    return change


def plain_waits(folder, **steps):
    """So many steps in which a plain request waited, by cause."""
    told = {f"blocked_by_{cause}": count for cause, count in steps.items()}
    rewrite(folder, "sweep_rate.csv", lambda rows: [row | told if row["lane"] == "plain" else row for row in rows])


ROOM_PEAK = str(PEAK)


def rooms(folder, chunk_tokens, chunk_peaks):
    """What a small prefill chunk takes under one budget: KV tokens of its pools, and the largest transient use of each of its boots."""

    def change(rows):
        peaks = iter(chunk_peaks)
        return [row | {"max_total_num_tokens": chunk_tokens, "activation_peak_bytes": next(peaks)} if row["label"].startswith("chunked") else row for row in rows]

    rewrite(folder, "sweep_capacity.csv", change)


def crashed(folder):
    """Waves that did not say why they ended, and pools as full as one another."""
    every_wave("oom", {"status": "crash"})(folder)
    scale(folder, "sweep_concurrency.csv", "state_usage_max", 0.4)
    rewrite(folder, "sweep_isl.csv", lambda rows: [row | {"load_average": ""} for row in rows])
    rewrite(folder, "search.csv", lambda rows: [row | {"max_concurrency": "2"} if row["stage"] == "factorial" else row for row in rows])
    plain_waits(folder, cap="0", kv_pages="0")
    rooms(folder, chunk_tokens="8192", chunk_peaks=("4096", ROOM_PEAK))
    rewrite(folder, "sweep_capacity.csv", lambda rows: [row | {"status": "oom"} if row["label"].startswith("mamba") else row for row in rows])
    search_section(folder, (0.04, 0.01, 0.08), could_bind=None, verdict="not resolved", p=0.5)


def anchors_alone(folder):
    drop(folder, "search", lambda row: row["stage"] == "memory" and not row["label"].endswith("-anchor"))


def outputs(compared, equal):
    def change(folder):
        for path in folder.glob("*.manifest.json"):
            data = json.loads(path.read_text("utf8")) | {"lossless": {"compared": compared, "equal": equal, "differing": []}}
            if not compared and path.name.startswith("sweep_isl"):
                data["fingerprint"] = {}
            path.write_text(json.dumps(data), "utf8")

    return change


def compiled_apart(folder):
    """A kernel with two texts, one that spills, and a registry that misses one vendor's devices."""

    def kernels(rows):
        rows[0]["source_sha"], rows[1]["spills"] = "0" * 16, "8"
        return rows

    rewrite(folder, "kernels.csv", kernels)
    rewrite(folder, "predicates.csv", lambda rows: [row | {"registry_selects": "cpu"} for row in rows])


def one_vendor(folder):
    rewrite(folder, "kernels.csv", lambda rows: [row for row in rows if row["target"] == "sm_90"])
    rewrite(folder, "predicates.csv", lambda rows: [row for row in rows if row["build"] == "cuda"])


def tried(keys, proven):
    """As a mutation run on these files would have left it."""

    def change(folder):
        sources = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.csv")}
        found = {"schema": 1, "campaign": "synthetic", "seed": 0, "mode": "keys", "keys": keys, "proven": proven, "mutations": 2 * keys}
        found |= {"unproven": [], "strays": [], "identities": [], "sources": sources}
        (folder / "mutation.json").write_text(json.dumps(found), "utf8")

    return change


def quick_memory(folder):
    """Weights that a memory could deliver in no time."""
    scale(folder, "sweep_verify_cost.csv", "bound_ms", 0.1, mode="fused")


def wrong_answers(folder):
    """A gate in which each candidate lost answers and bits, and the controls saw nothing."""

    def change(rows):
        base = {(row["task"], row["problem"]): row["logprob_sha"] for row in rows if row["role"] == "base"}
        for row in rows:
            if row["role"] == "candidate" and row["task"] != "text":
                row["correct"] = "0"
                row["output_ids"] += " 7"
            if row["role"] == "control":
                row["output_ids"] += " 7"
            if row["role"] == "numeric":
                row["logprob_sha"] = base[row["task"], row["problem"]]
        return rows

    rewrite(folder, "gate.csv", change)
    gate_section(folder, lambda gate: gate["controls"].update(broken_fails=False))


def short_gate(folder):
    """A gate too small to tell: a handful of problems, one text, no log probabilities."""

    def change(rows):
        kept = [row for row in rows if int(row["problem"].split("-")[1]) < (1 if row["task"] == "text" else 4)]
        for row in kept:
            row["logprob_sha"] = ""
            row["correct"] = row["correct"] and "1"
            if row["task"] == "greedy" and row["role"] == "candidate":
                row["problem"] += "-other" if row["problem"] != "p-0" and row["problem"] != "p-1" else ""
                row["output_ids"] = ""
            if row["role"] == "control":
                row["output_ids"] = ""
        return kept

    rewrite(folder, "gate.csv", change)
    rewrite(folder, "sweep_acceptance.csv", lambda rows: [row | {"num_prompts": "8"} for row in rows])
    rewrite(folder, "instrument.csv", lambda rows: [row for row in rows if row["quantity"] != "tpot_ms"])


def gate_section(folder, change):
    path = folder / "gate.manifest.json"
    data = json.loads(path.read_text("utf8"))
    change(data["gate"])
    path.write_text(json.dumps(data), "utf8")


def search_section(folder, alarm, **knob):
    """What the search said: how often it cried wolf, and the same of each of its knobs."""
    path = folder / "search.manifest.json"
    data = json.loads(path.read_text("utf8"))
    data["search"]["false_alarm"] |= dict(zip(("rate", "lo", "hi"), alarm, strict=True))
    data["search"]["knobs"] = [one | knob for one in data["search"]["knobs"]]
    path.write_text(json.dumps(data), "utf8")


def empty(folder):
    remove(folder, *(path.name for path in folder.glob("*.csv")))


VARIANTS = {
    "typical": (CALM, replace(PLAN, prompts=16, concurrencies=(1, 2, 4)), None),
    "rough": (replace(CALM, boot_noise=0.5, step_noise=0.3, cache_slots=1), replace(PLAN, prompts=2), None),
    "dear_window": (replace(CALM, verify_growth=1.2, draft_ms=6, boot_s=10, peak_shown=0.3, cache_saves=0.0), PLAN, None),
    "cheap_window": (
        replace(
            CALM, accept={"zh": 0.55, "en": 0.75, "code": 0.9, "arith": 0.99}, accept_decay=1.0, verify_growth=0.02, verify_curve=0,
            draft_per_token_ms=0.01, between_ms=0.4, accept_batch=0.004, cache_cost=0.9,
        ),
        replace(PLAN, prompts=24, grid=1),
        None,
    ),
    "context": (replace(CALM, accept_context=0.08, prefill_ms=0.001, context_ms=0.003), replace(PLAN, prompts=10), None),
    "batch": (replace(CALM, accept_batch=0.1, verify_row_growth=1.5, boot_s=0.01, per_row_ms=0.02), PLAN, None),
    "upside_down": (
        replace(
            CALM, accept={"arith": 0.5, "code": 0.55, "en": 0.6, "zh": 0.9}, accept_decay=1.06, accept_context=-0.05, verify_growth=0.3,
            verify_curve=-0.02, accept_width=0.03, accept_temperature=-0.3, forced=1.8, random_accept=0.99,
        ),
        replace(PLAN, prompts=10),
        None,
    ),
    "wide_skill": (
        replace(
            CALM, accept=dict.fromkeys(CONTENTS, 0.4), accept_width=0.09, accept_decay=1.0, verify_growth=0.2, verify_curve=0.05, draft_ms=6
        ),
        replace(PLAN, prompts=16, concurrencies=(1, 2)),
        None,
    ),
    "few_repeats": (replace(CALM, accept=dict.fromkeys(CONTENTS, 0.999), accept_decay=1.0), replace(PLAN, prompts=2, aa_boots=3), crashed),
    "cooked": (CALM, PLAN, cook),
    "cheap_everywhere": (
        replace(CALM, modes={"eager": (1.0, 1.0, 1.0), "graph": (0.85, 1.1, 1.0), "fused": (0.5, 0.05, 0.02)}),
        replace(PLAN, prompts=8),
        quick_memory,
    ),
    "flat_forward": (
        replace(CALM, verify_growth=0.0005, verify_curve=0, per_row_ms=0.0005, accept=dict.fromkeys(CONTENTS, 0.995), accept_decay=1.0),
        replace(PLAN, prompts=2),
        longer_is_easier,
    ),
    "steep_forward": (replace(CALM, verify_growth=8.0, verify_curve=5.0), replace(PLAN, prompts=2), longer_is_harder),
    "one_output_differs": (CALM, replace(PLAN, prompts=2), outputs(50, 49)),
    "nothing_compared": (CALM, replace(PLAN, prompts=2), outputs(0, 0)),
    "wrong_answers": (replace(CALM, accept_temperature=0.0, random_accept=0.72), replace(PLAN, prompts=2), wrong_answers),
    "short_gate": (CALM, replace(PLAN, prompts=2), short_gate),
    "nothing_good": (CALM, replace(PLAN, prompts=2), only_failed),
    "compiled_apart": (CALM, replace(PLAN, prompts=2), compiled_apart),
    "one_vendor": (CALM, replace(PLAN, prompts=2), one_vendor),
    "anchors_alone": (CALM, replace(PLAN, prompts=2), anchors_alone),
    "empty": (CALM, replace(PLAN, prompts=2), empty),
    "every_key_moved": (CALM, replace(PLAN, prompts=2), tried(40, 40)),
    "one_key_stood": (CALM, replace(PLAN, prompts=2), tried(40, 39)),
    "no_key_tried": (CALM, replace(PLAN, prompts=2), tried(0, 0)),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Variant -> claim -> Claim."""
    found = {}
    for name, (physics, plan, change) in VARIANTS.items():
        folder = write_campaign(tmp_path_factory.mktemp(name), physics, plan)
        if change:
            change(folder)
        derivation = Derivation(load.load(folder), code=code_of(name, folder))
        found[name] = {key: derivation.claim(key) for key in derivation.claim_definitions}
    return found


OTHER = "f" * 64
CODE = {
    "typical": lambda known: known,
    "rough": lambda known: {**known, next(iter(known)): OTHER},
    "nothing_compared": lambda known: known,
}
"""Variant -> the fingerprint of today's code, from the one that measured."""


def code_of(name, folder):
    path = next(iter(sorted(folder.glob("sweep_*.manifest.json"))), None)
    return CODE[name](json.loads(path.read_text("utf8"))["fingerprint"]) if name in CODE and path else None


SPEC_PAYS = ("typical", "dear_window", "few_repeats")
# claim: variant in which it holds, fails, and stays unresolved. None: cannot be, and the reason stands below.
EXPECTED = {
    "accept.flat_over_batch": ("typical", "batch", "cheap_window"),
    "accept.falls_with_context": ("context", "upside_down", "typical"),
    "accept.depends_on_sampling": ("typical", "upside_down", "wrong_answers"),
    "accept.short_runs_mislead": ("typical", "flat_forward", "short_gate"),
    "accept.content_order": ("cheap_window", "upside_down", "typical"),
    "cache.capacity_arithmetic": ("typical", "steep_forward", "rough"),
    "cache.costs_on_random": ("typical", "cheap_window", "rough"),
    "cache.takes_room": ("typical", "cooked", "rough"),
    "cache.wins_on_shared": ("typical", "dear_window", "few_repeats"),
    "code.current": ("typical", "rough", "nothing_compared"),
    "content.free_flatters": ("flat_forward", "upside_down", "typical"),
    "content.random_misleads": ("typical", "upside_down", "wrong_answers"),
    "division.predicts": ("typical", "cooked", "rough"),
    "division.breaks_even": ("typical", "dear_window", "few_repeats"),
    "division.block_sum_misleads": ("typical", "flat_forward", "rough"),
    "division.chooses_gamma": ("typical", "wide_skill", "rough"),
    "division.two_passes_never_pay": ("dear_window", "cooked", "typical"),
    "dspark.serial_draft_cheap": ("typical", "wide_skill", "rough"),
    "dspark.marginal_token_decays": ("typical", "upside_down", "rough"),
    "epilogue.accept_alone_misleads": ("typical", "upside_down", "rough"),
    "epilogue.tpot_alone_misattributes": ("typical", "context", "rough"),
    "figures.verify_cheap": ("typical", "dear_window", "rough"),
    "figures.arith_speedup": ("typical", "dear_window", "rough"),
    "figures.code_speedup": ("typical", "dear_window", "rough"),
    "figures.en_speedup": ("typical", "dear_window", "rough"),
    **{
        f"gate.{name}": ("typical", "wrong_answers", "short_gate")
        for name in ("broken_caught", "control_equal", "lossless", "non_inferior.greedy", "non_inferior.sampled", "silent_knobs", "state_moves")
    },
    "gate.state_dtype_worth_it": ("typical", "cooked", "short_gate"),
    "kernels.one_source": ("typical", "compiled_apart", "one_vendor"),
    "kernels.no_spills": ("typical", "compiled_apart", "one_vendor"),
    "kernels.predicates": ("typical", "compiled_apart", "one_vendor"),
    "knobs.chunk.floor_not_slope": ("typical", "cooked", "rough"),
    "knobs.best_pays": ("typical", "steep_forward", "rough"),
    "knobs.room.costs_tokens": ("typical", "cooked", "few_repeats"),
    "knobs.room.moves_headroom": ("typical", "cooked", "few_repeats"),
    **{f"knobs.{knob}.{what}": ("typical", "cooked", "few_repeats") for knob in KNOBS for what in ("could_bind", "moves")},
    "lanes.best_absolute": ("cheap_everywhere", "typical", "few_repeats"),
    **{f"lanes.drafter_pays.{lane}": SPEC_PAYS for lane in ("mtp", "dflash")},
    "lanes.drafter_pays.lookup": ("cheap_window", "dear_window", "few_repeats"),
    "lanes.front_alone.tpot": ("typical", "cooked", "rough"),
    "lanes.front_alone.ttft": ("flat_forward", "cooked", "rough"),
    "lanes.crossover_exists": ("batch", "dear_window", "rough"),
    "lanes.spec_wins_at_one": ("typical", "dear_window", "rough"),
    "loss.closes": ("typical", "cooked", "rough"),
    "loss.step_dominates": ("context", "typical", "rough"),
    "method.false_alarms": ("typical", "cooked", "few_repeats"),
    "method.instrument_agrees": ("typical", "cooked", "short_gate"),
    "modes.beats_memory": ("typical", "cheap_everywhere", "few_repeats"),
    "modes.cheaper_pays_less": ("typical", "cheap_everywhere", "few_repeats"),
    "modes.regime.eager": ("typical", "steep_forward", "few_repeats"),
    "modes.regime.graph": ("typical", "steep_forward", "few_repeats"),
    "modes.regime.fused": ("typical", "cooked", "few_repeats"),
    **{f"modes.size.window_cheaper.{model}": ("typical", "cooked", "few_repeats") for model in ("m25", "m60")},
    "modes.size.window_cheaper.moe": ("cooked", "typical", "few_repeats"),
    "modes.spec_pays.eager": SPEC_PAYS,
    "modes.spec_pays.graph": SPEC_PAYS,
    "modes.spec_pays.fused": ("cheap_everywhere", "typical", "few_repeats"),
    "modes.window_weighs_more": ("typical", "cheap_everywhere", "few_repeats"),
    "machine.uncrowded": ("typical", "cooked", "few_repeats"),
    "machine.quiet": ("typical", "cooked", "few_repeats"),
    "memory.boot_proves_nothing": ("typical", "cooked", "few_repeats"),
    "memory.fault_tells": ("typical", "steep_forward", "cooked"),
    "memory.floor_overshoots": ("typical", "cooked", "anchors_alone"),
    "memory.peak_predicts": ("typical", "dear_window", "anchors_alone"),
    "mutation.every_key_moves": ("every_key_moved", "one_key_stood", "no_key_tried"),
    "noise.small": ("typical", "rough", "few_repeats"),
    "osl.accept_rises": ("flat_forward", "steep_forward", "typical"),
    "osl.tpot_flat": ("typical", "steep_forward", "rough"),
    "osl.ttft_flat": ("typical", "steep_forward", "rough"),
    "positions.linear": ("flat_forward", "typical", "rough"),
    "positions.one_curve": ("flat_forward", "typical", "rough"),
    "positions.sublinear": ("typical", "steep_forward", "few_repeats"),
    "prologue.fraction_closes": ("typical", "cheap_window", "rough"),
    "prologue.largest_win": ("cheap_window", "dear_window", "rough"),
    "prologue.largest_loss": ("dear_window", "flat_forward", "rough"),
    "rate.tail": ("typical", "cooked", "rough"),
    "reefs.nothing_blocks": ("typical", "cooked", "nothing_good"),
    **{f"run.{content}.verdict": SPEC_PAYS for content in (*CONTENTS, "all")},
    "run.outputs_equal": ("typical", "one_output_differs", "nothing_compared"),
    "run.band.one.verdict": SPEC_PAYS,
    "run.band.few.verdict": SPEC_PAYS,
    "run.band.many.verdict": SPEC_PAYS,
    "scale.achieved_enough": ("wide_skill", "batch", "few_repeats"),
    "scale.knee": ("typical", "cooked", "rough"),
    "scale.step_identity": ("typical", "cooked", "few_repeats"),
    "search.boot_dominates": ("dear_window", "batch", "rough"),
    "search.staged_cheaper": ("typical", "cheap_window", "few_repeats"),
    "search.winner_confirmed": ("dear_window", "cooked", "rough"),
    "walls.cap_trades_tokens": ("typical", "cooked", "few_repeats"),
    "walls.default_cap_best": ("typical", "cooked", "rough"),
    "walls.full_by_construction": ("typical", "cooked", "few_repeats"),
    "walls.queue_cause": ("typical", "cooked", "few_repeats"),
    "walls.opposite": ("cooked", "typical", "few_repeats"),
    **{f"window.spec_pays.{content}": SPEC_PAYS for content in (*CONTENTS, "all")},
    "window.fixed_overhead": ("typical", "steep_forward", "rough"),
    "window.accept_sublinear": ("typical", "upside_down", "few_repeats"),
    "window.interior_optimum": ("typical", "upside_down", "rough"),
    "window.narrow_wins": ("dear_window", "cheap_window", "rough"),
    "window.step_superlinear": ("typical", "upside_down", "few_repeats"),
}


@pytest.mark.parametrize("key", EXPECTED)
@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdict(verdicts, key, verdict):
    variant = "empty" if verdict == "missing" else EXPECTED[key][VERDICTS.index(verdict)]
    claim = verdicts[variant][key]
    assert claim.verdict == verdict, f"{variant}: margin {claim.margin}, noise {claim.noise}, {claim.reason}"
    assert bool(claim.reason) == (verdict in ("missing", "unresolved"))
    if verdict in ("holds", "fails"):
        assert abs(claim.margin) > claim.noise and (claim.margin > 0) == (verdict == "holds")


def test_every_claim_is_in_the_table(derivation):
    # test_transcribed.py, test_coverage.py, tests/backends/test_stages.py, test_served.py, test_held_out.py,
    # test_outside.py, test_elsewhere.py, test_reefs.py, test_segments.py
    elsewhere = (
        "rows.", "ledger.", "measured.", "skipped.", "gate.same_text", "window.held_out_pays", "accept.external_brackets", "elsewhere.", "reefs.R", "scale.pays.",
    )  # fmt: skip
    assert set(EXPECTED) == {key for key in derivation.claim_definitions if not key.startswith(elsewhere)}


def test_evidence_and_thresholds_are_recorded(verdicts):
    claim = verdicts["typical"]["figures.verify_cheap"]
    assert {"window.verify_ratio.w4", "threshold.figures.verify_cheap", "noise.floor", "window.all.plain.tpot_ms"} <= set(claim.evidence)
    assert claim.thresholds == ("threshold.figures.verify_cheap",)


def test_no_win_rests_on_what_was_computed(measured, monkeypatch):
    def better(read):
        """The predicted speedup is one."""
        return read["division.code.g3.predicted"].log()

    monkeypatch.setattr(registry, "CLAIMS", [registry.Definition("test.better", better, "direction", "log ratio")])
    claim = Derivation(measured).claim("test.better")
    assert claim.verdict == "unresolved" and claim.reason == "rests on division.code.g3.predicted, which is computed, not measured"


def test_a_win_inside_the_noise_is_not_one(measured, monkeypatch):
    """Two equal arms: the A/A noise alone decides, not the sign."""

    def equal(read):
        """A run is faster than itself by a hair."""
        return (read["window.code.g3.tpot_ms"] * 1.0001 / read["window.code.g3.tpot_ms"]).log()

    monkeypatch.setattr(registry, "CLAIMS", [registry.Definition("test.equal", equal, "direction", "log ratio")])
    claim = Derivation(measured).claim("test.equal")
    assert claim.verdict == "unresolved" or claim.noise < claim.margin
    ratio = registry.Definition(
        "test.equal", lambda read: read["window.code.g3.speedup"].log() - read["window.code.g3.speedup"].log().value + 1e-4, "direction"
    )
    monkeypatch.setattr(registry, "CLAIMS", [ratio])
    assert Derivation(measured).claim("test.equal").verdict == "unresolved"


def test_a_louder_machine_needs_a_larger_win(tmp_path):
    noises = []
    for name, boot in (("calm", 0.0005), ("loud", 0.05)):
        derivation = Derivation(load.load(write_campaign(tmp_path / name, replace(CALM, boot_noise=boot), PLAN)))
        noises.append(derivation.claim("run.band.one.verdict").noise)
    assert noises[1] > 3 * noises[0]


def test_thresholds_come_from_the_one_file(derivation):
    from workflow.derive.thresholds import read_thresholds

    used = {bound for key in derivation.claim_definitions for bound in derivation.claim(key).thresholds}
    for key, entry in read_thresholds()["claims"].items():
        assert key in derivation.claim_definitions or f"threshold.{key}" in used, key
        assert derivation.result(f"threshold.{key}").fact.value == entry["bound"]
