"""What was not measured is said by the data alone: in a variant of a claim, or by the facts that are missing under an `absent` block. A sentence typed beside them goes stale when it is measured."""

from __future__ import annotations

from workflow.page.content import Section
from workflow.page.errors import Problem
from workflow.page.tree import Block, running
from workflow.page.words import Words


def check(section: Section, language: str, words: Words) -> list[Problem]:
    """Phrases of words.yaml (`unmeasured`) in a section's running text, where a section of one publication (`only`) is about what that did; and denials in
    any `absent` block."""
    problems = _denials(section, language, words)
    if section.only:
        return problems
    for text in running(section.tree, "absent"):
        for phrase in words.unmeasured_in(text, language):
            line = next((at for at, row in enumerate(section.source.splitlines(), 1) if phrase in row), 1)
            problems.append(
                Problem(
                    section.file, line + section.offset, "unmeasured",
                    f"“{phrase}” outside of a claim and of `absent`: it stays when the campaign measures it; say it in a variant, or say what the section is silent on",
                )
            )  # fmt: skip
    return list(dict.fromkeys(problems))


def _denials(section: Section, language: str, words: Words) -> list[Problem]:
    """Words of words.yaml (`denied`) in `absent` blocks: which fact is missing is known to the facts alone, and they say it under the block."""
    return [
        Problem(
            section.file, block.line, "unmeasured",
            f"“{word}” in `absent`, which stands whatever is missing: say what the section reads; what is missing, and why, is told under it",
        )
        for block in section.tree
        if isinstance(block, Block) and block.tag == "absent"
        for text in running(block.body, "absent")
        for word in words.denied_in(text, language)
    ]  # fmt: skip
