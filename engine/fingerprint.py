"""Fingerprint of the code that measures: hashes of syntax trees, so that comments and layout do not count."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from pathlib import Path

from engine.arguments import Parser

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


def source_hash(path: Path) -> str:
    text = path.read_text("utf8")
    return tree_hash(text) if path.suffix == ".py" else hashlib.sha256(text.encode("utf8")).hexdigest()


def fingerprint(root: Path = ROOT) -> dict[str, str]:
    """Path relative to the root -> hash, for every measuring module; of C++ the text is hashed as it is."""
    return {path.relative_to(root).as_posix(): source_hash(path) for path in modules(root)}


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
