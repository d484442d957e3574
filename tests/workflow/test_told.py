"""The last word of a build: what moved beyond noise, which claims flipped, said once and only when new rows changed the page."""

from dataclasses import replace

from tests.page.test_main import house, run  # noqa: F401
from workflow.derive.moved import Move
from workflow.told import FILE, LINES, say, told

MOVES = [
    Move("a", "moved", 10.0, 12.0, "ms", 2.0, 0.5),
    Move("b", "moved", 10.0, 40.0, "ms", 30.0, 0.5),
    Move("l", "moved", "dspark", "plain"),
    Move("c", "within noise", 1.0, 1.001, "", 0.001, 0.1),
    Move("lanes.win", "claim flipped", "holds", "fails"),
]


def test_flipped_first_then_by_size():
    lines = told("local", MOVES, "old.json", "new.json").splitlines()
    assert lines == [
        "local, since the last publication: 1 claims flipped, 3 numbers moved beyond noise, 1 within it",
        "  flipped  lanes.win: holds -> fails",
        "  moved    b: 10 -> 40 ms (+30, noise 0.5)",
        "  moved    a: 10 -> 12 ms (+2, noise 0.5)",
        "  moved    l: dspark -> plain",
        "  everything: soundings moved --all old.json new.json",
    ]


def test_a_long_list_ends_with_the_command_that_has_the_rest():
    many = [replace(MOVES[0], key=f"k{at}") for at in range(LINES + 30)]
    lines = told("local", many, "old.json", "new.json").splitlines()
    assert len(lines) == LINES + 2 and lines[-1].startswith("  everything: soundings moved")


def test_said_once_and_only_when_the_values_changed(house, capsys):  # noqa: F811
    build = house.root / "build"
    assert run(house) == 0 and not (build / FILE).exists()
    values = build / "local/values.json"
    values.write_text(values.read_text("utf8").replace("20.04", "31.4"), "utf8")
    assert run(house) == 0
    capsys.readouterr()
    say(build)
    assert "w.plain.tpot_ms: 20.04 -> 31.4 ms" in capsys.readouterr().out
    say(build)
    house.edit("content/en/01-window.md", "- first", "- once more, first")
    assert run(house) in (0, 1) and not (build / FILE).exists()
    capsys.readouterr()
    say(build)
    assert capsys.readouterr().out == ""
