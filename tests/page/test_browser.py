"""The site in a real browser, opened as files: accessibility, layout, print, motion, the keyboard, and that it is whole without scripts."""

from __future__ import annotations

import gzip

import pytest
from lxml import html

from tests.page import budgets
from tests.page.chromium import AXE, opened

pytestmark = pytest.mark.browser
REPORTS = ("index.html", "zh/index.html")
TRANSCRIBED = ("k3-mi355x/index.html", "k3-mi355x/zh/index.html")
"""Reports that quote a publication: long labels, an audit, many absent sections."""
PAGES = (*REPORTS, "parallel/index.html", "moved/index.html", "zh/moved/index.html", "numbers/index.html", "zh/numbers/index.html")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FIRST_ROWS = "() => document.querySelectorAll('main tr:nth-child(n + 6)').forEach((row) => row.remove())"
"""The index has a thousand rows of one kind; a few of each table show what all of them are."""
RUN = """(tags) => axe.run(document, { runOnly: tags }).then(({ violations }) =>
  violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")} (${nodes.length})`))"""
PAINTED = """() => new Promise((done) => {
  let largest = 0, shift = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) largest = Math.max(largest, entry.startTime) }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done([largest, shift, document.querySelectorAll("*").length]), 300);
})"""
CUT = """() => [...document.querySelectorAll("main :is(p, li, h1, h2, h3, data, a, code), .masthead :is(p, dd, data)")]
  .filter((node) => !node.closest(".table-scroll, .formula, pre, svg, details, [hidden]") && node.checkVisibility() && node.getBoundingClientRect().right > innerWidth + 1)
  .map((node) => node.textContent.slice(0, 60))"""
"""Texts that reach over the edge of the window without making the page scroll."""
FOCUSED = """() => {
  const node = document.activeElement, box = node.getBoundingClientRect(), style = getComputedStyle(node);
  const bar = document.querySelector("header.bar").getBoundingClientRect();
  return { name: node.tagName + "." + node.className, body: node === document.body, inBar: !!node.closest("header.bar, .skip"), top: box.top, bottom: box.bottom, bar: bar.bottom,
           ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1, height: innerHeight };
}"""


def close(page):
    page.context.close()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, site, path, width, scheme):
    page = opened(browser, site / path, width, color_scheme=scheme, bypass_csp=True)
    if "numbers" in path:
        page.evaluate(FIRST_ROWS)
    page.add_script_tag(path=AXE)
    assert page.evaluate(RUN, TAGS) == []
    close(page)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_logged_and_nothing_comes_from_elsewhere(browser, site, path):
    page = opened(browser, site / path)
    assert page.said == []
    assert all(url.startswith(("file://", "data:")) for url in page.fetched) and len(page.fetched) <= (4 if path in REPORTS else 5)
    assert page.evaluate("document.documentElement.classList.contains('js')"), "the script runs under the policy"
    assert "Source Serif" in page.evaluate("getComputedStyle(document.body).fontFamily"), "the style sheet loads under the policy"
    close(page)


@pytest.mark.parametrize("path", (*PAGES, *TRANSCRIBED, "k3-mi355x/audit/index.html"))
def test_no_sideways_scrolling_at_320(browser, site, path):
    page = opened(browser, site / path, 320)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(CUT) == []
    close(page)


@pytest.mark.parametrize("path", REPORTS)
def test_no_sideways_scrolling_with_large_text(browser, site, path):
    page = opened(browser, site / path, 640)
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    close(page)


@pytest.mark.parametrize("path", PAGES)
def test_the_text_is_the_same_without_scripts(browser, site, path):
    def words(source: str) -> str:
        return " ".join("".join(html.document_fromstring(source).xpath("//main")[0].itertext()).split())

    with_scripts, without = opened(browser, site / path), opened(browser, site / path, java_script_enabled=False)
    assert words(with_scripts.content()) == words(without.content()) == words((site / path).read_text("utf8"))
    close(with_scripts)
    close(without)


@pytest.mark.parametrize("path", REPORTS)
def test_nothing_moves_where_motion_is_unwanted(browser, site, path):
    page = opened(browser, site / path, reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().length") == 0
    close(page)


@pytest.mark.parametrize("path", (*REPORTS, "numbers/index.html"))
def test_prints_on_light_paper(browser, site, path, tmp_path):
    page = opened(browser, site / path, color_scheme="dark")
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4", print_background=True)
    assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page>") + printed.count(b"/Type /Page ") >= 4
    page.emulate_media(media="print", color_scheme="dark")
    red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)?.slice(0, 3).map(Number)")
    assert min(red) > 200
    assert page.evaluate("[...document.querySelectorAll('figure.plate')].every((plate) => getComputedStyle(plate).breakInside.startsWith('avoid'))")
    close(page)


@pytest.mark.parametrize("path", REPORTS)
def test_the_keyboard_reaches_what_the_mouse_does(browser, site, path):
    page = opened(browser, site / path, reduced_motion="reduce")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        assert not found["body"] and found["ring"], found
        assert found["inBar"] or (found["top"] >= found["bar"] - 1 and found["top"] < found["height"]), found
        seen.append(found["name"])
    assert seen[0] == "A.skip" and any(name.startswith("BUTTON") for name in seen) and any(name.startswith("INPUT") for name in seen)
    close(page)


def test_a_number_opens_its_card_by_link_by_mouse_and_by_key(browser, site):
    page = opened(browser, site / "index.html")
    page.goto((site / "index.html").as_uri() + "#k=prologue.best.throughput")
    page.reload()
    page.wait_for_selector("#card:popover-open")
    text = page.inner_text("#card")
    assert "prologue.best.throughput" in text and "unrounded" in text and "window.arith" in text
    page.keyboard.press("Escape")
    assert page.query_selector("#card:popover-open") is None
    page.click("#plate-lanes summary")
    cell = page.locator("#plate-lanes td[data-key]").first
    cell.click()
    page.wait_for_selector("#card:popover-open")
    assert cell.get_attribute("data-key") in page.inner_text("#card"), "a cell of a table is a number as well"
    page.keyboard.press("Escape")
    page.click("#sources-switch")
    page.wait_for_selector("main data[tabindex]")
    page.focus("main section data[tabindex]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#card:popover-open")
    assert page.evaluate("document.getElementById('card').contains(document.activeElement)")
    assert page.said == []
    close(page)


@pytest.mark.parametrize(("path", "said"), [("index.html", "copied"), ("zh/index.html", "已复制")])
def test_the_citation_is_copied_whole(browser, site, path, said):
    page = opened(browser, site / path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.focus(".copy")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.copy + output').textContent")
    assert page.inner_text(".copy + output") == said
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#citation-bibtex").text_content() == page.evaluate("getSelection().toString()").rstrip() + "\n"
    assert copied.startswith("@misc{") and copied.count("{") == copied.count("}") and page.said == []
    close(page)


@pytest.mark.parametrize("path", ("numbers/index.html", "zh/numbers/index.html"))
def test_the_index_can_be_searched(browser, site, path):
    page = opened(browser, site / path)
    page.fill("#ledger-search", "isl. plain tpot")
    left = page.evaluate("[...document.querySelectorAll('main tbody tr')].filter((row) => row.checkVisibility()).map((row) => row.textContent.toLowerCase())")
    assert left and all("isl." in row and "plain" in row and "tpot" in row for row in left)
    page.fill("#ledger-search", "")
    assert page.evaluate("[...document.querySelectorAll('main tr, main section')].every((node) => node.checkVisibility())")
    close(page)


@pytest.mark.parametrize("path", REPORTS)
def test_the_heaviest_page_keeps_its_budgets(browser, archived, path, capsys):
    first_view(browser, archived, path, capsys)


@pytest.mark.parametrize("path", (*REPORTS, *TRANSCRIBED))
def test_what_a_first_view_costs(browser, site, path, capsys):
    first_view(browser, site, path, capsys)


def first_view(browser, site, path, capsys):
    """Print what a report costs its reader, and hold it to the budgets: elements, bytes, bytes gzipped, shifts."""
    page = opened(browser, site / path)
    largest, shift, nodes = page.evaluate(PAINTED)
    sent = sum(len(gzip.compress((site / name).read_bytes(), 9)) for name in (path, "assets/page.css", "assets/page.js"))
    raw = len((site / path).read_bytes())
    with capsys.disabled():
        print(
            f"\n{path}: largest paint {largest:.0f} ms, layout shift {shift:.4f}, {nodes} elements, {raw / 1000:.1f} KB of HTML, "
            f"{sent / 1000:.1f} KB gzipped in {len(page.fetched)} requests"
        )
    assert shift <= budgets.SHIFT and sent <= budgets.FIRST_VIEW and raw <= budgets.HTML and nodes <= budgets.ELEMENTS
    close(page)
