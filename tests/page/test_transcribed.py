"""The transcribed campaigns as pages: their own sections, their hardware and source, an audit, and no number of another campaign."""

import re

import pytest

from workflow.derive.evaluate import Derivation
from workflow.derive.load import load
from workflow.page import dom
from workflow.page.places import places
from workflow.page.site import build
from workflow.page.strings import Strings
from workflow.plan import CAMPAIGNS, ROOT, Plan

NAMES = ("k3-mi355x", "m1max-mtp")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both campaigns in one site, the first of them in the lead."""
    from workflow.derive.__main__ import write
    from workflow.figures.__main__ import main as draw

    folder = tmp_path_factory.mktemp("build")
    for name in NAMES:
        write(Derivation(load(ROOT / CAMPAIGNS / name), resamples=0).values(), folder / name)
        assert draw(["--values", str(folder / name / "values.json"), "--out", str(folder / name / "figures")]) == 0
    result = build(Plan(NAMES, NAMES[0]), folder)
    assert result.problems == []
    return {path: content.decode() for path, content in result.files.items() if path.endswith(".html")}


def text(html: str) -> str:
    return " ".join(re.sub(r"<script.*?</script>|<[^>]+>", " ", html, flags=re.DOTALL).split())


def test_hardware_and_source_stand_at_the_masthead(site):
    for prefix, hardware, publisher in (("", "MI355X", "jhinpan"), ("m1max-mtp/", "M1 Max", "Ariaki")):
        for language in ("", "zh/"):
            head = site[f"{prefix}{language}index.html"].split('class="page-grid"')[0]
            assert hardware in head and publisher in head


def test_plates_of_published_rows_name_their_source_and_have_a_table(site):
    drawn = {"": ("input", "output", "memory", "cap", "cache", "concurrency"), "m1max-mtp/": ("division",)}
    for prefix, publisher in (("", "jhinpan"), ("m1max-mtp/", "Ariaki")):
        for language, word in (("", "Transcribed from"), ("zh/", "转录自")):
            root = dom.parse(site[f"{prefix}{language}index.html"])
            for name in drawn[prefix]:
                figure = root.xpath(f"//figure[@id='plate-published-{name}']")[0]
                caption = " ".join("".join(figure.xpath("./figcaption")[0].itertext()).split())
                assert f"{word} {publisher}" in caption and figure.get("data-verdict") != "missing"
                assert figure.xpath(".//*[local-name()='desc']")[0].text
                cells = figure.xpath(".//table//td[@data-key]")
                assert len(cells) > 3 and all(set(cell.get("class", "").split()) & {"transcribed", "computed"} for cell in cells)


def test_the_chinese_page_gives_the_english_of_a_term_once(site):
    terms = Strings.load().section("vocabulary").values()
    for prefix in ("", "m1max-mtp/"):
        chinese, english = (re.sub(r"<svg.*?</svg>", "", site[f"{prefix}{language}index.html"], flags=re.DOTALL) for language in ("zh/", ""))
        told = [term["en"] for term in terms if f"{term['zh']}（<span lang=\"en\">{term['en']}</span>）" in chinese]
        assert len(told) > 5 and len(told) == chinese.count('（<span lang="en">') and '（<span lang="en">' not in english
        assert "）（<span" not in chinese


def test_the_audit_is_linked_at_the_top(site):
    for path, href in (
        ("index.html", "audit/index.html"),
        ("zh/index.html", "audit/index.html"),
        ("m1max-mtp/zh/index.html", "audit/index.html"),
    ):
        assert f'<a href="{href}">' in site[path].split('class="masthead"')[0]


def test_sections_belong_to_their_campaign(site):
    k3, m1 = site["index.html"], site["m1max-mtp/index.html"]
    assert 'id="published-rows"' in k3 and 'id="published-division"' not in k3
    assert 'id="published-division"' in m1 and 'id="published-rows"' not in m1
    assert all('id="published"' in page for page in (k3, m1))


def test_the_page_is_right_where_the_publication_was_not(site):
    words = text(site["index.html"])
    for said in (
        "788 tok/s",
        "57.7 %",
        "27.4 %",
        "69.2 %",
        "363 tok/s",
        "86.4 %",
        "1.98",
        "was not found in public",
    ):
        assert said.replace(" ", "") in words.replace("\u00a0", "").replace("\u202f", "").replace(" ", ""), said


def test_every_number_of_the_sections_is_transcribed_or_computed(site):
    values = {name: Derivation(load(ROOT / CAMPAIGNS / name), resamples=0) for name in NAMES}
    for prefix, name in (("", NAMES[0]), ("m1max-mtp/", NAMES[1])):
        shown = places(dom.Marks(dom.parse(site[f"{prefix}index.html"])))[0]
        keys = [key for key in shown if key.startswith(("rows.", "ledger.", "figure.", "external.", "audit.", "origin.", "noise."))]
        assert len(keys) > 30
        assert {values[name].result(key).fact.status for key in keys} <= {"transcribed", "computed"}


def test_the_audit_page_names_what_is_wrong(site):
    for path, wrong in (("audit/index.html", 10), ("m1max-mtp/audit/index.html", 2)):
        for language in ("", "zh/"):
            page = site[path.replace("audit/", f"{language}audit/")]
            assert page.count('<span class="verdict fails">') == wrong
    assert "ln(3.5)" in site["audit/index.html"] and 'id="audit-isl-share"' in site["audit/index.html"]
