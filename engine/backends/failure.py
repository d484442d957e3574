"""Why a server died: its exit codes and its log against a table of signatures, with the line that decided.

The tables are data (`signatures/NAME.json`), versioned, one a server and `common.json` for what the layers below all servers
write. One fault causes others (a rank that is out of memory leaves the rest in a collective): the order of KINDS decides between
lines of several kinds, then the earliest line.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SIGNATURES = Path(__file__).resolve().parent / "signatures"
KINDS = ("weights_missing", "bad_flag", "port", "oom", "host_oom", "illegal_access", "collective", "hang")
"""Root causes before what they cause. `oom` becomes oom_boot or oom_run by when it happened."""
STATUS = {"oom_boot": "oom", "oom_run": "oom", "host_oom": "oom", "hang": "timeout"}
"""Status of the points by class; every other class is a crash."""
LINE_LIMIT = 240


@dataclass(frozen=True)
class Signature:
    kind: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Failure:
    """`kind` is None where nothing in the log is known; `line` is what decided, or the last line there is."""

    kind: str | None
    line: str
    table: str
    """Name and version of the table that decided, e.g. sglang/1."""

    @property
    def status(self) -> str:
        return STATUS.get(self.kind or "", "crash")

    def __str__(self) -> str:
        return f"{self.kind or 'unknown failure'}: {self.line}"


def table(name: str) -> tuple[str, list[Signature]]:
    """(name/version, signatures) of one server."""
    document = json.loads((SIGNATURES / f"{name}.json").read_text("utf8"))
    found = [Signature(one["kind"], re.compile(one["pattern"])) for one in document["signatures"]]
    return f"{document['server']}/{document['version']}", found


def classify(name: str, exits: Mapping[int, int | None], lines: Sequence[str], booted: bool) -> Failure:
    """`exits`: return code by rank, None for a rank that still runs; `lines`: the logs of all ranks, that of the first to end first.

    A process that SIGKILL ended without a message and that nobody here killed is taken for the kernel's out-of-memory killer.
    """
    decided = [(label, search(signatures, lines)) for label, signatures in (table(name), table("common"))]
    hits = [(KINDS.index(hit[0].kind), hit[1], label, hit[0].kind) for label, hit in decided if hit]
    if hits:
        _, position, label, kind = min(hits)
        kind = kind if kind != "oom" else "oom_run" if booted else "oom_boot"
        return Failure(kind, shown(lines[position]), label)
    for rank, code in exits.items():
        if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
            return Failure("host_oom", f"rank {rank} was ended by SIGKILL, which nobody here sent, without a word in its log", "exit code")
    return Failure(None, f"{ended(exits)}: {shown(last(lines))}", "exit code")


def search(signatures: Sequence[Signature], lines: Sequence[str]) -> tuple[Signature, int] | None:
    """The most telling match: first by the order of KINDS, then by line."""
    hits = [(KINDS.index(one.kind), at, one) for one in signatures for at, line in enumerate(lines) if one.pattern.search(line)]
    if not hits:
        return None
    _, at, one = min(hits, key=lambda hit: hit[:2])
    return one, at


def ended(exits: Mapping[int, int | None]) -> str:
    """The first rank that is gone, in words."""
    for rank, code in exits.items():
        if code is not None:
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            return f"rank {rank} {how}"
    return "no rank has ended"


def last(lines: Sequence[str]) -> str:
    return next((line for line in reversed(lines) if line.strip()), "no line in its log")


def shown(line: str) -> str:
    """A log line for a note: one line, not endless."""
    text = " ".join(line.split())
    return text if len(text) <= LINE_LIMIT else f"{text[: LINE_LIMIT - 1]}…"
