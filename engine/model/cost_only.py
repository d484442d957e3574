"""Cost-only models: sizes nobody trained, with random weights made at first use. Their text means nothing, their times do."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from engine.config import MODELS, WEIGHTS, ConfigError, EngineConfig, ModelConfig
from engine.model.random_weights import write_random_weights
from kernels.environment import cache_folder

SEED = 1
VERSION = 2
"""Raised when the same name means other weights."""

CONFIGS = {
    # 25 M and 60 M parameters: the sizes at which a forward stops being overhead and becomes memory
    "random-25m": ModelConfig(hidden_size=512, num_heads=8, num_kv_heads=2, intermediate_size=1280),
    "random-60m": ModelConfig(hidden_size=768, num_heads=12, num_kv_heads=4, intermediate_size=1792),
    # 32 experts, four a token: which weights a step reads depends on how many positions it verifies
    "random-moe": ModelConfig(
        hidden_size=384, num_heads=6, num_kv_heads=2, intermediate_size=192, num_experts=32, num_experts_per_tok=4
    ),
}


def weights_folder(config: EngineConfig) -> Path:
    """`config.weights` for the trained model, else the folder of the random one, written on first use.

    The same name gives the same bits on every machine with the same torch.
    """
    if config.model not in MODELS:
        raise ConfigError(f"--model {config.model}: unknown model; known are {', '.join(MODELS)}")
    if config.model == "trained":
        return config.weights
    target = cache_folder() / f"{config.model}-v{VERSION}"
    if not (target / "complete").is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{config.model}-", dir=target.parent))
        try:
            write_random_weights(partial, CONFIGS[config.model], seed=SEED)
            # ids are ids: the tokenizer of the trained model serves, so that prompts can be written
            shutil.copyfile(WEIGHTS / "tokenizer.json", partial / "tokenizer.json")
            (partial / "complete").touch()
            if not target.exists():
                os.replace(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target
