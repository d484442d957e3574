"""`soundings explain KEY`: where a number or a verdict comes from, down to the cells of the CSVs."""

from __future__ import annotations

import argparse
import functools
import json
from pathlib import Path

from rich.text import Text
from rich.tree import Tree

from workflow.cli import BadInput, at_least, campaign
from workflow.cli.terminal import Terminal
from workflow.derive.fact import Cell, Fact
from workflow.derive.schema import SchemaError, read_json, read_rows
from workflow.derive.values import UnknownKey, Values

HELP = "show a fact's formula, parents, interval and CSV cells, or what a claim's verdict rests on"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", help="key of a fact or of a claim, e.g. window.code.g3.speedup")
    campaign.add_options(parser)
    parser.add_argument("--depth", type=at_least(0), default=6, help="levels of parents to follow (default 6)")
    parser.add_argument("--cells", type=at_least(0), default=6, help="cells to print of each source (default 6)")
    parser.add_argument("--json", action="store_true", help="print the tree as JSON")


def run(arguments: argparse.Namespace) -> int:
    values = campaign.load_values(campaign.values_path(arguments))
    try:
        folder = campaign.folder_of(arguments)
    except BadInput:
        folder = None  # values.json of another machine: formulas without the cells' contents
    explain = Explain(values, folder, arguments.cells)
    try:
        node = (
            explain.claim(arguments.key, arguments.depth)
            if arguments.key in values.claims
            else explain.fact(arguments.key, arguments.depth)
        )
    except UnknownKey as error:
        raise BadInput(str(error)) from None
    if arguments.json:
        print(json.dumps(node, ensure_ascii=False, indent=1))
    else:
        Terminal().print(tree(node))
    return 0


class Explain:
    """Builds the tree of a key as plain data."""

    def __init__(self, values: Values, folder: Path | None, cells: int):
        self.values, self.folder, self.limit = values, folder, cells

    def fact(self, key: str, depth: int) -> dict:
        fact = self.values.fact(key)
        node = {"key": key, "text": shown(fact), "formula": fact.formula, "status": fact.status, "n": fact.n, "resampled": fact.resampled}
        if fact.missing:
            node["reason"] = fact.reason
        node["sources"] = [self.source(cell) for cell in fact.source]
        node["parents"] = [self.fact(parent, depth - 1) for parent in fact.parents] if depth else list(fact.parents)
        return node

    def claim(self, key: str, depth: int) -> dict:
        claim = self.values.claim(key)
        node = {
            "key": key,
            "text": claim.verdict,
            "formula": claim.statement,
            "margin": claim.margin,
            "noise": claim.noise,
            "measure": claim.measure,
        }
        if claim.reason:
            node["reason"] = claim.reason
        node["parents"] = [self.fact(parent, min(depth - 1, 0)) for parent in claim.evidence]
        return node

    def source(self, cell: Cell) -> dict:
        return {"file": cell.file, "row": cell.row, "column": cell.column, "where": cell.where, "cells": self.contents(cell)}

    def contents(self, cell: Cell) -> list[str]:
        """Texts of the first cells of a source; empty when the files are not at hand."""
        if self.folder is None:
            return []
        try:
            if not cell.column:
                value = document(self.folder / cell.file)
                for part in cell.row.split("."):
                    value = value[part]
                return [str(value)]
            header, rows, lines = table(self.folder / cell.file)
        except (SchemaError, KeyError, TypeError):
            return []
        place = {line: row for row, line in zip(rows, lines, strict=True)}
        column = header.index(cell.column.partition("[")[0])
        wanted = numbers(cell.row)
        texts = [place[line][column] for line in wanted[: self.limit] if line in place]
        return texts + ([f"… {len(wanted)} cells"] if len(wanted) > self.limit else [])


@functools.cache
def table(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    return read_rows(path if path.exists() else path.with_name(path.name + ".gz"))


@functools.cache
def document(path: Path) -> dict:
    return read_json(path)


def numbers(text: str) -> list[int]:
    """Line numbers of `2-5,9`."""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def shown(fact: Fact) -> str:
    """Value with its unit and interval, for the terminal."""
    if fact.missing:
        return "missing"
    if isinstance(fact.value, str):
        return fact.value
    text = f"{fact.value:.6g} {fact.unit}".rstrip()
    return text + (f"  [{fact.lo:.4g}, {fact.hi:.4g}]" if fact.lo is not None else "")


def tree(node: dict) -> Tree:
    """The rich rendering of a node."""
    root = Tree(label(node))
    if node.get("reason"):
        root.add(Text(node["reason"], style="yellow"))
    for source in node.get("sources", ()):
        line = Text.assemble(
            (source["file"], "cyan"), " ", ("lines " if source["column"] else "") + source["row"], " ", (source["column"], "bold")
        )
        if source["where"]:
            line.append(f"  ({source['where']})", style="dim")
        leaf = root.add(line)
        if source["cells"]:
            leaf.add(Text(", ".join(source["cells"]), style="dim"))
    for parent in node["parents"]:
        root.add(Text(parent) if isinstance(parent, str) else tree(parent))
    return root


def label(node: dict) -> Text:
    text = Text.assemble((node["key"], "bold"), " = ", (node["text"], "green"))
    if node.get("margin") is not None:
        noise = "not known" if node["noise"] is None else f"{node['noise']:.4g}"
        text.append(f"  margin {node['margin']:.4g}, noise {noise} ({node['measure']})")
    if node.get("resampled"):
        text.append(f"  {node['resampled']}", style="dim")
    if node.get("status", "measured") != "measured":
        text.append(f"  {node['status']}", style="magenta")
    text.append(f"\n{node['formula']}", style="italic")
    return text
