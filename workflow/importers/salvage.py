"""What stands in a JSON document that was cut off: the members that were complete when it ended.

A list of plain values that was cut is left out whole: its mean would be another one. A list of objects keeps the complete ones.
"""

from __future__ import annotations

import json
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
CLOSE = {"{": "}", "[": "]"}


class Open:
    """A container that has begun."""

    __slots__ = ("bracket", "cut", "objects")

    def __init__(self, bracket: str):
        self.bracket = bracket
        self.cut: int | None = None
        """Where it may be closed: behind the last complete member."""
        self.objects = False
        """Whether a complete object stands in it."""


def salvage(text: str):
    """The value of a cut JSON text with its complete members; None where there is none."""
    stack: list[Open] = []
    for token in TOKEN.finditer(text):
        word = token.group()
        if word in CLOSE:
            stack.append(Open(word))
        elif word in ("}", "]"):
            if not stack or CLOSE[stack[-1].bracket] != word:
                return None
            done = stack.pop()
            if not stack:
                return parsed(text[: token.end()])
            stack[-1].cut = token.end()
            stack[-1].objects |= done.bracket == "{"
        elif word == "," and stack:
            stack[-1].cut = token.start()
    while stack and (stack[-1].cut is None or (stack[-1].bracket == "[" and not stack[-1].objects)):
        stack.pop()
    if not stack:
        return None
    return parsed(text[: stack[-1].cut] + "".join(CLOSE[one.bracket] for one in reversed(stack)))


def parsed(text: str):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
