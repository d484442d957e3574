"""Could this knob have done anything in this cell? Without that question a null result says nothing."""

from __future__ import annotations

from engine.csvio import Row

INERT = "inert by construction"


def count(row: Row, column: str) -> int:
    return int(row.get(column) or 0)


def could_bind(knob: str, base: Row, changed: Row) -> tuple[bool | None, str]:
    """(whether the mechanism had something to do, why); None where these rows cannot tell. Both rows of one load."""
    rows = (base, changed)
    match knob:
        case "chunked_prefill_size":
            smallest = min(row["chunked_prefill_size"] for row in rows if row.get("chunked_prefill_size"))
            waited = sum(count(row, "blocked_by_prefill_budget") for row in rows)
            # a chunk is a turn's budget: prompts that wait together share it
            together = base["max_concurrency"] * (base["total_input_tokens"] or 0) / max(1, count(base, "completed"))
            bind = waited > 0 or together > smallest
            return bind, f"up to {together:.0f} prompt tokens wait together, the smaller chunk takes {smallest}"
        case "cuda_graph_max_bs":
            if changed.get("mode") != "graph":
                return False, f"mode {changed.get('mode')} replays no graph"
            return (changed["concurrency"] or 0) > (changed.get("cuda_graph_max_bs") or 0), "requests in flight against the largest graph"
        case "schedule_conservativeness":
            events = sum(count(row, "retracted") + count(row, "blocked_by_new_token_reserve") for row in rows)
            return events > 0, f"{events} steps in which the reserve for new tokens mattered or a request was retracted"
        case "radix_cache":
            rate = max(row.get("cache_hit_rate") or 0.0 for row in rows)
            return rate > 0.01, f"{100 * rate:.1f} % of the prompt tokens came from the cache"
        case "max_running_requests":
            waited = sum(count(row, "blocked_by_cap") for row in rows)
            return waited > 0, f"{waited} steps with a request waiting for the cap"
        case "mamba_ssm_dtype":
            return True, "every step reads and writes the state"
    return None, "nothing in the rows tells"
