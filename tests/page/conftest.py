import pytest

from tests.page.campaign import Workspace


@pytest.fixture
def workspace(tmp_path):
    """A clean campaign whose page builds without a finding."""
    return Workspace.make(tmp_path / "house")
