"""Which measurements a campaign has: present, present without a good row, or absent."""

from workflow.derive.facts.coverage import FILES, SEARCHED, SWEEPS
from workflow.derive.registry import claim


@claim("measured.{what}", kind="count", measure="rows", what=(*SWEEPS, "modes", *(f"search.{part}" for part in SEARCHED), *FILES))
def measured(read, what):
    """This campaign has at least one good row of that measurement."""
    return read[f"measured.{what}"] - 0.5
