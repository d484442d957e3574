"""Sweeps that several jobs measure: what is scheduled, and that a changed number of jobs measures nothing by itself."""

from __future__ import annotations

import re

import pytest

from tests.workflow.conftest import Copy, copy_repository

pytestmark = pytest.mark.slow
TWO, FOUR = ("--config", "parts=2"), ("--config", "parts=4")
CHEAP = {"derive", "figures", "site"}


@pytest.fixture(scope="module")
def split(tmp_path_factory) -> Copy:
    """A copy whose sweeps were measured by two jobs each."""
    copy = copy_repository(tmp_path_factory.mktemp("split"))
    copy.build(*TWO)
    return copy


def test_each_sweep_is_measured_in_parts_and_gathered(split: Copy):
    sweeps = ["concurrency", "isl", "window"]
    whole = ["gate", "kernels", "search", "verify_cost"]
    assert sorted(split.measured()) == sorted([*whole, *(f"{name}:{part}" for name in sweeps for part in ("1/2", "2/2", "gathered"))])
    assert "Nothing to be done" in split.build(*TWO)


@pytest.mark.parametrize("other", [FOUR, ()])
def test_another_number_of_jobs_measures_nothing_by_itself(split: Copy, other):
    assert split.scheduled(*other) == set()


def test_asked_for_it_is_measured_in_as_many_parts_as_are_wanted_now(split: Copy):
    assert split.scheduled("-R", "sweep_isl", *FOUR) == {"sweep_isl", "gather_isl", "keep_isl", *CHEAP}
    run = split.snakemake("-n", "site", "-R", "sweep_isl", *FOUR)
    assert sorted(re.findall(r"output: workflow/build/parts/local/isl\.(\d-of-4)\.part\.jsonl", run.stdout)) == [f"{n}-of-4" for n in range(1, 5)]
    assert split.scheduled("-R", "sweep_isl") == {"sweep_isl", "keep_isl", *CHEAP}


def test_from_one_job_to_several_and_back(built: Copy):
    assert built.scheduled(*TWO) == set()
    before = len(built.measured())
    built.build("-R", "sweep_isl", *TWO)
    assert built.measured()[before:] in (["isl:1/2", "isl:2/2", "isl:gathered"], ["isl:2/2", "isl:1/2", "isl:gathered"])
    assert built.scheduled() == set() and built.scheduled(*FOUR) == set()
    built.build("-R", "sweep_isl")
    assert built.measured()[-1] == "isl"
    assert built.scheduled(*TWO) == set()
