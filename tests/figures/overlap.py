"""Boxes of every text of some drawings, as Chromium lays them out, and what is wrong with them."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

from tests.figures import chromium

SCRIPT = """
const found = [...document.querySelectorAll('svg')].map(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(node => {
    const box = node.getBoundingClientRect();
    return {text: node.textContent, x: box.x - frame.x, y: box.y - frame.y, w: box.width, h: box.height,
            px: parseFloat(getComputedStyle(node).fontSize) * frame.width / svg.viewBox.baseVal.width};
  });
  return {name: svg.dataset.name, w: frame.width, h: frame.height, texts};
});
document.body.innerHTML = '';
const out = document.createElement('pre'); out.id = 'found'; out.textContent = JSON.stringify(found); document.body.append(out);
"""
SMALLEST_PX = 12.0


@dataclass(frozen=True)
class Drawing:
    name: str
    svg: str
    width: int
    """Rendered width in CSS pixels."""


def problems(drawings: list[Drawing]) -> list[str]:
    """One line for every pair of texts that touch, every text outside its drawing, every text under 12 px."""
    style = 'body{margin:0;font-family:system-ui,"Noto Sans CJK SC",sans-serif} svg{display:block;height:auto}'
    parts = [d.svg.replace("<svg ", f'<svg data-name="{html.escape(d.name)}" style="width:{d.width}px" ', 1) for d in drawings]
    page = f'<!doctype html><meta charset="utf-8"><style>{style}</style><body>{"".join(parts)}<script>{SCRIPT}</script>'
    dumped = re.search(r'<pre id="found">(.*?)</pre>', chromium.dom(page), re.DOTALL)
    return [line for drawing in json.loads(html.unescape(dumped[1])) for line in _of(drawing)]


def _of(drawing: dict) -> list[str]:
    found, texts = [], drawing["texts"]
    for place, one in enumerate(texts):
        if one["px"] < SMALLEST_PX - 0.01:
            found.append(f"{drawing['name']}: {one['text']!r} is {one['px']:.1f} px")
        if one["x"] < -0.5 or one["y"] < -0.5 or one["x"] + one["w"] > drawing["w"] + 0.5 or one["y"] + one["h"] > drawing["h"] + 0.5:
            found.append(f"{drawing['name']}: {one['text']!r} leaves the drawing")
        found += [f"{drawing['name']}: {one['text']!r} touches {other['text']!r}" for other in texts[place + 1 :] if _touch(one, other)]
    return found


def _touch(one: dict, other: dict) -> bool:
    """Line boxes are taller than the ink; a fifth of their height may be shared."""
    across = min(one["x"] + one["w"], other["x"] + other["w"]) - max(one["x"], other["x"])
    down = min(one["y"] + one["h"], other["y"] + other["h"]) - max(one["y"], other["y"])
    return across > 1.0 and down > 0.22 * min(one["h"], other["h"])
