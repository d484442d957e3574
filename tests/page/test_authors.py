"""Whom the page and its citation name: the authors of campaign.yaml, or the project's contributors."""

import json

import pytest
from lxml import html

from workflow.page.authors import BIBTEX, KEY, PROJECT, author_facts


@pytest.mark.parametrize(("names", "text", "bibtex"), [((), PROJECT, f"{{{PROJECT}}}"), (("Ada One",), "Ada One", "Ada One"), (("Ada One", "Bo"), "Ada One, Bo", "Ada One and Bo")])
def test_a_line_of_text_and_bibtex_name_the_same(names, text, bibtex):
    facts = author_facts(names)
    assert (facts[KEY].value, facts[BIBTEX].value) == (text, bibtex)
    assert [bool(fact.source) for fact in facts.values()] == [bool(names)] * 2


def told(workspace, path):
    """Names in the masthead, in the head for citations, and in the data for machines."""
    root = html.document_fromstring(workspace.build().files[path].decode())
    author = json.loads(root.xpath("//script[@type='application/ld+json']")[0].text)["author"]
    return (
        root.xpath(f"//dl[@class='spec']//data[@data-key='{KEY}']/text()"),
        root.xpath("//meta[@name='citation_author']/@content"),
        [one["name"] for one in (author if isinstance(author, list) else [author])],
    )


def test_named_authors_stand_in_the_masthead_and_in_the_head(workspace):
    (workspace.root / "workflow/campaigns/local/campaign.yaml").write_text("name: local\nauthors: [Ada One, Bo, 'No {braces}']\n")
    for path in ("index.html", "zh/index.html"):
        assert told(workspace, path) == (["Ada One, Bo"], ["Ada One", "Bo"], ["Ada One", "Bo"])


def test_without_them_the_masthead_has_no_such_cell(workspace):
    assert told(workspace, "index.html") == ([], ["Soundings"], ["Soundings"])
