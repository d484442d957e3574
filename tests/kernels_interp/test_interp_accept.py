"""Acceptance rules and the verify window against their references, and against exact distributions."""

import pytest
import torch

from kernels.registry import load

V = 19


@pytest.fixture
def round_of(rand):
    """Targets, drafts and uniforms of 24 requests; short drafts, and NaN in every row that may not be read."""

    def draw(block, batch=24, vocabulary=V):
        g = rand.generator
        p = torch.softmax(2 * rand(batch, block + 1, vocabulary), -1)
        q = torch.softmax(0.7 * rand(batch, block, vocabulary) + p[:, :block].log(), -1)
        drafts = torch.multinomial(q.flatten(0, 1), 1, generator=g).view(batch, block)
        lens = torch.randint(1, block + 2, (batch,), generator=g)
        beyond = torch.arange(block + 1) >= lens[:, None]
        p[beyond] = float("nan")
        q[beyond[:, 1:]] = float("nan")
        drafts[::5, block // 2 :] = -1
        q[0] = p[0, :block]
        return p, q, drafts, torch.rand(batch, block, generator=g), torch.rand(batch, generator=g), lens

    return draw


@pytest.mark.parametrize("block", range(1, 8))
@pytest.mark.parametrize("op", ["chain_accept", "one_hot_accept", "block_accept"])
def test_rejection_rules(round_of, both, op, block):
    p, q, drafts, u, u_final, lens = round_of(block)
    arguments = (p, drafts, u, u_final) if op == "one_hot_accept" else (p, q, drafts, u, u_final)
    (correct, bonus), (our_correct, our_bonus) = both(op)(*arguments, verify_lens=lens)
    assert torch.equal(correct, our_correct) and torch.equal(bonus, our_bonus)
    assert correct.max() > 0
    every = torch.rand(24, block + 1, generator=torch.Generator().manual_seed(block))
    (_, bonus), (_, our_bonus) = both(op)(*arguments[:-1], every, verify_lens=lens)
    assert torch.equal(bonus, our_bonus)


@pytest.mark.parametrize("op", ["chain_accept", "one_hot_accept", "block_accept"])
def test_rows_over_several_tiles(rand, both, op):
    g = rand.generator
    p, q = torch.softmax(rand(4, 3, 4500), -1), torch.softmax(rand(4, 2, 4500), -1)
    p[0, 0], q[0, 0] = q[1, 0], q[1, 0]
    drafts, u, u_final = torch.randint(0, 4500, (4, 2), generator=g), torch.rand(4, 2, generator=g), torch.tensor([0.01, 0.5, 0.98, 0.7])
    arguments = (p, drafts, u, u_final) if op == "one_hot_accept" else (p, q, drafts, u, u_final)
    (correct, bonus), (our_correct, our_bonus) = both(op)(*arguments)
    assert torch.equal(correct, our_correct)
    assert torch.equal(bonus, our_bonus)


def test_chain_at_the_edges(both):
    """Zero residual, q = 0 at the draft, p = 0 at the draft, no draft, q not a number, u at one."""
    p = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]).expand(6, 2, 3).contiguous()
    p[5] = torch.tensor([[1.0, 0.0, 0.0], [1 / 3, 2 / 3, 0.0]])
    q = p[:, :1].clone()
    q[2, 0] = torch.tensor([0.0, 0.5, 0.5])
    q[4] = float("nan")
    drafts = torch.tensor([[1], [2], [2], [-1], [0], [0]])
    u = torch.tensor([[0.999999], [0.5], [1e-7], [0.5], [0.5], [0.5]])
    u_final = torch.tensor([0.3, 0.3, 0.9, 0.75, 0.75, 1.0])
    wanted, ours = both("chain_accept")(p, q, drafts, u, u_final)
    assert [x.tolist() for x in ours] == [x.tolist() for x in wanted] == [[1, 0, 0, 0, 0, 1], [2, 0, 0, 1, 1, 1]]


@pytest.mark.parametrize("block", range(1, 8))
def test_greedy(rand, both, block):
    g = rand.generator
    drafts, target = torch.randint(-1, 3, (20, block), generator=g), torch.randint(0, 3, (20, block + 1), generator=g)
    drafts[0] = target[0, :block]
    lens = torch.randint(1, block + 2, (20,), generator=g)
    for verify_lens in (None, lens):
        (correct, bonus), (our_correct, our_bonus) = both("greedy_accept")(drafts, target, verify_lens)
        assert torch.equal(correct, our_correct) and torch.equal(bonus, our_bonus)


def test_greedy_refuses_sampled_requests():
    with pytest.raises(ValueError, match="a sampled request needs chain_accept"):
        load("greedy_accept", "triton")(torch.zeros(1, 1).long(), torch.zeros(1, 2).long(), temperature=torch.ones(1))


def test_coupled(rand, both):
    logits, seeds, positions, heat = rand(12, 4, V), torch.arange(12), torch.arange(12) * 2 + 5, torch.linspace(0, 2, 12)
    picks = torch.stack([load("gumbel_sample", "triton")(logits[:, t], heat, seeds, positions + t, 0) for t in range(4)], 1)
    drafts = torch.where(torch.rand(12, 3, generator=rand.generator) < 0.6, picks[:, :3], 1)
    (correct, bonus), (our_correct, our_bonus) = both("coupled_accept")(logits, drafts, heat, seeds, positions)
    assert torch.equal(correct, our_correct) and torch.equal(bonus, our_bonus)
    assert torch.equal(our_bonus, picks.gather(1, our_correct[:, None])[:, 0])


def test_mixed(both):
    greedy = torch.tensor([True, False, True])
    columns = [torch.tensor([1, 2, 3]) * factor for factor in (1, 10, 100, 1000)]
    wanted, ours = both("accept_mixed")(greedy, *columns)
    assert [x.tolist() for x in ours] == [x.tolist() for x in wanted] == [[1, 200, 3], [10, 2000, 30]]


@pytest.mark.parametrize("block", [1, 3, 7, 15])
def test_verify_lens(rand, both, block):
    confidence = torch.rand(6, block, generator=rand.generator)
    confidence[1:3] = 0.5
    confidence[4] = 1.0
    confidence[5, -1] = 0.0
    for budget in (0, 6, 9, 30):
        wanted, ours = both("verify_lens")(confidence, budget)
        assert torch.equal(wanted, ours), budget
    wanted, ours = both("verify_lens")(confidence, 8, min_len=2, eps=0.3)
    assert torch.equal(wanted, ours)


@pytest.mark.parametrize("lens", [[1], [1, 4, 2, 3, 4, 1], [4, 4], [1, 1, 1]])
def test_verify_window(rand, both, lens):
    batch = len(lens)
    anchor, drafts = torch.arange(batch) + 100, torch.randint(0, 50, (batch, 3), generator=rand.generator)
    wanted, ours = both("verify_window_build")(anchor, drafts, torch.tensor(lens))
    for reference, mine in zip(wanted, ours):
        assert torch.equal(reference, mine)
    values = rand(sum(lens), 2, 5)
    wanted, ours = both("verify_window_scatter")(values, ours[1], ours[2], batch, 4, float("-inf"))
    assert torch.equal(wanted, ours)
