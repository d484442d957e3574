"""What the page relies on: small, well-formed, themable, no styles, unique ids, the same bytes every time, no undeclared digit."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from lxml import etree

from tests.figures.plain import PlainNumbers, strings
from workflow.figures.draw import BUDGET
from workflow.figures.fill import standalone
from workflow.figures.style import LAYOUTS, TOKENS

ROOT = Path(__file__).resolve().parents[2]


def undeclared(svg: str) -> list[str]:
    """Texts with a digit outside an element that is spliced or declared: the rule of the page's checker, restated."""
    found = []
    for node in etree.fromstring(svg.encode()).iter():
        covered = any(up.get("data-key") or up.get("data-lit") for up in (node, *node.iterancestors()))
        texts = [] if covered else [node.text]
        inside = any(up.get("data-key") or up.get("data-lit") for up in node.iterancestors())
        texts += [] if inside else [node.tail]
        found += [text for text in texts if text and re.search(r"\d", text)]
    return found


def test_every_drawing_is_within_the_budget(drawings):
    assert {d.name: len(d.svg.encode()) for d in drawings if len(d.svg.encode()) > BUDGET} == {}


def test_filled_in_both_languages(drawings, values, language):
    for drawing in drawings:
        svg = drawing.filled(language, values)
        root = etree.fromstring(svg.encode())
        assert "@@" not in svg and "{{" not in svg, drawing.name
        assert undeclared(svg) == [], drawing.name
        title, desc = root[0], root[1]
        assert root.get("role") == "img" and root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert len(title.text) > 20 and len(desc.text) > 20 or language == "zh"


def test_languages_differ_in_words_and_agree_in_numbers(drawings, values):
    def keys(svg: str) -> list[str]:
        return sorted(" ".join(re.findall(r'data-key="([^"]+)"', svg)).split())

    for drawing in drawings:
        english, chinese = (drawing.filled(language, values) for language in ("en", "zh"))
        assert keys(english) == keys(chinese), drawing.name
        assert re.search(r"[\u4e00-\u9fff]", chinese) and not re.search(r"[\u4e00-\u9fff]", english), drawing.name


def test_nothing_a_strict_policy_would_block(drawings):
    for drawing in drawings:
        assert not re.search(r"\sstyle=|<style|<script|xlink:|<\?xml|<!DOCTYPE|<metadata", drawing.svg), drawing.name


def test_ids_do_not_meet_on_one_page(drawings):
    ids = [found for drawing in drawings for found in re.findall(r'\sid="([^"]+)"', drawing.svg)]
    assert len(ids) == len(set(ids))
    for drawing in drawings:
        own = set(re.findall(r'\sid="([^"]+)"', drawing.svg))
        assert set(re.findall(r'href="#([^"]+)"', drawing.svg)) <= own


def test_colours_are_variables_with_literal_fallback(drawings):
    known = {token.css for token in TOKENS} | {"none"}
    for drawing in drawings:
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing.svg)) <= known, drawing.name


def test_text_is_never_smaller_than_its_paper_allows(drawings):
    smallest = {layout.name: layout.text for layout in LAYOUTS}
    for drawing in drawings:
        for size in re.findall(r'font-size="([\d.]+)"', drawing.svg):
            assert float(size) >= smallest[drawing.layout], drawing.name


def test_a_file_of_its_own_has_literal_colours_and_fonts(drawings, values):
    for drawing in (one for one in drawings if one.layout == "wide"):
        svg = standalone(drawing.filled("en", values))
        assert "var(" not in svg and svg.startswith("<?xml"), drawing.name
        root = etree.fromstring(svg.encode())
        assert root.get("width") == "720" and undeclared(svg) == []


def test_same_bytes_in_another_process(drawings):
    code = (
        "from tests.figures import synthetic; from workflow.figures.registry import plates; from workflow.figures.style import LAYOUTS;"
        "from workflow.figures.svg import render; import hashlib; v = synthetic.values();"
        "print(hashlib.sha256(''.join(render(p.draw(v, l), p.id) for p in plates() for l in LAYOUTS).encode()).hexdigest())"
    )
    here = hashlib.sha256("".join(d.svg for d in drawings).encode()).hexdigest()
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    there = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert here == there


def test_labels_of_tables_exist(plate, values, language):
    table = plate.table(values)
    names = [*table.columns, *(cell.value for row in table.rows for cell in row if cell.kind == "label")]
    labels = strings()[plate.id]["labels"]
    assert [name for name in names if language not in labels.get(name, {})] == []
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert all(PlainNumbers(language).text(values.fact(key)) for key in table.facts())
