"""A gate that was measured before, read back so that its outputs can be scored again: rows, manifest, and the stage as it ran."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import jsonschema

from engine import csvio
from engine.bench.campaign import frozen, misfit
from engine.bench.gate_plan import BASE
from engine.bench.gate_winner import Winner, winner_of
from engine.bench.stages import Gate
from engine.config import LANES, ConfigError
from engine.csvio import Row

AS_RAN = ("block_sizes", "lanes", "silent")
"""What decides which configurations there are, so that it is the measured gate's; margins are the campaign's of today."""


@dataclass(frozen=True)
class Kept:
    rows: list[Row]
    about: dict
    """The manifest."""
    stage: Gate
    winner: Winner | None
    served: bool
    """Answered over HTTP."""

    @classmethod
    def read(cls, path: Path, stage: Gate) -> Kept:
        """`path`: gate.csv, its manifest beside it. Raises ConfigError, TableError or OSError naming what is wrong where."""
        rows = csvio.read("gate", path)
        about_path = path.with_name("gate.manifest.json")
        about = manifest_of(about_path)
        if why := next((row["note"] for row in rows if row.get("status") == csvio.SKIPPED and row.get("config") is None), None):
            raise ConfigError(f"{path}: {why}; there is no output to score")
        if not any(row["config"] == BASE and row.get("status") is None for row in rows):
            raise ConfigError(f"{path}: no row of config {BASE!r}, with which the others are compared")
        ran = {name: about["config"][name] for name in AS_RAN if name in about["config"]}
        check_stage(about_path, ran)
        lane = about["config"].get("lane", stage.lane)
        if lane not in LANES:
            raise ConfigError(f"{about_path}: config.lane: {lane!r} is none of {', '.join(LANES)}")
        engine = about["config"].get("engine")
        known = about.get("gate", {}).get("winner")
        winner = winner_of(known)
        if known is not None and winner is None:
            raise ConfigError(f"{about_path}: gate.winner: names no configuration that can be booted (label, lane, block_size)")
        return cls(rows, about, replace(stage, lane=lane, **{name: frozen(value) for name, value in ran.items()}), winner, isinstance(engine, dict) and "server" in engine)


def manifest_of(path: Path) -> dict:
    """The manifest, whole by its schema."""
    beside = "the manifest stands beside the gate.csv that was measured"
    try:
        about = json.loads(path.read_text("utf8"))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: line {error.lineno} is not JSON; {beside}") from None
    except (UnicodeDecodeError, RecursionError):
        raise ConfigError(f"{path}: not JSON; {beside}") from None
    refuse(path, json.loads((csvio.SCHEMAS / "manifest.schema.json").read_text("utf8")), about)
    if about["kind"] != "gate":
        raise ConfigError(f"{path}: kind: {about['kind']!r} is not 'gate'; {beside}")
    return about


def check_stage(path: Path, ran: dict) -> None:
    """The settings of the stage as the campaign's schema has them."""
    schema = json.loads((csvio.SCHEMAS / "campaign.schema.json").read_text("utf8"))
    own = schema["properties"]["measure"]["properties"]["stages"]["properties"]["gate"]
    refuse(path, {**own, "$defs": schema["$defs"]}, ran, "config.")
    for pair in ran.get("silent", ()):
        if not isinstance(pair[0], str) or isinstance(pair[1], list | dict):
            raise ConfigError(f"{path}: config.silent: {pair} is no pair of a setting and its value")
    if not ran.get("block_sizes", (1,)):
        raise ConfigError(f"{path}: config.block_sizes: [] names no configuration to judge")


def refuse(path: Path, schema: dict, document: object, where: str = "") -> None:
    if why := misfit(jsonschema.Draft202012Validator(schema), document):
        raise ConfigError(f"{path}: {where}{why}")
