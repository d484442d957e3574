"""Command lines of this package."""

from __future__ import annotations

import argparse


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line that names the flag; exit code 2."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")
