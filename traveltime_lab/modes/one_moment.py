"""
Means of transportation where speeds must not change on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traveltime_lab.errors import UnsupportedError
from traveltime_lab.modes.transportation import Transportation, as_transportation


def of_one_moment(value: str | Transportation | Mapping[str, Any], what: str) -> Transportation:
    """Return a `Transportation` as `as_transportation`; raise UnsupportedError if its speeds change on the way."""
    means = as_transportation(value)
    if means.time_dependent:
        raise UnsupportedError(
            f"{what} has the speeds of one moment; time_dependent=True is for searches. Leave it out."
        )
    return means
