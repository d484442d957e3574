"""How one request is written and how its stream is read, server by server. Stateless: everything is in the record.

Tokens are counted by what the server says (`usage`, `meta_info`, `tokens_predicted`) or by the ids it hands out, never by
chunks: a server that speculates puts several tokens in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Record = dict[str, Any]
Decode = Callable[[Sequence[int]], str]


class Dialect(Protocol):
    """One server's protocol."""

    path: str
    ends_with_done: bool
    """A stream that lacks the end marker was cut short."""

    def body(self, request: dict, model: str | None) -> dict:
        """The JSON body of a request {request_id, prompt_ids, sampling {temperature, top_p, top_k, ignore_eos, max_tokens, seed}}."""

    def read(self, event: dict, record: Record, now_s: float) -> None:
        """Take one event of the stream into the record; `now_s` is when its bytes were read."""


def blank(request: dict) -> Record:
    """A record of which nothing is known yet, in the shape of a backend's answer."""
    return {
        "request_id": request["request_id"],
        "isl": len(request["prompt_ids"]),
        "server_isl": None,
        "token_ids": None,
        "output_tokens": None,
        "text": "",
        "queued_s": None,
        "scheduled_s": None,
        "first_token_s": None,
        "end_s": None,
        "emissions_s": [],
        "emission_tokens": [],
        "rounds": None,
        "drafted": None,
        "accepted": None,
        "accepted_histogram": [],
        "finish_reason": None,
        "cached_tokens": None,
        "retractions": None,
        "logprobs": None,
        "trace": [],
    }


def emit(record: Record, now_s: float, text: str, ids: Sequence[int] | None = None, tokens: int | None = None) -> None:
    """A chunk that brought content. One without text and without ids (a role, a held-back byte) is not the first token."""
    if ids:
        record["token_ids"] = [*(record["token_ids"] or ()), *ids]
    record["text"] += text
    if not text and not ids and not tokens:
        return
    if record["first_token_s"] is None:
        record["first_token_s"] = now_s
    record["emissions_s"].append(now_s)
    record["emission_tokens"].append(len(ids) if ids else tokens)


def usage(record: Record, found: dict | None) -> None:
    """OpenAI's usage object; it may come with every chunk, then the last one holds."""
    if not found:
        return
    for key, name in (("completion_tokens", "output_tokens"), ("prompt_tokens", "server_isl")):
        if isinstance(found.get(key), int):
            record[name] = found[key]
    cached = (found.get("prompt_tokens_details") or {}).get("cached_tokens")
    if cached is not None:
        record["cached_tokens"] = cached


META = {
    "cached_tokens": "cached_tokens",
    "completion_tokens": "output_tokens",
    "prompt_tokens": "server_isl",
    "retractions": "retractions",
    "spec_verify_ct": "rounds",
    "spec_num_proposed_drafts": "drafted",
    "spec_num_correct_drafts": "accepted",
}
"""SGLang's facts of one request -> the record's. Acceptance of a request, where `/server_info` has only a lifetime average."""


def meta_info(record: Record, found: dict | None) -> None:
    """SGLang's `meta_info`, also of this repository's server."""
    if not found:
        return
    for key, name in META.items():
        if found.get(key) is not None:
            record[name] = found[key]
    if found.get("spec_correct_drafts_histogram"):
        record["accepted_histogram"] = list(found["spec_correct_drafts_histogram"])


def reason_of(found: object) -> str | None:
    """A finish reason as a word; SGLang writes an object."""
    kind = found.get("type") if isinstance(found, dict) else found
    if kind is None or kind in ("stop", "length"):
        return kind
    more = f": {found['message']}" if isinstance(found, dict) and found.get("message") else ""
    return f"error: {kind}{more}"


def openai_sampling(sampling: dict) -> dict:
    """OpenAI's names; the extensions only where they ask for something, because a strict server refuses what it does not know."""
    body = {"max_tokens": sampling["max_tokens"], "temperature": sampling["temperature"], "top_p": sampling["top_p"]}
    if sampling.get("seed") is not None:
        body["seed"] = sampling["seed"]
    if sampling.get("top_k"):
        body["top_k"] = sampling["top_k"]
    if sampling.get("ignore_eos"):
        body["ignore_eos"] = True
    return body


@dataclass(frozen=True)
class OpenAICompletions:
    """`/v1/completions`, prompts as token ids, or as text for a server that takes no ids."""

    decode: Decode | None = None
    path: str = "/v1/completions"
    ends_with_done: bool = True

    def body(self, request: dict, model: str | None) -> dict:
        prompt = list(request["prompt_ids"]) if self.decode is None else self.decode(request["prompt_ids"])
        asked = {"prompt": prompt, **openai_sampling(request["sampling"]), "stream": True, "stream_options": {"include_usage": True}}
        return {**asked, **({"model": model} if model else {})}

    def read(self, event: dict, record: Record, now_s: float) -> None:
        for choice in event.get("choices") or ():
            emit(record, now_s, self.content(choice), choice.get("token_ids"))
            record["finish_reason"] = reason_of(choice.get("finish_reason")) or record["finish_reason"]
            meta_info(record, choice.get("meta_info"))
        usage(record, event.get("usage"))

    def content(self, choice: dict) -> str:
        return choice.get("text") or ""


@dataclass(frozen=True)
class OpenAIChat(OpenAICompletions):
    """`/v1/chat/completions`: one user message. The server's template adds tokens, so the input length is the server's count."""

    path: str = "/v1/chat/completions"

    def body(self, request: dict, model: str | None) -> dict:
        if self.decode is None:
            raise ValueError("a chat takes text: OpenAIChat needs `decode`")
        body = super().body(request, model)
        return {**{name: value for name, value in body.items() if name != "prompt"}, "messages": [{"role": "user", "content": body["prompt"]}]}

    def read(self, event: dict, record: Record, now_s: float) -> None:
        super().read(event, record, now_s)
        if record["server_isl"] is not None:
            record["isl"] = record["server_isl"]

    def content(self, choice: dict) -> str:
        """Reasoning is generated text like any other; the role alone is no content."""
        delta = choice.get("delta") or {}
        return (delta.get("reasoning_content") or "") + (delta.get("content") or "")


@dataclass(frozen=True)
class SglangGenerate:
    """SGLang's `/generate`: ids in, text, ids and `meta_info` out. Its streams are cumulative unless it was told otherwise."""

    path: str = "/generate"
    ends_with_done: bool = True

    def body(self, request: dict, model: str | None) -> dict:
        sampling = request["sampling"]
        params = {
            "max_new_tokens": sampling["max_tokens"],
            "temperature": sampling["temperature"],
            "top_p": sampling["top_p"],
            "top_k": sampling.get("top_k") or -1,
            "ignore_eos": bool(sampling.get("ignore_eos")),
        }
        if sampling.get("seed") is not None:
            params["sampling_seed"] = sampling["seed"]
        return {"input_ids": list(request["prompt_ids"]), "sampling_params": params, "stream": True}

    def read(self, event: dict, record: Record, now_s: float) -> None:
        meta = event.get("meta_info") or {}
        before = record["output_tokens"] or 0
        total = meta.get("completion_tokens")
        ids, text = event.get("output_ids"), event.get("text") or ""
        known = len(record["token_ids"] or ())
        cumulative = ids is not None and total is not None and known and len(ids) == total
        if cumulative:
            ids = ids[known:]
        text = text.removeprefix(record["text"]) if cumulative or ids is None else text
        emit(record, now_s, text, ids, None if total is None else total - before)
        record["finish_reason"] = reason_of(meta.get("finish_reason")) or record["finish_reason"]
        meta_info(record, meta)


@dataclass(frozen=True)
class LlamaCompletion:
    """llama.cpp's `/completion`. One event a token, also for the tokens of one verification: its own clock tells them apart.

    With `timings_per_token` every event carries the counters so far, and `predicted_ms` changes once a step. So rounds, drafts and
    accepted drafts of each step are known, which the `timings` of the last event alone do not give.
    """

    cache_prompt: bool = False
    drafts: bool = False
    """The lane speculates: a request for which nothing was found to draft still had its rounds."""
    path: str = "/completion"
    ends_with_done: bool = False

    def body(self, request: dict, model: str | None) -> dict:
        sampling = request["sampling"]
        # its own defaults cut the distribution (top_k 40, min_p 0.05): what was not asked for is switched off by name
        asked = {
            "prompt": list(request["prompt_ids"]),
            "n_predict": sampling["max_tokens"],
            "temperature": sampling["temperature"],
            "top_p": sampling["top_p"],
            "top_k": sampling.get("top_k") or 0,
            "min_p": 0.0,
            "ignore_eos": bool(sampling.get("ignore_eos")),
            "cache_prompt": self.cache_prompt,
        }
        if sampling.get("seed") is not None:
            asked["seed"] = sampling["seed"]
        return {**asked, "stream": True, "return_tokens": True, "timings_per_token": True}

    def read(self, event: dict, record: Record, now_s: float) -> None:
        timings = event.get("timings") or {}
        ids, text = event.get("tokens") or [], event.get("content") or ""
        clock = timings.get("predicted_ms")
        same = clock is not None and record.get("step_clock_ms") == clock and record["emissions_s"]
        if same and (ids or text):
            record["token_ids"] = [*(record["token_ids"] or ()), *ids]
            record["text"] += text
            record["emission_tokens"][-1] += len(ids)
        elif ids or text:
            emit(record, now_s, text, ids)
            self.step(record, timings)
        record["step_clock_ms"] = clock
        if isinstance(event.get("tokens_predicted"), int):
            record["output_tokens"] = event["tokens_predicted"]
        if isinstance(event.get("tokens_evaluated"), int):
            record["server_isl"] = event["tokens_evaluated"]
        if "cache_n" in timings:
            record["cached_tokens"] = timings["cache_n"]
        if event.get("stop") is True:
            self.end(event, record)

    def step(self, record: Record, timings: dict) -> None:
        """Counters of the step that this event opens. The first token is the prefill's.

        Timings without `draft_n` say that nothing was drafted so far; an event without timings says nothing.
        """
        if not timings:
            return
        drafted, accepted = timings.get("draft_n") or 0, timings.get("draft_n_accepted") or 0
        if len(record["emissions_s"]) > 1:
            here = accepted - (record["accepted"] or 0)
            record["rounds"] = (record["rounds"] or 0) + 1
            histogram = record["accepted_histogram"]
            histogram += [0] * (here + 1 - len(histogram))
            histogram[here] += 1
        record["drafted"], record["accepted"] = drafted, accepted

    def end(self, event: dict, record: Record) -> None:
        kind = event.get("stop_type")
        record["finish_reason"] = {"eos": "stop", "word": "stop", "limit": "length"}.get(kind, f"error: stop_type {kind}")
        if record["drafted"] is not None and (self.drafts or record["drafted"]):
            # tokens whose bytes were held back bring no event of their own, so steps may have been joined. Every step gives one token
            # and its accepted drafts; a stop inside a draft makes that sum too small, held back bytes the number of events
            seen, rounds = record["rounds"] or 0, (record["output_tokens"] or 1) - 1 - (record["accepted"] or 0)
            if rounds > seen:
                record["rounds"] = rounds
                record["accepted_histogram"] = [] if record["accepted"] else [rounds]
        if event.get("truncated") and kind == "limit" and record["output_tokens"] == 0:
            record["finish_reason"] = "error: the context is full"
        if not record["drafted"] and not self.drafts:
            # the counters of plain decoding say nothing about drafts
            record["rounds"] = record["drafted"] = record["accepted"] = None
            record["accepted_histogram"] = []
