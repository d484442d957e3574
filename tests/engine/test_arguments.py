"""A flag that cannot be used: one line that names it and where to look, exit code 2."""

from __future__ import annotations

import importlib

import pytest

COMMANDS = {
    "engine.generate": ["--prompt-file", "p.txt"],
    "engine.serve.__main__": [],
    "engine.search": ["--campaign", "c.yaml"],
    "engine.sweep": ["--campaign", "c.yaml", "--sweep", "window"],
    "engine.gate": ["--campaign", "c.yaml"],
    "engine.train.__main__": ["target"],
    "engine.sps": ["--steps", "s.csv", "--out", "o.json"],
    "engine.fingerprint": [],
    "engine.backends.gguf": ["m.gguf", "t.json"],
    "engine.bench.attempts": [],
    "engine.bench.boundary": [],
    "engine.bench.verify_cost": [],
}


def complaint(capsys, module: str, *argv: str) -> str:
    with pytest.raises(SystemExit) as stop:
        importlib.import_module(module).main(list(argv))
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("module", COMMANDS)
def test_an_unknown_flag(module, capsys):
    name = module.removesuffix(".__main__")
    said = complaint(capsys, module, *COMMANDS[module], "--no-such-flag")
    assert said == f"python -m {name}: unrecognized arguments: --no-such-flag; see python -m {name} --help\n"


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--minutes", "0"), ("--minutes", "nan"), ("--minutes", "inf"), ("--generate-minutes", "-1"), ("--ranks", "0"), ("--ranks", "1.5"), ("--rows", "x"), ("--problems", "0")],
)
def test_training_refuses_a_size_before_it_reads_anything(flag, value, capsys):
    said = complaint(capsys, "engine.train.__main__", "target", flag, value)
    assert f"argument {flag}: '{value}': expected a" in said
