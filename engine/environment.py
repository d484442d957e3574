"""Where the engine keeps what it can make again: the only module of the engine that reads where a user's files live."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/soundings`, else `~/.cache/soundings`; not created here."""
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "soundings" if base else Path.home() / ".cache" / "soundings"
