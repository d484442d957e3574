"""The manifest beside each measured CSV: where it came from, down to code, weights, machine and load."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import jsonschema

from engine.config import ConfigError, ModelConfig
from engine.csvio import SCHEMAS
from engine.machine import Machine, clock_mhz

ROOT = SCHEMAS.parent.parent
THRESHOLDS = ROOT / "workflow" / "derive" / "thresholds.yaml"
PACKAGES = ("torch", "numpy", "numba", "safetensors", "tokenizers", "triton")
DRAFTERS = ("dspark", "mtp")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_state(root: Path = ROOT) -> tuple[str | None, bool | None]:
    """(commit, dirty) of the checkout; (None, None) outside a repository or without git."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"], cwd=root, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None, None
    return commit, bool(changed.strip())


def versions() -> dict[str, str | None]:
    """Python and the packages that the engine runs on; null where one is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def tensors(path: Path) -> dict[str, dict]:
    """Header of a safetensors file: name -> dtype, shape, data_offsets. Reads the header only."""
    try:
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
    except FileNotFoundError:
        raise ConfigError(f"{path}: weights not found; `python -m engine.train` writes them, --weights points elsewhere") from None
    except (struct.error, json.JSONDecodeError, UnicodeDecodeError, MemoryError):
        raise ConfigError(f"{path}: not a safetensors file") from None
    header.pop("__metadata__", None)
    return header


def size_of(path: Path) -> dict[str, int]:
    """Parameters and bytes of the tensors in a weights file."""
    header = tensors(path)
    return {
        "params": sum(math.prod(one["shape"]) for one in header.values()),
        "bytes": sum(one["data_offsets"][1] - one["data_offsets"][0] for one in header.values()),
    }


def model_name(config: ModelConfig) -> str:
    return f"hybrid-{config.layer_types}-d{config.hidden_size}"


def model_section(weights: Path, info: dict[str, dict]) -> dict:
    """What the model is. `info` is server_info by lane; sizes of a slot are the plain lane's where it was booted."""
    config = ModelConfig.load(weights / "target.json")
    pools = info.get("plain") or next(iter(info.values()))
    drafters = {}
    for name in DRAFTERS:
        if (weights / f"{name}.safetensors").is_file():
            trained = info.get(name, {}).get("gamma_trained") or block_size_of(weights / f"{name}.safetensors")
            drafters[name] = {**size_of(weights / f"{name}.safetensors"), "block_size": trained}
    return {
        "name": model_name(config),
        **size_of(weights / "target.safetensors"),
        "layers": len(config.layer_types),
        "kda_layers": len(config.kda_layers),
        "attention_layers": len(config.attention_layers),
        "hidden_size": config.hidden_size,
        "vocab_size": config.vocab_size,
        "state_bytes": pools["state_bytes_per_slot"],
        "kv_bytes_per_token": pools["kv_bytes_per_token"],
        "drafters": drafters,
        **training_section(weights / "quality.json"),
    }


def training_section(path: Path) -> dict:
    """What the training run recorded of the weights; nothing where it left no record."""
    if not path.is_file():
        return {}
    quality = json.loads(path.read_text("utf8"))
    gate = quality["gate"]
    return {"training": {"tokens": quality["tokens_seen"], "gate_problems": gate["problems"], "gate_exact": gate["exact"]}}


def block_size_of(path: Path) -> int:
    """Block positions a drafter was trained for: rows of its position table, one where it has none."""
    table = tensors(path).get("pos.weight")
    return table["shape"][0] if table else 1


def weights_hashes(weights: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()) for path in sorted(weights.glob("*.safetensors"))}


def machine_section(
    machine: Machine, cpu: int | None, load_start: Sequence[float], load_end: Sequence[float], steal: float | None, other: float | None
) -> dict:
    return {
        **asdict(machine),
        "isa": list(machine.isa),
        "host": machine.host,
        "pinned_cpu": cpu,
        "load_average_start": list(load_start),
        "load_average_end": list(load_end),
        "steal_share": steal,
        "other_share": other,
        "clock_mhz": clock_mhz(cpu),
    }


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Of manifests. That the schema is one is checked by a test: doing it for each manifest took twenty times as long as the manifest."""
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / "manifest.schema.json").read_text("utf8")))


def render(manifest: dict) -> bytes:
    """Checked against its schema, then as JSON. jsonschema.ValidationError names what is most wrong."""
    if fault := jsonschema.exceptions.best_match(validator().iter_errors(manifest)):
        raise fault
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf8")


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def thresholds_sha256() -> str | None:
    """Hash of the claims' thresholds, fixed before measuring; null while there are none."""
    return sha256(THRESHOLDS.read_bytes()) if THRESHOLDS.is_file() else None
