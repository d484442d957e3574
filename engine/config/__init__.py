"""Frozen configuration of the model, of one engine boot, and of sampling.

These dataclasses and `engine.types` are the only vocabulary that the engine's modules share.
"""

from engine.config.boot import WEIGHTS, EngineConfig
from engine.config.choices import (
    ACCEPT_RULES,
    DEFAULT_TOTAL_TOKENS,
    FUSED_VERIFY,
    LANES,
    MARKOV_HEADS,
    MODELS,
    MODES,
    RADIX_STRATEGIES,
    ROUNDING_STRIDE,
    SEEDS,
    SPECULATIVE_MAX_RUNNING,
    STATE_DTYPES,
    VERIFY_MODES,
)
from engine.config.fault import ConfigError
from engine.config.sampling import MOST_LOGPROBS, SamplingParams
from engine.config.shapes import DraftConfig, ModelConfig
from engine.config.size import parse_size

__all__ = [
    "ACCEPT_RULES",
    "DEFAULT_TOTAL_TOKENS",
    "FUSED_VERIFY",
    "LANES",
    "MARKOV_HEADS",
    "MODELS",
    "MODES",
    "MOST_LOGPROBS",
    "RADIX_STRATEGIES",
    "ROUNDING_STRIDE",
    "SEEDS",
    "SPECULATIVE_MAX_RUNNING",
    "STATE_DTYPES",
    "VERIFY_MODES",
    "WEIGHTS",
    "ConfigError",
    "DraftConfig",
    "EngineConfig",
    "ModelConfig",
    "SamplingParams",
    "parse_size",
]
