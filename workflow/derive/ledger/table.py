"""Cases of the ledger from plain figures: the options of the command, or the rows of a CSV with the same names."""

from __future__ import annotations

import math
from pathlib import Path

from workflow.derive import schema
from workflow.derive.ledger import acceptance, rulers
from workflow.derive.ledger.entry import Entry
from workflow.derive.schema import SchemaError

FIGURES = {
    "decode_tok_s": "throughput of plain decoding, one request, tokens/s",
    "decode_ms": "one plain decode step, wall clock, ms",
    "p": "probability that the one draft of a round is accepted",
    "tau": "tokens a round, bonus included; instead of p",
    "gamma": "drafts a round (default 1)",
    "draft_ms": "drafting a round, ms (default 0)",
    "verify_ms": "verification of γ + 1 positions, wall clock, ms; leave out before the kernel exists",
    "verify_passes": "verification in forwards of one position; instead of verify_ms",
    "verify_gpu_ms": "the same verification by GPU time, ms",
    "commit_ms": "commit a round, ms (default 0)",
    "block_sum_ms": "blocks of one plain step, timed one by one and added up, ms",
    "measured_tok_s": "throughput measured end to end with speculation, tokens/s",
    "steps": "rounds over which p was counted",
}
TEXTS = ("name", "content")
WHOLE = ("gamma", "steps")


class Incomplete(ValueError):
    """A case that lacks a figure or has an impossible one; the message says which."""


def entry(figures: dict[str, float], name: str = "", content: str = "") -> Entry:
    """A case from figures by name (FIGURES). Raises Incomplete."""
    for key, value in figures.items():
        if not (math.isfinite(value) and value >= 0) or (value == 0 and key not in ("p", "draft_ms", "commit_ms")):
            raise Incomplete(f"{key} is {value:g}; expected a number above 0")
    gamma = round(figures.get("gamma", 1))
    tau = figures.get("tau", 1 + figures["p"] if "p" in figures else None)
    if tau is None or ("tau" in figures and "p" in figures):
        raise Incomplete("expected one of p and tau" + ("" if tau is None else ", not both"))
    if "p" in figures and (figures["p"] > 1 or gamma != 1):
        raise Incomplete(
            f"p is the acceptance of one draft a round, from 0 to 1; with γ = {gamma}, give tau" if gamma != 1 else "p is above 1"
        )
    if not 1 <= tau <= gamma + 1:
        raise Incomplete(f"tau is {tau:g}; with γ = {gamma} a round gives 1 to {gamma + 1} tokens")
    if "decode_ms" not in figures and "decode_tok_s" not in figures:
        raise Incomplete("expected decode_tok_s or decode_ms")
    decode = 1000 / figures["decode_tok_s"] if "decode_tok_s" in figures else figures["decode_ms"]
    draft, passes = figures.get("draft_ms", 0.0), figures.get("verify_passes")
    if passes is not None and "verify_ms" in figures:
        raise Incomplete("expected one of verify_ms and verify_passes, not both")
    verify = passes * decode if passes is not None else figures.get("verify_ms")
    trust = None
    if "steps" in figures:
        if "p" not in figures:
            raise Incomplete("steps needs p; with more than one draft give --acceptance FILE")
        trust = acceptance.of_one_draft(figures["p"], round(figures["steps"]))
    return Entry(
        name, decode, tau, draft, verify, gamma, figures.get("commit_ms", 0.0), measured_tok_s=figures.get("measured_tok_s"),
        content=content, acceptance=trust, mismatches=tuple(mismatches(figures, decode, tau, draft, verify, gamma)),
    )  # fmt: skip


def mismatches(figures: dict[str, float], decode: float, tau: float, draft: float, verify: float | None, gamma: int):
    if {"decode_ms", "decode_tok_s"} <= figures.keys():
        yield rulers.two_decodes(figures["decode_ms"], figures["decode_tok_s"])
    if "block_sum_ms" in figures:
        yield rulers.block_sum(figures["block_sum_ms"], decode, tau, draft, figures.get("verify_passes", gamma + 1))
    if "verify_gpu_ms" in figures and verify is not None:
        yield rulers.gpu_time(figures["verify_gpu_ms"], verify, decode, tau, draft)


def read(path: Path) -> list[Entry]:
    """A case a row. Raises SchemaError with line and column."""
    header, rows, lines = schema.read_rows(path)
    known = (*TEXTS, *FIGURES)
    for name in header:
        if name not in known:
            raise SchemaError(f"{path}: line 1: unknown column {name!r}; expected some of {', '.join(known)}")
    entries = []
    for line, cells in zip(lines, rows):
        row = dict(zip(header, cells))
        figures = {name: number(path, line, name, text) for name, text in row.items() if name in FIGURES and text.strip()}
        try:
            entries.append(entry(figures, row.get("name", "") or f"line {line}", row.get("content", "")))
        except Incomplete as error:
            raise SchemaError(f"{path}: line {line}: {error}") from None
    if not entries:
        raise SchemaError(f"{path}: no rows below the header; expected a case a line")
    return entries


def number(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise SchemaError(f"{path}: line {line}, column {name}: {text!r} is not a number") from None
    if name in WHOLE and value != round(value):
        raise SchemaError(f"{path}: line {line}, column {name}: {text!r} is not a whole number")
    return value


def read_clusters(path: Path, gamma: int) -> dict[str, acceptance.Acceptance]:
    """Acceptance by content class from rows `rounds, accepted` a cluster (prompt), optionally `content`. Raises SchemaError."""
    header, rows, lines = schema.read_rows(path)
    for name in ("rounds", "accepted"):
        if name not in header:
            raise SchemaError(f"{path}: line 1: column {name!r} is missing; expected rounds and accepted, a cluster a line")
    groups: dict[str, list[tuple[float, float]]] = {}
    for line, cells in zip(lines, rows):
        row = dict(zip(header, cells))
        rounds, accepted = (number(path, line, name, row[name]) for name in ("rounds", "accepted"))
        if rounds <= 0 or not 0 <= accepted <= gamma * rounds:
            raise SchemaError(
                f"{path}: line {line}: {accepted:g} accepted in {rounds:g} rounds; with γ = {gamma} at most {gamma * max(rounds, 0):g}"
            )
        groups.setdefault(row.get("content", ""), []).append((rounds, accepted))
    if not groups:
        raise SchemaError(f"{path}: no rows below the header; expected a cluster a line")
    return {content: acceptance.of_clusters(*zip(*pairs), gamma) for content, pairs in groups.items()}
