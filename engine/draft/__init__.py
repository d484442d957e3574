"""Drafters behind one interface; a lane's name chooses one."""

from __future__ import annotations

from engine.draft.base import Draft, Drafter, DraftOptions

__all__ = ["Draft", "DraftOptions", "Drafter", "drafter_class"]


def drafter_class(lane: str) -> type[Drafter] | None:
    """The drafter of a lane, None for `plain`. Imports are here so that a lane loads only its own drafter."""
    if lane == "plain":
        return None
    if lane == "dspark":
        from engine.draft.dspark import DSpark

        return DSpark
    if lane == "dflash":
        from engine.draft.dflash import DFlash

        return DFlash
    if lane == "mtp":
        from engine.draft.mtp import Mtp

        return Mtp
    if lane == "lookup":
        from engine.draft.lookup import Lookup

        return Lookup
    raise KeyError(f"lane {lane!r} has no drafter; known are plain, dspark, dflash, mtp, lookup")
