"""Whether a text may stand in a column of the points: the rule of its schema, compiled once."""

from __future__ import annotations

from functools import cache

from workflow.derive.schema import describe, rule_of, schema


@cache
def _rule(column: str):
    return rule_of(schema("points")["properties"][column])


def fits(column: str, text: str) -> bool:
    return _rule(column)(text)


def wanted(column: str) -> str:
    """What the column may hold, in words."""
    return describe(schema("points")["properties"][column])
