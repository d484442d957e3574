"""A request on its way through the engine, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.emission import StopStrings
from engine.memory.prefix_cache import Node
from engine.types import Request, RequestRecord


@dataclass(eq=False)
class Sequence:
    """Between two steps `length` tokens are in state and KV, and the newest token, the anchor, is not."""

    request: Request
    record: RequestRecord
    max_tokens: int
    """Asked-for tokens, or fewer where the context length ends first."""
    arrival: int = 0
    """Place in the order of arrival; kept over retractions."""
    slot: int = -1
    """State slot; -1 while the request holds nothing."""
    pages: list[int] = field(default_factory=list)
    shared: int = 0
    """Leading pages that belong to the prefix cache."""
    node: Node | None = None
    """Deepest node of the prefix cache whose pages it reads."""
    buffers: list[int] = field(default_factory=list)
    """State slots held back for checkpoints (strategy extra_buffer)."""
    tracked: list[tuple[int, int]] = field(default_factory=list)
    """(position, buffer) of states taken on the way through the prompt, oldest first."""
    pinned: list[Node] = field(default_factory=list)
    pauses: tuple[int, ...] = ()
    """Positions of the prompt where prefill must stop for a checkpoint."""
    length: int = 0
    """Tokens whose state and keys are committed; while decoding, the anchor's position."""
    anchor: int = -1
    stops: StopStrings | None = None
    aborted: bool = False
    """Its client left while a step was running; it goes before its tokens do."""

    @cached_property
    def _prompt(self) -> np.ndarray:
        return np.array(self.request.prompt_ids, dtype=np.int64)

    def tokens(self) -> np.ndarray:
        """Prompt and emitted tokens, int64 [n]."""
        return np.concatenate([self._prompt, np.array(self.record.token_ids, dtype=np.int64)])

    @property
    def isl(self) -> int:
        return len(self.request.prompt_ids)

    @property
    def known(self) -> int:
        """Length to reach before new tokens can come: the prompt, and what an earlier stay already generated."""
        return self.isl + max(0, len(self.record.token_ids) - 1)
