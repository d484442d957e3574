"""Text to token ids and back: the byte-level BPE shipped beside the weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.config import ConfigError


BEGINNINGS = ("<bos>", "<s>", "<|begin_of_text|>", "<|im_start|>", "[BOS]", "<|endoftext|>")


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
        try:
            inner = Inner.from_file(str(path))
        except Exception as fault:  # the library raises nothing more special
            raise ConfigError(f"{path}: not a tokenizer ({fault}); restore the file from the repository") from fault
        return cls(inner, bos_token_id)

    @property
    def vocab_size(self) -> int:
        """Ids that the tokenizer knows, special ones included."""
        return self._inner.get_vocab_size()

    def first_token(self) -> int | None:
        """Id of the token that begins a text, by the names that models give it; None where it has none of them."""
        return next((id for id in map(self._inner.token_to_id, BEGINNINGS) if id is not None), None)

    def encode(self, text: str, bos: bool = True) -> tuple[int, ...]:
        ids = self._inner.encode(text, add_special_tokens=False).ids
        return (self.bos_token_id, *ids) if bos else tuple(ids)

    def token_bytes(self, vocab_size: int) -> list[bytes]:
        """What each id adds to the text, UTF-8; nothing for special tokens and for ids the tokenizer does not know."""
        special = {id for id, token in self._inner.get_added_tokens_decoder().items() if token.special}
        back = _byte_of_character()
        spelled = []
        for id in range(vocab_size):
            token = None if id in special else self._inner.id_to_token(id)
            spelled.append(bytes(back[c] for c in token) if token else b"")
        return spelled

    def decode(self, ids: Sequence[int]) -> str:
        """Bytes of an incomplete character become U+FFFD."""
        return self._inner.decode(list(ids), skip_special_tokens=True)


def _byte_of_character() -> dict[str, int]:
    """Byte-level BPE writes a byte as itself where it prints, else as a character from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}
