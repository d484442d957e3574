"""Look at the site: every page in pieces and every plate by itself, light and dark, wide and phone, as PNGs; plates also as colour-blind eyes see them.

python -m tests.page.screenshots OUT [--site site] [--only GLOB …] [--sight NAME …]   (needs chromium and playwright; the site is built before, `snakemake --cores 1 site`)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tests.page.chromium import BINARY, HOW, launched, opened

WIDTHS = {"wide": 1280, "phone": 360}
SCHEMES = ("light", "dark")
SIGHTS = ("protanopia", "deuteranopia", "tritanopia", "achromatopsia")
"""Kinds of colour blindness as Chromium emulates them; what a plate tells must survive each of them."""
PIECE = 1800
"""Height of one piece of a page, in pixels: what one picture can hold and an eye can read."""


def shots(page, name: str, out: Path, looks: str, wanted) -> Iterator[Path]:
    """The pieces of an open page, then its plates."""
    page.evaluate("document.querySelector('header.bar').style.position = 'static'")  # it would lie across a tall plate
    height = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]
    for at, top in enumerate(range(0, height, PIECE)):
        if wanted(f"{name}.{at:02d}"):
            file = out / f"{name}.{at:02d}.{looks}.png"
            page.screenshot(path=file, full_page=True, clip={"x": 0, "y": top, "width": width, "height": min(PIECE, height - top)})
            yield file
    yield from plates(page, name, out, looks, wanted)


def plates(page, name: str, out: Path, looks: str, wanted) -> Iterator[Path]:
    for plate in page.locator("figure.plate").all():
        identifier = plate.get_attribute("id")
        if wanted(f"{name}.{identifier}"):
            file = out / f"{name}.{identifier}.{looks}.png"
            plate.screenshot(path=file)
            yield file


def as_seen_by(page, sight: str) -> None:
    """Show an open page as an eye with this kind of colour blindness sees it."""
    page.context.new_cdp_session(page).send("Emulation.setEmulatedVisionDeficiency", {"type": sight})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.page.screenshots", description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--site", type=Path, default=Path("site"))
    parser.add_argument("--only", nargs="+", default=["*"], help="names to keep, as `zh.plate-*` or `numbers.00` (default: all)")
    parser.add_argument("--sight", nargs="*", choices=SIGHTS, default=list(SIGHTS), help="colour blindness to show the plates in (default: every kind)")
    options = parser.parse_args(arguments)

    def wanted(what: str) -> bool:
        return any(fnmatch(what, glob) for glob in options.only)

    pages = sorted(options.site.rglob("*.html"))
    if not pages or BINARY is None:
        print(f"screenshots: {HOW if pages else f'no page below {options.site}; build it with `snakemake --cores 1 site`'}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    with launched() as browser:
        for path in pages:
            name = ".".join(path.relative_to(options.site).with_suffix("").parts).removesuffix(".index").replace("index", "report")
            for layout, width in WIDTHS.items():
                for scheme in SCHEMES:
                    page = opened(browser, path.resolve(), width, color_scheme=scheme, reduced_motion="reduce")
                    for file in shots(page, name, options.out, f"{layout}.{scheme}", wanted):
                        print(file)
                    for sight in options.sight if scheme == "light" else ():
                        as_seen_by(page, sight)
                        for file in plates(page, name, options.out, f"{layout}.{sight}", wanted):
                            print(file)
                    page.context.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
