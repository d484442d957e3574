"""InferenceX's `agg_*.json`: a vLLM result rewritten for its site. `_ms` is stripped from the names and the values are seconds.

`p99_intvty` is 1 / p99 TPOT, the slow tail, and `mean_intvty` 1 / mean: both are left out, since TPOT stands beside them. Rates are divided by the
tensor-parallel size alone, also where there are more devices; multiplied by it they are the benchmark's own totals again.
"""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.formats.serving import family_of_server, nothing_completed
from workflow.importers.result import Result, Seen

NAME, TOOL = "inferencex", "InferenceX"
LATENCIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}
STATS = {"mean": ("mean",), "median": ("median", "p50"), "p99": ("p99",)}
RATES = {"total_throughput": "tput_per_gpu", "output_throughput": "output_tput_per_gpu"}


def matches(data: dict) -> bool:
    return "tput_per_gpu" in data and any(name.endswith("_intvty") for name in data)


def read(fields: Fields, seen: Seen):
    seen.tools.add(TOOL)
    columns: dict = {
        "backend": family_of_server(fields.text("framework")),
        "lane": lane(fields),
        "label": " ".join(filter(None, (fields.text("hw"), fields.text("framework"), fields.text("precision")))) or TOOL,
        "model": fields.text("model"),
        "max_concurrency": fields.count("conc", least=1),
        "isl": fields.count("isl", least=1),
        "osl": fields.count("osl", least=1),
        "completed": fields.count("completed"),
    }
    for ours, theirs in LATENCIES.items():
        for stat, words in STATS.items():
            columns[f"{stat}_{ours}_ms"] = fields.number(*(f"{word}_{theirs}" for word in words), unit="s", ours="ms")
    devices = fields.count("tp", least=1)
    for ours, theirs in RATES.items():
        found = fields.number(theirs)
        if found is not None and devices is None:
            fields.dropped(f"{theirs}: without tp the whole is unknown; left empty")
        columns[ours] = found * devices if found is not None and devices is not None else None
    if others := [name for name in fields.data if name.endswith("_intvty")]:
        fields.ignore(*others)
        fields.dropped("interactivity (1 / TPOT, whose p99 is the slow tail) stands in TPOT; left out")
    fields.ignore("ep", "dp_attention", "image", "input_tput_per_gpu")
    if columns["model"]:
        seen.models.add(columns["model"])
    nothing_completed(fields, columns)
    yield Result(fields.place, columns, computed={"total_throughput", "output_throughput"})


def lane(fields: Fields) -> str:
    """Speculation as it says of itself: `mtp`, `spec_decoding`; unknown where it says nothing."""
    word = (fields.text("spec_decoding", "mtp") or "").lower()
    if word in ("", "unknown"):
        return "unknown"
    return "plain" if word in ("none", "off", "false") else "mtp" if word in ("mtp", "on", "true") else "spec"
