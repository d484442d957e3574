"""Property tests: no deadline (machines are shared), and in CI the same examples every time.

A random draw that fails in CI says nothing about the change under test. Run here with other draws, and more of them:
`pytest --hypothesis-profile=search`.
"""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

BUSY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", **BUSY)
settings.register_profile("ci", **BUSY, derandomize=True, database=None)
settings.register_profile("search", **BUSY, max_examples=5000)

if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    # a machine is held by one measurement at a time, by a file in this folder: tests that measure would wait for each other
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix=f"soundings-{worker}-")
    atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)
