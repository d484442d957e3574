"""Where each fact and claim stands on a page: the back-links of the index of numbers."""

from __future__ import annotations

from collections import defaultdict

from workflow.page import dom


def places(marks: dom.Marks) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Fact key -> ids of the blocks that show it, and claim key -> ids of the blocks that it words; in page order."""
    facts, claims = defaultdict(dict), defaultdict(dict)
    for node in marks.placed:
        if anchor := _block(node):
            for key in (node.get("data-key") or "").split():
                facts[key][anchor] = None
            for key in (node.get("data-claim") or "").split():
                claims[key][anchor] = None
    return {key: list(found) for key, found in facts.items()}, {key: list(found) for key, found in claims.items()}


def shown(marks: dom.Marks) -> set[str]:
    """Keys of all facts on a page, wherever they stand."""
    return {key for node in marks.keyed for key in node.get("data-key").split()}


def _block(node) -> str | None:
    """The nearest id outside a drawing."""
    around = list(dom.ancestors(node))
    drawing = next((at for at, element in enumerate(around) if dom.tag(element) == "svg"), -1)
    return next((element.get("id") for element in around[drawing + 1 :] if element.get("id")), None)
