"""The gate of the synthetic campaign: answers drawn by a coin, judged by the real gate."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

from engine import csvio, gate
from engine.bench import gate_plan
from engine.bench.gate_score import scored
from engine.bench.stages import Gate

STAGE = Gate(problems=120, sampled_problems=60, repeats=4, texts=12, text_repeats=4)


def answer_row(config: gate_plan.Config, task: str, number: int, repeat: int, draw: random.Random) -> dict:
    """One answer. Greedy text is the same for every configuration; sampled text differs by repeat unless the configuration is broken."""
    expected = None if task == gate_plan.TEXT else 10 + number
    right = draw.random() < 0.985
    greedy = task == gate_plan.GREEDY
    right = right if not greedy else number % 60 != 7
    given = None if expected is None else expected if right else expected + 1
    same = greedy or (config.role == "broken" and repeat > 0)
    key = f"{task}-{number}-{'' if same else f'{repeat}-{config.arm.label}'}"
    ids = [10 + int(hashlib.sha256(f"{key}-{i}".encode()).hexdigest(), 16) % 4000 for i in range(24)]
    drafting = config.arm.block_size is not None
    rounds = 8
    moved = config.role == "numeric"
    return scored(
        {
            "campaign": "synthetic",
            "config": config.arm.label,
            "role": config.role,
            "lane": config.arm.lane,
            "block_size": config.arm.block_size,
            "mode": "eager",
            "mamba_ssm_dtype": dict(config.arm.knobs).get("mamba_ssm_dtype", "float32"),
            "boot_id": f"gate-{config.arm.label}",
            "task": task,
            "problem": f"p-{number}",
            "repeat": repeat,
            "temperature": 0.0 if greedy else STAGE.temperature,
            "top_p": 1.0 if greedy else STAGE.top_p,
            "seed": repeat,
            "expected": expected,
            "finish_reason": "length" if expected is None else "stop",
            "isl": 40,
            "osl": len(ids),
            "rounds": rounds if drafting else None,
            "drafted": rounds * config.arm.block_size if drafting else None,
            "accepted": 2 * rounds if drafting else None,
            "accepted_histogram": f"0;0;{rounds};0" if drafting else None,
            "logprob_sha": hashlib.sha256(f"{key}{moved}".encode()).hexdigest()[:12] if greedy else None,
            "output_ids": " ".join(map(str, ids)),
            "output": "text" if given is None else f" The answer is {given}.\n",
        }
    )


def write_gate(out: Path, campaign: str) -> None:
    """gate.csv and its manifest, with the machine and the code of the folder's other manifests."""
    draw = random.Random(5)
    rows = []
    counts = {gate_plan.GREEDY: (STAGE.problems, 1), gate_plan.SAMPLED: (STAGE.sampled_problems, STAGE.repeats), gate_plan.TEXT: (STAGE.texts, STAGE.text_repeats)}
    for config in gate_plan.configs(STAGE):
        for task in config.tasks:
            problems, repeats = counts[task]
            rows += [answer_row(config, task, number, repeat, draw) for number in range(problems) for repeat in range(repeats)]
    for row in rows:
        row["campaign"] = campaign
    content = csvio.render("gate", rows, "gate.csv")
    (out / "gate.csv").write_bytes(content)
    about = json.loads((out / "sweep_window.manifest.json").read_text("utf8"))
    about.pop("lossless", None)
    about |= {"file": "gate.csv", "kind": "gate", "rows": len(rows), "sha256": hashlib.sha256(content).hexdigest(), "gate": gate.section(rows, STAGE)}
    about["command"] = "python -m tests.data.synthetic # gate"
    (out / "gate.manifest.json").write_text(json.dumps(about, indent=1), "utf8")
