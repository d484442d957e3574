"""Confidence of a draft: how likely each guess is to be accepted once those before it are.

c_k = sigmoid((w [h_k ; W1[x_{k-1}]] + b) / t_k); the temperatures t_k were fitted after training, position by
position, on the calibration error of the cumulative product (sequential temperature scaling, DSpark paper).
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from engine.config import ConfigError
from engine.model.checkpoint import Checkpoint


class ConfidenceHead:
    """Reads the block's rows and the vanilla W1 of the tokens before, whatever Markov head picked them."""

    def __init__(self, weights: Path, rank: int, hidden: int) -> None:
        path = weights / "dspark_confidence.safetensors"
        if not path.is_file():
            raise ConfigError(
                f"--verify-mode: {path} not found, and a length scheduler needs confidences; "
                "train it with `python -m engine.train redraft` or take static"
            )
        self.source = Checkpoint(path)
        self.weight = self.source.take("linear.weight", 1, hidden + rank, dtype=torch.float32)[0]
        self.bias = self.source.take("linear.bias", 1, dtype=torch.float32)
        self.temperatures = torch.tensor(read_temperatures(path.with_suffix(".json")))

    def __call__(self, hidden: Tensor, embedded: Tensor) -> Tensor:
        """hidden [b, γ, d], embedded [b, γ, r] -> c [b, γ] float32 in (0, 1)."""
        raw = (torch.cat([hidden, embedded], 2).float() * self.weight).sum(2) + self.bias
        scale = self.temperatures[torch.arange(raw.shape[1]).clamp_max(len(self.temperatures) - 1)]
        return torch.sigmoid(raw / scale)


def read_temperatures(path: Path) -> list[float]:
    """t_k of the calibration file, [1.0] where there is none; `ConfigError` on a file that holds no temperatures."""
    if not path.is_file():
        return [1.0]
    try:
        found = [float(t) for t in json.loads(path.read_text("utf8"))["temperatures"]]
    except (ValueError, TypeError, KeyError) as fault:
        raise ConfigError(f"{path}: needs a list `temperatures` of numbers ({fault!r}); restore the file from the repository") from fault
    if not found or not all(0 < t < float("inf") for t in found):
        raise ConfigError(f"{path}: temperatures must be finite and above 0, got {found}")
    return found
