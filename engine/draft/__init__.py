"""Drafters behind one interface; a lane's name chooses one."""

from __future__ import annotations

from engine.draft.base import Draft, Drafter

__all__ = ["Draft", "Drafter", "drafter_class"]


def drafter_class(lane: str) -> type[Drafter] | None:
    """The drafter of a lane, None for `plain`. Imports are here so that a lane loads only its own drafter."""
    if lane == "plain":
        return None
    if lane == "dspark":
        from engine.draft.dspark import DSpark

        return DSpark
    if lane == "mtp":
        from engine.draft.mtp import Mtp

        return Mtp
    raise KeyError(f"lane {lane!r} has no drafter; known are plain, dspark, mtp")
