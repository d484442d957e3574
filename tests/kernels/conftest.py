"""Inputs for the operators: seeded, with the scratch of in-place tests filled with NaN."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Bits are compared under the thread count the engine runs with; tests that vary it say so."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def rand():
    """`rand(*shape)` standard normal float32, from one seeded generator a test."""
    generator = torch.Generator().manual_seed(1234)

    def draw(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype)

    draw.generator = generator
    return draw


@pytest.fixture
def kda(rand):
    """`kda(*lead, heads=4, keys=64, values=64)` -> q, k, v, g, beta as a KDA layer produces them."""

    def draw(*lead, heads=4, keys=64, values=64, floor=-3.0):
        def unit(x):
            return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)

        q = unit(rand(*lead, heads, keys))
        k = unit(rand(*lead, heads, keys))
        v = rand(*lead, heads, values)
        g = floor * torch.sigmoid(3 * rand(*lead, heads, keys))
        beta = torch.sigmoid(rand(*lead, heads))
        return q, k, v, g, beta

    return draw
