"""Stage ``gate``: ship the checkpoints and measure them: arithmetic, losses, acceptance."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer

from engine.train import acceptance, gate, quality_table
from engine.train.data import write_text
from engine.train.draft_model import load_dspark, load_mtp
from engine.train.drafters import Drafters
from engine.train.export import export_drafters, export_target
from engine.train.model import load_target
from engine.train.target import validate


def merged_log(work: Path) -> str:
    """Both stages' JSON lines, each with its stage."""
    lines = []
    for stage in ("target", "drafters"):
        path = work / f"{stage}.jsonl"
        if path.exists():
            lines += [
                json.dumps({"stage": stage, **json.loads(line)})
                for line in path.read_text("utf-8").splitlines()
            ]
    return "\n".join(lines) + "\n"


def bits_per_byte(losses: dict[str, float], data: dict) -> dict[str, float]:
    """Nats per token -> bits per byte, with the bytes per token of the held-out files."""
    return {
        name: round(
            loss / 0.6931471805599453 * data[name]["held_out_tokens"]
            / data[name]["held_out_bytes"], 3,
        )
        for name, loss in losses.items()
    }


def finish(work: Path, weights: Path, held_out: Path, problems: int) -> None:
    """Export; ``training_log.jsonl``, ``quality.json``, ``QUALITY.md`` go beside the weights."""
    torch.set_num_threads(1)
    tokens = export_target(work, weights)
    target = load_target(weights / "target.safetensors")
    stored = torch.load(work / "drafters.pt", weights_only=True)
    heads = Drafters(target)
    heads.load_state_dict(stored["model"])
    export_drafters(heads.dspark, heads.mtp, weights)
    dspark = load_dspark(weights / "dspark.safetensors")
    mtp = load_mtp(weights / "mtp.safetensors")
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    losses = validate(target, work, 0, 1, "float32")
    data = json.loads((work / "data.json").read_text("utf-8"))
    quality = {
        "tokens_seen": tokens,
        "gate": gate.score(target, tokenizer, held_out / "arith.jsonl", problems).to_dict(),
        "held_out_nats_per_token": losses,
        "held_out_bits_per_byte": bits_per_byte(losses, data),
        "data": data,
        "acceptance": acceptance.report(target, dspark, mtp, tokenizer, work, held_out),
    }
    write_text(weights / "training_log.jsonl", merged_log(work))
    write_text(weights / "quality.json", json.dumps(quality, indent=1) + "\n")
    write_text(weights / "QUALITY.md", quality_table.markdown(quality))
    print(json.dumps({k: v for k, v in quality.items() if k != "data"}, indent=1))
