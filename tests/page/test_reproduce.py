"""The commands that a report prints for checking it, run as printed on an archived campaign."""

import json
import re
import subprocess

import pytest

from workflow.cli import main
from workflow.derive.__main__ import main as derive
from workflow.page.content import Content
from workflow.plan import ROOT

NAME = "xeon-2core"


def printed(language: str) -> list[str]:
    source = next(section for section in Content.load().sections[language] if section.slug == "reproduce").source
    block = re.search(r"\{#check-commands\}\n```\n(.*?)```", source, re.DOTALL)[1]
    return block.replace('{{ label("run.campaign") }}', NAME).splitlines()


@pytest.mark.slow
def test_a_report_prints_commands_that_check_its_own_campaign(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert printed("en") == printed("zh")
    derivation, explanation, checksums = printed("en")

    *asked, out, built = derivation.removeprefix("python -m workflow.derive ").split()
    assert (out, built) == ("--out", f"workflow/build/{NAME}")
    assert derive([*asked, out, str(tmp_path)]) == 0

    capsys.readouterr()
    assert main([*explanation.removeprefix("soundings ").split(), "--values", str(tmp_path / "values.json")]) == 0
    assert "run.cells" in capsys.readouterr().out

    lines = [line.split() for line in subprocess.check_output(["bash", "-c", checksums], text=True).splitlines()]
    told = {words[-1]: words[0] for words in lines}
    folder = ROOT / "workflow/campaigns" / NAME
    manifests = [json.loads(path.read_text()) for path in folder.glob("*.manifest.json")]
    stated = {sha for manifest in manifests for sha in re.findall(r'"sha256": "([0-9a-f]{64})"', json.dumps(manifest))}
    assert told and set(told) == {f"workflow/campaigns/{NAME}/{path.name}" for path in folder.glob("*.csv*")}
    assert set(told.values()) <= stated
