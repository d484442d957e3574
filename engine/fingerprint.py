"""Fingerprint of the code that measures: hashes of syntax trees, so that comments and layout do not count."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path

from engine.arguments import Parser
from kernels.environment import cache_folder

ROOT = Path(__file__).resolve().parent.parent

# Programs beside the measuring path; a change in them cannot move a measured time.
APART = ("engine/train/", "engine/generate.py", "engine/serve", "engine/gate.py", "kernels/bench")


def modules(root: Path = ROOT) -> list[Path]:
    """Sources of `engine` and `kernels` that take part in a measurement, sorted: Python, and the C++ that is compiled on use."""
    packages = [root / package for package in ("engine", "kernels")]
    found = [path for package in packages for kind in ("*.py", "*.cpp", "*.h") for path in package.rglob(kind)]
    return sorted(path for path in found if not path.relative_to(root).as_posix().startswith(APART))


def tree_hash(source: str) -> str:
    """sha256 of a module's syntax tree without docstrings and positions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
                node.body = body[1:]
    return hashlib.sha256(ast.dump(tree).encode("utf8")).hexdigest()


class TreeHashes:
    """`tree_hash` of texts, kept between commands: making them all takes half a second, and every measuring command asks.

    A hash is kept under the sha256 of what it follows from (the text, this module, the Python that parses), so it cannot go stale.
    A file that is absent, damaged or cannot be written costs time, nothing else.
    """

    MOST = 4000
    """Hashes that are kept, a dozen versions of the code; beyond them it begins anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.maker = sys.version.encode("utf8") + Path(__file__).read_bytes()
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError):
            found = None
        self.kept: dict[str, str] = found if isinstance(found, dict) else {}
        self.made: dict[str, str] = {}

    def of(self, source: str) -> str:
        key = hashlib.sha256(self.maker + source.encode("utf8")).hexdigest()
        known = self.kept.get(key)
        if isinstance(known, str) and len(known) == len(key):
            return known
        self.made[key] = tree_hash(source)
        return self.made[key]

    def keep(self) -> None:
        """Write what is new beside what was there."""
        if not self.made:
            return
        whole = {**self.kept, **self.made} if len(self.kept) < self.MOST else self.made
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(whole), "utf8")
            os.replace(part, self.path)


def fingerprint(root: Path = ROOT) -> dict[str, str]:
    """Path relative to the root -> hash, for every measuring module; of C++ the text is hashed as it is."""
    trees = TreeHashes(cache_folder() / "tree-hashes.json")
    found = {}
    for path in modules(root):
        text = path.read_text("utf8")
        found[path.relative_to(root).as_posix()] = trees.of(text) if path.suffix == ".py" else hashlib.sha256(text.encode("utf8")).hexdigest()
    trees.keep()
    return found


def short(hashes: dict[str, str]) -> str:
    """Twelve hex digits over all modules: the `code` column."""
    whole = "".join(f"{name}={value}\n" for name, value in sorted(hashes.items()))
    return hashlib.sha256(whole.encode("utf8")).hexdigest()[:12]


def main(argv: list[str] | None = None) -> int:
    """Write what the report side compares manifests with; it may not import this package."""
    parser = Parser(prog="python -m engine.fingerprint", description="Hashes of the syntax trees of the code that measures.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the JSON object path -> sha256 (default: print it)")
    path = parser.parse_args(argv).out
    text = json.dumps(fingerprint(), indent=1) + "\n"
    if path is None:
        print(text, end="")
        return 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_text(text, "utf8")
        os.replace(part, path)
    except OSError as error:
        print(f"engine.fingerprint: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
