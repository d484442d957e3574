"""`python -m workflow.cli` is `soundings`."""

import sys

from workflow.cli import main

sys.exit(main())
