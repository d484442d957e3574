"""What SGLang's and vLLM's serving clients share: names of servers and drafters, rows of requests from lists, runs in which nothing completed."""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.units import convert

UNLIMITED = (0.0,)
"""A cap of 0 means none, not nothing."""
LANES = {"DSPARK": "dspark", "DFLASH": "dflash", "NEXTN": "mtp", "NGRAM": "lookup"}
"""Names of drafters that have a lane here; every other one is `spec`."""
RESULTS = (
    "request_throughput", "output_throughput", "total_throughput", "concurrency", "accept_length",
    *(f"{stat}_{name}_ms" for stat in ("mean", "median", "p99") for name in ("ttft", "tpot", "itl", "e2e")),
)  # fmt: skip


def family_of_server(name: str | None) -> str:
    """Our name of the server behind a client's backend option; `openai` for any that speaks its protocol."""
    for family in ("sglang", "vllm", "llamacpp"):
        if name and name.replace(".", "").replace("-", "").startswith(family):
            return family
    return "openai"


def nothing_completed(fields: Fields, columns: dict) -> None:
    """A run without a completed request: its zeros are no measurement, and the row is kept to say so."""
    if columns.get("completed") == 0:
        columns |= dict.fromkeys(RESULTS) | {"status": "rejected", "note": "no request completed, so its rates and latencies are none"}
        fields.dropped("no request completed: the row is kept, its rates and latencies of zero are left empty")


def at(values, i: int):
    """Element of a list that may be shorter, or none at all."""
    return values[i] if isinstance(values, list) and i < len(values) else None


def client_rows(fields: Fields) -> list[dict]:
    """Rows of requests from the lists of a client's details, which are in seconds; empty where they were not saved.

    `itls` are gaps between chunks, so first token plus their sum is the whole latency. A failed request is one with an error or without output.
    """
    inputs, outputs = fields.numbers("input_lens"), fields.numbers("output_lens")
    firsts, starts, latencies = fields.numbers("ttfts"), fields.numbers("start_times"), fields.numbers("latencies")
    gaps, errors = fields.raw("itls"), fields.raw("errors")
    if inputs is None or outputs is None:
        return []
    if len(inputs) != len(outputs):
        fields.dropped(f"lists of {len(inputs)} inputs and {len(outputs)} outputs; no rows of requests")
        return []
    begin = min((start for start in starts or () if start is not None), default=None)
    rows = []
    for i, (isl, osl) in enumerate(zip(inputs, outputs)):
        if isl is None or osl is None:
            continue
        first, between = at(firsts, i), at(gaps, i)
        failed = bool(at(errors, i)) or not osl
        whole = at(latencies, i) or None
        if whole is None and first is not None and isinstance(between, list) and all(isinstance(gap, (int, float)) for gap in between):
            whole = first + sum(between)
        start = at(starts, i)
        row = {"request_id": f"r{i}", "isl": int(isl), "osl": int(osl), "status": "failed" if failed else "ok"}
        if start is not None and begin is not None:
            row["queued_s"] = start - begin
        if not failed and first is not None:
            row["ttft_ms"] = convert(first, "s", "ms")
        if not failed and whole is not None:
            row["e2e_ms"] = convert(whole, "s", "ms")
            if first is not None and osl > 1 and whole >= first:
                row["tpot_ms"] = convert(whole - first, "s", "ms") / (osl - 1)
        rows.append(row)
    return rows
