"""The claims, one module a section of the report. Importing this package registers all of them."""

from workflow.derive.claims import accept, code, division, dspark, figures, lanes, loss, noise, prologue, run, scale, search, window  # noqa: F401
