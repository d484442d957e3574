"""The claims, one module a section of the report. Importing this package registers all of them."""

from workflow.derive.claims import (  # noqa: F401
    accept,
    code,
    division,
    dspark,
    figures,
    kernels,
    lanes,
    ledger,
    loss,
    noise,
    prologue,
    rows,
    run,
    scale,
    search,
    window,
)
