"""Our settings as flags of a server: one mapping a server, names converted at this border and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.backends.server_config import ServerConfig
from engine.config import ConfigError

BLOCK_SIZE, WINDOW = "{block_size}", "{window}"
"""In lane flags: γ, and γ + 1 where a server counts the anchor."""


@dataclass(frozen=True)
class Flag:
    """How a setting is written. A switch has no value: `on` stands for true, `off` for false, either may be nothing."""

    name: str | None = None
    on: tuple[str, ...] | None = None
    off: tuple[str, ...] | None = None

    def words(self, value: object) -> list[str]:
        if self.name is not None:
            return [self.name, str(value)]
        return list((self.on if value else self.off) or ())


def switch(on: tuple[str, ...] = (), off: tuple[str, ...] = ()) -> Flag:
    return Flag(None, on, off)


@dataclass(frozen=True)
class FlagMap:
    """Everything that a server's arms may set."""

    server: str
    knobs: Mapping[str, Flag]
    lanes: Mapping[str, tuple[str, ...]]
    """Lane -> flags; what a deployment adds (the draft model's path) stands in `measure.server.lanes`."""
    choices: Mapping[str, Mapping[object, tuple[str, ...]]]
    """Settings whose values are words of ours -> flags of the server."""

    def words(self, config: ServerConfig) -> list[str]:
        """Flags of one boot, lane first. Raises ConfigError for a lane or setting that the server has no flag for."""
        return [*self.lane(config), *(word for name, value in config.knobs for word in self.setting(name, value))]

    def lane(self, config: ServerConfig) -> list[str]:
        given = dict(config.lanes)
        template = given.get(config.lane, self.lanes.get(config.lane, () if config.lane == "plain" else None))
        if template is None:
            raise ConfigError(f"{self.server} has no lane {config.lane!r}: measure.server.lanes.{config.lane} may give its flags")
        if config.block_size is None:
            return list(template)
        values = {BLOCK_SIZE: str(config.block_size), WINDOW: str(config.block_size + 1)}
        return [word.replace(BLOCK_SIZE, values[BLOCK_SIZE]).replace(WINDOW, values[WINDOW]) for word in template]

    def setting(self, name: str, value: object) -> list[str]:
        if value is None:
            return []
        if name in self.choices:
            known = self.choices[name]
            if value not in known:
                raise ConfigError(f"{self.server}: {name} = {value!r} has no flag; known: {', '.join(map(str, known))}")
            return list(known[value])
        if name not in self.knobs:
            raise ConfigError(f"{self.server} has no flag for {name}; it has: {', '.join(sorted({*self.knobs, *self.choices}))}")
        return self.knobs[name].words(value)
