"""What a command measures: the model's name, its tokenizer and prompts, and what identifies its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine import manifest
from engine.backends.server_config import ServerConfig
from engine.bench.campaign import Campaign
from engine.bench.workloads import HeldOut
from engine.config import ConfigError, ModelConfig

if TYPE_CHECKING:
    from engine.model.tokenizer import Tokenizer


@dataclass(frozen=True)
class Subject:
    model: str
    tokenizer: Tokenizer
    held_out: HeldOut
    weights: dict[str, str]
    """File -> sha256; empty for a server, whose weights lie elsewhere and have a revision."""

    @classmethod
    def of(cls, campaign: Campaign) -> Subject:
        """Raises ConfigError where weights or tokenizer cannot be read."""
        return embedded(campaign.engine.weights) if campaign.server is None else served(campaign)


def embedded(weights: Path) -> Subject:
    from engine.model.tokenizer import Tokenizer

    model = manifest.model_name(ModelConfig.load(weights / "target.json"))
    manifest.tensors(weights / "target.safetensors")
    tokenizer = Tokenizer.load(weights)
    held_out = HeldOut(lambda text: tokenizer.encode(text, bos=False), tokenizer.bos_token_id)
    return Subject(model, tokenizer, held_out, manifest.weights_hashes(weights))


def served(campaign: Campaign) -> Subject:
    """Prompts are the held-out texts in the server's own tokens."""
    from engine.model.tokenizer import Tokenizer

    server: ServerConfig = campaign.server
    path = Path(server.tokenizer)
    if path.name != "tokenizer.json":
        raise ConfigError(f"measure.server.tokenizer: {path}: give the model's tokenizer.json")
    tokenizer = Tokenizer.load(path.parent)
    bos = server.bos_token_id if server.bos_token_id is not None else tokenizer.first_token()
    if bos is None:
        raise ConfigError(f"measure.server.bos_token_id: {path} names no token that begins a text; give its id")
    tokenizer.bos_token_id = bos
    held_out = HeldOut(lambda text: tokenizer.encode(text, bos=False), bos, vocab=tokenizer.vocab_size)
    return Subject(Path(server.model).name if server.model else campaign.backend, tokenizer, held_out, {})
