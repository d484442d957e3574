"""Sampled text follows the target's law exactly, and hangs on the request's seed alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy import stats

from engine.batch import Batch
from engine.config import SamplingParams
from engine.draft.base import Draft
from engine.model.operators import Operators
from engine.prompts import prefill_stretch
from engine.types import Request
from engine.verify import accept, cap, pick, target_law

from .conftest import boot, prompts, requests

VOCAB, GAMMA, DRAWS = 5, 2, 12_000


@pytest.fixture(scope="module")
def ops():
    return Operators.resolve(torch.zeros(1))


def batch_of(
    rows: int, temperature: float, top_k: int = 0, top_p: float = 1.0, greedy: bool = False, start: int = 10, min_p: float = 0.0
) -> Batch:
    zeros = torch.zeros(rows, dtype=torch.int64)
    return Batch(
        slots=zeros, block_table=zeros[:, None], page_size=16, temperature=torch.full((rows,), 0.0 if greedy else temperature),
        top_k=torch.full_like(zeros, top_k), top_p=torch.full((rows,), top_p), min_p=torch.full((rows,), min_p), seeds=torch.arange(rows), anchors=zeros,
        greedy=torch.full((rows,), greedy), any_sampled=not greedy, any_truncated=top_k > 0 or top_p < 1 or min_p > 0, traced=False,
        lengths=torch.full_like(zeros, start), window_slots=zeros, previous_slots=zeros,
    )


def chi_square_p(counts: torch.Tensor, law: torch.Tensor) -> float:
    """p-value of observed counts under the law; impossible outcomes must not occur at all."""
    counts, law = counts.double().flatten(), law.double().flatten()
    assert counts[law == 0].sum() == 0
    counts, law = counts[law > 0], law[law > 0] / law.sum()
    return stats.chisquare(counts.numpy(), (law * counts.sum()).numpy()).pvalue


def drafted(ops, batch: Batch, draft_logits: torch.Tensor) -> Draft:
    """Drafts drawn as a drafter draws them: stream 0, keyed by the drafted token's position."""
    ids = [
        ops.gumbel_sample(draft_logits[:, j].contiguous(), batch.temperature, batch.seeds, batch.lengths + 1 + j, 0)
        for j in range(draft_logits.shape[1])
    ]
    return Draft(torch.stack(ids, 1), draft_logits)


@pytest.mark.parametrize(
    "temperature, top_k, top_p, min_p, capped",
    [
        (1.0, 0, 1.0, 0.0, False), (0.7, 0, 1.0, 0.0, False), (1.3, 3, 1.0, 0.0, False), (1.0, 0, 0.8, 0.0, False),
        (0.9, 4, 0.7, 0.0, False), (1.0, 0, 1.0, 0.3, False), (1.0, 0, 1.0, 0.0, True), (0.8, 4, 1.0, 0.0, True),
    ],
)
def test_chain_acceptance_is_exact(ops, temperature, top_k, top_p, min_p, capped):
    """The first two tokens of a round are distributed as two plain draws, whatever the drafter guessed.

    Capped: how many drafts may be accepted is chosen per row from the first draft, as a length scheduler would.
    """
    generator = torch.Generator().manual_seed(5)
    after = torch.randn(VOCAB, VOCAB, generator=generator) * 1.5  # target logits after each first token
    first = torch.randn(VOCAB, generator=generator) * 1.5
    guess = torch.randn(GAMMA, VOCAB, generator=generator)
    batch = batch_of(DRAWS, temperature, top_k, top_p, min_p=min_p)
    draft = drafted(ops, batch, guess.expand(DRAWS, GAMMA, VOCAB).contiguous())
    logits = torch.stack([first.expand(DRAWS, VOCAB), after[draft.ids[:, 0]], after[draft.ids[:, 1]]], 1)
    correct, bonus = accept(ops, logits, draft, batch)
    if capped:
        uncapped = correct
        correct, bonus, trimmed = cap(draft, correct, bonus, 2 + (draft.ids[:, 0] % 2 == 0).long())
        assert torch.equal(correct + trimmed, uncapped) and 0 < (trimmed > 0).float().mean() < 0.5

    rows = torch.arange(DRAWS)
    tokens = torch.cat([draft.ids, torch.full((DRAWS, 1), -1)], 1)
    tokens[rows, correct] = bonus
    small = batch_of(VOCAB, temperature, top_k, top_p, min_p=min_p)
    p_first = target_law(ops, first.expand(VOCAB, 1, VOCAB).contiguous(), small)[0, 0]
    p_after = target_law(ops, after[:, None], small)[:, 0]
    assert chi_square_p(torch.bincount(tokens[:, 0], minlength=VOCAB), p_first) > 1e-3
    # rounds that reached a second token were chosen by what came first, not by what it is
    reached = correct >= 1
    for token in torch.flatten(torch.nonzero(p_first > 0.02)).tolist():
        mine = reached & (tokens[:, 0] == token)
        if mine.sum() > 200:
            # with a cap of one draft the bonus is the token right behind it, so the second token is seen as well
            assert chi_square_p(torch.bincount(tokens[mine, 1], minlength=VOCAB), p_after[token]) > 1e-3
    assert 0.05 < reached.float().mean() < 0.95


def test_greedy_rows_in_a_sampled_batch(ops):
    """A greedy row takes the maximum; the sampled rows beside it do not."""
    generator = torch.Generator().manual_seed(6)
    rows = 2000
    logits = torch.randn(1, GAMMA + 1, VOCAB, generator=generator).expand(rows, -1, -1).contiguous()
    batch = batch_of(rows, 1.0)
    batch.greedy[::2] = True
    batch.temperature[::2] = 0.0
    draft = drafted(ops, batch, torch.randn(1, GAMMA, VOCAB, generator=generator).expand(rows, -1, -1).contiguous())
    correct, bonus = accept(ops, logits, draft, batch)
    best = logits[0].argmax(-1)
    expected = (draft.ids[::2] == best[:-1]).long().cumprod(1).sum(1)
    assert torch.equal(correct[::2], expected)
    assert torch.equal(bonus[::2], best[expected])
    first = torch.where(correct[1::2] > 0, draft.ids[1::2, 0], bonus[1::2])
    assert chi_square_p(torch.bincount(first, minlength=VOCAB), logits[0, 0].softmax(-1)) > 1e-3


@pytest.mark.parametrize("top_k, top_p", [(0, 1.0), (3, 1.0)])
def test_found_drafts_are_accepted_by_their_probability(ops, top_k, top_p):
    """Drafts that were copied, not drawn: q is one-hot, and the text's law is still the target's."""
    generator = torch.Generator().manual_seed(8)
    logits = torch.randn(1, GAMMA + 1, VOCAB, generator=generator).expand(DRAWS, -1, -1).contiguous()
    batch = batch_of(DRAWS, 0.9, top_k, top_p)
    ids = torch.arange(DRAWS * GAMMA).view(DRAWS, GAMMA) % VOCAB
    correct, bonus = accept(ops, logits, Draft(ids, None, one_hot=True), batch)
    law = target_law(ops, logits[:1], batch_of(1, 0.9, top_k, top_p))[0]
    first = torch.where(correct > 0, ids[:, 0], bonus)
    assert chi_square_p(torch.bincount(first, minlength=VOCAB), law[0]) > 1e-3
    reached = correct >= 1
    second = torch.where(correct > 1, ids[:, 1], bonus)[reached]
    assert chi_square_p(torch.bincount(second, minlength=VOCAB), law[1]) > 1e-3


def test_a_row_draws_the_same_beside_truncated_rows(ops):
    """Neighbours with top-k, top-p or min-p must not change the path a row's noise takes."""
    generator = torch.Generator().manual_seed(9)
    logits = torch.randn(40, VOCAB, generator=generator) * 2
    alone = torch.cat([pick(ops, logits[i : i + 1], take_row(batch_of(40, 0.8), i), torch.tensor([11])) for i in range(40)])
    mixed = batch_of(40, 0.8)
    mixed.top_k[::4], mixed.top_p[1::4], mixed.min_p[2::4], mixed.any_truncated = 2, 0.5, 0.4, True
    together = pick(ops, logits, mixed, mixed.lengths + 1)
    assert torch.equal(together[3::4], alone[3::4])
    rows = [pick(ops, logits[i : i + 1], take_row(mixed, i), torch.tensor([11])) for i in range(40)]
    assert torch.equal(together, torch.cat(rows))
    assert not torch.equal(together, alone)


def take_row(batch: Batch, row: int) -> Batch:
    return batch.take(torch.tensor([row]), 1)


@pytest.mark.parametrize("top_k, top_p", [(0, 1.0), (3, 1.0), (0, 0.75)])
def test_plain_pick_is_exact(ops, top_k, top_p):
    logits = torch.randn(1, VOCAB, generator=torch.Generator().manual_seed(7)).expand(DRAWS, VOCAB).contiguous()
    batch = batch_of(DRAWS, 0.8, top_k, top_p)
    ids = pick(ops, logits, batch, batch.lengths + 1)
    law = target_law(ops, logits[:1, None], batch_of(1, 0.8, top_k, top_p))[0, 0]
    assert chi_square_p(torch.bincount(ids, minlength=VOCAB), law) > 1e-3


@pytest.mark.parametrize(
    "lane, gamma, settings",
    [("plain", 1, {}), ("dspark", 3, {}), ("dspark", 3, {"markov_head_type": "gated"}), ("dflash", 3, {}), ("mtp", 1, {}), ("lookup", 3, {})],
)
def test_text_hangs_on_the_seed_alone(tiny, lane, gamma, settings):
    """Same seeds, other batch, other neighbours, other order: same text and same accepted counts."""
    laws = [{"temperature": 0.9, "top_p": 0.95}, {"temperature": 1.1}, {"temperature": 0.7, "min_p": 0.05}]
    wanted = [Request(r.request_id, r.prompt_ids, replace(r.sampling, **laws[i % 3])) for i, r in enumerate(requests(prompts(6)))]
    greedy = requests(prompts(2, seed=9))
    mixed = [Request("g0", greedy[0].prompt_ids, greedy[0].sampling), *reversed(wanted), Request("g1", greedy[1].prompt_ids, greedy[1].sampling)]
    with boot(tiny, lane, gamma, **settings) as engine:
        alone = {r.request_id: engine.generate([r])[0] for r in (*wanted, mixed[0], mixed[-1])}
        together = engine.generate(mixed)
    for record in together:
        assert record.token_ids == alone[record.request_id].token_ids
        assert record.accepted_histogram == alone[record.request_id].accepted_histogram
    assert len({tuple(r.token_ids) for r in together}) == len(together)


def test_other_seed_other_text(tiny):
    prompt = prompts(1)[0]
    with boot(tiny, "dspark", 3) as engine:
        same = [Request(str(i), prompt, SamplingParams(temperature=1.0, max_tokens=16, ignore_eos=True, seed=i // 2)) for i in range(4)]
        texts = [record.token_ids for record in engine.generate(same)]
    assert texts[0] == texts[1] and texts[2] == texts[3] and texts[0] != texts[2]


def test_a_request_without_a_seed_takes_the_engines(tiny):
    ask = lambda seed: Request(str(seed), prompts(1)[0], SamplingParams(temperature=1.0, max_tokens=16, ignore_eos=True, seed=seed))
    with boot(tiny, "dspark", 3, seed=41) as engine:
        silent, same, other = engine.generate([ask(None), ask(41), ask(42)])
    assert silent.token_ids == same.token_ids != other.token_ids


RAGGED = tuple((positions, 1 / (64 + positions)) for positions in range(1, 400))


@pytest.mark.parametrize(
    "lane, gamma, settings",
    [
        ("dspark", 2, {}), ("mtp", 1, {}), ("lookup", 2, {}),
        ("dspark", 3, {"verify_mode": "cap-accept", "sps_table": RAGGED}), ("dspark", 3, {"verify_mode": "compact", "sps_table": RAGGED}),
    ],
)
def test_engine_draws_from_the_target(tiny, lane, gamma, settings):
    """Second and third token of many sampled requests against the law that enumeration gives."""
    draws, prompt, temperature = 512, prompts(1)[0], 0.7
    params = lambda seed: SamplingParams(temperature=temperature, max_tokens=3, ignore_eos=True, seed=seed, top_k=4)
    with boot(tiny, lane, gamma, max_running_requests=64, max_mamba_cache_size=64, **settings) as engine:
        records = engine.generate([Request(str(i), prompt, params(i)) for i in range(draws)])
        if lane in ("dspark", "mtp"):
            assert sum(record.accepted for record in records) > draws / 10
        tokens = torch.tensor([record.token_ids for record in records])
    with boot(tiny, max_running_requests=64) as engine:
        law = enumerate_law(engine, prompt, temperature, top_k=4)
    second = torch.bincount(tokens[:, 1], minlength=64)
    expected = law.sum(0)
    rare = expected < 5 / draws
    pooled = torch.cat([second[~rare], second[rare].sum()[None]])
    pooled_law = torch.cat([expected[~rare], expected[rare].sum()[None]])
    assert chi_square_p(pooled, pooled_law) > 1e-3


@torch.inference_mode()
def enumerate_law(engine, prompt, temperature, top_k) -> torch.Tensor:
    """[V, V] probabilities of the first two tokens, from the target's own logits."""
    from engine.sequence import Sequence
    from engine.types import RequestRecord

    def law_after(ids):
        request = Request("x", ids, SamplingParams(temperature=temperature, top_k=top_k))
        sequence = Sequence(request, RequestRecord("x", len(ids)), max_tokens=2)
        engine.scheduler.waiting.append(sequence)
        (_, count), = engine.scheduler.schedule(0.0).prefill
        logits = prefill_stretch(engine, sequence, count)
        batch = engine.batches.build([sequence])
        law = target_law(engine.ops, logits[None, None], batch)[0, 0]
        engine.scheduler.remove(sequence)
        return law

    first = law_after(prompt)
    joint = torch.zeros(64, 64)
    for token in torch.flatten(torch.nonzero(first)).tolist():
        joint[token] = first[token] * law_after((*prompt, token))
    return joint
