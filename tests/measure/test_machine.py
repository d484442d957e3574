"""What is read of the machine: the clock of the processor that is measured on, or nothing."""

import os
from pathlib import Path

import pytest

from engine.backends.server_config import ServerConfig
from engine.machine import Machine, Ticks, clock_mhz
from engine.manifest import machine_section

INFO = "processor\t: 0\ncpu MHz\t\t: 2300.000\n\nprocessor\t: 1\ncpu MHz\t\t: 3100.500\n"


def test_the_clock_is_that_of_the_pinned_processor(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(INFO)
    assert [clock_mhz(cpu, tmp_path, info) for cpu in (None, 0, 1)] == [2300.0, 2300.0, 3100.5]
    (tmp_path / "cpu1/cpufreq").mkdir(parents=True)
    (tmp_path / "cpu1/cpufreq/scaling_cur_freq").write_text("2899998\n")
    assert clock_mhz(1, tmp_path, info) == 2899.998 and clock_mhz(0, tmp_path, info) == 2300.0


def test_an_unknown_clock_stays_empty(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    assert clock_mhz(0, tmp_path, info) is None
    info.write_text("cpu MHz : unknown\n")
    assert clock_mhz(0, tmp_path, info) is None and clock_mhz(9, tmp_path, info) is None


def test_the_manifest_has_it() -> None:
    assert machine_section(Machine.read(), 0, [0.0] * 3, [0.0] * 3, None, None)["clock_mhz"] == clock_mhz(0)


def test_ticks_of_all_processors_are_those_of_each() -> None:
    each = [found for cpu in sorted(os.sched_getaffinity(0)) if (found := Ticks.read(cpu))]
    every = Ticks.read(None)
    assert every and every.total_s >= 0.9 * max(one.total_s for one in each) and every.steal_s >= 0


@pytest.mark.parametrize(
    ("server", "here"),
    [({}, True), ({"host": "node7"}, False), ({"nodes": 2}, False), ({"url": "http://127.0.0.1:8000/v1"}, True), ({"url": "https://example.org"}, False)],
)
def test_a_server_is_on_the_client_s_machine_where_its_address_says_so(server: dict, here: bool) -> None:
    assert ServerConfig(**server).here is here
