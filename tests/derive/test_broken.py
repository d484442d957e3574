"""Broken campaigns end in one line that names the place and what would be right; exit code 2, and nothing is written."""

import gzip
import json
import shutil

import pytest

from tests.derive.edit import manifest, rewrite, seal
from workflow.derive.__main__ import main


def cell(file, column, text, line=4):
    def change(folder):
        def put(rows):
            rows[line - 2][column] = text
            return rows

        rewrite(folder, file, put)

    return change


def embedded_without(file, column):
    """As the embedded engine writes it, but for one column."""

    def change(folder):
        for points in ("search.csv", "sweep_window.csv", "sweep_isl.csv", "sweep_concurrency.csv"):
            rewrite(folder, points, lambda rows: [row | {"backend": "embedded"} for row in rows])
        rewrite(folder, file, lambda rows: rows, without=(column,))

    return change


def in_manifest(csv_name, /, **changed):
    def change(folder):
        path = manifest(folder / csv_name)
        path.write_text(json.dumps(json.loads(path.read_text("utf8")) | changed), "utf8")

    return change


def definition(text):
    return lambda folder: (folder / "campaign.yaml").write_text(text, "utf8")


def replaced(name, content=None):
    """A file's place taken by a folder, or by other bytes."""

    def change(folder):
        (folder / name).unlink()
        (folder / name).mkdir() if content is None else (folder / name).write_bytes(content)

    return change


def marked(folder):
    path = folder / "noise.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    seal(path, len(path.read_text("utf8").splitlines()) - 1)


def beside(folder):
    (folder / "noise.csv.gz").write_bytes(gzip.compress((folder / "noise.csv").read_bytes()))


WINDOW, REQUESTS = "sweep_window.csv", "requests_window.csv"
BROKEN = {
    "points column": (embedded_without(WINDOW, "steps"), "sweep_window.csv: line 1: column 'steps' is missing; files of the embedded engine have it"),
    "request column": (embedded_without(REQUESTS, "e2e_ms"), "requests_window.csv: line 1: column 'e2e_ms' is missing"),
    "step column": (embedded_without("steps_window.csv", "step_ms"), "steps_window.csv: line 1: column 'step_ms' is missing"),
    **{
        f"{column} {text!r}": (cell(WINDOW, column, text), f"sweep_window.csv: line 4, column {column}: {text!r} is not {kind} >= 0 or nothing")
        for column, kind in (("steps", "an integer"), ("step_ms", "a finite number"))
        for text in ("1_0", "１０", "٣", " 5", "5 ", "+5", "0x10", "nan", "NaN", "inf", "1e999", "1,5", "∞", "-1", "five")
    },
    "integer with a point": (cell(WINDOW, "steps", "1.0"), "line 4, column steps: '1.0' is not an integer"),
    "list in other digits": (cell(REQUESTS, "accepted_histogram", "1;٣"), "line 4, column accepted_histogram: '1;٣' is not text like"),
    "list with a line end": (cell(REQUESTS, "accepted_histogram", "1;3\n"), "column accepted_histogram: '1;3\\n' is not text like"),
    "NUL": (cell(WINDOW, "note", "a\0b"), "sweep_window.csv: line 4: a NUL character; expected text"),
    "byte order mark": (marked, "noise.csv: line 1: unknown column '\\ufeffcampaign'; did you mean 'campaign'?"),
    "rows of another campaign": (cell(WINDOW, "campaign", "elsewhere"), "sweep_window.csv: line 4, column campaign: 'elsewhere'; expected 'synthetic'"),
    "manifest of another campaign": (in_manifest(WINDOW, campaign="elsewhere"), "sweep_window.manifest.json: campaign: 'elsewhere'; expected 'synthetic'"),
    "manifest of another file": (in_manifest(WINDOW, file="sweep_isl.csv"), "file: 'sweep_isl.csv', but it stands beside sweep_window.csv"),
    "manifest of another kind": (in_manifest(WINDOW, kind="steps"), "kind: 'steps', but it stands beside sweep_window.csv; expected 'points'"),
    "manifest without a time": (in_manifest(WINDOW, end="yesterday"), "end: 'yesterday' does not match"),
    "manifest with NaN": (in_manifest(WINDOW, threads=float("nan")), "threads: nan is not of type 'integer'"),
    "manifest that is a list": (replaced("sweep_window.manifest.json", b"[]"), "the document: [] is not of type 'object'"),
    "manifest key twice": (replaced("sweep_window.manifest.json", b'{"schema": 1, "schema": 1}'), "key 'schema' stands twice; keep one"),
    "no manifest": (lambda folder: manifest(folder / WINDOW).unlink(), "sweep_window.manifest.json: no such file; every measured CSV has its manifest"),
    "definition key twice": (definition("name: synthetic\nbackend: external\nname: other\n"), "campaign.yaml: line 3: not valid YAML: key 'name' stands on line 1"),
    "definition that is a list": (definition("- a\n"), "campaign.yaml: the document: ['a'] is not of type 'object'"),
    "definition that is empty": (definition(""), "campaign.yaml: the document: None is not of type 'object'"),
    "definition with code": (definition("name: !!python/object:os.system x\n"), "campaign.yaml: line 1: not valid YAML: could not determine a constructor"),
    "title in one language": (definition("name: synthetic\nbackend: external\ntitle: {en: A}\n"), "title: 'zh' is a required property; expected: the display name in both"),
    "another name": (definition("name: other\nbackend: external\n"), "campaign: 'synthetic'; expected 'other', or in campaign.yaml `measured_as:`"),
    "folder for a CSV": (replaced("noise.csv"), "noise.csv: is a folder; expected a CSV file"),
    "folder for a manifest": (replaced("noise.manifest.json"), "noise.manifest.json: is a folder; expected a JSON file"),
    "folder for the definition": (replaced("campaign.yaml"), "campaign.yaml: is a folder; expected a YAML file"),
    "packed and unpacked": (beside, "noise.csv.gz: noise.csv stands beside it; keep one of the two"),
    "another kind of file": (lambda folder: (folder / "results.csv").write_text("a\n1\n"), "results.csv: no schema for a file of this name"),
}  # fmt: skip


def derived(folder, out, capsys) -> tuple[int, str]:
    code = main(["--campaign", str(folder), "--out", str(out)])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_campaign_is_one_line(scratch, tmp_path, capsys, name):
    change, told = BROKEN[name]
    change(scratch)
    code, err = derived(scratch, tmp_path / "out", capsys)
    assert code == 2 and err.startswith("derive: ") and err.count("\n") == 1 and told in err, err
    assert not (tmp_path / "out").exists()


def test_the_embedded_engine_s_own_columns_pass(scratch, tmp_path, capsys):
    embedded_without(WINDOW, "p99_itl_ms")(scratch)
    assert derived(scratch, tmp_path / "out", capsys) == (0, "")


def test_a_folder_below_campaigns_has_the_campaign_s_name(scratch, tmp_path, capsys):
    (tmp_path / "campaigns").mkdir()
    folder = shutil.copytree(scratch, tmp_path / "campaigns" / "elsewhere")
    code, err = derived(folder, tmp_path / "out", capsys)
    assert code == 2 and "name: 'synthetic', but the folder is 'elsewhere'; a campaign's folder has its name" in err


def test_an_archived_campaign_says_under_which_name_it_was_measured(scratch, tmp_path, capsys):
    definition("name: shelf\nbackend: external\nmeasured_as: synthetic\n")(scratch)
    code, err = derived(scratch, tmp_path / "out", capsys)
    assert code == 0 and not err and json.loads((tmp_path / "out/values.json").read_text("utf8"))["campaign"] == "shelf"


def test_a_live_campaign_is_measured_under_its_own_name(scratch, tmp_path, capsys):
    live = "name: shelf\nbackend: embedded\nmeasured_as: synthetic\nmeasure: {preset: quick, threads: 1, seed: 1, stages: {window: null}}\n"
    definition(live)(scratch)
    code, err = derived(scratch, tmp_path / "out", capsys)
    assert code == 2 and "measured_as: 'synthetic', but a live campaign is measured as 'shelf'" in err


def test_a_place_that_cannot_be_written(scratch, tmp_path, capsys):
    (tmp_path / "taken").write_text("a file\n")
    (tmp_path / "out" / "claims.json").mkdir(parents=True)
    for out, told in (("taken", "taken: cannot be written"), ("taken/deep", "cannot be written: Not a directory"), ("out", "claims.json: is a folder")):
        code, err = derived(scratch, tmp_path / out, capsys)
        assert code == 2 and told in err and err.count("\n") == 1, err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["claims.json"]


def test_the_old_files_stay_when_the_new_ones_cannot_be_made(scratch, tmp_path, capsys):
    assert derived(scratch, tmp_path / "out", capsys)[0] == 0
    before = (tmp_path / "out/values.json").read_bytes()
    cell(WINDOW, "steps", "1_0")(scratch)
    assert derived(scratch, tmp_path / "out", capsys)[0] == 2
    assert (tmp_path / "out/values.json").read_bytes() == before
