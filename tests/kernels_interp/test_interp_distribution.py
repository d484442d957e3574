"""The law of what the acceptance kernels commit, on a vocabulary small enough to enumerate.

One program serves one request and takes milliseconds in the interpreter, so the kernel is not run once a draw. It is a
deterministic function of (drafts, u, u_final) that is constant on boxes of the uniforms, whose edges follow from p and q
by the paper's formulas. The kernel is asked at random points of every box. Weighted by the boxes' volumes its answers
give the exact law; and 200 000 seeded draws, each answered by the box it falls into, give a chi-square.
"""

from itertools import product

import pytest
import torch

from kernels.registry import load

V = 3
DRAWS = 200_000
PROBES = 3


@pytest.fixture(scope="module")
def world():
    """Conditional tables p(y1), p(y2|y1), p(y3|y1,y2), q(x1), q(x2|x1); a zero in p, a context where p = q."""
    g = torch.Generator().manual_seed(7)

    def table(*shape):
        return torch.softmax(1.2 * torch.randn(*shape, V, generator=g), -1)

    p = [table(), table(V), table(V, V)]
    p[1][0] = torch.tensor([0.4, 0.0, 0.6])
    q = [table(), table(V)]
    q[1][2] = p[1][2]
    return p, q


def jumps(row: torch.Tensor) -> list[float]:
    """Where the inverse CDF of an (unnormalised) row jumps, from 0 to 1."""
    inner = (row.double().cumsum(0) / row.double().sum()).tolist() if float(row.sum()) > 1e-7 else []
    return sorted({0.0, 1.0} | {round(c, 9) for c in inner if 1e-7 < c < 1 - 1e-7})


def regions(first: float, second: float, rows: tuple[torch.Tensor, torch.Tensor, torch.Tensor]):
    """Boxes (u1, u2, u_final) of a chain: x1 passes if u1 < first, x2 if u2 < second; rows[c] decides after c drafts."""
    verdicts = [((first, 1.0), (0.0, 1.0)), ((0.0, first), (second, 1.0)), ((0.0, first), (0.0, second))]
    for (side1, side2), row in zip(verdicts, rows):
        at = jumps(row)
        for side3 in zip(at, at[1:]):
            yield side1, side2, side3


def chain_regions(p, q, x1, x2):
    p1, p2, p3, q1, q2 = p[0], p[1][x1], p[2][x1, x2], q[0], q[1][x1]
    left1, left2 = (p1 - q1).clamp_min(0), (p2 - q2).clamp_min(0)
    return regions(min(float(p1[x1] / q1[x1]), 1.0), min(float(p2[x2] / q2[x2]), 1.0), (left1, left2, p3))


def one_hot_regions(p, q, x1, x2):
    without1, without2 = p[0].clone(), p[1][x1].clone()
    without1[x1] = 0
    without2[x2] = 0
    return regions(float(p[0][x1]), float(p[1][x1][x2]), (without1, without2, p[2][x1, x2]))


def block_regions(p, q, x1, x2):
    """The longest prefix whose own u passes wins, so the second uniform is asked first."""
    p1, p2, p3, q1, q2 = p[0], p[1][x1], p[2][x1, x2], q[0], q[1][x1]
    r1 = min(float(p1[x1] / q1[x1]), 1.0)
    r2 = min(r1 * float(p2[x2] / q2[x2]), 1.0)
    behind = (r1 * p2 - q2).clamp_min(0)
    mass = float(behind.sum())
    h1 = mass / (mass + 1 - r1) if mass > 1e-7 else 0.0
    for side2, side1, row in (((0.0, r2), (0.0, 1.0), p3), ((r2, 1.0), (0.0, h1), behind), ((r2, 1.0), (h1, 1.0), (p1 - q1).clamp_min(0))):
        at = jumps(row)
        for side3 in zip(at, at[1:]):
            yield side1, side2, side3


REGIONS = {"chain_accept": chain_regions, "one_hot_accept": one_hot_regions, "block_accept": block_regions}


@pytest.fixture(scope="module", params=list(REGIONS))
def boxes(request, world):
    """Boxes of all drafts with the kernel's answers: drafts [N, 2], low and high [N, 3], correct and bonus [N]."""
    op = request.param
    p, q = world
    drafts, low, high = [], [], []
    for x1, x2 in product(range(V), repeat=2):
        for corner in REGIONS[op](p, q, x1, x2):
            if all(side[1] - side[0] > 1e-7 for side in corner):
                drafts.append((x1, x2))
                low.append([side[0] for side in corner])
                high.append([side[1] for side in corner])
    drafts, low, high = torch.tensor(drafts), torch.tensor(low, dtype=torch.float64), torch.tensor(high, dtype=torch.float64)
    x1, x2 = drafts.unbind(1)
    n = len(drafts)
    p_rows = torch.stack([p[0].expand(n, V), p[1][x1], p[2][x1, x2]], 1)
    q_rows = torch.stack([q[0].expand(n, V), q[1][x1]], 1)
    g = torch.Generator().manual_seed(11)
    answers = []
    for _ in range(PROBES):
        inside = torch.rand(n, 3, generator=g, dtype=torch.float64) * 0.98 + 0.01
        at = (low + (high - low) * inside).float()
        uniforms = (at[:, :2].contiguous(), at[:, 2].contiguous())
        arguments = (p_rows, drafts, *uniforms) if op == "one_hot_accept" else (p_rows, q_rows, drafts, *uniforms)
        answers.append(load(op, "triton")(*arguments))
    for correct, bonus in answers[1:]:
        assert torch.equal(correct, answers[0][0]) and torch.equal(bonus, answers[0][1]), "not constant on a box"
    return drafts, low, high, *answers[0]


def continue_with_target(p, drafts, correct, bonus):
    """Law of the three tokens of each box [N, V, V, V]: committed tokens fixed, the rest drawn from the target."""
    laws = torch.zeros(len(drafts), V, V, V, dtype=torch.float64)
    for i, ((x1, x2), c, token) in enumerate(zip(drafts.tolist(), correct.tolist(), bonus.tolist())):
        if c == 0:
            laws[i, token] = (p[1][token][:, None] * p[2][token]).double()
        elif c == 1:
            laws[i, x1, token] = p[2][x1, token].double()
        else:
            laws[i, x1, x2, token] = 1.0
    return laws


def chi_square_p_value(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    live = probabilities > 0
    assert int(counts[~live].sum()) == 0
    expected = probabilities[live].double() * counts.sum()
    statistic = ((counts[live].double() - expected) ** 2 / expected).sum()
    return float(torch.special.gammaincc(torch.tensor((int(live.sum()) - 1) / 2, dtype=torch.float64), statistic / 2))


def test_kernels_commit_the_targets_law(world, boxes):
    p, q = world
    drafts, low, high, correct, bonus = boxes
    x1, x2 = drafts.unbind(1)
    volume = (high - low).prod(1)
    assert float(volume.sum()) == pytest.approx(V * V, abs=1e-6)
    weight = volume * (q[0][x1] * q[1][x1, x2]).double()
    law = (continue_with_target(p, drafts, correct, bonus) * weight[:, None, None, None]).sum(0)
    target = (p[0][:, None, None] * p[1][:, :, None] * p[2]).double()
    torch.testing.assert_close(law, target, rtol=0, atol=2e-6)
    assert 0.1 < float((weight * correct).sum()) < 1.9


def test_two_hundred_thousand_draws(world, boxes):
    p, q = world
    drafts, low, high, correct, bonus = boxes
    g = torch.Generator().manual_seed(13)
    x1 = torch.multinomial(q[0], DRAWS, replacement=True, generator=g)
    x2 = torch.multinomial(q[1][x1], 1, generator=g).squeeze(1)
    u = torch.rand(DRAWS, 3, generator=g, dtype=torch.float64)
    box = torch.full((DRAWS,), -1)
    for pair in drafts.unique(dim=0):
        mine = ((x1 == pair[0]) & (x2 == pair[1])).nonzero().squeeze(1)
        for i in (drafts == pair).all(1).nonzero().squeeze(1).tolist():
            inside = ((u[mine] >= low[i]) & (u[mine] < high[i])).all(1)
            box[mine[inside]] = i
    kept = box >= 0
    assert int((~kept).sum()) <= 2
    box, x1, x2 = box[kept], x1[kept], x2[kept]

    def draw(rows):
        return torch.multinomial(rows, 1, generator=g).squeeze(1)

    c, token = correct[box], bonus[box]
    y1 = torch.where(c >= 1, x1, token)
    y2 = torch.where(c >= 2, x2, torch.where(c == 1, token, draw(p[1][y1])))
    y3 = torch.where(c == 2, token, draw(p[2][y1, y2]))
    counts = torch.bincount((y1 * V + y2) * V + y3, minlength=V**3)
    target = (p[0][:, None, None] * p[1][:, :, None] * p[2]).flatten()
    assert chi_square_p_value(counts, target) > 1e-3
