"""`soundings splice`: numbers of a README."""

import pytest

from tests.page.campaign import Workspace
from workflow.cli import main

README = """# A readme of 2026

<!--splice:begin-->
The gain is <!--n:w.speedup-->9.99×<!--/n--> over <!--word:w.boots-->nine<!--/word--> boots, `--flag 3`.
<!--splice:end-->

<!--splice:begin zh-->
收益为 <!--n:w.speedup-->?<!--/n-->，间隔 <!--n:w.plain.tpot_ms:bare-->?<!--/n--> ms。
<!--splice:end-->
"""


@pytest.fixture
def readme(tmp_path):
    Workspace(tmp_path).values()
    path = tmp_path / "README.md"
    path.write_text(README, "utf8")
    return path


def run(readme, *more):
    return main(["splice", str(readme), "--values", str(readme.parent / "build/local/values.json"), *more])


def test_numbers_are_filled_in_the_language_of_their_region(readme):
    assert run(readme) == 0
    text = readme.read_text("utf8")
    assert "<!--n:w.speedup-->1.68×<!--/n--> over <!--word:w.boots-->two<!--/word--> boots" in text
    assert "<!--n:w.speedup-->1.68\u00a0倍<!--/n-->，间隔 <!--n:w.plain.tpot_ms:bare-->20.0<!--/n--> ms" in text
    assert run(readme, "--check") == 0
    assert run(readme) == 0 and readme.read_text("utf8") == text


def test_check_finds_drift_and_writes_nothing(readme, capsys):
    assert run(readme, "--check") == 1
    assert readme.read_text("utf8") == README
    assert "README.md:4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("boots, `--flag 3`", "boots, 3 times", "README.md:4: “3” in a guarded region"),
        ("n:w.speedup-->9", "n:w.speed-->9", "no fact 'w.speed'"),
        ("n:w.speedup-->9", "n:w.unmeasured-->9", "w.unmeasured is missing"),
        ("9.99×<!--/n-->", "9.99×", "does not close"),
        ("<!--splice:end-->\n\n<!--splice:begin zh-->", "<!--splice:begin zh-->", "zh--> does not close"),
    ],
)
def test_what_cannot_be_spliced_is_said_and_nothing_is_written(readme, capsys, old, new, says):
    readme.write_text(README.replace(old, new, 1), "utf8")
    before = readme.read_text("utf8")
    assert run(readme) == 1
    assert says in capsys.readouterr().err
    assert readme.read_text("utf8") == before


def test_bad_input_is_one_line(readme, capsys):
    assert main(["splice", "nowhere.md", "--values", str(readme.parent / "build/local/values.json")]) == 2
    assert main(["splice", str(readme), "--values", "nowhere.json"]) == 2
    assert "nowhere.json: no such file" in capsys.readouterr().err
