"""The tokenizer inside a GGUF file, as a `tokenizer.json`: llama.cpp's models bring no other.

`python -m engine.backends.gguf MODEL.gguf TOKENIZER.json` writes it. Byte-level BPE only (`tokenizer.ggml.model` gpt2).
Format: the file's own header, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from engine.arguments import Parser
from engine.config import ConfigError
from engine.csvio import publish

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
LONGEST = 1 << 28
"""A length above this is a damaged file, not a model."""
CONTROL = (3, 4)
"""Token types that are markers, not text: control and user-defined."""

# A pre-tokenizer by its GGUF name: whether digits are split one by one before the byte-level split.
SPLIT_DIGITS = {"smollm": True, "gpt-2": False, "default": False}


class Reader:
    """Values of a GGUF header, in order. Every fault is a ConfigError that names the file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file

    def bytes(self, count: int) -> bytes:
        if count > LONGEST:
            raise ConfigError(f"{self.path}: a length of {count} at byte {self.file.tell()}: not a GGUF file, or a damaged one")
        found = self.file.read(count)
        if len(found) != count:
            raise ConfigError(f"{self.path}: ends at byte {self.file.tell()} inside its header")
        return found

    def scalar(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.bytes(struct.calcsize(code)))[0]

    def text(self) -> str:
        return self.bytes(self.scalar("Q")).decode("utf8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            inner, count = self.scalar("I"), self.scalar("Q")
            if inner in SCALARS:
                code = SCALARS[inner]
                return list(struct.unpack(f"<{count}{code}", self.bytes(count * struct.calcsize(code))))
            return [self.value(inner) for _ in range(min(count, LONGEST))]
        if kind not in SCALARS:
            raise ConfigError(f"{self.path}: a value of type {kind} at byte {self.file.tell()}: a GGUF version that is not known here")
        return self.scalar(SCALARS[kind])


def metadata(path: Path) -> dict[str, Any]:
    """Keys and values in front of the tensors. Raises ConfigError for a file that is missing, cut short or of another format."""
    try:
        with path.open("rb") as file:
            reader = Reader(path, file)
            if file.read(4) != MAGIC:
                raise ConfigError(f"{path}: not a GGUF file")
            version = reader.scalar("I")
            if version not in VERSIONS:
                raise ConfigError(f"{path}: GGUF version {version}; {VERSIONS} can be read")
            _, count = reader.scalar("Q"), reader.scalar("Q")
            found = {}
            for _ in range(count):
                key = reader.text()
                found[key] = reader.value(reader.scalar("I"))
            return found
    except OSError as error:
        raise ConfigError(f"{path}: model: {error.strerror}") from None


def tokenizer_json(path: Path) -> str:
    """The tokenizer of a model file, as the `tokenizers` library writes it. No token is added around a text."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    found = metadata(path)
    kind, pre = found.get("tokenizer.ggml.model"), found.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2" or pre not in SPLIT_DIGITS:
        raise ConfigError(f"{path}: tokenizer {kind!r} with pre-tokenizer {pre!r} cannot be rebuilt: gpt2 with {', '.join(SPLIT_DIGITS)} can; give a tokenizer.json")
    types = found.get("tokenizer.ggml.token_type")
    tokens, pairs = found.get("tokenizer.ggml.tokens"), found.get("tokenizer.ggml.merges")
    if not tokens or not pairs or len(types or tokens) != len(tokens):
        raise ConfigError(f"{path}: its tokenizer has no tokens, no merges or not a type for each token; give a tokenizer.json")
    merges = [tuple(merge.split(" ", 1)) for merge in pairs]
    built = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level]) if SPLIT_DIGITS[pre] else level
    built.decoder = decoders.ByteLevel()
    markers = [token for token, of in zip(tokens, types or (), strict=False) if of in CONTROL]
    built.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in markers])
    return built.to_str(pretty=False)


def bos_token_id(path: Path) -> int | None:
    """The token that the model expects first; None where it expects none."""
    return metadata(path).get("tokenizer.ggml.bos_token_id")


def main(argv: Sequence[str] | None = None) -> int:
    """0: written; 2: bad input (one line on stderr)."""
    parser = Parser(prog="python -m engine.backends.gguf", description="Write the tokenizer of a GGUF model as tokenizer.json.")
    parser.add_argument("model", type=Path, metavar="MODEL.gguf")
    parser.add_argument("out", type=Path, metavar="TOKENIZER.json")
    args = parser.parse_args(argv)
    try:
        publish({args.out: tokenizer_json(args.model).encode("utf8")})
    except ConfigError as error:
        print(f"engine.backends.gguf: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"engine.backends.gguf: {error.filename or args.out}: {error.strerror}", file=sys.stderr)
        return 2
    first = bos_token_id(args.model)
    print(f"{args.out}: {'the model names no token' if first is None else f'token {first} stands'} in front of a text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
