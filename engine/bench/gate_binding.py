"""Whether a silent setting had anything to do while the gate asked: equal bits of a setting that nothing met say nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.bench.gate_plan import ANSWER_PROMPT, Config
from engine.bench.stages import Gate

MEETS = {"chunked_prefill_size": "prefill_budget", "max_running_requests": "cap", "schedule_conservativeness": "new_token_reserve"}
"""Setting -> what a step says of a waiting request that the setting keeps waiting."""
POOL = "max_total_num_tokens"
LEAST_REQUESTS = 4
"""Requests that the small pool holds whole, so that the longest question fits by far."""


def in_regime(config: Config, stage: Gate) -> Config:
    """A silent setting with what makes it bind: the reserve for tokens to come matters in a pool of half of what all in flight could use."""
    knobs = dict(config.arm.knobs)
    if config.role != "silent" or "schedule_conservativeness" not in knobs or POOL in knobs:
        return config
    tokens = max(stage.max_concurrency // 2, LEAST_REQUESTS) * (ANSWER_PROMPT + stage.max_tokens)
    return replace(config, arm=config.arm.with_knobs(config.arm.label, **knobs, **{POOL: tokens}))


def bound_steps(config: Config, steps: Sequence[dict]) -> int | None:
    """Steps in which the silent setting kept a request waiting, or a request was retracted that it had let in; None where steps do not tell."""
    why = next((MEETS[name] for name, _ in config.arm.knobs if name in MEETS), None)
    if config.role != "silent" or why is None or not steps or any(step.get("blocked_by") is None for step in steps):
        return None
    return sum(step["blocked_by"] == why or (why == "new_token_reserve" and bool(step.get("retracted"))) for step in steps)
