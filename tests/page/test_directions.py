"""Direction words: every text about a claim uses the ones that the claim declares."""

import re

import pytest

from workflow.derive.evaluate import Derivation
from workflow.derive.load import Campaign
from workflow.derive.values import Values
from workflow.page import directions
from workflow.page.dialect import parse
from workflow.page.lookup import Lookup
from workflow.page.render import Sources
from workflow.page.tree import claims
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
    assert {name for name, _ in Words.load().polar_order(text, language)} == classes


PAIR = ("holds.win", "holds.lose", "fails.rise", "fall")


@pytest.mark.parametrize(
    ("text", "verdict", "right"),
    [
        ("It leads at one request and trails at many", "holds", True),
        ("It trails at one request and leads at many", "holds", False),
        ("It leads at one request", "holds", False),
        ("It leads, then trails, then leads", "holds", False),
        ("nothing of the kind", "holds", True),
        ("It rises, then falls", "fails", True),
        ("It falls, then rises", "fails", False),
        ("It falls", "holds", True),
        ("先上升，后下降", "fails", True),
        ("先下降，后上升", "fails", False),
    ],
)
def test_a_pair_stands_in_the_declared_order(text, verdict, right):
    language = "en" if text.isascii() else "zh"
    assert (list(directions.faults(text, PAIR, verdict, language, Words.load())) == []) is right


def spoken(sources: Sources):
    """Claim, verdict, language and text of everything that is said of a claim."""
    for language, sections in sources.content.sections.items():
        for one in (claim for section in sections for claim in claims(section.tree)):
            for verdict, body in one.variants.items():
                yield one.key, verdict, language, directions.said(body)
    for plate in sources.strings.section("plates").values():
        for part in ("title", "alt"):
            for verdict, texts in (plate.get(part) or {}).items():
                for language, text in texts.items():
                    yield plate.get("claim", ""), verdict, language, directions.said(parse(str(text), "plate"))


def exchanged(text: str, language: str, pair: list[str], words: Words) -> str:
    """The text with every word of a pair turned into one of its opposite."""
    first, second = pair
    of = {name: words.of_class(name, language)[0] if name in words.classes else words.data["outcomes"][name][0] for name in pair}
    other = {word: of[second if name == first else first] for name, word in words.polar_order(text, language) if name in pair}
    return re.sub("|".join(map(re.escape, sorted(other, key=len, reverse=True))), lambda found: other[found[0]], text) if other else text


def test_an_exchange_in_both_languages_is_seen_in_every_text(lookup):
    """Each text that is said of a claim, with the words of a pair exchanged, is one that its claim does not allow."""
    sources, turned, overlooked = Sources.load(), 0, []
    words = sources.words
    for key, verdict, language, text in spoken(sources):
        for pair in words.data["opposites"]:
            if key and (other := exchanged(text, language, pair, words)) != text:
                turned += 1
                if not list(directions.faults(other, lookup.claim(key).says, verdict, language, words)):
                    overlooked.append(f"{key}, {verdict}, {language}: {other}")
    assert overlooked == [] and turned > 80
