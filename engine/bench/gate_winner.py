"""The configuration that a search chose, read from what it published: the gate judges what one would serve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.bench.cells import Arm

FILE = "search.manifest.json"


@dataclass(frozen=True)
class Winner:
    """Which configuration a search on this machine ended with."""

    label: str
    lane: str
    block_size: int | None
    confirmed: str | None
    """Verdict of its fresh boots against the search's base; null where they did not finish."""
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
        if about.get("machine", {}).get("host") == host and (found := of_manifest(about)):
            return found
    return None


def of_manifest(about: dict) -> Winner | None:
    """From the `search` section of a manifest."""
    search = about.get("search") or {}
    one = next((one for one in search.get("candidates", ()) if one["label"] == search.get("winner")), None)
    if one is None:
        return None
    confirmed = (search.get("confirm") or {}).get("verdict")
    return Winner(one["label"], one["lane"], one["block_size"], confirmed, about.get("code", ""))
