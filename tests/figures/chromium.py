"""Debian's Chromium without a driver: one page in, a picture or its DOM out."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

BINARY = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run")


def screenshot(page: str, out: Path, width: int, height: int) -> None:
    """Render HTML text to a PNG of the given size."""
    _run(page, f"--screenshot={out}", f"--window-size={width},{height}")


def dom(page: str, width: int = 1600, height: int = 1200) -> str:
    """The serialised document after its scripts have run."""
    return _run(page, "--dump-dom", "--virtual-time-budget=2000", f"--window-size={width},{height}")


def _run(page: str, *arguments: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page, "utf8")
        command = [BINARY, *FLAGS, f"--user-data-dir={folder}/profile", *arguments, file.as_uri()]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
