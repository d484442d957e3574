"""The only place of `kernels` that reads the process environment."""

from __future__ import annotations

import os


def interpret() -> bool:
    """Whether Triton kernels run in the interpreter on CPU tensors (`TRITON_INTERPRET=1`).

    Triton fixes the mode when a kernel is decorated, so a process is either an interpreter
    process or a compiling one, never both.
    """
    return os.environ.get("TRITON_INTERPRET", "0") == "1"
