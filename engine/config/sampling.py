"""How one request picks its tokens, and what no lane here can honour."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config.choices import SEEDS

MOST_LOGPROBS = 20


@dataclass(frozen=True)
class SamplingParams:
    """How one request picks tokens and when it ends."""

    temperature: float = 0.0
    top_k: int = 0
    """0 keeps the whole vocabulary."""
    top_p: float = 1.0
    min_p: float = 0.0
    """Keep tokens of at least this share of the likeliest one's probability, after top_k and top_p; 0 keeps all."""
    max_tokens: int = 64
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    """Strings that end the text; the token that completes one is the last."""
    seed: int | None = None
    """Key of this request's noise; None takes the engine's seed."""
    logprobs: int | None = None
    """None keeps none, 0 each emitted token's own, n also the n likeliest; natural logarithms before temperature."""
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    """These four are refused unless neutral: see `fault`."""

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0 or self.top_k == 1

    def fault(self) -> str | None:
        """What is wrong with these values, as one line for the client, or None."""
        if not 0.0 <= self.temperature < float("inf"):
            return f"temperature {self.temperature} must be a finite number of at least 0"
        if self.top_k < 0:
            return f"top_k {self.top_k} must be at least 0 (0 keeps the whole vocabulary)"
        if not 0.0 < self.top_p <= 1.0:
            return f"top_p {self.top_p} must be in (0, 1]"
        if not 0.0 <= self.min_p <= 1.0:
            return f"min_p {self.min_p} must be in [0, 1] (0 keeps the whole vocabulary)"
        if self.max_tokens < 1:
            return f"max_tokens {self.max_tokens} must be at least 1"
        if self.seed is not None and not SEEDS[0] <= self.seed <= SEEDS[1]:
            return f"seed {self.seed} must fit into 64 bits, {SEEDS[0]} to {SEEDS[1]}"
        if isinstance(self.stop, str) or not all(isinstance(text, str) and text for text in self.stop):
            return "stop must be a list of strings that are not empty"
        if self.logprobs is not None and not 0 <= self.logprobs <= MOST_LOGPROBS:
            return f"logprobs {self.logprobs} must be 0 (the emitted token's own) to {MOST_LOGPROBS}"
        return self._unsupported()

    def _unsupported(self) -> str | None:
        """A law that hangs on the tokens before it differs at every verified position, which no lane here computes."""
        neutral = {"presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.0}
        asked = [name for name, value in neutral.items() if getattr(self, name) != value]
        if self.logit_bias:
            asked.append("logit_bias")
        if asked:
            return f"{asked[0]} is not supported: verification cannot honour it at every position of a window; leave it out"
        return None
