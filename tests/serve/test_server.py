"""The server over its socket: answers, streams, clients that go away, limits, and what it says about itself."""

import json
import socket
import threading

import pytest

from tests.serve.conftest import QUEUED, serving

PROMPT = "def add(a, b):\n    return"
GREEDY = {"temperature": 0, "max_tokens": 24, "ignore_eos": True}


def complete(server, **body):
    status, answer = server.post("/v1/completions", **{"prompt": PROMPT, **GREEDY, **body})
    assert status == 200, answer
    return answer


def test_an_answer_is_the_engines(server):
    answer = complete(server)
    again = complete(server)
    choice = answer["choices"][0]
    assert choice["text"] == again["choices"][0]["text"] and choice["text"]
    assert choice["finish_reason"] == "length" and answer["usage"]["completion_tokens"] == 24
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + 24
    facts = choice["meta_info"]
    assert facts["spec_verify_ct"] == sum(facts["spec_correct_drafts_histogram"]) > 0
    assert facts["spec_num_correct_drafts"] == sum(c * n for c, n in enumerate(facts["spec_correct_drafts_histogram"]))
    assert facts["accept_length"] == pytest.approx(1 + facts["spec_num_correct_drafts"] / facts["spec_verify_ct"])
    assert facts["spec_accept_length"] == pytest.approx(24 / facts["spec_verify_ct"])


def test_a_stream_is_the_same_text(server):
    events = server.events("/v1/completions", prompt=PROMPT, stream_options={"include_usage": True}, **GREEDY)
    assert events[-1] == "[DONE]"
    *chunks, usage = events[:-1]
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == complete(server)["choices"][0]["text"]
    assert len(chunks) > 3
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 24


def test_the_counts_so_far_come_with_every_chunk_where_they_are_asked_for(server):
    """Clients that measure ask for them: guidellm does, with every request."""
    wanted = {"include_usage": True, "continuous_usage_stats": True}
    events = server.events("/v1/completions", prompt=PROMPT, stream_options=wanted, **GREEDY)
    counts = [event["usage"]["completion_tokens"] for event in events[:-1]]
    assert counts == sorted(counts) and counts[0] >= 1 and counts[-1] == 24
    assert len(set(counts)) > 3, "they grow while the answer does"


def test_chat_whole_and_streamed(server):
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "3 + 4 ="}]}], **GREEDY}
    status, answer = server.post("/v1/chat/completions", **body)
    assert status == 200 and answer["object"] == "chat.completion"
    events = server.events("/v1/chat/completions", **body)
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in events[:-1])
    assert text == answer["choices"][0]["message"]["content"]


def test_several_prompts_in_one_call(server):
    answer = complete(server, prompt=[PROMPT, "1 + 1 =", PROMPT])
    texts = [choice["text"] for choice in answer["choices"]]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert texts[0] == texts[2] == complete(server)["choices"][0]["text"] != texts[1]


def test_a_stop_string_cuts_whole_and_streamed_alike(server):
    full = complete(server)["choices"][0]["text"]
    stop = full[6:9]
    whole = complete(server, stop=[stop])
    choice = whole["choices"][0]
    assert choice["text"] == full[: full.index(stop)] and choice["finish_reason"] == "stop" and choice["matched_stop"] == stop
    assert whole["usage"]["completion_tokens"] < 24
    events = server.events("/v1/completions", prompt=PROMPT, stop=stop, **GREEDY)
    assert "".join(chunk["choices"][0]["text"] for chunk in events[:-1]) == choice["text"]


def test_a_seed_fixes_a_sampled_text(server):
    body = {"temperature": 1.0, "max_tokens": 16}
    one, two, other = (complete(server, seed=seed, **body)["choices"][0]["text"] for seed in (7, 7, 8))
    assert one == two != other


def test_logprobs_one_a_token(server):
    answer = complete(server, logprobs=2, max_tokens=6)
    found = answer["choices"][0]["logprobs"]
    assert len(found["tokens"]) == len(found["token_logprobs"]) == len(found["top_logprobs"]) == 6
    assert all(value <= 0 for value in found["token_logprobs"])
    body = {"messages": [{"role": "user", "content": "hello"}], "logprobs": True, "top_logprobs": 1, **GREEDY, "max_tokens": 4}
    content = server.post("/v1/chat/completions", **body)[1]["choices"][0]["logprobs"]["content"]
    assert len(content) == 4 and all(one["logprob"] == one["top_logprobs"][0]["logprob"] for one in content)


REFUSED = [
    ({"prompt": ""[:0], "n": 2}, "n"),
    ({"prompt": PROMPT, "best_of": 3}, "best_of"),
    ({"prompt": PROMPT, "frequency_penalty": 0.5}, "frequency_penalty"),
    ({"prompt": PROMPT, "presence_penalty": True}, "presence_penalty"),
    ({"prompt": PROMPT, "logit_bias": {"5": 1}}, "logit_bias"),
    ({"prompt": PROMPT, "echo": True}, "echo"),
    ({"prompt": PROMPT, "wibble": 1}, "wibble"),
    ({"prompt": PROMPT, "temperature": -1}, "temperature"),
    ({"prompt": PROMPT, "temperature": "hot"}, "temperature"),
    ({"prompt": PROMPT, "top_p": 0}, "top_p"),
    ({"prompt": PROMPT, "max_tokens": 0}, "max_tokens"),
    ({"prompt": PROMPT, "max_tokens": True}, "max_tokens"),
    ({"prompt": PROMPT, "stop": [""]}, "stop"),
    ({"prompt": PROMPT, "seed": 2**70}, "seed"),
    ({"prompt": PROMPT, "stream": "yes"}, "stream"),
    ({"prompt": PROMPT, "stream_options": {"include_usage": True}}, "stream_options"),
    ({"prompt": PROMPT, "stream": True, "stream_options": {"continuous_usage_stats": True}}, "stream_options"),
    ({"prompt": PROMPT, "stream": True, "stream_options": {"include_usage": True, "wibble": True}}, "stream_options"),
    ({"prompt": PROMPT, "logprobs": 99}, "logprobs"),
    ({"prompt": 5}, "prompt"),
    ({"prompt": []}, "prompt"),
    ({"prompt": "\ud800"}, "prompt"),
    ({}, "prompt"),
]


@pytest.mark.parametrize("body, param", REFUSED)
def test_what_is_not_supported_is_refused_by_name(server, body, param):
    status, answer = server.post("/v1/completions", **body)
    assert status == 400 and answer["error"]["type"] == "invalid_request_error", answer
    assert answer["error"]["param"] == param and answer["error"]["message"]


@pytest.mark.parametrize(
    "raw, says",
    [(b"{", "not JSON"), (b"[1]", "must be a JSON object"), (b"\xff\xfe", "not UTF-8"), (b'{"prompt": "a", "temperature": NaN}', "NaN"), (b"[" * 9000, "nested")],
)
def test_a_body_that_is_no_json_object_is_named(server, raw, says):
    status, data = server.ask("POST", "/v1/completions", raw)
    assert status == 400 and says in json.loads(data)["error"]["message"]


def test_what_the_engine_refuses_is_a_400_also_in_a_stream(server):
    for stream in (False, True):
        status, answer = server.post("/v1/completions", prompt=[3] * 600, stream=stream, **GREEDY)
        assert status == 400 and "600 tokens" in answer["error"]["message"]
        status, answer = server.post("/v1/completions", prompt=[99999], stream=stream, **GREEDY)
        assert status == 400 and "outside" in answer["error"]["message"]


def test_other_faults_have_the_same_shape(server):
    assert server.post("/v1/completions", prompt=PROMPT, model="gpt")[0] == 404
    status, data = server.ask("POST", "/v1/completions", {"prompt": "a" * 30_000})
    assert status == 413 and "20000 bytes" in json.loads(data)["error"]["message"]
    status, data = server.ask("GET", "/nowhere")
    assert status == 404 and json.loads(data)["error"]["type"] == "not_found_error"
    assert server.ask("GET", "/v1/completions")[0] == 405
    assert server.post("/v1/chat/completions", messages=[{"role": "pope", "content": "x"}])[1]["error"]["param"] == "messages[0].role"


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_frees_what_it_held(server, stream):
    body = json.dumps({"prompt": PROMPT, "temperature": 0, "ignore_eos": True, "max_tokens": 450, "stream": stream}).encode()
    before = server.quiet()
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    if stream:
        assert b"200 OK" in connection.recv(400)
    connection.close()
    after = server.quiet()
    assert after["max_total_num_tokens"] == before["max_total_num_tokens"]
    assert complete(server)["usage"]["completion_tokens"] == 24
    metrics = server.ask("GET", "/metrics")[1].decode()
    assert 'soundings_requests_total{reason="abort"}' in metrics


def test_more_than_the_queue_holds_is_turned_away(server):
    room = 2 + QUEUED
    assert server.post("/v1/completions", prompt=[PROMPT] * (room + 1), **GREEDY)[0] == 503
    assert len(complete(server, prompt=[PROMPT] * room, max_tokens=2)["choices"]) == room


def test_the_server_says_what_it_came_to(server):
    complete(server)
    info = server.quiet()
    state = info["internal_states"][0]
    assert info["max_running_requests"] == 2 and state["effective_max_running_requests_per_dp"] == 2
    assert 1 <= state["avg_spec_accept_length"] <= info["block_size"] + 1
    assert state["memory_usage"]["token_capacity"] == 2048
    metrics = server.ask("GET", "/metrics")[1].decode()
    values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    assert float(values["soundings_running_requests"]) == float(values["soundings_queued_requests"]) == 0
    assert float(values["soundings_ready"]) == 1 and float(values["soundings_generation_tokens_total"]) >= 24
    assert server.ask("POST", "/flush_cache")[0] == 200
    assert "avg_spec_accept_length" not in server.quiet()["internal_states"][0]
    assert server.ask("GET", "/v1/models")[0] == 200


def test_a_cache_in_use_is_not_flushed(server):
    body = json.dumps({"prompt": PROMPT, "stream": True, "temperature": 0, "ignore_eos": True, "max_tokens": 400}).encode()
    connection, answer = server.open("POST", "/v1/completions", body)
    answer.read(50)
    status, data = server.ask("POST", "/flush_cache")
    assert status == 400 and "being served" in json.loads(data)["error"]["message"]
    connection.close()
    server.quiet()


def test_an_engine_that_dies_leaves_nobody_waiting(monkeypatch):
    with serving(lane="plain") as client:
        monkeypatch.setattr(threading, "excepthook", lambda _: None)
        monkeypatch.setattr(client.loop.engine, "step", lambda: (_ for _ in ()).throw(MemoryError("no memory left")))
        status, answer = client.post("/v1/completions", prompt=PROMPT, **GREEDY)
        assert status == 503 and "stopped" in answer["error"]["message"]
        assert client.ask("GET", "/health")[0] == 503
        assert client.post("/v1/completions", prompt=PROMPT, **GREEDY)[0] == 503
        assert client.ask("GET", "/server_info")[0] == 503
