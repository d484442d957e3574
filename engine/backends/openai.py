"""A server that runs already and speaks OpenAI's protocol: nothing is launched, what it says about itself is taken, the rest is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from engine.backends import http_ask
from engine.backends.base import CAPACITIES, EngineFailure
from engine.backends.server import ServerBackend
from engine.backends.server_flags import FlagMap
from engine.bench.http_client import OpenAIChat, OpenAICompletions
from engine.config import ConfigError

UNKNOWN = "unknown"
INFO_PATHS = ("/server_info", "/get_server_info")
LAUNCHED_WITH = {
    "mem_fraction_static": "mem_fraction_static",
    "chunked_prefill_size": "chunked_prefill_size",
    "max_running_requests": "max_running_requests",
    "schedule_conservativeness": "schedule_conservativeness",
    "disable_radix_cache": "disable_radix_cache",
    "speculative_algorithm": "speculative_algorithm",
    "speculative_num_draft_tokens": "speculative_num_draft_tokens",
    "lane": "lane",
    "block_size": "block_size",
    "mode": "mode",
}
"""Launch flags that a /server_info repeats -> how the note names them."""
CHAT = "--chat"
"""In measure.server.flags: ask /v1/chat/completions. Nothing is launched, so there is no other use of flags."""


class OpenAIBackend(ServerBackend):
    name = "openai"
    flags = FlagMap(server="openai", knobs={}, lanes={"plain": ()}, choices={})
    signatures = "openai"
    launches = False
    has_metrics = False
    # every prompt gets a nonce: whether a cache can be emptied is not part of the protocol
    flushes = False

    def boot(self) -> dict[str, Any]:
        if self.config.knobs:
            raise ConfigError(f"measure.engine: a server that runs already cannot be given {', '.join(sorted(self.config.settings))}")
        if unknown := [word for word in self.config.flags if word != CHAT]:
            raise ConfigError(f"measure.server.flags: backend openai launches nothing; {' '.join(unknown)} has no effect ({CHAT} asks for chats)")
        if self.config.lane != self.lane_served():
            # two arms of one running server would be one server twice, compared with itself
            raise EngineFailure("rejected", f"the running server serves lane {self.lane_served()} (measure.server.lanes names it), not {self.config.lane}")
        return super().boot()

    def lane_served(self) -> str:
        """The only key of measure.server.lanes; plain where nothing is declared."""
        declared = [name for name, _ in self.config.lanes]
        if len(declared) > 1:
            raise ConfigError(f"measure.server.lanes: a server that runs already has one lane; given are {', '.join(declared)}")
        return declared[0] if declared else "plain"

    def dialect(self) -> OpenAICompletions:
        if CHAT not in self.config.flags:
            return OpenAICompletions()
        from tokenizers import Tokenizer

        return OpenAIChat(Tokenizer.from_file(self.config.tokenizer).decode)

    def read_info(self) -> dict[str, Any]:
        """Capacities and launch flags as far as the server tells; what it does not tell is called unknown in the notes."""
        document = next((found for path in INFO_PATHS if (found := http_ask.document(f"{self.url}{path}"))), {})
        told = {name: document[name] for name in CAPACITIES if isinstance(document.get(name), int | float)}
        states = document.get("internal_states")
        state = states[0] if isinstance(states, list) and states else None
        cap = state.get("effective_max_running_requests_per_dp") if isinstance(state, Mapping) else None
        if isinstance(cap, int):
            told["effective_max_running_requests"] = cap
        flags = ", ".join(f"{label} {document[name]}" for name, label in LAUNCHED_WITH.items() if document.get(name) is not None)
        return {**told, "server_version": self.version(document), "notes": [f"launch flags: {flags or UNKNOWN}"]}

    def version(self, info: Mapping[str, Any]) -> str:
        """/version (vLLM), else what /server_info says (SGLang), else the Server header, else unknown."""
        said = (http_ask.document(f"{self.url}/version") or {}).get("version") or info.get("version")
        return str(said) if said else header(self.url) or UNKNOWN


def header(url: str) -> str | None:
    """The Server header of the model list; a proxy or web framework may have written it, so its name stays in front."""
    try:
        answer = httpx2.get(f"{url}/v1/models", timeout=http_ask.LIMIT_S, trust_env=False)
    except httpx2.TransportError:
        return None
    found = answer.headers.get("server")
    return f"Server: {found}" if found else None
