"""The HTTP clients against a scripted server: what they time, what they count, what they call a failure."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.base import EngineFailure
from engine.bench.http_client import Endpoint, LlamaCompletion, OpenAIChat, OpenAICompletions, SglangGenerate, one, run_load
from engine.bench.sse import Stream
from tests.loopback.server import Loopback, Reply, Say, data, document

GAP_S = 0.05


def request(number: int = 0, **sampling: object) -> dict:
    how = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "ignore_eos": False, "max_tokens": 4, "seed": 7, **sampling}
    return {"request_id": f"r{number}", "prompt_ids": (1, 5, 6, 7), "sampling": how}


def requests(count: int) -> list[dict]:
    return [request(number) for number in range(count)]


def chunk(text: str, reason: str | None = None, **more: object) -> bytes:
    return data({"choices": [{"index": 0, "text": text, "finish_reason": reason, **more}]})


def used(tokens: int, prompt: int = 4) -> bytes:
    return data({"choices": [], "usage": {"completion_tokens": tokens, "prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": 2}}})


END = data("[DONE]")


def told(*said: Say, status: int = 200):
    return lambda body, server: Reply(list(said), status)


GOOD = told(Say(chunk(""), GAP_S), Say(chunk("ab"), GAP_S), Say(chunk("cd"), GAP_S), Say(chunk("", "length"), GAP_S), Say(used(5), GAP_S), Say(END))


def asked_one(script, dialect=None, path: str = "/v1/completions", **sampling: object) -> dict:
    dialect = dialect or OpenAICompletions()
    with Loopback({path: script}) as server:
        return run_load(Endpoint(server.url, "m"), dialect, [request(**sampling)], 1, 20.0)["requests"][0]


def test_stamps_begin_at_content_and_end_at_the_finish_reason():
    with Loopback({"/v1/completions": GOOD}) as server:
        answer = run_load(Endpoint(server.url), OpenAICompletions(), [request()], 1, 20.0)
    record = answer["requests"][0]
    assert record["finish_reason"] == "length"
    # the empty chunk is 1 gap after the start, content 2 and 3 gaps, the reason 4, the usage 5; a busy machine only makes gaps longer
    assert record["first_token_s"] - record["queued_s"] >= 2 * GAP_S - 0.002
    assert record["first_token_s"] == record["emissions_s"][0]
    assert record["end_s"] - record["emissions_s"][1] > 0, "the finish reason ends it"
    assert answer["duration_s"] - record["end_s"] >= 0.5 * GAP_S, "the usage behind it does not"
    assert len(record["emissions_s"]) == 2
    assert record["text"] == "abcd"


def test_tokens_are_those_of_usage_not_the_chunks():
    record = asked_one(GOOD)
    assert record["output_tokens"] == 5
    assert record["emission_tokens"] == [None, None]
    assert (record["server_isl"], record["cached_tokens"]) == (4, 2)
    assert record["token_ids"] is None


def test_a_stream_of_ids_counts_them():
    record = asked_one(told(Say(chunk("ab", token_ids=[3, 4]) + chunk("c", "stop", token_ids=[5]) + END)))
    assert record["token_ids"] == [3, 4, 5]
    assert record["output_tokens"] == 3
    assert record["emission_tokens"] == [2, 1]


FAULTS = {
    "no finish reason": (told(Say(chunk("ab") + END)), "finish reason"),
    "no end marker": (told(Say(chunk("ab", "stop") + used(2))), "end marker"),
    "no token count": (told(Say(chunk("ab", "stop") + END)), "usage"),
    "no token": (told(Say(chunk("", "stop") + used(0) + END)), "no token"),
    "an error event": (told(Say(chunk("ab") + data({"error": {"message": "out of\nslots"}}) + END)), "out of slots"),
    "an error field": (told(Say(b'event: error\ndata: {"message": "gone"}\n\n' + END)), "gone"),
    "broken JSON": (told(Say(b"data: {oops\n\n" + END)), "not JSON"),
    "an array": (told(Say(b"data: [1]\n\n" + END)), "no JSON object"),
    "another reason": (told(Say(chunk("ab", "abort") + used(2) + END)), "abort"),
    "fields of another kind": (told(Say(data({"choices": [None]}) + END)), "does not have: {'choices': [None]}"),
    "a good end behind a fault": (told(Say(data({"error": "no slots"}) + chunk("ab", "stop") + used(2) + END)), "no slots"),
    "refused": (told(Say(b'{"error": {"message": "too many"}}'), status=503), "HTTP 503: too many"),
    "refused without words": (told(status=500), "HTTP 500: no reason given"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_was_not_served_is_a_failure_and_says_why(name):
    script, why = FAULTS[name]
    record = asked_one(script)
    assert record["finish_reason"].startswith("error: ")
    assert why in record["finish_reason"]
    assert record["end_s"] is not None


def test_a_cut_connection_fails_one_request_and_no_other():
    count = itertools.count()

    def script(body, server):
        return Reply([Say(chunk("ab"), cut=next(count) == 1), Say(chunk("c", "stop") + used(3) + END)])

    with Loopback({"/v1/completions": script}) as server:
        answer = run_load(Endpoint(server.url), OpenAICompletions(), requests(4), 1, 20.0)
    reasons = [record["finish_reason"] for record in answer["requests"]]
    assert [reason == "stop" for reason in reasons] == [True, False, True, True]
    assert "connection" in reasons[1]


def test_a_server_that_closes_behind_every_answer_loses_no_request():
    """A kept connection would be reused before the news of its end has arrived."""
    with Loopback({"/v1/completions": lambda body, server: Reply([Say(chunk("a", "stop") + used(1) + END)], last=True)}) as server:
        answer = run_load(Endpoint(server.url), OpenAICompletions(), requests(40), 4, 20.0)
        assert len(server.bodies) == 40
    assert {record["finish_reason"] for record in answer["requests"]} == {"stop"}


def test_a_server_that_is_gone_is_a_crash():
    with Loopback({}) as server:
        gone = server.url
    with pytest.raises(EngineFailure, match="every connection failed") as failure:
        run_load(Endpoint(gone), OpenAICompletions(), requests(3), 2, 20.0)
    assert failure.value.status == "crash"
    assert one(Endpoint(gone), OpenAICompletions(), request(), 5.0)["finish_reason"].startswith("error: ")


def test_a_load_that_hangs_is_a_timeout():
    hung = Loopback({"/v1/completions": told(Say(chunk("a"), 30.0))})
    with hung as server, pytest.raises(EngineFailure, match="2 of 2 requests") as failure:
        run_load(Endpoint(server.url), OpenAICompletions(), requests(2), 2, 0.2)
    assert failure.value.status == "timeout"


def test_the_closed_loop_keeps_as_many_in_flight_as_were_asked():
    with Loopback({"/v1/completions": told(Say(chunk("a", "stop") + used(1) + END, GAP_S))}) as server:
        answer = run_load(Endpoint(server.url), OpenAICompletions(), requests(9), 3, 20.0)
        assert server.most == 3
    assert len(answer["requests"]) == 9
    assert answer["arrivals_s"] == {}
    assert all(record["finish_reason"] == "stop" for record in answer["requests"])
    assert sum(record["end_s"] - record["queued_s"] for record in answer["requests"]) / answer["duration_s"] <= 3.0 + 1e-9


def test_the_open_loop_keeps_its_timetable_and_its_cap():
    due = [0.0, 0.0, 0.0, 0.25]
    with Loopback({"/v1/completions": told(Say(chunk("a", "stop") + used(1) + END, 0.06))}) as server:
        answer = run_load(Endpoint(server.url), OpenAICompletions(), requests(4), 2, 20.0, due)
        assert server.most == 2
    sent = [record["queued_s"] for record in answer["requests"]]
    assert answer["arrivals_s"] == {"r0": 0.0, "r1": 0.0, "r2": 0.0, "r3": 0.25}
    assert sent[2] >= 0.059, "the cap holds the third back until one of the first two has ended"
    assert sent[3] >= 0.25
    assert sorted(sent) == sent
    assert answer["client"]["loop_lag_ms"] >= 0
    assert answer["client"]["cpu_share"] >= 0


@pytest.mark.parametrize(("count", "due"), [(0, None), (-1, None), (1, [0.0])])
def test_a_load_that_cannot_be_is_refused(count, due):
    with pytest.raises(ValueError):
        run_load(Endpoint("http://127.0.0.1:9"), OpenAICompletions(), requests(2), count, 1.0, due)


def test_a_chat_sends_text_and_does_not_count_the_role():
    def script(body, server):
        assert body["messages"] == [{"role": "user", "content": "1-5-6-7"}]
        assert "prompt" not in body
        role = data({"choices": [{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}]})
        word = data({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})
        return Reply([Say(role), Say(word + used(1, prompt=11) + END, GAP_S)])

    record = asked_one(script, OpenAIChat(lambda ids: "-".join(map(str, ids))), "/v1/chat/completions")
    assert record["first_token_s"] - record["queued_s"] >= GAP_S - 0.002
    assert len(record["emissions_s"]) == 1
    assert record["isl"] == 11, "the template's tokens are part of the prompt"


def test_bodies_ask_for_nothing_that_was_not_asked():
    plain = OpenAICompletions().body(request(), None)
    assert {"top_k", "ignore_eos", "model"}.isdisjoint(plain)
    assert plain["stream_options"] == {"include_usage": True}
    asked = OpenAICompletions().body(request(top_k=5, ignore_eos=True), "m")
    assert (asked["top_k"], asked["ignore_eos"], asked["model"]) == (5, True, "m")
    llama = LlamaCompletion().body(request(), None)
    assert (llama["top_k"], llama["min_p"], llama["cache_prompt"]) == (0, 0.0, False), "its own defaults cut the distribution"
    assert SglangGenerate().body(request(), None)["sampling_params"]["top_k"] == -1


@pytest.mark.parametrize("cumulative", [True, False])
def test_sglang_streams_are_read_either_way(cumulative):
    steps = [([3], "a", 1), ([4, 5], "bc", 3), ([6], "d", 4)]
    events, ids, text = [], [], ""
    for new, more, total in steps:
        ids, text = [*ids, *new], text + more
        meta = {"completion_tokens": total, "prompt_tokens": 4, "cached_tokens": 0, "finish_reason": None}
        if total == 4:
            meta |= {"finish_reason": {"type": "length", "length": 4}, "spec_verify_ct": 2, "spec_num_correct_drafts": 1, "spec_num_proposed_drafts": 6}
        events.append({"output_ids": ids if cumulative else new, "text": text if cumulative else more, "meta_info": meta})
    script = told(*(Say(data(event), GAP_S) for event in events), Say(END))
    record = asked_one(script, SglangGenerate(), "/generate")
    assert (record["token_ids"], record["text"], record["output_tokens"]) == ([3, 4, 5, 6], "abcd", 4)
    assert record["emission_tokens"] == [1, 2, 1]
    assert (record["rounds"], record["accepted"], record["drafted"]) == (2, 1, 6)
    assert record["finish_reason"] == "length"


def llama_events(rounds: list[tuple[int, int]]) -> list[dict]:
    """What llama.cpp sends for a prefill and rounds of (drafted, accepted): one event a token, one clock a step."""
    events, ids, drafted, accepted, clock = [], 0, 0, 0, 0.0
    for proposed, taken in [(0, 0), *rounds]:
        drafted, accepted, clock = drafted + proposed, accepted + taken, clock + 12.5
        for _ in range(taken + 1):
            ids += 1
            counters = {"draft_n": drafted, "draft_n_accepted": accepted} if drafted else {}
            timings = {"cache_n": 0, "predicted_n": ids, "predicted_ms": clock, **counters}
            events.append({"content": "x", "tokens": [ids], "stop": False, "tokens_predicted": ids, "tokens_evaluated": 4, "timings": timings})
    last = {"content": "", "tokens": [], "stop": True, "stop_type": "limit", "tokens_predicted": ids, "timings": events[-1]["timings"]}
    return [*events, last]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=12), st.booleans())
def test_the_rounds_of_llama_cpp_are_told_apart_by_its_clock(rounds, drafts):
    from engine.bench.http_dialects import blank

    record, dialect = blank(request()), LlamaCompletion(drafts=drafts)
    for number, event in enumerate(llama_events(rounds)):
        dialect.read(event, record, float(number))
    assert record["output_tokens"] == len(record["token_ids"]) == 1 + sum(taken + 1 for _, taken in rounds)
    assert record["emission_tokens"] == [1, *(taken + 1 for _, taken in rounds)]
    if not drafts and not any(proposed for proposed, _ in rounds):
        assert (record["rounds"], record["accepted_histogram"]) == (None, []), "plain decoding has no rounds"
        return
    assert record["rounds"] == len(rounds)
    assert record["drafted"] == sum(proposed for proposed, _ in rounds)
    assert record["accepted"] == sum(taken for _, taken in rounds)
    assert sum(record["accepted_histogram"]) == len(rounds)
    assert sum(at * count for at, count in enumerate(record["accepted_histogram"])) == record["accepted"]


@pytest.mark.parametrize("drafts", [False, True])
def test_a_llama_cpp_that_sends_no_timings_has_unknown_rounds(drafts: bool) -> None:
    """No counters are no zeros: an accept length of one would be made up."""
    from engine.bench.http_dialects import blank

    record, dialect = blank(request()), LlamaCompletion(drafts=drafts)
    for number, event in enumerate(llama_events([(3, 2), (3, 0)])):
        dialect.read({name: value for name, value in event.items() if name != "timings"}, record, float(number))
    assert record["output_tokens"] == 5 and record["finish_reason"] == "length"
    assert [record[name] for name in ("rounds", "drafted", "accepted")] == [None] * 3 and not record["accepted_histogram"]


def test_rounds_are_right_where_llama_cpp_holds_bytes_back():
    """A token that ends inside a character is sent with the next one: fewer events than steps."""
    from engine.bench.http_dialects import blank

    for rounds, lost, histogram in (([(0, 0)] * 6 + [(2, 0)], (2, 3), [7]), ([(3, 2), (0, 0), (3, 1)], (4,), [])):
        record, dialect = blank(request()), LlamaCompletion(drafts=True)
        for number, event in enumerate(llama_events(rounds)):
            if number not in lost:
                dialect.read(event, record, float(number))
        assert (record["rounds"], record["accepted"]) == (len(rounds), sum(taken for _, taken in rounds))
        assert record["accepted_histogram"] == histogram, "unknown where steps with accepted drafts may have been joined"


def test_llama_cpp_needs_no_end_marker():
    record = asked_one(told(Say(b"".join(data(event) for event in llama_events([(3, 2), (3, 0)])))), LlamaCompletion(), "/completion")
    assert (record["finish_reason"], record["output_tokens"], record["rounds"]) == ("length", 5, 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=5), st.lists(st.integers(1, 9), max_size=40), st.sampled_from([b"\n", b"\r\n"]))
def test_events_do_not_depend_on_where_the_network_cuts(texts, cuts, newline):
    raw = b": a comment" + newline * 2
    for text in texts:
        raw += b"data: " + json.dumps({"text": text}, ensure_ascii=False).encode("utf8") + newline * 2
    raw += b"data:[DONE]" + newline * 2
    stream, found, at = Stream(), [], 0
    for size in [*cuts, len(raw)]:
        found += stream.feed(raw[at : at + size])
        at += size
    found += stream.close()
    assert [event.data for event in found] == [*({"text": text} for text in texts), None]
    assert not any(event.fault for event in found)


def test_a_document_where_a_stream_was_asked_for_is_a_failure():
    assert "finish reason" in asked_one(lambda body, server: document({"choices": [{"text": "ab"}]}))["finish_reason"]
