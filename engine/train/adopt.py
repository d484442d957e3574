"""Stage ``adopt``: shipped weights become the checkpoints of a work directory, so that training goes on from them.

Optimizer states are not shipped; a phase starts its own anew, as stage ``redraft`` does anyway.
"""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from engine.train.data import write_text
from engine.train.target import save_atomically

STAGES = ("target", "drafters", "redraft")
REDRAFTED = ("dflash", "dspark_markov_gated", "dspark_markov_rnn", "dspark_confidence")


def _read(path: Path, prefix: str = "") -> dict[str, Tensor]:
    return {prefix + name: tensor.float() for name, tensor in load_file(path).items()}


def _redraft(weights: Path, quality: dict) -> dict:
    """``redraft.pt`` as :func:`engine.train.redraft.redraft` would have left it."""
    anchors = quality["redraft"]["anchors"]
    calibration = json.loads((weights / "dspark_confidence.json").read_text("utf-8"))
    return {
        **{f"{name}_log": {"anchors": anchors[name]} for name in ("dspark", "dflash", "heads")},
        "dspark": _read(weights / "dspark.safetensors"),
        "dflash": _read(weights / "dflash.safetensors"),
        "heads": {
            **_read(weights / "dspark_markov_gated.safetensors", "markov.gated."),
            **_read(weights / "dspark_markov_rnn.safetensors", "markov.rnn."),
        },
        "confidence": _read(weights / "dspark_confidence.safetensors"),
        "calibration": {name: calibration[name] for name in ("temperatures", "ece_before", "ece_after", "num_samples")},
    }


def adopt(work: Path, weights: Path) -> list[str]:
    """Write the checkpoints that ``work`` lacks; names of the files written.

    The first call may be given weights from before a ``redraft``: their DSpark is then the one that later ones are compared with.
    """
    quality = json.loads((weights / "quality.json").read_text("utf-8"))
    work.mkdir(parents=True, exist_ok=True)
    made = {
        "target.pt": lambda: {"model": _read(weights / "target.safetensors"), "tokens": quality["tokens_seen"]},
        "drafters.pt": lambda: {"model": {**_read(weights / "dspark.safetensors", "dspark."), **_read(weights / "mtp.safetensors", "mtp.")}},
    }
    if all((weights / f"{name}.safetensors").exists() for name in REDRAFTED):
        made["redraft.pt"] = lambda: _redraft(weights, quality)
    written = []
    for name, content in made.items():
        if not (work / name).exists():
            save_atomically(work / name, content())
            written.append(name)
    _logs(work, weights / "training_log.jsonl", written)
    return written


def _logs(work: Path, log: Path, written: list[str]) -> None:
    """Each stage's lines back into a log of its own, beside the checkpoints just written."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for stage in STAGES:
        mine = [{name: value for name, value in line.items() if name != "stage"} for line in lines if line["stage"] == stage]
        if f"{stage}.pt" in written and mine:
            write_text(work / f"{stage}.jsonl", "".join(json.dumps(line) + "\n" for line in mine))
