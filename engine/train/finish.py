"""Stage ``gate``: ship the checkpoints and measure them: arithmetic, losses, acceptance."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn

from engine.train import acceptance, compare, gate, quality_table
from engine.train.data import write_text
from engine.train.draft_model import DSpark, load_dspark, load_mtp
from engine.train.drafters import Drafters
from engine.train.export import export_drafters, export_redraft, export_target
from engine.train.model import load_target
from engine.train.redraft import rebuilt
from engine.train.target import validate


def merged_log(work: Path) -> str:
    """The stages' JSON lines, each with its stage."""
    lines = []
    for stage in ("target", "drafters", "redraft"):
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


def target_figures(
    target: nn.Module, tokenizer: Tokenizer, work: Path, weights: Path, held_out: Path, problems: int, tokens: int
) -> dict:
    """Gate and losses of the target; those on record are kept while the target has seen no more tokens."""
    path = weights / "quality.json"
    if path.exists():
        known = json.loads(path.read_text("utf-8"))
        if known["tokens_seen"] == tokens and known["gate"]["problems"] == problems:
            return {n: known[n] for n in ("tokens_seen", "gate", "held_out_nats_per_token", "held_out_bits_per_byte", "data")}
    losses = validate(target, work, 0, 1, "float32")
    data = json.loads((work / "data.json").read_text("utf-8"))
    return {
        "tokens_seen": tokens,
        "gate": gate.score(target, tokenizer, held_out / "arith.jsonl", problems).to_dict(),
        "held_out_nats_per_token": losses,
        "held_out_bits_per_byte": bits_per_byte(losses, data),
        "data": data,
    }


def mean_accept_length(compared: dict, label: str, mode: str, gamma: int = 3) -> float:
    """Over the classes, at one block width."""
    return sum(of[label][mode][str(gamma)] for of in compared.values()) / len(compared)


def redrafted(target: nn.Module, before: DSpark, tokenizer: Tokenizer, work: Path, held_out: Path) -> tuple[dict, dict, dict]:
    """(what stage ``redraft`` stored, its modules, the comparison with the DSpark of before)."""
    done = torch.load(work / "redraft.pt", weights_only=True)
    dspark, dflash, heads, confidence = rebuilt(done, target)
    compared = compare.compare(
        target,
        {
            "dspark before": (before, None), "dspark": (dspark, None), "dspark gated": (dspark, heads["gated"]),
            "dspark rnn": (dspark, heads["rnn"]), "dflash": (dflash, None),
        },
        tokenizer, work, held_out,
    )
    return done, {"dspark": dspark, "dflash": dflash, "heads": heads, "confidence": confidence}, compared


def finish(work: Path, weights: Path, held_out: Path, problems: int) -> None:
    """Export; ``training_log.jsonl``, ``quality.json``, ``QUALITY.md`` go beside the weights.

    A DSpark that went on training is shipped, with the heads that stand on it, only if its mean accept length at
    width 3 is above the earlier one's both on the target's own text and on held-out documents.
    """
    torch.set_num_threads(1)
    tokens = export_target(work, weights)
    target = load_target(weights / "target.safetensors")
    stored = torch.load(work / "drafters.pt", weights_only=True)
    heads = Drafters(target)
    heads.load_state_dict(stored["model"])
    dspark, more = heads.dspark.eval(), {}
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    if (work / "redraft.pt").exists():
        done, made, compared = redrafted(target, heads.dspark.eval(), tokenizer, work, held_out)
        better = all(
            mean_accept_length(compared, "dspark", mode) > mean_accept_length(compared, "dspark before", mode)
            for mode in ("free_running", "documents")
        )
        more = {"redraft": {
            "shipped": better, "anchors": {n: done[f"{n}_log"]["anchors"] for n in ("dspark", "dflash", "heads")},
            "calibration": done["calibration"], "compared": compared,
        }}
        if better:
            dspark = made["dspark"]
            export_redraft(done, made["dflash"], made["heads"], made["confidence"], weights)
    export_drafters(dspark, heads.mtp, weights)
    quality = {
        **target_figures(target, tokenizer, work, weights, held_out, problems, tokens),
        "acceptance": acceptance.report(
            target, load_dspark(weights / "dspark.safetensors"), load_mtp(weights / "mtp.safetensors"), tokenizer, work, held_out
        ),
        **more,
    }
    write_text(weights / "training_log.jsonl", merged_log(work))
    write_text(weights / "quality.json", json.dumps(quality, indent=1) + "\n")
    write_text(weights / "QUALITY.md", quality_table.markdown(quality))
    print(json.dumps({k: v for k, v in quality.items() if k != "data"}, indent=1))
