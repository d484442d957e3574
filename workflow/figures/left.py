"""What the last build left beside its index: of each drawing the questions behind it, so that one with the same answers is not drawn again.

The file is nobody's input. One that is not there, that other code or other libraries wrote, or that anything happened to, means that everything is drawn.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from workflow.imports import code_of
from workflow.plan import ROOT

FILE = "drawn.json"
LIBRARIES = ("lxml", "matplotlib", "numpy", "pillow")


def code() -> str:
    """Checksum of what draws: the files that this package loads, the libraries, the machine's kind."""
    found = hashlib.sha256(repr((sys.version, platform.machine(), [(name, version(name)) for name in LIBRARIES])).encode())
    for file in code_of("workflow.figures", "workflow.figures.plates.*"):
        found.update(hashlib.sha256((ROOT / file).read_bytes()).digest())
    return found.hexdigest()


def load(folder: Path, code: str) -> dict[str, dict]:
    """Name -> the drawing, as `build` noted it; empty unless this code wrote the file and nobody changed it since."""
    try:
        seal, _, text = (folder / FILE).read_text("utf8").partition("\n")
    except (FileNotFoundError, UnicodeDecodeError):
        return {}
    return json.loads(text) if seal == _seal(code, text) else {}


def text_of(drawings: dict[str, dict], code: str) -> str:
    """Content of the file: a line that seals the rest, then a drawing a line."""
    text = "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(drawing)}" for name, drawing in drawings.items()) + "\n}\n"
    return f"{_seal(code, text)}\n{text}"


def _seal(code: str, text: str) -> str:
    return hashlib.sha256(f"{code}\n{text}".encode()).hexdigest()
