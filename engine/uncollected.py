"""Imports that are not searched for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """What is made in here stays: looking for garbage in it takes a tenth of torch's imports, again in each boot, and at the end as long as all of it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
