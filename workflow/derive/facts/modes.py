"""Execution modes of one engine: what a plain step, a verify window and a whole run cost in each of them."""

from workflow.derive.facts import measures
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample, least
from workflow.derive.shown import MODES

BASE = "eager"
STAGE = "modes"
GAMMAS = DECLARED["gamma"]
MEASURED = ("tpot_ms", "step_ms", "verify_ms", "emitted_per_round", "accept_length", "speedup")
ARMS = tuple(f"g{gamma}" for gamma in GAMMAS)


def points(read, mode: str, arm: str) -> Rows:
    return read.points("window", stage=STAGE, mode=mode, arm=arm)


def requests(read, mode: str, arm: str) -> Rows:
    return read.requests("window", stage=STAGE, mode=mode, arm=arm)


@fact("modes.{mode}.{arm}.tpot_ms", kind="duration", unit="ms/token", mode=MODES, arm=("plain", *ARMS))
def tpot(read, mode, arm):
    """(end - first token) / (tokens - 1), sums over the requests of stage modes"""
    return measures.time_per_token(requests(read, mode, arm))


@fact("modes.{mode}.{arm}.tokens_per_s", kind="rate", unit="token/s", mode=MODES, arm=("plain", *ARMS))
def tokens_per_s(read, mode, arm):
    """one second / time per token of stage modes, prefill left out"""
    return Sample(1.0) / read[f"modes.{mode}.{arm}.tpot_ms"]


@fact("modes.{mode}.{arm}.{block}", kind="duration", unit="ms/step", mode=MODES, arm=("plain", *ARMS), block=("step_ms", "verify_ms"))
def step_time(read, mode, arm, block):
    """mean over the decode steps of the cell, wall clock of the engine"""
    return measures.per_step(points(read, mode, arm), block)


@fact("modes.{mode}.{arm}.draft_ms", kind="duration", unit="ms/step", mode=MODES, arm=ARMS)
def draft_time(read, mode, arm):
    """T_draft: mean drafting of a round's step of the cell, wall clock of the engine"""
    return measures.per_step(points(read, mode, arm), "draft_ms")


@fact("modes.{mode}.{arm}.accept_length", kind="length", unit="token/round", mode=MODES, arm=ARMS)
def accept_length(read, mode, arm):
    """1 + accepted / rounds, bonus included, before truncation, pooled over the requests"""
    return measures.accept_length(requests(read, mode, arm))


@fact("modes.{mode}.{arm}.emitted_per_round", kind="length", unit="token/round", mode=MODES, arm=ARMS)
def emitted_per_round(read, mode, arm):
    """tokens after each request's first / rounds, pooled over the requests"""
    return measures.emitted_per_round(requests(read, mode, arm))


@fact("modes.{mode}.{arm}.speedup", kind="ratio", mode=MODES, arm=ARMS)
def speedup(read, mode, arm):
    """plain time per token / speculative time per token, both in this mode"""
    return read[f"modes.{mode}.plain.tpot_ms"] / read[f"modes.{mode}.{arm}.tpot_ms"]


@fact("modes.{mode}.{arm}.verify_ratio", kind="ratio", mode=MODES, arm=ARMS)
def run_ratio(read, mode, arm):
    """mean target forward of a round / of a plain step, both from whole runs in this mode"""
    return read[f"modes.{mode}.{arm}.verify_ms"] / read[f"modes.{mode}.plain.verify_ms"]


@fact("modes.widest", kind="count")
def widest(read):
    """positions of the widest window that whole runs verified in each of the modes that decoded plainly"""
    shown = [mode for mode in MODES if read.has(f"modes.{mode}.plain.verify_ms")] or [BASE]
    verified = set(read.present(f"modes.{mode}.g{gamma}.verify_ratio" for gamma in GAMMAS for mode in shown))
    common = [gamma + 1 for gamma in GAMMAS if all(f"modes.{mode}.g{gamma}.verify_ratio" in verified for mode in shown)]
    if not common:
        raise Missing("no window was verified in every mode")
    return common[-1]


@fact("modes.{mode}.widest_ratio", kind="ratio", mode=MODES)
def widest_ratio(read, mode):
    """T_verify / T_decode at the widest window that whole runs verified in every mode"""
    return read[f"modes.{mode}.g{round(read['modes.widest'].value) - 1}.verify_ratio"]


@fact("modes.in_sweep.widest_ratio", kind="ratio")
def ratio_in_sweep(read):
    """T_verify / T_decode of the block-size sweep at that window, all contents: other boots, other texts"""
    return read[f"window.verify_ratio.w{round(read['modes.widest'].value)}"]


@fact("modes.in_sweep.mode", kind="label")
def mode_in_sweep(read):
    """execution mode of the block-size sweep"""
    found = set(read.points("window", arm="plain").texts("mode"))
    if len(found) > 1:
        raise Missing(f"the block-size sweep ran in several modes: {', '.join(sorted(found))}")
    return found.pop()


@fact("modes.{mode}.bound_ms", kind="duration", unit="ms/step", mode=MODES)
def bound_ms(read, mode):
    """bytes of weights that a step reads / read bandwidth of one thread in the verify-cost sweep; a graph replays the eager step"""
    timed = {"mode": ("eager", "graph")} if mode == "graph" else {"mode": mode, "fused_verify": "shared" if mode == "fused" else None}
    rows = read.costs(model="trained", quantity="verify", lane=None, batch=1, width=1, **timed)
    return Sample(rows.read("bound_ms").min(), rows.unit("bound_ms"))


@fact("modes.{mode}.over_bound", kind="ratio", mode=MODES)
def over_bound(read, mode):
    """mean target forward of a plain step / the time it takes to read its weights once"""
    return read[f"modes.{mode}.plain.verify_ms"] / read[f"modes.{mode}.bound_ms"]


def parts_of(over_bound: Sample, widest_ratio: Sample, widest: float) -> dict[str, Sample]:
    """Shares of a plain forward: reading its weights from memory, what a further position adds, and the rest, which is fixed.

    Not shares in the strict sense where the weights did not come from memory: then the first is above one, and the rest means nothing.
    """
    memory = 1 / over_bound
    position = (widest_ratio - 1) / (widest - 1)
    return {"memory": memory, "position": position, "fixed": 1 - memory - position}


MAJORITY = 0.5
"""A share beyond it outweighs everything else together: what "bound by" means here, and no limit that could have been set otherwise."""


def regimes_of(parts: dict[str, Sample]) -> dict[str, Sample]:
    """How far the shares stand inside each regime, in shares of a plain forward; below 0: outside it.

    cache: faster than memory could deliver the weights. bandwidth: reading them outweighs the rest. dispatch: what neither the weights
    nor the positions explain outweighs them, which is consistent with work that is done once an operator.
    """
    memory, fixed = parts["memory"], parts["fixed"]
    return {"cache": memory - 1, "bandwidth": least([1 - memory, memory - MAJORITY]), "dispatch": fixed - MAJORITY}


def shares(read, mode: str) -> dict[str, Sample]:
    return parts_of(read[f"modes.{mode}.over_bound"], read[f"modes.{mode}.widest_ratio"], read["modes.widest"].value)


@fact("modes.{mode}.share.{part}", kind="percent", unit="percent", mode=MODES, part=("memory", "position", "fixed"))
def share(read, mode, part):
    """of a plain forward: reading its weights from memory once, what a further position adds up to the widest window, or the rest"""
    found = shares(read, mode)
    if part == "fixed" and found["memory"].value > 1:
        raise Missing("the forward takes less time than reading the weights once, so no rest is left")
    return found[part]


@fact("modes.{mode}.regime", kind="label", mode=MODES)
def regime(read, mode):
    """what the shares of a plain forward are consistent with: cache, bandwidth or dispatch"""
    inside = regimes_of(shares(read, mode))
    found = max(inside, key=lambda name: inside[name].value)
    if inside[found].value < 0:
        raise Missing("no part of the forward outweighs the others")
    return found


@fact("modes.{mode}.{arm}.break_even_ratio", kind="ratio", mode=MODES, arm=ARMS)
def break_even_ratio(read, mode, arm):
    """(tokens a round * plain step - the round's step without its forward) / plain forward: the most T_verify / T_decode may be"""
    own = f"modes.{mode}.{arm}"
    tokens = read[f"{own}.emitted_per_round"] * Sample(1.0, "round/token")
    rest = read[f"{own}.step_ms"] - read[f"{own}.verify_ms"]
    return (tokens * read[f"modes.{mode}.plain.step_ms"] - rest) / read[f"modes.{mode}.plain.verify_ms"]


@fact("modes.{mode}.best_gamma", kind="count", mode=MODES)
def best_gamma(read, mode):
    """block size with the largest speedup in this mode"""
    return int(read.largest(f"modes.{mode}.{arm}.speedup" for arm in ARMS).split(".")[2][1:])


for what, kind, unit in (
    ("speedup", "ratio", ""),
    ("verify_ratio", "ratio", ""),
    ("break_even_ratio", "ratio", ""),
    ("accept_length", "length", "token/round"),
    ("tpot_ms", "duration", "ms/token"),
    ("draft_ms", "duration", "ms/step"),
):

    def at_best(read, mode, what=what):
        """the value at the block size that is fastest in this mode, which was chosen on the same rows"""
        return read[f"modes.{mode}.g{round(read[f'modes.{mode}.best_gamma'].value)}.{what}"]

    fact(f"modes.{{mode}}.at_best.{what}", kind=kind, unit=unit, mode=MODES)(at_best)


@fact("modes.cheapest", kind="label")
def cheapest(read):
    """mode with the least plain time per token"""
    return min(read.present(f"modes.{mode}.plain.tpot_ms" for mode in MODES), key=lambda key: read[key].value).split(".")[1]


@fact("modes.count", kind="count")
def count(read):
    """modes in which plain decoding and speculation ran beside each other"""
    return len(read.present(f"modes.{mode}.at_best.speedup" for mode in MODES))


for what, kind, unit in (
    ("plain.tpot_ms", "duration", "ms/token"),
    ("at_best.speedup", "ratio", ""),
    ("at_best.accept_length", "length", "token/round"),
    ("best_gamma", "count", ""),
    ("plain.verify_ms", "duration", "ms/step"),
    ("over_bound", "ratio", ""),
    ("widest_ratio", "ratio", ""),
):

    def in_cheapest(read, what=what):
        """the value in the mode whose plain token is cheapest"""
        return read[f"modes.{read.label('modes.cheapest')}.{what}"]

    fact(f"modes.in_cheapest.{what}", kind=kind, unit=unit)(in_cheapest)


@fact("modes.content", kind="label")
def content(read):
    """content of stage modes; mixed where it had every class, several where it had some"""
    found = set(read.points("window", stage=STAGE).texts("content"))
    return found.pop() if len(found) == 1 else "mixed" if found >= set(DECLARED["one_content"]) else "several"


@fact("modes.distinct_4gram_share", kind="probability")
def distinct_4grams(read):
    """mean over the cells of distinct 4-grams / 4-grams of plain decoding's output, all modes"""
    return read.points("window", stage=STAGE, lane="plain").mean("distinct_4gram_share")
