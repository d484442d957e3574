"""The training modules: incremental forward, one page overfitted, shipped files loadable."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from engine.train import model as model_file
from engine.train import schedule
from engine.train.draft_model import DSpark, DSparkConfig, load_dspark, load_mtp
from engine.train.generate import generate
from engine.train.model import Target, TargetConfig, load_target
from engine.train.optimizer import Optimizer, orthogonalise

WEIGHTS = Path(model_file.__file__).parents[1] / "weights"
SMALL = TargetConfig(
    vocab_size=64, hidden_size=64, layer_types="KA", kda_heads=1, attention_heads=2,
    attention_kv_heads=1, attention_head_dim=32, mlp_size=64, tap_layers=(0, 1),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def target() -> Target:
    return load_target(WEIGHTS / "target.safetensors")


@torch.no_grad()
def test_pieces_give_the_logits_of_the_whole(target):
    torch.manual_seed(0)
    ids = torch.randint(4, 4096, (2, 41))
    whole, taps = target(ids)
    assert len(taps) == 3 and taps[0].shape == (2, 41, 256)
    past, found = None, []
    for piece in ids.split([1, 17, 1, 22], 1):
        x, _, past = target.run(piece, past)
        found.append(target.lm_head(target.norm(x)))
    torch.testing.assert_close(torch.cat(found, 1), whole, atol=2e-3, rtol=1e-3)


def test_one_page_can_be_learned_by_heart():
    torch.manual_seed(0)
    net = Target(SMALL)
    optimizer = Optimizer(net, 0, 1, muon_rate=0.05, adam_rate=1e-2)
    page = torch.randint(4, 64, (1, 97))
    for _ in range(60):
        logits, _ = net(page[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), page[:, 1:].flatten())
        loss.backward()
        norm, clock = optimizer.reduce(1.5, 1)
        assert math.isfinite(norm) and clock == 1.5
        optimizer.step(norm, 1.0)
        optimizer.zero()
    assert loss.item() < 0.3


def test_orthogonalised_matrices_have_singular_values_near_one():
    torch.manual_seed(0)
    for shape in ((2, 32, 96), (2, 96, 32)):
        values = torch.linalg.svdvals(orthogonalise(torch.randn(shape)))
        assert 0.6 < float(values.min()) and float(values.max()) < 1.3


def test_rate_rises_then_falls_to_zero_at_the_end_of_the_budget():
    shares = [i / 100 for i in range(101)]
    rates = [schedule.rate(s) for s in shares]
    assert rates[0] < 1.0 and max(rates) == 1.0 and rates[-1] == 0.0
    falling = rates[int(schedule.FLAT_UNTIL * 100) :]
    assert falling == sorted(falling, reverse=True)


@torch.no_grad()
def test_a_block_sees_nothing_from_its_anchor_on(target):
    torch.manual_seed(1)
    dspark = DSpark(DSparkConfig(), target.config).eval()
    ids = torch.randint(4, 4096, (1, 30))
    changed = ids.clone()
    changed[0, 13:] = (changed[0, 13:] + 5) % 4000 + 4
    rows = []
    for tokens in (ids, changed):
        _, taps, _ = target.run(tokens)
        anchors = torch.tensor([[12, 20]])
        rows.append(dspark.blocks(target.embed, dspark.context(taps), tokens, anchors, 5))
    torch.testing.assert_close(rows[0][:, 0], rows[1][:, 0])
    assert not torch.allclose(rows[0][:, 1], rows[1][:, 1])


@torch.no_grad()
def test_a_block_is_the_same_alone_and_among_others(target):
    dspark = load_dspark(WEIGHTS / "dspark.safetensors")
    ids = torch.arange(4, 44)[None]
    _, taps, _ = target.run(ids)
    context = dspark.context(taps)
    many = dspark.blocks(target.embed, context, ids, torch.tensor([[5, 17, 30]]), 4)
    one = dspark.blocks(target.embed, context[:, :17], ids[:, :18], torch.tensor([[17]]), 4)
    torch.testing.assert_close(many[:, 1], one[:, 0], atol=1e-4, rtol=1e-4)
    drafted = dspark.draft(target, one, ids[:, 17:18])
    assert drafted.shape == (1, 1, 4)


@torch.no_grad()
def test_mtp_predicts_from_the_last_tap_and_the_next_token(target):
    mtp = load_mtp(WEIGHTS / "mtp.safetensors")
    ids = torch.arange(4, 44)[None]
    hidden, taps, _ = target.run(ids)
    torch.testing.assert_close(hidden, taps[-1])
    rows = mtp(target.embed, hidden[:, :-1], ids[:, 1:])
    assert rows.shape == (1, 39, 256)


def test_greedy_generation_takes_the_argmax_of_the_whole_forward(target):
    prompt = torch.arange(10, 30)[None]
    out = generate(target, prompt, 6)
    with torch.no_grad():
        logits, _ = target(out)
    assert out[0, 20:].tolist() == logits[0, 19:-1].argmax(-1).tolist()
