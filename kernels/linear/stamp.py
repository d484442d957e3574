"""What the self-test of a linear found, kept between processes: a boot took a third of its time to try again what had been tried.

A stamp is a file in the cache folder: a finding with everything it follows from (this code, torch and its libraries, the processors, the
libraries' settings, shape and threads). It is believed where all of that is the same again. No file, half a file, another library or
a system that does not tell its processor: the test is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import torch

from kernels.environment import cache_folder, library_settings

CPUINFO = Path("/proc/cpuinfo")
PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "cache size", "flags", "Features", "CPU implementer", "CPU part", "CPU revision")
"""Lines of CPUINFO that tell one kind of processor from another; clocks and numbers do not."""


def processors() -> list[str]:
    """Every kind of processor of this machine; empty where the system does not say."""
    if not CPUINFO.exists():
        return []
    blocks = CPUINFO.read_text("utf8", errors="replace").strip().split("\n\n")
    return sorted({"\n".join(line for line in block.splitlines() if line.partition(":")[0].strip() in PROCESSOR) for block in blocks} - {""})


@cache
def circumstances() -> dict[str, Any] | None:
    """What every finding of this process follows from beside its shape; None where it cannot be told."""
    kinds = processors()
    if not kinds:
        return None
    libraries = sorted(Path(torch.__file__).parent.joinpath("lib").iterdir())
    return {
        "code": hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest(),
        "torch": [torch.__version__, torch.__config__.show()],
        "libraries": [[path.name, about.st_size, about.st_mtime_ns] for path in libraries for about in (path.stat(),)],
        "processors": kinds,
        "settings": library_settings(),
    }


def name_of(follows_from: dict[str, Any]) -> Path:
    text = json.dumps(follows_from, sort_keys=True)
    return cache_folder() / "linear" / f"{hashlib.sha256(text.encode('utf8')).hexdigest()[:16]}.json"


def kept(shape: dict[str, Any]) -> Any:
    """The finding that was kept for `shape` under the same circumstances, else None."""
    common = circumstances()
    if common is None:
        return None
    follows_from = {**common, **shape}
    try:
        found = json.loads(name_of(follows_from).read_bytes())
    except (OSError, ValueError):
        return None
    return found.get("found") if isinstance(found, dict) and found.get("follows_from") == follows_from else None


def keep(shape: dict[str, Any], finding: Any) -> None:
    """Keep a finding; a folder that cannot be written costs the next process a test, nothing else."""
    common = circumstances()
    if common is None:
        return
    follows_from = {**common, **shape}
    path = name_of(follows_from)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"follows_from": follows_from, "found": finding}), "utf8")
        os.replace(part, path)
