"""Every command refuses bad input in one line with exit code 2, whatever the terminal can show, and writes nothing."""

import json
import os
import subprocess
import sys

import pytest

from workflow.cli import commands, main
from workflow.derive.__main__ import main as derive
from workflow.plan import ROOT

COMMANDS = sorted(commands())


@pytest.fixture(scope="module")
def built(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("build")
    assert derive(["--campaign", str(folder), "--out", str(out)]) == 0
    return out / "values.json"


def refused(capsys, *argv) -> str:
    """The one line of a refusal."""
    try:
        code = main([str(part) for part in argv])
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr()
    assert code == 2 and not shown.out and shown.err.startswith(f"soundings {argv[0]}: ") and shown.err.count("\n") == 1, (code, shown)
    return shown.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json_and_refuses_what_it_does_not_know(capsys, name):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert "--json" in capsys.readouterr().out
    refused(capsys, name, "--no-such-option")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("mutate", "--sample", "-5"), "'-5': expected a whole number >= 1"),
        (("mutate", "--sample", "0"), "'0': expected a whole number >= 1"),
        (("mutate", "--sample", "1_0"), "'1_0': expected a whole number >= 1"),
        (("mutate", "--campaign", "nowhere"), "no campaign.yaml in"),
        (("explain", "x", "--depth", "-1"), "'-1': expected a whole number >= 0"),
        (("explain", "x", "--cells", "many"), "'many': expected a whole number >= 0"),
        (("choose-gamma", "--content", "verse"), "invalid choice: 'verse'"),
        (("choose-gamma", "--histogram", "5;4", "--decode-ms", "nan", "--verify-ms", "4", "--draft-ms", "1"), "'nan': expected a number >= 0"),
        (("choose-gamma", "--histogram", "5;4", "--decode-ms", "0", "--verify-ms", "4", "--draft-ms", "1"), "the time of a plain step, > 0"),
        (("choose-gamma", "--histogram", "5;4", "--decode-ms", "4", "--verify-ms", "inf", "--draft-ms", "1"), "'inf': expected a number >= 0"),
        (("choose-gamma", "--histogram", "5;1_0", "--decode-ms", "4", "--verify-ms", "4", "--draft-ms", "1"), "'1_0': expected a number >= 0"),
        (("splice",), "the following arguments are required: FILE"),
    ],
)  # fmt: skip
def test_bad_options(capsys, argv, told):
    assert told in refused(capsys, *argv)


def test_files_that_cannot_be_spliced(capsys, tmp_path, built):
    latin = tmp_path / "latin.md"
    latin.write_bytes("γ = <!--n:noise.floor-->1<!--/n--> é".encode("utf-16"))
    good = tmp_path / "good.md"
    good.write_text("<!--n:noise.floor-->0<!--/n-->\n", "utf8")
    for file, told in ((latin, "not UTF-8"), (tmp_path, "Is a directory"), (tmp_path / "none.md", "No such file")):
        assert told in refused(capsys, "splice", good, file, "--values", built)
    assert good.read_text("utf8") == "<!--n:noise.floor-->0<!--/n-->\n"  # all of the files, or none


def test_splice_keeps_line_ends_and_tells_in_json(capsys, tmp_path, built):
    file = tmp_path / "page.md"
    file.write_bytes(b"a\r\n<!--n:noise.floor-->0<!--/n-->\r\n")
    assert main(["splice", str(file), "--values", str(built), "--check", "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told == {"file": str(file), "numbers": 1, "drifted": [2], "problems": []}
    assert main(["splice", str(file), "--values", str(built)]) == 0
    assert file.read_bytes().startswith(b"a\r\n<!--n:noise.floor-->") and file.read_bytes().endswith(b"%<!--/n-->\r\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[]", "the document: [] is not of type 'object'"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema": ' + b"1" * 5000 + b"}", "a value cannot be read"),
        (b'{"schema": 1, "campaign": "x", "facts": [], "claims": {}, "runs": {}}', "facts: [] is not of type 'object'"),
        (b'{"schema": 9, "campaign": "x", "facts": {}, "claims": {}, "runs": {}}', "schema: 1 was expected"),
        (None, "is a folder"),
    ],
)
@pytest.mark.parametrize("command", ["moved", "explain"])
def test_values_that_are_none(capsys, tmp_path, built, command, content, told):
    path = tmp_path / "values.json"
    path.mkdir() if content is None else path.write_bytes(content)
    argv = ("moved", built, path) if command == "moved" else ("explain", "noise.floor", "--values", path)
    assert told in refused(capsys, *argv)


def test_a_result_that_cannot_be_written(capsys, tmp_path, folder):
    (tmp_path / "taken").write_text("")
    assert "cannot be written" in refused(capsys, "mutate", "--campaign", folder, "--sample", "1", "--out", tmp_path / "taken" / "m.json")


def shell(*argv, **environment) -> list[str]:
    return [sys.executable, "-m", "workflow.cli", *map(str, argv)], {**os.environ, "PYTHONPATH": str(ROOT), **environment}


def test_a_terminal_without_greek(folder):
    command, environment = shell("choose-gamma", "--campaign", folder, PYTHONIOENCODING="ascii")
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0 and not done.stderr and b"chosen" in done.stdout


def test_a_reader_that_leaves(folder, built):
    command, environment = shell("explain", "division.worst_gap", "--campaign", folder, "--values", built, "--depth", "9", "--cells", "999")
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdout.close()
    err = running.stderr.read().decode()
    assert running.wait(timeout=120) == 2 and err.count("\n") == 1 and "closed before all of it was written" in err, err
