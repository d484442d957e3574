"""Sizes in bytes as a person writes them."""

from __future__ import annotations

import re

from engine.config.fault import ConfigError

SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str | int) -> int:
    """Bytes of a size such as 268435456, 256M or 1G (powers of 1024); `ConfigError` on anything else."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    if not match:
        raise ConfigError(f"--device-memory {text}: give bytes, or a number with K, M or G, such as 256M")
    return int(match[1]) * SIZE_UNITS[match[2].upper()]
