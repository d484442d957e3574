"""What every backend is: one boot of something that serves requests, and how a boot or a load fails."""

from __future__ import annotations

from typing import Any, Protocol

STATUSES = ("oom", "crash", "timeout", "rejected", "skipped")
"""How a cell can fail, as the points' `status` says it."""

STEP_ROWS = "step rows"
TRACE = "round trace"
MODES = "execution modes"
DEVICE_MEMORY = "device memory budget"
PROBE = "machine probe"
TOKEN_IDS = "token ids"
LOGPROBS = "logprobs"
SIDE_BY_SIDE = "several boots at once"
CAPABILITIES = (STEP_ROWS, TRACE, MODES, DEVICE_MEMORY, PROBE, TOKEN_IDS, LOGPROBS, SIDE_BY_SIDE)
"""What some backends can do and others cannot; a stage that needs one that is missing is skipped and its rows say which."""

LOST = "error: connection: "
"""Finish reason of a request whose connection was refused or broken; where all of them begin so, the server is gone."""

CAPACITIES = ("available_mem_bytes", "activation_peak_bytes", "max_total_num_tokens", "state_slots", "effective_max_running_requests")
"""What a boot came to, under the points' column names."""


class EngineFailure(RuntimeError):
    """A boot or a load that did not finish. `status` is one of STATUSES; `kind` the class of a server's failure where its log told."""

    def __init__(self, status: str, note: str, kind: str | None = None) -> None:
        super().__init__(note)
        self.status = status
        self.note = note
        self.kind = kind


class Backend(Protocol):
    """One boot: `boot()` first, then any number of `run()`, then `stop()`."""

    capabilities: frozenset[str]
    flushes: bool
    """Every run starts with an empty prefix cache; where it cannot, a nonce stands in front of each prompt."""
    info: dict[str, Any]
    """server_info of the boot: capacities under the points' column names, `notes`, and whatever else the server tells. Unknown is absent."""
    boot_s: float
    """Seconds from the start of the process to its first generated token; of the embedded engine without what its process waited for others."""

    @property
    def alive(self) -> bool: ...

    def boot(self) -> dict[str, Any]:
        """Start and wait until ready; returns `info`. Raises EngineFailure, or ConfigError for settings that no boot can serve."""

    def run(
        self, requests: list[dict], max_concurrency: int, timeout_s: float, trace: bool = False, due_s: list[float] | None = None
    ) -> dict[str, Any]:
        """One load. A request has `request_id`, `prompt_ids` [isl] and `sampling`; times in the answer are seconds after its start.

        The answer: `duration_s`, `requests`, `steps` (empty where the backend has no step rows), `arrivals_s`. A request of it:
        `request_id`, `isl`, `token_ids` [osl] (None where the server hands out text only, then `output_tokens` counts them), `queued_s`,
        `scheduled_s`, `first_token_s`, `end_s`, `emissions_s`, `rounds`, `drafted`, `accepted`, `accepted_histogram`, `finish_reason`
        (stop, length, or anything else for a failure), `cached_tokens`, `retractions`, `logprobs`, `trace`. What is unknown is None.
        """

    def probe(self) -> dict[str, float]:
        """The machine's speed right now; empty where the backend does not know."""

    def told(self, failure: EngineFailure) -> EngineFailure:
        """A failure that a request reported, with what the boot itself says of its cause; the boot may be ended with it."""

    def kill(self) -> None:
        """End every process of this boot at once."""

    def stop(self) -> None:
        """End the boot and free what it holds; safe to call twice."""
