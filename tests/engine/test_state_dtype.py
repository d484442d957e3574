"""Storing states in fewer bits changes the text, never the rule that lanes, windows and cuts agree."""

from __future__ import annotations

import pytest

from engine.config import ConfigError
from engine.model.random_weights import write_random_weights

from .conftest import TINY, TINY_DRAFT, boot, prompts, requests


@pytest.fixture(scope="module")
def sensitive(tmp_path_factory):
    """Layers that weigh as much as the embedding: a state's rounding reaches the text."""
    return write_random_weights(tmp_path_factory.mktemp("sensitive"), TINY, TINY_DRAFT, seed=5, branch=1.0)


def texts(weights, lane, gamma, dtype, size=256, count=4):
    ids = [*prompts(count, shortest=40), *prompts(1, shortest=150, seed=4)]
    with boot(weights, lane, gamma, mamba_ssm_dtype=dtype, chunked_prefill_size=size) as engine:
        assert engine.states.temporal.element_size() == (4 if dtype == "float32" else 2)
        records = engine.generate(requests(ids, max_tokens=30))
    return [r.token_ids for r in records], [r.accepted_histogram for r in records]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_windows_batches_and_cuts_round_alike(tiny, sensitive, dtype):
    assert texts(sensitive, "plain", 1, dtype) != texts(sensitive, "plain", 1, "float32")
    for weights in (tiny, sensitive):
        plain, _ = texts(weights, "plain", 1, dtype)
        for lane, gamma in (("dspark", 1), ("dspark", 4), ("mtp", 1)):
            whole = texts(weights, lane, gamma, dtype)
            assert whole[0] == plain
            assert whole == texts(weights, lane, gamma, dtype, size=64)
        with boot(weights, "dspark", 4, mamba_ssm_dtype=dtype) as engine:
            alone = [engine.generate([one])[0].token_ids for one in requests(prompts(4, shortest=40), max_tokens=30)]
        assert alone == plain[:4]


def test_cuts_fall_on_the_rounding_stride(tiny):
    with pytest.raises(ConfigError, match="--chunked-prefill-size 48: must be a multiple of .* 64"):
        boot(tiny, mamba_ssm_dtype="bfloat16", chunked_prefill_size=48)


def test_half_the_bytes(tiny):
    full, half = (boot(tiny, "dspark", 3, mamba_ssm_dtype=dtype).server_info() for dtype in ("float32", "bfloat16"))
    conv = 3 * 3 * 192 * 2
    assert (full["state_bytes_per_slot"] - conv) == 2 * (half["state_bytes_per_slot"] - conv)
