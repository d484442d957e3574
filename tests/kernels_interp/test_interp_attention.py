"""Attention over paged keys and values, and the write into the pool, against their references."""

import pytest
import torch

from kernels.registry import load

CLOSE = dict(rtol=1e-4, atol=1e-5)
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture
def pool(rand):
    """24 scattered pages of 16 tokens, everything that no request owns filled with NaN."""

    def draw(dtype, lengths, dim=24):
        table = torch.randperm(24, generator=rand.generator).view(3, 8)
        k_cache, v_cache = rand(384, 2, dim), rand(384, 2, dim)
        seen = torch.zeros(384, dtype=torch.bool)
        for row, length in zip(table, lengths):
            seen[(row[:, None] * 16 + torch.arange(16)).flatten()[:length]] = True
        k_cache[~seen] = float("nan")
        v_cache[~seen] = float("nan")
        return k_cache.to(dtype), v_cache.to(dtype), table

    return draw


@pytest.mark.parametrize("dtype, window", [(dtype, 3) for dtype in DTYPES] + [(torch.float32, 1), (torch.float32, 8)])
def test_verify_and_decode(rand, both, pool, dtype, window):
    lengths = torch.tensor([0, 63, 100])
    k_cache, v_cache, table = pool(dtype, (lengths + window).tolist())
    q = rand(3, window, 4, 24)
    wanted, ours = both("verify_attention")(q, k_cache, v_cache, table, lengths, page_size=16, scale=0.2)
    torch.testing.assert_close(ours, wanted, **CLOSE)
    for t in range(window):
        single = load("decode_attention", "triton")(q[:, t], k_cache, v_cache, table, lengths + t + 1, page_size=16, scale=0.2)
        assert torch.equal(single, ours[:, t])
    alone = load("verify_attention", "triton")(q[1:2], k_cache, v_cache, table[1:2], lengths[1:2], page_size=16, scale=0.2)
    assert torch.equal(alone[0], ours[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start, tokens", [(0, 1), (0, 35), (32, 16), (48, 17)])
def test_prefill(rand, both, pool, dtype, start, tokens):
    k_cache, v_cache, table = pool(dtype, [start + tokens] * 3)
    q = rand(tokens, 4, 24)
    wanted, ours = both("prefill_attention")(q, k_cache, v_cache, table[0], start, page_size=16, scale=0.2)
    torch.testing.assert_close(ours, wanted, **CLOSE)


@pytest.mark.parametrize("block", [1, 3, 7, 15])
def test_draft_block(rand, both, pool, block):
    lengths = torch.tensor([0, 31, 80])
    k_cache, v_cache, table = pool(torch.bfloat16, lengths.tolist())
    q, k, v = rand(3, block, 4, 24), rand(3, block, 2, 24), rand(3, block, 2, 24)
    wanted, ours = both("block_attention")(q, k, v, k_cache, v_cache, table, lengths, page_size=16, scale=0.2)
    torch.testing.assert_close(ours, wanted, **CLOSE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kv_write(rand, dtype):
    k, v, slots = rand(4, 2, 5), rand(4, 2, 5), torch.tensor([7, -1, 0, 3])
    results = []
    for backend in ("reference", "triton"):
        k_cache, v_cache = torch.zeros(9, 2, 5, dtype=dtype), torch.zeros(9, 2, 5, dtype=dtype)
        load("kv_write", backend)(k, v, k_cache, v_cache, slots)
        results.append((k_cache, v_cache))
    # The interpreter cuts float32 to bfloat16 where devices round to nearest: one unit in the last place may differ.
    last_place = 2**-7 if dtype is torch.bfloat16 else 0.0
    torch.testing.assert_close(results[1], results[0], rtol=last_place, atol=0.0)
