"""The division and its verdicts: what must hold whatever the figures are."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workflow.derive.ledger import acceptance, rulers, table
from workflow.derive.ledger.entry import Entry

ms = st.floats(0.05, 80)
share = st.floats(0, 1)


@given(decode=ms, p=share, draft=st.floats(0, 20), verify=ms)
def test_at_the_break_even_speculation_is_as_fast_as_decoding(decode, p, draft, verify):
    case = Entry("case", decode, 1 + p, draft, verify)
    assume(case.break_even_ms > 0.01 * decode)
    assert Entry("even", decode, 1 + p, draft, case.break_even_ms).speedup == pytest.approx(1, rel=1e-9)
    assert (case.speedup > 1) == (verify < case.break_even_ms) or case.speedup == pytest.approx(1, abs=1e-9)
    assert case.at(case.tau_needed) == pytest.approx(1, rel=1e-9)


@given(gamma=st.integers(1, 8), decode=ms, draft=st.floats(0.01, 20), extra=st.floats(1, 3), data=st.data())
def test_as_many_forwards_as_positions_never_pay(gamma, decode, draft, extra, data):
    tau = data.draw(st.floats(1, gamma + 1))
    case = Entry("case", decode, tau, draft, (gamma + 1) * decode * extra, gamma)
    assert case.verdict == "never pays" and case.speedup < 1 and case.forwards_bound < 1


@given(decode=ms, tau=st.floats(1, 4), draft=ms, verify=ms, other=st.floats(0, 30))
def test_time_outside_the_blocks_moves_no_break_even(decode, tau, draft, verify, other):
    bare, whole = Entry("a", decode, tau, draft, verify, 3), Entry("b", decode, tau, draft, verify, 3, other_ms=other)
    assert whole.break_even_ms == pytest.approx(bare.break_even_ms, abs=1e-9 * (decode + other) * tau)
    assert whole.tau_needed == pytest.approx(bare.tau_needed)


def test_before_a_kernel_exists_only_the_break_even_is_known():
    case = table.entry({"decode_ms": 10.0, "p": 0.5, "draft_ms": 1.0})
    assert case.verdict == "open" and case.speedup is None and case.gap_percent is None
    assert case.break_even_ms == pytest.approx(14) and case.forwards_bound == pytest.approx(20 / 21)


def test_mixed_rulers_can_turn_a_loss_into_a_win():
    mismatch = rulers.block_sum(8.0, 11.0, 1.65, 0.6, 2)
    assert mismatch.flips and mismatch.mixed > 1 > mismatch.same and mismatch.matters
    assert not rulers.block_sum(11.0, 11.0, 1.65, 0.6, 2).flips
    assert not rulers.two_decodes(10.0, 100.0).matters and rulers.two_decodes(10.0, 90.0).matters


@given(st.lists(st.tuples(st.integers(1, 60), share), min_size=2, max_size=40), st.integers(1, 4))
def test_intervals_of_an_acceptance_hold_it(pairs, gamma):
    rounds = [n for n, _ in pairs]
    accepted = [round(n * gamma * s) for n, s in pairs]
    found = acceptance.of_clusters(rounds, accepted, gamma)
    assert 0 <= found.by_steps[0] <= found.rate + 1e-9 and found.rate - 1e-9 <= found.by_steps[1] <= gamma
    assert (found.by_cluster is None) == (len(pairs) < acceptance.FEWEST_CLUSTERS)


def test_prompts_that_differ_widen_the_interval_by_cluster():
    alike = acceptance.of_clusters([50] * 12, [25] * 12, 1)
    apart = acceptance.of_clusters([50] * 12, [2, 48] * 6, 1)
    assert alike.rate == apart.rate and alike.by_steps == apart.by_steps
    assert alike.by_cluster[1] - alike.by_cluster[0] < 1e-12
    assert apart.by_cluster[1] - apart.by_cluster[0] > 0.2


@pytest.mark.parametrize(
    "figures, words",
    [
        ({"decode_ms": 10.0}, "one of p and tau"),
        ({"decode_ms": 10.0, "p": 0.5, "tau": 1.5}, "not both"),
        ({"p": 0.5}, "decode_tok_s or decode_ms"),
        ({"decode_ms": 10.0, "p": 1.5}, "above 1"),
        ({"decode_ms": 10.0, "p": 0.5, "gamma": 3}, "give tau"),
        ({"decode_ms": 10.0, "tau": 5.0, "gamma": 3}, "1 to 4 tokens"),
        ({"decode_ms": 0.0, "p": 0.5}, "above 0"),
        ({"decode_ms": float("nan"), "p": 0.5}, "above 0"),
        ({"decode_ms": 10.0, "p": 0.5, "verify_ms": 5.0, "verify_passes": 2.0}, "not both"),
        ({"decode_ms": 10.0, "tau": 1.5, "steps": 48}, "steps needs p"),
    ],
)
def test_a_case_that_cannot_be(figures, words):
    with pytest.raises(table.Incomplete, match=words):
        table.entry(figures)
