"""Memory in use on the accelerators, read through the vendor's own tool, and waiting until a boot finds them idle."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable

from engine.backends.base import EngineFailure

NVIDIA = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
AMD = ("rocm-smi", "--showmeminfo", "vram", "--json")
TOOL_LIMIT_S = 20.0
IDLE_BYTES = 1 << 30
"""What a driver and an idle context may hold."""
IDLE_LIMIT_S = 60.0

Reading = dict[str, int]
"""Device -> bytes in use."""


def in_use() -> Reading | None:
    """Bytes in use by device; None where neither vendor's tool is there or it does not answer."""
    for words, parse in ((NVIDIA, nvidia), (AMD, amd)):
        if shutil.which(words[0]) is None:
            continue
        try:
            done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=TOOL_LIMIT_S)
            return parse(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError):
            continue
    return None


def nvidia(text: str) -> Reading:
    """One number of MiB a line."""
    return {f"gpu{number}": int(line) << 20 for number, line in enumerate(text.split())}


def amd(text: str) -> Reading:
    return {name: int(card["VRAM Total Used Memory (B)"]) for name, card in json.loads(text).items() if name.startswith("card")}


def wait_idle(limit_s: float = IDLE_LIMIT_S, read: Callable[[], Reading | None] = in_use, pause_s: float = 1.0) -> str | None:
    """Return once every device is idle, with a note where that cannot be known; raise EngineFailure where one stays in use."""
    end = time.monotonic() + limit_s
    while True:
        found = read()
        if found is None:
            return "device memory before the boot not checked: no nvidia-smi or rocm-smi that answers"
        busy = {name: used for name, used in found.items() if used > IDLE_BYTES}
        if not busy:
            return None
        if time.monotonic() >= end:
            held = ", ".join(f"{name} holds {used / 2**30:.1f} GiB" for name, used in busy.items())
            raise EngineFailure("skipped", f"device in use, not booted: {held} after {limit_s:.0f} s of waiting", "device_in_use")
        time.sleep(pause_s)
