"""Could this knob have done anything in this cell? Without that question a null result says nothing."""

from __future__ import annotations

from collections.abc import Sequence

from engine.csvio import Row

INERT = "inert by construction"
OVERHEAD = {"radix_cache": "though it finds nothing, it keeps a tree of every prompt"}
"""Knob -> what it costs where its mechanism has nothing to do. Every other knob then leaves the engine as it is."""


def judged(knob: str, bind: bool | None, verdict: str, why: str) -> tuple[str, str]:
    """(verdict, reason) of a knob. Where it had nothing to do and costs nothing, base and candidate are one configuration.

    Their ratio is then noise, however far from one it lies, and no verdict on the knob.
    """
    if bind is not False:
        return verdict, why
    return (verdict, f"{why}; {OVERHEAD[knob]}") if knob in OVERHEAD else (INERT, why)


def total(rows: Sequence[Row], *columns: str) -> int | None:
    """The sum of these counts; None where it is zero only as far as the rows tell, for a count nobody kept is not zero."""
    counts = [row.get(column) for row in rows for column in columns]
    known = sum(int(count) for count in counts if count is not None)
    return known if known or None not in counts else None


def counted(found: int | None, what: str) -> tuple[bool | None, str]:
    """A mechanism that shows in a count binds where the count is above zero."""
    return (None, f"{what}: the rows do not count them") if found is None else (found > 0, f"{found} {what}")


def could_bind(knob: str, base: Row, changed: Row) -> tuple[bool | None, str]:
    """(whether the mechanism had something to do, why); None where these rows cannot tell. Both rows of one load."""
    rows = (base, changed)
    match knob:
        case "chunked_prefill_size":
            return chunks(rows)
        case "cuda_graph_max_bs":
            if changed.get("mode") is None:
                return None, "the rows do not tell the execution mode"
            if changed["mode"] != "graph":
                return False, f"mode {changed['mode']} replays no graph"
            if changed.get("concurrency") is None or changed.get("cuda_graph_max_bs") is None:
                return None, "the rows do not tell the largest graph and the requests in flight"
            return changed["concurrency"] > changed["cuda_graph_max_bs"], "requests in flight against the largest graph"
        case "schedule_conservativeness":
            events = total(rows, "retracted", "blocked_by_new_token_reserve")
            return counted(events, "steps in which the reserve for new tokens mattered or a request was retracted")
        case "radix_cache":
            rates = [row["cache_hit_rate"] for row in rows if row.get("cache_hit_rate") is not None]
            if not rates:
                return None, "the rows do not tell how many prompt tokens came from the cache"
            return max(rates) > 0.01, f"{100 * max(rates):.1f} % of the prompt tokens came from the cache"
        case "max_running_requests":
            return counted(total(rows, "blocked_by_cap"), "steps with a request waiting for the cap")
        case "mamba_ssm_dtype":
            types = [row.get("mamba_ssm_dtype") for row in rows]
            if None in types:
                return None, "the rows do not tell the type of the state"
            return types[0] != types[1], f"every step reads and writes the state, as {types[0]} and as {types[1]}"
    return None, "nothing in the rows tells"


def chunks(rows: tuple[Row, Row]) -> tuple[bool | None, str]:
    """A chunk is a turn's budget: prompts that wait together share it."""
    base = rows[0]
    sizes = [row["chunked_prefill_size"] for row in rows if row.get("chunked_prefill_size")]
    if not sizes or base.get("total_input_tokens") is None:
        return None, "the rows do not tell the chunk and the prompt tokens"
    together = base["max_concurrency"] * base["total_input_tokens"] / max(1, base["completed"])
    bind = together > min(sizes) or bool(total(rows, "blocked_by_prefill_budget"))
    return bind, f"up to {together:.0f} prompt tokens wait together, the smaller chunk takes {min(sizes)}"
