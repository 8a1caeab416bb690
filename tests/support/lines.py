"""What holds for the lines of all routes."""

from __future__ import annotations

import numpy as np
import shapely

from traveltime_lab.itinerary import Route


def has_no_joint_twice(line: shapely.LineString) -> bool:
    """Return whether no point of a line follows itself, up to 0.1 mm; a line of no length is one point twice."""
    moves = (np.abs(np.diff(shapely.get_coordinates(line), axis=0)) > 1e-9).any(axis=1)
    return bool(moves.all()) or len(moves) == 1


def assert_no_joint_twice(route: Route) -> None:
    """Assert that no point of the lines of a route, its legs and its steps follows itself."""
    assert has_no_joint_twice(route.geometry)
    for leg in route.legs:
        assert has_no_joint_twice(leg.geometry), leg.directions
        assert all(has_no_joint_twice(step.geometry) for step in leg.steps), leg.directions
