"""A JSON Schema as one function that says yes or no.

A values.json holds thousands of facts, each with the same few rules. A general validator walks the schema anew for every one of
them; here the schema is walked once. Whoever needs to say what is wrong asks jsonschema afterwards. A keyword that is not known
here is refused when the schema is compiled, never passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

Predicate = Callable[[object], bool]

ANNOTATIONS = frozenset(("$schema", "$id", "$defs", "title", "description", "unit", "required_embedded", "format", "default"))
TYPES: dict[str, Predicate] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value),
    "integer": lambda value: (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer()),
}


class NotCompiled(ValueError):
    """A keyword that this module does not know."""


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(value: object, constant: object) -> bool:
    """Equal as JSON: 1 and true are not."""
    return value == constant and isinstance(value, bool) == isinstance(constant, bool)


def every(rules: list[Predicate]) -> Predicate:
    def check(value: object) -> bool:
        for rule in rules:  # a loop, where all() would start a generator: tens of thousands of values are asked
            if not rule(value):
                return False
        return True

    return check


class Compiler:
    """Compiles schemas that refer to one another by `$id` or within themselves."""

    def __init__(self, documents: dict[str, dict]):
        self.documents = documents
        """`$id` (or its last part) -> schema."""
        self._done: dict[str, Predicate] = {}

    def document(self, name: str) -> Predicate:
        return self._reference(f"{name}#", name)

    def _reference(self, reference: str, home: str) -> Predicate:
        name, _, path = reference.partition("#")
        name = name or home
        key = f"{name}#{path}"
        if key not in self._done:
            found = self.documents[name]
            for part in path.strip("/").split("/") if path else ():
                found = found[part]
            self._done[key] = lambda value: self._done[key](value)  # a schema may refer to itself
            self._done[key] = self._compile(found, name)
        return self._done[key]

    def _compile(self, schema: dict | bool, home: str) -> Predicate:
        if isinstance(schema, bool):
            return lambda value: schema
        rules = [rule for word in schema if (rule := self._rule(word, schema, home)) is not None]
        return rules[0] if len(rules) == 1 else every(rules)

    def _rule(self, word: str, schema: dict, home: str) -> Predicate | None:
        wanted = schema[word]
        match word:
            case "$ref":
                return self._reference(wanted, home)
            case "type":
                kinds = [TYPES[name] for name in (wanted if isinstance(wanted, list) else [wanted])]
                return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)
            case "const":
                return lambda value: same(value, wanted)
            case "enum":
                return lambda value: any(same(value, one) for one in wanted)
            case "minimum":
                return lambda value: not is_number(value) or value >= wanted
            case "maximum":
                return lambda value: not is_number(value) or value <= wanted
            case "exclusiveMinimum":
                return lambda value: not is_number(value) or value > wanted
            case "exclusiveMaximum":
                return lambda value: not is_number(value) or value < wanted
            case "minLength":
                return lambda value: not isinstance(value, str) or len(value) >= wanted
            case "maxLength":
                return lambda value: not isinstance(value, str) or len(value) <= wanted
            case "pattern":
                search = re.compile(wanted).search
                return lambda value: not isinstance(value, str) or search(value) is not None
            case "required":
                names = frozenset(wanted)
                return lambda value: not isinstance(value, dict) or names <= value.keys()
            case "minItems":
                return lambda value: not isinstance(value, list) or len(value) >= wanted
            case "maxItems":
                return lambda value: not isinstance(value, list) or len(value) <= wanted
            case "minProperties":
                return lambda value: not isinstance(value, dict) or len(value) >= wanted
            case "uniqueItems":
                return lambda value: not isinstance(value, list) or len(set(map(repr, value))) == len(value)
            case "prefixItems":
                first = [self._compile(rule, home) for rule in wanted]
                return lambda value: not isinstance(value, list) or all(rule(item) for rule, item in zip(first, value, strict=False))
            case "items":
                one, skipped = self._compile(wanted, home), len(schema.get("prefixItems", ()))
                return lambda value: not isinstance(value, list) or all(one(item) for item in value[skipped:])
            case "properties":
                return self._properties({name: self._compile(rule, home) for name, rule in wanted.items()})
            case "propertyNames":
                named = self._compile(wanted, home)
                return lambda value: not isinstance(value, dict) or all(map(named, value))
            case "additionalProperties":
                known, one = frozenset(schema.get("properties", ())), self._compile(wanted, home)
                return lambda value: not isinstance(value, dict) or all(one(item) for name, item in value.items() if name not in known)
            case "if":
                condition = self._compile(wanted, home)
                then, other = self._compile(schema.get("then", True), home), self._compile(schema.get("else", True), home)
                return lambda value: (then if condition(value) else other)(value)
            case "not":
                forbidden = self._compile(wanted, home)
                return lambda value: not forbidden(value)
            case "allOf":
                parts = [self._compile(part, home) for part in wanted]
                return lambda value: all(part(value) for part in parts)
            case "anyOf":
                choices = [self._compile(choice, home) for choice in wanted]
                return lambda value: any(choice(value) for choice in choices)
            case "then" | "else":
                return None
            case _ if word in ANNOTATIONS:
                return None
        raise NotCompiled(f"{home}: keyword {word!r} is not compiled here")

    @staticmethod
    def _properties(rules: dict[str, Predicate]) -> Predicate:
        def check(value: object) -> bool:
            if not isinstance(value, dict):
                return True
            for name, item in value.items():
                if name in rules and not rules[name](item):
                    return False
            return True

        return check
