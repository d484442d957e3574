"""The command: text, JSON, exit codes, bad input in one line."""

import json

import pytest

from workflow.cli import main

ROWS = [{"id": "a", "stage": "s", "x": "10"}, {"id": "b", "stage": "s", "x": "20"}]


def claim(published, formula, kind="ratio", name="c"):
    return {"id": name, "published": published, "unit": "x", "kind": kind, "formula": formula}


def run(capsys, *argv):
    code = main(["audit", *map(str, argv)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_json_and_exit_codes(write, capsys):
    folder = write([claim("0.5", "v('a','x')/v('b','x')"), claim("3.0", "v('b','x')/v('a','x')", name="d")], ROWS)
    code, out, _ = run(capsys, folder, "--json")
    rows = json.loads(out)["claims"]
    assert code == 1 and [row["id"] for row in rows] == ["c", "d"]
    assert all({"id", "verdict", "low", "high", "published", "why"} <= set(row) for row in rows)
    assert rows[0]["verdict"] == "consistent" and rows[0]["low"] < 0.5 < rows[0]["high"] and "10 / 20" in rows[0]["why"]
    assert run(capsys, write([claim("0.5", "v('a','x')/v('b','x')")], ROWS))[0] == 0
    assert run(capsys, write([claim("1", "v('zzz','x')")], ROWS))[0] == 0


@pytest.mark.parametrize(
    "claims, rows, words",
    [
        ([claim("1", "v('a','x'")], ROWS, ("claims.csv", "line 2", "column formula")),
        ([claim("about 1", "v('a','x')")], ROWS, ("line 2", "column published", "about 1")),
        ([claim("1", "v('a','x')"), claim("1", "v('a','x')")], ROWS, ("line 3", "'c' stands on line 2")),
        ([claim("1", "claim('d')"), claim("1", "claim('c')", name="d")], ROWS, ("c -> d -> c",)),
        ([claim("sideways", "rows('s','x')", "monotone")], ROWS, ("line 2", "sideways", "falls")),
        ([claim("1", "rows('s','x')")], ROWS, ("line 2", "a list stands where a number is needed")),
        ([claim("1", "v('a','x')")], [{"id": "a", "x": "1o"}], ("measurements.csv", "line 2", "column x")),
        ([claim("1", "v('a','x')")], [{"id": "a", "x": "1"}, {"id": "a", "x": "2"}], ("line 3", "column id")),
        ([claim("1", "v('a','x')")], [{"name": "a"}], ("no CSV with a column id",)),
        ([], ROWS, ("claims.csv", "no claims")),
    ],
)
def test_bad_input_is_one_line(write, capsys, claims, rows, words):
    code, out, err = run(capsys, write(claims, rows))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert all(word in err for word in words), err


def test_a_folder_without_claims(tmp_path, capsys):
    code, _, err = run(capsys, tmp_path / "nowhere")
    assert code == 2 and "no such folder" in err
    code, _, err = run(capsys, tmp_path)
    assert code == 2 and "claims.csv" in err and err.count("\n") == 1


def test_a_claims_file_without_a_column(tmp_path, capsys):
    (tmp_path / "claims.csv").write_text("id,published\na,1\n", "utf8")
    code, _, err = run(capsys, tmp_path)
    assert code == 2 and "'unit' is missing" in err


def test_a_page_of_its_own(write, capsys, tmp_path):
    rows = [*ROWS, {"id": "<b>", "stage": "t", "x": "1"}]
    folder = write([claim("3.0", "v('b','x')/v('a','x')"), claim("1", "v('<b>','y')", name="<i>d</i>")], rows)
    page = tmp_path / "out.html"
    assert run(capsys, folder, "--html", page)[0] == 1
    text = page.read_text("utf8")
    assert '<td class="wrong">inconsistent</td>' in text and "<i>" not in text and "<b>" not in text
    code, _, err = run(capsys, folder, "--html", tmp_path / "nowhere" / "out.html")
    assert code == 2 and "--html" in err and err.count("\n") == 1
