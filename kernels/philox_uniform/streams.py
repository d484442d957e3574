"""Streams keep draws of different purpose at the same position of a request independent."""

DRAFT = 0
"""Gumbel noise of draft tokens (and of the target's picks under the coupled rule)."""
ACCEPT = 1
"""Uniforms that accept or reject drafts."""
RESIDUAL = 2
"""The uniform that picks the residual or bonus token."""
TARGET = 3
"""Gumbel noise of tokens that the target samples without a draft."""
