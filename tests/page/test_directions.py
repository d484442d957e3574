"""Direction words: every text about a claim uses the ones that the claim declares."""

import pytest

from workflow.derive.evaluate import Derivation
from workflow.derive.load import Campaign
from workflow.derive.values import Values
from workflow.page import directions
from workflow.page.lookup import Lookup
from workflow.page.render import Sources
from workflow.page.words import Words


@pytest.fixture(scope="module")
def lookup(tmp_path_factory):
    """Every claim of the registry, in a campaign that measured nothing."""
    derivation = Derivation(Campaign("nothing", tmp_path_factory.mktemp("nothing"), {}, {}, {}), resamples=0)
    return Lookup(Values("nothing", {}, {key: derivation.claim(key) for key in derivation.claim_definitions}))


def test_the_content_says_what_the_claims_declare(lookup):
    sources = Sources.load()
    found = directions.check_plates(sources.strings, lookup, sources.words)
    for language, sections in sources.content.sections.items():
        for section in sections:
            found += directions.check(section, language, lookup, sources.words)
    assert [str(problem) for problem in found] == []


def test_every_declared_class_is_one_of_the_list(lookup):
    words = Words.load()
    for claim in lookup.values.claims.values():
        for name in claim.says:
            verdict, _, bare = name.rpartition(".")
            assert bare in words.polar and verdict in ("", "holds", "fails", "unresolved", "missing"), f"{claim.key} says {name}"


@pytest.mark.parametrize(
    ("text", "language", "classes"),
    [
        ("Tokens rise, steps are slower", "en", {"rise", "slower"}),
        ("Speculation loses where plain decoding pays", "en", {"lose", "win"}),
        ("at most a win", "en", set()),
        ("随窗口下降，投机最慢", "zh", {"fall", "slowest"}),
    ],
)
def test_words_with_an_opposite(text, language, classes):
    assert set(Words.load().polar_in(text, language)) == classes
