"""What a reader can do with plates and tables, in a real browser: play the logged round, read a drawing off, sort."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.page.chromium import opened

pytestmark = pytest.mark.browser
REPORTS = ("index.html", "zh/index.html")
WORD = {"index.html": ("Back", "Play", "Pause", "Step"), "zh/index.html": ("上一步", "播放", "暂停", "下一步")}
MOVES = """() => document.getAnimations().filter((move) => move.effect?.target?.id.includes("-time-")).map((move) => {
  const { delay, duration } = move.effect.getTiming();
  return [move.effect.target.id.split("-time-")[1], delay, duration];
})"""
TIMES = """() => Object.fromEntries([...document.querySelectorAll(".frames data[data-key$=_ms]")].map((node) =>
  [node.dataset.key.match(/([a-z]+)_ms$/)[1], +node.value]))"""
SEEN = """() => [...document.querySelectorAll(".moving .plate-art > svg > g[id]")].filter((part) => part.checkVisibility()).map((part) =>
  [part.id.replace("dspark-step-", ""), +getComputedStyle(part).opacity])"""
CURRENT = "() => [...document.querySelectorAll('.frames li')].findIndex((step) => step.ariaCurrent === 'step')"
STILLS = "() => [...document.querySelectorAll('.frames svg')].map((still) => still.getBoundingClientRect().height).filter(Boolean)"
ROWS = "(rows) => [...document.querySelectorAll(rows)].map((row) => row.textContent)"
COLUMN = """([plate, column]) => [...document.querySelectorAll(`#${plate} .plate-data tbody tr`)].map((row) =>
  row.cells[column].dataset.value ?? row.cells[column].textContent)"""

OPACITIES = """(svg) => [...svg.querySelectorAll("path, text")].map((node) => [node.dataset.series ?? "", +getComputedStyle(node).opacity])"""
ON_A_LINE = """(svg) => {
  const line = svg.querySelector("path[data-series]:not([fill])"), spot = line.getPointAtLength(line.getTotalLength() * .45);
  const { x, y } = new DOMPoint(spot.x, spot.y).matrixTransform(line.getScreenCTM());
  return [line.dataset.series, x, y];
}"""


def page_with_motion(browser, site, path, **context):
    page = opened(browser, site / path, **context)
    page.locator(".moving .plate-art").scroll_into_view_if_needed()
    return page


def button(page, path, at):
    return page.locator(".motion").get_by_role("button", name=WORD[path][at])


@pytest.mark.parametrize("path", REPORTS)
def test_the_round_is_played_once_on_its_own_clock(browser, site, path):
    page = page_with_motion(browser, site, path)
    button(page, path, 2).wait_for()  # it plays, so it can be paused
    times, moves = page.evaluate(TIMES), page.evaluate(MOVES)
    assert {name for name, *_ in moves} == {"draft", "verify", "commit"} == set(times)
    whole, long = sum(times.values()), max(delay + duration for _, delay, duration in moves)
    for name, _, duration in moves:
        assert duration == pytest.approx(8000 * times[name] / whole, rel=1e-6)
    assert long <= 12_000
    starts = {name: delay for name, delay, _ in moves}
    assert starts["draft"] < starts["verify"] < starts["commit"]
    page.evaluate("document.getAnimations().forEach((move) => move.finish())")
    button(page, path, 1).wait_for()  # it rests and does not begin again by itself
    assert page.evaluate("document.getAnimations().length") == 0
    assert all(opacity == 1 for _, opacity in page.evaluate(SEEN)) and page.evaluate(CURRENT) == -1
    assert page.said == []
    page.context.close()


@pytest.mark.parametrize("path", REPORTS)
def test_the_round_can_be_paused_and_stepped_by_key(browser, site, path):
    page = page_with_motion(browser, site, path)
    button(page, path, 2).focus()
    page.keyboard.press("Enter")
    button(page, path, 1).wait_for()
    held = page.evaluate("document.getAnimations().map((move) => move.currentTime)")
    page.wait_for_timeout(150)
    assert held == page.evaluate("document.getAnimations().map((move) => move.currentTime)")
    button(page, path, 3).focus()
    shown = []
    for step in range(page.evaluate(CURRENT), 4):
        page.keyboard.press("Enter")
        assert page.evaluate(CURRENT) == step
        shown.append({name for name, opacity in page.evaluate(SEEN) if opacity == 1})
    assert all(earlier < later for earlier, later in pairwise(shown)), "each step shows what the ones before it did, and more"
    assert len(shown[-1]) == len(page.evaluate(SEEN))
    button(page, path, 0).focus()
    for step in (2, 1, 0):
        page.keyboard.press("Enter")
        assert page.evaluate(CURRENT) == step
        assert dict(page.evaluate(SEEN))["commit"] == 0
    page.context.close()


@pytest.mark.parametrize("path", REPORTS)
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("still", ["motion unwanted", "no script", "print"])
def test_four_stills_stand_where_nothing_may_move(browser, site, path, width, still):
    context = {"motion unwanted": {"reduced_motion": "reduce"}, "no script": {"java_script_enabled": False}, "print": {}}[still]
    page = page_with_motion(browser, site, path, width=width, **context)
    if still == "print":
        page.emulate_media(media="print")
    heights = page.evaluate(STILLS)
    assert len(heights) == 4 and min(heights) > 60
    assert not page.locator(".motion").is_visible()
    drawing = page.locator(".moving .plate-art > svg").first
    assert page.get_by_role("img", name=drawing.locator("title").text_content()).count() == 1, "its description stays for who listens"
    page.context.close()


def test_lines_are_not_filled(browser, site):
    """The style sheet says so for drawings that stand alone; clones it does not reach, so what is cloned says it itself."""
    page = opened(browser, site / "index.html")
    assert page.evaluate("""[...document.querySelectorAll('.plate-art svg path:not([fill], defs *)')].every((path) => getComputedStyle(path).fill === 'none')""")
    assert page.evaluate("""[...document.querySelectorAll('.moving .plate-art > svg path:not(defs *)')].every((path) => path.closest('[fill]'))""")
    page.context.close()


@pytest.mark.parametrize("path", REPORTS)
@pytest.mark.parametrize("plate", ["window", "lanes"])
def test_a_drawing_is_read_off_by_pointer_and_by_key(browser, site, path, plate):
    page = opened(browser, site / path)
    figure = page.locator(f"#plate-{plate}")
    long = page.evaluate("(name) => !document.getElementById(name).querySelector('table')", f"plate-{plate}")
    assert long == (plate == "window"), "a long table stands in the index of numbers, a short one under its plate"
    table = f"#table-{plate}" if long else f"#data-{plate}"
    place = opened(browser, site / path.replace("index.html", "numbers/index.html")) if long else page
    rows = place.evaluate(ROWS, f"{table} tbody tr")
    said, slider = figure.locator("> output"), figure.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    said.locator("tbody tr").first.wait_for()
    read = page.evaluate(ROWS, f"#plate-{plate} > output tbody tr")
    assert said.is_visible() and read and set(read) < set(rows)
    assert len(set(read)) == len(read) and figure.locator(".plate-wide .hair").count() == 1
    assert page.evaluate(ROWS, f"#plate-{plate} > output thead") == place.evaluate(ROWS, f"{table} thead")
    slider.blur()
    assert not said.is_visible() and figure.locator(".hair").count() == 0
    figure.locator(".plate-wide").hover(position={"x": 60, "y": 120})
    first = said.inner_text()
    figure.locator(".plate-wide").hover(position={"x": 500, "y": 120})
    assert said.is_visible() and said.inner_text() != first
    page.mouse.move(2, 2)
    assert not said.is_visible()
    for other in page.locator(".plate:has([data-stops])").all():
        other.locator("input[type=range]").focus()
        other.locator("> output tbody tr").first.wait_for()
    page.context.close()


@pytest.mark.parametrize("path", REPORTS)
def test_tables_are_sorted_by_key(browser, site, path):
    page = opened(browser, site / path)
    page.locator("#plate-lanes summary").click()
    column = 3
    head = page.locator("#plate-lanes .plate-data thead th").nth(column)
    before = page.evaluate(COLUMN, ["plate-lanes", column])
    head.locator("button").focus()
    for order, turned in (("ascending", False), ("descending", True)):
        page.keyboard.press("Enter")
        values = page.evaluate(COLUMN, ["plate-lanes", column])
        assert head.get_attribute("aria-sort") == order and sorted(values) == sorted(before)
        known = [float(value) for value in values if value != "–"]
        assert known == sorted(known, reverse=turned)
    page.locator("#plate-lanes .plate-data thead th").first.locator("button").click()
    assert head.get_attribute("aria-sort") is None and page.locator("#plate-lanes [aria-sort]").count() == 1
    page.context.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_pointing_at_a_series_dims_the_others_and_nothing_else(browser, site, width):
    page = opened(browser, site / "index.html", width=width)
    tried = set()
    for drawing in page.locator(".plate-art > svg:has([data-series])").all():
        if not drawing.is_visible():
            continue
        names = drawing.evaluate("(svg) => [...new Set([...svg.querySelectorAll('text[data-series]')].map((node) => node.dataset.series))]")
        for name in names if len(names) > 1 else ():
            drawing.locator(f"text[data-series={name}]").first.hover()
            seen = drawing.evaluate(OPACITIES)
            assert {opacity for series, opacity in seen if series in (name, "")} == {1}, "what is pointed at, axes and frames stay"
            assert {opacity for series, opacity in seen if series not in (name, "")} == {0.2}
            tried.add((drawing.get_attribute("data-plate"), name))
        page.mouse.move(2, 2)
        assert {opacity for _, opacity in drawing.evaluate(OPACITIES)} == {1}
    assert {"window", "scaling", "lanes", "verify-cost", "positions", "modes", "division"} <= {plate for plate, _ in tried}
    page.context.close()


def test_a_line_can_be_pointed_at_like_its_name(browser, site):
    page = opened(browser, site / "index.html")
    drawing = page.locator("#plate-verify-cost .plate-wide")
    drawing.scroll_into_view_if_needed()
    series, x, y = drawing.evaluate(ON_A_LINE)
    page.mouse.move(x, y)
    assert {name for name, opacity in drawing.evaluate(OPACITIES) if opacity == 1} - {""} == {series}
    page.context.close()
