"""The command line: text, JSON lines, and one line for every kind of bad input."""

from __future__ import annotations

import json

import pytest

from engine.config import WEIGHTS
from engine.generate import main
from engine.model.tokenizer import Tokenizer

from .conftest import boot, requests


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A random model over the shipped tokenizer's vocabulary."""
    from engine.config import DraftConfig, ModelConfig
    from engine.model.random_weights import write_random_weights

    if not (WEIGHTS / "tokenizer.json").is_file():
        pytest.skip("no tokenizer in engine/weights")
    config = ModelConfig(hidden_size=64, layer_types="KA", num_heads=2, head_dim=32, num_kv_heads=1, intermediate_size=96)
    folder = write_random_weights(tmp_path_factory.mktemp("words"), config, DraftConfig(target_layer_ids=(0, 1)))
    (folder / "tokenizer.json").symlink_to(WEIGHTS / "tokenizer.json")
    return folder


@pytest.fixture
def prompt_file(tmp_path):
    path = tmp_path / "prompts.txt"
    path.write_text("def add(a, b):\n    return\n---\n你好,世界\n", "utf8")
    return path


def run(*arguments):
    return main([str(a) for a in arguments])


def test_json_equals_the_engine(weights, prompt_file, capsys):
    assert run("--prompt-file", prompt_file, "--weights", weights, "--lane", "dspark", "--block-size", 2, "--max-tokens", 6, "--ignore-eos", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["prompt"] for row in rows] == ["def add(a, b):\n    return", "你好,世界"]
    tokenizer = Tokenizer.load(weights)
    with boot(weights) as engine:
        expected = engine.generate(requests([tokenizer.encode(row["prompt"]) for row in rows], max_tokens=6))
    assert [row["token_ids"] for row in rows] == [record.token_ids for record in expected]
    for row in rows:
        assert sum(row["accepted_histogram"]) == row["rounds"] and len(row["accepted_histogram"]) == 3
        assert row["text"] == tokenizer.decode(row["token_ids"])


def test_text_is_separated_as_the_prompts_are(weights, prompt_file, capsys):
    assert run("--prompt-file", prompt_file, "--weights", weights, "--lane", "mtp", "--max-tokens", 3) == 0
    assert capsys.readouterr().out.count("\n---\n") == 1


@pytest.mark.parametrize(
    "change, line",
    [
        (["--lane", "eagle"], "--lane eagle: unknown lane"),
        (["--block-size", "9"], "--block-size 9: this drafter was trained for blocks of 1 to 7"),
        (["--weights", "/nowhere"], "model config not found"),
        (["--temperature", "-1"], "temperature -1.0 must be"),
        (["--max-tokens", "0"], "max_tokens 0 must be at least 1"),
        (["--temperature", "nan"], "temperature nan must be"),
        (["--min-p", "2"], "min_p 2.0 must be"),
        (["--seed", str(2**64)], f"seed {2**64} must fit into 64 bits"),
        (["--stop", ""], "stop must be a list of strings that are not empty"),
        (["--logprobs", "-1"], "logprobs -1 must be"),
        (["--accept-rule", "maybe"], "--accept-rule maybe: unknown rule"),
        (["--markov-head-type", "lstm"], "--markov-head-type lstm: unknown head"),
        (["--verify-mode", "compact", "--sps-table", "/nowhere/t.json"], "--sps-table /nowhere/t.json: No such file"),
        (["--lane", "lookup", "--block-size", "16"], "--block-size 16: lane lookup proposes 1 to 15"),
        (["--prompt-file", "/nowhere/p.txt"], "--prompt-file /nowhere/p.txt: No such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(weights, prompt_file, capsys, change, line):
    assert run("--prompt-file", prompt_file, "--weights", weights, *change) == 2
    out, err = capsys.readouterr()
    assert out == "" and line in err and err.count("\n") == 1


def test_prompt_files_that_hold_no_prompt(weights, tmp_path, capsys):
    path = tmp_path / "p.txt"
    for content, line in ((b"a\n---\n\n", "prompt 2 is empty"), (b"", "prompt 1 is empty"), (b"\xff\xfe", "not UTF-8 at byte 0")):
        path.write_bytes(content)
        assert run("--prompt-file", path, "--weights", weights) == 2
        assert line in capsys.readouterr().err


def test_tables_that_are_none(weights, prompt_file, tmp_path, capsys):
    path = tmp_path / "t.json"
    for content in ("[1, 2]", "{", '[[4, 1.0], [2, 1.0]]', '[["a", 1]]'):
        path.write_text(content)
        assert run("--prompt-file", prompt_file, "--weights", weights, "--verify-mode", "compact", "--sps-table", path) == 2
        err = capsys.readouterr().err
        assert "--sps-table" in err and err.count("\n") == 1


def test_a_file_that_is_no_tokenizer(weights, prompt_file, tmp_path, capsys):
    for path in weights.iterdir():
        if path.name != "tokenizer.json":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert run("--prompt-file", prompt_file, "--weights", tmp_path) == 2
    err = capsys.readouterr().err
    assert "tokenizer.json: not a tokenizer" in err and err.count("\n") == 1


def test_text_ends_before_its_stop_string(weights, prompt_file, capsys):
    arguments = ("--prompt-file", prompt_file, "--weights", weights, "--lane", "lookup", "--max-tokens", 12, "--ignore-eos", "--json")
    assert run(*arguments, "--logprobs", 2) == 0
    plain = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(len(row["logprobs"]) == len(row["top_logprobs"]) == row["osl"] == 12 for row in plain)
    stop = plain[0]["text"][5:7]
    assert run(*arguments, "--stop", stop) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert row["text"] == plain[0]["text"][: plain[0]["text"].index(stop)]
    assert (row["matched_stop"], row["finish_reason"]) == (stop, "stop") and "logprobs" not in row


def test_what_a_reader_must_know_goes_to_stderr(weights, prompt_file, capsys):
    assert run("--prompt-file", prompt_file, "--weights", weights, "--lane", "mtp", "--draft-prompt-kv", "off", "--max-tokens", 3) == 0
    assert "engine.generate: note: the head's own keys and values leave out the prompt" in capsys.readouterr().err
