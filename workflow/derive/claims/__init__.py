"""The claims, one module a section of the report. Importing this package registers all of them: a new module needs no entry here."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
