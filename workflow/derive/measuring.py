"""Which modules of a fingerprint take part in a campaign's measurement."""

from __future__ import annotations

from collections.abc import Mapping

DRIVERS = frozenset(
    [f"engine/backends/{name}.py" for name in ("sglang", "sglang_log", "vllm", "vllm_log", "llamacpp", "openai", "soundings", "gguf")]
    + [f"engine/backends/{name}.py" for name in ("server", "launch", "ready", "reaper", "warm", "failure", "device_memory", "http_ask", "log_notes", "metrics_text")]
    + [f"engine/bench/{name}.py" for name in ("http_client", "http_dialects", "sse")]
)
"""Modules that launch servers and ask them over HTTP. No program that measures the embedded engine imports one of them."""

SERVERS = frozenset({"sglang", "vllm", "llamacpp", "openai", "soundings"})
"""Backends that launch or ask a server; the embedded engine and rows from elsewhere are none."""


def taking_part(fingerprint: Mapping[str, str], backend: str) -> dict[str, str]:
    """The modules that can move a time of this backend, with their hashes."""
    return {name: value for name, value in fingerprint.items() if backend != "embedded" or name not in DRIVERS}
