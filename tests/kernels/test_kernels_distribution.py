"""Losslessness on a vocabulary small enough to enumerate: what is committed is distributed as the target alone.

Every rule runs on 300 000 seeded draws of a three-token context tree; the committed tokens, continued with the target
where a round ended early, must follow p(y1) p(y2 | y1) p(y3 | y1 y2). Pearson's chi-square over all 27 sequences.
"""

import pytest
import torch

from kernels.registry import load

DRAWS = 300_000
V = 3


def chi_square_p_value(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    """Upper tail of Pearson's statistic; cells of probability zero must be empty."""
    assert int(counts[probabilities == 0].sum()) == 0
    live = probabilities > 0
    expected = probabilities[live].double() * counts.sum()
    assert expected.min() > 5
    statistic = ((counts[live].double() - expected) ** 2 / expected).sum()
    freedom = torch.tensor((int(live.sum()) - 1) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom, statistic / 2))


@pytest.fixture(scope="module")
def world():
    """Target and draft as conditional tables; the target gives one token no mass in one context."""
    g = torch.Generator().manual_seed(7)

    def table(*shape):
        return torch.softmax(1.2 * torch.randn(*shape, V, generator=g), -1)

    p = [table(), table(V), table(V, V)]
    p[1][0] = torch.tensor([0.4, 0.0, 0.6])
    q = [table(), table(V)]
    q[1][2] = p[1][2]
    return p, q, g


def draw(probabilities: torch.Tensor, g: torch.Generator) -> torch.Tensor:
    return torch.multinomial(probabilities, 1, generator=g).squeeze(1)


def committed_histogram(world, accept) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Counts over all V^3 sequences, their exact probabilities, and the accepted counts."""
    p, q, g = world
    x1 = draw(q[0].expand(DRAWS, V), g)
    x2 = draw(q[1][x1], g)
    p_rows = torch.stack([p[0].expand(DRAWS, V), p[1][x1], p[2][x1, x2]], 1)
    q_rows = torch.stack([q[0].expand(DRAWS, V), q[1][x1]], 1)
    drafts = torch.stack([x1, x2], 1)
    u, u_final = torch.rand(DRAWS, 2, generator=g), torch.rand(DRAWS, generator=g)
    correct, bonus = accept(p_rows, q_rows, drafts, u, u_final)
    y1 = torch.where(correct >= 1, x1, bonus)
    y2 = torch.where(correct >= 2, x2, torch.where(correct == 1, bonus, draw(p[1][y1], g)))
    y3 = torch.where(correct == 2, bonus, draw(p[2][y1, y2], g))
    counts = torch.bincount((y1 * V + y2) * V + y3, minlength=V**3)
    exact = (p[0][:, None, None] * p[1][:, :, None] * p[2]).flatten()
    return counts, exact, correct


def test_chain_rule_is_lossless_and_accepts_as_often_as_theory_says(world):
    p, q, _ = world
    counts, exact, correct = committed_histogram(world, load("chain_accept", "cpu"))
    assert chi_square_p_value(counts, exact) > 1e-3
    first = float(torch.minimum(p[0], q[0]).sum())
    assert abs(float((correct >= 1).float().mean()) - first) < 4 * (first * (1 - first) / DRAWS) ** 0.5


def test_block_rule_is_lossless_and_not_shorter_than_the_chain(world):
    counts, exact, block = committed_histogram(world, load("block_accept", "cpu"))
    assert chi_square_p_value(counts, exact) > 1e-3
    _, _, chain = committed_histogram(world, load("chain_accept", "cpu"))
    assert block.float().mean() > chain.float().mean()


def test_one_hot_rule_is_lossless_whatever_proposed_the_drafts(world):
    rule = load("one_hot_accept", "cpu")
    counts, exact, _ = committed_histogram(world, lambda p, q, drafts, u, u_final: rule(p, drafts, u, u_final))
    assert chi_square_p_value(counts, exact) > 1e-3


def test_short_windows_are_lossless(world):
    """Windows cut by the length scheduler, at lengths that do not look at the drafts."""
    rule = load("chain_accept", "cpu")
    lens = torch.randint(1, 4, (DRAWS,), generator=torch.Generator().manual_seed(3))
    counts, exact, correct = committed_histogram(world, lambda *a: rule(*a, verify_lens=lens))
    assert (correct < lens).all()
    assert chi_square_p_value(counts, exact) > 1e-3


def test_the_test_sees_a_greedy_verdict_on_sampled_requests(world):
    """The defect the issue of distributions is about; also proof that the chi-square above can fail."""

    def greedy(p, q, drafts, u, u_final):
        return load("greedy_accept", "cpu")(drafts, p.argmax(-1))

    counts, exact, _ = committed_histogram(world, greedy)
    live = exact > 0
    assert chi_square_p_value(counts * live, exact) < 1e-12


def test_the_test_sees_a_residual_that_is_not_renormalised_against_q(world):
    """Sampling p instead of the residual after a rejection is the classic mistake; it is small and must be seen."""
    chain = load("chain_accept", "cpu")

    def careless(p, q, drafts, u, u_final):
        correct, bonus = chain(p, q, drafts, u, u_final)
        row = p[torch.arange(DRAWS), correct]
        return correct, torch.searchsorted(row.cumsum(1), u_final[:, None]).squeeze(1).clamp_max(V - 1)

    counts, exact, _ = committed_histogram(world, careless)
    assert chi_square_p_value(counts * (exact > 0), exact) < 1e-12


def test_coupled_rule_and_gumbel_sampling_follow_the_target(world):
    p, _, _ = world
    seeds, positions = torch.arange(DRAWS), torch.full((DRAWS,), 11)
    ids = load("gumbel_sample", "cpu")(p[0].log().expand(DRAWS, V).contiguous(), torch.ones(DRAWS), seeds, positions, 0)
    assert chi_square_p_value(torch.bincount(ids, minlength=V), p[0]) > 1e-3


def test_the_markov_step_draws_from_base_plus_bias_at_its_temperature():
    g = torch.Generator().manual_seed(2)
    base, w1, w2 = torch.randn(1, 8, generator=g), torch.randn(8, 4, generator=g), torch.randn(8, 4, generator=g)
    prev = torch.tensor([5])
    n = 200_000
    ids, logits = load("markov_sample", "cpu")(
        base.expand(n, 8).contiguous(), prev.expand(n).contiguous(), w1, w2, torch.full((n,), 0.7), torch.arange(n) * 7919, torch.zeros(n).long()
    )
    wanted = torch.softmax((base[0] + w2 @ w1[5]) / 0.7, -1)
    torch.testing.assert_close(torch.softmax(logits[0] / 0.7, -1), wanted, rtol=1e-4, atol=1e-6)
    assert chi_square_p_value(torch.bincount(ids, minlength=8), wanted) > 1e-3


def test_consecutive_positions_are_independent():
    """Pairs of draws of one request at neighbouring positions, over many seeds."""
    n = 200_000
    logits = torch.tensor([0.2, 0.3, 0.5]).log().expand(n, 3).contiguous()
    seeds = torch.arange(n)
    sample = load("gumbel_sample", "cpu")
    pair = [sample(logits, torch.ones(n), seeds, torch.full((n,), position), 0) for position in (4, 5)]
    marginal = torch.tensor([0.2, 0.3, 0.5])
    assert chi_square_p_value(torch.bincount(pair[0] * 3 + pair[1], minlength=9), torch.outer(marginal, marginal).flatten()) > 1e-3
