"""The folder of real extracts, timetables and archives, which the repository does not have."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TRAVELTIME_LAB_DATA"


def folder() -> Path:
    """Return the folder that the variable names, or else one that may lie beside the repository."""
    return Path(os.environ.get(VARIABLE) or Path(__file__).parents[3] / "shared" / "data")
