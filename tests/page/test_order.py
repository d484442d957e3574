"""The order in which the page tells: the brief's, whatever else stands between."""

import re

from workflow.figures.registry import plates
from workflow.page.content import Content

BRIEF = ("run-this", "prologue", "search-shape", "memory-wall", "two-walls", "lanes", "knobs", "block-size", "modes", "division", "gate", "context-not-batch",
         "decomposition", "output-length", "concurrency", "positions", "dspark", "kernels", "reefs", "epilogue", "method", "limits", "reproduce",
         "citation")  # fmt: skip

DECIDE = ("lanes", "modes", "division", "loss", "noise")


def test_the_advice_opens_the_page_and_the_sections_follow_in_the_order_of_the_brief():
    shown = Content.load().of("local").slugs
    assert shown[0] == "run-this"
    assert tuple(slug for slug in shown if slug in BRIEF) == BRIEF


def test_the_plates_that_decide_are_the_large_ones_and_lead_their_sections():
    """T_verify over T_decode by mode, predicted against measured, the lanes' frontier, the decomposition, repeats of one configuration."""
    assert {plate.id for plate in plates() if plate.wide} == set(DECIDE)
    sections = {section.slug: section for section in Content.load().of("local").sections["en"]}
    opening = re.findall(r'ref\("([\w-]+)"\)', sections["run-this"].source.partition("{#deciding}")[2].partition("\n\n")[0])
    assert opening == list(DECIDE)
    for slug, plate in (("lanes", "lanes"), ("modes", "modes"), ("division", "division"), ("decomposition", "loss"), ("method", "noise")):
        lede = sections[slug].source.partition(f'{{{{ plate("{plate}") }}}}')[0]
        assert lede.count("\n{#") <= 1, f"{slug}: the plate stands after its lede"
