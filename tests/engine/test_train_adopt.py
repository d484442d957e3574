"""Shipped weights as checkpoints: nothing is lost on the way, and nothing that is there is overwritten."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from engine.config.boot import WEIGHTS
from engine.train import __main__ as command
from engine.train.adopt import REDRAFTED, adopt
from engine.train.drafters import Drafters, load_frozen_target
from engine.train.export import export_drafters, export_redraft, export_target
from engine.train.finish import merged_log
from engine.train.redraft import rebuilt


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    assert adopt(folder, WEIGHTS) == ["target.pt", "drafters.pt", "redraft.pt"]
    return folder


def test_exported_again_the_weights_are_the_same(work, tmp_path):
    export_target(work, tmp_path)
    target = load_frozen_target(work)
    heads = Drafters(target)
    heads.load_state_dict(torch.load(work / "drafters.pt", weights_only=True)["model"])
    export_drafters(heads.dspark, heads.mtp, tmp_path)
    done = torch.load(work / "redraft.pt", weights_only=True)
    dspark, dflash, markov, confidence = rebuilt(done, target)
    export_redraft(done, dflash, markov, confidence, tmp_path)
    for name in ("target", "dspark", "mtp", *REDRAFTED):
        shipped, again = load_file(WEIGHTS / f"{name}.safetensors"), load_file(tmp_path / f"{name}.safetensors")
        assert shipped.keys() == again.keys()
        assert all(torch.equal(shipped[one], again[one]) for one in shipped), name
        if (WEIGHTS / f"{name}.json").exists():
            assert (tmp_path / f"{name}.json").read_text("utf-8") == (WEIGHTS / f"{name}.json").read_text("utf-8")
    torch.testing.assert_close(dspark.state_dict(), heads.dspark.state_dict())


def test_the_logs_are_those_that_were_merged(work):
    assert merged_log(work) == (WEIGHTS / "training_log.jsonl").read_text("utf-8")


def test_what_is_there_is_kept(work, tmp_path):
    older = tmp_path / "older"
    shutil.copytree(WEIGHTS, older)
    for name in REDRAFTED:
        (older / f"{name}.safetensors").unlink()
    assert adopt(tmp_path / "work", older) == ["target.pt", "drafters.pt"]
    stamp = (tmp_path / "work" / "drafters.pt").read_bytes()
    assert adopt(tmp_path / "work", WEIGHTS) == ["redraft.pt"]
    assert (tmp_path / "work" / "drafters.pt").read_bytes() == stamp
    assert adopt(tmp_path / "work", WEIGHTS) == []


def test_weights_without_their_figures_are_refused(tmp_path, capsys):
    assert command.main(["adopt", "--work", str(tmp_path / "work"), "--weights", str(tmp_path)]) == 2
    assert "quality.json not found" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
