"""The archive depends on the site's files alone; a push to a bare repository keeps the history and refuses what git refuses."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile

import pytest

from workflow.publish.__main__ import main
from workflow.publish.bundle import PublishError, archive, crate, site_content, write_bundle
from workflow.publish.pages import published_values, push_site


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    for name, text in {"index.html": "<p>one", "zh/index.html": "<p>一", "values.json": '{"facts": {}}', "assets/_page.css": "p{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf8")
    return folder


@pytest.fixture
def remote(tmp_path):
    folder = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    return folder


def log(remote, branch="gh-pages"):
    return subprocess.run(["git", "-C", str(remote), "log", "--format=%s", branch], capture_output=True, text=True).stdout.split("\n")[:-1]


def test_the_archive_forgets_times_and_order(site, tmp_path):
    first = archive(site_content(site))
    for path in site.rglob("*"):
        os.utime(path, (1, 1))
    os.chmod(site / "index.html", 0o600)
    (site / ".page-half").write_text("left by a build that died", "utf8")
    assert archive(dict(reversed(site_content(site).items()))) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as tar:
        assert tar.getnames() == ["site/assets/_page.css", "site/index.html", "site/values.json", "site/zh/index.html"]


def test_sha256sum_accepts_what_was_packed(site, tmp_path):
    write_bundle(site, tmp_path / "dist", "A title", "MIT")
    subprocess.run(["tar", "-xzf", "soundings-site.tar.gz"], cwd=tmp_path / "dist", check=True)
    subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=tmp_path / "dist", check=True, capture_output=True)
    (tmp_path / "dist/site/index.html").write_text("other", "utf8")
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "dist", capture_output=True).returncode == 1


def test_the_crate_names_every_file(site):
    graph = json.loads(crate(site_content(site), "A title", "MIT"))["@graph"]
    parts = {item["@id"] for item in graph if item["@type"] == "File"}
    assert parts == set(site_content(site))
    (root,) = (item for item in graph if item["@id"] == "./")
    assert {part["@id"] for part in root["hasPart"]} == parts


def test_a_push_keeps_history_and_drops_what_is_gone(site, remote):
    assert published_values(str(remote), "gh-pages") is None
    assert push_site(site, str(remote), "gh-pages", "first")
    assert not push_site(site, str(remote), "gh-pages", "again")
    (site / "zh/index.html").unlink()
    (site / "values.json").write_text('{"facts": {"a": 1}}', "utf8")
    assert push_site(site, str(remote), "gh-pages", "second")
    assert log(remote) == ["second", "first"]
    names = subprocess.run(["git", "-C", str(remote), "ls-tree", "-r", "--name-only", "gh-pages"], capture_output=True, text=True).stdout.split()
    assert names == [".nojekyll", "assets/_page.css", "index.html", "values.json"]
    assert json.loads(published_values(str(remote), "gh-pages")) == {"facts": {"a": 1}}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [(["--remote", "/nowhere/at/all"], "/nowhere/at/all"), (["--remote=--upload-pack=touch x"], "--upload-pack=touch x"), (["--site", "empty"], "empty")],
)
def test_what_cannot_be_published_is_one_line(site, tmp_path, monkeypatch, capsys, arguments, names):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("publish: ") and "\n" not in said and names in said


def test_a_folder_as_the_shell_names_it_is_a_remote(site, remote, monkeypatch):
    monkeypatch.chdir(remote.parent)
    assert push_site(site, remote.name, "gh-pages", "first") and published_values(f"./{remote.name}", "gh-pages")
    (home := remote.parent / "home").mkdir()
    for words in (["init", "-q"], ["remote", "add", "origin", f"../{remote.name}"]):
        subprocess.run(["git", *words], cwd=home, check=True)
    monkeypatch.chdir(home)
    assert published_values("origin", "gh-pages") and not push_site(site, "origin", "gh-pages", "again")


def test_a_folder_without_a_page_is_no_site(tmp_path):
    with pytest.raises(PublishError, match="snakemake"):
        site_content(tmp_path)
