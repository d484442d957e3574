"""The tokenizer of a GGUF file, and files that are none."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from engine.backends import gguf
from engine.config import ConfigError

U32, STR, ARR = 4, 8, 9
ALPHABET = "abcdefgh0123456789 \n"


def packed(text: str) -> bytes:
    raw = text.encode("utf8")
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, kind: int, value: bytes) -> bytes:
    return packed(key) + struct.pack("<I", kind) + value


def strings(items: list[str]) -> bytes:
    return struct.pack("<IQ", STR, len(items)) + b"".join(map(packed, items))


def model(pre: str = "smollm", kind: str = "gpt2", version: int = 3) -> bytes:
    """A header with a small byte-level vocabulary and one merge; spaces are written as the byte-level alphabet writes them."""
    tokens = ["<|endoftext|>", *(c.replace(" ", "Ġ").replace("\n", "Ċ") for c in ALPHABET), "ab"]
    types = struct.pack("<IQ", 5, len(tokens)) + struct.pack(f"<{len(tokens)}i", 3, *[1] * (len(tokens) - 1))
    entries = [
        entry("tokenizer.ggml.model", STR, packed(kind)),
        entry("tokenizer.ggml.pre", STR, packed(pre)),
        entry("tokenizer.ggml.tokens", ARR, strings(tokens)),
        entry("tokenizer.ggml.token_type", ARR, types),
        entry("tokenizer.ggml.merges", ARR, strings(["a b"])),
        entry("tokenizer.ggml.bos_token_id", U32, struct.pack("<I", 0)),
    ]
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


def written(folder: Path, raw: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("pre", ["smollm", "gpt-2"])
def test_text_survives_the_rebuilt_tokenizer(tmp_path, pre):
    from tokenizers import Tokenizer

    out = tmp_path / "tokenizer.json"
    assert gguf.main([str(written(tmp_path, model(pre))), str(out)]) == 0
    built = Tokenizer.from_file(str(out))
    for text in ("abc 123\ngh", "ab ab", "0110"):
        encoded = built.encode(text)
        assert built.decode(encoded.ids) == text
    assert built.token_to_id("ab") in built.encode("cab").ids, "merges are applied"
    assert built.decode([0]) == "", "a control token is no text"
    assert gguf.bos_token_id(tmp_path / "model.gguf") == 0


def test_digits_are_split_where_the_model_splits_them(tmp_path):
    rules = {pre: json.loads(gguf.tokenizer_json(written(tmp_path, model(pre))))["pre_tokenizer"] for pre in ("smollm", "gpt-2")}
    assert rules["smollm"]["pretokenizers"][0] == {"type": "Digits", "individual_digits": True}
    assert rules["gpt-2"]["type"] == "ByteLevel"


BROKEN = {
    "another format": (b"PK\x03\x04" + bytes(60), "not a GGUF file"),
    "an old version": (model(version=1), "version 1"),
    "cut short": (model()[:90], "ends at byte"),
    "a length from nowhere": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 60), "not a GGUF file, or a damaged one"),
    "no tokens": (model().replace(b"ggml.tokens", b"ggml.tokenz"), "has no tokens"),
    "types of other tokens": (model().replace(b"ggml.tokens", b"ggml.tokenz").replace(b"ggml.merges", b"ggml.tokens").replace(b"ggml.tokenz", b"ggml.merges"), "not a type for each token"),
    "another tokenizer": (model(kind="llama"), "give a tokenizer.json"),
    "another pre-tokenizer": (model(pre="llama-bpe"), "give a tokenizer.json"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_one_line_and_nothing_is_written(tmp_path, capsys, name):
    raw, why = BROKEN[name]
    out = tmp_path / "tokenizer.json"
    assert gguf.main([str(written(tmp_path, raw)), str(out)]) == 2
    message = capsys.readouterr().err
    assert why in message and "model.gguf" in message and message.count("\n") == 1
    assert not out.exists()


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.gguf: model: No such file"):
        gguf.metadata(tmp_path / "model.gguf")
