"""Campaign files, configurations and rows that somebody else wrote: refused in one line, or harmless. No shell sees what they say.

How hostile text reads on a page is tested in tests/page/test_partial.py.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data.partial import SMALL
from tests.data.synthetic import write_campaign
from workflow.cli import BadInput, moved
from workflow.cli.archive import check_name
from workflow.derive import schema
from workflow.derive.schema import SchemaError, check_document
from workflow.page.previous import find
from workflow.plan import ROOT, STAGES, PlanError, check_config, read_config
from workflow.publish.bundle import PublishError
from workflow.publish.pages import push_site
from workflow.yaml_file import YamlError, parse_yaml

CAMPAIGN = "name: shelf\nbackend: external\n"
LIVE = CAMPAIGN + "measure: {{preset: quick, threads: 1, seed: {seed}, temperature: {temperature}, engine: {engine}, stages: {{gate: null}}}}\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi")
)
FORMULAS = ("=1+1", '=HYPERLINK("https://x.example","y")', "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "\t=1+1", "\r=1+1")


def live(seed: str = "0", temperature: str = "0", engine: str = "{}") -> str:
    return LIVE.format(seed=seed, temperature=temperature, engine=engine)


@pytest.mark.parametrize(
    "text",
    [
        CAMPAIGN.replace("shelf", "!!python/object/apply:os.system [id]"),
        CAMPAIGN + "hardware: !!python/name:os.system\n",
        CAMPAIGN + "hardware: !!binary aGVsbG8=\n",
        *(CAMPAIGN.replace("shelf", f"'{name}'") for name in ("../up", "/etc", "a/b", "a;id", "$(id)", "a b", "-n", "a`id`", "{x}", "ü", "A", "", "x" * 100)),
        CAMPAIGN.replace("shelf", '"shelf\\n"'),
        CAMPAIGN + "hardware: 2026-99-99\n",
        CAMPAIGN + f"hardware: {'9' * 6000}\n",
        CAMPAIGN + f"hardware: {'[' * 100_000}\n",
        CAMPAIGN + f"hardware: {'x' * 3000}\n",
        CAMPAIGN + f"hardware: {'x' * 2_000_000}\n",
        CAMPAIGN + f"title: {{en: {'x' * 300}, zh: x}}\n",
        CAMPAIGN + 'title: {en: "up\\u202eside", zh: x}\n',
        CAMPAIGN + 'title: {en: "two\\nlines", zh: x}\n',
        BOMB + CAMPAIGN + "hardware: *i\n",
        "a: &a [*a]\n" + CAMPAIGN,
        live(temperature=".inf"),
        live(temperature=".nan"),
        live(temperature="1e300"),
        live(seed="1" + "0" * 40),
        live(seed="-1"),
        *(live(engine=f"{{weights: {folder}}}") for folder in ("/etc", "../..", "a/../../b", "~/x", '"x\\0y"', '""', '"x\\n"')),
        live(engine="{max_total_num_tokens: 99999999999999999999}"),
    ],
    ids=lambda text: text[:60].encode("unicode_escape").decode()[-40:],
)
def test_a_hostile_campaign_file_is_refused_in_one_short_line(text):
    start = time.perf_counter()
    with pytest.raises((YamlError, SchemaError)) as error:
        check_document(Path("campaign.yaml"), parse_yaml(text, "campaign.yaml"), "campaign")
    said = str(error.value)
    assert said.startswith("campaign.yaml: ") and "\n" not in said and len(said) < 600
    assert time.perf_counter() - start < 20  # a bomb would take for ever


def test_what_is_refused_above_differs_from_what_is_fine():
    for text in (CAMPAIGN, live(), live(engine="{weights: models/ab..c}"), CAMPAIGN + "title: {en: 'A {{ 7*7 }} <b>', zh: '三 & 四'}\n"):
        check_document(Path("campaign.yaml"), parse_yaml(text, "campaign.yaml"), "campaign")


@pytest.mark.parametrize(
    "change",
    [
        *({"campaigns": [name], "lead": name} for name in ("../up", "a;id", "$(id)", "a b", "local\n", "-x", "{x}", "*")),
        {"preset": "quick; id"},
        {"preset": "quick\n"},
        {"previous": "--output=/tmp/x:y"},
        *({"publish_remote": remote} for remote in ("--upload-pack=id", "ext::sh -c id", "x\ny")),
        *({"publish_branch": branch} for branch in ("-d", "a b", "main\n", "$(id)", "")),
        *({"site_url": url} for url in ("javascript:alert(1)", "https://x.example/\n", 'https://x.example/"onload=', "https://x.example/<b>")),
    ],
    ids=str,
)
def test_a_hostile_configuration_is_refused(change):
    config = read_config(ROOT / "workflow/config.yaml")
    with pytest.raises(PlanError) as error:
        check_config(Path("config.yaml"), config | change)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["x\n", "a/b", "$(id)", "..", "a;b"])
def test_a_name_on_the_command_line(name):
    with pytest.raises(BadInput):
        check_name(name)


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("rows") / "local", plan=SMALL) / "sweep_isl.csv"


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("column", ["note", "label"])
def test_a_formula_in_a_cell_is_refused(rows, tmp_path, column, text):
    with open(rows, newline="") as handle:
        table = list(csv.DictReader(handle))
    table[1][column] = text
    file = tmp_path / "sweep_isl.csv"
    with open(file, "w", newline="") as handle:
        writer = csv.DictWriter(handle, table[0])
        writer.writeheader()
        writer.writerows(table)
    with pytest.raises(SchemaError, match=rf"column {column}: ") as error:
        schema.validate_csv(file)
    assert "\n" not in str(error.value)


def test_a_huge_cell_is_refused_in_one_line(rows, tmp_path):
    file = tmp_path / "sweep_isl.csv"
    head, first, *_ = rows.read_text("utf8").splitlines()
    file.write_text(f"{head}\n{first},{'9' * 300_000}\n", "utf8")
    with pytest.raises(SchemaError) as error:
        schema.validate_csv(file)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


def test_git_takes_no_name_for_an_option(tmp_path):
    target = tmp_path / "written"
    assert find("local", f"--output={target}:x", tmp_path / "none", tmp_path, ROOT) is None
    with pytest.raises(BadInput):
        moved.read(f"--output={target}:x")
    assert not target.exists() and not list(tmp_path.glob("written*"))


def test_git_runs_no_command_of_a_remote(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("x")
    with pytest.raises(PublishError):
        push_site(tmp_path / "site", f"ext::touch {tmp_path / 'written'}", "gh-pages", "x")
    assert not (tmp_path / "written").exists()


# What a rule may paste into a shell command without quoting: names that the rule itself or the schemas restrict to letters, digits and dashes.
PLAIN = {"rule", "wildcards.campaign", "wildcards.part", "wildcards.of", "config[preset]"}


def shells() -> list[tuple[str, str]]:
    """Shell command of each rule: the string literals after `shell:`."""
    found: list[tuple[str, str]] = []
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        text = file.read_text("utf8")
        for name, value in re.findall(r'^([A-Z_]+) = (".*")$', (ROOT / "workflow/rules/common.smk").read_text("utf8"), re.MULTILINE):
            text = re.sub(rf"(shell:\s+){name}$", lambda found, value=value: found[1] + value, text, flags=re.MULTILINE)
        for block in re.findall(r'shell:\n((?:\s+"[^\n]*"\n)+)', text):
            found.append((file.name, "".join(re.findall(r'"([^"\n]*)"', block))))
    return found


def test_every_value_in_a_shell_command_is_quoted_or_restricted():
    commands = shells()
    assert len(commands) == sum(len(re.findall(r"\bshell:", file.read_text("utf8"))) for file in (ROOT / "workflow/rules").glob("*.smk")) >= 7
    for file, command in commands:
        for value in re.findall(r"\{([^{}]+)\}", command):
            assert value.endswith(":q") or value in PLAIN, f"{file}: {{{value}}} is not quoted"
    safe = re.compile(r"[a-z0-9_-]+").fullmatch
    assert all(safe(stage.rule) and safe(stage.name) for stage in STAGES)
    assert all(safe(preset) for preset in schema.schema("config")["properties"]["preset"]["enum"])
    assert 'campaign="[a-z0-9][a-z0-9-]*"' in (ROOT / "Snakefile").read_text("utf8")


def test_no_program_of_ours_starts_a_shell():
    found = []
    for package in ("engine", "kernels", "workflow"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text("utf8")
            if re.search(r"shell\s*=\s*True|os\.system\(|os\.popen\(|subprocess\.getoutput|yaml\.(unsafe_load|full_load|Loader)\b|pickle\.loads?\(", text):
                found.append(str(file.relative_to(ROOT)))
    assert found == []


def test_the_command_line_refuses_too():
    """Snakemake itself, with a name that would leave the campaigns' folder."""
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "-n", "--cores", "1", "site", "--config", 'campaigns=["../up"]', "lead=../up"],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert run.returncode != 0 and "does not match" in run.stdout + run.stderr
