"""Answers in OpenAI's shapes, whole and in chunks; what speculation did stands in each choice's `meta_info` under SGLang's names."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.serve.errors import ApiError
from engine.serve.loop import Event
from engine.serve.protocol import Call
from engine.serve.text import TextStream
from engine.types import RequestRecord

Decode = Callable[[Sequence[int]], str]


@dataclass
class Choice:
    """One prompt's answer as it grows."""

    index: int
    text: TextStream
    pieces: list[str] = field(default_factory=list)
    tokens: list[dict] = field(default_factory=list)
    """Chat's logprobs content, one entry a token."""
    record: RequestRecord | None = None

    @property
    def finish_reason(self) -> str | None:
        return (self.record.finish_reason or "abort") if self.record else None


class Answer:
    """One call: reads the engine's events, makes chunks and the whole."""

    def __init__(self, call: Call, answer_id: str, served: str, chat: bool, decode: Decode) -> None:
        self.call, self.id, self.served, self.chat, self.decode = call, answer_id, served, chat, decode
        self.created = int(time.time())
        self.choices = [Choice(index, TextStream(decode, call.sampling.stop)) for index in range(len(call.prompts))]

    @property
    def done(self) -> bool:
        return all(choice.record for choice in self.choices)

    def take(self, event: Event) -> list[dict]:
        """Chunks that an event makes certain. ApiError when a request failed or the engine is gone."""
        choice = self.choices[event.index]
        if event.lost:
            raise ApiError("the engine has stopped", status=503)
        if event.record is None:
            tokens = [self._token(*one) for one in zip(event.ids, event.logprobs, event.best or ((),) * len(event.ids))]
            choice.tokens += tokens
            text = choice.text.push(event.ids)
            choice.pieces.append(text)
            return [self.chunk(choice, text, tokens, None)] if text or tokens else []
        if (reason := event.record.finish_reason or "").startswith("error: "):
            raise ApiError(reason.removeprefix("error: "), status=500 if event.record.token_ids else 400)
        choice.record = event.record
        text = choice.text.end()
        choice.pieces.append(text)
        return [self.chunk(choice, text, [], choice.finish_reason)]

    def _token(self, token: int, logprob: float, best: Sequence[tuple[int, float]]) -> dict:
        def entry(one: int, value: float) -> dict:
            text = self.decode([one])
            return {"token": text, "logprob": value, "bytes": list(text.encode("utf8"))}

        return {**entry(token, logprob), "top_logprobs": [entry(*one) for one in best]}

    def _logprobs(self, tokens: list[dict]) -> dict | None:
        if self.call.sampling.logprobs is None:
            return None
        if self.chat:
            return {"content": tokens}
        return {
            "tokens": [one["token"] for one in tokens],
            "token_logprobs": [one["logprob"] for one in tokens],
            "top_logprobs": [{best["token"]: best["logprob"] for best in one["top_logprobs"]} for one in tokens],
        }

    def _head(self, kind: str) -> dict:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.served}

    def opening(self) -> list[dict]:
        """A chat stream begins with the role of each answer."""
        if not self.chat:
            return []
        delta = {"role": "assistant", "content": ""}
        return [self._chunk({"index": c.index, "delta": delta, "logprobs": None, "finish_reason": None}) for c in self.choices]

    def _chunk(self, choice: dict) -> dict:
        usage = {"usage": self.usage() if self.call.continuous_usage else None} if self.call.include_usage else {}
        return {**self._head("chat.completion.chunk" if self.chat else "text_completion"), "choices": [choice], **usage}

    def chunk(self, choice: Choice, text: str, tokens: list[dict], reason: str | None) -> dict:
        content = {"delta": {"content": text} if text else {}} if self.chat else {"text": text}
        body = {"index": choice.index, **content, "logprobs": self._logprobs(tokens) if tokens else None, "finish_reason": reason}
        return self._chunk(body | self._ending(choice) if reason else body)

    def _ending(self, choice: Choice) -> dict[str, Any]:
        return {"matched_stop": choice.record.matched_stop, "meta_info": meta_info(choice.record)}

    def usage_chunk(self) -> dict:
        return {**self._head("chat.completion.chunk" if self.chat else "text_completion"), "choices": [], "usage": self.usage()}

    def usage(self) -> dict:
        prompt, generated = sum(map(len, self.call.prompts)), sum(c.text.tokens for c in self.choices)
        cached = sum(c.record.cached_tokens for c in self.choices if c.record)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": generated,
            "total_tokens": prompt + generated,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def whole(self) -> dict:
        """The answer of a call that does not stream."""
        choices = []
        for choice in self.choices:
            text = "".join(choice.pieces)
            content = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
            reason = {"logprobs": self._logprobs(choice.tokens), "finish_reason": choice.finish_reason}
            choices.append({"index": choice.index, **content, **reason, **self._ending(choice)})
        return {**self._head("chat.completion" if self.chat else "text_completion"), "choices": choices, "usage": self.usage()}


def meta_info(record: RequestRecord) -> dict:
    """Facts of one request. `spec_accept_length` is SGLang's completion tokens a round, which counts the token of the prefill and what
    the end cut off; `accept_length` is 1 + accepted / rounds."""
    info: dict[str, Any] = {
        "id": record.request_id,
        "prompt_tokens": record.isl,
        "completion_tokens": record.osl,
        "cached_tokens": record.cached_tokens,
        "e2e_latency": None if record.end_s is None else record.end_s - record.queued_s,
        "ttft": None if record.first_token_s is None else record.first_token_s - record.queued_s,
        "retractions": record.retractions,
    }
    if record.rounds:
        info |= {
            "spec_verify_ct": record.rounds,
            "spec_accept_length": record.osl / record.rounds,
            "spec_accept_rate": record.accepted / record.drafted if record.drafted else 0.0,
            "spec_num_correct_drafts": record.accepted,
            "spec_num_proposed_drafts": record.drafted,
            "spec_correct_drafts_histogram": list(record.accepted_histogram),
            "accept_length": 1 + record.accepted / record.rounds,
        }
    return info
