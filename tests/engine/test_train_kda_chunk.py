"""The chunked gated delta rule against its serial recurrence: values and gradients."""

import pytest
import torch

from engine.train.kda_chunk import UnitLowerInverse, kda_chunk, kda_serial
from engine.train.model import l2norm

NAMES = ("q", "k", "v", "g", "beta")


def inputs(case: str, length: int = 70) -> list[torch.Tensor]:
    torch.manual_seed(3)
    count, width = 3, 64
    q, k = l2norm(torch.randn(count, length, width)), l2norm(torch.randn(count, length, width))
    v = torch.randn(count, length, width)
    g = -3 * torch.rand(count, length, width)
    beta = torch.rand(count, length)
    if case == "one repeated token":
        k = k[:, :1].expand_as(k).clone()
        g = g * 1e-3
        beta = torch.full_like(beta, 0.999)
    elif case == "decay at the floor":
        g = torch.full_like(g, -3.0)
    elif case == "mixed channels":
        g[..., ::2] = -3.0
        g[..., 1::2] = -1e-4
    return [x.requires_grad_() for x in (q, k, v, g, beta)]


@pytest.mark.parametrize(
    "case", ["random", "one repeated token", "decay at the floor", "mixed channels"]
)
def test_value_and_gradient_equal_the_recurrence(case):
    tensors = inputs(case)
    weights = torch.randn(3, 70, 64)

    def run(function):
        out, state = function(*tensors)
        grads = torch.autograd.grad((out * weights).sum() + state.square().sum(), tensors)
        return out, state, grads

    out, state, grads = run(kda_serial)
    chunk_out, chunk_state, chunk_grads = run(kda_chunk)
    torch.testing.assert_close(chunk_out, out, atol=3e-5, rtol=1e-4)
    torch.testing.assert_close(chunk_state, state, atol=3e-5, rtol=1e-4)
    for name, wanted, found in zip(NAMES, grads, chunk_grads, strict=True):
        assert torch.isfinite(found).all(), name
        scale = float(wanted.abs().max())
        assert float((wanted - found).abs().max()) <= 2e-4 * scale, name


@pytest.mark.parametrize("cut", [1, 16, 33])
def test_state_carries_over_a_cut(cut):
    tensors = [x.detach() for x in inputs("random")]
    whole, state = kda_chunk(*tensors)
    head, middle = kda_chunk(*(x[:, :cut] for x in tensors))
    tail, end = kda_chunk(*(x[:, cut:] for x in tensors), state=middle)
    torch.testing.assert_close(torch.cat([head, tail], 1), whole, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(end, state, atol=2e-5, rtol=1e-4)


def test_inverse_and_its_gradient():
    torch.manual_seed(0)
    lower = torch.randn(2, 8, 8, dtype=torch.double).tril(-1).requires_grad_()
    inverse = UnitLowerInverse.apply(lower)
    eye = torch.eye(8, dtype=torch.double)
    torch.testing.assert_close(inverse @ (eye + lower), eye.expand(2, 8, 8))
    assert torch.autograd.gradcheck(lambda x: UnitLowerInverse.apply(x.tril(-1)), lower)
