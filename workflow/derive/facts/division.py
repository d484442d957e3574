"""The division: what the blocks of one boot say the speedup of another boot is, and the block size it would choose."""

import numpy as np

from workflow.derive import division, stats
from workflow.derive.facts import measures
from workflow.derive.facts.window import arms, best, gamma_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

ONE_CONTENT = DECLARED["one_content"]
GAMMAS = DECLARED["gamma"]


def plain_blocks(points: Rows) -> Sample:
    """Target forward and commit of the plain steps, per token."""
    return (points.dot("verify_ms", "steps") + points.dot("commit_ms", "steps")) / points.sum("decode_tokens")


def positive(time: Sample, what: str) -> Sample:
    """The time, unless the clocks make it negative, which no duration is."""
    if time.value < 0:
        raise Missing(f"{what} comes out below zero, at {time.value:.3g} {time.unit}: the clocks do not resolve it")
    return time


@fact("division.other_ms", kind="duration", unit="ms/token")
def other(read):
    """o: plain time per token - the blocks of its steps per token, all contents"""
    time = measures.time_per_token(read.requests("window", arm="plain"))
    return positive(time - plain_blocks(read.points("window", arm="plain")).to(time.unit), "time per token - blocks")


@fact("division.{content}.decode_ms", kind="duration", unit="ms/token")
def decode(read, content):
    """T_d: target forward + commit of the plain steps, per token"""
    return plain_blocks(read.points("window", content=content, arm="plain"))


@fact("division.{content}.g{gamma}.round_other_ms", kind="duration", unit="ms/round")
def round_other(read, content, gamma):
    """r: time inside and between the steps that is in none of the blocks, mean over the rounds of the cell"""
    points = read.points("window", content=content, arm=f"g{gamma}")
    time = (measures.per_step(points, "other_ms") + measures.per_step(points, "between_ms")) / measures.rounds_per_step(points)
    return positive(time, "time outside the blocks")


@fact("division.{content}.g{gamma}.draft_ms", kind="duration", unit="ms/round")
def draft(read, content, gamma):
    """T_draft: mean over the rounds of the cell"""
    points = read.points("window", content=content, arm=f"g{gamma}")
    return read[f"window.{content}.g{gamma}.draft_ms"] / measures.rounds_per_step(points)


@fact("division.{content}.g{gamma}.commit_ms", kind="duration", unit="ms/round")
def commit(read, content, gamma):
    """T_commit: mean over the rounds of the cell"""
    points = read.points("window", content=content, arm=f"g{gamma}")
    return read[f"window.{content}.g{gamma}.commit_ms"] / measures.rounds_per_step(points)


@fact("division.{content}.g{gamma}.verify_ms", kind="duration", unit="ms/round")
def verify_mixture(read, content, gamma):
    """Σ π_w T_v(w): verify times of the step rows by the width they ran at, weighted by how often that width came"""
    if read.campaign.find("steps", "window") is None:  # the mean over the rounds is the same mixture, its widths unseen
        points = read.points("window", content=content, arm=f"g{gamma}")
        return measures.per_step(points, "verify_ms") / measures.rounds_per_step(points)
    steps = read.steps("window", content=content, arm=f"g{gamma}", kind="round")
    widths = np.rint(steps.read("positions") / steps.read("running")).astype(int)
    total = steps.count("round")
    shares, times = {}, {}
    for width in map(int, np.unique(widths)):
        some = steps.where_true(widths == width)
        shares[width] = some.count("round") / total
        times[width] = some.sum("verify_ms") / some.count("round")
    # A width that a single boot lacks counts nothing there.
    return division.mixture_ms(
        {w: Sample(np.nan_to_num(s.values)) for w, s in shares.items()},
        {w: Sample(np.nan_to_num(t.values), t.unit) for w, t in times.items()},
    )


def terms(read, content: str, gamma: int) -> dict[str, Sample]:
    """The division's terms for one cell: τ, T_d and o a token, T_draft, Σ π T_v, T_commit and r a round."""
    prefix = f"division.{content}"
    return {
        "tau": read[f"window.{content}.g{gamma}.emitted_per_round"],
        "decode": read[f"{prefix}.decode_ms"],
        "other": read["division.other_ms"],
        "draft": read[f"{prefix}.g{gamma}.draft_ms"],
        "verify": read[f"{prefix}.g{gamma}.verify_ms"],
        "commit": read[f"{prefix}.g{gamma}.commit_ms"],
        "round_other": read[f"{prefix}.g{gamma}.round_other_ms"],
    }


def boots_of(read, content: str, gamma: int) -> int:
    """Boots that hold both arms; Missing below two, where nothing is out of sample."""
    found = [set(read.points("window", content=content, arm=arm).texts("boot")) for arm in ("plain", f"g{gamma}")]
    count = min(len(found[0] & found[1]), stats.BOOTS_SHOWN)
    if count < 2:
        raise Missing("one boot only: a prediction needs another boot to be tested on")
    return count


def out_of_sample(read, content: str, gamma: int, other_texts: bool = False) -> tuple[float, float]:
    """Predicted and measured speedup of the last boot, the costs taken from the boots before it.

    τ is counted on the texts that are predicted, which costs no clock; with `other_texts` it too comes from the boots before, so that
    which prompts were drawn is part of the error.
    """
    last = boots_of(read, content, gamma)  # place of the last boot in a sample, after the estimate
    cell = {name: sample.values[1 : 1 + last] for name, sample in terms(read, content, gamma).items()}
    costs = {name: float(np.mean(values[:-1])) for name, values in cell.items() if name != "tau"}
    tau = float(np.mean(cell["tau"][:-1])) if other_texts else float(cell["tau"][-1])
    ratio = read[f"window.{content}.plain.tpot_ms"] / read[f"window.{content}.g{gamma}.tpot_ms"]
    return division.speedup(tau=tau, **costs), float(ratio.number()[last])


@fact("division.{content}.g{gamma}.predicted", kind="ratio", status="computed")
def predicted(read, content, gamma):
    """τ (T_d + o) / (T_draft + Σ π_w T_v(w) + T_commit + r) for the last boot's texts, every time from the boots before it"""
    check_units(terms(read, content, gamma))
    return out_of_sample(read, content, gamma)[0]


def check_units(cell: dict[str, Sample]) -> None:
    """The prediction is computed on bare numbers; this runs the same division with units, which must cancel."""
    division.speedup(**cell).to("")


@fact("division.{content}.g{gamma}.measured", kind="ratio")
def measured(read, content, gamma):
    """plain time per token / speculative time per token of the last boot, on the client's clock"""
    return out_of_sample(read, content, gamma)[1]


@fact("division.{content}.g{gamma}.gap", kind="percent", unit="percent", status="computed", prediction=True)
def gap(read, content, gamma):
    """predicted / measured - 1"""
    return read[f"division.{content}.g{gamma}.predicted"] / read[f"division.{content}.g{gamma}.measured"] - 1


def most_verify(read, content: str, gamma: int) -> Sample:
    """The most that verification may cost at one block size."""
    cell = terms(read, content, gamma)
    del cell["verify"]
    return division.break_even_verify(**cell)


@fact("division.{content}.g{gamma}.break_even_ratio", kind="ratio")
def break_even_ratio(read, content, gamma):
    """(τ (T_d + o) - T_draft - T_commit - r) / T_decode: the most T_verify / T_decode may be"""
    return most_verify(read, content, gamma) / (read[f"window.{content}.plain.verify_ms"] * Sample(1.0, "step/round"))


def gap_keys() -> list[str]:
    return [f"division.{content}.g{gamma}.gap" for content in ONE_CONTENT for gamma in GAMMAS]


@fact("division.worst_gap", kind="percent", unit="percent", status="computed")
def worst_gap(read):
    """largest |gap| over contents and block sizes"""
    return max(abs(read[key].value) for key in read.present(gap_keys())) * Sample(0.01)


@fact("division.mean_gap", kind="percent", unit="percent", status="computed")
def mean_gap(read):
    """mean |gap| over contents and block sizes"""
    return float(np.mean([abs(read[key].value) for key in read.present(gap_keys())])) * Sample(0.01)


@fact("division.cells", kind="count")
def cells(read):
    """contents x block sizes with a prediction"""
    return len(read.present(gap_keys()))


@fact("division.other_text_gap", kind="percent", unit="percent", status="computed")
def other_text_gap(read):
    """mean |gap| over contents and block sizes when τ too comes from the boots before, whose prompts differ"""
    gaps = []
    for content in ONE_CONTENT:
        for gamma in GAMMAS:
            if read.has(f"division.{content}.g{gamma}.gap"):
                forecast, clock = out_of_sample(read, content, gamma, other_texts=True)
                gaps.append(abs(forecast / clock - 1))
    if not gaps:
        read.present(gap_keys())
    return float(np.mean(gaps))


@fact("division.{content}.break_even_verify_ms", kind="duration", unit="ms/round", status="computed")
def break_even_verify_ms(read, content):
    """τ (T_d + o) - T_draft - T_commit - r at the best block size: the most verification may cost"""
    return most_verify(read, content, best(read, content))


@fact("division.{content}.verify_at_best_ms", kind="duration", unit="ms/round")
def verify_at_best_ms(read, content):
    """Σ π_w T_v(w) at the best block size"""
    return terms(read, content, best(read, content))["verify"]


@fact("division.{content}.g{gamma}.foretold", kind="ratio", status="computed")
def foretold(read, content, gamma):
    """the division with τ from the accepted counts at the largest block size, and the costs of all contents at γ"""
    widest = round(read["window.widest_gamma"].value)
    rows = read.requests("window", content=content, arm=f"g{widest}")
    histogram = [rows.sum(f"accepted_histogram[{k}]").value for k in range(widest + 1)]
    emitted = (measures.emitted_per_round(rows) / measures.accept_length(rows)).value
    costs = {block: read[f"division.all.g{gamma}.{block}_ms"] for block in ("draft", "verify", "commit", "round_other")}
    tau = Sample(division.tau_of(histogram, gamma, emitted), "token/round")
    return Sample(division.speedup(tau, read["division.all.decode_ms"], read["division.other_ms"], **costs).to("").value)


@fact("division.{content}.g{gamma}.next_gain", kind="percent", unit="percent", gamma=GAMMAS[:-1])
def next_gain(read, content, gamma):
    """P(c >= γ + 1) / τ: what one more draft adds to the tokens a round, from the accepted counts at the largest block size"""
    chance = Sample(1.0)
    tau = Sample(1.0)
    for slot in range(1, gamma + 2):
        if slot == gamma + 1:
            return chance * read[f"window.{content}.accept_at_pos.{slot}"] / tau
        chance = chance * read[f"window.{content}.accept_at_pos.{slot}"]
        tau = tau + chance


@fact("division.{content}.g{gamma}.next_cost", kind="percent", unit="percent", gamma=GAMMAS[:-1])
def next_cost(read, content, gamma):
    """step at γ + 1 / step at γ - 1: what one more draft adds to the round"""
    return read[f"window.{content}.g{gamma + 1}.step_ms"] / read[f"window.{content}.g{gamma}.step_ms"] - 1


@fact("division.{content}.chosen_gamma", kind="count", status="computed")
def chosen_gamma(read, content):
    """block size with the largest foretold speedup"""
    return gamma_of(read.largest(f"division.{content}.g{gamma}.foretold" for gamma in GAMMAS))


@fact("division.{content}.regret", kind="percent", unit="percent", status="computed")
def regret(read, content):
    """1 - tokens/s at the chosen block size / tokens/s at the best one"""
    chosen = round(read[f"division.{content}.chosen_gamma"].value)
    top = read.largest(arms(content, "tokens_per_s"))
    return 1 - read[f"window.{content}.g{chosen}.tokens_per_s"] / read[top]
