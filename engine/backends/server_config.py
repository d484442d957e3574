"""A server as campaign.yaml describes it (`measure.server`), and one boot of it: the same plus an arm's lane and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class ServerConfig:
    """Hashable all through: it is part of what a cell is."""

    model: str | None = None
    """What the server is told to load, or the name under which it serves."""
    tokenizer: str | None = None
    """tokenizer.json of the model: prompts are sent as its ids."""
    bos_token_id: int | None = None
    """First token of every prompt; read from the tokenizer where absent."""
    host: str = "127.0.0.1"
    """Where rank 0 listens, as this machine and the other ranks reach it."""
    url: str | None = None
    """Of a server that already runs; nothing is launched then."""
    command: tuple[str, ...] = ()
    """In place of the backend's own command template."""
    flags: tuple[str, ...] = ()
    """Server flags of every boot."""
    prefix: tuple[str, ...] = ()
    stop_command: tuple[str, ...] = ()
    nodes: int = 1
    environment: tuple[tuple[str, str], ...] = ()
    lanes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Lane -> flags, where the backend has none for it or others are wanted; `{block_size}` is replaced."""
    knobs: tuple[tuple[str, Setting], ...] = ()
    """Settings by our names that every boot gets; an arm's own replace them."""
    first_boot_s: float = 1800.0
    """Limit of the first boot, which may compile kernels and download weights."""
    later_boot_s: float = 600.0
    silence_s: float = 300.0
    """A boot that logs nothing for so long is hung."""
    warmup_batches: int = 8
    """Largest batch of the fixed warm-up; batches are the powers of two up to it."""
    image_digest: str | None = None
    """Of the container that the server runs in."""
    weights_revision: str | None = None
    lane: str = "plain"
    block_size: int | None = None

    def boot(self, lane: str, block_size: int | None, knobs: Mapping[str, Setting]) -> ServerConfig:
        """This server as one arm boots it."""
        merged = tuple(sorted({**dict(self.knobs), **knobs}.items()))
        return replace(self, lane=lane, block_size=None if lane == "plain" else block_size, knobs=merged)

    @property
    def settings(self) -> dict[str, Setting]:
        """Settings by our names; one that is not in it is the server's own default, which is unknown here."""
        return dict(self.knobs)

    @property
    def here(self) -> bool:
        """Whether the client shares the machine with all of the server, as far as its address tells."""
        host = urlsplit(self.url).hostname if self.url else self.host
        return host in LOOPBACK and self.nodes == 1

    def identity(self) -> dict:
        """What a cell depends on: everything but where it ran and how long one would have waited."""
        skipped = ("url", "host", "first_boot_s", "later_boot_s", "silence_s", "lane", "block_size", "knobs")
        # what is in the tokenizer decides, not where it lies
        files = {"tokenizer": sha256_of(self.tokenizer)} if self.tokenizer else {}
        return {**{name: value for name, value in asdict(self).items() if name not in skipped}, **files}

    def missing(self) -> list[str]:
        """Parts of the identity that nobody has declared."""
        return [name for name in ("image_digest", "weights_revision") if getattr(self, name) is None]


@cache
def sha256_of(path: str) -> str:
    return f"sha256:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"


def of_campaign(values: Mapping[str, object], root: Path) -> ServerConfig:
    """`measure.server`, checked by the schema before; relative paths count from the repository root."""
    found = {name: frozen(value) for name, value in values.items()}
    for name in ("lanes", "environment", "knobs"):
        if name in values:
            found[name] = tuple(sorted((key, frozen(value)) for key, value in dict(values[name]).items()))
    if found.get("tokenizer"):
        path = Path(str(found["tokenizer"]))
        found["tokenizer"] = str(path if path.is_absolute() else root / path)
    return ServerConfig(**found)


def frozen(value: object) -> object:
    return tuple(frozen(one) for one in value) if isinstance(value, list) else value
