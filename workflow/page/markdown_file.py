"""Numbers in any Markdown file, from the same facts: inline markers and guarded regions.

`<!--n:window.code.best_speedup-->1.68×<!--/n-->` holds a number (`n:key:format`, `word:key`, `ordinal:key` too); what stands between the two comments is
written by `soundings splice`. Between `<!--splice:begin-->` and `<!--splice:end-->` (`begin zh` for Chinese) a digit outside markers and code is a finding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workflow.derive.values import UnknownKey, Values
from workflow.page.errors import Problem
from workflow.page.format import FormatError, Formatter

MARKER = re.compile(r"<!--(n|word|ordinal):([\w.-]+)(?::([\w-]+))?-->(.*?)<!--/\1-->", re.DOTALL)
GUARD = re.compile(r"<!--splice:begin(?: (en|zh))?-->(.*?)<!--splice:end-->", re.DOTALL)
OPEN = re.compile(r"<!--(?:splice:begin|n:|word:|ordinal:)[^>]*-->")
CODE = re.compile(r"^```.*?^```|(`+).+?\1|<!--.*?-->|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Spliced:
    text: str
    """The file as it should be."""
    problems: tuple[Problem, ...]
    """What splicing cannot mend: unknown keys, missing facts, typed digits, markers that do not close."""
    numbers: int


def splice(text: str, file: str, values: Values, formatter: Formatter) -> Spliced:
    """The text with every marker filled, and what is wrong with it."""
    problems: list[Problem] = []

    def line(at: int) -> int:
        return text.count("\n", 0, at) + 1

    regions = [(match.start(2), match.end(2), match.group(1) or "en") for match in GUARD.finditer(text)]

    def fill(match: re.Match) -> str:
        kind, key, fmt, _ = match.groups()
        language = next((language for start, end, language in regions if start <= match.start() < end), "en")
        try:
            fact = values.fact(key)
            shown = formatter(fact, language, fmt) if kind == "n" else getattr(formatter, kind)(fact, language)
        except (UnknownKey, FormatError) as error:
            problems.append(Problem(file, line(match.start()), "splice", str(error)))
            return match.group()
        opening = match.group()[: match.group().index("-->") + 3]
        return f"{opening}{shown}<!--/{kind}-->"

    new = MARKER.sub(fill, text)
    for start, end, _ in regions:
        bare = CODE.sub(_blank, MARKER.sub(_blank, text[start:end]))
        problems += [
            Problem(file, line(start + found.start()), "typed digit", f"“{found.group()}” in a guarded region is not spliced")
            for found in re.finditer(r"\d[\d.,]*", bare)
        ]
    matched = {match.start() for pattern in (MARKER, GUARD) for match in pattern.finditer(text)}
    problems += [
        Problem(file, line(found.start()), "splice", f"{found.group()} does not close")
        for found in OPEN.finditer(text)
        if found.start() not in matched
    ]
    return Spliced(new, tuple(sorted(problems)), len(MARKER.findall(text)))


def _blank(match: re.Match) -> str:
    """As long as it was, so that lines and places stay."""
    return re.sub(r"[^\n]", " ", match.group())
