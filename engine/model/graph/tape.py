"""Record the operations of a forward with their memory, then run them again without the Python around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from engine.model.graph.arena import Arena, untracked


@cache
def out_variant(func: Any) -> Any | None:
    """The overload of an aten operator that writes into given tensors, or None."""
    wanted = [str(argument.type) for argument in func._schema.arguments]
    for name in func.overloadpacket.overloads():
        other = getattr(func.overloadpacket, name)
        given = [argument for argument in other._schema.arguments if not argument.is_out]
        outs = [argument for argument in other._schema.arguments if argument.is_out]
        if len(outs) == 1 and outs[0].name == "out" and [str(argument.type) for argument in given] == wanted:
            return other
    return None


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among an operator's arguments, which nest in lists at most."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


COPIES = ("aten::_to_copy", "aten::clone")
TAKES: dict[tuple, bool] = {}
"""Whether torch's binding takes these arguments, by operator and names; the same in every recording of a process."""


def bound(func: Any, args: tuple, kwargs: dict) -> Callable[[], Any]:
    """A call of an operator through torch's own binding where there is one: half the cost of the operator object."""
    space, name = func._schema.name.split("::")
    if func._schema.name in COPIES and "out" in kwargs:
        return partial(Tensor.copy_, kwargs["out"], args[0])
    binding = getattr(Tensor if name.endswith("_") else torch, name, None) if space == "aten" else None
    if binding is None:
        return partial(func, *args, **kwargs)
    key = func, len(args), tuple(sorted(kwargs))
    if key not in TAKES:
        try:
            # the static memory holds nothing yet, so one run more does no harm
            binding(*args, **kwargs)
            TAKES[key] = True
        except TypeError:  # of the same name, with other arguments
            TAKES[key] = False
    return partial(binding if TAKES[key] else func, *args, **kwargs)


class Tape(TorchDispatchMode):
    """A context that records; `replay` afterwards. Views cost nothing in a replay: the memory they look at does not move.

    Results land in static memory. Operators whose work depends on values (paged attention over each request's own
    length) do not belong on a tape: record them with `call`, and they are called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.arena = Arena()
        self.nodes: list[Callable[[], Any]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and torch's guard against it would import the compiler: a second of every boot."""
        return False

    def call(self, function: Callable[[], Any]) -> None:
        self.nodes.append(function)

    def new(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A static tensor of the program, for what a called function will write."""
        with _disable_current_modes():
            return self.arena.empty(shape, dtype)

    def kept(self, tensor: Tensor) -> Tensor:
        """What a called function may hold on to without keeping the memory from later operations."""
        with _disable_current_modes():
            return untracked(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func._schema.is_mutable:
            self.nodes.append(bound(func, untracked(args), {name: untracked(value) for name, value in kwargs.items()}))
            return result
        if isinstance(result, Tensor):
            return self._static(func, args, kwargs, result)
        if isinstance(result, (list, tuple)):  # split, unbind: views
            for part in result:
                self.arena.watch(part)
        return result

    def _static(self, func: Any, args: tuple, kwargs: dict, result: Tensor) -> Tensor:
        sources = [value for value in tensors_in((*args, *kwargs.values())) if not value.is_mkldnn]
        if any(result.untyped_storage().data_ptr() == value.untyped_storage().data_ptr() for value in sources):
            self.arena.watch(result)
            return result
        static = self.arena.empty_like(result)
        static.copy_(result)
        if func in (torch.ops.aten.empty.memory_format, torch.ops.aten.empty_like.default, torch.ops.aten.new_empty.default):
            return static
        out, into = out_variant(func), untracked(static)
        if out is not None:
            self.nodes.append(bound(out, untracked(args), {**kwargs, "out": into}))
        else:
            bare = untracked(args)
            self.nodes.append(lambda args=bare, kwargs=kwargs, into=into: into.copy_(func(*args, **kwargs)))
        return static

    def replay(self) -> None:
        for node in self.nodes:
            node()
