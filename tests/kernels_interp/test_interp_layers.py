"""Norms, linears, convolution, KDA and commit against their references."""

import pytest
import torch

from kernels.registry import load

CLOSE = dict(rtol=1e-4, atol=1e-5)
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def tolerance(dtype):
    return CLOSE if dtype is torch.float32 else dict(rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 48, 64])
def test_row_operators(rand, both, dtype, dim):
    x, gate, weight = rand(3, 2, dim, dtype=dtype), rand(3, 2, dim, dtype=dtype), rand(dim)
    torch.testing.assert_close(*both("rms_norm")(x, weight), **tolerance(dtype))
    torch.testing.assert_close(*both("rms_norm")(x, weight, out_dtype=torch.float32), **CLOSE)
    torch.testing.assert_close(*both("rms_norm_gated")(x, gate, weight), **tolerance(dtype))
    torch.testing.assert_close(*both("l2_norm")(x.float()), **CLOSE)
    torch.testing.assert_close(*both("silu_mul")(torch.cat([x, gate], -1)), **tolerance(dtype))


def test_rows_of_zeros_stay_finite(both):
    zeros = torch.zeros(2, 16)
    for reference, ours in (both("rms_norm")(zeros, torch.ones(16)), both("l2_norm")(zeros)):
        assert torch.equal(reference, ours)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 5, 17])
def test_linear_and_its_row_invariance(rand, dtype, rows):
    weight, x = rand(70, 96, dtype=dtype), rand(rows, 96, dtype=dtype)
    project = load("linear", "triton")(weight)
    y = project(x)
    torch.testing.assert_close(y.float(), load("linear", "reference")(weight)(x).float(), rtol=1e-2, atol=1e-4 if dtype is torch.float32 else 5e-2)
    for row in (0, rows - 1):
        assert torch.equal(project(x[row : row + 1])[0], y[row])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [1, 2, 3, 9])
def test_prefill_convolution(rand, both, dtype, tokens):
    x, weight, state = rand(tokens, 40, dtype=dtype), rand(4, 40), rand(3, 40, dtype=dtype)
    (y, after), (our_y, our_after) = both("short_conv_prefill")(x, weight, state)
    torch.testing.assert_close(our_y, y, **CLOSE)
    assert torch.equal(our_after, after)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", range(1, 9))
def test_window_convolution(rand, both, dtype, window):
    x, weight, pool = rand(2, window, 40, dtype=dtype), rand(4, 40), rand(5, 3, 40, dtype=dtype)
    slots = torch.tensor([4, 1])
    (y, states), (our_y, our_states) = both("short_conv_window")(x, weight, pool, slots)
    torch.testing.assert_close(our_y, y, **CLOSE)
    assert torch.equal(our_states, states)
    torch.testing.assert_close(load("short_conv_window", "triton")(x, weight, pool[slots])[0], y, **CLOSE)
    scratch = torch.full((2, window + 3, 40), float("nan"), dtype=dtype)
    _, views = load("short_conv_window", "triton")(x, weight, pool, slots, buffer=scratch)
    assert torch.equal(views, states) and views.data_ptr() == scratch[:, 1:].data_ptr()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gates(rand, both, dtype):
    f, b, a_log, dt_bias = 5 * rand(3, 2, 48, dtype=dtype), rand(3, 2, 3, dtype=dtype), rand(3), rand(48)
    for reference, ours in zip(*both("kda_gate")(f, b, a_log, dt_bias, -3.0)):
        torch.testing.assert_close(ours, reference, **CLOSE)


def kda(rand, *lead, heads=2, keys=16, values=40, floor=-3.0):
    """q, k, v, g, beta; the value size is no power of two and spans two tiles."""
    def unit(x):
        return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)

    return (
        unit(rand(*lead, heads, keys)),
        unit(rand(*lead, heads, keys)),
        rand(*lead, heads, values),
        floor * torch.sigmoid(3 * rand(*lead, heads, keys)),
        torch.sigmoid(rand(*lead, heads)),
    )


@pytest.mark.parametrize("window", range(1, 9))
def test_kda_window(rand, both, window):
    inputs, pool, slots = kda(rand, 2, window), rand(5, 2, 16, 40), torch.tensor([3, 0])
    scratch = torch.full((window, 2, 2, 16, 40), float("nan"))
    (o, states), (our_o, our_states) = both("kda_verify")(*inputs, pool, scale=0.25, slots=slots)
    torch.testing.assert_close(our_o, o, **CLOSE)
    torch.testing.assert_close(our_states, states, **CLOSE)
    again_o, again = load("kda_verify", "triton")(*inputs, pool[slots], scale=0.25, snapshots=scratch)
    assert again is scratch and torch.equal(again, our_states) and torch.equal(again_o, our_o)


def test_kda_window_equals_decode_steps_and_ignores_the_batch(rand):
    verify, decode = load("kda_verify", "triton"), load("kda_decode", "triton")
    inputs, pool = kda(rand, 3, 5), rand(4, 2, 16, 40)
    slots = torch.tensor([2, 0, 3])
    o, states = verify(*inputs, pool, scale=0.25, slots=slots)
    walking, untouched = pool.clone(), pool[1].clone()
    for t in range(5):
        step, after = decode(*(x[:, t] for x in inputs), walking, scale=0.25, slots=slots)
        assert torch.equal(step, o[:, t]) and torch.equal(after, states[t]) and torch.equal(walking[slots], states[t])
    assert torch.equal(walking[1], untouched)
    for request in range(3):
        alone, _ = verify(*(x[request : request + 1, :3] for x in inputs), pool, scale=0.25, slots=slots[request : request + 1])
        assert torch.equal(alone[0], o[request, :3])


def test_kda_decode_into_scratch_and_zero_query(rand, both):
    q, *rest = kda(rand, 2)
    state = rand(2, 2, 16, 40)
    scratch = torch.full_like(state, float("nan"))
    (o, after), (our_o, our_after) = both("kda_decode")(torch.zeros_like(q), *rest, state, scale=0.25)
    assert our_o.abs().max() == 0 and o.abs().max() == 0
    torch.testing.assert_close(our_after, after, **CLOSE)
    _, into = load("kda_decode", "triton")(q, *rest, state, scale=0.25, out_state=scratch)
    assert into is scratch and torch.equal(scratch, our_after)
    _, same = load("kda_decode", "triton")(q, *rest, state, scale=0.25, out_state=state)
    assert same is state and torch.equal(state, scratch)


@pytest.mark.parametrize("tokens", [0, 1, 15, 16, 17, 40])
@pytest.mark.parametrize("floor", [-0.01, -5.0])
def test_kda_prefill(rand, both, tokens, floor):
    inputs, state = kda(rand, 2, tokens, floor=floor), rand(2, 2, 16, 40)
    for reference, ours in zip(*both("kda_prefill")(*inputs, state, scale=0.25)):
        torch.testing.assert_close(ours, reference.view_as(ours), rtol=1e-3, atol=1e-5)


def test_kda_prefill_cut_at_a_chunk_and_of_repeated_tokens(rand):
    prefill = load("kda_prefill", "triton")
    inputs, state = kda(rand, 1, 40), rand(1, 2, 16, 40)
    whole, end = prefill(*inputs, state, scale=0.25)
    head, middle = prefill(*(x[:, :16] for x in inputs), state, scale=0.25)
    tail, last = prefill(*(x[:, 16:] for x in inputs), middle, scale=0.25)
    assert torch.equal(torch.cat([head, tail], 1), whole) and torch.equal(last, end)
    q, k, v, g, beta = (x[:, :1].expand(1, 48, *x.shape[2:]).contiguous() for x in inputs)
    repeated = (q, k, v, 0 * g, torch.ones_like(beta))
    for reference, ours in zip(load("kda_prefill", "reference")(*repeated, state, scale=0.25), prefill(*repeated, state, scale=0.25)):
        torch.testing.assert_close(ours, reference, rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("inner", [(3, 5), (2, 16, 40)])
def test_state_commit(rand, inner):
    pool, snapshots = rand(2, 6, *inner), rand(2, 5, 4, *inner)
    wanted, ours = pool.clone(), pool.clone()
    slots, steps = torch.tensor([4, 0, 2, 5]), torch.tensor([3, -1, 0, 5])
    load("state_commit", "reference")(wanted, snapshots, slots, steps)
    load("state_commit", "triton")(ours, snapshots, slots, steps)
    assert torch.equal(ours, wanted) and not torch.equal(ours, pool)


def test_state_commit_takes_strided_windows(rand):
    """Convolution windows come as overlapping views on the CPU path; the commit must not care."""
    history = rand(1, 4, 2 + 3, 6)
    windows = history.as_strided((1, 2, 4, 3, 6), (120, 6, 30, 6, 1))
    wanted, ours = torch.zeros(1, 5, 3, 6), torch.zeros(1, 5, 3, 6)
    for op, pool in (("reference", wanted), ("triton", ours)):
        load("state_commit", op)(pool, windows, torch.tensor([1, 2, 3, 4]), torch.tensor([0, 1, 1, 0]))
    assert torch.equal(ours, wanted)
