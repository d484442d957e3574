"""KDA, its gates, its convolution and the commit: values against the references."""

import pytest
import torch

from kernels.registry import load

SCALE = 64**-0.5
CLOSE = dict(rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("batch, window", [(1, 1), (1, 4), (3, 8), (2, 16)])
def test_verify_matches_the_recurrence(kda, rand, batch, window):
    q, k, v, g, beta = kda(batch, window)
    pool = rand(batch + 3, 4, 64, 64)
    slots = torch.arange(batch + 3)[torch.randperm(batch + 3, generator=rand.generator)][:batch]
    o, snapshots = load("kda_verify", "cpu")(q, k, v, g, beta, pool, scale=SCALE, slots=slots)
    wanted_o, wanted_snapshots = load("kda_verify", "reference")(q, k, v, g, beta, pool, scale=SCALE, slots=slots)
    torch.testing.assert_close(o, wanted_o, **CLOSE)
    torch.testing.assert_close(snapshots, wanted_snapshots, **CLOSE)


def test_verify_reads_the_pool_only_and_fills_nan_scratch(kda, rand):
    q, k, v, g, beta = kda(2, 4)
    pool = rand(5, 4, 64, 64)
    before = pool.clone()
    scratch = torch.full((4, 2, 4, 64, 64), float("nan"))
    for backend in ("reference", "cpu"):
        _, snapshots = load("kda_verify", backend)(
            q, k, v, g, beta, pool, scale=SCALE, slots=torch.tensor([4, 1]), snapshots=scratch.fill_(float("nan"))
        )
        assert snapshots is scratch and torch.isfinite(scratch).all()
        assert torch.equal(pool, before)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_decode_writes_exactly_its_slots(kda, rand, backend):
    q, k, v, g, beta = kda(2)
    pool = rand(5, 4, 64, 64)
    before = pool.clone()
    o, after = load("kda_decode", backend)(q, k, v, g, beta, pool, scale=SCALE, slots=torch.tensor([4, 1]))
    assert torch.equal(pool[[4, 1]], after) and torch.equal(pool[[0, 2, 3]], before[[0, 2, 3]])
    wanted, state = load("kda_decode", "reference")(q, k, v, g, beta, before[[4, 1]], scale=SCALE)
    torch.testing.assert_close(o, wanted, **CLOSE)
    torch.testing.assert_close(after, state, **CLOSE)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_decode_in_place_and_into_scratch(kda, rand, backend):
    q, k, v, g, beta = kda(2)
    state = rand(2, 4, 64, 64)
    decode = load("kda_decode", backend)
    o, fresh = decode(q, k, v, g, beta, state, scale=SCALE)
    scratch = torch.full_like(state, float("nan"))
    o2, into = decode(q, k, v, g, beta, state, scale=SCALE, out_state=scratch)
    assert into is scratch and torch.equal(o, o2) and torch.equal(scratch, fresh)
    o3, same = decode(q, k, v, g, beta, state, scale=SCALE, out_state=state)
    assert same is state and torch.equal(o, o3) and torch.equal(state, fresh)


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 70])
@pytest.mark.parametrize("floor", [-0.01, -3.0, -5.0])
def test_chunked_prefill_matches_the_recurrence(kda, rand, tokens, floor):
    q, k, v, g, beta = kda(2, tokens, floor=floor)
    state = rand(2, 4, 64, 64)
    o, after = load("kda_prefill", "cpu")(q, k, v, g, beta, state, scale=SCALE)
    wanted_o, wanted = load("kda_prefill", "reference")(q, k, v, g, beta, state, scale=SCALE)
    torch.testing.assert_close(o, wanted_o, rtol=1e-3, atol=5e-6)
    torch.testing.assert_close(after, wanted, rtol=1e-3, atol=5e-6)


def test_chunked_prefill_of_one_repeated_token_stays_finite_and_equal(kda, rand):
    """Identical keys make the triangular system as badly conditioned as text can make it."""
    q, k, v, g, beta = kda(1, 1)
    repeated = [x.expand(1, 64, *x.shape[2:]).contiguous() for x in (q, k, v, 0 * g, torch.ones_like(beta))]
    state = rand(1, 4, 64, 64)
    o, after = load("kda_prefill", "cpu")(*repeated, state, scale=SCALE)
    wanted_o, wanted = load("kda_prefill", "reference")(*repeated, state, scale=SCALE)
    torch.testing.assert_close(o, wanted_o, rtol=1e-3, atol=2e-5)
    torch.testing.assert_close(after, wanted, rtol=1e-3, atol=2e-5)


def test_prefill_that_decays_beyond_float32_is_refused(kda, rand):
    q, k, v, g, beta = kda(1, 16)
    with pytest.raises(ValueError, match=r"g \[1, 16, 4, 64\] decays a channel by more than exp\(-160\) within one chunk of 16"):
        load("kda_prefill", "cpu")(q, k, v, torch.full_like(g, -20.0), beta, rand(1, 4, 64, 64), scale=SCALE)


def test_prefill_of_no_tokens_changes_nothing(kda, rand):
    q, k, v, g, beta = kda(1, 0)
    state = rand(1, 4, 64, 64)
    for backend in ("reference", "cpu"):
        o, after = load("kda_prefill", backend)(q, k, v, g, beta, state, scale=SCALE)
        assert o.shape == (1, 0, 4, 64) and torch.equal(after, state) and after is not state


def test_zero_query_gives_zero_output(kda, rand):
    q, k, v, g, beta = kda(1, 4)
    for backend in ("reference", "cpu"):
        o, _ = load("kda_verify", backend)(torch.zeros_like(q), k, v, g, beta, rand(1, 4, 64, 64), scale=SCALE)
        assert o.abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gates_match_the_reference(rand, dtype):
    f, b, a_log, dt_bias = rand(3, 2, 256, dtype=dtype), rand(3, 2, 4, dtype=dtype), rand(4), rand(256)
    g, beta = load("kda_gate", "cpu")(f, b, a_log, dt_bias, -3.0)
    wanted_g, wanted_beta = load("kda_gate", "reference")(f, b, a_log, dt_bias, -3.0)
    torch.testing.assert_close(g, wanted_g, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(beta, wanted_beta)
    assert g.shape == (3, 2, 4, 64) and g.max() <= 0 and g.min() >= -3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("batch, window", [(1, 1), (3, 5)])
def test_window_convolution_matches_the_reference(rand, dtype, batch, window):
    x, weight, pool = rand(batch, window, 96, dtype=dtype), rand(4, 96), rand(7, 3, 96, dtype=dtype)
    slots = torch.tensor([5, 0, 3])[:batch]
    y, windows = load("short_conv_window", "cpu")(x, weight, pool, slots)
    wanted_y, wanted_windows = load("short_conv_window", "reference")(x, weight, pool, slots)
    torch.testing.assert_close(y, wanted_y, rtol=1e-5, atol=1e-5)
    assert torch.equal(windows, wanted_windows)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_window_convolution_into_shared_scratch(rand, backend):
    """Windows of two layers as views of one tensor, so that one commit serves both."""
    conv, commit = load("short_conv_window", backend), load("state_commit", "cpu")
    x, weight, pool = rand(2, 3, 4, 96), rand(4, 96), rand(2, 5, 3, 96)
    slots, scratch = torch.tensor([4, 1, 2]), torch.full((2, 3, 7, 96), float("nan"))
    wanted = [conv(x[layer], weight, pool[layer], slots) for layer in range(2)]
    for layer in range(2):
        y, windows = conv(x[layer], weight, pool[layer], slots, buffer=scratch[layer])
        assert torch.equal(y, wanted[layer][0]) and torch.equal(windows, wanted[layer][1])
    together = scratch.as_strided((2, 4, 3, 3, 96), (3 * 7 * 96, 96, 7 * 96, 96, 1), 96)
    commit(pool, together, slots, torch.tensor([0, 3, -1]))
    assert torch.equal(pool[1, 4], wanted[1][1][0, 0]) and torch.equal(pool[0, 1], wanted[0][1][3, 1])


@pytest.mark.parametrize("tokens", [1, 2, 3, 20])
def test_prefill_convolution_matches_and_hands_on_its_state(rand, tokens):
    x, weight, state = rand(tokens, 96, dtype=torch.bfloat16), rand(4, 96), rand(3, 96, dtype=torch.bfloat16)
    wanted_y, wanted_state = load("short_conv_prefill", "reference")(x, weight, state)
    y, after = load("short_conv_prefill", "cpu")(x, weight, state)
    torch.testing.assert_close(y, wanted_y, rtol=1e-5, atol=1e-5)
    assert torch.equal(after, wanted_state) and torch.equal(after[-1], x[-1])
    window_y, windows = load("short_conv_window", "reference")(x[None], weight, state[None])
    torch.testing.assert_close(wanted_y, window_y[0])
    assert torch.equal(windows[-1, 0], wanted_state)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_commit_takes_the_accepted_step_and_skips_the_rest(rand, backend):
    pool, snapshots = rand(2, 6, 3, 4), rand(2, 5, 4, 3, 4)
    before = pool.clone()
    slots, steps = torch.tensor([4, 0, 2, 5]), torch.tensor([3, -1, 0, 5])
    load("state_commit", backend)(pool, snapshots, slots, steps)
    assert torch.equal(pool[:, 4], snapshots[:, 3, 0])
    assert torch.equal(pool[:, 2], snapshots[:, 0, 2])
    untouched = [0, 1, 3, 5]
    assert torch.equal(pool[:, untouched], before[:, untouched])


def test_committing_convolution_windows_continues_the_sequence(rand):
    """Accepting c drafts and going on must equal having fed those tokens one by one."""
    x, weight = rand(1, 9, 96), rand(4, 96)
    conv, commit = load("short_conv_window", "cpu"), load("state_commit", "cpu")
    pool = torch.zeros(1, 2, 3, 96)
    whole, _ = conv(x, weight, torch.zeros(1, 3, 96))
    _, windows = conv(x[:, :5], weight, pool[0], torch.tensor([1]))
    commit(pool, windows.unsqueeze(0), torch.tensor([1]), torch.tensor([2]))
    y, _ = conv(x[:, 3:9], weight, pool[0], torch.tensor([1]))
    assert torch.equal(y[0], whole[0, 3:9])
