"""The facts, one module a section of the report. Importing this package registers all of them."""

from workflow.derive.facts import accept, division, dspark, isl, lanes, loss, machine, noise, prologue, recommend, run, scale, search, window  # noqa: F401
