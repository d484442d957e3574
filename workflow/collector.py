"""Python's collector of cycles at rest while a program builds large trees that stay alive until it ends."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Facts, tables and pages are trees of live objects: the collector would walk them again and again and find nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
