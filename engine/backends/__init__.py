"""What can serve requests: one file a backend, one interface (boot, run, trace, stop).

Heavy imports stay inside the engine processes; this package is cheap to import.
"""

from __future__ import annotations

from engine.backends.embedded import EmbeddedBackend
from engine.config import ConfigError

BACKENDS = {"embedded": EmbeddedBackend}


def backend(name: str) -> type[EmbeddedBackend]:
    """The class behind a name of campaign.yaml."""
    if name not in BACKENDS:
        raise ConfigError(f"backend: {name!r} cannot be measured; there are: {', '.join(sorted(BACKENDS))}")
    return BACKENDS[name]
