"""Run the command line as ``python -m traveltime_lab``."""

from __future__ import annotations

import sys

from traveltime_lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
