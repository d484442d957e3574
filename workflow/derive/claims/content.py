"""Whether free-running decoding flatters the accept length, and what random prompts do to it."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.registry import DECLARED, claim


def cite(read) -> None:
    read.cite(
        *(f"content.{name}.{what}" for name in DECLARED["one_content"] for what in ("free.accept_length", "free.distinct_4gram_share")),
        *(f"content.{name}.forced.accept_length" for name in ("code", "en", "zh")),
        *("content.histories", "content.texts.free", "content.texts.forced", "content.random.free.accept_length"),
        *("content.random.free.distinct_4gram_share", "content.plain.random_tpot_ms", "content.random.speedup"),
    )


@claim("content.free_flatters", kind="direction")
def free_flatters(read):
    """The accept length of free-running decoding is larger than that after true histories of the same contents."""
    cite(read)
    return above(read["content.texts.free"], read["content.texts.forced"])


@claim("content.random_misleads", kind="direction")
def random_misleads(read):
    """Prompts of random token ids give a smaller accept length than prompts of text."""
    cite(read)
    return below(read["content.random.free.accept_length"], read["content.texts.free"])
