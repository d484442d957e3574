"""`engine.sweep` on the stand-in engine, as a process that a test may kill."""

import sys

from engine import sweep
from engine.backends.embedded import EmbeddedBackend
from engine.bench import command

if __name__ == "__main__":
    EmbeddedBackend.worker = (sys.executable, "-m", "tests.measure.fake_worker")
    command.quietest_cpu = lambda: None
    command.leave_cpu = lambda cpu: None
    sys.exit(sweep.main(sys.argv[1:]))
