"""A self-test that was passed is not repeated, and is repeated whenever what it followed from is not surely the same."""

import json
from pathlib import Path

import pytest
import torch

from kernels.linear import cpu, stamp

SHAPE = (32, 64)
PROCESSOR = "processor\t: {number}\nmodel name\t: {name}\nflags\t\t: {flags}\ncpu MHz\t\t: {mhz}\n\n"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(stamp, "CPUINFO", tmp_path / "cpuinfo")
    processor(tmp_path)
    yield
    stamp.circumstances.cache_clear()


def processor(folder, name="one", flags="avx2", mhz=1000):
    (folder / "cpuinfo").write_text("".join(PROCESSOR.format(number=number, name=name, flags=flags, mhz=mhz + number) for number in range(2)))


@pytest.fixture
def tested(monkeypatch):
    """Shapes whose self-test was run."""
    shapes, real = [], cpu.linear_self_test
    monkeypatch.setattr(cpu, "linear_self_test", lambda weight: shapes.append(tuple(weight.shape)) or real(weight))
    return shapes


def new_process(shape=SHAPE, dtype=torch.bfloat16, threads=1):
    stamp.circumstances.cache_clear()
    return cpu.mode_for.__wrapped__(*shape, dtype, threads)


def stamps(folder):
    return sorted((folder / "soundings" / "linear").glob("*"))


def test_what_was_found_is_believed_by_the_next_process(tested, tmp_path):
    first = new_process()
    assert new_process() == first and first[0] in cpu.MODES and tested == [SHAPE]
    processor(tmp_path, mhz=2000)
    assert new_process() == first and tested == [SHAPE], "a clock is no other processor"


def test_every_row_count_is_called_before_a_timed_step_may(tested, monkeypatch):
    _, large = new_process()
    called, build = [], cpu._BUILDERS["plain"]

    def counting(weight):
        project = build(weight)
        return lambda x: called.append(x.shape[0]) or project(x)

    for mode in cpu.MODES:
        monkeypatch.setitem(cpu._BUILDERS, mode, counting)
    new_process()
    assert called == [*cpu.ROW_COUNTS, *large]


@pytest.mark.parametrize("other", [{"shape": (64, 32)}, {"dtype": torch.float32}, {"threads": 2}])
def test_another_shape_is_tested(tested, other):
    new_process()
    new_process(**other)
    assert len(tested) == 2


def test_another_torch_library_processor_code_or_setting_is_tested(tested, monkeypatch, tmp_path):
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    (lib / "libtorch_cpu.so").write_bytes(b"old")
    monkeypatch.setattr(torch, "__file__", str(lib.parent / "__init__.py"))
    code = tmp_path / "code"
    code.mkdir()
    (code / "cpu.py").write_text("1")
    monkeypatch.setattr(stamp, "__file__", str(code / "stamp.py"))
    changes = [
        lambda: (lib / "libtorch_cpu.so").write_bytes(b"newer"),
        lambda: monkeypatch.setattr(torch, "__version__", "9.9"),
        lambda: processor(tmp_path, name="two"),
        lambda: processor(tmp_path, name="two", flags="avx2 avx512_bf16"),
        lambda: (code / "cpu.py").write_text("2"),
        lambda: monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2"),
    ]
    new_process()
    for count, change in enumerate(changes, 2):
        change()
        new_process()
        new_process()
        assert len(tested) == count


@pytest.mark.parametrize("damage", [
    lambda text: "", lambda text: text[: len(text) // 2], lambda text: "[]", lambda text: "{}", lambda text: text.replace('"threads": 1', '"threads": 2'),
    lambda text: json.dumps({**json.loads(text), "found": {"mode": "fast", "large": []}}),
    lambda text: json.dumps({**json.loads(text), "found": {"mode": "packed", "large": [7]}}),
    lambda text: json.dumps({**json.loads(text), "found": None}),
])
def test_a_damaged_stamp_is_tested_again_and_replaced(tested, tmp_path, damage):
    found = new_process()
    (path,) = stamps(tmp_path)
    path.write_text(damage(path.read_text()))
    assert new_process() == found and len(tested) == 2
    assert new_process() == found and len(tested) == 2 and stamps(tmp_path) == [path]


def test_an_unknown_processor_is_always_tested(tested, monkeypatch, tmp_path):
    for text in ("", "a line that tells nothing\n"):
        stamp.CPUINFO.write_text(text)
        new_process()
    monkeypatch.setattr(stamp, "CPUINFO", Path("/nowhere/cpuinfo"))
    new_process()
    assert len(tested) == 3 and not stamps(tmp_path)


def test_a_failed_test_and_a_folder_that_cannot_be_written_leave_no_stamp(monkeypatch, tmp_path):
    def fails(weight):
        raise RuntimeError("no mode")

    with monkeypatch.context() as patched:
        patched.setattr(cpu, "linear_self_test", fails)
        with pytest.raises(RuntimeError, match="no mode"):
            new_process()
    assert not stamps(tmp_path)
    (tmp_path / "soundings").write_text("a file stands where the folder should")
    assert new_process()[0] in cpu.MODES
