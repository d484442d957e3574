"""Bit equality: a window equals decode steps, and a request does not see its batch.

Greedy text with drafts equals greedy text without only because of this; closeness is not enough.
"""

import pytest
import torch

from kernels.kda_verify.cpu import requests_per_block
from kernels.registry import load

SCALE = 64**-0.5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", range(1, 9))
def test_kda_window_equals_decode_steps_for_every_batch_and_window(kda, rand, batch, threads):
    torch.set_num_threads(threads)
    verify, decode = load("kda_verify", "cpu"), load("kda_decode", "cpu")
    q, k, v, g, beta = kda(batch, 8)
    pool = rand(batch, 4, 64, 64)
    alone = []
    for request in range(batch):
        state, outputs, states = pool[request : request + 1].clone(), [], []
        for t in range(8):
            o, state = decode(*(x[request : request + 1, t] for x in (q, k, v, g, beta)), state, scale=SCALE)
            outputs.append(o)
            states.append(state)
        alone.append((torch.stack(outputs, 1), torch.stack(states)))
    wanted_o = torch.cat([o for o, _ in alone])
    wanted_states = torch.cat([s for _, s in alone], dim=1)
    order = torch.randperm(batch, generator=rand.generator)
    for window in range(1, 9):
        o, snapshots = verify(*(x[:, :window] for x in (q, k, v, g, beta)), pool, scale=SCALE)
        assert torch.equal(o, wanted_o[:, :window]) and torch.equal(snapshots, wanted_states[:window]), window
        o, snapshots = verify(*(x[order, :window] for x in (q, k, v, g, beta)), pool, scale=SCALE, slots=order)
        assert torch.equal(o, wanted_o[order, :window]) and torch.equal(snapshots, wanted_states[:window][:, order]), window


def test_kda_decode_with_slots_equals_decode_alone(kda, rand):
    decode = load("kda_decode", "cpu")
    q, k, v, g, beta = kda(8)
    pool = rand(12, 4, 64, 64)
    slots = torch.tensor([3, 11, 0, 7, 5, 9, 1, 2])
    alone = [decode(*(x[i : i + 1] for x in (q, k, v, g, beta)), pool[slots[i]][None], scale=SCALE) for i in range(8)]
    single = pool.clone()
    for i in range(8):
        o, _ = decode(*(x[i : i + 1] for x in (q, k, v, g, beta)), single, scale=SCALE, slots=slots[i : i + 1])
        assert torch.equal(o, alone[i][0])
    o, _ = decode(q, k, v, g, beta, pool, scale=SCALE, slots=slots)
    assert torch.equal(o, torch.cat([a for a, _ in alone])) and torch.equal(pool, single)


@pytest.mark.parametrize("consecutive", [True, False])
def test_kda_in_blocks_of_requests_equals_requests_alone(kda, rand, consecutive):
    decode, verify = load("kda_decode", "cpu"), load("kda_verify", "cpu")
    count = 2 * requests_per_block(4, 64, 64) + 3
    inputs = kda(count, 2)
    first = [x[:, 0] for x in inputs]
    pool = rand(count + 2, 4, 64, 64)
    slots = torch.arange(1, count + 1) if consecutive else torch.randperm(count + 2, generator=rand.generator)[:count]
    alone = [decode(*(x[i : i + 1] for x in first), pool[slots[i]][None], scale=SCALE) for i in range(count)]
    windows = [verify(*(x[i : i + 1] for x in inputs), pool[slots[i]][None], scale=SCALE) for i in range(count)]
    o, snapshots = verify(*inputs, pool, scale=SCALE, slots=slots)
    assert torch.equal(o, torch.cat([w for w, _ in windows])) and torch.equal(snapshots, torch.cat([states for _, states in windows], 1))
    o, after = decode(*first, pool, scale=SCALE, slots=slots)
    assert torch.equal(o, torch.cat([a for a, _ in alone]))
    assert torch.equal(after, torch.cat([state for _, state in alone])) and torch.equal(pool[slots], after)


@pytest.mark.parametrize("cuts", [(16, 48), (32,), (48, 64), (16, 32, 48, 64)])
def test_kda_prefill_does_not_depend_on_where_the_prompt_was_cut(kda, rand, cuts):
    prefill = load("kda_prefill", "cpu")
    inputs = kda(1, 75)
    state = rand(1, 4, 64, 64)
    wanted_o, wanted = prefill(*inputs, state, scale=SCALE)
    pieces = []
    for first, last in zip((0, *cuts), (*cuts, 75)):
        o, state = prefill(*(x[:, first:last] for x in inputs), state, scale=SCALE)
        pieces.append(o)
    assert torch.equal(torch.cat(pieces, 1), wanted_o) and torch.equal(state, wanted)


def test_kda_prefill_does_not_depend_on_the_batch(kda, rand):
    prefill = load("kda_prefill", "cpu")
    inputs = kda(5, 40)
    state = rand(5, 4, 64, 64)
    o, after = prefill(*inputs, state, scale=SCALE)
    for request in range(5):
        one_o, one = prefill(*(x[request : request + 1] for x in inputs), state[request : request + 1], scale=SCALE)
        assert torch.equal(one_o[0], o[request]) and torch.equal(one[0], after[request])


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_window_convolution_equals_single_steps(rand, batch):
    conv = load("short_conv_window", "cpu")
    x, weight, pool = rand(batch, 8, 768, dtype=torch.bfloat16), rand(4, 768), rand(batch, 3, 768, dtype=torch.bfloat16)
    for window in range(1, 9):
        y, windows = conv(x[:, :window], weight, pool)
        for request in range(batch):
            state = pool[request : request + 1]
            for t in range(window):
                single, states = conv(x[request : request + 1, t : t + 1], weight, state)
                state = states[0]
                assert torch.equal(single[0, 0], y[request, t]) and torch.equal(state[0], windows[t, request])


def test_gates_do_not_depend_on_the_batch(rand):
    gate = load("kda_gate", "cpu")
    f, b, a_log, dt_bias = rand(8, 4, 256, dtype=torch.bfloat16), rand(8, 4, 4, dtype=torch.bfloat16), rand(4), rand(256)
    g, beta = gate(f, b, a_log, dt_bias)
    for row in range(8):
        for t in range(4):
            one_g, one_beta = gate(f[row : row + 1, t], b[row : row + 1, t], a_log, dt_bias)
            assert torch.equal(one_g[0], g[row, t]) and torch.equal(one_beta[0], beta[row, t])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scattered", [False, True], ids=["consecutive pages", "scattered pages"])
@pytest.mark.parametrize("contexts", [(0,), (5, 17, 0), (63, 64, 65, 200, 1, 500, 129, 31)])
def test_verify_attention_equals_decode_steps(rand, contexts, scattered, threads):
    torch.set_num_threads(threads)
    verify, decode = load("verify_attention", "cpu"), load("decode_attention", "cpu")
    batch, pages = len(contexts), 33
    order = torch.randperm(batch * pages, generator=rand.generator) if scattered else torch.arange(batch * pages)
    table = order.view(batch, pages)
    k_cache, v_cache = rand(batch * pages * 16, 2, 64), rand(batch * pages * 16, 2, 64)
    q, lengths = rand(batch, 8, 4, 64), torch.tensor(contexts)
    paging = dict(page_size=16, scale=SCALE)
    for window in (1, 2, 4, 8):
        o = verify(q[:, :window].contiguous(), k_cache, v_cache, table, lengths, **paging)
        for t in range(window):
            batched = decode(q[:, t].contiguous(), k_cache, v_cache, table, lengths + t + 1, **paging)
            assert torch.equal(batched, o[:, t])
        for request in range(batch):
            alone = verify(q[request : request + 1, :window].contiguous(), k_cache, v_cache, table[request : request + 1], lengths[request : request + 1], **paging)
            assert torch.equal(alone[0], o[request])


def test_attention_bits_do_not_depend_on_the_pages(rand):
    """Moving a request to other pages (preemption, prefix sharing) must not change its text."""
    decode = load("decode_attention", "cpu")
    keys, values, q = rand(100, 2, 64), rand(100, 2, 64), rand(1, 4, 64)
    outputs = []
    for table in (torch.arange(7), torch.tensor([9, 2, 5, 0, 8, 3, 1])):
        k_cache, v_cache = torch.zeros(160, 2, 64), torch.zeros(160, 2, 64)
        slots = (table[:, None] * 16 + torch.arange(16)).flatten()[:100]
        load("kv_write", "cpu")(keys, values, k_cache, v_cache, slots)
        outputs.append(decode(q, k_cache, v_cache, table[None], torch.tensor([100]), page_size=16, scale=SCALE))
    assert torch.equal(*outputs)


def test_prefill_attention_does_not_depend_on_where_the_prompt_was_cut(rand):
    prefill = load("prefill_attention", "cpu")
    k_cache, v_cache, q, table = rand(128, 2, 64), rand(128, 2, 64), rand(91, 4, 64), torch.arange(8)
    whole = prefill(q, k_cache, v_cache, table, 0, page_size=16, scale=SCALE)
    for cuts in ((16,), (48, 64), (80,)):
        pieces = []
        for first, last in zip((0, *cuts), (*cuts, 91)):
            pieces.append(prefill(q[first:last], k_cache, v_cache, table, first, page_size=16, scale=SCALE))
        assert torch.equal(torch.cat(pieces), whole), cuts


def test_draft_attention_does_not_depend_on_the_batch(rand):
    attention = load("block_attention", "cpu")
    k_cache, v_cache, table = rand(640, 2, 64), rand(640, 2, 64), torch.arange(40).view(8, 5)
    lengths = torch.tensor([0, 1, 16, 33, 80, 64, 7, 50])
    for block in (1, 3, 7):
        q, k, v = rand(8, block, 4, 64), rand(8, block, 2, 64), rand(8, block, 2, 64)
        o = attention(q, k, v, k_cache, v_cache, table, lengths, page_size=16, scale=SCALE)
        for i in range(8):
            one = attention(*(x[i : i + 1] for x in (q, k, v)), k_cache, v_cache, table[i : i + 1], lengths[i : i + 1], page_size=16, scale=SCALE)
            assert torch.equal(one[0], o[i])


def test_draft_picks_do_not_depend_on_the_batch(rand):
    base, w1 = rand(8, 512, dtype=torch.bfloat16), rand(512, 64, dtype=torch.bfloat16)
    project = load("linear", "cpu")(rand(512, 64, dtype=torch.bfloat16))
    prev, seeds, positions = torch.arange(8) * 3, torch.arange(8) - 4, torch.arange(8) + 100
    heat = torch.tensor([0.0, 0.5, 1.0, 2.0, 0.0, 0.7, 1.3, 0.9])
    greedy = load("markov_greedy", "cpu")(base, prev, w1, project)
    ids, logits = load("markov_sample", "cpu")(base, prev, w1, project, heat, seeds, positions)
    assert torch.equal(ids[heat == 0], greedy[heat == 0])
    for i in range(8):
        row = slice(i, i + 1)
        assert load("markov_greedy", "cpu")(base[row], prev[row], w1, project)[0] == greedy[i]
        one, one_logits = load("markov_sample", "cpu")(base[row], prev[row], w1, project, heat[row], seeds[row], positions[row])
        assert one[0] == ids[i] and torch.equal(one_logits[0], logits[i])
