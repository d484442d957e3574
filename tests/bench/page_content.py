"""The prose of our English page as a notebook of another page builder: the same blocks and numbers, each number a value of an executed cell.

One of the numbers, the checked one, the cell computes from the rows of a CSV as our facts do; the others it reads from a list, which spares it
what we do for them.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from lxml import html

BLOCKS = ("h2", "h3", "p", "li", "td", "th")
CSV = "sweep_concurrency.csv"
KEY = "lanes.c1.ratio"
"""Throughput of DSpark over plain decoding, one request at a time, over the mixed load."""
SENTENCE = "The checked ratio is"
NOTEBOOK = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
---
# Report

```{{code-cell}} ipython3
:tags: [remove-cell]
import csv, json
rows = [row for row in csv.DictReader(open("{csv}")) if row["stage"] == "concurrency" and row["status"] == "ok" and row["max_concurrency"] == "1"]
def rate(lane):
    mine = [row for row in rows if row["lane"] == lane]
    return sum(float(row["total_output_tokens"]) for row in mine) / sum(float(row["duration_s"]) for row in mine)
checked = f"{{rate('dspark') / rate('plain'):.4f}}"
texts = json.load(open("texts.json"))
{cell}
```

{sentence} {checked}.

{text}
"""


def expected(path: Path) -> float:
    """The checked ratio, from the rows."""
    with open(path, newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if (row["stage"], row["status"], row["max_concurrency"]) == ("concurrency", "ok", "1")]

    def rate(lane: str) -> float:
        mine = [row for row in rows if row["lane"] == lane]
        return sum(float(row["total_output_tokens"]) for row in mine) / sum(float(row["duration_s"]) for row in mine)

    return rate("dspark") / rate("plain")


def escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", " ".join(text.split()))


def pieces(element) -> Iterable[tuple[str, bool]]:
    """(text, whether it is a spliced number) of a block, in order."""
    if element.tag in ("math", "svg", "script", "style"):
        yield " ", False
    elif element.tag == "data" or (element.tag == "td" and element.get("data-key")):
        yield element.text_content(), True
    else:
        yield element.text or "", False
        for child in element:
            yield from pieces(child)
            yield child.tail or "", False


def write_notebook(page: Path, rows: Path, folder: Path, role: Callable[[str], str], cell: str) -> int:
    """index.md, the texts and the CSV of one notebook; returns how many numbers it splices.

    `role`: name of a variable -> how the text of the document calls for it; `cell`: code that makes variables of `texts`.
    """
    texts: list[str] = []
    blocks = []
    for element in html.parse(str(page)).getroot().find(".//main").iter(*BLOCKS):
        if any(ancestor.tag in BLOCKS for ancestor in element.iterancestors()):
            continue
        line = ""
        for text, spliced in pieces(element):
            if spliced:
                texts.append(text)
            line += f" {role(f'n{len(texts) - 1}')} " if spliced else escaped(text) + " "
        blocks.append(("## " if element.tag in ("h2", "h3") else "") + line.strip())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CSV).write_bytes(rows.read_bytes())
    (folder / "texts.json").write_text(json.dumps(texts), "utf8")
    text = "\n\n".join(block for block in blocks if block)
    (folder / "index.md").write_text(NOTEBOOK.format(csv=CSV, cell=cell, sentence=SENTENCE, checked=role("checked"), text=text), "utf8")
    return len(texts) + 1
