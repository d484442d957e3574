"""Settings that a stage tries, held against what the engine has: a typing error is found before the first boot, not as a rejected row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.bench.stages import Capacity, Gate, Knobs, Search, Stage
from engine.config import ConfigError, EngineConfig, ModelConfig

if TYPE_CHECKING:
    from engine.backends.server_flags import FlagMap

FIELDS = {one.name: one for one in fields(EngineConfig)}
LOAD = ("load_isl", "load_osl", "load_num_prompts", "load_concurrency")
"""Keys of a binding regime that are no settings of the engine."""
FIXED = ("lane", "block_size", "model", "weights", "seed")
"""What an arm, a campaign or a row is; a knob that changed it would compare two things under one name."""

OF_CAPACITY = ("device_memory", "mem_fraction_static", "max_total_num_tokens", "mode", "threads")
"""What the sweep `capacity` sets by keys of its own, or by standing in one mode or the other."""


def misfit(name: str, value: object) -> str | None:
    """Why a value is none that this setting can have, by its kind; None where it fits."""
    default = FIELDS[name].default
    # what is not set is a count that the engine works out
    kind = int if default is None or default is MISSING else type(default)
    kinds = {bool: (bool, "true or false"), int: (int, "a whole number"), float: ((int, float), "a number"), str: (str, "text")}
    wanted, words = kinds.get(kind, (object, ""))
    return None if isinstance(value, wanted) and (kind is bool or not isinstance(value, bool)) else f"{value!r} is not {words}"


def tried(stage: Stage) -> Iterator[tuple[str, tuple[str, ...], dict]]:
    """(key under the stage, settings it names, values that are tried together) of everything a stage changes by name."""
    if isinstance(stage, Gate):
        for name, value in stage.silent:
            yield "silent", (name,), {name: value}
    if isinstance(stage, Capacity):
        yield "isl", (), {"chunked_prefill_size": stage.isl}
        for name, value in stage.values:
            yield "values", (name,), {"chunked_prefill_size": stage.isl, name: value}
    if isinstance(stage, Search) and stage.knobs:
        knobs: Knobs = stage.knobs
        for name, value in knobs.values:
            yield "knobs.values", (name,), {name: value}
        for name, regime in knobs.binding:
            values = {key: one for key, one in regime if key not in LOAD}
            yield "knobs.binding", (name, *values), values


def read_model(engine: EngineConfig) -> ModelConfig | None:
    """The model of the weights folder; None where there is none yet, which a dry run need not mind."""
    file = engine.weights / "target.json"
    return ModelConfig.load(file) if file.is_file() else None


def check_engine(path: Path, engine: EngineConfig, own_threads: Mapping[str, int]) -> None:
    """Refuse settings of the campaign itself that no boot could serve; raises `ConfigError` naming their key. `own_threads`: stage -> its threads."""
    model = read_model(engine)
    if model is None:
        return
    for where, threads in (("measure", engine.threads), *((f"measure.stages.{name}", count) for name, count in own_threads.items())):
        try:
            replace(engine, lane="plain", threads=threads).check(model)
        except ConfigError as fault:
            flag = str(fault).split()[0].removeprefix("--").replace("-", "_")
            key = {"threads": f"{where}.threads", "seed": "measure.seed"}.get(flag, f"measure.engine.{flag}")
            raise ConfigError(f"{path}: {key}: {fault}") from None


def check_settings(path: Path, name: str, stage: Stage, engine: EngineConfig, flags: FlagMap | None = None) -> None:
    """Refuse settings that the engine does not have or no boot could serve; raises `ConfigError` naming file and key.

    `flags`: of a server, which may have settings beyond ours. One of ours that it lacks becomes a skipped row.
    """
    known = {**FIELDS, **(dict.fromkeys((*flags.knobs, *flags.choices)) if flags else {})}
    model = None if flags else read_model(engine)
    for key, names, settings in tried(stage):
        where = f"{path}: measure.stages.{name}.{key}"
        unknown = [setting for setting in names if setting not in known]
        if unknown:
            raise ConfigError(f"{where}: the engine has no setting {unknown[0]!r}; it has {', '.join(known)}")
        if isinstance(stage, Capacity) and (own := [one for one in names if one in OF_CAPACITY]):
            raise ConfigError(f"{where}: {own[0]} is the sweep's own: the budget is that of device_bytes and mem_fraction_static, modes are those of graphed")
        # the threads of a server are a flag like any other
        fixed = [one for one in names if one in (*FIXED, *(() if flags else ("threads",)))] if key != "silent" else []
        if fixed:
            raise ConfigError(f"{where}: {fixed[0]} is no knob: threads are those of the stage, lanes and block sizes have their own keys, the rest is the campaign's")
        for one, value in settings.items():
            if one in FIELDS and (why := misfit(one, value)):
                raise ConfigError(f"{where}: {one}: {why}")
        if model is not None:
            try:
                replace(engine, lane="dspark", **settings).check(model)
            except ConfigError as fault:
                raise ConfigError(f"{where}: {fault}") from None


def check_memory(path: Path, name: str, stage: Stage, engine: EngineConfig) -> None:
    """Refuse a share of a memory budget that the target's weights alone overfill; raises `ConfigError` with the least share or budget that would do."""
    file = engine.weights / "target.safetensors"
    if engine.model != "trained" or not file.is_file():
        return
    weights = file.stat().st_size
    asked = [("measure.engine.mem_fraction_static", engine.mem_fraction_static, engine.device_memory)]
    if isinstance(stage, Search):
        if stage.memory:
            asked.append((f"measure.stages.{name}.memory.anchor", stage.memory.anchor, stage.memory.device_bytes))
        parts = {"cache": stage.cache, "factorial": stage.factorial}
        asked += [(f"measure.stages.{name}.{key}.device_bytes", engine.mem_fraction_static, part.device_bytes) for key, part in parts.items() if part]
    if isinstance(stage, Capacity):
        asked.append((f"measure.stages.{name}.mem_fraction_static", stage.mem_fraction_static, stage.device_bytes))
    for where, fraction, budget in asked:
        if budget and fraction * budget <= weights:
            least = weights / budget
            fix = f"above {least:.3f} it could" if least < 1 else "no share of it could"
            if where.endswith("device_bytes"):
                fix = f"from {math.floor(weights / fraction) + 1} bytes on it could"
            raise ConfigError(f"{path}: {where}: {fraction} of {budget} bytes cannot hold the weights of {weights} bytes; {fix}")
