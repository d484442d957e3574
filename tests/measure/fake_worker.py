"""The worker with the stand-in engine."""

import sys

from engine.bench.worker import main
from tests.measure.fake_engine import FakeEngine

if __name__ == "__main__":
    sys.exit(main(FakeEngine))
