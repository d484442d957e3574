"""Profiles for clusters: they know every measuring rule; Slurm for real on a node of its own, Kubernetes as a dry run."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.workflow import slurm
from tests.workflow.conftest import copy_repository
from workflow.plan import ROOT, STAGES
from workflow.yaml_file import read_yaml

STORE = importlib.util.find_spec("snakemake_storage_plugin_fs")
RULES = [stage.rule for stage in STAGES]


def profile(name: str) -> dict:
    return read_yaml(ROOT / f"workflow/profiles/{name}/config.yaml")


def plugin(name: str) -> bool:
    return importlib.util.find_spec(f"snakemake_executor_plugin_{name}") is not None


@pytest.mark.parametrize(("name", "keys"), [("slurm", ("set-threads", "set-resources")), ("kubernetes", ("set-resources",))])
def test_a_profile_names_every_measuring_rule(name, keys):
    for key in keys:
        assert list(profile(name)[key]) == RULES
    assert profile(name)["retries"] == 0 and profile(name)["resources"] == ["bench=1"]


def test_a_measurement_has_its_node_to_itself():
    assert all(asked == {"slurm_extra": "'--exclusive'"} for asked in profile("slurm")["set-resources"].values())


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["1", "2"])
def test_a_campaign_on_accelerators_asks_for_them_where_it_measures(tmp_path, parts):
    copy = copy_repository(tmp_path)
    file = copy.campaign / "campaign.yaml"
    asked = ("-n", "workflow/campaigns/local/sweep_isl.csv", "--config", f"parts={parts}")
    without = copy.snakemake(*asked)
    assert without.returncode == 0 and "gpu=" not in without.stdout
    file.write_text(file.read_text("utf8").replace("\nmeasure:\n", "\nmeasure:\n  gpus: 2\n", 1), "utf8")
    run = copy.snakemake(*asked)
    assert run.returncode == 0, run.stdout + run.stderr
    # the jobs that measure, and neither the one that gathers nor the one that publishes
    asking = [job.split(":")[0] for job in re.split(r"(?m)^(?:local)?rule ", run.stdout)[1:] if "gpu=2" in job]
    assert asking == ["sweep_isl"] * int(parts)


@pytest.mark.external
@pytest.mark.skipif(bool(slurm.absent()) or not plugin("slurm"), reason=slurm.absent() or "no Slurm plugin; pip install '.[cluster]'")
def test_slurm_measures_alone_and_publishes(tmp_path):
    """Two sweeps in two parts each through sbatch: all arrive, no part beside another, each with every processor of the node."""
    (shared := tmp_path / "shared").mkdir()
    copy = copy_repository(shared)
    (copy.root / "mood").write_text("takes 3")
    wanted = [f"workflow/campaigns/local/sweep_{name}.csv" for name in ("isl", "window")]
    with slurm.cluster(tmp_path / "slurm") as environment:
        run = subprocess.run(
            [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/slurm", "--slurm-init-seconds-before-status-checks", "5", "--slurm-status-command", "squeue", *wanted, "--config", "parts=2"],
            check=False, cwd=copy.root, env={**environment, "PYTHONPATH": str(copy.root)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        told = subprocess.run(["scontrol", "-o", "show", "job"], check=False, env=environment, capture_output=True, text=True, timeout=60).stdout
    assert sorted(copy.measured()) == sorted(f"{name}:{part}" for name in ("isl", "window") for part in ("1/2", "2/2", "gathered")) and all((copy.root / name).is_file() for name in wanted)
    jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in told.splitlines()]
    # two parts a sweep, each alone on its node, and a job a sweep that gathers them; what is cheap ran where snakemake was started
    assert len(jobs) == 6 and {job["JobState"] for job in jobs} == {"COMPLETED"}
    alone = sorted((job for job in jobs if job["OverSubscribe"] == "NO"), key=lambda job: job["StartTime"])
    assert len(alone) == 4 and all(int(job["NumCPUs"]) == os.cpu_count() for job in alone)
    assert all(before["EndTime"] <= after["StartTime"] for before, after in itertools.pairwise(alone))


@pytest.mark.external
@pytest.mark.skipif(not plugin("kubernetes") or STORE is None, reason="no Kubernetes plugin, or no folder in place of a bucket: snakemake-storage-plugin-fs")
def test_kubernetes_would_run_every_stage(tmp_path):
    """A dry run, with a folder in the place of the bucket into which the checkout was copied."""
    copy = copy_repository(tmp_path)
    bucket = ("--default-storage-provider", "fs", "--default-storage-prefix", str(copy.root))
    run = copy.snakemake("-n", "site", "--workflow-profile", "workflow/profiles/kubernetes", *bucket)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    for rule in ("sweep_isl", "keep_isl", "derive", "figures", "site"):
        assert f"rule {rule}:" in said


@pytest.mark.external
@pytest.mark.skipif(STORE is None or shutil.which("rsync") is None, reason="no folder in place of a bucket: snakemake-storage-plugin-fs and rsync")
def test_nothing_is_shared_but_the_store(tmp_path):
    """A real run in which every job finds what its rule declares and nothing else: rows, facts and page arrive in the store, none in the checkout."""
    (tmp_path / "here").mkdir()
    copy = copy_repository(tmp_path / "here")
    store = tmp_path / "store"
    shutil.copytree(copy.root, store)
    nothing_shared = ("--default-storage-provider", "fs", "--default-storage-prefix", str(store), "--shared-fs-usage", "none")
    copy.build(*nothing_shared, "--config", "parts=2")
    assert {"isl:1/2", "isl:2/2", "isl:gathered"} <= set(copy.measured())
    assert (store / "workflow/campaigns/local/sweep_isl.csv").is_file() and (store / "site/zh/index.html").is_file()
    assert not (copy.root / "site").exists() and not (copy.campaign / "sweep_isl.csv").exists()
