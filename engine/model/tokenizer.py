"""Text to token ids and back: the byte-level BPE shipped beside the weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.config import ConfigError


class Tokenizer:
    """`encode` puts <bos> in front, as every training document had it; `decode` drops special tokens."""

    def __init__(self, inner, bos_token_id: int = 1) -> None:
        self._inner = inner
        self.bos_token_id = bos_token_id

    @classmethod
    def load(cls, folder: Path, bos_token_id: int = 1) -> Tokenizer:
        """Read `tokenizer.json` of a weights folder; raises `ConfigError` when it is not there."""
        from tokenizers import Tokenizer as Inner  # heavy import, only where text is handled

        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise ConfigError(f"{path}: tokenizer not found; point --weights at a folder that has it")
        return cls(Inner.from_file(str(path)), bos_token_id)

    def encode(self, text: str, bos: bool = True) -> tuple[int, ...]:
        ids = self._inner.encode(text, add_special_tokens=False).ids
        return (self.bos_token_id, *ids) if bos else tuple(ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Bytes of an incomplete character become U+FFFD."""
        return self._inner.decode(list(ids), skip_special_tokens=True)
