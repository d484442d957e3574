"""instrument.csv of the synthetic campaign: two clients that agree on all but the figure that one of them defines otherwise."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from engine import csvio

OURS = {"output_throughput": 120.0, "ttft_ms": 40.0, "tpot_ms": 8.0, "accept_length": 2.5, "time_per_output_token_ms": 8.0}
THEIRS = {**OURS, "output_throughput": 119.4, "ttft_ms": 40.3, "tpot_ms": 8.03, "time_per_output_token_ms": 9.33}
RUNS = 2


def write_instrument(out: Path, campaign: str) -> None:
    """The file and its manifest, with the machine and the code of the folder's other manifests."""
    rows = [
        {
            "campaign": campaign,
            "client": "guidellm",
            "client_version": "0.8.1",
            "repeat": repeat,
            "quantity": name,
            "ours": value * (1 + 0.1 * repeat),
            "theirs": THEIRS[name] * (1 + 0.1 * repeat),
            "definition": {"ttft_ms": "from_the_client", "time_per_output_token_ms": "with_first_token"}.get(name, "same"),
            "source": "server" if name == "accept_length" else "report",
            "requests": 16,
            "max_concurrency": 4,
            "load_average": 0.1,
        }
        for repeat in range(RUNS)
        for name, value in OURS.items()
    ]
    content = csvio.render("instrument", rows, "instrument.csv")
    (out / "instrument.csv").write_bytes(content)
    about = json.loads((out / "sweep_window.manifest.json").read_text("utf8"))
    about.pop("lossless", None)
    about |= {"file": "instrument.csv", "kind": "instrument", "rows": len(rows), "sha256": hashlib.sha256(content).hexdigest(), "config": {"bound": 0.02}}
    about["command"] = "python -m tests.data.synthetic # instrument"
    (out / "instrument.manifest.json").write_text(json.dumps(about, indent=1), "utf8")
