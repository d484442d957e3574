"""The division: what the blocks of one boot say the speedup of another boot is, and the block size it would choose."""

import numpy as np

from workflow.derive import division, stats
from workflow.derive.facts import measures
from workflow.derive.facts.window import arms, best, gamma_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

ONE_CONTENT = DECLARED["one_content"]
GAMMAS = DECLARED["gamma"]


@fact("division.{content}.decode_ms", kind="duration", unit="ms/token")
def decode(read, content):
    """T_d: target forwards of the plain lane / tokens they gave"""
    plain = read.points("window", content=content, arm="plain")
    return plain.dot("verify_ms", "steps") / plain.sum("decode_tokens")


@fact("division.{content}.other_ms", kind="duration", unit="ms/token")
def other(read, content):
    """o: plain time per token - T_d, what a token costs outside the target's forward"""
    return read[f"window.{content}.plain.tpot_ms"] - read[f"division.{content}.decode_ms"]


@fact("division.{content}.g{gamma}.{block}", kind="duration", unit="ms/round", block=("draft_ms", "commit_ms"))
def block_time(read, content, gamma, block):
    """mean of the block over the rounds of the cell"""
    points = read.points("window", content=content, arm=f"g{gamma}")
    return read[f"window.{content}.g{gamma}.{block}"] / measures.rounds_per_step(points)


@fact("division.{content}.g{gamma}.verify_ms", kind="duration", unit="ms/round")
def verify_mixture(read, content, gamma):
    """Σ π_w T_v(w): verify times of the step rows by the width they ran at, weighted by how often that width came"""
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
    """The division's terms for one cell: τ, T_d and o a token, T_draft, Σ π T_v and T_commit a round."""
    prefix = f"division.{content}"
    return {
        "tau": read[f"window.{content}.g{gamma}.emitted_per_round"],
        "decode": read[f"{prefix}.decode_ms"],
        "other": read[f"{prefix}.other_ms"],
        "draft": read[f"{prefix}.g{gamma}.draft_ms"],
        "verify": read[f"{prefix}.g{gamma}.verify_ms"],
        "commit": read[f"{prefix}.g{gamma}.commit_ms"],
    }


def boots_of(read, content: str, gamma: int) -> int:
    """Boots that hold both arms; Missing below two, where nothing is out of sample."""
    found = [set(read.points("window", content=content, arm=arm).texts("boot")) for arm in ("plain", f"g{gamma}")]
    count = min(len(found[0] & found[1]), stats.BOOTS_SHOWN)
    if count < 2:
        raise Missing("one boot only: a prediction needs another boot to be tested on")
    return count


def across(read, content: str, gamma: int, other_texts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and measured speedup for every ordered pair of different boots [pairs].

    The times come from the first boot of the pair, the clock that tests them from the second. τ is counted on the texts that
    are predicted, or with `other_texts` on those of the first boot, so that which prompts were drawn is part of the error.
    """
    count = boots_of(read, content, gamma)
    cell = {name: sample.values[1 : 1 + count] for name, sample in terms(read, content, gamma).items()}
    ratio = read[f"window.{content}.plain.tpot_ms"] / read[f"window.{content}.g{gamma}.tpot_ms"]
    measured = ratio.number()[1 : 1 + count]
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    predicted = []
    for a, b in pairs:
        costs = {name: values[a] for name, values in cell.items() if name != "tau"}
        predicted.append(division.speedup(tau=cell["tau"][a if other_texts else b], **costs))
    return np.array(predicted), np.array([measured[b] for _, b in pairs])


@fact("division.{content}.g{gamma}.predicted", kind="ratio", status="computed")
def predicted(read, content, gamma):
    """τ (T_d + o) / (T_draft + Σ π_w T_v(w) + T_commit + τ o), times of one boot for the texts of another, mean over the pairs of boots"""
    check_units(terms(read, content, gamma))
    return float(np.exp(np.log(across(read, content, gamma)[0]).mean()))


def check_units(cell: dict[str, Sample]) -> None:
    """The pairs are computed on bare numbers; this runs the same division with units, which must cancel."""
    division.speedup(**cell).to("")


@fact("division.{content}.g{gamma}.measured", kind="ratio")
def measured(read, content, gamma):
    """plain time per token / speculative time per token on the clock of the boots that are predicted, mean over the pairs of boots"""
    return float(np.exp(np.log(across(read, content, gamma)[1]).mean()))


@fact("division.{content}.g{gamma}.gap", kind="percent", unit="percent", status="computed")
def gap(read, content, gamma):
    """predicted / measured - 1"""
    return read[f"division.{content}.g{gamma}.predicted"] / read[f"division.{content}.g{gamma}.measured"] - 1


@fact("division.{content}.g{gamma}.break_even_ratio", kind="ratio")
def break_even_ratio(read, content, gamma):
    """(τ T_d - T_draft - T_commit) / T_d: the most T_verify / T_decode may be"""
    cell = terms(read, content, gamma)
    return division.break_even_verify(cell["tau"], cell["decode"], cell["draft"], cell["commit"]) / (cell["decode"] * measures.BONUS)


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
    """mean |gap| over single pairs of boots when τ too comes from the other boot, whose prompts differ"""
    gaps = []
    for content in ONE_CONTENT:
        for gamma in GAMMAS:
            if read.has(f"division.{content}.g{gamma}.gap"):
                forecast, clock = across(read, content, gamma, other_texts=True)
                gaps.extend(np.abs(forecast / clock - 1))
    if not gaps:
        read.present(gap_keys())
    return float(np.mean(gaps))


@fact("division.other_ms", kind="duration", unit="ms/token")
def other_ms(read):
    """o of all contents together"""
    return read["division.all.other_ms"]


@fact("division.{content}.break_even_verify_ms", kind="duration", unit="ms/round")
def break_even_verify_ms(read, content):
    """τ T_d - T_draft - T_commit at the best block size: the most verification may cost"""
    cell = terms(read, content, best(read, content))
    return division.break_even_verify(cell["tau"], cell["decode"], cell["draft"], cell["commit"])


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
    a_round = measures.rounds_per_step(read.points("window", content="all", arm=f"g{gamma}"))
    costs = {block: read[f"window.all.g{gamma}.{block}_ms"] / a_round for block in ("draft", "verify", "commit")}
    a_token = Sample(1.0, "step/token")
    tau = Sample(division.tau_of(histogram, gamma, emitted), "token/round")
    return Sample(division.speedup(tau, read["window.decode_ms"] * a_token, read["division.other_ms"], **costs).to("").value)


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
