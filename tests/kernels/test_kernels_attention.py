"""Attention over paged keys and values: values against the references."""

import pytest
import torch

from kernels.registry import load

SCALE = 64**-0.5
CLOSE = dict(rtol=1e-4, atol=2e-6)


@pytest.fixture
def pool(rand):
    """A pool of 60 pages of 16 tokens, tables of scattered and of consecutive pages, ragged lengths."""
    table = torch.randperm(60, generator=rand.generator).view(3, 20)
    table[1] = torch.arange(20)
    return rand(960, 2, 64), rand(960, 2, 64), table, torch.tensor([0, 77, 200])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_decode_and_verify_match_the_reference(rand, pool, dtype):
    k_cache, v_cache, table, lengths = pool
    k_cache, v_cache = k_cache.to(dtype), v_cache.to(dtype)
    q = rand(3, 5, 4, 64)
    paging = dict(page_size=16, scale=SCALE)
    wanted = load("verify_attention", "reference")(q, k_cache, v_cache, table, lengths, **paging)
    torch.testing.assert_close(load("verify_attention", "cpu")(q, k_cache, v_cache, table, lengths, **paging), wanted, **CLOSE)
    single = q[:, 0].contiguous()
    for backend in ("reference", "cpu", "sdpa"):
        from importlib import import_module

        decode = import_module(f"kernels.decode_attention.{backend}").decode_attention
        o = decode(single, k_cache, v_cache, table, lengths + 1, **paging)
        torch.testing.assert_close(o, wanted[:, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("start, tokens", [(0, 1), (0, 40), (32, 16), (48, 33)])
def test_prefill_matches_the_reference(rand, pool, start, tokens):
    k_cache, v_cache, table, _ = pool
    q = rand(tokens, 4, 64)
    for row in (0, 1):
        arguments = (q, k_cache, v_cache, table[row], start)
        wanted = load("prefill_attention", "reference")(*arguments, page_size=16, scale=SCALE)
        torch.testing.assert_close(load("prefill_attention", "cpu")(*arguments, page_size=16, scale=SCALE), wanted, **CLOSE)


def test_prefill_off_the_grid_is_refused(rand, pool):
    k_cache, v_cache, table, _ = pool
    with pytest.raises(ValueError, match=r"start = 8, expected a multiple of 16"):
        load("prefill_attention", "cpu")(rand(4, 4, 64), k_cache, v_cache, table[0], 8, page_size=16, scale=SCALE)


@pytest.mark.parametrize("block", [1, 3, 7, 15])
def test_draft_block_matches_the_reference(rand, pool, block):
    k_cache, v_cache, table, lengths = pool
    arguments = (rand(3, block, 4, 64), rand(3, block, 2, 64), rand(3, block, 2, 64), k_cache, v_cache, table, lengths)
    wanted = load("block_attention", "reference")(*arguments, page_size=16, scale=SCALE)
    torch.testing.assert_close(load("block_attention", "cpu")(*arguments, page_size=16, scale=SCALE), wanted, **CLOSE)


def test_tokens_beyond_the_length_are_not_seen(rand, pool):
    """Fill everything outside the request's tokens with NaN: nothing may leak."""
    k_cache, v_cache, table, lengths = pool
    q = rand(3, 4, 4, 64)
    paging = dict(page_size=16, scale=SCALE)
    clean = load("verify_attention", "cpu")(q, k_cache, v_cache, table, lengths, **paging)
    seen = torch.zeros(960, dtype=torch.bool)
    for row, length in zip(table, lengths.tolist()):
        seen[(row[:, None] * 16 + torch.arange(16)).flatten()[: length + 4]] = True
    k_cache[~seen] = float("nan")
    v_cache[~seen] = float("nan")
    for backend in ("reference", "cpu"):
        o = load("verify_attention", backend)(q, k_cache, v_cache, table, lengths, **paging)
        torch.testing.assert_close(o, clean, **CLOSE)


def test_grouped_heads_read_their_own_keys(rand):
    """Equal keys everywhere, values that name their KV head: query heads 0, 1 get 1.0, heads 2, 3 get 2.0."""
    k_cache = torch.ones(16, 2, 64)
    v_cache = torch.tensor([1.0, 2.0])[None, :, None].expand(16, 2, 64).contiguous()
    for backend in ("reference", "cpu"):
        o = load("decode_attention", backend)(rand(1, 4, 64), k_cache, v_cache, torch.zeros(1, 1).long(), torch.tensor([9]), page_size=16, scale=SCALE)
        torch.testing.assert_close(o[0, :, 0], torch.tensor([1.0, 1.0, 2.0, 2.0]))


@pytest.mark.parametrize("slots", [[4, 5, 6], [9, -1, 2], [-1, -1, -1], [7]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kv_write_writes_its_slots_and_skips_negative_ones(rand, slots, dtype):
    k, v = rand(len(slots), 2, 8), rand(len(slots), 2, 8)
    written = []
    for backend in ("reference", "cpu"):
        k_cache, v_cache = torch.full((12, 2, 8), float("nan"), dtype=dtype), torch.full((12, 2, 8), float("nan"), dtype=dtype)
        load("kv_write", backend)(k, v, k_cache, v_cache, torch.tensor(slots))
        written.append((k_cache, v_cache))
        for i, slot in enumerate(slots):
            if slot >= 0:
                assert torch.equal(k_cache[slot], k[i].to(dtype)) and torch.equal(v_cache[slot], v[i].to(dtype))
        assert int(torch.isfinite(k_cache).all((1, 2)).sum()) == sum(slot >= 0 for slot in slots)
    torch.testing.assert_close(written[0], written[1], equal_nan=True, rtol=0, atol=0)
