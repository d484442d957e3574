"""Draft picks, noise and renormalisation against their references."""

import pytest
import torch

from kernels.registry import load

CLOSE = dict(rtol=1e-4, atol=1e-6)
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def test_philox_is_bit_equal(both):
    seeds, positions = torch.tensor([0, -1, 2**62 + 12345, -(2**63)]), torch.tensor([0, 2**31 - 1, 77, 5])
    for n in (1, 7, 40):
        for stream in (0, 3):
            wanted, ours = both("philox_uniform")(seeds, positions, stream, n)
            assert torch.equal(wanted, ours)


@pytest.mark.parametrize("dtype", DTYPES)
def test_argmax_ties_and_nan(both, dtype):
    nan, inf = float("nan"), float("inf")
    rows = torch.tensor([[1.0, 3, 3, 2, 3], [nan, 0, 5, 5, 1], [nan] * 5, [-inf] * 5, [-inf, nan, -inf, -9, -9]]).to(dtype)
    wanted, ours = both("row_argmax")(rows)
    assert torch.equal(wanted, ours) and ours.tolist() == [1, 2, 0, 0, 3]


def test_argmax_across_tiles(rand, both):
    logits = rand(3, 2500)
    logits[1, [100, 1500, 2400]] = 99.0
    logits[2, :2048] = float("-inf")
    wanted, ours = both("row_argmax")(logits)
    assert torch.equal(wanted, ours) and ours[1] == 100


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("vocabulary", [5, 128, 300])
def test_markov_steps(rand, both, dtype, vocabulary):
    base, w1, w2 = rand(4, vocabulary, dtype=dtype), rand(vocabulary, 12, dtype=dtype), rand(vocabulary, 12, dtype=dtype)
    prev, heat = torch.tensor([0, vocabulary - 1, 2, 2]), torch.tensor([0.0, 1.0, 0.3, 2.0])
    seeds, positions = torch.tensor([1, 2, 3, 3]), torch.tensor([9, 9, 9, 10])
    greedy, ours = both("markov_greedy")(base, prev, w1, w2)
    assert torch.equal(greedy, ours)
    (ids, logits), (our_ids, our_logits) = both("markov_sample")(base, prev, w1, w2, heat, seeds, positions)
    assert torch.equal(ids, our_ids) and our_ids[0] == greedy[0]
    torch.testing.assert_close(our_logits, logits, rtol=1e-4, atol=1e-4)


def test_markov_step_takes_a_projection(rand):
    w2 = load("linear", "triton")(rand(20, 8))
    base, w1, prev = rand(2, 20), rand(20, 8), torch.tensor([3, 4])
    assert torch.equal(load("markov_greedy", "triton")(base, prev, w1, w2), load("markov_greedy", "reference")(base, prev, w1, w2.weight))


def test_markov_ties_take_the_lowest_id(both):
    zeros = torch.zeros(2, 130)
    wanted, ours = both("markov_greedy")(zeros, torch.tensor([5, 6]), torch.zeros(130, 4), torch.zeros(130, 4))
    assert wanted.tolist() == ours.tolist() == [0, 0]


def test_gumbel_draws_are_those_of_every_backend(rand):
    logits, heat = rand(40, 90), torch.linspace(0, 2, 40)
    seeds, positions = torch.arange(40) - 20, torch.arange(40) * 3
    draws = [load("gumbel_sample", backend)(logits, heat, seeds, positions, 3) for backend in ("reference", "cpu", "triton")]
    assert torch.equal(draws[0], draws[1]) and torch.equal(draws[0], draws[2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax(rand, both, dtype):
    logits, heat = (rand(2, 3, 70) * 8).to(dtype), torch.tensor([[1.0, 0.2, 0.0], [5.0, 1.0, 1e-6]])
    logits[0, 0, :40] = float("-inf")
    wanted, ours = both("softmax_temperature")(logits, heat)
    torch.testing.assert_close(ours, wanted, **CLOSE)


def test_softmax_over_several_tiles_of_which_the_first_is_ruled_out(rand, both):
    logits = rand(1, 4200)
    logits[0, :2100] = float("-inf")
    wanted, ours = both("softmax_temperature")(logits, torch.ones(1))
    torch.testing.assert_close(ours, wanted, **CLOSE)


def test_top_k(rand, both):
    tied = torch.tensor([[0.2, 0.3, 0.2, 0.1, 0.2]]).expand(6, 5).contiguous()
    wanted, ours = both("top_k_renorm")(tied, torch.tensor([1, 2, 3, 0, 5, -1]))
    torch.testing.assert_close(ours, wanted, **CLOSE)
    assert torch.equal(ours > 0, wanted > 0)
    rounded = torch.softmax(torch.round(rand(12, 100)), -1)
    wanted, ours = both("top_k_renorm")(rounded, torch.randint(-1, 101, (12,), generator=rand.generator))
    torch.testing.assert_close(ours, wanted, **CLOSE)
    assert torch.equal(ours > 0, wanted > 0)


def test_top_k_across_tiles(rand, both):
    probs = torch.softmax(torch.round(rand(1, 2100)), -1)
    wanted, ours = both("top_k_renorm")(probs, torch.tensor([1500]))
    assert torch.equal(ours > 0, wanted > 0)


def test_top_p(rand, both):
    dyadic = torch.tensor([[0.125, 0.5, 0.25, 0.125]]).expand(6, 4).contiguous()
    wanted, ours = both("top_p_renorm")(dyadic, torch.tensor([0.01, 0.5, 0.51, 0.75, 0.875, 1.0]))
    assert torch.equal(wanted, ours)
    probs = torch.softmax(2 * rand(12, 100), -1)
    wanted, ours = both("top_p_renorm")(probs, torch.linspace(0.05, 0.99, 12))
    torch.testing.assert_close(ours, wanted, **CLOSE)
    assert torch.equal(ours > 0, wanted > 0)


def test_top_k_then_top_p_keeps_zeros_at_zero(rand):
    probs = torch.softmax(rand(4, 50), -1)
    results = []
    for backend in ("reference", "triton"):
        cut = load("top_k_renorm", backend)(probs, torch.full((4,), 10))
        results.append(load("top_p_renorm", backend)(cut, torch.full((4,), 0.9)))
    torch.testing.assert_close(results[1], results[0], **CLOSE)
    assert ((results[1] > 0).sum(1) <= 10).all()
