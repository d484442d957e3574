"""The bounds of the claims: one file, fixed before measuring."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import yaml

THRESHOLDS = Path(__file__).with_name("thresholds.yaml")


@functools.lru_cache(maxsize=1)
def read_thresholds() -> dict:
    return yaml.safe_load(THRESHOLDS.read_text("utf8"))


def thresholds_digest() -> str:
    return hashlib.sha256(THRESHOLDS.read_bytes()).hexdigest()
