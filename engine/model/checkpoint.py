"""Checkpoint files: tensors by name, checked against the shape the layer that asks expects."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from engine.config import ConfigError


class Checkpoint:
    """Named bf16 tensors of one safetensors file.

    Every tensor that a model takes is counted, so that `parameters` and `bytes` describe what is
    really served and a checkpoint with left-over tensors is seen.
    """

    def __init__(self, path: Path) -> None:
        """Raises `ConfigError` when the file is absent or is no safetensors file."""
        self.path = path
        if not path.is_file():
            raise ConfigError(f"{path}: weights not found; run `python -m engine.train` or point --weights at a folder that has them")
        try:
            self.tensors: dict[str, Tensor] = load_file(path)
        except SafetensorError as fault:
            raise ConfigError(f"{path}: not a readable safetensors file ({fault}); restore it from the repository") from fault
        self.taken: dict[str, Tensor] = {}

    def take(self, name: str, *shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        """The tensor `name`, which must have exactly `shape`, contiguous in `dtype`."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ConfigError(f"{self.path}: tensor {name} is missing; the file was written for another architecture")
        if tuple(tensor.shape) != shape:
            raise ConfigError(f"{self.path}: tensor {name} has shape {list(tensor.shape)}, the config asks for {list(shape)}")
        self.taken[name] = tensor
        return tensor.to(dtype).contiguous()

    @property
    def parameters(self) -> int:
        return sum(tensor.numel() for tensor in self.taken.values())

    @property
    def bytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.taken.values())

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.tensors) - set(self.taken)))
