"""Checkpoints of the work directory -> shipped bfloat16 safetensors with their configs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from engine.train.data import write_text
from engine.train.draft_model import MTP, DSpark, DSparkConfig
from engine.train.model import Target, TargetConfig


def save_weights(model: nn.Module, path: Path) -> None:
    """Write ``model`` in bfloat16 beside ``path`` and move it there."""
    beside = path.with_suffix(".part")
    tensors = {n: t.to(torch.bfloat16).contiguous() for n, t in model.state_dict().items()}
    save_file(tensors, beside, metadata={"format": "pt"})
    beside.chmod(0o644)
    os.replace(beside, path)


def export_target(work: Path, weights: Path) -> int:
    """Ship the target checkpoint; returns the tokens it has seen."""
    stored = torch.load(work / "target.pt", weights_only=True)
    model = Target(TargetConfig())
    model.load_state_dict(stored["model"])
    weights.mkdir(parents=True, exist_ok=True)
    write_text(weights / "target.json", model.config.to_json())
    save_weights(model, weights / "target.safetensors")
    return stored["tokens"]


def export_drafters(dspark: DSpark, mtp: MTP, weights: Path) -> None:
    """Ship both draft heads."""
    write_text(weights / "dspark.json", dspark.config.to_json())
    save_weights(dspark, weights / "dspark.safetensors")
    write_text(
        weights / "mtp.json",
        json.dumps({"model_type": "soundings-mtp", "num_layers": 1, "depth": 1,
                    "target_layer_id": 7}, indent=1) + "\n",
    )
    save_weights(mtp, weights / "mtp.safetensors")


def export_redraft(done: dict, dflash: nn.Module, heads: dict[str, nn.Module], confidence: nn.Module, weights: Path) -> None:
    """Ship what stage ``redraft`` made beside DSpark: DFlash, the two other Markov heads, confidence with its calibration."""
    write_text(weights / "dflash.json", dflash.config.to_json())
    save_weights(dflash, weights / "dflash.safetensors")
    for name, head in heads.items():
        save_weights(head, weights / f"dspark_markov_{name}.safetensors")
    save_weights(confidence, weights / "dspark_confidence.safetensors")
    calibration = {"model_type": "soundings-dspark-confidence", "label": "greedy acceptance", **done["calibration"]}
    write_text(weights / "dspark_confidence.json", json.dumps(calibration, indent=1) + "\n")


def untrained_drafters(weights: Path) -> None:
    """Correctly shaped draft heads with random weights, for work on the engine."""
    torch.manual_seed(0)
    target = TargetConfig()
    export_drafters(DSpark(DSparkConfig(), target), MTP(target), weights)
