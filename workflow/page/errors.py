"""What can be wrong with a page, each with the file and the line where it stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One finding: where, what, and which check says so."""

    file: str
    line: int
    check: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message} [{self.check}]"


class PageError(ValueError):
    """The page cannot be built. `problems` lists every finding; the message is one line each."""

    def __init__(self, *problems: Problem):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))

    @classmethod
    def at(cls, file: str, line: int, message: str, check: str = "splice") -> PageError:
        return cls(Problem(file, line, check, message))
