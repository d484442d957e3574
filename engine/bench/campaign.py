"""Read campaign.yaml: what to measure, with a preset applied. Every fault is one line and names its place."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import jsonschema
import yaml

from engine import backends
from engine.backends import server_config
from engine.backends.server_config import ServerConfig
from engine.bench.plan_check import check_plan
from engine.bench.settings import check_engine, check_memory, check_settings
from engine.bench.stages import FULL, PARTS, SMOKE, STAGES, Batch, Capacity, Concurrency, Gate, Search, Stage
from engine.config import WEIGHTS, ConfigError, EngineConfig, parse_size
from engine.csvio import SCHEMAS

ROOT = SCHEMAS.parent.parent
PRESETS = ("quick", "full", "smoke")
STAGE_KEYS = ("presets", "threads")
"""Keys of a stage that are no sizes: the workflow reads the first, `Campaign.at` the second."""


@dataclass(frozen=True)
class Campaign:
    """A live campaign, ready to plan."""

    path: Path
    name: str
    backend: str
    preset: str
    threads: int
    cpu: int | None
    seed: int
    temperature: float
    engine: EngineConfig
    """Settings of every boot; lane and block size come from the arm."""
    stages: dict[str, Stage]
    own_threads: dict[str, int] = field(default_factory=dict)
    """Stage -> threads, where they are not the campaign's."""
    probe_tolerance: float | None = None
    """A cell is measured again when a probe of the machine moved by more than this share; None: the measured A/A floor (engine.bench.floor)."""
    hosts: str = "one"
    """Machines that the parts of one sweep may come from: `one`, or `several` by the campaign's own word."""

    server: ServerConfig | None = None
    """What is measured instead of the embedded engine; `engine` then holds the settings that are turned into its flags."""

    def identity(self) -> dict:
        """What every row depends on besides its own cell: a journal row of another identity is another row."""
        engine = {name: str(value) for name, value in asdict(self.engine).items()}
        found = {"campaign": self.name, "backend": self.backend, "seed": self.seed, "temperature": self.temperature, "engine": engine}
        return found if self.server is None else {**found, "server": self.server.identity()}

    def stage(self, name: str) -> Stage:
        if name not in self.stages:
            raise ConfigError(f"{self.path}: measure.stages: no {name!r}; it lists {', '.join(self.stages)}")
        return self.stages[name]

    def at(self, stage: str) -> Campaign:
        """The campaign with a stage's own threads, which every boot and row of that command then has."""
        threads = self.own_threads.get(stage, self.threads)
        return self if threads == self.threads else replace(self, threads=threads, engine=replace(self.engine, threads=threads))

    def as_run(self, stage: str) -> dict:
        """The settings of one stage as they ran, for the manifest."""
        engine = {name: value for name, value in asdict(self.engine).items() if name not in ("weights", "lane", "block_size")}
        if self.server is not None:
            # of everything else the server has its own default, which nobody here knows
            engine = {**self.server.settings, "server": {**self.server.identity(), "missing": self.server.missing()}}
        return {
            "stage": stage,
            **json.loads(json.dumps(asdict(self.stages[stage]))),
            "threads": self.threads,
            "seed": self.seed,
            "temperature": self.temperature,
            "probe_tolerance": self.probe_tolerance,
            "engine": engine,
        }


def load(path: Path, preset: str | None = None, weights: Path | None = None) -> Campaign:
    """Parse and validate. `preset` and `weights` override the file.

    The sizes in campaign.yaml belong to the preset that it names: another preset brings its own.
    """
    document = parse(path)
    if "measure" not in document:
        raise ConfigError(f"{path}: no `measure:` section, so this campaign is archived and cannot be measured")
    measure = document["measure"]
    chosen = preset or measure["preset"]
    given = measure["stages"]
    own = chosen == measure["preset"]
    start = {"smoke": SMOKE, "full": FULL}.get(chosen) or {name: kind() for name, kind in STAGES.items()}
    sizes = {name: {key: value for key, value in (given[name] or {}).items() if key not in STAGE_KEYS} for name in STAGES if name in given}
    stages = {name: override(start[name], values) if own else start[name] for name, values in sizes.items()}
    own_threads = {name: given[name]["threads"] for name in stages if "threads" in (given[name] or {})}
    settings = dict(measure.get("engine") or {})
    if "device_memory" in settings:
        settings["device_memory"] = parse_size(settings["device_memory"])
    folder = Path(settings.pop("weights")) if "weights" in settings else WEIGHTS
    folder = weights or (folder if folder.is_absolute() else ROOT / folder)
    engine = EngineConfig(weights=folder, threads=measure["threads"], seed=measure["seed"], **settings)
    server = None
    if document["backend"] == "embedded" and "server" in measure:
        raise ConfigError(f"{path}: measure.server: backend embedded has no server; name the backend that it is of")
    if document["backend"] != "embedded":
        server = served(path, document["backend"], measure, settings)
        stages = {name: drafts_in(stage, measure["server"].get("drafts")) for name, stage in stages.items()}
    flags = getattr(backends.backend(document["backend"]), "flags", None)
    if flags is None:
        check_engine(path, engine, own_threads)
    for name, stage in stages.items():
        cross_check(path, name, stage)
        check_settings(path, name, stage, engine, flags)
        if flags is None:
            check_memory(path, name, stage, engine)
        check_plan(path, name, stage, engine)
    return Campaign(
        path=path,
        name=document["name"],
        backend=document["backend"],
        preset=chosen,
        threads=measure["threads"],
        cpu=measure.get("cpu"),
        seed=measure["seed"],
        temperature=float(measure.get("temperature", 0.0)),
        engine=engine,
        stages=stages,
        own_threads=own_threads,
        probe_tolerance=measure.get("probe_tolerance"),
        server=server,
        hosts=measure.get("hosts", "one"),
    )


def served(path: Path, backend: str, measure: dict, settings: dict) -> ServerConfig:
    """`measure.server`, with the settings of `measure.engine` as those of every boot."""
    kind = backends.backend(backend)
    if "server" not in measure:
        raise ConfigError(f"{path}: measure.server: backend {backend} needs it: what to launch (model, tokenizer, flags) or the url of what runs")
    values = {name: value for name, value in measure["server"].items() if name != "drafts"}
    if "threads" in kind.flags.knobs:
        settings = {"threads": measure["threads"], **settings}
    return server_config.of_campaign({**values, "knobs": settings}, ROOT)


def drafts_in(stage: Stage, lane: str | None) -> Stage:
    """The stage with the lane that speculates in it, where that is not dspark."""
    return replace(stage, lane=lane) if lane and hasattr(stage, "lane") else stage


def parse(path: Path) -> dict:
    """campaign.yaml as data, checked against its schema."""
    try:
        document = yaml.safe_load(path.read_text("utf8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        said = " ".join(str(getattr(error, "problem", None) or error).split())
        raise ConfigError(f"{path}:{line} not valid YAML: {said}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid YAML: nested too deeply") from None
    except ValueError as error:  # a date that is none, an integer of thousands of digits
        raise ConfigError(f"{path}: not valid YAML: a value cannot be read: {error}") from None
    schema = json.loads((SCHEMAS / "campaign.schema.json").read_text("utf8"))
    if why := misfit(jsonschema.Draft202012Validator(schema), document):
        raise ConfigError(f"{path}: {why}")
    return document


def misfit(schema: jsonschema.Draft202012Validator, document: object) -> str | None:
    """What is most wrong with a document, in one line that begins with its place; None where it fits."""
    found = jsonschema.exceptions.best_match(schema.iter_errors(document))
    return f"{place(found)}{explain(found)}" if found else None


def place(fault: jsonschema.ValidationError) -> str:
    dotted = ".".join(str(part) for part in fault.absolute_path)
    return f"{dotted}: " if dotted else ""


def explain(fault: jsonschema.ValidationError) -> str:
    """The fault in one line, with what would be right where the schema's own message does not say it."""
    if fault.validator == "additionalProperties":
        known = fault.schema.get("properties", {})
        unknown = [name for name in fault.instance if name not in known]
        return f"unknown key {', '.join(map(repr, unknown))}; known: {', '.join(known)}"
    return " ".join(fault.message.split())


def override(stage: Stage, values: dict) -> Stage:
    """A stage with some of its values replaced; a mapping replaces values of a part of it, null leaves that part out."""
    return replace(stage, **{name: part(stage, name, value) for name, value in values.items()})


def part(stage: Stage, name: str, value: object) -> object:
    if isinstance(value, dict):
        return override(getattr(stage, name) or PARTS[name](), value)
    return like(getattr(stage, name), frozen(value))


def like(default: object, value: object) -> object:
    """A whole number as a fraction where the stage has fractions, lists of them included: kernels take a temperature of 1 for no float."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, tuple) and isinstance(value, tuple) and default and isinstance(default[0], float):
        return tuple(like(default[0], one) for one in value)
    return value


def frozen(value: object) -> object:
    """Lists, nested ones included, as tuples."""
    return tuple(frozen(one) for one in value) if isinstance(value, list) else value


def cross_check(path: Path, name: str, stage: Stage) -> None:
    """Rules over two keys, which a schema cannot say."""
    where = f"{path}: measure.stages.{name}"
    if isinstance(stage, Concurrency | Batch) and max(stage.levels) > stage.num_prompts:
        raise ConfigError(f"{where}.levels: {max(stage.levels)} in flight need as many prompts; num_prompts is {stage.num_prompts}")
    if isinstance(stage, Capacity) and (lost := sorted({*stage.graphed} - {*Capacity.graphed} - {one for one, _ in stage.values})):
        raise ConfigError(f"{where}.graphed: {lost[0]!r} is not among the settings of values")
    if isinstance(stage, Gate) and stage.max_concurrency > stage.problems:
        raise ConfigError(f"{where}.max_concurrency: {stage.max_concurrency} in flight need as many problems; problems is {stage.problems}")
    if isinstance(stage, Search):
        memory = stage.memory
        if memory and not memory.step <= memory.anchor < 1:
            raise ConfigError(f"{where}.memory.anchor: {memory.anchor} must lie between step ({memory.step}) and 1")
        if stage.cache and stage.cache.max_concurrency > stage.cache.gsp_num_groups * stage.cache.gsp_prompts_per_group:
            raise ConfigError(f"{where}.cache.max_concurrency: {stage.cache.max_concurrency} in flight need as many prompts")
        if stage.max_concurrency > stage.num_prompts:
            raise ConfigError(
                f"{where}.max_concurrency: {stage.max_concurrency} in flight need as many prompts; num_prompts is {stage.num_prompts}"
            )
        if stage.block_size not in stage.block_sizes:
            raise ConfigError(f"{where}.block_size: the base {stage.block_size} must be among block_sizes {list(stage.block_sizes)}")
