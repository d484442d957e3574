"""What can serve requests: one file a backend, one interface (`base.Backend`).

A server's module is imported when it is asked for; this package is cheap to import.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from engine.backends.base import Backend
from engine.backends.embedded import EmbeddedBackend
from engine.config import ConfigError

BACKENDS: dict[str, Callable[..., Backend] | str] = {
    "embedded": EmbeddedBackend,
    "sglang": "engine.backends.sglang:SglangBackend",
    "vllm": "engine.backends.vllm:VllmBackend",
    "soundings": "engine.backends.soundings:SoundingsBackend",
    "llamacpp": "engine.backends.llamacpp:LlamaCppBackend",
    "openai": "engine.backends.openai:OpenAIBackend",
}
"""Name in campaign.yaml -> the class, or where it is."""


def known(name: str) -> None:
    """Raises ConfigError for a name that nothing stands behind."""
    if name not in BACKENDS:
        raise ConfigError(f"backend: {name!r} cannot be measured; there are: {', '.join(sorted(BACKENDS))}")


def backend(name: str) -> Callable[..., Backend]:
    """The class behind a name of campaign.yaml."""
    known(name)
    found = BACKENDS[name]
    if isinstance(found, str):
        module, _, attribute = found.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as fault:
            if fault.name != "httpx2":
                raise
            raise ConfigError(f"backend: {name} is asked over HTTP, which needs httpx2: pip install -c requirements.lock -e '.[servers]'") from None
    return found
