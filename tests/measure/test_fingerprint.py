from __future__ import annotations

from pathlib import Path

from engine.fingerprint import fingerprint, modules, short, tree_hash

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
