"""The facts, one module a section of the report. Importing this package registers all of them."""

from workflow.derive.facts import (  # noqa: F401
    accept,
    code,
    division,
    dspark,
    isl,
    lanes,
    loss,
    machine,
    mutation,
    noise,
    prologue,
    recommend,
    run,
    scale,
    search,
    training,
    window,
)
