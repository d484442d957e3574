"""The site in a real browser, from files: no sideways scrolling, no console errors, cards that open, a page that is whole without scripts."""

import re
import shutil
import subprocess

import pytest
from lxml import html

from tests.page.campaign import Workspace
from workflow.page.site import write

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not shutil.which("chromium"), reason="needs Debian's chromium")]
PAGES = ("index.html", "zh/index.html", "numbers/index.html", "zh/numbers/index.html")
PROBE = """<script>addEventListener("load", () => {
  const root = document.documentElement;
  root.setAttribute("data-sideways", root.scrollWidth - innerWidth);
  root.setAttribute("data-font", getComputedStyle(document.body).fontFamily);
});</script></body>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    files = Workspace.make(folder / "house").build().files
    write(files, folder / "site")
    return folder / "site"


def load(path, width=1280, fragment="", profile=None) -> tuple[str, str]:
    """The page after its scripts, and what the browser logged."""
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={profile}",
        f"--window-size={width},900",
        "--dump-dom",
    ]
    done = subprocess.run([*command, f"file://{path}{fragment}"], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_logged_and_styles_and_scripts_load_under_the_policy(site, tmp_path, page):
    dom, log = load(site / page, profile=tmp_path)
    assert log == ""
    assert 'class="js"' in dom


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [320, 1280])
def test_the_page_never_scrolls_sideways(site, tmp_path, page, width):
    text = (site / page).read_text("utf8")
    probed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", PROBE)
    copy = (site / page).with_name("probed.html")
    copy.write_text(probed, "utf8")
    dom, _ = load(copy, width=width, profile=tmp_path)
    copy.unlink()
    found = re.search(r'data-sideways="(-?\d+)" data-font="([^"]*)', dom)
    assert int(found[1]) <= 0
    assert "Source Serif" in found[2]


def test_a_link_to_a_number_opens_its_card(site, tmp_path):
    dom, log = load(site / "index.html", fragment="#k=w.plain.tpot_ms", profile=tmp_path)
    card = dom[dom.index('id="card"') :]
    assert "20.04" in card and "sweep_window.csv" in card and "0123456789ab+" in card
    assert log == ""


@pytest.mark.parametrize("page", PAGES)
def test_scripts_add_no_text_that_a_reader_would_miss_without_them(site, tmp_path, page):
    def words(source: str) -> str:
        return " ".join("".join(html.document_fromstring(source).xpath("//main")[0].itertext()).split())

    assert words(load(site / page, profile=tmp_path)[0]) == words((site / page).read_text("utf8"))
