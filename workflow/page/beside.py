"""A speedup never stands without plain decoding's own time: how many times as fast says little of a slow base."""

from __future__ import annotations

import re

from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.errors import Problem
from workflow.page.speaking import keys_of
from workflow.page.strings import Strings
from workflow.page.tree import Use, uses

SPEEDUP = re.compile(r"(^|[._])(best_)?speedup$")
PLAIN_TIME = re.compile(r"plain.*(tpot|step|decode)_ms$|(^|\.)decode_ms$")


def check(section: Section) -> list[Problem]:
    """Speedups of a section beside which no time of plain decoding is shown: in the same variant, or outside of every claim."""
    used = [use for use in uses(section.tree) if not use.absent]
    return list(dict.fromkeys(Problem(section.file, use.call.line, "speedup", told(key)) for use, key in bare(used, used)))


def check_plates(strings: Strings) -> list[Problem]:
    """The same for titles and alt texts of plates; a subtitle stands beside both."""
    file, problems = strings.files["plates"], []
    for name, plate in strings.section("plates").items():
        under = {language: list(uses(parse(str(text), f"{file}: {name}.subtitle"))) for language, text in (plate.get("subtitle") or {}).items()}
        for part in ("title", "alt"):
            for verdict, texts in (plate.get(part) or {}).items():
                for language, text in texts.items():
                    place = f"{name}.{part}.{verdict}, {language}"
                    own = list(uses(parse(str(text), f"{file}: {place}")))
                    problems += [Problem(file, 0, "speedup", f"{place}: {told(key)}") for _, key in bare(own, [*own, *under.get(language, [])])]
    return list(dict.fromkeys(problems))


def bare(used: list[Use], beside: list[Use]) -> list[tuple[Use, str]]:
    """Uses of a speedup, with the key, that no plain time accompanies."""
    timed = {(use.claim, use.verdict) for use in beside if any(PLAIN_TIME.search(key) for key in keys_of(use.call))}
    always = any(claim is None for claim, _ in timed)
    return [
        (use, key)
        for use in used
        for key in keys_of(use.call)
        if SPEEDUP.search(key) and not always and (use.claim, use.verdict) not in timed
    ]


def told(key: str) -> str:
    return f"{key} without a time of plain decoding beside it: show one (a key such as window.all.plain.tpot_ms) in the same section"
