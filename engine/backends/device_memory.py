"""Memory in use on the accelerators, read through the vendor's own tool, and waiting until a boot finds them idle."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping

from engine.backends.base import EngineFailure

NVIDIA = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
AMD = ("rocm-smi", "--showmeminfo", "vram", "--json")
TOOL_LIMIT_S = 20.0
IDLE_BYTES = 1 << 30
"""What a driver and an idle context may hold."""
IDLE_LIMIT_S = 60.0
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")

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


def number(name: str) -> int:
    """gpu3, card3 -> 3."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz") or -1)


def nvidia(text: str) -> Reading:
    """One number of MiB a line."""
    return {f"gpu{place}": int(line) << 20 for place, line in enumerate(text.split())}


def amd(text: str) -> Reading:
    return {name: int(card["VRAM Total Used Memory (B)"]) for name, card in json.loads(text).items() if name.startswith("card")}


def visible(environment: Mapping[str, str]) -> frozenset[int] | None:
    """Numbers of the devices that a server may use; None for all of them, also where they are named otherwise (UUIDs)."""
    words = next((environment[name].split(",") for name in VISIBLE if environment.get(name)), None)
    return frozenset(map(int, words)) if words and all(word.strip().isdigit() for word in words) else None


def wait_idle(
    devices: frozenset[int] | None = None, limit_s: float = IDLE_LIMIT_S, read: Callable[[], Reading | None] | None = None, pause_s: float = 1.0
) -> str | None:
    """Return once the devices are idle, with a note where that cannot be known; raise EngineFailure where one stays in use.

    `devices`: numbers of those that count, None for all.
    """
    end = time.monotonic() + limit_s
    while True:
        found = (read or in_use)()
        if found is None:
            return "device memory before the boot not checked: no nvidia-smi or rocm-smi that answers"
        busy = {name: used for name, used in found.items() if used > IDLE_BYTES and (devices is None or number(name) in devices)}
        if not busy:
            return None
        if time.monotonic() >= end:
            held = ", ".join(f"{name} holds {used / 2**30:.1f} GiB" for name, used in busy.items())
            raise EngineFailure("skipped", f"device in use, not booted: {held} after {limit_s:.0f} s of waiting", "device_in_use")
        time.sleep(pause_s)
