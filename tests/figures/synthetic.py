"""A made-up campaign for drawing: every fact a plate reads, with numbers of the right size and shape. Nothing measured."""

from __future__ import annotations

from dataclasses import replace

from workflow.derive.fact import Claim, Fact
from workflow.derive.shown import OPERATORS, TARGETS
from workflow.derive.values import Values

GAMMAS = range(1, 8)
LEVELS = (1, 2, 4, 8, 16, 32)
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
REACH = {"arith": 0.74, "code": 0.52, "en": 0.56, "zh": 0.36, "all": 0.55}
CLAIMS = (
    "run.band.one.verdict",
    "prologue.fraction_closes", "window.interior_optimum", "figures.verify_cheap", "division.predicts", "lanes.crossover_exists",
    "accept.flat_over_batch", "loss.step_dominates", "scale.knee", "dspark.serial_draft_cheap", "noise.small",
    "kernels.one_source", "modes.cheaper_pays_less", "reefs.nothing_blocks", "memory.floor_overshoots",
    "osl.tpot_flat", "positions.one_curve", "walls.opposite", "cache.wins_on_shared", "knobs.best_pays", "gate.non_inferior.sampled",
    "search.boot_dominates", "walls.cap_trades_tokens",
    "rows.accept_falls", "rows.ttft_flat", "rows.more_requests_serve_more", "rows.lower_cap_serves_more", "rows.cache_pays_on_shared", "rows.memory_wall",
    "ledger.too_dear", "lanes.front_alone.tpot",
)
TOKENS = (" 3", " +", " ", "4", " =", " ", "7", ".\n")


class Facts(dict):
    """key -> Fact, added one by one."""

    def put(self, key: str, value, kind: str = "ratio", unit: str = "", spread: float = 0.0) -> None:
        bounds = {"lo": value * (1 - spread), "hi": value * (1 + spread)} if spread else {}
        repeats = (value * (1 - spread / 2), value * (1 + spread / 3)) if spread else ()
        self[key] = Fact(key, value, unit, kind, n=2, repeats=repeats, **bounds)


def values(verdict: str = "holds", without: tuple[str, ...] = ()) -> Values:
    """The campaign. `without`: prefixes of keys to leave out; `verdict`: of every claim."""
    facts = Facts()
    _window(facts)
    _lanes(facts)
    _front(facts)
    _lengths(facts)
    _round(facts)
    _noise(facts)
    _kernels(facts)
    _modes(facts)
    _reefs(facts)
    _imported(facts)
    _memory(facts)
    _advice(facts)
    _outputs(facts)
    _positions(facts)
    _prologue(facts)
    _ends(facts)
    _walls(facts)
    _cache(facts)
    _knobs(facts)
    _gate(facts)
    _stages(facts)
    _published(facts)
    kept = {key: fact for key, fact in facts.items() if not key.startswith(without or ("\0",))}
    return Values("synthetic", kept, {key: Claim(key, verdict, "bound") for key in CLAIMS})


def shaped(shape: str) -> Values:
    """The campaign with its curves elsewhere: `steep` steps and lanes far apart, `close` contents and lanes, `reversed` order of contents and lanes."""
    known = values()
    facts = dict(known.facts)
    for key, fact in known.facts.items():
        if isinstance(fact.value, str) or key.startswith(("noise.", "dspark.", "kernels.", "isl.s", "isl.l", "loss.from_isl", "loss.to_isl")) or fact.kind == "count":
            continue
        factor = 1.0
        if shape == "steep" and ("_ms" in key or ".w" in key):
            level = "".join(c for c in key.split(".")[1 if ".w" in key else 2] if c.isdigit()) if key.count(".") > 1 else ""
            factor = 1 + 0.2 * int(level or 0) ** 0.5
        elif shape == "close" and fact.kind == "ratio":
            factor = fact.value**-0.8
        elif shape == "reversed" and fact.kind in ("ratio", "rate"):
            factor = 1.6 if "zh" in key or ".plain." in key else 0.8
        facts[key] = replace(fact, value=fact.value * factor, lo=None, hi=None, repeats=())
    return replace(known, facts=facts)


def _window(facts: Facts) -> None:
    plain = 4.6
    facts.put("window.decode_ms", plain, "duration", "ms", 0.02)
    for width in range(1, 9):
        facts.put(f"window.verify_ratio.w{width}", 1.0 if width == 1 else 1.05 + 0.068 * width, spread=0.02)
    for content, reach in REACH.items():
        best, rows = (0.0, 0), {}
        facts.put(f"window.{content}.plain.tpot_ms", plain, "duration", "ms", 0.02)
        facts.put(f"window.{content}.distinct_4gram_share", 0.85, "probability")
        for gamma in GAMMAS:
            emitted = sum(reach**k * (0.96**k) for k in range(gamma + 1))
            draft, verify, commit = 1.0 + 0.11 * gamma, plain * (1.05 + 0.068 * (gamma + 1)), 0.12
            step = draft + verify + commit
            speedup = emitted * plain / step
            row = f"window.{content}.g{gamma}"
            facts.put(f"{row}.emitted_per_round", emitted, "length", "token/round", 0.03)
            facts.put(f"{row}.accept_length", emitted, "length", "token/round", 0.03)
            for part, ms in (("step", step), ("draft", draft), ("verify", verify), ("commit", commit)):
                facts.put(f"{row}.{part}_ms", ms, "duration", "ms", 0.02)
            facts.put(f"{row}.tpot_ms", step / emitted, "duration", "ms", 0.02)
            facts.put(f"{row}.speedup", speedup, spread=0.03)
            facts.put(f"division.{content}.g{gamma}.predicted", speedup * (1.02 - 0.006 * gamma), spread=0.01)
            facts.put(f"division.{content}.g{gamma}.measured", speedup, spread=0.03)
            facts.put(f"division.{content}.g{gamma}.gap", 2.0, "percent")
            facts.put(f"division.{content}.g{gamma}.break_even_ratio", emitted - draft / plain)
            rows[gamma] = speedup
            best = max(best, (speedup, gamma))
        facts.put(f"window.{content}.best_gamma", best[1], "count")
        facts.put(f"window.{content}.best_speedup", best[0], spread=0.03)
        facts.put(f"division.{content}.chosen_gamma", best[1], "count")
        facts.put(f"window.{content}.mtp.speedup", 1.0 + reach / 3, spread=0.03)
        facts.put(f"window.{content}.mtp.step_ms", plain * 1.3, "duration", "ms", 0.02)
        facts.put(f"window.{content}.mtp.emitted_per_round", 1 + reach, "length", "token/round", 0.02)
    facts.put("window.best_content", "arith", "label")
    facts.put("window.worst_content", "zh", "label")
    facts.put("window.gammas_count", 7, "count")
    facts.put("division.worst_gap", 3.4, "percent")
    facts.put("division.mean_gap", 1.6, "percent")
    facts.put("division.cells", 28, "count")


def _lanes(facts: Facts) -> None:
    for level in LEVELS:
        plain_step = 4.6 * (1 + 0.06 * (level - 1))
        round_step = 6.6 * (1 + 0.13 * (level - 1))
        for lane, tokens, step in (("plain", 1.0, plain_step), ("dspark", 2.0, round_step)):
            rate = level * tokens / step * 1000 * 0.96
            facts.put(f"lanes.c{level}.{lane}.tpot_ms", step / tokens, "duration", "ms", 0.02)
            facts.put(f"lanes.c{level}.{lane}.output_throughput", rate, "rate", "token/s", 0.02)
            facts.put(f"scale.{lane}.c{level}.output_throughput", rate, "rate", "token/s", 0.02)
            facts.put(f"scale.{lane}.c{level}.per_request_tokens_per_s", rate / level, "rate", "token/s")
            facts.put(f"scale.{lane}.c{level}.ttft_ms", 40 * level**0.9, "duration", "ms", 0.05)
            facts.put(f"scale.{lane}.c{level}.step_ms", step, "duration", "ms", 0.02)
            facts.put(f"scale.{lane}.c{level}.achieved", level * 0.97, "count")
            facts.put(f"scale.{lane}.c{level}.tokens_per_step", tokens * level * 0.97, "length")
            facts.put(f"scale.{lane}.c{level}.tpot_ms", step / tokens, "duration", "ms")
        facts.put(f"lanes.c{level}.ratio", 2.0 * plain_step / round_step, spread=0.03)
        facts.put(f"accept.by_concurrency.c{level}.dspark.accept_length", 2.0, "length", "token/round", 0.02)
    facts.put("lanes.crossover", 4, "count")
    facts.put("lanes.most", 32, "count")
    for lane, knee in (("plain", 16), ("dspark", 8)):
        facts.put(f"scale.{lane}.knee", knee, "count")
        facts.put(f"scale.{lane}.max_throughput", 1900.0, "rate", "token/s")
    facts.put("scale.gain", 9.1)


def _front(facts: Facts) -> None:
    """Each lane at a block size of its own: those that draft lead one request, and trail in a crowd."""
    facts.put("lanes.front.boots", 3, "count")
    facts.put("lanes.front.tpot.tightest", 4, "count")
    lanes = {"plain": (1.0, 0.06), "dspark": (1.8, 0.13), "dflash": (1.2, 0.09), "mtp": (1.4, 0.09), "lookup": (1.1, 0.2)}
    loads = (1, 4, 16)
    for place, level in enumerate(loads, 1):
        for name in (f"t{place}", *(["fewest"] if place == 1 else ["most"] if place == len(loads) else [])):
            facts.put(f"lanes.front.{name}.concurrency", level, "count")
            facts.put(f"lanes.front.{name}.tpot.arms", "dspark γ = 4" if place == 1 else "plain, mtp", "label")
        for lane, (tokens, growth) in lanes.items():
            row, time = f"lanes.front.t{place}.{lane}", 4.6 / tokens * (1 + growth * (level - 1))
            facts.put(f"{row}.arm", lane if lane in ("plain", "mtp") else f"{lane} γ = 4", "label")
            facts.put(f"{row}.output_throughput", 960 * level / time, "rate", "token/s", 0.03)
            facts.put(f"{row}.tpot_ms", time, "duration", "ms/token", 0.03)
            facts.put(f"{row}.ttft_ms", 12 * level**0.8, "duration", "ms", 0.03)


def _lengths(facts: Facts) -> None:
    for length in LENGTHS:
        draft, verify = 1.2 + length / 2400, 5.6 + length / 3000
        step, tokens, ttft = draft + verify, 1.95, 12 + length / 4.6
        for lane, ms, emitted in (("dspark", step, tokens), ("plain", 4.6 + length / 4200, 1.0)):
            cell = f"isl.i{length}.{lane}"
            facts.put(f"{cell}.ttft_ms", ttft, "duration", "ms", 0.03)
            facts.put(f"{cell}.step_ms", ms, "duration", "ms", 0.02)
            facts.put(f"{cell}.emitted_per_round", emitted, "length", "token/round", 0.03)
            facts.put(f"{cell}.accept_length", emitted, "length", "token/round", 0.03)
            facts.put(f"{cell}.e2e_ms", ttft + 47 / emitted * ms, "duration", "ms", 0.02)
            facts.put(f"{cell}.speedup", 1.35, spread=0.03)
    facts.put("isl.shortest", 64, "count", "token")
    facts.put("isl.longest", 4096, "count", "token")
    facts.put("loss.from_isl", 64, "count", "token")
    facts.put("loss.to_isl", 4096, "count", "token")
    start, end = facts["isl.i64.dspark.e2e_ms"].value, facts["isl.i4096.dspark.e2e_ms"].value
    facts.put("loss.from_ms", start, "duration", "ms")
    facts.put("loss.to_ms", end, "duration", "ms")
    facts.put("loss.total_ms", end - start, "duration", "ms")
    facts.put("loss.e2e_ratio", end / start)
    facts.put("loss.largest.part", "part of the loss: prefill", "label")
    facts.put("loss.largest.share", 86.0, "percent")
    for name, share in (("prefill", 0.86), ("step", 0.12), ("accept", 0.03), ("rest", -0.01)):
        facts.put(f"loss.{name}_share", share * 100, "percent")
        facts.put(f"loss.{name}_ms", share * (end - start), "duration", "ms")
        if name != "rest":
            facts.put(f"loss.whatif.{name}_ms", end - share * (end - start), "duration", "ms")


def _round(facts: Facts) -> None:
    chance = (0.97, 0.91, 0.88, 0.64, 0.31, 0.2, 0.1)
    for k in range(1, 8):
        facts.put(f"dspark.round.{k}.token", TOKENS[k - 1], "label")
        facts.put(f"dspark.round.{k}.p", chance[k - 1] * (0.98 if k < 4 else 0.4), "probability")
        facts.put(f"dspark.round.{k}.q", chance[k - 1], "probability")
        facts.put(f"dspark.round.{k}.accepted", int(k < 4), "count")
    facts.put("dspark.round.drafted", 7, "count")
    facts.put("dspark.round.accepted", 3, "count")
    facts.put("dspark.round.tokens", 4, "count")
    facts.put("dspark.round.bonus.token", "5", "label")
    for part, ms in (("draft", 1.77), ("verify", 7.33), ("commit", 0.12), ("total", 9.22)):
        facts.put(f"dspark.round.{part}_ms", ms, "duration", "ms")
    facts.put("dspark.markov_share", 19.2, "percent")
    facts.put("dspark.states_kept", 1, "count")


def _prologue(facts: Facts) -> None:
    for part, source in (("accepted_per_step", "tokens_per_step"), ("step_ms", "step_ms"), ("throughput", "output_throughput")):
        known = facts[f"scale.plain.c32.{source}"]
        facts.put(f"prologue.best.{part}", known.value, known.kind, known.unit)


def _ends(facts: Facts) -> None:
    """The aliases by which captions name the ends of a ladder."""

    def alias(name: str, cell: str) -> None:
        for key, fact in [item for item in facts.items() if item[0].startswith(cell + ".")]:
            facts[name + key.removeprefix(cell)] = replace(fact, key=name + key.removeprefix(cell))

    for content in REACH:
        alias(f"window.{content}.at_narrowest", f"window.{content}.g1")
        alias(f"window.{content}.at_widest", f"window.{content}.g7")
    for lane in ("plain", "dspark"):
        alias(f"scale.{lane}.at_one", f"scale.{lane}.c1")
        alias(f"scale.{lane}.at_most", f"scale.{lane}.c32")
    alias("lanes.at_one", "lanes.c1")
    alias("lanes.at_most", "lanes.c32")
    alias("isl.at_shortest", "isl.i64")
    alias("isl.at_longest", "isl.i4096")
    facts.put("isl.distinct_4gram_share", 0.84, "probability")
    facts.put("accept.by_concurrency.span", 0.4, "percent")
    facts.put("threshold.figures.verify_cheap", 1.35)


def _advice(facts: Facts) -> None:
    """The ratios of the advice are those of the sweeps under other names."""

    def same(key: str, source: str) -> None:
        if source in facts:
            facts[key] = replace(facts[source], key=key)

    for content in REACH:
        same(f"run.{content}.speedup", f"window.{content}.best_speedup")
    for band, concurrency in (("one", 1), ("few", 8), ("many", 32)):
        same(f"run.band.{band}.ratio", f"lanes.c{concurrency}.ratio")


def _outputs(facts: Facts) -> None:
    """Throughput climbs while the prefill is spread over more tokens."""
    facts.put("osl.isl", 128, "count")
    lengths = (16, 32, 64, 128, 256, 512, 1024)
    for osl in lengths:
        for lane, token in (("plain", 4.6 + 0.0003 * osl), ("dspark", 2.9 + 0.0002 * osl)):
            row = f"osl.o{osl}.{lane}"
            facts.put(f"{row}.tpot_ms", token, "duration", "ms/token", 0.02)
            facts.put(f"{row}.output_throughput", 1000 * osl / (16 + osl * token), "rate", "token/s", 0.02)
        facts.put(f"osl.o{osl}.dspark.speedup", 1.6, spread=0.05)
        facts.put(f"osl.o{osl}.dspark.accept_length", 2.4 + 0.0004 * osl, "length", "token/round", 0.05)
        facts.put(f"osl.o{osl}.dspark.distinct_4gram_share", 0.9 - 0.0003 * osl, "probability")
    for end, osl in (("shortest", lengths[0]), ("longest", lengths[-1])):
        facts.put(f"osl.{end}", osl, "count")
        for key in [key for key in facts if key.startswith(f"osl.o{osl}.")]:
            facts[key.replace(f"o{osl}", f"at_{end}")] = replace(facts[key], key=key.replace(f"o{osl}", f"at_{end}"))


def _positions(facts: Facts) -> None:
    """A forward that knows requests and window apart."""
    cells = [(width, level) for width in (1, 2, 3, 4, 6, 8) for level in LEVELS]
    for width, level in cells:
        row = f"positions.w{width}.c{level}"
        facts.put(f"{row}.count", width * level, "count")
        facts.put(f"{row}.verify_ms", 4.6 + 0.11 * width * level + 0.2 * level, "duration", "ms/step")
        facts.put(f"{row}.step_ms", 5.9 + 0.12 * width * level + 0.3 * level, "duration", "ms/step")
    facts.put("positions.cells", len(cells), "count")
    for end, (width, level) in (("least", (1, 1)), ("most", (8, 32))):
        facts.put(f"positions.{end}", width * level, "count")
        facts.put(f"positions.{end}_ms", facts[f"positions.w{width}.c{level}.verify_ms"].value, "duration", "ms/step")
    facts.put("positions.apart", 21.0, "percent")
    facts.put("positions.floor_ms", 5.2, "duration", "ms/step", 0.03)
    facts.put("positions.slope_ms", 0.13, "duration", "ms/step", 0.03)


def _published(facts: Facts) -> None:
    """Rows of a publication, a row a configuration, and the figures of another one."""
    facts.put("origin.publisher", "somebody", "label")

    def same(key: str, source: str) -> None:
        facts[key] = replace(facts[source], key=key)

    lengths = (128, 1024, 4096, 8192, 16384, 32768, 65536)
    for place, isl in enumerate(lengths):
        for part, number, kind, unit in (("accept_length", 2.5 - 0.15 * place, "length", "token/round"), ("step_ms", 23 * 1.3**place, "duration", "ms/round"),
                                         ("output_throughput", 102 / 1.4**place, "rate", "token/s")):
            facts.put(f"rows.isl.i{isl}.{part}", number, kind, unit)
    for end, isl in (("shortest", 128), ("fastest", 1024), ("longest", 65536)):
        facts.put(f"rows.isl.{end}", isl, "count", "token")
        same(f"rows.isl.accept_{end}", f"rows.isl.i{isl}.accept_length")
        same(f"rows.isl.step_{end}_ms", f"rows.isl.i{isl}.step_ms")
        same(f"rows.isl.throughput_{end}", f"rows.isl.i{isl}.output_throughput")
    for end, osl in (("shortest", 128), ("", 512), ("longest", 4096)):
        for part, number, kind, unit in (("ttft_ms", 176 + osl / 1000, "duration", "ms"), ("accept_length", 3 - osl / 8000, "length", "token/round"),
                                         ("output_throughput", 107 - osl / 300, "rate", "token/s")):
            facts.put(f"rows.osl.o{osl}.{part}", number, kind, unit)
            if end:
                same(f"rows.osl.at_{end}.{part}", f"rows.osl.o{osl}.{part}")
        if end:
            facts.put(f"rows.osl.{end}", osl, "count", "token")
    for level in LEVELS:
        for part, number, kind, unit in (("output_throughput", 110 * level**0.65, "rate", "token/s"), ("per_request", 110 * level**-0.35, "rate", "token/s"),
                                         ("ttft_ms", 176 * level**0.6, "duration", "ms"), ("accept_length", 2.6, "length", "token/round")):
            facts.put(f"rows.concurrency.c{level}.{part}", number, kind, unit)
            if end := {LEVELS[0]: "least", LEVELS[-1]: "most"}.get(level):
                same(f"rows.concurrency.at_{end}.{part}", f"rows.concurrency.c{level}.{part}")
                facts.put(f"rows.concurrency.{end}", level, "count")
        facts.put(f"rows.achieved.c{level}", 92.0, "percent", "percent")
    for cap in (16, 24, 32, 48):
        for part, number, kind, unit in (("tokens", 1_900_000 - 15_000 * cap, "count", ""), ("ttft_s", 1500 / cap, "duration", "s"),
                                         ("output_throughput", 330 - 2 * cap, "rate", "token/s"), ("accept_length", 3.0, "length", "token/round")):
            facts.put(f"rows.cap.c{cap}.{part}", number, kind, unit)
            if end := {16: "lowest", 48: "default"}.get(cap):
                same(f"rows.cap.at_{end}.{part}", f"rows.cap.c{cap}.{part}")
                facts.put(f"rows.cap.{end}", cap, "count")
    facts.put("rows.cap.best", 24, "count")
    facts.put("rows.cap.best_throughput", 362.7, "rate", "token/s")
    facts.put("rows.cap.gain", 1.52)
    for side, shared, random, admitted in (("off", 462.5, 876.9, 570), ("on", 697.0, 748.6, 114), ("lazy", 702.0, 868.1, 142)):
        facts.put(f"rows.cache.{side}.running", admitted, "count")
        for traffic, rate, base in (("shared", shared, 462.5), ("random", random, 876.9)):
            facts.put(f"rows.cache.{traffic}.{side}.output_throughput", rate, "rate", "token/s")
            facts.put(f"rows.cache.{traffic}.{side}.ttft_s", 1000 / rate, "duration", "s")
            if side != "off":
                facts.put(f"rows.cache.{traffic}.{side}.ratio", rate / base)
    for lane, tried in (("plain", (85, 93, 94, 95)), ("dspark", (85, 92))):
        for place, share in enumerate(tried, 1):
            facts.put(f"rows.memory.{lane}.t{place}.fraction", share, "percent", "percent")
            facts.put(f"rows.memory.{lane}.t{place}.outcome", "ran-out" if share > 93 else "came-up", "label")
            if share <= 93:
                facts.put(f"rows.memory.{lane}.t{place}.tokens", 14_000 * share, "count")
        for end, share in (("least", 85), ("served", min(93, tried[-1]))):
            facts.put(f"rows.memory.{lane}.{end}", share, "percent", "percent")
            facts.put(f"rows.memory.{lane}.tokens_at_{end}", 14_000 * share, "count")
    facts.put("rows.memory.plain.ran_out", 94, "percent", "percent")
    for name, number in (("decode", 10.9), ("break_even", 13.8), ("verify", 21.0)):
        facts.put(f"ledger.{name}_ms", number, "duration", "ms")
    for name, number in (("plain_rate", 92.0), ("predicted", 64.0), ("speculative_rate", 65.3)):
        facts.put(f"ledger.{name}", number, "rate", "token/s")


def _noise(facts: Facts) -> None:
    facts.put("noise.floor", 2.4, "percent")
    facts.put("noise.boots", 4, "count")
    facts.put("noise.comparisons", 6, "count")
    for k, ratio in enumerate((0.984, 0.992, 0.997, 1.003, 1.011, 1.019), 1):
        facts.put(f"noise.aa.{k}.ratio", ratio)
    facts.put("search.winner_ratio", 1.31, spread=0.02)
    facts.put("search.confirm_ratio", 1.28, spread=0.02)


def _kernels(facts: Facts) -> None:
    """One operator on matrix units, one that spills on one target."""
    facts.put("kernels.kernels", 37, "count")
    facts.put("kernels.targets", len(TARGETS), "count")
    facts.put("kernels.dispatch", "tensor.is_cuda", "label")
    for place, operator in enumerate(OPERATORS):
        for column, target in enumerate(TARGETS):
            row = f"kernels.{operator}.{target}"
            facts.put(f"{row}.registers", 18 + 40 * place + 7 * column, "count")
            facts.put(f"{row}.matrix_instructions", 16 if operator == "kda_prefill" else 0, "count")
            facts.put(f"{row}.spills", 64 if (operator, target) == ("kda_prefill", "sm_100") else 0, "count")
    for target in TARGETS:
        for what, value in (("spills", 0), ("matrix_instructions", 96)):
            facts.put(f"kernels.all.{target}.{what}", value, "count")
        for what, value in (("shared", 33_000), ("size", 912_000)):
            facts.put(f"kernels.all.{target}.{what}", value, "bytes", "byte")


def _modes(facts: Facts) -> None:
    """Eager steps on which a window is cheap, and compiled ones on which it is not."""
    for mode, plain, growth, speedup in (("eager", 4.6, 0.08, 1.41), ("graph", 3.9, 0.1, 1.33), ("fused", 0.8, 0.8, 0.84)):
        row = f"modes.{mode}"
        facts.put(f"{row}.plain.tpot_ms", plain, "duration", "ms/token", 0.02)
        facts.put(f"{row}.plain.verify_ms", plain * 0.95, "duration", "ms/step")
        facts.put(f"{row}.over_bound", plain * 1.2)
        facts.put(f"{row}.best_gamma", 3, "count")
        facts.put(f"{row}.widest_ratio", 1 + 7 * growth)
        for gamma in (1, 3, 7):
            facts.put(f"{row}.g{gamma}.break_even_ratio", 1 + 0.4 * gamma - 0.9 / plain)
            facts.put(f"{row}.g{gamma}.verify_ratio", 1 + growth * gamma)
        for what, number in (("speedup", speedup), ("verify_ratio", 1 + 3 * growth), ("break_even_ratio", 2.2 - 0.9 / plain)):
            facts.put(f"{row}.at_best.{what}", number, spread=0.03)
        facts.put(f"{row}.at_best.accept_length", 2.4, "length", "token/round", 0.02)
    for key, fact in [item for item in facts.items() if item[0].startswith("modes.fused.")]:
        facts[key.replace("fused", "in_cheapest")] = replace(fact, key=key.replace("fused", "in_cheapest"))
    facts.put("modes.cheapest", "fused", "label")
    facts.put("modes.content", "code", "label")
    facts.put("modes.widest", 8, "count")
    facts.put("modes.distinct_4gram_share", 0.84, "probability")


def _reefs(facts: Facts) -> None:
    """One hazard of each weight, and more of the light ones."""
    fired = (("R46-two-rulers", "blocking", 3), ("R17-short-sample", "warning", 412), ("R35-thin-tail", "warning", 230), ("R11-chunked-itl", "note", 96))
    for place, (name, severity, rows) in enumerate(fired, 1):
        for what, text in (("name", name), ("severity", severity), ("said", "down to 38 rounds a cell")):
            facts.put(f"reefs.f{place}.{what}", text, "label")
        facts.put(f"reefs.f{place}.rows", rows, "count")
    for row, (written, rate) in enumerate(((4.5, 4.0), (4.6, 4.1), (6.0, 4.0)), 1):
        for side, number in (("said", written), ("true", rate)):
            facts.put(f"reefs.pair.R46-two-rulers.r{row}.{side}", number, "duration", "ms")
            facts.put(f"reefs.pair.R46-two-rulers.{side}", number, "duration", "ms")
    for side, number in (("said", 2.1), ("true", 2.6)):
        facts.put(f"reefs.pair.R17-short-sample.r1.{side}", number, "length")
        facts.put(f"reefs.pair.R17-short-sample.{side}", number, "length")
    for what, number in (("detectors", 38), ("fired", 4), ("blocking", 1), ("warning", 2), ("note", 1)):
        facts.put(f"reefs.{what}", number, "count")


def _imported(facts: Facts) -> None:
    """Rows of a foreign file, one of them without latencies."""
    rates = (61.5, 412.0, 1380.25)
    for row, (level, rate) in enumerate(zip((1, 8, 64), rates), 1):
        facts.put(f"imported.r{row}.name", f"dspark-g3 in 512 · c{level}", "label")
        facts.put(f"imported.r{row}.output_throughput", rate, "rate", "token/s")
        if row < 3:
            facts.put(f"imported.r{row}.ttft_ms", 40.0 * level, "duration", "ms")
            facts.put(f"imported.r{row}.tpot_ms", 9.0 + level, "duration", "ms/token")
            facts.put(f"imported.r{row}.accept_length", 2.4, "length", "token/round")
    facts.put("imported.served", len(rates), "count")
    facts.put("imported.best.output_throughput", rates[-1], "rate", "token/s")
    facts.put("imported.lowest.output_throughput", rates[0], "rate", "token/s")


def _memory(facts: Facts) -> None:
    """The ceiling of each lane: an anchor, the fractions two predictions name, and one between."""
    for lane, limit in (("plain", 94.0), ("dspark", 91.0)):
        for place, (share, ended) in enumerate(((85.0, "survived"), (99.0, "ran-out"), (limit, "survived"), (limit + 2, "ended-otherwise")), 1):
            facts.put(f"memory.{lane}.t{place}.fraction", share, "percent", "percent")
            facts.put(f"memory.{lane}.t{place}.free", round((100 - share) * 1e6), "bytes", "byte")
            facts.put(f"memory.{lane}.t{place}.outcome", ended, "label")
        facts.put(f"memory.{lane}.floor", 99.8, "percent", "percent")
        facts.put(f"memory.{lane}.boot_share", limit, "percent", "percent")
        facts.put(f"memory.{lane}.peak_share", 5.6, "percent", "percent")
        facts.put(f"memory.{lane}.floor_less_peak", limit + 0.6, "percent", "percent")
    facts.put("memory.device_bytes", 100_663_296, "bytes", "byte")
    for name, value in (("tried", 8), ("survived", 4), ("ran_out", 2), ("floor.let_down", 2)):
        facts.put(f"memory.{name}", value, "count")


def _walls(facts: Facts) -> None:
    """Plain decoding that runs out of pages, and a speculative lane that runs out of slots."""
    facts.put("walls.concurrency", 32, "count")
    for lane, kv, state in (("plain", 96.4, 12.5), ("dspark", 38.2, 100.0)):
        for what, number in (("kv", kv), ("state", state)):
            facts.put(f"walls.{lane}.{what}", number, "percent", "percent")
        for what, number in (("tokens", 1_174_618), ("slots", 1104), ("cap", 570)):
            facts.put(f"walls.{lane}.{what}", number, "count")


    facts.put("walls.cap.gamma", 3, "count")
    facts.put("walls.cap.concurrency", 16, "count")
    caps = (16, 24, 32, 48)
    for place, cap in enumerate(caps, 1):
        for name in (f"t{place}", *(["lowest"] if cap == caps[0] else ["highest"] if cap == caps[-1] else [])):
            row = f"walls.cap.{name}"
            facts.put(f"{row}.cap", cap, "count")
            facts.put(f"{row}.tokens", 1_900_000 - 15_000 * cap, "count")
            facts.put(f"{row}.ttft_ms", 36_000 / cap, "duration", "ms", 0.05)
            facts.put(f"{row}.output_throughput", 300 + 6 * cap, "rate", "token/s", 0.03)


def _cache(facts: Facts) -> None:
    facts.put("cache.isl", 544, "count")
    facts.put("cache.concurrency", 8, "count")
    for traffic, ratio, hits in (("random", 0.97, 0.0), ("shared", 2.4, 71.0)):
        facts.put(f"cache.{traffic}.ratio", ratio, spread=0.05)
        facts.put(f"cache.{traffic}.hit_rate", hits, "percent", "percent")
        for side, factor in (("off", 1.0), ("on", ratio)):
            facts.put(f"cache.{traffic}.{side}.output_throughput", 79 * factor, "rate", "token/s", 0.05)
            facts.put(f"cache.{traffic}.{side}.ttft_ms", 720 / factor, "duration", "ms", 0.05)


def _knobs(facts: Facts) -> None:
    settings = ("schedule_conservativeness=0.6", "cuda_graph_max_bs=2", "chunked_prefill_size=1024", "radix_cache=True", "mamba_ssm_dtype=bfloat16")
    for place, setting in enumerate(settings, 1):
        facts.put(f"knobs.t{place}.label", setting, "label")
        facts.put(f"knobs.t{place}.ratio", 1.03 - 0.02 * place, spread=0.01)
    facts.put("knobs.best_label", settings[0], "label")
    facts.put("knobs.best_ratio", 1.01)
    facts.put("knobs.tried", len(settings), "count")
    facts.put("knobs.resolved", 1, "count")
    facts.put("search.concurrency", 4, "count")
    facts.put("search.plain_tpot_ms", 8.4, "duration", "ms/token")


def _gate(facts: Facts) -> None:
    facts.put("gate.candidate", "dspark", "label")
    facts.put("gate.repeats", 8, "count")
    for role, cut in (("base", 0.5), ("candidate", 1.0), ("numeric", 0.0)):
        facts.put(f"gate.{role}.truncated", cut, "percent", "percent")
        facts.put(f"gate.{role}.degenerate", 2 * cut, "percent", "percent")
    for task, problems, allowed in (("greedy", 200, 3.0), ("sampled", 60, 5.0)):
        facts.put(f"gate.problems.{task}", problems, "count")
        facts.put(f"gate.margin.{task}", allowed, "points", "percent")
        facts.put(f"gate.base.{task}.score", 96.0, "percent", "percent")
        facts.put(f"gate.candidate.{task}.pooled_sem", 2.0, "points", "percent")
        facts.put(f"gate.candidate.{task}.sigma", 0.1, "length")
        for role, difference, reach in (("candidate", 0.2, 1.4), ("numeric", -0.6, 4.8)):
            facts.put(f"gate.{role}.{task}.score", 96.0 + difference, "percent", "percent")
            facts.put(f"gate.{role}.{task}.difference", difference, "points", "percent")
            facts.put(f"gate.{role}.{task}.lower", difference - reach, "points", "percent")


def _stages(facts: Facts) -> None:
    stages = ("aa", "memory", "cache", "knobs", "window", "confirm")
    for place, stage in enumerate(stages, 1):
        facts.put(f"shape.{stage}.boots", 8 * place, "count")
        facts.put(f"shape.{stage}.cells", 14 * place, "count")
        facts.put(f"shape.{stage}.minutes", 0.8 * place, "duration", "min")
    for what, number in (("rejected", 2.7), ("thrown_away", 1.1)):
        facts.put(f"shape.{what}_minutes", number, "duration", "min")
    for what, number, kind, unit in (("minutes", 18.6, "duration", "min"), ("boot_share", 38.1, "percent", "percent"), ("boot_s", 1.96, "duration", "s/boot"),
                                     ("boots", 168, "count", ""), ("cells", 294, "count", "")):
        facts.put(f"search.{what}", number, kind, unit)
