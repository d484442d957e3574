"""The cheap forms of the drafters' training against the plain ones they stand for."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from engine.train import redraft, tap_cache
from engine.train.compare import walked
from engine.train.draft_model import DFlash, DSpark, DSparkConfig, Markov, block_attend
from engine.train.markov_heads import ConfidenceHead, GatedHead, RnnHead, expected_calibration_error, fit_temperatures
from engine.train.model import Target, TargetConfig
from engine.train.tap_cache import SparseCrossEntropy, mixed_labels, sampled_vocabulary, tap

SMALL = TargetConfig(
    vocab_size=96, hidden_size=32, layer_types="KA", kda_heads=2, kda_head_dim=16, gate_rank=8, attention_heads=2,
    attention_kv_heads=1, attention_head_dim=16, mlp_size=48, tap_layers=(0, 1),
)
DRAFT = DSparkConfig(block_size=4, markov_rank=16, target_layer_ids=(0, 1))


@pytest.fixture(scope="module")
def target():
    torch.manual_seed(0)
    model = Target(SMALL)
    torch.nn.init.normal_(model.lm_head.weight, std=0.4)
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def row(target):
    ids = torch.randint(4, SMALL.vocab_size, (1, 40), generator=torch.Generator().manual_seed(1))
    return tap(target, ids, torch.ones(1, 40), [True])[0]


def test_sparse_cross_entropy_is_the_dense_one():
    generator = torch.Generator().manual_seed(2)
    z = torch.randn(5, 30, generator=generator, requires_grad=True)
    ids = torch.stack([torch.randperm(30, generator=generator)[:4] for _ in range(5)])
    share = torch.rand(5, 4, generator=generator).softmax(-1)
    weights = torch.rand(5, generator=generator)
    law = torch.zeros(5, 30).scatter(1, ids, share)
    dense = -(law * F.log_softmax(z, -1)).sum(-1)
    expected, = torch.autograd.grad((dense * weights).sum(), z)
    sparse = SparseCrossEntropy.apply(z, ids, share)
    torch.testing.assert_close(sparse, dense)
    got, = torch.autograd.grad((sparse * weights).sum(), z)
    torch.testing.assert_close(got, expected)


def test_sampled_vocabulary_keeps_the_labels_and_the_expected_normaliser(monkeypatch):
    monkeypatch.setattr(tap_cache, "NEGATIVES", 20)
    labels = torch.tensor([[3, 7], [7, 50]])
    z = torch.randn(200, generator=torch.Generator().manual_seed(3))
    estimates = []
    torch.manual_seed(4)
    for _ in range(3000):
        ids, log_weights, places = sampled_vocabulary(labels, 200)
        assert torch.equal(ids[places], labels)
        estimates.append(float((z[ids] + log_weights).exp().sum()))
    assert len(ids) == 23
    assert np.mean(estimates) == pytest.approx(float(z.exp().sum()), rel=0.02)


def test_block_attention_is_masked_attention():
    generator = torch.Generator().manual_seed(5)
    batch, heads, kv, context, blocks, width, size = 2, 4, 2, 9, 3, 3, 8
    rows = blocks * width
    draw = lambda *shape: torch.randn(*shape, generator=generator)
    q, k, v = draw(batch, heads, rows, size), draw(batch, kv, rows, size), draw(batch, kv, rows, size)
    far_k, far_v = draw(batch, kv, context, size), draw(batch, kv, context, size)
    anchors = torch.tensor([[1, 4, 9], [2, 3, 5]])
    seen = torch.arange(context) < anchors.repeat_interleave(width, 1).unsqueeze(-1)
    owner = torch.arange(blocks).repeat_interleave(width)
    mask = torch.cat([seen, (owner[:, None] == owner).expand(batch, -1, -1)], -1).unsqueeze(1)
    wide = lambda near, far: torch.cat([far, near], 2).repeat_interleave(heads // kv, 1)
    expected = F.scaled_dot_product_attention(q, wide(k, far_k), wide(v, far_v), attn_mask=mask)
    torch.testing.assert_close(block_attend(q, far_k, far_v, k, v, seen, width), expected)


def test_dflash_drops_the_anchors_row(target, row):
    torch.manual_seed(6)
    model = DFlash(replace(DRAFT, sample_from_anchor=False), SMALL)
    context = model.context((row.taps[None].float(),))
    anchors = torch.tensor([[5, 20]])
    whole = model._rows(target.embed, context, row.ids[None], anchors, 4)
    assert torch.equal(model.blocks(target.embed, context, row.ids[None], anchors, 3), whole[:, :, 1:])
    assert model.pos.weight.shape[0] == DRAFT.block_size + 1
    drafted = model.draft(target, whole[:, :, 1:], row.ids[anchors])
    assert torch.equal(drafted, target.lm_head(whole[:, :, 1:]).argmax(-1))


def test_heads_start_as_the_vanilla_one():
    torch.manual_seed(7)
    vanilla = Markov(50, 16)
    ids, hidden = torch.randint(0, 50, (64,)), torch.randn(64, 32)
    expected = vanilla(ids)
    for head in (GatedHead(vanilla, 32), RnnHead(vanilla, 32)):
        bias, state = head.step(ids, hidden, None)
        assert torch.corrcoef(torch.stack([bias.flatten(), expected.flatten()]))[0, 1] > 0.95
    assert state.shape == (64, 16)


def test_heads_loss_is_the_serial_one(target, row, monkeypatch):
    """Rows thrown out to save time and the order of the rest must not change what is learned."""
    torch.manual_seed(8)
    dspark = DSpark(DRAFT, SMALL).requires_grad_(False)
    heads = redraft.markov_heads(dspark, SMALL.hidden_size)["markov"]
    anchors = torch.tensor([[3, 9, 17, 30]])
    keep = torch.rand(4, 3) < 0.6
    at = anchors[0, :, None] + torch.arange(3)
    monkeypatch.setattr(redraft, "kept_rows", lambda *_: (at, keep))
    got = redraft.heads_loss(target, dspark, heads, row, 3, anchors)
    context = dspark.context((row.taps[None].float(),))
    hidden = dspark.blocks(target.embed, context, row.ids[None], anchors, 3)[0]
    expected = 0.0
    for head in heads.values():
        losses = []
        for a in range(4):
            state = None
            for j in range(3):
                bias, state = head.step(row.ids[at[a, j]][None], hidden[a, j][None], state)
                if keep[a, j]:
                    logits = target.lm_head(hidden[a, j][None]) + bias
                    losses.append(SparseCrossEntropy.apply(logits, *mixed_labels(row, at[a, j][None], redraft.HARD_SHARE)))
        expected = expected + torch.cat(losses).mean()
    torch.testing.assert_close(got, expected)


def test_one_phase_learns_and_counts(target, row, monkeypatch):
    torch.manual_seed(9)
    monkeypatch.setattr(redraft.schedule, "rate", lambda share: 1.0)
    model = DSpark(DRAFT, SMALL)
    phase = redraft.Phase("dspark", model, budget=1e9, peak=0.5, note=lambda entry: None)
    anchors = torch.arange(1, 33)[None]
    losses = []

    def one():
        loss = redraft.block_loss(target, model, row, 3, anchors)
        losses.append(float(loss.detach()))
        phase.budget = 1e9 if len(losses) < 60 else 1e-9
        return loss, anchors.numel()

    entry = phase.run(one)
    assert np.mean(losses[-8:]) < 0.8 * np.mean(losses[:8])
    assert entry["anchors"] == len(losses) * 32 and entry["skipped"] == 0


def test_calibration_repairs_overconfidence():
    generator = torch.Generator().manual_seed(10)
    truth = torch.rand(6000, 3, generator=generator) * 0.6 + 0.2
    right = torch.rand(6000, 3, generator=generator) < truth
    logits = torch.logit(truth) * 2.5
    found = fit_temperatures(logits, right)
    assert all(t == pytest.approx(2.5, abs=0.5) for t in found.temperatures)
    assert found.ece_after < 0.5 * found.ece_before and found.num_samples == 6000
    assert expected_calibration_error(torch.full((10,), 0.7), torch.arange(10) < 7) == pytest.approx(0.0, abs=1e-6)


def test_confidence_is_trained_and_calibrated_on_other_rows(target, row, monkeypatch):
    monkeypatch.setattr(redraft, "CALIBRATION_ANCHORS", 24)
    seen = []
    inner = redraft.confidence_rows
    monkeypatch.setattr(redraft, "confidence_rows", lambda t, d, r, *rest: (seen.append(r), inner(t, d, r, *rest))[1])
    rows = [replace(row, own=i % 2 == 0) for i in range(24)]
    dspark = DSpark(replace(DRAFT, block_size=7), SMALL)
    head, calibration = redraft.train_confidence(target, dspark, rows, 30, seed=1)
    assert isinstance(head, ConfidenceHead) and len(calibration.temperatures) == 7
    # one own row of twelve was kept for the calibration and never trained on
    assert calibration.num_samples == 24 and len(seen) == 24 and seen[-1] is rows[22] and all(r is not rows[22] for r in seen[:-1])
    inputs, right = redraft.confidence_samples(target, dspark, rows[:1], np.random.default_rng(0))
    if 0 < right[:, 0].float().mean() < 1:
        told = torch.sigmoid(head.of(inputs))[:, 0]
        assert told[right[:, 0]].mean() > told[~right[:, 0]].mean()


def test_rounds_are_walked_over_positions():
    assert walked([2, 0, 0, 1, 0]) == (5, 2)
    assert walked([0, 0, 0]) == (3, 3)
    assert walked([7]) == (1, 1)
