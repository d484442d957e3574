"""Speculation must not change greedy text by a bit, at any width and batch size, nor the accepted counts by batch."""

from __future__ import annotations

import pytest

from engine.model.tokenizer import Tokenizer

from .conftest import CLASSES, boot, held_out, prompts, requests

GAMMAS = [("dspark", gamma) for gamma in range(1, 8)] + [("mtp", 1)]


def texts(records):
    return [record.token_ids for record in records]


def histograms(records):
    return [record.accepted_histogram for record in records]


def one_by_one(engine, wanted):
    return [engine.generate([request])[0] for request in wanted]


@pytest.fixture(scope="module")
def plain_tiny(tiny):
    with boot(tiny) as engine:
        return texts(engine.generate(requests(prompts(8))))


def test_plain_text_does_not_depend_on_batch(tiny, plain_tiny):
    with boot(tiny) as engine:
        assert texts(one_by_one(engine, requests(prompts(8)))) == plain_tiny


@pytest.mark.parametrize("lane, gamma", GAMMAS)
def test_random_model(tiny, plain_tiny, lane, gamma):
    wanted = requests(prompts(8))
    with boot(tiny, lane, gamma) as engine:
        together = engine.generate(wanted)
        alone = one_by_one(engine, wanted)
    assert texts(together) == plain_tiny
    assert texts(alone) == plain_tiny
    assert histograms(alone) == histograms(together)
    accepted = sum(record.accepted for record in together)
    drafted = sum(record.drafted for record in together)
    assert 0.1 * drafted < accepted < 0.95 * drafted, "the test needs both accepted and rejected drafts"


@pytest.fixture(scope="module")
def shipped_plain(shipped):
    tokenizer = Tokenizer.load(shipped)
    ids = [prompt for content in CLASSES for prompt in held_out(tokenizer, content, 2)]
    wanted = requests(ids, max_tokens=16)
    with boot(shipped) as engine:
        together = texts(engine.generate(wanted))
        assert texts(one_by_one(engine, wanted)) == together
    return wanted, together


@pytest.mark.parametrize("lane, gamma", GAMMAS)
def test_trained_model_on_all_content(shipped, shipped_plain, lane, gamma):
    if not (shipped / f"{lane}.safetensors").is_file():
        pytest.skip(f"no trained {lane} drafter")
    wanted, expected = shipped_plain
    with boot(shipped, lane, gamma) as engine:
        together = engine.generate(wanted)
        alone = one_by_one(engine, wanted)
    assert texts(together) == expected
    assert texts(alone) == expected
    assert histograms(alone) == histograms(together)
    assert sum(record.accepted for record in together) > 0
