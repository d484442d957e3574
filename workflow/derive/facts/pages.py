"""What page builders need for one report, and whether the page they leave is right. Measured by tests/bench/page_tools.py."""

from __future__ import annotations

import numpy as np

from workflow.derive.registry import fact
from workflow.derive.sample import Sample

OURS = "soundings"
TOOLS = (OURS, "myst_nb_cache", "myst_nb_force", "myst_nb_force_all", "mystmd")
BUILDS = ("cold", "noop", "edit")


@fact("pages.{tool}.{build}_s", kind="duration", unit="s", tool=TOOLS, build=BUILDS)
def seconds(read, tool, build):
    """median wall time of a build of this kind"""
    return Sample(float(np.median(read.pages(tool=tool, build=build).read("seconds"))), "s")


@fact("pages.{tool}.{build}_page", kind="label", tool=TOOLS, build=BUILDS)
def page(read, tool, build):
    """whether the page shows what the CSV says, after every build of this kind"""
    return "stale" if read.pages(tool=tool, build=build).read("stale").any() else "right"


@fact("pages.{tool}.version", kind="label", tool=TOOLS)
def version(read, tool):
    """version of the tool"""
    return read.pages(tool=tool).texts("version")[0]


@fact("pages.repeats", kind="count")
def repeats(read):
    """builds of each kind by each tool"""
    return len(set(read.pages().texts("repeat")))


@fact("pages.numbers", kind="count")
def numbers(read):
    """numbers that the notebooks splice"""
    return max(float(text) for text in read.pages().texts("numbers") if text)


@fact("pages.load", kind="length")
def load(read):
    """median one-minute load average of the machine before a build"""
    return float(np.median(read.pages().read("load_average")))
