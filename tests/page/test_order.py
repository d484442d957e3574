"""The order in which the page tells: the brief's, whatever else stands between."""

from workflow.page.content import Content

BRIEF = ("run-this", "prologue", "search-shape", "memory-wall", "two-walls", "lanes", "knobs", "block-size", "modes", "gate", "context-not-batch",
         "decomposition", "output-length", "concurrency", "positions", "dspark", "kernels", "reefs", "epilogue", "method", "limits", "reproduce",
         "citation")  # fmt: skip


def test_the_advice_opens_the_page_and_the_sections_follow_in_the_order_of_the_brief():
    shown = Content.load().of("local").slugs
    assert shown[0] == "run-this"
    assert tuple(slug for slug in shown if slug in BRIEF) == BRIEF
