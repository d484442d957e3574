"""What the DAG builds: which campaigns are live, which files a stage writes, where each of them lives.

Read by the Snakefile at parse time (also on cluster nodes), so: cheap, pure, no imports of the heavy kind.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workflow.derive import schema
from workflow.yaml_file import YamlError, read_yaml

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("instrument.csv", "instrument.manifest.json")
CAMPAIGNS = Path("workflow/campaigns")
BUILD = Path("workflow/build")
PRESETS = ("quick", "full", "smoke")


class PlanError(ValueError):
    """A configuration that names something absent; the message says what would be right."""


@dataclass(frozen=True)
class Stage:
    """One measuring rule: its command and the CSVs it writes; a manifest stands beside each."""

    name: str
    """Key under `measure: stages:` of campaign.yaml."""
    rule: str
    command: str
    csvs: tuple[str, ...]

    @property
    def has_parts(self) -> bool:
        """Whether several jobs can measure it: sweeps of blocks, whose arms are compared inside a block."""
        return self.command.startswith("engine.sweep") and self.name != "verify_cost"

    @property
    def gather(self) -> str:
        """Rule that makes the stage's files of its parts."""
        return f"gather_{self.name}"

    @property
    def files(self) -> list[str]:
        return [file for csv in self.csvs for file in (csv, csv.removesuffix(".csv") + ".manifest.json")]


def sweep(name: str, *more: str) -> Stage:
    return Stage(
        name, f"sweep_{name}", f"engine.sweep --sweep {name}", (f"sweep_{name}.csv", f"requests_{name}.csv", f"steps_{name}.csv", *more)
    )


STAGES = (
    Stage("search", "search", "engine.search", ("search.csv", "requests_search.csv", "steps_search.csv", "noise.csv")),
    sweep("window", "trace.csv"),
    sweep("isl"),
    sweep("osl"),
    sweep("concurrency"),
    sweep("rate"),
    sweep("content"),
    sweep("acceptance"),
    sweep("batch"),
    sweep("capacity"),
    Stage("verify_cost", "sweep_verify_cost", "engine.sweep --sweep verify_cost", ("sweep_verify_cost.csv",)),
    # a gate that fails is a finding for the page, not an error of the build
    Stage("gate", "gate", "engine.gate --report-only", ("gate.csv",)),
    Stage("kernels", "kernels", "engine.kernel_facts", ("kernels.csv", "predicates.csv")),
)


@dataclass(frozen=True)
class Plan:
    """The campaigns of one configuration, relative to the repository root."""

    names: tuple[str, ...]
    lead: str
    root: Path = ROOT
    preset: str | None = None
    """Preset that is measured; None: each campaign's own."""
    parts: int = 1
    """Jobs that measure one sweep."""

    @classmethod
    def from_config(cls, config: dict, root: Path = ROOT) -> "Plan":
        names = tuple(config["campaigns"])
        if config["lead"] not in names:
            raise PlanError(f"workflow/config.yaml: lead: {config['lead']!r} is not among campaigns: {', '.join(names)}")
        plan = cls(names, config["lead"], root, config.get("preset"), config.get("parts", 1))
        for name in names:
            plan.definition(name)
        return plan

    def definition(self, name: str) -> dict:
        """The parsed campaign.yaml of a campaign."""
        path = self.root / CAMPAIGNS / name / "campaign.yaml"
        try:
            data = read_yaml(path)
        except FileNotFoundError:
            known = sorted(p.parent.name for p in (self.root / CAMPAIGNS).glob("*/campaign.yaml"))
            raise PlanError(
                f"workflow/config.yaml: campaigns: no {CAMPAIGNS / name}/campaign.yaml; there are: {', '.join(known)}"
            ) from None
        except YamlError as error:
            raise PlanError(str(error)) from None
        if not isinstance(data, dict):
            raise PlanError(f"{CAMPAIGNS / name}/campaign.yaml: expected a mapping of keys")
        if data.get("name") != name:
            raise PlanError(f"{CAMPAIGNS / name}/campaign.yaml: name: {data.get('name')!r}; a campaign's folder has its name, expected {name!r}")
        if "measure" in data:
            _check_stages(f"{CAMPAIGNS / name}/campaign.yaml", data["measure"])
        return data

    @cached_property
    def live(self) -> list[str]:
        return [name for name in self.names if "measure" in self.definition(name)]

    @cached_property
    def gpus(self) -> dict[str, int]:
        """Live campaign -> accelerators that its measuring jobs ask a cluster for; those that ask for none are left out."""
        return {name: count for name in self.live if isinstance(count := self.definition(name)["measure"].get("gpus"), int) and count > 0}

    @cached_property
    def live_pattern(self) -> str:
        """Regular expression of the live names; matches nothing when there are none."""
        return "|".join(self.live) or "(?!)"

    def stages(self, name: str) -> list[Stage]:
        """The stages that a live campaign measures at this preset, in the order of the DAG."""
        measure = self.definition(name)["measure"]
        preset, wanted = self.preset or measure.get("preset"), measure["stages"]
        return [stage for stage in self.listed(name) if preset in ((wanted[stage.name] or {}).get("presets") or (preset,))]

    def parts_of(self, name: str, stage: Stage, asked: bool) -> list[str]:
        """Part files that the files of a sweep are made of: those to come where it is `asked` for or was never measured, else those of its manifest.

        Snakemake runs a rule again whose inputs are others than last time; so a changed `parts` alone must not change them.
        """
        if not stage.has_parts:
            return []
        folder, manifest = BUILD / "parts" / name, self.root / BUILD / "measured" / name / stage.files[1]
        if asked or not manifest.is_file():
            wanted = [f"{number}-of-{self.parts}" for number in range(1, self.parts + 1)] if self.parts > 1 else []
        else:
            wanted = [one["part"] for one in json.loads(manifest.read_bytes()).get("parts", ())]
        files = [str(folder / f"{stage.name}.{part}.part.jsonl") for part in wanted]
        return files if self.parts > 1 else [file for file in files if (self.root / file).is_file()]

    def listed(self, name: str) -> list[Stage]:
        """Every stage that a live campaign lists, whatever the preset."""
        wanted = self.definition(name)["measure"]["stages"]
        return [stage for stage in STAGES if stage.name in wanted]

    def kept(self, name: str) -> list[str]:
        """CSVs and manifests of one campaign that the page is built from."""
        folder = CAMPAIGNS / name
        if name in self.live:
            return [*(str(folder / file) for stage in self.stages(name) for file in stage.files), *self.beside(name)]
        found = sorted(p.name for pattern in ("*.csv", "*.csv.gz", "*.manifest.json") for p in (self.root / folder).glob(pattern))
        return [str(folder / file) for file in found]

    def beside(self, name: str) -> list[str]:
        """Measured files that no stage writes and a campaign may have: what an independent client said of the same streams."""
        files = [CAMPAIGNS / name / file for file in BESIDE]
        return [str(file) for file in files] if all((self.root / file).is_file() for file in files) else []

    def proof(self, name: str) -> list[str]:
        """Result of the last mutation run on a campaign's files, if there is one."""
        file = CAMPAIGNS / name / "mutation.json"
        return [str(file)] if (self.root / file).is_file() else []


def read_config(path: Path) -> dict:
    """The configuration: which campaigns, which leads, preset, languages, address. Raises PlanError with file and field."""
    try:
        return check_config(path, read_yaml(path))
    except FileNotFoundError:
        raise PlanError(f"{path}: no such file; expected a YAML file with campaigns and lead") from None
    except YamlError as error:
        raise PlanError(str(error)) from None


def check_config(path: Path, config: dict) -> dict:
    """The configuration itself if it is one, also after options have changed it."""
    try:
        schema.check_document(path, config, "config")
    except schema.SchemaError as error:
        raise PlanError(str(error)) from None
    return config


def _check_stages(file: str, measure: object) -> None:
    """Refuse a live campaign whose stages cannot be scheduled. The engine validates the rest against the schema."""
    known = [stage.name for stage in STAGES]
    stages = measure.get("stages") if isinstance(measure, dict) else None
    if not isinstance(stages, dict) or not stages:
        raise PlanError(f"{file}: measure.stages: expected a mapping with at least one of: {', '.join(known)}")
    for name, settings in stages.items():
        if name not in known:
            raise PlanError(f"{file}: measure.stages: {name!r} is no stage; there are: {', '.join(known)}")
        if not isinstance(settings, dict | None):
            raise PlanError(f"{file}: measure.stages.{name}: {settings!r} is no mapping of settings")
        presets = (settings or {}).get("presets", PRESETS)
        if not isinstance(presets, list | tuple) or not presets or not set(map(str, presets)) <= set(PRESETS):
            raise PlanError(f"{file}: measure.stages.{name}.presets: {presets!r} is no list of presets; there are: {', '.join(PRESETS)}")


def sources(*patterns: str, root: Path = ROOT) -> list[str]:
    """Files of the repository that a cheap rule depends on, relative to the root, in a fixed order."""
    return sorted(
        {str(p.relative_to(root)) for pattern in patterns for p in root.glob(pattern) if p.is_file() and "__pycache__" not in p.parts}
    )
