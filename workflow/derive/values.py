"""The derived values of one campaign, as the figures and the page read them."""

from __future__ import annotations

import difflib
import functools
import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from workflow.derive.fact import Claim, Fact

SCHEMA = 1
"""Version of the layout of values.json and claims.json."""
DIGITS = re.compile(r"(\d+)")
WILD = re.compile(r"[*?[]")


class UnknownKey(KeyError):
    """A key that no fact or claim has; the message names near ones."""

    def __str__(self) -> str:
        return self.args[0]


@dataclass(frozen=True)
class Values:
    """`values.json`: facts, claims and the manifests of the runs they came from."""

    campaign: str
    facts: dict[str, Fact]
    claims: dict[str, Claim]
    runs: dict[str, dict] = field(default_factory=dict)
    """CSV name -> its manifest."""

    @classmethod
    def load(cls, path: Path | str) -> Values:
        """Read a values.json. Raises ValueError when the file is not one."""
        try:
            raw = json.loads(Path(path).read_text("utf8"))
            if raw["schema"] != SCHEMA:
                raise ValueError(f"{path}: layout {raw['schema']!r}, this program reads {SCHEMA}; derive it again")
            return cls.from_json(raw)
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path}: not a values.json ({error}); make one with `python -m workflow.derive`") from None

    @classmethod
    def from_json(cls, raw: dict) -> Values:
        facts = {key: Fact.from_json(key, data) for key, data in raw["facts"].items()}
        claims = {key: Claim.from_json(key, data) for key, data in raw["claims"].items()}
        return cls(raw["campaign"], facts, claims, raw["runs"])

    def to_json(self) -> dict:
        return {
            "schema": SCHEMA,
            "campaign": self.campaign,
            "facts": {key: fact.to_json() for key, fact in sorted(self.facts.items())},
            "claims": self.claims_json(),
            "runs": dict(sorted(self.runs.items())),
        }

    def claims_json(self) -> dict:
        return {key: claim.to_json() for key, claim in sorted(self.claims.items())}

    def fact(self, key: str) -> Fact:
        """The fact of a key, missing ones included. Raises UnknownKey."""
        return self._find(self.facts, key, "fact")

    def claim(self, key: str) -> Claim:
        """The claim of a key. Raises UnknownKey."""
        return self._find(self.claims, key, "claim")

    def get(self, key: str) -> Fact | None:
        """The fact of a key if it exists and is not missing."""
        fact = self.facts.get(key)
        return None if fact is None or fact.missing else fact

    def match(self, pattern: str) -> list[Fact]:
        """Facts that are not missing and whose key matches a shell pattern; numbers inside keys sort as numbers."""
        start = WILD.split(pattern, maxsplit=1)[0]  # tells most keys apart, and costs far less than a pattern
        return [self.facts[key] for key in self._sorted if key.startswith(start) and fnmatchcase(key, pattern) and not self.facts[key].missing]

    @functools.cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.facts, key=natural)

    @staticmethod
    def _find(table: dict, key: str, what: str):
        try:
            return table[key]
        except KeyError:
            near = difflib.get_close_matches(key, table, n=4, cutoff=0.6)
            raise UnknownKey(f"no {what} {key!r}" + (f"; near: {', '.join(near)}" if near else "")) from None


@functools.cache
def natural(key: str) -> tuple:
    """Sort key under which `c8` comes before `c16`."""
    return tuple((1, "", int(part)) if at % 2 else (0, part, 0) for at, part in enumerate(DIGITS.split(f"{key}\0")))
