"""Look at every plate: both languages, light and dark, wide and phone, as PNGs.

python -m tests.figures.preview OUT [--values VALUES.json] [--only ID]   (needs chromium; without --values a made-up campaign is drawn)
"""

from __future__ import annotations

import argparse
import html
from pathlib import Path

from tests.figures import chromium, synthetic
from tests.figures.plain import PlainNumbers, strings
from workflow.derive.values import Values
from workflow.figures.fill import Words, fill, plain
from workflow.figures.plate import Missing
from workflow.figures.registry import plates
from workflow.figures.style import LAYOUTS, TOKENS
from workflow.figures.svg import render

SIZES = {"wide": 760, "narrow": 360}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--values", type=Path)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    values = Values.load(options.values) if options.values else synthetic.values()
    options.out.mkdir(parents=True, exist_ok=True)
    for plate in plates():
        if options.only and plate.id not in options.only:
            continue
        for layout in LAYOUTS:
            sheet = plate.draw(values, layout)
            if isinstance(sheet, Missing):
                print(f"{plate.id}: missing {', '.join(sheet.keys)}")
                break
            drawing = render(sheet, plate.id)
            cards = [card(drawing, plate.id, language, theme, values) for language, theme in (("en", "light"), ("zh", "dark"))]
            width = SIZES[layout.name]
            columns = 2
            page = document(cards, width, columns)
            rows = -(-len(cards) // columns)
            height = int((sheet.height * width / layout.width + 130) * rows + 60)
            chromium.screenshot(page, options.out / f"{plate.id}.{layout.name}.png", (width + 48) * columns, height)
            print(f"{plate.id}.{layout.name}: {len(drawing)} bytes")


def card(drawing: str, plate: str, language: str, theme: str, values: Values) -> str:
    words = Words(plate, language, strings(), values, PlainNumbers(language))
    filled = fill(drawing, language, strings(), values, PlainNumbers(language))
    return (f'<figure class="{theme}" lang="{language}"><figcaption><b>{html.escape(plain(words.finding("title")))}</b><br>'
            f'{html.escape(plain(words.subtitle()))}</figcaption>{filled}</figure>')


def document(cards: list[str], width: int, columns: int) -> str:
    themes = {theme: ";".join(f"--{t.name}:{getattr(t, theme)}" for t in TOKENS) for theme in ("light", "dark")}
    return f"""<!doctype html><meta charset="utf-8"><style>
body{{margin:0;display:grid;grid-template-columns:repeat({columns},{width + 48}px)}}
figure{{margin:0;padding:16px 24px;font:15px/1.4 system-ui,"Noto Sans CJK SC",sans-serif;background:var(--paper);color:var(--ink)}}
figcaption{{min-height:64px;margin-bottom:10px}} svg{{display:block;width:{width}px;height:auto}}
.light{{{themes["light"]}}} .dark{{{themes["dark"]}}}
</style>{''.join(cards)}"""


if __name__ == "__main__":
    main()
