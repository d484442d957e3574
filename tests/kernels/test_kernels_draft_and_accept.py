"""Draft picks, renormalisation, acceptance and the verify window: the CPU paths against the references."""

import pytest
import torch

from kernels.registry import load

BACKENDS = ("reference", "cpu")


def philox_by_hand(counter, key):
    """Philox4x32-10 in Python integers, written from the paper's round function."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def test_philox_known_answer():
    """Known answers published with Random123 (kat_vectors) for philox4x32-10."""
    assert philox_by_hand([0, 0, 0, 0], [0, 0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox_by_hand([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("backend", BACKENDS)
def test_philox_uniform_is_the_published_generator(backend):
    seeds = torch.tensor([0, -1, 2**62 + 12345, -(2**63)])
    positions = torch.tensor([0, 2**32 - 1, 77, 5])
    u = load("philox_uniform", backend)(seeds, positions, 2, 10)
    for row in range(4):
        seed, position = int(seeds[row]) % 2**64, int(positions[row])
        for i in range(10):
            word = philox_by_hand([i // 4, position, 2, 0], [seed % 2**32, seed >> 32])[i % 4]
            assert float(u[row, i]) == ((word >> 9) + 0.5) / 2**23
    assert ((u > 0) & (u < 1)).all()


def test_streams_positions_and_seeds_give_different_numbers():
    draw = load("philox_uniform", "cpu")
    base = draw(torch.tensor([1]), torch.tensor([1]), 0, 64)
    for seed, position, stream in ((2, 1, 0), (1, 2, 0), (1, 1, 1)):
        assert not (draw(torch.tensor([seed]), torch.tensor([position]), stream, 64) == base).any()
    assert torch.equal(draw(torch.tensor([1]), torch.tensor([1]), 0, 5), base[:, :5])


@pytest.mark.parametrize("backend", BACKENDS)
def test_argmax_takes_the_lowest_id_and_never_a_nan(backend):
    nan, inf = float("nan"), float("inf")
    rows = torch.tensor([[1.0, 3, 3, 2], [nan, 0, 5, 5], [nan, nan, nan, nan], [-inf, -inf, -inf, -inf], [-inf, nan, -inf, -9]])
    assert load("row_argmax", backend)(rows).tolist() == [1, 2, 0, 0, 3]
    assert load("row_argmax", backend)(rows.bfloat16()).tolist() == [1, 2, 0, 0, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_markov_steps_match_the_reference(rand, dtype):
    base, w1, w2 = rand(5, 301, dtype=dtype), rand(301, 16, dtype=dtype), rand(301, 16, dtype=dtype)
    prev, heat = torch.tensor([0, 300, 7, 7, 9]), torch.tensor([0.0, 1.0, 0.3, 2.0, 0.0])
    seeds, positions = torch.tensor([1, 2, 3, 3, 5]), torch.tensor([9, 9, 9, 10, 9])
    wanted = load("markov_greedy", "reference")(base, prev, w1, w2)
    assert torch.equal(load("markov_greedy", "cpu")(base, prev, w1, w2), wanted)
    ids, logits = load("markov_sample", "reference")(base, prev, w1, w2, heat, seeds, positions)
    fast_ids, fast_logits = load("markov_sample", "cpu")(base, prev, w1, w2, heat, seeds, positions)
    assert torch.equal(ids, fast_ids) and ids[0] == wanted[0] and ids[4] == wanted[4]
    torch.testing.assert_close(fast_logits, logits, rtol=1e-5, atol=1e-5)


def test_softmax_matches_the_reference(rand):
    logits, heat = rand(2, 3, 101) * 10, torch.tensor([[1.0, 0.2, 0.0], [5.0, 1.0, 1e-6]])
    wanted = load("softmax_temperature", "reference")(logits, heat)
    torch.testing.assert_close(load("softmax_temperature", "cpu")(logits, heat), wanted, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(wanted.sum(-1), torch.ones(2, 3))
    assert wanted[0, 2].max() == 1.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_top_k_keeps_exactly_k_with_ties_to_the_lower_id(backend):
    probs = torch.tensor([[0.2, 0.3, 0.2, 0.1, 0.2]]).expand(5, 5).contiguous()
    kept = load("top_k_renorm", backend)(probs, torch.tensor([1, 2, 3, 0, 9])) > 0
    assert kept.long().tolist() == [[0, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1] * 5, [1] * 5]


def test_top_k_matches_the_reference_on_many_ties(rand):
    probs = torch.softmax(torch.round(rand(40, 64)), -1)
    k = torch.randint(-1, 70, (40,), generator=rand.generator)
    wanted = load("top_k_renorm", "reference")(probs, k)
    torch.testing.assert_close(load("top_k_renorm", "cpu")(probs, k), wanted)


def test_top_p_keeps_the_smallest_head():
    probs = torch.tensor([[0.125, 0.5, 0.25, 0.125]]).expand(5, 4).contiguous()
    result = load("top_p_renorm", "reference")(probs, torch.tensor([0.01, 0.5, 0.51, 0.875, 1.0]))
    wanted = [[0, 1, 0, 0], [0, 1, 0, 0], [0, 2 / 3, 1 / 3, 0], [1 / 7, 4 / 7, 2 / 7, 0], [0.125, 0.5, 0.25, 0.125]]
    torch.testing.assert_close(result, torch.tensor(wanted), rtol=1e-6, atol=0)


@pytest.fixture
def window(rand):
    """300 requests with γ = 4 and V = 23: some drafts padded, some windows short, rows beyond them NaN."""

    def draw(batch=300, block=4, vocabulary=23):
        g = rand.generator
        p = torch.softmax(2 * rand(batch, block + 1, vocabulary), -1)
        q = torch.softmax(rand(batch, block, vocabulary) + 2 * p[:, :block].log(), -1)
        drafts = torch.multinomial(q.flatten(0, 1), 1, generator=g).view(batch, block)
        drafts[::7, 2] = -1
        u, u_final = torch.rand(batch, block, generator=g), torch.rand(batch, generator=g)
        lens = torch.randint(1, block + 2, (batch,), generator=g)
        return p, q, drafts, u, u_final, lens

    return draw


@pytest.mark.parametrize("block", [1, 2, 7, 15])
@pytest.mark.parametrize("op", ["chain_accept", "one_hot_accept", "block_accept"])
def test_rejection_rules_match_the_reference(window, op, block):
    p, q, drafts, u, u_final, lens = window(block=block) if block > 2 else window_without_padding(window, block)
    arguments = (p, drafts, u, u_final) if op == "one_hot_accept" else (p, q, drafts, u, u_final)
    for verify_lens in (None, lens):
        wanted = load(op, "reference")(*arguments, verify_lens=verify_lens, debug=True)
        got = load(op, "cpu")(*arguments, verify_lens=verify_lens, debug=True)
        assert torch.equal(wanted[0], got[0]) and torch.equal(wanted[1], got[1])
        assert 0 < wanted[0].float().mean() < block


def window_without_padding(window, block):
    p, q, drafts, u, u_final, lens = window(block=3)
    return p[:, : block + 1], q[:, :block], drafts[:, :block].clamp_min(0), u[:, :block], u_final, lens.clamp_max(block + 1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", ["chain_accept", "one_hot_accept", "block_accept"])
def test_a_last_uniform_for_every_position_uses_the_one_after_the_accepted_drafts(window, op, backend):
    p, q, drafts, u, _, lens = window()
    accept = load(op, backend)
    head = (p, drafts, u) if op == "one_hot_accept" else (p, q, drafts, u)
    every = torch.rand(300, 5, generator=torch.Generator().manual_seed(5))
    correct, bonus = accept(*head, every, verify_lens=lens)
    decided = every.gather(1, correct[:, None]).squeeze(1)
    same, single = accept(*head, decided, verify_lens=lens)
    assert torch.equal(correct, same) and torch.equal(bonus, single) and len(correct.unique()) > 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("op", ["chain_accept", "one_hot_accept", "block_accept"])
def test_rows_beyond_the_window_are_never_read(window, op, backend):
    p, q, drafts, u, u_final, lens = window()
    accept = load(op, backend)

    def run(p, q):
        return accept(*((p, drafts, u, u_final) if op == "one_hot_accept" else (p, q, drafts, u, u_final)), verify_lens=lens)

    clean = run(p, q)
    beyond = torch.arange(5) >= lens[:, None]
    poisoned = run(p.masked_fill(beyond[..., None], float("nan")), q.masked_fill(beyond[:, 1:, None], float("nan")))
    assert torch.equal(clean[0], poisoned[0]) and torch.equal(clean[1], poisoned[1])
    assert (clean[0] < lens).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_chain_at_the_edges(backend):
    accept = load("chain_accept", backend)
    p = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    q = torch.tensor([[[0.5, 0.5, 0.0]]])
    half, high = torch.tensor([[0.5]]), torch.tensor([[0.999999]])
    # p = q accepts whatever u < 1 is, and the bonus comes from the next row.
    assert [x.tolist() for x in accept(p, q, torch.tensor([[1]]), high, torch.tensor([0.3]))] == [[1], [2]]
    # q = 0 at the draft (it cannot have been sampled from q) rejects; with p = q nothing is left over, so p is used.
    assert [x.tolist() for x in accept(p, q, torch.tensor([[2]]), half, torch.tensor([0.3]))] == [[0], [0]]
    # p = 0 at the draft rejects even the smallest u; the residual is what p has more than q.
    q_wrong = torch.tensor([[[0.0, 0.5, 0.5]]])
    assert [x.tolist() for x in accept(p, q_wrong, torch.tensor([[2]]), torch.tensor([[1e-7]]), torch.tensor([0.9]))] == [[0], [0]]
    # No draft: plain sampling from the first row.
    assert [x.tolist() for x in accept(p, q, torch.tensor([[-1]]), half, torch.tensor([0.75]))] == [[0], [1]]
    # A q that is not a number counts as zero in the residual.
    nan = torch.full((1, 1, 3), float("nan"))
    assert [x.tolist() for x in accept(p, nan, torch.tensor([[0]]), half, torch.tensor([0.75]))] == [[0], [1]]
    # u_final just below one must not run past the last token that has mass.
    tail = torch.tensor([[[1.0, 0.0, 0.0], [1 / 3, 2 / 3, 0.0]]])
    accepted = accept(tail, tail[:, :1].contiguous(), torch.tensor([[0]]), half, torch.tensor([1.0]))
    assert [x.tolist() for x in accepted] == [[1], [1]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_greedy_accept_counts_the_leading_matches(backend):
    drafts = torch.tensor([[4, 5, 6], [4, 9, 6], [9, 5, 6], [4, 5, -1], [4, 5, 6]])
    target = torch.tensor([[4, 5, 6, 7]] * 5)
    accept = load("greedy_accept", backend)
    assert [x.tolist() for x in accept(drafts, target)] == [[3, 1, 0, 2, 3], [7, 5, 4, 6, 7]]
    lens = torch.tensor([4, 4, 4, 4, 2])
    assert [x.tolist() for x in accept(drafts, target, lens)] == [[3, 1, 0, 2, 1], [7, 5, 4, 6, 5]]


@pytest.mark.parametrize("block", range(1, 8))
def test_greedy_paths_agree(rand, block):
    g = rand.generator
    drafts, target = torch.randint(-1, 3, (200, block), generator=g), torch.randint(0, 3, (200, block + 1), generator=g)
    lens = torch.randint(1, block + 2, (200,), generator=g)
    wanted, got = (load("greedy_accept", backend)(drafts, target, lens) for backend in BACKENDS)
    assert torch.equal(wanted[0], got[0]) and torch.equal(wanted[1], got[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_coupled_rule_commits_the_targets_own_samples(rand, backend):
    """Whatever the drafts are, the committed tokens are those of sampling without drafts."""
    g = rand.generator
    logits, seeds, positions = rand(60, 4, 17), torch.arange(60), torch.arange(60) * 2 + 5
    heat = torch.linspace(0, 2, 60)
    sample = load("gumbel_sample", backend)
    picks = torch.stack([sample(logits[:, t].contiguous(), heat, seeds, positions + t, 0) for t in range(4)], 1)
    drafts = torch.where(torch.rand(60, 3, generator=g) < 0.6, picks[:, :3], torch.randint(0, 17, (60, 3), generator=g))
    correct, bonus = load("coupled_accept", backend)(logits, drafts, heat, seeds, positions)
    assert 0.3 < correct.float().mean() < 2.9
    for b in range(60):
        c = int(correct[b])
        assert [*drafts[b, :c].tolist(), int(bonus[b])] == picks[b, : c + 1].tolist()


def test_accept_mixed_selects_rows():
    greedy = torch.tensor([True, False, True])
    a, b, c, d = (torch.tensor([1, 2, 3]) * factor for factor in (1, 10, 100, 1000))
    correct, bonus = load("accept_mixed", "reference")(greedy, a, b, c, d)
    assert correct.tolist() == [1, 200, 3] and bonus.tolist() == [10, 2000, 30]


def test_verify_lens_spends_the_budget_on_the_likeliest_drafts():
    schedule = load("verify_lens", "reference")
    confidence = torch.tensor([[0.9, 0.9, 0.1], [0.5, 0.5, 0.5]])
    # Survivals .9 .81 .081 | .5 .25 .125; two anchors are free of choice.
    assert schedule(confidence, 2).tolist() == [1, 1]
    assert schedule(confidence, 4).tolist() == [3, 1]
    assert schedule(confidence, 5).tolist() == [3, 2]
    assert schedule(confidence, 7).tolist() == [3, 4]
    assert schedule(confidence, 99).tolist() == [4, 4]
    assert schedule(confidence, 0, min_len=2).tolist() == [2, 2]
    ties = torch.full((3, 2), 1.0)
    assert schedule(ties, 5).tolist() == [2, 2, 1]
    assert schedule(torch.tensor([[1e-4, 1e-4], [0.0, 1.0]]), 9).tolist() == [2, 1]


def test_verify_window_round_trip(rand):
    g = rand.generator
    anchor, drafts = torch.arange(6) + 100, torch.randint(0, 50, (6, 3), generator=g)
    lens = torch.tensor([1, 4, 2, 3, 4, 1])
    ids, rows, offsets, cu_lens = load("verify_window_build", "reference")(anchor, drafts, lens)
    assert cu_lens.tolist() == [0, 1, 5, 7, 10, 14, 15]
    whole = torch.cat([anchor[:, None], drafts], 1)
    strided = load("verify_window_scatter", "reference")(ids, rows, offsets, 6, 4, -1)
    assert torch.equal(strided, whole.where(torch.arange(4) < lens[:, None], -1))
