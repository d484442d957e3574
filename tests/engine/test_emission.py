"""Where a text ends, what comes beside it, and what is refused: as plain decoding would have it, in every lane."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from engine.config import SamplingParams
from engine.emission import StopStrings, visible_text
from engine.types import Request, RequestRecord

from .conftest import boot, prompts, requests

LANES = [("plain", 1), ("dspark", 5), ("dflash", 3), ("mtp", 1), ("lookup", 4)]
SPELLED = [b"", b"", b"", b"", *(bytes(p) for p in (b"a", b"b", b"ab", b"ba", b"\xc3", b"\xa9", b"aab", b" "))]


def oracle(tokens: list[int], stop: tuple[str, ...]) -> int | None:
    """Number of tokens after which the text first holds a stop string."""
    for n in range(1, len(tokens) + 1):
        text = b"".join(SPELLED[t] for t in tokens[:n])
        if any(s.encode() in text for s in stop):
            return n
    return None


@settings(deadline=None)
@given(
    st.lists(st.integers(0, len(SPELLED) - 1), max_size=30),
    st.lists(st.text(alphabet="ab é", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_stop_strings_are_found_at_the_token_that_completes_them(tokens, stop):
    watch = StopStrings(SPELLED, tuple(stop))
    ended = next((n for n, token in enumerate(tokens, 1) if watch.feed(token) is not None), None)
    assert ended == oracle(tokens, tuple(stop))


def test_the_stop_that_begins_first_is_named_and_cut():
    watch = StopStrings(SPELLED, ("ba", "aab"))
    assert watch.feed(10) == "aab"  # one token that holds both
    record = RequestRecord("x", 0, matched_stop="ba")
    assert visible_text("abab", record) == "a"


@pytest.fixture(scope="module")
def words(tiny, tmp_path_factory):
    """The random model with a tokenizer whose tokens overlap."""
    from tokenizers import Tokenizer, decoders, models

    folder = tmp_path_factory.mktemp("words")
    for path in tiny.iterdir():
        (folder / path.name).symlink_to(path)
    pieces = [a + b + c for a in "ab" for b in ("", *"abc") for c in ("", *"abcd")]
    vocabulary = {f"<{i}>": i for i in range(4)}
    for piece in pieces:
        if piece not in vocabulary and len(vocabulary) < 64:
            vocabulary[piece] = len(vocabulary)
    while len(vocabulary) < 64:
        vocabulary["z" + "abcdefgh"[len(vocabulary) % 8] * (len(vocabulary) // 8)] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([f"<{i}>" for i in range(4)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("lane, gamma", LANES)
def test_stop_strings_cut_where_plain_decoding_would(words, lane, gamma):
    prompt = prompts(2)[1]
    with boot(words) as engine:
        text = engine.generate(requests([prompt], max_tokens=30))[0].token_ids
        engine._stop_refusal(Request("x", (4,), SamplingParams(stop=("a",))))
        spelled = engine._token_bytes
    whole = b"".join(spelled[t] for t in text).decode()
    stops = {whole[at : at + n] for at in (3, 11, 20, 31) for n in (1, 3, 5)}
    with boot(words, lane, gamma) as engine:
        for stop in sorted(stops):
            record = engine.generate(requests([prompt], max_tokens=30, stop=(stop,)))[0]
            n = next(n for n in range(1, 31) if stop.encode() in b"".join(spelled[t] for t in text[:n]))
            assert (record.token_ids, record.finish_reason, record.matched_stop) == (text[:n], "stop", stop)
        silent = engine.generate(requests([prompt], max_tokens=30, stop=("never",)))[0]
        assert (silent.token_ids, silent.finish_reason, silent.matched_stop) == (text, "length", None)


def test_stop_strings_without_a_tokenizer_are_refused(tiny, tmp_path):
    for path in tiny.iterdir():
        (tmp_path / path.name).symlink_to(path)
    ask = requests(prompts(1), stop=("a",))
    with boot(tmp_path) as engine:
        assert "tokenizer not found" in engine.generate(ask)[0].finish_reason
    (tmp_path / "tokenizer.json").write_text("{}")
    with boot(tmp_path) as engine:
        reason = engine.generate(ask)[0].finish_reason
        assert "tokenizer.json: not a tokenizer" in reason and "\n" not in reason
        assert engine.generate(requests(prompts(1), max_tokens=2))[0].finish_reason == "length"


@pytest.mark.parametrize("lane, gamma", LANES[1:])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_logprobs_equal_plain_ones(tiny, lane, gamma, temperature):
    """Bit for bit: at temperature 0 by the lane itself, else under the coupled rule, whose text is plain's."""
    wanted = requests(prompts(3), logprobs=3, temperature=temperature)
    with boot(tiny) as engine:
        expected = engine.generate(wanted)
    with boot(tiny, lane, gamma, accept_rule="coupled") as engine:
        records = engine.generate(wanted)
    for record, plain in zip(records, expected):
        assert record.logprobs == plain.logprobs and record.top_logprobs == plain.top_logprobs
        assert len(record.logprobs) == record.osl and all(len(best) == 3 for best in record.top_logprobs)
        for own, token, best in zip(record.logprobs, record.token_ids, record.top_logprobs):
            assert own <= best[0][1] <= 0 and (own == best[0][1] or token != best[0][0])


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"presence_penalty": 0.5}, "presence_penalty is not supported"),
        ({"frequency_penalty": -1.0}, "frequency_penalty is not supported"),
        ({"repetition_penalty": 1.1}, "repetition_penalty is not supported"),
        ({"logit_bias": ((5, 1.0),)}, "logit_bias is not supported"),
        ({"temperature": float("nan")}, "temperature nan"),
        ({"top_p": float("nan")}, "top_p nan"),
        ({"min_p": 1.5}, "min_p 1.5"),
        ({"min_p": float("nan")}, "min_p nan"),
        ({"seed": 2**64}, "seed 18446744073709551616 must fit into 64 bits"),
        ({"stop": ("",)}, "stop must be a list of strings"),
        ({"stop": "ab"}, "stop must be a list of strings"),
        ({"logprobs": 21}, "logprobs 21 must be"),
    ],
)
def test_what_cannot_be_honoured_is_refused(tiny, changed, reason):
    good = requests(prompts(1), max_tokens=3)[0]
    with boot(tiny, "dspark", 3) as engine:
        bad = Request("bad", (5, 6), SamplingParams(**changed))
        records = engine.generate([bad, good])
    assert records[0].finish_reason.startswith("error: ") and reason in records[0].finish_reason
    assert records[0].token_ids == [] and records[1].finish_reason == "length"


def test_extreme_seeds_are_served(tiny):
    with boot(tiny, "dspark", 3) as engine:
        for seed in (-(2**63), 2**63 - 1):
            assert engine.generate(requests(prompts(1), temperature=1.0, seed=seed, max_tokens=4))[0].osl == 4


@pytest.mark.parametrize("lane, gamma", LANES)
@pytest.mark.parametrize("moment", ["window", "prefill"])
def test_abort_inside_a_step_frees_the_request(tiny, monkeypatch, lane, gamma, moment):
    """The client leaves after the draft and before the commit: nothing more is emitted, nothing is kept."""
    ids = prompts(4)
    with boot(tiny, lane, gamma) as engine:
        expected = engine.generate(requests(ids, max_tokens=12))
        ask = requests(ids, max_tokens=12)
        calls = []
        inner = getattr(engine.target, moment)

        def leaves(*arguments, **keywords):
            calls.append(moment)
            if len(calls) == 2:
                assert engine.abort("r1")
            return inner(*arguments, **keywords)

        monkeypatch.setattr(engine.target, moment, leaves)
        records = engine.generate(ask)
        assert len(calls) >= 2
        assert records[1].finish_reason == "abort" and records[1].osl < 12
        assert records[1].token_ids == expected[1].token_ids[: records[1].osl]
        for i in (0, 2, 3):
            assert records[i].token_ids == expected[i].token_ids
            assert records[i].accepted_histogram == expected[i].accepted_histogram
        assert engine.kv.usage == 0 and engine.states.usage == 0 and not engine.has_work


def test_records_are_plain_data(tiny):
    from dataclasses import asdict

    with boot(tiny, "dspark", 3) as engine:
        record = engine.generate(requests(prompts(1), logprobs=2, max_tokens=3))[0]
    assert json.loads(json.dumps(asdict(record)))["logprobs"] == record.logprobs
