"""The shipped held-out files: licences, lengths, and what the drafters need of the tokens."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tokenizers")
from tokenizers import Tokenizer

from engine.train import data
from engine.train.arithmetic import Problem
from engine.train.corpora import help_text

ENGINE = Path(data.__file__).parents[1]
ALLOWED = {"PSF-2.0", "MPL-2.0"}


def lines(name: str) -> list[dict]:
    path = ENGINE / "heldout" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(ENGINE / "weights" / "tokenizer.json"))


@pytest.mark.parametrize("name", ["code", "en", "zh"])
def test_text_files_name_a_permitted_licence(name):
    for document in lines(name):
        assert document["licence"] in ALLOWED
        assert "General Public License" not in document["text"]


@pytest.mark.parametrize("name", ["code", "en"])
def test_one_document_is_long_enough_for_the_longest_prompt(name, tokenizer):
    longest = max((d["text"] for d in lines(name)), key=len)
    assert len(tokenizer.encode(longest, add_special_tokens=False).ids) >= 12_000


def test_arithmetic_is_on_the_held_out_side():
    problems = lines("arith")
    assert len(problems) >= 300
    for p in problems:
        assert Problem(p["prompt"], p["completion"], p["answer"]).held_out


def test_tokenizer_keeps_text_and_splits_digits(tokenizer):
    text = "def f(x):\n\treturn 1234  # 你好，世界\n"
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert tokenizer.decode(ids) == text
    assert tokenizer.get_vocab_size() == data.VOCABULARY
    tokens = tokenizer.encode("1234", add_special_tokens=False).tokens
    assert tokens == ["1", "2", "3", "4"]
    assert [tokenizer.token_to_id(t) for t in data.SPECIAL] == [0, 1, 2, 3]


def test_packing_frames_every_document(tokenizer):
    tokens, starts = data.pack(tokenizer, ["ab", "1 + 2"])
    assert tokens[starts].tolist() == [data.BOS, data.BOS]
    assert tokens[starts[1] - 1] == data.EOS and tokens[-1] == data.EOS


def test_help_page_becomes_plain_paragraphs():
    page = (
        '<body><div id="DisplayArea" itemprop="x"><h1 id="a">标题</h1>\n<p>一 <b>二</b>&amp;三</p>'
        '</div><div id="SearchFrame"></div><p>页脚</p></body>'
    )
    assert help_text(page) == "标题\n一 二&三\n"
