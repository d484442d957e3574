"""The verify-cost sweep of the synthetic campaign: a forward that costs a fixed part and a part a position."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from engine import csvio

MODES = {"eager": (3.9, 0.28), "fused": (0.45, 0.40)}
"""Mode -> (ms of a forward of one position, ms a further position)."""
WEIGHTS_BYTES = 14_600_000
READ_GB_S = 20.0
REPLAYED = {"eager": (9.0, 5.0), "fused": (2.5, 1.6)}
"""Mode -> ms a token of a larger model with random weights: plain, and with replayed accepted counts."""
SIZES = {"random-25m": (9.0, 0.2, 1.5), "random-60m": (14.0, 0.2, 2.5), "random-moe": (9.0, 3.0, 1.5)}
"""Model -> ms of an eager forward of one position, ms a further position, ms of a round's drafting."""


def cost_row(number: int, campaign: str, mode: str, quantity: str, batch: int, width: int, ms: float, lane: str | None = None, ratio: float | None = None) -> dict:
    verify = quantity == "verify" and lane is None
    return {
        "run_id": f"verify_cost-{number:04d}",
        "campaign": campaign,
        "host": "synthetic",
        "device": "synthetic",
        "threads": 1,
        "code": "0" * 12,
        "model": "trained",
        "mode": mode,
        "fused_verify": "shared" if mode == "fused" else None,
        "quantity": quantity,
        "lane": lane,
        "instrument": "off",
        "batch": batch,
        "width": width,
        "context": 128,
        "samples": 3,
        "min_ms": ms,
        "median_ms": ms * 1.03,
        "max_ms": ms * 1.1,
        "block_sum_ms": ms * 0.9 if verify and mode == "eager" else None,
        "block_ms": f"attention={ms * 0.2:.4f};kda={ms * 0.3:.4f};linear={ms * 0.4:.4f}" if verify and mode == "eager" else None,
        "parameters": 8_350_000,
        "weights_bytes": WEIGHTS_BYTES,
        "bytes_read": WEIGHTS_BYTES,
        "experts_touched": None,
        "read_gb_s": READ_GB_S,
        "bound_ms": 1e3 * WEIGHTS_BYTES / (READ_GB_S * 1e9),
        "ratio": ratio,
        "isa": None,
        "padded": 0,
    }


def write_verify_cost(out: Path, campaign: str) -> None:
    """sweep_verify_cost.csv and its manifest, with the machine and the code of the folder's other manifests."""
    rows: list[dict] = []

    def add(*cell, **more) -> None:
        rows.append(cost_row(len(rows), campaign, *cell, **more))

    for mode, (fixed, growth) in MODES.items():
        for batch in (1, 4):
            one = fixed * (1 + 0.1 * (batch - 1))
            for width in range(1, 9):
                ms = one + growth * (width - 1) * batch**0.5
                add(mode, "verify", batch, width, ms, ratio=ms / one)
            window = one + growth * 3 * batch**0.5
            parts = {"plain": {"decode": one, "commit": 0.05, "other": 0.2}, "dspark": {"verify": window, "draft": 0.9, "commit": 0.1, "other": 0.25}}
            for lane, named in parts.items():
                for quantity, ms in {**named, "step": sum(named.values())}.items():
                    add(mode, quantity, batch, 1 if lane == "plain" else 4, ms, lane=lane)
    for model, (fixed, growth, draft) in SIZES.items():
        for lane, quantity, width, ms in (("plain", "decode", 1, fixed), ("dspark", "verify", 4, fixed + 3 * growth), ("dspark", "draft", 4, draft)):
            add("eager", quantity, 1, width, ms, lane=lane)
            rows[-1] |= {"model": model}
    for mode, times in REPLAYED.items():
        for lane, ms in zip(("plain", "dspark"), times, strict=True):
            add(mode, "token", 1, 1 if lane == "plain" else 4, ms, lane=lane)
            replayed = {"status": "simulated", "tokens_per_round": 2.5, "acceptance": "synthetic/steps_window.csv"} if lane == "dspark" else {"status": "measured"}
            rows[-1] |= {"model": "random-25m", "parameters": 25_000_000, **replayed}
    content = csvio.render("verify_cost", rows, "sweep_verify_cost.csv")
    (out / "sweep_verify_cost.csv").write_bytes(content)
    about = json.loads((out / "sweep_window.manifest.json").read_text("utf8"))
    about.pop("lossless", None)
    sha = hashlib.sha256(content).hexdigest()
    about |= {"file": "sweep_verify_cost.csv", "kind": "verify_cost", "rows": len(rows), "sha256": sha}
    about["command"] = "python -m tests.data.synthetic # verify_cost"
    (out / "sweep_verify_cost.manifest.json").write_text(json.dumps(about, indent=1), "utf8")
