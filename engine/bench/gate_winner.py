"""The configuration that a search chose, read from what it published: the gate judges what one would serve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.bench.cells import Arm
from engine.config import LANES

FILE = "search.manifest.json"


@dataclass(frozen=True)
class Winner:
    """Which configuration a search on this machine ended with."""

    label: str
    lane: str
    block_size: int | None
    confirmed: str | None
    """Verdict of its fresh boots against the search's base; null where they did not finish, and for the base itself."""
    code: str
    """Fingerprint of the code that the search ran on."""

    @property
    def arm(self) -> Arm:
        return Arm(self.label, self.lane, self.block_size)

    def is_arm(self, arm: Arm) -> bool:
        """Whether a configuration of the gate is this one under any label."""
        return not arm.knobs and arm.mode is None and (arm.lane, arm.block_size) == (self.lane, self.block_size)

    def as_dict(self) -> dict:
        return asdict(self)


def searched(folders: Sequence[Path | None], host: str) -> Winner | None:
    """The winner in the first folder whose search was measured on this host; None where no search was, or it found none.

    A file that cannot be read is no search: the gate also runs alone.
    """
    for folder in folders:
        if folder is None:
            continue
        try:
            about = json.loads((folder / FILE).read_text("utf8"))
        except (OSError, ValueError):
            continue
        if mapping(mapping(about).get("machine")).get("host") == host and (found := of_manifest(about)):
            return found
    return None


def mapping(value: object) -> dict:
    """The value where it is an object of JSON, else an empty one: what is not there and what is of another kind are both no search."""
    return value if isinstance(value, dict) else {}


def of_manifest(about: dict) -> Winner | None:
    """From the `search` section of a manifest; None where it names no winner that could be booted.

    A file of an older search names the candidate whatever its fresh boots said: where they did not say `better`, the base is the winner.
    """
    search = mapping(about.get("search"))
    candidates = search.get("candidates")
    confirmed = mapping(search.get("confirm")).get("verdict")
    if not isinstance(search.get("winner"), str) or not isinstance(candidates, list):
        return None
    if confirmed != "better":
        stage = mapping(about.get("config"))
        return winner_of({"label": search.get("base"), "lane": stage.get("lane"), "block_size": stage.get("block_size"), "code": about.get("code")})
    named = [one for one in candidates if mapping(one).get("label") == search["winner"]]
    return winner_of({**mapping(named[0]), "confirmed": confirmed, "code": about.get("code")}) if named else None


def winner_of(value: object) -> Winner | None:
    """From an object with the fields of `Winner`, more of them or fewer; None where it names nothing that could be booted."""
    one = mapping(value)
    label, lane, size, confirmed, code = (one.get(name) for name in ("label", "lane", "block_size", "confirmed", "code"))
    whole = isinstance(size, int) and not isinstance(size, bool) and size >= 1
    if not isinstance(label, str) or lane not in LANES or not (size is None and lane == "plain" or whole):
        return None
    return Winner(label, lane, size, confirmed if isinstance(confirmed, str) else None, code if isinstance(code, str) else "")
