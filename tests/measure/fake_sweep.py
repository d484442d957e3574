"""`engine.sweep` on the stand-in engine, or the command that FAKE_PROGRAM names, as a process that a test may kill."""

import os
import sys

from engine import gate, search, sweep
from engine.backends.embedded import EmbeddedBackend
from engine.bench import command

if __name__ == "__main__":
    EmbeddedBackend.worker = (sys.executable, "-m", "tests.measure.fake_worker")
    command.quietest_cpu = lambda: None
    command.leave_cpu = lambda cpu: None
    sys.exit({"search": search, "gate": gate}.get(os.environ.get("FAKE_PROGRAM", ""), sweep).main(sys.argv[1:]))
