"""The commands: what they print, and their exit codes."""

import json
import os
import subprocess
import sys

import pytest

from workflow.cli import commands, main
from workflow.derive.__main__ import main as derive
from workflow.plan import ROOT


@pytest.fixture(scope="module")
def built(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("build")
    assert derive(["--campaign", str(folder), "--out", str(out)]) == 0
    return out / "values.json"


def run(capsys, *argv) -> tuple[int, str, str]:
    code = main([str(part) for part in argv])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_every_command_is_listed_and_has_help(capsys):
    assert {"choose-gamma", "explain", "moved", "mutate"} <= set(commands())
    code, out, _ = run(capsys, "--help")
    assert code == 0 and all(name in out for name in commands())
    for name in commands():
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
    capsys.readouterr()


def test_unknown_command(capsys):
    code, _, err = run(capsys, "explian")
    assert code == 2 and "there are: " in err and err.count("\n") == 1


def test_explain_leads_down_to_the_cells(capsys, folder, built):
    code, out, _ = run(capsys, "explain", "window.code.g3.speedup", "--campaign", folder, "--values", built)
    assert code == 0
    flat = " ".join(out.split())
    assert "window.code.plain.tpot_ms" in flat and "requests_window.csv lines" in flat and "e2e_ms" in flat
    code, out, _ = run(capsys, "explain", "window.code.g3.speedup", "--campaign", folder, "--values", built, "--json")
    node = json.loads(out)
    cells = [source for parent in node["parents"] for source in parent["sources"]]
    assert all(source["cells"] for source in cells)
    text = (folder / "requests_window.csv").read_text("utf8")
    assert all(cell in text for source in cells for cell in source["cells"] if not cell.startswith("…"))


def test_explain_a_claim_and_a_missing_fact(capsys, folder, built):
    code, out, _ = run(capsys, "explain", "lanes.spec_wins_at_one", "--campaign", folder, "--values", built)
    assert code == 0 and "margin" in out and "noise.floor" in out
    code, out, _ = run(capsys, "explain", "dspark.round.7.token", "--campaign", folder, "--values", built)
    assert code == 0 and "missing" in out and "trace.csv has no row" in " ".join(out.split())


def test_explain_an_unknown_key(capsys, folder, built):
    code, _, err = run(capsys, "explain", "window.code.g3.speedups", "--campaign", folder, "--values", built)
    assert code == 2 and "near: window.code.g3.speedup" in err


def test_explain_without_values(capsys, folder, tmp_path):
    code, _, err = run(capsys, "explain", "noise.floor", "--campaign", folder, "--values", tmp_path / "values.json")
    assert code == 2 and "python -m workflow.derive" in err and err.count("\n") == 1


def test_moved(capsys, built, tmp_path):
    assert run(capsys, "moved", built, built)[0] == 0
    raw = json.loads(built.read_text("utf8"))
    raw["facts"]["window.decode_ms"]["value"] *= 3
    other = tmp_path / "values.json"
    other.write_text(json.dumps(raw), "utf8")
    code, out, _ = run(capsys, "moved", built, other)
    assert code == 1 and "window.decode_ms" in out and "+200.0 %" in out and "1 moved" in out
    code, out, _ = run(capsys, "moved", built, other, "--json")
    assert code == 1 and [move["key"] for move in json.loads(out)["moves"]] == ["window.decode_ms"]


def test_moved_with_bad_input(capsys, built, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{}", "utf8")
    assert run(capsys, "moved", built, broken)[0] == 2
    code, _, err = run(capsys, "moved", built, "no-such-ref:values.json")
    assert code == 2 and "expected REF:PATH" in err


def test_choose_gamma_of_a_campaign(capsys, folder):
    code, out, _ = run(capsys, "choose-gamma", "--campaign", folder, "--content", "code", "--json")
    result = json.loads(out)
    assert code == 0 and [row["gamma"] for row in result["rows"]] == [1, 2, 3, 4, 5, 6, 7] and result["regret_percent"] >= 0
    best = max(result["rows"], key=lambda row: row["foretold"])
    assert result["chosen"] == best["gamma"] and all(abs(row["foretold"] / row["measured"] - 1) < 0.25 for row in result["rows"])


def test_choose_gamma_from_costs(capsys):
    costs = ["--decode-ms", 4, "--verify-ms", "4.2,4.5,4.9", "--draft-ms", "1,1.1,1.2"]
    code, out, _ = run(capsys, "choose-gamma", "--histogram", "5;4;3;8", *costs, "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and rows[0]["foretold"] == pytest.approx((1 + 15 / 20) * 4 / 5.2)
    assert rows[2]["foretold"] == pytest.approx((1 + (15 + 11 + 8) / 20) * 4 / 6.1)


@pytest.mark.parametrize(
    "argv",
    [
        ["--histogram", "5;4;3;8", "--decode-ms", "4", "--verify-ms", "4.2", "--draft-ms", "1,1.1,1.2"],
        ["--histogram", "5;x", "--decode-ms", "4", "--verify-ms", "4.2", "--draft-ms", "1"],
        ["--histogram", "5;4"],
        ["--histogram", "0;0", "--decode-ms", "4", "--verify-ms", "4.2", "--draft-ms", "1"],
        ["--campaign", "nowhere"],
    ],
)
def test_choose_gamma_with_bad_input(capsys, argv):
    code, _, err = run(capsys, "choose-gamma", *argv)
    assert code == 2 and err.startswith("soundings choose-gamma: ") and err.count("\n") == 1


def test_mutate(capsys, folder, tmp_path):
    out = tmp_path / "mutation.json"
    code, text, _ = run(capsys, "mutate", "--campaign", folder, "--out", out, "--sample", 8)
    result = json.loads(out.read_text("utf8"))
    assert code == 0 and "8 of 8 keys" in text and result["proven"] == result["keys"] == 8 and not result["strays"]


def test_mutate_takes_its_keys_from_the_pages(capsys, folder, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text('<data value="1" data-key="noise.floor">1</data><text data-key="lanes.c4.ratio">2</text>', "utf8")
    code, text, _ = run(capsys, "mutate", "--campaign", folder, "--out", tmp_path / "m.json", "--site", site)
    assert code == 0 and "2 of 2 keys" in text


def test_derive_writes_both_files_or_neither(folder, scratch, tmp_path, capsys):
    out = tmp_path / "out"
    path = scratch / "sweep_isl.csv"
    path.write_text(path.read_text("utf8").replace(",dspark,", ",turbo,", 1), "utf8")
    assert derive(["--campaign", str(scratch), "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert "sweep_isl.csv: line" in err and err.count("\n") == 1 and not out.exists()


def test_derived_twice_is_byte_identical(folder, built, tmp_path):
    assert derive(["--campaign", str(folder), "--out", str(tmp_path)]) == 0
    for name in ("values.json", "claims.json"):
        assert (tmp_path / name).read_bytes() == built.with_name(name).read_bytes()


def test_derived_under_another_hash_seed_and_locale_is_byte_identical(folder, built, tmp_path):
    for name, environment in (("seed", {"PYTHONHASHSEED": "31"}), ("locale", {"LC_ALL": "C", "TZ": "Asia/Shanghai", "PYTHONHASHSEED": "7"})):
        command = [sys.executable, "-m", "workflow.derive", "--campaign", str(folder), "--out", str(tmp_path / name)]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, check=True, capture_output=True, timeout=120)
        for file in ("values.json", "claims.json"):
            assert (tmp_path / name / file).read_bytes() == built.with_name(file).read_bytes()


def test_list(capsys):
    assert derive(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("window.code.g3.speedup\tratio\t-\tmeasured\t") for line in lines)
    assert any(line.startswith("window.narrow_wins\tclaim\tdirection") for line in lines)
