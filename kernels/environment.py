"""The only place of `kernels` and `engine` that reads how the user set up the process, and where what can be made again is kept."""

from __future__ import annotations

import os
from pathlib import Path

LIBRARIES = ("ATEN_", "DNNL_", "GOMP_", "KMP_", "MKL_", "OMP_", "ONEDNN_", "TORCH_")
"""How the variables begin that steer torch and what it calls."""


def interpret() -> bool:
    """Whether Triton kernels run in the interpreter on CPU tensors (`TRITON_INTERPRET=1`).

    Triton fixes the mode when a kernel is decorated, so a process is either an interpreter
    process or a compiling one, never both.
    """
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/soundings`, else `~/.cache/soundings`; not created here."""
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "soundings" if base else Path.home() / ".cache" / "soundings"


def library_settings() -> dict[str, str]:
    """The variables that may decide which of its kernels a library takes."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(LIBRARIES)}
