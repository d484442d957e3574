"""Bodies of completion requests, checked field by field. What the engine cannot honour is refused, never ignored."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.config import SamplingParams
from engine.serve.errors import ApiError

COMPLETION_TOKENS, CHAT_TOKENS = 16, 256
"""Tokens generated where the body does not say: OpenAI's default for completions, ours for chats."""
MAX_PROMPTS, MAX_STOPS = 64, 8
ROLES = ("system", "developer", "user", "assistant")

NEUTRAL: dict[str, tuple] = {
    "n": (1, None),
    "best_of": (1, None),
    "echo": (False, None),
    "suffix": (None, ""),
    "presence_penalty": (0, None),
    "frequency_penalty": (0, None),
    "repetition_penalty": (1, None),
    "logit_bias": (None, {}),
    "tools": (None, []),
    "tool_choice": (None, "none"),
    "response_format": (None, {"type": "text"}),
}
"""Fields that this engine does not honour, with the values that ask for nothing."""
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "stop", "stop_token_ids", "ignore_eos", "logprobs")
SHARED = ("model", "stream", "stream_options", "user", *SAMPLING)
COMPLETION_FIELDS = ("prompt", *SHARED)
CHAT_FIELDS = ("messages", "max_completion_tokens", "top_logprobs", *SHARED)


@dataclass(frozen=True)
class Call:
    """A checked body: one engine request for each prompt."""

    prompts: tuple[tuple[int, ...], ...]
    sampling: SamplingParams
    stream: bool
    include_usage: bool
    continuous_usage: bool = False
    """The counts so far with every chunk, vLLM's `continuous_usage_stats`."""


Encode = Callable[[str], tuple[int, ...]]


def parse_body(raw: bytes) -> dict[str, Any]:
    """A JSON object, or an ApiError."""
    try:
        body = json.loads(raw.decode("utf8"), parse_constant=_no_constant)
    except UnicodeDecodeError as fault:
        raise ApiError(f"the body is not UTF-8 at byte {fault.start}") from None
    except json.JSONDecodeError as fault:
        raise ApiError(f"the body is not JSON: line {fault.lineno}, column {fault.colno}: {fault.msg}") from None
    except RecursionError:
        raise ApiError("the body is nested too deeply") from None
    if not isinstance(body, dict):
        raise ApiError(f"the body must be a JSON object, got {type(body).__name__}")
    return body


def _no_constant(word: str) -> None:
    raise ApiError(f"the body holds {word}, which is not JSON")


def completion(body: dict[str, Any], encode: Encode, served: str) -> Call:
    """A body of /v1/completions."""
    _check_fields(body, COMPLETION_FIELDS, served)
    logprobs = body.get("logprobs")
    asked = None if logprobs is None else _integer(logprobs, "logprobs")
    return _call(body, _prompts(body.get("prompt"), encode), body.get("max_tokens"), COMPLETION_TOKENS, asked)


def chat(body: dict[str, Any], encode: Encode, served: str) -> Call:
    """A body of /v1/chat/completions. The model knows no roles: turns are written as `role: text` lines, the answer follows `assistant:`."""
    _check_fields(body, CHAT_FIELDS, served)
    limit = body.get("max_completion_tokens")
    if limit is not None and body.get("max_tokens") is not None:
        raise ApiError("give max_tokens or max_completion_tokens, not both", param="max_completion_tokens")
    limit = body.get("max_tokens") if limit is None else limit
    best = body.get("top_logprobs")
    asked = _integer(0 if best is None else best, "top_logprobs") if _flag(body, "logprobs") else None
    if asked is None and best:
        raise ApiError("top_logprobs needs logprobs: true", param="top_logprobs")
    return _call(body, (encode(chat_prompt(body.get("messages"))),), limit, CHAT_TOKENS, asked)


def chat_prompt(messages: Any) -> str:
    """Messages as one text."""
    if not isinstance(messages, list) or not messages:
        raise ApiError("messages must be a list with at least one message", param="messages")
    turns = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise ApiError(f"{where}.role must be one of {', '.join(ROLES)}", param=f"{where}.role")
        if unknown := sorted(set(message) - {"role", "content", "name"}):
            raise ApiError(f"{where}.{unknown[0]} is not supported", param=f"{where}.{unknown[0]}")
        turns.append(f"{message['role']}: {_content(message.get('content'), where)}\n")
    return "".join(turns) + "assistant:"


def _content(content: Any, where: str) -> str:
    if isinstance(content, list):
        if not all(isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str) for part in content):
            raise ApiError(f"{where}.content may hold parts of type text only", param=f"{where}.content")
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise ApiError(f"{where}.content must be text", param=f"{where}.content")
    return _text(content, f"{where}.content")


def _text(text: str, param: str) -> str:
    """Text that UTF-8 can carry: a lone surrogate cannot be tokenized."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError as fault:
        raise ApiError(f"{param} holds a lone surrogate at character {fault.start}", param=param) from None
    return text


def _check_fields(body: dict[str, Any], known: tuple[str, ...], served: str) -> None:
    for name, value in body.items():
        if name in NEUTRAL:
            if not any(value == neutral and isinstance(value, bool) == isinstance(neutral, bool) for neutral in NEUTRAL[name]):
                raise ApiError(f"{name} = {json.dumps(value)[:80]} is not supported by this server", param=name, code="unsupported_parameter")
        elif name not in known:
            raise ApiError(f"unknown field {name!r}; known are {', '.join(known)}", param=name, code="unknown_parameter")
    model = body.get("model")
    if model is not None and model != served:
        raise ApiError(f"model {model!r} is not served here; {served!r} is", status=404, param="model", code="model_not_found")


def _prompts(prompt: Any, encode: Encode) -> tuple[tuple[int, ...], ...]:
    """One text, one list of token ids, or a list of either."""
    if isinstance(prompt, str):
        return (encode(_text(prompt, "prompt")),)
    if not isinstance(prompt, list) or not prompt:
        raise ApiError("prompt must be text, token ids, or a list of either that is not empty", param="prompt")
    if all(_is_int(token) for token in prompt):
        return (tuple(prompt),)
    if len(prompt) > MAX_PROMPTS:
        raise ApiError(f"prompt holds {len(prompt)} prompts, at most {MAX_PROMPTS} are served in one call", param="prompt")
    found = []
    for place, one in enumerate(prompt):
        if isinstance(one, str):
            found.append(encode(_text(one, f"prompt[{place}]")))
        elif isinstance(one, list) and one and all(_is_int(token) for token in one):
            found.append(tuple(one))
        else:
            raise ApiError(f"prompt[{place}] must be text or token ids", param=f"prompt[{place}]")
    return tuple(found)


def _call(body: dict[str, Any], prompts: tuple[tuple[int, ...], ...], max_tokens: Any, default: int, logprobs: int | None) -> Call:
    stop = body.get("stop")
    stops = () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop) if isinstance(stop, list) else None
    if stops is None or len(stops) > MAX_STOPS or not all(isinstance(one, str) and one for one in stops):
        raise ApiError(f"stop must be text or a list of at most {MAX_STOPS} texts, none of them empty", param="stop")
    tokens = body.get("stop_token_ids") or []
    if not isinstance(tokens, list) or not all(_is_int(token) for token in tokens):
        raise ApiError("stop_token_ids must be a list of integers", param="stop_token_ids")
    sampling = SamplingParams(
        temperature=_number(body, "temperature", 1.0),
        top_p=_number(body, "top_p", 1.0),
        top_k=_top_k(body),
        max_tokens=default if max_tokens is None else _integer(max_tokens, "max_tokens"),
        ignore_eos=_flag(body, "ignore_eos"),
        stop_token_ids=tuple(tokens),
        stop=stops,
        min_p=_number(body, "min_p", 0.0),
        logprobs=logprobs,
        seed=None if body.get("seed") is None else _integer(body["seed"], "seed"),
    )
    if fault := sampling.fault():
        raise ApiError(fault, param=fault.split(" ", 1)[0])
    stream = _flag(body, "stream")
    options = body.get("stream_options") or {}
    if not isinstance(options, dict) or set(options) - {"include_usage", "continuous_usage_stats"}:
        raise ApiError("stream_options may hold include_usage and continuous_usage_stats only", param="stream_options")
    if options and not stream:
        raise ApiError("stream_options needs stream", param="stream_options")
    usage, continuous = _flag(options, "include_usage"), _flag(options, "continuous_usage_stats")
    if continuous and not usage:
        raise ApiError("stream_options.continuous_usage_stats needs include_usage", param="stream_options")
    return Call(prompts, sampling, stream, usage, continuous)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(value: Any, name: str) -> int:
    if not _is_int(value) or not -(2**63) <= value < 2**63:
        raise ApiError(f"{name} must be an integer of 64 bits", param=name)
    return value


def _top_k(body: dict[str, Any]) -> int:
    """-1 keeps the whole vocabulary as 0 does: servers differ in which of the two they take."""
    value = body.get("top_k")
    return 0 if value is None or value == -1 else _integer(value, "top_k")


def _number(body: dict[str, Any], name: str, default: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ApiError(f"{name} must be a number", param=name)
    return float(value)


def _flag(body: dict[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ApiError(f"{name} must be true or false", param=name)
    return value
