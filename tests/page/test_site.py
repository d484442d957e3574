"""The whole site of a small campaign: files, languages, verdicts, absences, and that a build is a function of its inputs."""

import gzip
import json
import re
import shutil
import subprocess
import sys

import html5lib
import pytest
from lxml import html

from tests.page import budgets
from tests.page.campaign import CLAIMS, Workspace, html_errors
from workflow.derive.fact import VERDICTS
from workflow.page.assets import served
from workflow.page.errors import PageError
from workflow.page.listing import site_files
from workflow.page.plates import RECORD
from workflow.page.routes import ASSETS, LANGUAGES
from workflow.page.site import build, write
from workflow.page.tree import VERDICTS as VARIANTS
from workflow.plan import ROOT, Plan

EXEMPT = {"code", "pre", "script", "style", "data", "time", "kbd", "samp"}


def page(result, path):
    return html.document_fromstring(result.files[path].decode())


def undeclared(root) -> list[str]:
    """The closed world as anyone could check it: no code of ours."""

    def covered(node):
        while node is not None:
            if isinstance(node.tag, str) and (node.tag in EXEMPT or node.get("data-lit") is not None or node.get("data-key") is not None):
                return True
            node = node.getparent()
        return False

    found = []
    for node in root.iter():
        pieces = [(node, node.text)] if isinstance(node.tag, str) else []
        pieces += [(node.getparent(), node.tail)]
        found += [text for owner, text in pieces if text and re.search(r"\d", text) and owner is not None and not covered(owner)]
    return found


def test_variants_are_the_verdicts():
    assert VARIANTS == VERDICTS


def test_the_site_is_what_the_listing_says(workspace):
    result = workspace.build()
    assert not result.problems
    plan = Plan(("local",), "local", workspace.root)
    assert sorted(f"site/{name}" for name in result.files) == site_files(plan)


def test_both_languages_show_the_same_facts(workspace):
    result = workspace.build()
    english, chinese = (page(result, path) for path in ("index.html", "zh/index.html"))
    assert english.get("lang") == "en" and chinese.get("lang") == "zh-Hans"
    for number in english.xpath("//main//data"):
        assert number.text_content()
    keys = [sorted({n.get("data-key") for n in root.xpath("//main//data")}) for root in (english, chinese)]
    assert keys[0] == keys[1] and "w.speedup" in keys[0]
    assert [n.text for n in english.xpath("//p[@id='window-lede']//data[@data-key='w.speedup']")] == ["1.68×"]
    assert [n.text for n in chinese.xpath("//p[@id='window-lede']//data[@data-key='w.speedup']")] == ["1.68\u00a0倍"]


def test_shown_factors_give_the_shown_gain(workspace):
    shown = {n.get("data-key"): n.text for n in page(workspace.build(), "index.html").xpath("//p[@id='window-factors']//data")}
    quotient = float(shown["w.accept_factor"].rstrip("×")) / float(shown["w.step_factor"].rstrip("×"))
    assert f"{quotient:.2f}×" == shown["w.speedup"]


def test_no_undeclared_digit_by_a_check_that_knows_nothing_of_us(workspace):
    result = workspace.build()
    for path in (name for name in result.files if name.endswith(".html")):
        assert undeclared(page(result, path)) == [], path


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_has_its_words(workspace, verdict):
    workspace.values(claims={claim.key: verdict for claim in CLAIMS})
    result = workspace.build()
    assert [str(problem) for problem in result.problems] == []
    for path in ("index.html", "zh/index.html"):
        root = page(result, path)
        assert {n.get("data-verdict") for n in root.xpath("//*[@data-claim='w.wins']")} == {verdict}
        assert "window-direction" in {n.get("id") for n in root.xpath("//main//*[@id]")}


def test_a_section_without_its_facts_says_why_and_nothing_else(workspace):
    root = page(workspace.build(), "index.html")
    section = root.xpath("//section[.//h2[@id='limits']]")[0]
    assert "reads the limits" in section.text_content()
    assert "sweep_window.csv has no such rows" in section.text_content()
    assert not section.xpath(".//*[@data-key='w.unmeasured']")
    assert "another campaign" not in section.text_content()


def test_a_plate_that_was_not_drawn_says_why(workspace):
    index = workspace.root / "build/local/figures/index.json"
    record = json.loads(index.read_text())
    record["window"] |= {"file": None, "narrow": None, "table": None, "missing": {"keys": ["w.unmeasured"]}}
    index.write_text(json.dumps(record))
    result = workspace.build()
    assert not result.problems
    figure = page(result, "index.html").get_element_by_id("plate-window")
    assert "No widths were measured" in figure.text_content() and "no such rows" in figure.text_content()
    assert b"No widths were measured" in result.files["figures/window.en.svg"]


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("index.json", lambda text: text[:1], "no JSON"),
        ("index.json", lambda text: "[]", "expected an object"),
        ("index.json", lambda text: "{}", "expected an object"),
        ("index.json", lambda text: '{"window": []}', "lacks claim, code, keys"),
        ("index.json", lambda text: text.replace('"sha256"', '"sha1"'), "lacks sha256"),
        ("window.svg", lambda text: text[: len(text) // 2], "not what was drawn"),
        ("window.narrow.svg", lambda text: text.replace("@@", "@", 1), "not what was drawn"),
        ("window.narrow.svg", lambda text: None, "not there"),
        ("share.png", lambda text: "", "not what was drawn"),
        ("share.png", lambda text: None, "not there"),
        *(("index.json", lambda text, name=name: json.dumps({"window": {key: value for key, value in json.loads(text)["window"].items() if key != name}}),
           f"lacks {name}") for name in sorted(RECORD)),
    ],
)  # fmt: skip
def test_a_damaged_drawing_is_one_line_with_its_file(workspace, file, change, says):
    path = workspace.root / "build/local/figures" / file
    if (new := change(path.read_text("latin-1"))) is None:
        path.unlink()
    else:
        path.write_text(new, "latin-1")
    with pytest.raises(PageError) as error:
        workspace.build()
    (line,) = str(error.value).splitlines()
    assert file in line and says in line


def test_text_of_one_campaign_stands_in_that_campaign_alone(workspace):
    workspace.edit(
        "content/en/01-window.md",
        "{#formula}",
        '{% only "local" %}\n{#here}\nTrue here.\n{% endonly %}\n\n{% only "other" %}\n{#there}\nTrue there.\n{% endonly %}\n\n{#formula}',
    )
    workspace.edit(
        "content/zh/01-window.md",
        "{#formula}",
        '{% only "local" %}\n{#here}\n这里成立。\n{% endonly %}\n\n{% only "other" %}\n{#there}\n那里成立。\n{% endonly %}\n\n{#formula}',
    )
    result = workspace.build()
    assert not result.problems
    text = page(result, "index.html").text_content()
    assert "True here" in text and "True there" not in text


def test_a_claim_may_word_several_cells_of_a_row(workspace):
    for language in LANGUAGES:
        workspace.edit(
            f"content/{language}/01-window.md",
            '| {{ n("w.best_gamma") }} | {{ n("w.speedup") }} |',
            '| {% claim "w.wins" %}{% holds %}{{ n("w.best_gamma") }} | {{ n("w.speedup") }}{% fails %}– | –{% unresolved %}– | –{% missing %}– | –{% endclaim %} |',
        )
    result = workspace.build()
    assert not result.problems
    for path in ("index.html", "zh/index.html"):
        assert html_errors(result.files[path].decode()) == []
        cells = page(result, path).xpath("//*[@id='window-by-width']//tbody/tr[1]/*")
        assert [cell.get("data-key") for cell in cells] == ["w.best_gamma", "w.speedup"]
        assert {(cell.get("data-claim"), len(cell)) for cell in cells} == {("w.wins", 0)}, "a cell that is all one number needs no element inside"


def test_the_coverage_printed_is_the_coverage_counted(workspace):
    result = workspace.build()
    for path in ("index.html", "zh/numbers/index.html"):
        root = page(result, path)
        printed = {n.get("data-key"): int(n.get("value")) for n in root.xpath("//*[@class='coverage']//data")}
        assert printed["page.spliced"] == len(root.xpath("//*[@data-key]"))
        assert printed["page.total"] == printed["page.spliced"] + printed["page.declared"]
    assert any(line.startswith("index.html: ") and "none typed" in line for line in result.log)


def test_the_index_has_every_fact_with_its_source_and_leads_back(workspace):
    result = workspace.build()
    index, report = page(result, "numbers/index.html"), page(result, "index.html")
    shown = {key for n in report.xpath("//*[@data-key]") for key in n.get("data-key").split() if not key.startswith("page.")}
    rows = {n.get("id") for n in index.xpath("//tr[@id]")}
    assert shown <= rows
    row = index.get_element_by_id("w.plain.tpot_ms")
    assert "sweep_window.csv" in row.text_content() and "2-5" in row.text_content() and "20.04" in row.text_content()
    assert "../index.html#window-lede" in [a.get("href") for a in row.iter("a")]
    assert [a.get("href") for a in index.get_element_by_id("w.speedup").xpath(".//span[@class='inputs']/a")] == [
        "#w.accept_factor",
        "#w.step_factor",
    ]
    assert "9f2c" * 16 in index.get_element_by_id("run-sweep_window.csv").text_content()


def test_cards_hold_what_the_manifest_says(workspace):
    script = workspace.build().files["cards.js"].decode()
    data = json.loads(script.removeprefix("window.soundings="))
    card = data["facts"]["w.plain.tpot_ms"]
    assert card["v"] == "20.04" and card["i"] == ["19.9", "20.2"] and card["c"][0][0] == "sweep_window.csv"
    assert data["runs"]["sweep_window.csv"]["g"] == "0123456789ab+"
    # a number that was computed from others names the files that those were read from, and so has a command
    assert "p" in data["facts"]["w.speedup"] and [cell[0] for cell in data["facts"]["w.speedup"]["c"]] == ["sweep_window.csv"]


def test_a_build_is_a_function_of_its_inputs(tmp_path):
    first, second = (Workspace.make(tmp_path / name).build().files for name in ("one", "two"))
    assert first == second
    command = "import sys; from pathlib import Path; from tests.page.campaign import Workspace; r = Workspace(Path(sys.argv[1])).build(); import hashlib; print(hashlib.sha256(repr(sorted(r.files.items())).encode()).hexdigest())"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", command, str(tmp_path / "one")],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_a_changed_value_changes_every_place_and_nothing_else(workspace):
    before = workspace.build().files
    workspace.values(facts={"w.accept": {"value": 2.77}})
    after = workspace.build().files
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"index.html", "zh/index.html", "parallel/index.html", "cards.js", "zh/cards.js", "numbers/index.html", "zh/numbers/index.html", "values.json"}
    old, new = before["index.html"].decode(), after["index.html"].decode()
    assert old.replace(">2.51<", ">2.77<").replace('"2.51"', '"2.77"') == new


def test_several_campaigns_lie_side_by_side(workspace):
    for folder in ("build", "workflow/campaigns"):
        shutil.copytree(workspace.root / folder / "local", workspace.root / folder / "elsewhere")
    (workspace.root / "workflow/campaigns/elsewhere/campaign.yaml").write_text("name: elsewhere\n")
    result = build(Plan(("local", "elsewhere"), "local", workspace.root), workspace.root / "build", workspace.root / "templates")
    assert not result.problems
    assert "elsewhere/zh/numbers/index.html" in result.files
    links = [a.get("href") for a in page(result, "elsewhere/zh/index.html").iter("a")]
    assert "../index.html" in links and "../../zh/index.html" in links
    assert sorted(f"site/{name}" for name in result.files) == site_files(Plan(("local", "elsewhere"), "local", workspace.root))


def test_nothing_is_fetched_and_every_link_is_relative(workspace):
    for name, content in workspace.build().files.items():
        if name.endswith(".html"):
            root = html.document_fromstring(content.decode())
            for url in root.xpath("//script/@src | //img/@src | //link/@href | //a/@href"):
                assert not re.match(r"[a-z]+://|/", url), (name, url)
            assert root.xpath("//meta[@http-equiv='Content-Security-Policy']")
            assert not root.xpath("//*[@style]") and not root.xpath("//style")


def test_pages_are_within_their_budgets():
    assets = {name: served(ROOT / "templates/assets" / name) for name in ASSETS}
    sizes, sent = ({name: len(text) for name, text in kind.items()} for kind in (assets, {name: gzip.compress(text, 9) for name, text in assets.items()}))
    assert sizes["page.js"] <= budgets.SCRIPT and sizes["page.css"] <= budgets.STYLE
    assert sent["page.js"] <= budgets.SCRIPT_GZIPPED and sent["page.css"] <= budgets.STYLE_GZIPPED
    assert sizes["page.js"] + sizes["ledger.js"] <= budgets.SCRIPT + budgets.SEARCH, "the index of numbers has a search as well"


def test_a_script_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "page.js").write_text("let = ;")
    with pytest.raises(PageError, match="page.js: .*line 1"):
        served(tmp_path / "page.js")


def test_writing_replaces_whole_files_and_leaves_no_scraps(workspace, tmp_path):
    files = workspace.build().files
    site = tmp_path / "site"
    write(files, site)
    (site / "index.html").write_text("torn")
    (site / "mine.txt").write_text("kept")
    write(files, site)
    written = {str(p.relative_to(site)): p.read_bytes() for p in site.rglob("*") if p.is_file()}
    assert written.pop("mine.txt") == b"kept"
    assert written == files


def test_missing_inputs_are_named(workspace):
    (workspace.root / "build/local/values.json").unlink()
    with pytest.raises(PageError, match="values.json: not there; derive it"):
        workspace.build()


def test_a_page_names_its_campaign_by_its_title(workspace):
    assert "· local · Soundings</title>" in workspace.build().files["index.html"].decode()
    folder = workspace.root / "workflow/campaigns/local"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.yaml").write_text("name: local\ntitle: {en: A house of two rooms, zh: 一座两间的房子}\n")
    result = workspace.build()
    assert result.problems == []
    for path, title in (("index.html", "A house of two rooms"), ("zh/index.html", "一座两间的房子")):
        page = html5lib.parse(result.files[path].decode(), treebuilder="lxml", namespaceHTMLElements=False)
        assert f" {title} · Soundings" in page.xpath("string(//head/title)").replace("·", " · ").replace("  ", " ")
        assert page.xpath("string(//header/following::p[@class='campaign'])") == title
