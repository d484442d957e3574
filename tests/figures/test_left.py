"""What stays from the last build is what a build from nothing would draw, byte for byte; anything else is drawn again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.figures import synthetic
from workflow.derive.fact import Cell, Fact
from workflow.derive.values import Values
from workflow.figures import build as building
from workflow.figures import left
from workflow.figures.asked import Asked
from workflow.figures.build import build
from workflow.figures.registry import plates

VALUES = synthetic.values()
Edit = Callable[[dict[str, Fact], str], None]


def field(**change: Callable[[Fact], object]) -> Edit:
    """Edits fields of one fact, each from what the fact is."""
    return lambda facts, key: facts.update({key: replace(facts[key], **{name: new(facts[key]) for name, new in change.items()})})


def beside(facts: dict[str, Fact], key: str) -> None:
    """A further point of a series, or a key that nothing was known of."""
    new = re.sub(r"\d+", lambda digits: str(int(digits[0]) + 1), key, count=1) if re.search(r"\d", key) else f"{key}.more"
    facts.setdefault(new, replace(facts[key], key=new))


EDITS: dict[str, Edit] = {
    "value": field(value=lambda fact: fact.value + "x" if isinstance(fact.value, str) else fact.value * 1.3 if isinstance(fact.value, float) else fact.value + 1),
    "bounds": field(lo=lambda fact: 0.5, hi=lambda fact: 2.5),
    "repeats": field(repeats=lambda fact: (0.9, 1.1)),
    "missing": field(value=lambda fact: None, reason=lambda fact: "cell failed: oom"),
    "source": field(source=lambda fact: (Cell("sweep_elsewhere.csv", "2", "x"),), parents=lambda fact: ("noise.floor",)),
    "gone": lambda facts, key: facts.pop(key) and None,
    "beside": beside,
}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The made-up campaign, drawn; only read."""
    folder = tmp_path_factory.mktemp("built") / "figures"
    build(VALUES, folder)
    return folder


@pytest.fixture
def out(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "figures")


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """Names of what was drawn."""
    names: list[str] = []
    before = building._draw
    monkeypatch.setattr(building, "_draw", lambda name, values, folder: names.append(name) or before(name, values, folder))
    return names


@pytest.fixture
def asked_for(built: Path, monkeypatch) -> list[str]:
    """Names of what would be drawn; it is taken from the build that there is."""
    names: list[str] = []
    told = json.loads((built / left.FILE).read_text("utf8").partition("\n")[2])
    monkeypatch.setattr(building, "_draw", lambda name, values, folder: names.append(name) or told[name])
    return names


@settings(max_examples=6)
@given(st.lists(st.tuples(st.sampled_from(sorted(VALUES.facts)), st.sampled_from(sorted(EDITS))), min_size=1, max_size=3, unique_by=lambda edit: edit[0]))
def test_after_any_edit_of_facts_all_is_as_if_drawn_anew(built: Path, edits: list[tuple[str, str]]):
    facts = dict(VALUES.facts)
    for key, edit in edits:
        EDITS[edit](facts, key)
    edited = replace(VALUES, facts=facts)
    with tempfile.TemporaryDirectory() as folder:
        kept, clean = Path(shutil.copytree(built, Path(folder, "kept"))), Path(folder, "clean")
        build(edited, kept)
        build(edited, clean)
        assert files(kept) == files(clean)


def test_a_plate_is_drawn_again_for_each_fact_that_it_reads(built: Path, plate):
    """Whatever it looked up: taken away, a fact makes it another drawing."""
    told = json.loads((built / left.FILE).read_text("utf8").partition("\n")[2])[plate.id]
    read = [key for key in told["keys"] if key in VALUES.facts] + [fact.key for pattern in told["patterns"] for fact in VALUES.match(pattern)]
    assert read
    for key in read:
        less = replace(VALUES, facts={name: fact for name, fact in VALUES.facts.items() if name != key})
        assert not building._stands(told, less, built), key
    assert building._stands(told, VALUES, built)


def test_nothing_new_draws_nothing(out: Path, drawn: list[str]):
    before = files(out)
    build(VALUES, out)
    assert drawn == [] and files(out) == before


def test_one_fact_draws_what_reads_it_alone(built: Path, out: Path, drawn: list[str]):
    facts = dict(VALUES.facts)
    EDITS["value"](facts, "walls.plain.kv")
    build(replace(VALUES, facts=facts), out)
    assert drawn == ["walls"] and (out / "walls.svg").read_bytes() != (built / "walls.svg").read_bytes()


@pytest.mark.parametrize("name", ["window.svg", "window.narrow.svg", "share.png"])
@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-9] + b"x"), lambda path: path.write_bytes(b"")])
def test_a_file_that_is_not_whole_is_drawn_again(out: Path, drawn: list[str], name: str, harm):
    before = files(out)
    harm(out / name)
    build(VALUES, out)
    assert drawn == [name if name == building.SHARE else "window"] and files(out) == before


@pytest.mark.parametrize("edit", [lambda text: "", lambda text: text.replace('"wide": true', '"wide": false', 1), lambda text: text[:-30], lambda text: "\ud800"])
def test_notes_that_somebody_changed_count_for_nothing(out: Path, asked_for: list[str], edit):
    (out / left.FILE).write_text(edit((out / left.FILE).read_text("utf8")), "utf8", "surrogatepass")
    build(VALUES, out)
    assert asked_for == [*(plate.id for plate in plates()), building.SHARE]


def test_other_libraries_or_another_campaign_draw_everything(out: Path, asked_for: list[str], monkeypatch):
    build(replace(VALUES, campaign="other"), out)
    monkeypatch.setattr(left, "LIBRARIES", (*left.LIBRARIES, "pytest"))
    build(VALUES, out)
    assert asked_for == [*(plate.id for plate in plates()), building.SHARE] * 2


def test_the_code_is_every_module_that_draws(tmp_path: Path, monkeypatch):
    """A copy of the package in which one text differs is other code."""
    root = shutil.copytree(left.ROOT / "workflow", tmp_path / "workflow", ignore=shutil.ignore_patterns("campaigns", "build")).parent
    monkeypatch.setattr(left, "ROOT", root)
    seen = {left.code()}
    for file in ("figures/plates/walls.py", "figures/svg.py", "figures/draw.py", "derive/fact.py"):
        path = root / "workflow" / file
        path.write_text(path.read_text("utf8") + "\n", "utf8")
        seen.add(left.code())
    assert len(seen) == 5


def test_plates_are_drawn_without_matplotlib(out: Path, tmp_path: Path):
    file = tmp_path / "values.json"
    (out / "window.svg").unlink()
    file.write_text(json.dumps(VALUES.to_json()), "utf8")
    script = "import sys; from workflow.figures.__main__ import main; assert main(sys.argv[1:]) == 0; print('matplotlib' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script, "--values", str(file), "--out", str(out)], check=True, capture_output=True, text=True).stdout
    assert said.splitlines()[-1] == "False"


def test_a_plate_can_ask_for_nothing_that_is_not_noted():
    asked = Asked(VALUES)
    assert asked.get("noise.floor") == VALUES.get("noise.floor") and asked.get("no.such") is None and asked.match("lanes.c*.ratio")
    assert (list(asked.keys), list(asked.patterns)) == (["noise.floor", "no.such"], ["lanes.c*.ratio"])
    assert not [name for name in vars(Values) | vars(VALUES) if not name.startswith("_") and name not in ("campaign", "get", "match") and hasattr(asked, name)]
