"""The bounds of the claims: one file, fixed before measuring."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from workflow.yaml_file import read_yaml

THRESHOLDS = Path(__file__).with_name("thresholds.yaml")


@functools.lru_cache(maxsize=1)
def read_thresholds() -> dict:
    return read_yaml(THRESHOLDS)


def thresholds_digest() -> str:
    return hashlib.sha256(THRESHOLDS.read_bytes()).hexdigest()
