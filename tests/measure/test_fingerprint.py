from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import fingerprint as module
from engine.fingerprint import TreeHashes, fingerprint, modules, short, tree_hash

PLAIN = "def f(x):\n    return x + 1\n"


def test_words_and_layout_do_not_count() -> None:
    dressed = '"""A module."""\n\ndef f(x):\n    """Adds one."""\n    # by adding one\n    return (x +\n            1)\n'
    assert tree_hash(PLAIN) == tree_hash(dressed)


def test_code_counts() -> None:
    assert tree_hash(PLAIN) != tree_hash(PLAIN.replace("1", "2"))


def test_a_string_that_is_data_counts() -> None:
    assert tree_hash("x = 'a'\n") != tree_hash("x = 'b'\n")


def test_training_does_not_take_part() -> None:
    names = fingerprint()
    assert "engine/engine.py" in names and "engine/bench/client.py" in names
    assert not any(name.startswith("engine/train/") for name in names)


def test_one_changed_module_changes_the_whole(tmp_path: Path) -> None:
    for package in ("engine", "kernels"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "a.py").write_text(PLAIN)
    assert len(modules(tmp_path)) == 2
    before = short(fingerprint(tmp_path))
    (tmp_path / "kernels" / "a.py").write_text(PLAIN.replace("1", "2"))
    assert short(fingerprint(tmp_path)) != before


def test_a_known_text_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other = tmp_path / "deep" / "hashes.json", PLAIN.replace("1", "2")
    first = TreeHashes(path)
    assert first.of(PLAIN) == tree_hash(PLAIN)
    first.keep()
    monkeypatch.setattr(module, "tree_hash", lambda source: "made again")
    again = TreeHashes(path)
    assert (again.of(PLAIN), again.of(other)) == (tree_hash(PLAIN), "made again"), "the text decides, whichever file it stands in"


@pytest.mark.parametrize("content", ["", "[1, 2]", "{", '{"KEY": 7}', '{"KEY": "half of one"}'])
def test_a_damaged_file_of_hashes_costs_time_only(tmp_path: Path, content: str) -> None:
    path = tmp_path / "hashes.json"
    good = TreeHashes(path)
    good.of(PLAIN)
    good.keep()
    (key,) = json.loads(path.read_text())
    path.write_text(content.replace("KEY", key))
    damaged = TreeHashes(path)
    assert damaged.of(PLAIN) == tree_hash(PLAIN)
    damaged.keep()
    assert json.loads(path.read_text())[key] == tree_hash(PLAIN), "and it is mended"


def test_where_nothing_can_be_kept_hashes_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fingerprint()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert fingerprint() == expected
