"""Which stages the backend could not do."""

from workflow.derive.facts.skipped import STAGES
from workflow.derive.registry import claim


@claim("skipped.{stage}", kind="count", measure="files", stage=tuple(STAGES))
def skipped(read, stage):
    """The campaign lists the stage, and its files hold the reason for being skipped in place of rows; fails where they hold rows."""
    if read.has(f"skipped.{stage}"):
        return read[f"skipped.{stage}"] - 0.5
    return 0.5 - read[f"measured.{stage}"]
