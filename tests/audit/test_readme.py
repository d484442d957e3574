"""The README's worked example is run as it stands there."""

import re
import textwrap

from workflow.cli import main
from workflow.plan import ROOT


def blocks(language: str, text: str) -> list[str]:
    return [textwrap.dedent(block) for block in re.findall(rf"^ *```{language}\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE)]


def test_the_worked_example_gives_what_the_readme_says(tmp_path, capsys):
    text = (ROOT / "README.md").read_text("utf8")
    section = text[text.index("### Read somebody else's numbers") :].split("\n## ")[0]
    measurements, claims = blocks("csv", section)
    (tmp_path / "measurements.csv").write_text(measurements, "utf8")
    (tmp_path / "claims.csv").write_text(claims, "utf8")
    assert main(["audit", str(tmp_path)]) == 1
    assert capsys.readouterr().out.strip() == blocks("text", section)[0].strip()
    command = re.search(r"`soundings (ledger --[^`]*)`", section)[1].split()
    assert main([*command]) == 0 and "pays" in capsys.readouterr().out
