"""The coupled rule: sampled speculative text is the plain lane's text for the same seed, token for token."""

from __future__ import annotations

import pytest

from .conftest import boot, prompts, requests

CASES = [("dspark", 5, {}), ("dspark", 3, {"markov_head_type": "rnn"}), ("dflash", 3, {}), ("mtp", 1, {}), ("lookup", 4, {})]
SAMPLING = [{"temperature": 0.9}, {"temperature": 1.2, "top_k": 5}, {"temperature": 0.8, "top_p": 0.7}, {"temperature": 1.0, "min_p": 0.1}]


def mixed(count: int):
    """Requests that differ in everything a row may differ in, greedy ones among them."""
    ids = prompts(count)
    wanted = []
    for i, prompt in enumerate(ids):
        sampling = {"temperature": 0.0} if i % 3 == 2 else SAMPLING[i % len(SAMPLING)]
        request = requests([prompt], max_tokens=20, seed=50 + i, **sampling)[0]
        wanted.append(type(request)(f"r{i}", request.prompt_ids, request.sampling))
    return wanted


@pytest.fixture(scope="module")
def plain(tiny):
    with boot(tiny) as engine:
        together = [r.token_ids for r in engine.generate(mixed(8))]
        assert [engine.generate([request])[0].token_ids for request in mixed(8)] == together
    return together


@pytest.mark.parametrize("lane, gamma, settings", CASES)
def test_text_is_plain_sampling(tiny, plain, lane, gamma, settings):
    with boot(tiny, lane, gamma, accept_rule="coupled", **settings) as engine:
        records = engine.generate(mixed(8))
        alone = [engine.generate([request])[0] for request in mixed(8)]
    assert [r.token_ids for r in records] == plain
    assert [r.token_ids for r in alone] == plain
    assert [r.accepted_histogram for r in alone] == [r.accepted_histogram for r in records]
    if lane in ("dspark", "mtp"):
        assert 0 < sum(r.accepted for r in records) < sum(r.drafted for r in records)


@pytest.mark.parametrize("mode", ["cap-accept", "compact"])
def test_text_is_plain_sampling_whatever_is_verified(tiny, plain, mode):
    table = tuple((n, 1 / (6 + n)) for n in range(1, 80))
    with boot(tiny, "dspark", 5, accept_rule="coupled", verify_mode=mode, sps_table=table) as engine:
        assert [r.token_ids for r in engine.generate(mixed(8))] == plain
