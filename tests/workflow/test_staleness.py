"""Edit one input of each kind, build again: the page shows the new content and nothing of the old."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.derive.edit import scale
from tests.workflow.conftest import Copy

pytestmark = pytest.mark.slow


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf8")
    assert text.count(old) >= 1, f"{path.name} has no {old!r}"
    path.write_text(text.replace(old, new, 1), "utf8")


def page(copy: Copy, language: str = "") -> str:
    return (copy.root / "site" / language / "index.html").read_text("utf8")


def value(copy: Copy, key: str) -> float:
    return json.loads((copy.root / "site" / "values.json").read_text("utf8"))["facts"][key]["value"]


def shown(html: str, key: str) -> set[str]:
    """The unrounded values that the spans and cells of one key carry."""
    spans = re.findall(r"<(?:data|td)\b[^>]*>", html)
    return {re.search(r'value="([^"]*)"', span)[1] for span in spans if f'data-key="{key}"' in span}


def test_a_row(built: Copy):
    key = "lanes.c1.ratio"
    before = value(built, key)
    assert shown(page(built), key)
    scale(built.campaign, "sweep_concurrency.csv", "duration_s", 0.8, lane="dspark", max_concurrency="1")
    said = built.build()
    assert "since the last publication: " in said and f"{key}: " in said.split("since the last publication: ")[-1] or "everything: " in said
    assert "since the last publication: " not in built.build()
    assert value(built, key) == pytest.approx(1.25 * before)
    for language in ("", "zh"):
        (now,) = shown(page(built, language), key)
        assert float(now) == pytest.approx(1.25 * before)


def test_a_derive_module(built: Copy):
    assert "the processor as the manifests name it" not in (built.root / "site/numbers/index.html").read_text("utf8")
    replace(built.root / "workflow/derive/facts/machine.py", "processor name in the manifests", "the processor as the manifests name it")
    built.build()
    assert "the processor as the manifests name it" in (built.root / "site/numbers/index.html").read_text("utf8")


def test_prose(built: Copy):
    replace(built.root / "templates/content/en/02-prologue.md", "title: ", "title: Sounded, ")
    built.build()
    assert "Sounded, " in page(built)


def test_a_string_of_the_interface(built: Copy):
    replace(built.root / "templates/strings.yaml", "Contents", "What stands here")
    built.build()
    assert "What stands here" in page(built) and ">Contents<" not in page(built)


def test_a_style(built: Copy):
    (built.root / "templates/assets/page.css").write_text("p { margin: 7px; } /* all of it */\n", "utf8")
    built.build()
    assert (built.root / "site/assets/page.css").read_text("utf8") == "p{margin:7px}\n"


def test_a_figure_module(built: Copy):
    before = (built.root / "site/figures/lanes.en.svg").read_bytes()
    replace(built.root / "workflow/figures/style.py", '"plain": Cue("o", (5, 3)', '"plain": Cue("o", (9, 3)')
    built.build()
    assert (built.root / "site/figures/lanes.en.svg").read_bytes() != before


def test_the_configuration(built: Copy):
    replace(built.root / "workflow/config.yaml", 'site_url: ""', 'site_url: "https://soundings.example/"')
    built.build()
    assert "https://soundings.example/" in page(built)
