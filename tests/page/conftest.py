import shutil

import pytest

from tests.data.synthetic import Physics, Plan, write_campaign
from tests.page.campaign import Workspace
from tests.page.chromium import launched
from workflow.derive.__main__ import derive, write
from workflow.figures.build import build as draw
from workflow.page import site as pages
from workflow.plan import ROOT
from workflow.plan import Plan as Campaigns


@pytest.fixture
def workspace(tmp_path):
    """A clean campaign whose page builds without a finding."""
    return Workspace.make(tmp_path / "house")


@pytest.fixture(scope="session")
def browser():
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The real content on a synthetic campaign and on a transcribed one."""
    root = tmp_path_factory.mktemp("browser")
    folder = write_campaign(root / "workflow/campaigns/synthetic", Physics(), Plan(repeats=2, prompts=2, osl=24))
    transcribed = shutil.copytree(ROOT / "workflow/campaigns/k3-mi355x", root / "workflow/campaigns/k3-mi355x")
    for campaign in (folder, transcribed):
        write(values := derive(campaign), root / "build" / campaign.name)
        draw(values, root / "build" / campaign.name / "figures")
    result = pages.build(Campaigns(("synthetic", "k3-mi355x"), "synthetic", root), root / "build")
    assert not result.problems
    pages.write(result.files, root / "site")
    return root / "site"


@pytest.fixture(scope="session")
def archived(tmp_path_factory):
    """The real content on the richest campaign that the repository carries: of all pages the heaviest."""
    root, name = tmp_path_factory.mktemp("archived"), "xeon-2core"
    write(values := derive(ROOT / "workflow/campaigns" / name), root / "build" / name)
    draw(values, root / "build" / name / "figures")
    result = pages.build(Campaigns((name,), name, ROOT), root / "build")
    assert not result.problems
    pages.write(result.files, root / "site")
    return root / "site"
