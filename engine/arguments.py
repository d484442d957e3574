"""Command lines of this package."""

from __future__ import annotations

import argparse
from pathlib import Path


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line that names the flag; exit code 2."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class Defaults(argparse.ArgumentDefaultsHelpFormatter):
    """Help that tells each default; of a flag that has no value the flag's own text says what holds instead."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


def file_path(text: str) -> Path:
    """A flag's path; for argparse. An empty one would be the working folder, and no name has a zero byte."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no path")
    return Path(text)
