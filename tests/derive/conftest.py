import shutil

import pytest

from tests.data.synthetic import Physics, Plan, write_campaign
from workflow.derive import load
from workflow.derive.evaluate import Derivation

SMALL = Plan(repeats=2, prompts=3, osl=24, isls=(64, 512, 4096), concurrencies=(1, 4, 16))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A synthetic campaign, written once and only read."""
    return write_campaign(tmp_path_factory.mktemp("campaign"), Physics(), SMALL)


@pytest.fixture(scope="session")
def measured(folder):
    return load.load(folder)


@pytest.fixture(scope="session")
def derivation(measured):
    return Derivation(measured)


@pytest.fixture(scope="session")
def values(derivation):
    return derivation.values()


@pytest.fixture
def scratch(folder, tmp_path):
    """A copy of the campaign that a test may spoil."""
    return shutil.copytree(folder, tmp_path / "campaign")
