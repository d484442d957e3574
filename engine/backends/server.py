"""A server as a backend: launched or found running, asked over HTTP, its boot read from log and server info.

One subclass a server, in its own file; what they share is the life of a boot. Names of the methods that a subclass answers for
stand together under "what a server differs in".
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from engine.backends import device_memory, http_ask, ready, warm
from engine.backends.base import LOST, EngineFailure
from engine.backends.failure import Failure, classify, last, shown
from engine.backends.identity import Identity
from engine.backends.launch import Launch, Ranks, free_port, left_over
from engine.backends.metrics_text import Counters, counters, delta
from engine.backends.server_config import ServerConfig
from engine.backends.server_flags import FlagMap
from engine.bench.http_client import Dialect, Endpoint, one, run_load
from engine.config import ConfigError

DEATH_SETTLES_S = 2.0
"""A connection breaks a little before its process is gone."""
FLUSH_LIMIT_S = 30.0
LEFT_OVER_LIMIT_S = 5.0
"""How long the ranks of a boot that has just been ended may take to go."""
TOKEN_LIMIT_S = 120.0
SETTINGS_FAULTS = ("bad_flag", "weights_missing")


class ServerBackend:
    """One boot of a server."""

    name: ClassVar[str]
    flags: ClassVar[FlagMap]
    template: ClassVar[tuple[str, ...]] = ()
    """Command of one rank; `measure.server.command` replaces it."""
    signatures: ClassVar[str]
    launches: ClassVar[bool] = True
    has_metrics: ClassVar[bool] = True
    """Whether /metrics tells counters in Prometheus' text."""
    split_by: ClassVar[str | None] = None
    """Label of /metrics by which a counter is not summed."""
    capabilities: ClassVar[frozenset[str]] = frozenset()
    flushes = True

    def __init__(self, config: ServerConfig, cpu: int | None = None, logs: Path | None = None, first: bool = True) -> None:
        """`logs`: folder of this boot's logs; `first`: no boot of this server has ended well yet, so the long limit holds."""
        self.config, self.cpu, self.logs, self.first = config, cpu, logs or Path("server-logs"), first
        self.info: dict[str, Any] = {}
        self.notes: list[str] = []
        self.boot_s = 0.0
        self.ranks: Ranks | None = None
        self.url = (config.url or "").rstrip("/")
        self.base: Counters | None = None
        self.booted = False
        self.device_check: str | None = None
        """What was known of the device's memory before the boot; kept in the journal with the boot."""

    # what a server differs in

    def dialect(self) -> Dialect:
        """How a request is written and its stream is read."""
        raise NotImplementedError

    def read_info(self) -> dict[str, Any]:
        """What the server says about itself under our names; unknown is absent."""
        return {}

    def read_log(self, lines: Sequence[str]) -> dict[str, Any]:
        """Capacities out of the boot log, `notes` among them; a line that is not there leaves its value absent."""
        return {}

    def flush(self) -> bool:
        """Ask for an empty prefix cache; False: not now, or never."""
        return False

    def counters(self) -> Counters | None:
        """Counters that only grow; {} where the server has none, None where it did not answer."""
        return counters(http_ask.text(f"{self.url}/metrics"), self.split_by) if self.has_metrics else {}

    def step_log(self, lines: Sequence[str]) -> list[float]:
        """Step latencies in ms out of the decode lines of one load."""
        return []

    def acceptance(self, answer: Mapping[str, Any]) -> dict[str, float] | None:
        """rounds, drafted and accepted of a load, of counters where requests do not carry their own."""
        return None

    # one boot

    @property
    def alive(self) -> bool:
        return self.booted and (self.ranks.alive if self.ranks is not None else not self.launches)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.url, self.config.model)

    def boot(self) -> dict[str, Any]:
        """Launch (or find), wait for a token, warm up, flush, zero the counters. Raises EngineFailure, or ConfigError for bad settings."""
        begin = time.perf_counter()
        try:
            if self.launches:
                self.launch()
                begin = self.ranks.started
                limits = ready.Limits(self.config.first_boot_s if self.first else self.config.later_boot_s, self.config.silence_s)
                ready.wait(self.ranks, self.url, self.token, limits)
            elif not self.url:
                raise ConfigError(f"measure.server.url: backend {self.name} measures a server that already runs; give its address")
            elif not self.token():
                raise EngineFailure("crash", f"{self.url} generates no token")
            self.boot_s = time.perf_counter() - begin
            self.booted = True
            lines = self.ranks.log(0) if self.ranks else []
            logged = self.read_log(lines)
            told = self.read_info()
            self.notes += [*logged.pop("notes", ()), *told.pop("notes", ())]
            self.info = {**logged, **told, **self.identity(told).columns(), "device_check": self.device_check}
            warm.up(self)
            self.settle()
        except EngineFailure as failure:
            raise self.told(failure) from None
        self.info["notes"] = self.notes
        return self.info

    def launch(self) -> None:
        """Start every rank on a free port, once the device is idle and no earlier rank of ours is left."""
        words = [*(self.config.command or self.template), *self.flags.words(self.config), *self.config.flags]
        end = time.monotonic() + LEFT_OVER_LIMIT_S
        while groups := left_over(self.logs.parent):
            if time.monotonic() < end:
                time.sleep(0.1)
                continue
            raise EngineFailure("skipped", f"process groups {groups} of an earlier boot still run; their logs are in {self.logs.parent}", "left_over")
        self.device_check = device_memory.wait_idle(device_memory.visible({**os.environ, **dict(self.config.environment)})) or "idle"
        host, port = self.config.host, free_port()
        self.url = f"http://{host}:{port}"
        values = {"host": host, "port": port, "dist_init_addr": f"{host}:{free_port()}", "name": f"soundings-{port}", "model": self.config.model}
        launch = Launch(tuple(words), self.config.prefix, self.config.stop_command, self.config.nodes, dict(self.config.environment))
        self.ranks = Ranks(launch, values, self.logs)

    def token(self) -> bool:
        """Whether one greedy token comes back."""
        record = one(self.endpoint, self.dialect(), warm.request("ready", 1), TOKEN_LIMIT_S)
        return record["finish_reason"] in ("stop", "length")

    def identity(self, told: Mapping[str, Any]) -> Identity:
        return Identity.of(self.config, self.ranks.launch.prefix if self.ranks else (), self.ranks.values if self.ranks else {}, told.get("server_version"))

    def settle(self) -> None:
        """Nothing cached, nothing running, counters at zero: what a load starts from."""
        end = time.monotonic() + FLUSH_LIMIT_S
        while self.flushes and not self.flush():
            if time.monotonic() > end:
                raise EngineFailure("timeout", f"hang: the prefix cache could not be emptied for {FLUSH_LIMIT_S:.0f} s: requests still run", "hang")
            time.sleep(0.05)
        self.base = self.counters()

    def run(
        self, requests: list[dict], max_concurrency: int, timeout_s: float, trace: bool = False, due_s: list[float] | None = None
    ) -> dict[str, Any]:
        """One load over HTTP; the answer also has `counters` (what they grew by) and what is known of steps and acceptance."""
        try:
            self.settle()
            mark = len(self.ranks.log(0)) if self.ranks else 0
            answer = run_load(self.endpoint, self.dialect(), requests, max_concurrency, timeout_s, due_s)
        except EngineFailure as failure:
            raise self.told(failure) from None
        broken = any((record["finish_reason"] or "").startswith(LOST) for record in answer["requests"])
        if self.launches and self.gone(DEATH_SETTLES_S if broken else 0.0):
            raise self.told(EngineFailure("crash", "a rank ended during the load", "dead"))
        answer["counters"] = delta(self.base, self.counters())
        answer["acceptance"] = self.acceptance(answer)
        lines = self.ranks.log(0)[mark:] if self.ranks else []
        return {**answer, "steps": answer.get("steps") or [], "log_step_ms": self.step_log(lines)}

    def gone(self, within_s: float) -> bool:
        """Whether a rank has ended, or ends within so many seconds."""
        end = time.monotonic() + within_s
        while self.ranks.alive and time.monotonic() < end:
            time.sleep(0.05)
        return not self.ranks.alive

    def probe(self) -> dict[str, float]:
        """A server's machine is not probed from outside."""
        return {}

    def told(self, failure: EngineFailure) -> EngineFailure:
        """The failure with its class from exit codes and log, where a rank is gone; the server is ended with it."""
        if self.ranks is None or failure.kind in ("port", "left_over", "device_in_use"):
            return failure
        if not self.gone(DEATH_SETTLES_S if failure.status == "crash" else 0.0):
            lines = self.ranks.log()
            kind = "hang" if failure.status == "timeout" else failure.kind
            note = failure.note if kind in (None, *failure.note.split(":")[:1]) else f"{kind}: {failure.note}; last line: {shown(last(lines))}"
            found = EngineFailure(failure.status, note, kind)
        else:
            found = self.classified(classify(self.signatures, self.ranks.exits(), self.ranks.log(), self.booted))
        self.kill()
        return found

    def classified(self, failure: Failure) -> EngineFailure:
        """Settings that no boot can serve are the caller's fault (ConfigError); everything else is a result."""
        if failure.kind in SETTINGS_FAULTS and not self.booted:
            raise ConfigError(f"{self.name}: {failure}")
        return EngineFailure(failure.status, f"{failure} [{failure.table}]", failure.kind)

    def kill(self) -> None:
        if self.ranks is not None:
            self.ranks.kill()

    def stop(self) -> None:
        self.booted = False
        if self.ranks is not None:
            self.ranks.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
