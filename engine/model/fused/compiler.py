"""Compile `src/forward.cpp` for this machine, once, into the cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.config import ConfigError
from engine.machine import CPUINFO
from kernels.environment import cache_folder

SOURCES = Path(__file__).resolve().parent / "src"
COMPILERS = ("g++", "c++", "clang++")
NATIVE = "native"
# Explicit vectors need no more than -O2, which compiles in a third of the time of -O3.
FLAGS = ("-O2", "-std=c++17", "-shared", "-fPIC", "-fopenmp", "-fno-math-errno", "-ffp-contract=fast", "-Wno-psabi")


@dataclass(frozen=True)
class Build:
    """A compiled library and what it was made with."""

    path: Path
    compiler: str
    """First line of `--version`."""
    march: str


def find_compiler() -> str:
    """Path of a C++ compiler; `ConfigError` says what to install where there is none."""
    for name in COMPILERS:
        if found := shutil.which(name):
            return found
    raise ConfigError(
        "--mode fused: needs a C++ compiler and found none of "
        f"{', '.join(COMPILERS)}; install one (Debian, Ubuntu: apt-get install g++) or use --mode eager"
    )


def cpu_flags() -> str:
    """What `-march=native` depends on: a cache folder may be shared by different machines."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text("utf8", errors="replace").splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor() or platform.machine()


def build(head_dim: int, march: str = NATIVE, folder: Path | None = None, defines: tuple[str, ...] = ()) -> Build:
    """The library for one head dimension, from `folder` (default: the cache folder) or compiled into it.

    `defines`: macros of variants that are timed but not served (`FUSED_DOT`).
    Raises `ConfigError` when there is no compiler or it fails; the message carries its first error.
    """
    compiler = find_compiler()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    flags = (*FLAGS, f"-march={march}", f"-DFUSED_DIM={head_dim}", *(f"-D{name}" for name in defines))
    text = [version, *flags, cpu_flags() if march == NATIVE else ""]
    text += [path.read_text("utf8") for path in sorted(SOURCES.iterdir())]
    key = hashlib.sha256("\0".join(text).encode("utf8")).hexdigest()[:16]
    folder = folder or cache_folder()
    target = folder / f"fused-{key}.so"
    if not target.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        compile_to(target, [compiler, *flags])
    return Build(target, version, march)


def compile_to(target: Path, command: list[str]) -> None:
    """Compile beside the target and move it there, so that two processes may do it at once."""
    handle, partial = tempfile.mkstemp(suffix=".so", dir=target.parent)
    os.close(handle)
    try:
        done = subprocess.run([*command, "-o", partial, str(SOURCES / "forward.cpp")], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
            raise ConfigError(f"--mode fused: {command[0]} failed ({errors[0].strip()}); use --mode eager")
        os.replace(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)
