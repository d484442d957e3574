"""The division, its consequences, and that it is a prediction."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.derive.edit import scale
from workflow.derive import division, identity, load
from workflow.derive.evaluate import Derivation
from workflow.derive.mutation import Prover

ms = st.floats(0.01, 100)
histograms = st.lists(st.integers(0, 50), min_size=2, max_size=9).filter(lambda counts: sum(counts) > 0)


@given(tau=st.floats(1, 8), decode=ms, other=st.floats(0, 50), draft=ms, commit=st.floats(0, 5))
def test_at_break_even_the_speedup_is_one_whatever_a_token_costs_outside(tau, decode, other, draft, commit):
    verify = division.break_even_verify(tau, decode, other, draft, commit)
    assert verify == pytest.approx(tau * decode - draft - commit, abs=1e-9 * tau * (decode + other))
    assume(verify > 1e-3 * (draft + commit + tau * (decode + other)))  # else a tenth of it is below rounding
    assert division.speedup(tau, decode, other, draft, verify, commit) == pytest.approx(1, rel=1e-9)
    assert (
        division.speedup(tau, decode, other, draft, verify * 0.9, commit)
        > 1
        > division.speedup(tau, decode, other, draft, verify * 1.1, commit)
    )


@given(tau=st.floats(1, 8), decode=ms, other=st.floats(0, 50), draft=ms, commit=st.floats(0, 5), outside=st.floats(0, 50))
def test_a_measured_cost_of_the_round_moves_the_break_even(tau, decode, other, draft, commit, outside):
    verify = division.break_even_verify(tau, decode, other, draft, commit, outside)
    assume(verify > 1e-3 * (draft + commit + outside + tau * (decode + other)))
    assert division.speedup(tau, decode, other, draft, verify, commit, outside) == pytest.approx(1, rel=1e-9)


@given(gamma=st.integers(1, 7), decode=ms, other=st.floats(0, 50), draft=st.floats(0, 50), share=st.floats(1, 3), data=st.data())
def test_what_costs_as_much_as_decoding_can_never_pay(gamma, decode, other, draft, share, data):
    tau = data.draw(st.floats(1, gamma + 1))
    verify = (gamma + 1) * decode * share
    assert division.can_never_pay(verify, decode, gamma)
    assert division.speedup(tau, decode, other, draft, verify, 0.0) <= 1 + 1e-9


@given(histograms)
def test_tau_of_the_full_histogram_is_its_mean(counts):
    mean = 1 + sum(c * n for c, n in enumerate(counts)) / sum(counts)
    assert division.tau_of(counts, len(counts) - 1) == pytest.approx(mean)


@given(histograms)
def test_reached_never_rises(counts):
    reached = division.reached(counts)
    assert all(a >= b for a, b in zip(reached, reached[1:], strict=False))


@given(st.dictionaries(st.integers(1, 8), st.floats(0.01, 1), min_size=1), ms)
def test_a_mixture_of_equal_times_is_that_time(shares, time):
    total = sum(shares.values())
    mixture = division.mixture_ms({w: s / total for w, s in shares.items()}, dict.fromkeys(shares, time))
    assert mixture == pytest.approx(time)


def test_rounds_without_a_draft_enter_the_mixture(scratch):
    """Half of the rounds at width 1 and cheap: the mean of the two widths, not the cost of the wide one."""
    from tests.derive.edit import rewrite

    points = {
        row.split(",")[0]
        for row in (scratch / "sweep_window.csv").read_text("utf8").splitlines()
        if ",dspark-g3," in row and ",code," in row
    }
    seen = {"wide": [], "narrow": []}

    def some_undrafted(rows):
        for i, row in enumerate(rows):
            if row["run_id"] in points and row["kind"] == "round":
                if i % 2:
                    row["positions"], row["verify_ms"] = row["running"], "1.0"
                seen["narrow" if i % 2 else "wide"].append(float(row["verify_ms"]))
        return rows

    rewrite(scratch, "steps_window.csv", some_undrafted)
    fact = Derivation(load.load(scratch), resamples=0).result("division.code.g3.verify_ms").fact
    times = seen["wide"] + seen["narrow"]
    assert fact.value == pytest.approx(np.mean(times), rel=1e-9)
    assert min(seen["wide"]) > 3 > fact.value - 1.5


def test_the_prediction_is_out_of_sample(scratch):
    """Making the first boot's blocks dearer moves the prediction for the second and leaves its measurement alone."""
    before = Derivation(load.load(scratch), resamples=0)
    keys = ("division.code.g3.predicted", "division.code.g3.measured")
    was = [before.result(key).fact.value for key in keys]
    scale(scratch, "sweep_window.csv", "draft_ms", 3.0, label="dspark-g3", content="code", boot="0")
    after = Derivation(load.load(scratch), resamples=0)
    now = [after.result(key).fact.value for key in keys]
    assert now[0] < was[0] * 0.95 and now[1] == was[1]
    scale(scratch, "requests_window.csv", "e2e_ms", 1.01)  # every clock of the client, in both boots and lanes
    moved = Derivation(load.load(scratch), resamples=0).result(keys[1]).fact.value
    assert moved == pytest.approx(now[1], rel=0.01)


def test_no_negative_time_is_published(scratch):
    """Blocks that take longer than the client waited: the cost of a token is missing, and says why."""
    scale(scratch, "sweep_window.csv", "verify_ms", 1.5, label="plain")
    derivation = Derivation(load.load(scratch), resamples=0)
    for key in ("division.other_ms", "division.code.g3.predicted"):
        fact = derivation.result(key).fact
        assert fact.missing and "below zero" in fact.reason


def test_the_terms_are_the_columns(values):
    """The toy engine spends other_ms on every token: a plain token's share, and a round's for each of its tokens."""
    assert values.fact("division.other_ms").value == pytest.approx(0.12, rel=0.2)
    tau = values.fact("window.code.g3.emitted_per_round").value
    assert values.fact("division.code.g3.round_other_ms").value == pytest.approx(0.12 * tau, rel=0.2)
    assert values.fact("division.code.g3.commit_ms").value == pytest.approx(values.fact("window.code.g3.commit_ms").value)


def test_the_toy_engine_obeys_the_division(values):
    assert abs(values.fact("division.code.g3.gap").value) < 5
    assert values.fact("division.cells").value == 28


def test_every_clock_and_count_moves_the_prediction(measured):
    """No input cancels: the comparison can fail because of any of them."""
    replay = identity.replay(Prover(measured), "division.code.g3.gap")
    assert {cell.column for cell in replay.moving} >= {"verify_ms", "draft_ms", "commit_ms", "rounds", "osl", "e2e_ms", "ttft_ms"}
    # positions and running only tell widths apart; the speculative lane's own tokens stand in τ and in its measured time per token
    assert {cell.column for cell in replay.inert} == {"positions", "running", "osl"}
    assert all("g3" in cell.where for cell in replay.inert if cell.column == "osl")
    assert not replay.is_identity


def test_an_identity_is_recognised(measured):
    assert identity.replay(Prover(measured), "loss.shares_sum").is_identity


def test_a_step_defined_as_accept_length_times_time_per_token_is_an_identity(measured, monkeypatch):
    """The trap: step := accept x TPOT, predicted ratio := accept / step. Accept cancels and the ratio of TPOTs is compared with itself."""
    from workflow.derive import registry
    from workflow.derive.facts import measures

    def gap(read):
        """predicted / measured - 1 with a step that was never measured"""
        rows = {arm: read.requests("window", content="code", arm=arm) for arm in ("g3", "g5")}
        tpot = {arm: measures.time_per_token(r) for arm, r in rows.items()}
        accept = {arm: measures.accept_length(r) for arm, r in rows.items()}
        step = {arm: accept[arm] * tpot[arm] for arm in rows}
        return (accept["g3"] / step["g3"]) / (accept["g5"] / step["g5"]) / (tpot["g5"] / tpot["g3"]) - 1

    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, registry.Definition("test.gap", gap, "percent", "percent")])
    assert identity.replay(Prover(measured), "test.gap").is_identity


def test_a_sum_of_blocks_is_a_shorter_ruler(values):
    """The toy engine's timers of blocks see nine tenths of the least time of a forward, whose median is a little longer."""
    gamma = values.fact("window.all.best_gamma").value
    clock = (3.9 + 0.28 * gamma) / 3.9
    assert values.fact("division.ruler.clock.verify_ratio").value == pytest.approx(clock, rel=1e-6)
    assert values.fact("division.ruler.blocks.verify_ratio").value == pytest.approx(clock * 0.9 / 1.03, rel=1e-6)
    assert values.fact("division.ruler.blocks.speedup").value > values.fact("division.ruler.clock.speedup").value
    assert values.fact("division.ruler.clock.speedup").value == pytest.approx(values.fact("window.all.best_speedup").value, rel=0.1)


def test_timers_that_leave_nothing_out_are_the_same_ruler(scratch):
    scale(scratch, "sweep_verify_cost.csv", "block_sum_ms", 1.03 / 0.9)
    claim = Derivation(load.load(scratch)).claim("division.block_sum_misleads")
    assert claim.verdict == "unresolved" and claim.margin == pytest.approx(0, abs=1e-6)


def test_a_forward_without_timers_of_blocks_is_no_ruler(scratch):
    from tests.derive.edit import rewrite

    rewrite(scratch, "sweep_verify_cost.csv", lambda rows: [row | {"block_sum_ms": ""} for row in rows])
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.claim("division.block_sum_misleads").verdict == "missing"
    assert "column block_sum_ms is empty" in derivation.result("division.ruler.blocks.verify_ratio").fact.reason
    assert not derivation.result("division.ruler.clock.verify_ratio").fact.missing
