"""The real content on a synthetic campaign: it builds clean as measured, and with every claim pushed to each verdict."""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.data.synthetic import Physics, write_campaign
from tests.data.synthetic import Plan as Cells
from tests.page.campaign import html_errors
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.fact import VERDICTS
from workflow.derive.values import Values
from workflow.figures.build import build as draw
from workflow.page.document import document
from workflow.page.parity import with_claims
from workflow.page.render import Builder, Campaign, Sources
from workflow.page.routes import routes
from workflow.page.site import build
from workflow.page.splice import Choice
from workflow.page.tree import claims
from workflow.plan import Plan


@dataclass(frozen=True)
class House:
    root: Path
    values: Values

    def build(self, values: Values):
        (self.root / "build/local/values.json").write_text(json.dumps(values.to_json()))
        return build(Plan(("local",), "local", self.root), self.root / "build")

    def builder(self) -> Builder:
        return Builder(Sources.load(), Campaign("local", routes("local", "local"), self.values, self.root / "build/local/figures"))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    root = tmp_path_factory.mktemp("content")
    folder = root / "workflow/campaigns/local"
    write_campaign(folder, Physics(), Cells(repeats=2, prompts=2, osl=24), name="local")
    values = Derivation(load.load(folder)).values()
    draw(values, root / "build/local/figures")
    yield House(root, values)
    shutil.rmtree(root)


def complaints(result) -> list[str]:
    return [str(problem) for problem in result.problems]


@pytest.fixture(scope="module")
def result(house):
    return house.build(house.values)


def test_the_content_builds_clean(result):
    assert complaints(result) == []
    assert all(len(content) < 700_000 for name, content in result.files.items() if name in ("index.html", "zh/index.html"))


def test_the_pages_are_what_the_standard_calls_html(result):
    """By a parser that follows the specification and says where a page does not."""
    pages = {name: content.decode() for name, content in result.files.items() if name.endswith(".html") and "numbers" not in name}
    assert {"index.html", "zh/index.html", "parallel/index.html"} <= pages.keys()
    for name, page in pages.items():
        assert html_errors(page) == [], name


def test_every_claim_of_the_content_is_derived(house):
    used = {claim.key for sections in Sources.load().content.sections.values() for section in sections for claim in claims(section.tree)}
    assert used <= set(house.values.claims)


@pytest.mark.slow
@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_variant_of_every_claim_can_be_published(house, verdict):
    # a verdict that the data do not support may speak of a fact that only exists with it
    facts = {
        key: replace(fact, value="x" if fact.kind == "label" else 1, reason="") if fact.missing else fact
        for key, fact in house.values.facts.items()
    }
    forced = {key: replace(claim, verdict=verdict) for key, claim in house.values.claims.items()}
    assert complaints(house.build(replace(house.values, facts=facts, claims=forced))) == []


@pytest.mark.parametrize("verdict", VERDICTS)
def test_parity_leaves_out_only_what_holds_no_claim(house, verdict):
    """Under the later verdicts parity compares parts of a section: the same blocks, word for word, and every one that a claim words."""
    builder = house.builder()
    for language, sections in builder.sources.content.sections.items():
        for section in sections:
            choice = Choice(verdict=verdict, every_campaign=True)
            whole = {block.id: block for block in document(section, builder.contexts[language], choice, render=False)}
            part = document(section, builder.contexts[language], choice, render=False, tree=with_claims(section.tree))
            assert [whole[block.id] for block in part] == part, section.file
            left = whole.keys() - {block.id for block in part}
            assert not [name for name in left if whole[name].claims], section.file
