"""What programs read of the site: feed, sitemap, JSON-LD and Open Graph; and the page with both languages."""

import json
import posixpath
import re
from pathlib import Path

from lxml import etree, html

from workflow.page.feed import ATOM, MAP, NEVER, Entry, dated, feed, sitemap
from workflow.page.provenance import Run
from workflow.page.routes import routes
from workflow.page.site import build
from workflow.plan import Plan

URL = "https://example.org/deep/"


def page(result, path):
    return html.document_fromstring(result.files[path].decode())


def build_at(workspace, url):
    return build(Plan(("local",), "local", workspace.root), workspace.root / "build", workspace.root / "templates", url)


def test_the_feed_has_what_atom_asks_for(workspace):
    for url in ("", URL):
        root = etree.fromstring(build_at(workspace, url).files["feed.xml"])
        assert root.tag == f"{{{ATOM}}}feed"
        for node in (root, *root.iter(f"{{{ATOM}}}entry")):
            for name in ("id", "title", "updated"):
                assert node.findtext(f"{{{ATOM}}}{name}"), name
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", node.findtext(f"{{{ATOM}}}updated"))
        entries = list(root.iter(f"{{{ATOM}}}entry"))
        assert len({entry.findtext(f"{{{ATOM}}}id") for entry in entries}) == len(entries) == 2
        assert [entry.find(f"{{{ATOM}}}link").get("hreflang") for entry in entries] == ["zh-Hans", "en"]
        assert all(entry.find(f"{{{ATOM}}}link").get("href").startswith(url) for entry in entries)


GRAMMAR = """<grammar xmlns="http://relaxng.org/ns/structure/1.0" xmlns:a="http://www.w3.org/2005/Atom" datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes">
<start><element name="a:feed"><interleave>
  <ref name="common"/><element name="a:author"><element name="a:name"><text/></element></element>
  <element name="a:link"><attribute name="rel"><value>self</value></attribute><attribute name="type"><value>application/atom+xml</value></attribute><ref name="to"/></element>
  <zeroOrMore><element name="a:entry"><attribute name="xml:lang"><data type="language"/></attribute><interleave>
    <ref name="common"/><element name="a:summary"><text/></element>
    <element name="a:link"><attribute name="rel"><value>alternate</value></attribute><attribute name="type"><value>text/html</value></attribute>
      <attribute name="hreflang"><data type="language"/></attribute><ref name="to"/></element>
  </interleave></element></zeroOrMore>
</interleave></element></start>
<define name="to"><attribute name="href"><data type="anyURI"/></attribute></define>
<define name="common"><interleave>
  <element name="a:id"><data type="anyURI"><param name="pattern">(https?|urn):.+</param></data></element>
  <element name="a:title"><data type="string"><param name="minLength">1</param></data></element>
  <element name="a:updated"><data type="dateTime"/></element>
</interleave></define></grammar>"""
"""What RFC 4287 asks of a feed and its entries, as far as this feed uses it: nothing else may stand in it, nothing of it may lack."""


def test_the_feed_obeys_the_grammar_of_atom(workspace):
    grammar = etree.RelaxNG(etree.fromstring(GRAMMAR))
    for url in ("", URL):
        grammar.assertValid(etree.fromstring(build_at(workspace, url).files["feed.xml"]))
    broken = etree.fromstring(build_at(workspace, URL).files["feed.xml"])
    broken.find(f"{{{ATOM}}}updated").text = "yesterday"
    assert not grammar.validate(broken)


def test_a_feed_takes_dates_out_of_what_publications_tell():
    assert dated(["2026-07-29 to 2026-07-30"]) == "2026-07-30T00:00:00Z"
    assert dated(["2026-11-30T09:00:00+08:00", "2026-11-29T23:30:00Z", ""]) == "2026-11-30T01:00:00Z"
    assert dated([]) == dated(["July and October of one year", "9999-99-99"]) == NEVER


def test_the_feed_of_every_shipped_campaign_obeys_the_grammar():
    grammar, root = etree.RelaxNG(etree.fromstring(GRAMMAR)), Path(__file__).parents[2] / "workflow/campaigns"
    ends = {path.parent.name: json.loads(path.read_text("utf8")).get("end") or "" for path in sorted(root.glob("*/*.manifest.json"))}
    assert any("T" not in end for end in ends.values())  # a transcribed one among them
    entries = [Entry(name, "en", "index.html", name, name, dated([end])) for name, end in ends.items()]
    grammar.assertValid(etree.fromstring(feed(entries, "")))


def test_an_address_may_lack_its_last_slash(workspace):
    with_slash, without = build_at(workspace, URL), build_at(workspace, URL.rstrip("/"))
    assert without.files == with_slash.files
    assert f'{URL}zh/"'.encode() in without.files["index.html"]


VOCABULARY = {
    "ScholarlyArticle": {"headline", "description", "inLanguage", "url", "image", "license", "author", "dateModified", "workTranslation",
                         "translationOfWork", "isBasedOn", "mentions"},
    "Organization": {"name"},
    "Dataset": {"name", "description", "inLanguage", "url", "license", "creator", "distribution", "variableMeasured"},
    "DataDownload": {"name", "contentUrl", "encodingFormat", "sha256"},
    "SoftwareSourceCode": {"name", "programmingLanguage", "license", "version"},
}  # fmt: skip
"""Types of schema.org that the page uses, with the properties that schema.org gives them."""


def nodes(data):
    """Every typed node of a JSON-LD document."""
    if isinstance(data, dict):
        yield from ([data] if "@type" in data else [])
        data = list(data.values())
    for one in data if isinstance(data, list) else ():
        yield from nodes(one)


def described(result, path):
    """What a page says of itself to machines."""
    return json.loads(page(result, path).xpath("//script[@type='application/ld+json']")[0].text)


def test_json_ld_speaks_of_what_schema_org_knows(workspace):
    for url in ("", URL):
        result = build_at(workspace, url)
        for path in ("index.html", "zh/index.html"):
            data, rows = (described(result, file) for file in (path, path.replace("index.html", "numbers/index.html")))
            assert data["@context"] == rows["@context"] == "https://schema.org"
            for node in (*nodes(data), *nodes(rows)):
                assert set(node) - {"@type", "@context", "@id"} <= VOCABULARY[node["@type"]], node
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", data["dateModified"]) and len(data["headline"]) <= 110
            links = [data["url"], data["image"], data["isBasedOn"]["url"], rows["url"], *(file["contentUrl"] for file in rows["distribution"])]
            if url:
                assert data["isBasedOn"]["url"] == rows["url"]
                assert all(link.startswith(URL) and (link.endswith("/") or link.removeprefix(URL) in result.files) for link in links)
            assert ("workTranslation" in data) != ("translationOfWork" in data)


def test_a_link_to_the_page_is_shown_with_its_picture(workspace):
    for url in ("", URL):
        result = build_at(workspace, url)
        for path, locale, other in (("index.html", "en_GB", "zh_CN"), ("zh/numbers/index.html", "zh_CN", "en_GB")):
            root = page(result, path)
            said = {node.get("property"): node.get("content") for node in root.xpath("//meta[@property]")}
            assert said["og:locale"] == locale and said["og:locale:alternate"] == other
            assert (said["og:image:width"], said["og:image:height"], said["og:image:type"]) == ("1200", "630", "image/png")
            assert said["og:image:alt"] and said["og:site_name"] == "Soundings"
            assert said.get("og:url", "") == (URL + path.removesuffix("index.html") if url else "")
            where = said["og:image"].removeprefix(URL) if url else posixpath.normpath(posixpath.join(posixpath.dirname(path), said["og:image"]))
            assert where == "figures/share.png" and where in result.files
            named = {node.get("name"): node.get("content") for node in root.xpath("//meta[starts-with(@name, 'citation_')]")}
            assert named["citation_title"] and named["citation_publication_date"] == "2026/01/02"


def test_a_newer_campaign_comes_first():
    made = [Entry(name, "en", f"{name}/index.html", name, "", f"2026-01-0{day}T00:00:00Z") for day, name in ((1, "old"), (3, "new"), (2, "mid"))]
    root = etree.fromstring(feed(made, URL))
    assert [node.text for node in root.iter(f"{{{ATOM}}}title")][1:] == ["new", "mid", "old"]
    assert root.findtext(f"{{{ATOM}}}updated") == "2026-01-03T00:00:00Z"


def test_the_sitemap_names_every_report_with_its_twin():
    root = etree.fromstring(sitemap([routes("a", "a"), routes("b", "a")], URL))
    assert {node.text for node in root.iter(f"{{{MAP}}}loc")} >= {URL, f"{URL}zh/", f"{URL}b/", f"{URL}b/zh/numbers/"}
    assert all(len(list(node)) == 3 for node in root.iter(f"{{{MAP}}}url"))


def test_what_search_engines_read(workspace):
    result = build_at(workspace, URL)
    for path, lang, other in (("index.html", "en", "zh/"), ("zh/index.html", "zh-Hans", "")):
        root = page(result, path)
        data, rows = described(result, path), described(result, path.replace("index.html", "numbers/index.html"))
        assert data["@type"] == "ScholarlyArticle" and data["inLanguage"] == lang and data["headline"] and data["description"]
        assert data["isBasedOn"]["@type"] == rows["@type"] == "Dataset" and data["isBasedOn"]["name"] == rows["name"]
        assert rows["distribution"] and all(re.fullmatch("[0-9a-f]{64}", file["sha256"]) for file in rows["distribution"])
        assert "tpot" in " ".join(rows["variableMeasured"])
        assert data["mentions"]["@type"] == "SoftwareSourceCode" and data["mentions"]["license"]
        graph = {node.get("property"): node.get("content") for node in root.xpath("//meta[starts-with(@property, 'og:')]")}
        assert graph["og:type"] == "article" and graph["og:title"] and graph["og:description"] and graph["og:locale"]
        assert root.xpath("//link[@rel='canonical']/@href") == [URL + path.removesuffix("index.html")]
        assert f"{URL}{other}" in root.xpath("//link[@rel='alternate'][@hreflang]/@href")


def test_both_languages_stand_block_by_block(workspace):
    result = build_at(workspace, "")
    root = page(result, "parallel/index.html")
    rows = root.xpath("//div[@class='twins'][count(div)=2]")
    assert len(rows) >= 7
    for row in rows:
        _, chinese = row
        assert chinese.get("lang") == "zh-Hans"
        keys = [sorted(node.get("data-key") for node in cell.iter("data")) for cell in row]
        assert set(keys[0]) == set(keys[1])
    text = root.text_content()
    assert "is what the best width reaches" in text and "每步 token 随窗口上升" in text
    identifiers = [node.get("id") for node in root.xpath("//*[@id]")]
    assert len(identifiers) == len(set(identifiers))
    assert not root.xpath("//main//svg")


def test_a_commit_that_nobody_knows_is_no_word():
    """Outside a repository a manifest says null, also of whether files had changed."""
    run = Run.of("search.csv", {"commit": None, "dirty": None, "sha256": "0", "rows": 1})
    assert (run.commit, run.dirty) == ("", False)
