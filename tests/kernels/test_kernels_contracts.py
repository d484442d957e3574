"""Every operator, every backend, every tensor argument: a fault in it is one ValueError, raised before anything runs.

The Triton launchers are called with CPU tensors outside of the interpreter: what they do not refuse would end in
Triton's "0 active drivers" and fail here.
"""

import importlib
import inspect
from dataclasses import replace

import pytest
import torch

from kernels.bench.cases import CASES, Inputs
from kernels.bench.sizes import SIZES
from kernels.registry import backends, load, operators

BOTH = [(op, backend) for op in operators() for backend in backends(op)]
RULES = ("chain_accept", "one_hot_accept", "block_accept")


def contract(op):
    return importlib.import_module(f"kernels.{op}.reference").CONTRACT


def call(op, backend, size=SIZES["small"]):
    """The function and its valid arguments by name; `linear` is its projection, with the weight as an argument."""
    case = CASES[op](Inputs(size, torch.device("cpu")))
    if op == "linear":
        return lambda x, weight: load(op, backend)(weight)(x), {"x": case.kwargs["x"], "weight": case.args[0]}
    function = load(op, backend)
    bound = inspect.signature(function).bind(*case.args, **case.kwargs)
    return function, dict(bound.arguments)


def refused(op, backend, name, value):
    """The message for a call with one argument replaced."""
    function, arguments = call(op, backend)
    arguments[name] = value
    with pytest.raises(ValueError) as caught:
        function(**arguments)
    assert str(caught.value).startswith(f"{op}: "), str(caught.value)
    return str(caught.value)


def tensors(op, backend):
    return {name: value for name, value in call(op, backend)[1].items() if isinstance(value, torch.Tensor)}


@pytest.mark.parametrize("op, backend", BOTH)
def test_what_is_no_tensor_or_has_another_type_is_named(op, backend):
    for name, tensor in tensors(op, backend).items():
        assert name in refused(op, backend, name, tensor.tolist())
        if name not in ("pool", "values"):
            assert name in refused(op, backend, name, tensor.to(torch.complex64))


@pytest.mark.parametrize("op, backend", BOTH)
def test_a_tensor_elsewhere_is_named(op, backend):
    arguments = tensors(op, backend)
    if op == "linear":
        del arguments["weight"]  # packed where it lies, before there is another tensor to disagree with
    for name, tensor in arguments.items() if len(arguments) > 1 or op == "linear" else ():
        message = refused(op, backend, name, tensor.to("meta"))
        assert "meta" in message and "cpu" in message


@pytest.mark.parametrize("op, backend", BOTH)
def test_a_last_dimension_with_gaps_is_named(op, backend):
    for name, tensor in tensors(op, backend).items():
        if name in contract(op).arguments and tensor.dim() and tensor.shape[-1] > 1:
            message = refused(op, backend, name, tensor.repeat_interleave(2, -1)[..., ::2])
            assert name in message and "strides" in message


@pytest.mark.parametrize("op, backend", BOTH)
def test_a_size_that_two_arguments_share_must_agree(op, backend):
    declared = contract(op).arguments
    given = tensors(op, backend)
    for name, tensor in given.items():
        dims = declared[name].dims if name in declared else ()
        first = tensor.dim() - len([letter for letter in dims if letter != "..."])
        for axis, letter in enumerate((letter for letter in dims if letter != "..."), start=first):
            shared = letter.isdigit() or any(letter in declared[other].dims for other in given if other != name and other in declared)
            if shared:
                message = refused(op, backend, name, tensor.narrow(axis, 0, tensor.shape[axis] - 1).contiguous())
                assert any(other in message for other in given) and message.count("[") >= 2, message
        if dims and dims[0] != "...":
            message = refused(op, backend, name, tensor.unsqueeze(0))
            assert message.count("[") >= 2, message


@pytest.mark.parametrize("op, backend", [(op, backend) for op, backend in BOTH if "G" in " ".join(sum((a.dims for a in contract(op).arguments.values()), ()))])
def test_blocks_beyond_fifteen_are_refused(op, backend):
    function, arguments = call(op, backend, replace(SIZES["small"], window=17))
    with pytest.raises(ValueError, match=r"γ = 16 is outside 1\.\.15"):
        function(**arguments)


@pytest.mark.parametrize("op, backend", [(op, backend) for op, backend in BOTH if op in RULES])
def test_debug_mode_names_rows_that_are_no_distribution(op, backend):
    for name in ("p", "q"):
        function, arguments = call(op, backend)
        if name in arguments:
            arguments[name] = arguments[name] * 1.5
            with pytest.raises(ValueError, match=rf"{op}: {name} \[.*\] has rows that do not sum to one, worst off by 0\.5"):
                function(**arguments, debug=True)


def test_a_layout_is_examined_once_and_the_memory_of_layouts_is_bounded(monkeypatch):
    from kernels import contract as module

    checked = module.Contract("op", x="A | f32")
    assert checked.check(x=torch.zeros(3)) == {"A": 3}
    monkeypatch.setattr(checked, "_examine", lambda tensors: pytest.fail("examined again"))
    assert checked.check(x=torch.ones(3)) == {"A": 3}
    monkeypatch.undo()
    monkeypatch.setattr(module, "MOST_LAYOUTS", 4)
    for size in range(10):
        assert checked.check(x=torch.zeros(size)) == {"A": size}
        assert len(checked.accepted) <= 4
    with pytest.raises(ValueError, match=r"op: x must be a tensor \[A\], got NoneType"):
        checked.check(x=None)
