"""The keys of one foreign result, asked for by name; what nobody asked for is known at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable

from workflow.importers import units
from workflow.importers.report import DROPPED, NOTE, Report
from workflow.importers.values import NoNumber, clean, number


class Fields:
    """A JSON object (or a CSV row as one) at its place, with the keys that were used."""

    def __init__(self, data: dict, file: str, place: str, report: Report, prefix: str = ""):
        self.data, self.file, self.place, self.report, self.prefix = data, file, place, report, prefix
        self.used: set[str] = set()

    def dropped(self, what: str) -> None:
        self.report.say(DROPPED, self.file, self.place, what)

    def note(self, what: str) -> None:
        self.report.say(NOTE, self.file, self.place, what)

    def raw(self, *names: str):
        """The first of these keys that is there and not null; newer names stand first."""
        found = None
        for name in names:
            if name in self.data:
                self.used.add(name)
                if found is None:
                    found = self.data[name]
        return found

    def number(self, *names: str, unit: str = "", ours: str = "", missing: Iterable[float] = (), least: float | None = 0.0) -> float | None:
        """A number in our unit. `missing`: values that this tool writes for unknown. Below `least` it is none."""
        value = self.raw(*names)
        name = self.prefix + next((name for name in names if self.data.get(name) is not None), names[0])
        try:
            found = number(value)
            if found is None:
                return None
            if found in missing:
                self.dropped(f"{name}: {found:g} stands for unknown; left empty")
                return None
            if least is not None and found < least:
                self.dropped(f"{name}: below {least:g}, which it cannot be; left empty")
                return None
            return units.convert(found, unit, ours)
        except (NoNumber, units.UnknownUnit) as error:
            self.dropped(f"{name}: {error}; left empty")
            return None

    def count(self, *names: str, missing: Iterable[float] = (), least: int = 0) -> int | None:
        """A whole number."""
        found = self.number(*names, missing=missing, least=least)
        if found is None:
            return None
        if not found.is_integer():
            self.dropped(f"{self.prefix}{names[0]}: {found:g} is not whole; left empty")
            return None
        return int(found)

    def text(self, *names: str) -> str | None:
        return clean(self.raw(*names))

    def numbers(self, *names: str) -> list[float | None] | None:
        """A list of numbers, None where an element is none; None where there is no list."""
        found = self.raw(*names)
        if isinstance(found, str) and found.startswith("["):
            found = listed(found)  # a cell of a CSV that was an element of a JSON list
        if not isinstance(found, list):
            return None
        values = []
        for value in found:
            try:
                values.append(number(value))
            except NoNumber:
                values.append(None)
        return values

    def section(self, *names: str) -> Fields:
        """An object below this one; empty where there is none."""
        found = self.raw(*names)
        inner = found if isinstance(found, dict) else {}
        return Fields(inner, self.file, self.place, self.report, f"{self.prefix}{names[0]}.")

    def ignore(self, *names: str) -> None:
        """Keys that are known and have no place here."""
        self.used.update(name for name in names if name in self.data)

    def left(self) -> list[str]:
        return sorted(name for name in self.data if name not in self.used)


def listed(text: str):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
