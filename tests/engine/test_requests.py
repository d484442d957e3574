"""Where requests end, what is refused, and that the engine goes on serving afterwards."""

from __future__ import annotations

import json

import pytest

from engine.config import ConfigError, EngineConfig, SamplingParams
from engine.engine import Engine
from engine.types import Request

from .conftest import TINY, boot, prompts, requests

LANES = [("plain", 1), ("dspark", 4), ("mtp", 1)]


def idle(engine) -> bool:
    return engine.kv.usage == 0 and engine.states.usage == 0 and not engine.scheduler.admitted and not engine.scheduler.waiting


@pytest.mark.parametrize("lane, gamma", LANES)
def test_cuts_inside_a_round_fall_where_plain_decoding_stops(tiny, lane, gamma):
    prompt = prompts(2)[1]
    with boot(tiny) as engine:
        text = engine.generate(requests([prompt], max_tokens=30))[0].token_ids
    with boot(tiny, lane, gamma) as engine:
        for limit in (1, 2, 3, 5, 8):
            record = engine.generate(requests([prompt], max_tokens=limit))[0]
            assert (record.token_ids, record.finish_reason) == (text[:limit], "length")
        for at in (0, 1, 4, 7):
            record = engine.generate(requests([prompt], max_tokens=30, stop_token_ids=(text[at],)))[0]
            assert (record.token_ids, record.finish_reason) == (text[: text.index(text[at]) + 1], "stop")
        assert idle(engine)
        assert record.first_token_s <= record.end_s and len(record.token_times_s) == record.osl
        assert record.rounds == sum(record.accepted_histogram)
        assert record.accepted == sum(c * n for c, n in enumerate(record.accepted_histogram))


@pytest.mark.parametrize("lane, gamma", LANES)
def test_eos_ends_a_request_unless_ignored(tiny, tmp_path, lane, gamma):
    """A model whose end-of-text token is one it really says."""
    prompt = prompts(2)[1]
    with boot(tiny) as engine:
        text = engine.generate(requests([prompt], max_tokens=20))[0].token_ids
    for path in tiny.iterdir():
        (tmp_path / path.name).symlink_to(path)
    config = tmp_path / "target.json"
    raw = json.loads(config.read_text()) | {"eos_token_id": text[6]}
    config.unlink()
    config.write_text(json.dumps(raw))
    with boot(tmp_path, lane, gamma) as engine:
        record = engine.generate(requests([prompt], max_tokens=20, ignore_eos=False))[0]
        assert (record.token_ids, record.finish_reason) == (text[: text.index(text[6]) + 1], "stop")
        assert engine.generate(requests([prompt], max_tokens=20, ignore_eos=True))[0].token_ids == text


@pytest.mark.parametrize(
    "ids, sampling, reason",
    [
        ((), {}, "prompt is empty"),
        ((5,) * 600, {}, "600 tokens, the context length 512"),
        ((5, 64), {}, "outside 0..63"),
        ((5,) * 200, {"max_tokens": 250}, "KV tokens, the pool holds 256"),
        ((5,), {"max_tokens": 0}, "max_tokens 0"),
        ((5,), {"temperature": -1.0}, "temperature -1.0"),
        ((5,), {"top_p": 0.0}, "top_p 0.0"),
        ((5,), {"top_k": -2}, "top_k -2"),
    ],
)
def test_what_cannot_be_served_is_finished_with_the_reason(tiny, ids, sampling, reason):
    good = requests(prompts(2), max_tokens=4)
    with boot(tiny, "dspark", 3, max_total_num_tokens=256) as engine:
        records = engine.generate([good[0], Request("bad", ids, SamplingParams(**sampling)), good[1]])
        assert records[1].finish_reason.startswith("error: ") and reason in records[1].finish_reason
        assert records[1].token_ids == []
        assert [r.finish_reason for r in records[::2]] == ["length", "length"]
        assert idle(engine)


def test_a_context_that_ends_first_cuts_max_tokens(tiny):
    with boot(tiny, "dspark", 3, context_length=64) as engine:
        record = engine.generate([Request("a", prompts(1, shortest=60)[0], SamplingParams(max_tokens=50, ignore_eos=True))])[0]
    assert (record.osl, record.finish_reason) == (4, "length")


def test_the_same_id_twice(tiny):
    with boot(tiny) as engine:
        request = requests(prompts(1))[0]
        engine.add_request(request)
        engine.add_request(request)
        assert "already being served" in engine.pop_finished()[0].finish_reason
        assert engine.abort("r0") and not engine.abort("r0")
        assert engine.pop_finished()[0].finish_reason == "abort"
        assert idle(engine) and not engine.has_work and engine.step() is None


@pytest.mark.parametrize("lane, gamma", LANES)
def test_non_finite_logits_end_one_request(tiny, lane, gamma):
    """A token whose embedding is NaN poisons its own request only; its pages come back clean."""
    ids = prompts(3)
    poison = (*ids[0], 63)
    ids = [tuple(t if t != 63 else 4 for t in prompt) for prompt in ids]
    with boot(tiny, lane, gamma) as engine:
        expected = [r.token_ids for r in engine.generate(requests(ids, max_tokens=8))]
        assert all(63 not in text for text in expected)
        engine.target.embed = engine.target.embed.clone()
        engine.target.embed[63] = float("nan")
        good = requests(ids, max_tokens=8)
        records = engine.generate([good[0], Request("bad", poison, SamplingParams(max_tokens=8)), *good[1:]])
        assert records[1].finish_reason == "error: the logits are not finite"
        assert [r.token_ids for i, r in enumerate(records) if i != 1] == expected
        assert idle(engine)
        assert [r.token_ids for r in engine.generate(good)] == expected


def test_traces_are_kept_only_when_asked(tiny):
    prompt = prompts(1)[0]
    ask = lambda name, trace, **s: Request(name, prompt, SamplingParams(max_tokens=12, ignore_eos=True, **s), trace=trace)
    with boot(tiny, "dspark", 3) as engine:
        silent, traced, sampled = engine.generate([ask("a", False), ask("b", True), ask("c", True, temperature=0.8)])
    assert silent.trace == [] and silent.token_ids == traced.token_ids
    for record in (traced, sampled):
        assert len(record.trace) == record.rounds
        assert [t for r in record.trace for t in r.emitted] == record.token_ids[1:]
        for r in record.trace:
            assert len(r.drafted) == len(r.draft_probs) == len(r.target_probs) == 3
            assert all(0 <= p <= 1 for p in (*r.draft_probs, *r.target_probs))
            assert r.emitted[: r.accepted] == r.drafted[: r.accepted][: len(r.emitted)]


@pytest.mark.parametrize(
    "settings, flag",
    [
        ({"lane": "medusa"}, "--lane medusa"),
        ({"mode": "jit"}, "--mode jit"),
        ({"accept_rule": "best"}, "--accept-rule best"),
        ({"lane": "dspark", "block_size": 0}, "--block-size 0"),
        ({"lane": "dspark", "block_size": 8}, "--block-size 8"),
        ({"lane": "mtp", "block_size": 3}, "--block-size 3"),
        ({"chunked_prefill_size": 100}, "--chunked-prefill-size 100"),
        ({"context_length": 5000}, "--context-length 5000"),
        ({"max_running_requests": 0}, "--max-running-requests 0"),
        ({"max_running_requests": 10**9}, "pools for --max-running-requests 1000000000"),
        ({"max_mamba_cache_size": 0}, "--max-mamba-cache-size 0"),
        ({"mem_fraction_static": 1.5}, "--mem-fraction-static 1.5"),
        ({"mamba_ssm_dtype": "int8"}, "--mamba-ssm-dtype int8"),
        ({"radix_strategy": "lazy"}, "--radix-strategy lazy"),
        ({"schedule_conservativeness": -1.0}, "--schedule-conservativeness -1.0"),
        ({"threads": 0}, "--threads 0"),
    ],
)
def test_settings_that_no_boot_can_serve(tiny, settings, flag):
    defaults = {"lane": "plain", "context_length": 512}
    with pytest.raises(ConfigError, match=flag):
        Engine(EngineConfig(weights=tiny, **(defaults | settings)))


def test_missing_and_broken_weights(tiny, tmp_path):
    with pytest.raises(ConfigError, match="target.json: model config not found"):
        boot(tmp_path)
    (tmp_path / "target.json").write_text('{"vocab_size": 64,\n')
    with pytest.raises(ConfigError, match="target.json: line 2 is not JSON"):
        boot(tmp_path)
    (tmp_path / "target.json").write_text('{"kda_heads": 4, "attention_heads": 2}')
    with pytest.raises(ConfigError, match="kda_heads, attention_heads must be equal"):
        boot(tmp_path)
    TINY.save(tmp_path / "target.json")
    with pytest.raises(ConfigError, match="target.safetensors: weights not found"):
        boot(tmp_path)
    (tmp_path / "target.safetensors").write_bytes(b"not a checkpoint")
    with pytest.raises(ConfigError, match="not a readable safetensors file"):
        boot(tmp_path)
    (tmp_path / "target.safetensors").write_bytes((tiny / "dspark.safetensors").read_bytes())
    with pytest.raises(ConfigError, match="tensor embed.weight is missing"):
        boot(tmp_path)


@pytest.mark.parametrize("lane, gamma", LANES)
def test_server_info_is_plain_data(tiny, lane, gamma):
    with boot(tiny, lane, gamma, max_mamba_cache_size=5) as engine:
        info = json.loads(json.dumps(engine.server_info()))
    assert info["effective_max_running_requests"] == 5 < info["max_running_requests"] == 8
    assert info["row_invariance"]["shapes"] and isinstance(info["row_invariance"]["ok"], bool)
    assert info["parameters"] > 0 and info["weights_bytes"] == 2 * info["parameters"]
    assert (info["draft_parameters"] > 0) == (lane != "plain")
    assert info["kv_pool_bytes"] == info["max_total_num_tokens"] * 2 * 32 * 4


def test_flush_needs_an_idle_engine(tiny):
    with boot(tiny, "dspark", 2) as engine:
        engine.add_request(requests(prompts(1))[0])
        with pytest.raises(RuntimeError, match="being served"):
            engine.flush_cache()
        engine.abort("r0")
        engine.flush_cache()
