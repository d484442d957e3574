"""Attempts that were not served stay as rows: every way at every number of rows, with a time or the reason for none."""

from __future__ import annotations

import shutil

import pytest

from engine.bench import attempts
from engine.config import ConfigError
from engine.model.fused.compiler import COMPILERS

pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C++ compiler (apt-get install g++)")


@pytest.fixture(autouse=True)
def kept_builds(request, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(request.config.cache.mkdir("soundings-fused")))


def test_every_way_is_a_row(tiny, monkeypatch):
    def absent(matrices):
        raise ConfigError("not here")

    few = {name: attempts.WAYS[name] for name in (attempts.SERVED, "onednn-bf16", "torch-float32")}
    monkeypatch.setattr(attempts, "WAYS", few | {"absent": ("nothing", absent)})
    rows = attempts.measure(tiny, rows=(1, 3), passes=2)
    assert [(row.name, row.rows) for row in rows] == [(name, count) for name in (*few, "absent") for count in (1, 3)]
    for row in rows:
        if row.name == "absent":
            assert row.ms is None and row.note == "not here"
        else:
            assert row.ms > 0 and row.times_served > 0
            assert (row.times_served == 1) == (row.name == attempts.SERVED)


def test_bad_input_is_one_line(capsys):
    assert attempts.main(["--rows", "0"]) == 2
    assert capsys.readouterr().err == "engine.bench.attempts: --rows must be 1 to 64, --passes at least 1\n"
