"""Put a site on a branch that a Pages host serves; the branch's history keeps every earlier publication and its values.json."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from workflow.publish.bundle import PublishError, site_content

AUTHOR = ("-c", "user.name=Soundings", "-c", "user.email=soundings@localhost")


def push_site(site: Path, remote: str, branch: str, message: str) -> bool:
    """Commit the site's files on top of `branch` of `remote` and push. False when the branch has them already.

    The branch holds the site and nothing else. Never forced: when somebody pushed in between, git refuses and PublishError says so.
    """
    if remote.startswith("-") or branch.startswith("-"):
        raise PublishError(f"remote {remote!r}, branch {branch!r}: neither may start with a dash")
    files, remote = site_content(site), local(remote)
    with tempfile.TemporaryDirectory(prefix="soundings-pages-") as folder:
        work = Path(folder)
        git(work, "init", "-q", "-b", branch)
        if git(work, "ls-remote", "--heads", remote, f"refs/heads/{branch}").strip():
            git(work, "fetch", "-q", "--depth", "1", remote, f"refs/heads/{branch}")
            git(work, "reset", "-q", "--soft", "FETCH_HEAD")
        for name, content in files.items():
            target = work / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        (work / ".nojekyll").write_bytes(b"")  # or Pages would drop names that start with an underscore
        git(work, "add", "-A", "--force")
        if not git(work, "status", "--porcelain").strip():
            return False
        git(work, *AUTHOR, "commit", "-q", "-m", message)
        git(work, "push", "-q", remote, f"HEAD:refs/heads/{branch}")
    return True


def local(remote: str) -> str:
    """What stands for a remote where git runs, which is another folder: of a folder its whole path, of a remote's name (`origin`) its address."""
    if Path(remote).is_dir():
        return str(Path(remote).resolve())
    try:
        address = git(Path.cwd(), "config", "--get", f"remote.{remote}.url").strip()
    except PublishError:
        return remote  # no name; whether it is an address says the command that uses it
    return local(address) if address != remote else remote


def published_values(remote: str, branch: str, path: str = "values.json") -> bytes | None:
    """values.json of the last publication, or None when the branch or the file does not exist."""
    with tempfile.TemporaryDirectory(prefix="soundings-pages-") as folder:
        work = Path(folder)
        git(work, "init", "-q")
        remote = local(remote)
        if not git(work, "ls-remote", "--heads", remote, f"refs/heads/{branch}").strip():
            return None
        git(work, "fetch", "-q", "--depth", "1", remote, f"refs/heads/{branch}")
        if not git(work, "ls-tree", "FETCH_HEAD", path).strip():
            return None
        return git(work, "show", f"FETCH_HEAD:{path}").encode()


def git(folder: Path, *arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, encoding="utf8", stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise PublishError("git: not found; install it to push a site") from None
    if run.returncode:
        said = run.stderr.strip().splitlines()
        command = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        # the line with the fault; hints follow it
        fault = next((line.strip() for line in said if line.lstrip().startswith(("fatal:", "error:", "!"))), said[-1] if said else f"exit code {run.returncode}")
        raise PublishError(f"git {command}: {fault}")
    return run.stdout
