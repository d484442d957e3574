"""Which requests are refused when they arrive."""

from __future__ import annotations

from engine.types import Request


def refusal(request: Request, context_length: int, vocab_size: int) -> str | None:
    """Why no boot of this context and vocabulary could serve the request, as one line for the client, or None."""
    ids = request.prompt_ids
    if not ids:
        return "the prompt is empty; it must have at least one token"
    if len(ids) >= context_length:
        return f"the prompt has {len(ids)} tokens, the context length {context_length} leaves room for {context_length - 1}"
    if min(ids) < 0 or max(ids) >= vocab_size:
        return f"a prompt token id is outside 0..{vocab_size - 1}"
    return request.sampling.fault()
