"""Every bad input: exit code 2, one line that says what and where, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from engine import gate, search, sweep
from tests.measure.conftest import SIZES

pytestmark = pytest.mark.usefixtures("fake_engine")


def refused(capsys: pytest.CaptureFixture[str], *argv: str, program=sweep) -> str:
    words = argv if program is search else ("--sweep", "isl", *argv)
    assert program.main(list(words)) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


def with_stage(campaign, name: str, **values: object) -> str:
    return str(campaign(stages={**SIZES, name: {**SIZES[name], **values}}))


@pytest.mark.parametrize(
    ("stage", "values", "says"),
    [
        ("isl", {"osl": 0}, "measure.stages.isl.osl: 0 is less than the minimum of 2"),
        ("isl", {"block_size": 9}, "measure.stages.isl.block_size: 9 is greater than the maximum of 7"),
        ("isl", {"blok_size": 2}, "measure.stages.isl: unknown key 'blok_size'; known: content, block_size"),
        ("isl", {"ladder": "long"}, "measure.stages.isl.ladder: 'long' is not of type 'array'"),
        ("window", {"contents": ["poetry"]}, "measure.stages.window.contents.0: 'poetry' is not one of"),
        ("concurrency", {"levels": [0]}, "measure.stages.concurrency.levels.0: 0 is less than the minimum of 1"),
        ("concurrency", {"levels": [1, 64]}, "64 in flight need as many prompts; num_prompts is 8"),
        ("search", {"max_concurrency": 9}, "9 in flight need as many prompts; num_prompts is 4"),
        ("search", {"block_size": 2}, "the base 2 must be among block_sizes [1, 3]"),
    ],
)
def test_a_bad_value_is_named(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str, values: dict, says: str) -> None:
    out = tmp_path / "out"
    assert says in refused(capsys, "--campaign", with_stage(campaign, stage, **values), "--out", str(out))
    assert not out.exists()


def edited(campaign, stage: str, key: str, value: object) -> str:
    """A campaign in which one key of a stage, or of a part of it, has another value; `measure` names the campaign's own keys."""
    if stage == "measure":
        return str(campaign(**{key: value}))
    *parts, last = key.split(".")
    values: dict = {last: value}
    for part in reversed(parts):
        values = {part: values}
    sizes = {**SIZES, "gate": {"problems": 4, "sampled_problems": 2, "max_concurrency": 4}}
    return str(campaign(stages={**sizes, stage: {**sizes.get(stage, {}), **values}}))


SETTINGS_OF_A_REGIME = "search.knobs.binding.0.1.0.1"
PLANNED = [
    ("search", "knobs.binding", [["radix_cache", [["load_isl", "x"]]]], f"{SETTINGS_OF_A_REGIME}: 'x' is not of type 'integer'"),
    ("search", "knobs.binding", [["radix_cache", [["load_isl", 0]]]], f"{SETTINGS_OF_A_REGIME}: 0 is less than the minimum of 2"),
    ("search", "knobs.binding", [["radix_cache", [["load_isl", 90000]]]], f"{SETTINGS_OF_A_REGIME}: 90000 is greater than the maximum"),
    ("search", "knobs.binding", [["radix_cache", [["load_concurrency", 0]]]], f"{SETTINGS_OF_A_REGIME}: 0 is less than the minimum of 1"),
    ("search", "knobs.binding", [["radix_cache", [["load_num_prompts", 2.5]]]], f"{SETTINGS_OF_A_REGIME}: 2.5 is not of type 'integer'"),
    ("search", "knobs.binding", [["radix_cache", []]], "search.knobs.binding.0.1: [] should be non-empty"),
    ("search", "knobs.binding", [["radix_cache", "load_isl"]], "search.knobs.binding.0.1: 'load_isl' is not of type 'array'"),
    ("search", "knobs.binding", [["schedule_conservativeness", [["max_total_num_tokens", 16]]]], "search.knobs.binding: a request of 25 tokens"),
    ("search", "knobs.binding", [["chunked_prefill_size", [["load_isl", 16384]]]], "engine.context_length: 16384 is less than the 16390 tokens of a request of stages.search.knobs"),
    ("search", "factorial", {"max_concurrency": 64, "num_prompts": 8}, "search.factorial.max_concurrency: 64 in flight need as many prompts; there are 8"),
    ("search", "cache.gsp_system_prompt_len", 16384, "a request of stages.search.cache"),
    ("search", "cache.max_concurrency", 17, "search.cache.max_concurrency: 17 in flight need as many prompts"),
    ("search", "memory.isl", 16384, "a request of stages.search.memory"),
    ("search", "lanes.block_sizes", [["foo", [1]]], "search.lanes.block_sizes.0.0: 'foo' is not one of ['dspark'"),
    ("search", "lanes.block_sizes", [["dspark", [0]]], "search.lanes.block_sizes.0.1.0: 0 is less than the minimum of 1"),
    ("search", "lanes.block_sizes", [["dspark", []]], "search.lanes.block_sizes.0.1: [] should be non-empty"),
    ("search", "lanes.block_sizes", [["dspark", 3]], "search.lanes.block_sizes.0.1: 3 is not of type 'array'"),
    ("search", "lanes.block_sizes", [["mtp", [1, 2]]], "search.lanes: mtp is named 2 times"),
    ("search", "heads.isl", 16384, "a request of stages.search.heads"),
    ("search", "threads", 64, "search.threads: --threads 64: this machine has"),
    ("window", "osl", 16384, "a request of stages.window"),
    ("batch", "levels", [1, 64], "batch.levels: 64 in flight need as many prompts; num_prompts is 32"),
    ("acceptance", "temperatures", [99], "acceptance.temperatures.0: 99 is greater than the maximum of 2"),
    ("gate", "temperature", 99, "gate.temperature: 99 is greater than the maximum of 2"),
    ("gate", "silent", [["chunked_prefill_size", [64]]], "gate.silent.0.1: [64] is not of type"),
    ("measure", "temperature", 99, "measure.temperature: 99 is greater than the maximum of 2"),
    ("measure", "threads", 64, "measure.threads: --threads 64: this machine has"),
    ("measure", "engine", {"chunked_prefill_size": 3}, "measure.engine.chunked_prefill_size: --chunked-prefill-size 3: must be a multiple"),
    ("measure", "engine", {"context_length": 1 << 20}, "measure.engine.context_length: --context-length 1048576: the model was built for"),
]
DRAWN = [
    ("window", "num_prompts", 4000, "window.num_prompts: "),
    ("isl", "num_prompts", 1000, "isl.num_prompts: "),
    ("osl", "num_prompts", 4000, "osl.num_prompts: "),
    ("content", "num_prompts", 4000, "content.num_prompts: "),
    ("acceptance", "rounds", [4096 * 4], "acceptance.rounds"),
    ("search", "num_prompts", 4096, "search.num_prompts: "),
    ("search", "cache", {"gsp_num_groups": 1024, "gsp_prompts_per_group": 1, "max_concurrency": 1}, "search.cache.gsp_prompts_per_group: "),
    ("search", "heads.num_prompts", 4096, "search.heads.num_prompts: "),
    ("search", "factorial.num_prompts", 4096, "search.factorial.num_prompts: "),
    ("search", "lanes.num_prompts", 4096, "search.lanes.num_prompts: "),
    ("gate", "texts", 4096, "gate.texts: "),
]


@pytest.mark.parametrize(("stage", "key", "value", "says"), [*PLANNED, *DRAWN])
def test_every_edit_that_no_plan_can_hold_is_one_line_and_leaves_nothing(
    campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str, key: str, value: object, says: str
) -> None:
    """Before anything is measured: file, key and what is right, from the command that measures the stage."""
    path, out = edited(campaign, stage, key, value), tmp_path / "made" / "out"
    program, words = {"search": (search, []), "gate": (gate, [])}.get(stage, (sweep, ["--sweep", "isl" if stage == "measure" else stage]))
    before = sorted(tmp_path.iterdir())
    assert program.main([*words, "--campaign", path, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{path}: measure." in said and says in said, said
    assert sorted(tmp_path.iterdir()) == before, "nothing is left behind"
    if (stage, key, value, says) in PLANNED:
        assert program.main([*words, "--campaign", path, "--dry-run"]) == 2 and capsys.readouterr().err == said


@pytest.mark.parametrize("program", [sweep, search, gate])
def test_a_journal_that_cannot_be_made_leaves_no_folder(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], program) -> None:
    path, out = edited(campaign, "gate", "problems", 4), tmp_path / "deep" / "out"
    (tmp_path / "file").write_text("")
    words = ["--sweep", "isl"] if program is sweep else []
    assert program.main([*words, "--campaign", path, "--out", str(out), "--journal", str(tmp_path / "file" / "j")]) == 2
    assert "Not a directory" in capsys.readouterr().err and not (tmp_path / "deep").exists()


def test_an_acceptance_that_no_campaign_has(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(campaign(stages={"verify_cost": {"acceptance": "nope"}}))
    for words in (["--dry-run"], ["--out", "made"]):
        assert sweep.main(["--sweep", "verify_cost", "--campaign", path, *words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "verify_cost.acceptance: no campaign 'nope' with a sweep_window.csv; there are: " in said
    assert not Path("made").exists()


def test_requests_that_the_pools_cannot_hold(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(campaign(engine={"max_total_num_tokens": 64}))
    assert "measure.engine.max_total_num_tokens: 64 is less than the 73 tokens of a request of stages.isl" in refused(
        capsys, "--campaign", path, "--dry-run"
    )
    path = str(campaign(engine={"context_length": 24}))
    assert "measure.engine.context_length: 24 is less than the 25 tokens" in refused(capsys, "--campaign", path, "--dry-run")


def test_a_budget_that_is_no_size(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--device-memory plenty: give bytes" in refused(capsys, "--campaign", str(campaign(engine={"device_memory": "plenty"})), "--dry-run")


def test_unknown_keys_of_the_file(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(thread=2)
    assert "measure: unknown key 'thread'; known: preset, threads" in refused(capsys, "--campaign", str(path), "--dry-run")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not of type 'object'"),
        (b"[]", "is not of type 'object'"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"a: \x00", "not valid YAML"),
        (b"&a [*a]", "is not of type 'object'"),
        (b"[" * 1100, "nested too deeply"),
        (b"name: a\nbackend: embedded\nmeasure: null\n", "measure: None is not of type 'object'"),
    ],
)
def test_a_file_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_bytes(content)
    for program in (sweep, search):
        assert says in refused(capsys, "--campaign", str(path), "--dry-run", program=program)


@pytest.mark.parametrize("program", [sweep, search, gate])
@pytest.mark.parametrize("flag", ["--out", "--log", "--journal", "--weights", "--campaign"])
@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_that_is_none(campaign, capsys: pytest.CaptureFixture[str], program, flag: str, path: str) -> None:
    words = ["--sweep", "isl"] if program is sweep else []
    with pytest.raises(SystemExit) as ended:
        program.main([*words, "--campaign", str(campaign()), flag, path])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1 and f"argument {flag}: {path!r} is no path" in said


@pytest.mark.parametrize("budget", ["", "20", "0m", "-3m", "nanm", "1e9h", "5 minutes"])
def test_a_budget_that_is_no_time(campaign, capsys: pytest.CaptureFixture[str], budget: str) -> None:
    assert "expected a number above 0 and a unit" in refused(capsys, "--campaign", str(campaign()), "--dry-run", f"--budget={budget}", program=search)


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none.yaml: No such file" in refused(capsys, "--campaign", str(tmp_path / "none.yaml"), "--dry-run")


def test_a_file_that_is_not_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text("name: a\nmeasure: [\n")
    assert "campaign.yaml: line 3: not valid YAML" in refused(capsys, "--campaign", str(path), "--dry-run")


def test_an_archived_campaign_is_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump({"name": "old", "backend": "sglang"}))
    assert "archived" in refused(capsys, "--campaign", str(path), "--dry-run")


def test_a_backend_without_an_engine(tmp_path: Path, campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign()
    path.write_text(path.read_text().replace("embedded", "external"))
    assert "backend: 'external' cannot be measured; there are: embedded" in refused(
        capsys, "--campaign", str(path), "--out", str(tmp_path / "out")
    )


def test_a_server_that_is_not_described(tmp_path: Path, campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign()
    path.write_text(path.read_text().replace("embedded", "vllm"))
    assert "measure.server: backend vllm needs it" in refused(capsys, "--campaign", str(path), "--out", str(tmp_path / "out"))
    path = campaign(server={"tokenizer": "tokenizer.json"})
    assert "measure.server: backend embedded has no server" in refused(capsys, "--campaign", str(path), "--out", str(tmp_path / "out"))
    path = campaign(server={"tokeniser": "tokenizer.json"})
    assert "measure.server: unknown key 'tokeniser'; known: model, tokenizer" in refused(capsys, "--campaign", str(path), "--dry-run")


def test_a_stage_the_campaign_does_not_list(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages={"window": SIZES["window"]})
    assert "measure.stages: no 'isl'; it lists window" in refused(capsys, "--campaign", str(path), "--dry-run")
    assert "measure.stages: no 'search'" in refused(capsys, "--campaign", str(path), "--dry-run", program=search)


def test_an_unknown_stage(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(campaign(stages={**SIZES, "windows": {}}))
    assert "measure.stages: unknown key 'windows'; known: " in refused(capsys, "--campaign", path, "--dry-run")


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("values", [["prefill_chunk", 64]], "knobs.values: the engine has no setting 'prefill_chunk'; it has weights, lane"),
        *(("values", [[name, 2]], f"knobs.values: {name} is no knob") for name in ("threads", "lane", "model", "block_size", "weights", "seed")),
        ("binding", [["radix_cache", [["threads", 2]]]], "knobs.binding: threads is no knob"),
        ("values", [["chunked_prefill_size", 0]], "knobs.values: --chunked-prefill-size 0: must be at least 1"),
        ("values", [["chunked_prefill_size", "big"]], "knobs.values: chunked_prefill_size: 'big' is not a whole number"),
        ("values", [["radix_cache", 1]], "knobs.values: radix_cache: 1 is not true or false"),
        ("values", [["schedule_conservativeness", True]], "knobs.values: schedule_conservativeness: True is not a number"),
        ("values", [["mamba_ssm_dtype", "float8"]], "knobs.values: --mamba-ssm-dtype float8"),
        ("binding", [["radix", [["load_isl", 32]]]], "knobs.binding: the engine has no setting 'radix'"),
        ("binding", [["radix_cache", [["load_length", 32]]]], "knobs.binding: the engine has no setting 'load_length'"),
    ],
)
def test_a_knob_that_is_none(campaign, capsys: pytest.CaptureFixture[str], key: str, values: list, says: str) -> None:
    assert says in refused(capsys, "--campaign", with_stage(campaign, "search", knobs={key: values}), "--dry-run", program=search)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([["prefill_chunk", 64]], "capacity.values: the engine has no setting 'prefill_chunk'; it has weights, lane"),
        ([["chunked_prefill_size", 0]], "capacity.values: --chunked-prefill-size 0: must be at least 1"),
        *(
            ([["radix_cache", True], [name, value]], f"capacity.values: {name} is the sweep's own")
            for name, value in (("device_memory", 1), ("mem_fraction_static", 0.5), ("max_total_num_tokens", 512), ("mode", "graph"), ("threads", 2))
        ),
    ],
)
def test_a_setting_of_the_sweep_capacity_that_is_none(campaign, capsys: pytest.CaptureFixture[str], values: list, says: str) -> None:
    assert says in refused(capsys, "--campaign", str(campaign(stages={**SIZES, "capacity": {"values": values}})), "--dry-run")


def test_a_mode_of_the_sweep_capacity_for_a_setting_that_it_has_not(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    """What was asked for by name and what prompts must fill; a default has not to be taken back."""
    values = [["radix_cache", True]]
    for keys, says in (({"graphed": ["radix"]}, "capacity.graphed: 'radix' is not among"), ({"isl": 3}, "capacity.isl: --chunked-prefill-size 3: must be a multiple")):
        assert says in refused(capsys, "--campaign", str(campaign(stages={**SIZES, "capacity": {"values": values, **keys}})), "--dry-run")
    assert sweep.main(["--sweep", "isl", "--campaign", str(campaign(stages={**SIZES, "capacity": {"values": values}})), "--dry-run"]) == 0


def test_a_silent_setting_of_the_gate_that_is_none(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["--campaign", str(campaign(stages={"gate": {"silent": [["loud", 1]]}})), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "measure.stages.gate.silent: the engine has no setting 'loud'" in said


def test_a_fraction_that_cannot_hold_the_weights(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    memory = {"device_bytes": 64 << 20, "anchor": 0.1, "step": 0.01}
    err = refused(capsys, "--campaign", with_stage(campaign, "search", memory=memory), "--out", str(out), program=search)
    assert "measure.stages.search.memory.anchor: 0.1 of 67108864 bytes cannot hold the weights" in err and "it could" in err
    for part in ("cache", "factorial"):
        err = refused(capsys, "--campaign", with_stage(campaign, "search", **{part: {"device_bytes": 4 << 20}}), "--out", str(out), program=search)
        assert f"measure.stages.search.{part}.device_bytes: 0.88 of 4194304 bytes cannot hold the weights" in err and "bytes on it could" in err
        enough = int(err.rpartition("from ")[2].split()[0])
        assert search.main(["--campaign", with_stage(campaign, "search", **{part: {"device_bytes": enough}}), "--dry-run"]) == 0
        assert str(enough - 1) in refused(capsys, "--campaign", with_stage(campaign, "search", **{part: {"device_bytes": enough - 1}}), "--dry-run", program=search)
    err = refused(capsys, "--campaign", str(campaign(stages={**SIZES, "capacity": {"mem_fraction_static": 0.01}})), "--out", str(out))
    assert "measure.stages.capacity.mem_fraction_static: 0.01 of 402653184 bytes cannot hold the weights" in err and "it could" in err
    err = refused(capsys, "--campaign", str(campaign(engine={"device_memory": 4 << 20})), "--out", str(out))
    assert "measure.engine.mem_fraction_static: 0.88 of 4194304 bytes cannot hold the weights" in err and "no share of it could" in err
    assert not out.exists()


@pytest.mark.parametrize("name", ["search", "gate"])
def test_a_folder_that_cannot_be_made(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "file").write_text("")
    program = {"search": search, "gate": gate}[name]
    stages = {"search": SIZES["search"], "gate": {"problems": 4, "max_concurrency": 4}}
    assert program.main(["--campaign", str(campaign(stages=stages)), "--out", str(tmp_path / "file" / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Not a directory" in said and [path.name for path in tmp_path.iterdir() if path.is_file()] != []


def test_missing_weights(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "weights"
    empty.mkdir()
    err = refused(capsys, "--campaign", str(campaign()), "--out", str(tmp_path / "out"), "--weights", str(empty))
    assert "target.json" in err and "not found" in err and not (tmp_path / "out").exists()


def test_weights_that_are_no_weights(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "weights"
    broken.mkdir()
    (broken / "target.json").write_text("{}")
    (broken / "target.safetensors").write_bytes(b"no")
    err = refused(capsys, "--campaign", str(campaign()), "--out", str(tmp_path / "out"), "--weights", str(broken))
    assert "target.safetensors: not a safetensors file" in err


def test_out_that_is_a_file(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("")
    assert "out: File exists" in refused(capsys, "--campaign", str(campaign()), "--out", str(tmp_path / "out"))


def test_out_is_needed(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--out" in refused(capsys, "--campaign", str(campaign()))


def test_a_processor_that_is_not_there(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for asked in ("4096", "-1"):
        assert f"--cpu: {asked} is not among" in refused(capsys, "--campaign", str(campaign()), "--out", str(tmp_path / "out"), "--cpu", asked)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_the_old_file(
    campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "sweep_isl.csv").write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engine.csvio.os.fsync", full)
    assert "No space left on device" in refused(capsys, "--campaign", str(campaign()), "--out", str(out), "--quiet")
    assert [path.name for path in out.iterdir()] == ["sweep_isl.csv"]
    assert (out / "sweep_isl.csv").read_text() == "old"
