"""What a server's cell was measured on: version, image and weights. Declared in campaign.yaml or read, never guessed."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from engine.backends.server_config import ServerConfig

ASK_LIMIT_S = 20.0
CONTAINERS = ("docker", "podman")


@dataclass(frozen=True)
class Identity:
    """Unknown is None; the rows then say so by an empty cell."""

    server_version: str | None
    image_digest: str | None
    weights_revision: str | None

    @classmethod
    def of(cls, config: ServerConfig, prefix: Sequence[str], values: Mapping[str, object], version: str | None) -> Identity:
        return cls(version, config.image_digest or image_of(prefix, values), config.weights_revision or revision_of(config.model))

    def columns(self) -> dict[str, str | None]:
        return asdict(self)


def differs(earlier: Sequence[Mapping[str, object]], now: Mapping[str, object]) -> str | None:
    """How this server is another one than that of earlier boots, in words; None where nothing that is known differs."""
    for name in (one.name for one in fields(Identity)):
        for info in earlier:
            if info.get(name) is not None and now.get(name) is not None and info[name] != now[name]:
                return f"{name} was {info[name]} and is {now[name]}"
    return None


def image_of(prefix: Sequence[str], values: Mapping[str, object]) -> str | None:
    """Digest of the image of a container that was started by name; None outside containers."""
    if not prefix or prefix[0] not in CONTAINERS or "{name}" not in " ".join(prefix):
        return None
    words = [prefix[0], "inspect", "--format", "{{.Image}}", str(values.get("name"))]
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=ASK_LIMIT_S).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def revision_of(model: str | None) -> str | None:
    """Commit of a snapshot in the Hugging Face cache, which names its folders by it; None for any other path."""
    parts = Path(model).parts if model else ()
    return next((later for earlier, later in itertools.pairwise(parts) if earlier == "snapshots"), None)
