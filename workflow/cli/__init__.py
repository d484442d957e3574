"""The `soundings` command: one file a subcommand, imported when it is called.

A subcommand is a module of this package with `HELP` (one line), `configure(parser)` and `run(arguments) -> exit code`: 0 fine, 1 something
found, 2 bad input. Its name is the module's with dashes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import os
import sys
from pathlib import Path


class BadInput(ValueError):
    """A file or an option that cannot be used; the message names it and what would be right."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def at_least(least: int):
    """Type of an option that is a whole number."""

    def whole(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number >= {least}")
        return int(text)

    return whole


def commands() -> dict[str, str]:
    """Command name -> one line of help, read without importing the modules."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text("utf8")).body:
            if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "HELP" for target in node.targets):
                found[path.stem.replace("_", "-")] = ast.literal_eval(node.value)
    return found


def main(argv: list[str] | None = None) -> int:
    """Entry point of the console script. Returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    known = commands()
    if not argv or argv[0] in ("-h", "--help"):
        width = max(map(len, known))
        print("usage: soundings COMMAND [options]; soundings COMMAND --help\n")
        print("\n".join(f"  {name:{width}}  {line}" for name, line in known.items()))
        return 0 if argv else 2
    if argv[0] not in known:
        print(f"soundings: no command {argv[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    module = importlib.import_module("workflow.cli." + argv[0].replace("-", "_"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek or Chinese shows a question mark
    parser = Parser(prog=f"soundings {argv[0]}", description=module.HELP)
    module.configure(parser)
    try:
        code = module.run(parser.parse_args(argv[1:]))
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"soundings {argv[0]}: {error}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: the interpreter's own flush must not fail as well
        print(f"soundings {argv[0]}: the output was closed before all of it was written", file=sys.stderr)
    return 2
