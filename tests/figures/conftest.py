"""The made-up campaign, drawn once for all tests of this folder."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.figures import synthetic
from tests.figures.plain import PlainNumbers, strings
from workflow.figures.fill import fill
from workflow.figures.registry import plates
from workflow.figures.style import LAYOUTS
from workflow.figures.svg import render


@dataclass(frozen=True)
class Drawn:
    plate: str
    layout: str
    svg: str

    @property
    def name(self) -> str:
        return f"{self.plate}-{self.layout}"

    def filled(self, language: str, values) -> str:
        return fill(self.svg, language, strings(), values, PlainNumbers(language))


def pytest_generate_tests(metafunc):
    if "plate" in metafunc.fixturenames:
        metafunc.parametrize("plate", plates(), ids=lambda plate: plate.id)
    if "language" in metafunc.fixturenames:
        metafunc.parametrize("language", ("en", "zh"))


@pytest.fixture(scope="session")
def values():
    return synthetic.values()


@pytest.fixture(scope="session")
def drawings(values) -> list[Drawn]:
    return [Drawn(plate.id, layout.name, render(plate.draw(values, layout), plate.id)) for plate in plates() for layout in LAYOUTS]
