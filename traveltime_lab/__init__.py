"""
Isochrones and travel-time matrices on your own machine, from OpenStreetMap.

Build or load a network once, then ask it::

    import traveltime_lab as tl

    network = tl.sample_network()
    homes = tl.sample_points()
    areas = tl.time_map(network, homes, travel_time=900, transportation="walking")
    times = tl.time_filter(network, homes, homes, travel_time=1800, transportation="driving")

Importing this package is cheap: each name loads its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Which module defines each public name.
_HOMES = {
    "CoordinateError": "errors",
    "CrsError": "errors",
    "DataError": "errors",
    "Explanation": "reasons",
    "Fares": "legs",
    "FormatError": "errors",
    "GtfsError": "errors",
    "InputError": "errors",
    "InterruptedSearchError": "errors",
    "Leg": "legs",
    "LimitError": "errors",
    "MissingDependencyError": "errors",
    "MissingFileError": "errors",
    "ModeError": "errors",
    "MomentError": "errors",
    "Network": "network",
    "NoServiceError": "errors",
    "Nominatim": "nominatim",
    "Reason": "reasons",
    "Ride": "legs",
    "Route": "legs",
    "ServiceError": "errors",
    "Snapping": "modes",
    "Step": "legs",
    "StopCall": "legs",
    "Ticket": "legs",
    "Transportation": "modes",
    "TravelTimeError": "errors",
    "TravelTimeMap": "widget.view",
    "UnsupportedError": "errors",
    "add_speeds": "speeds",
    "build_network": "network",
    "difference": "shapes",
    "distance_map": "areas",
    "explain": "explanations",
    "geocode": "geocoding",
    "geohash_cells": "cells",
    "geohash_centroids": "cells",
    "h3_cells": "cells",
    "h3_centroids": "cells",
    "intersection": "shapes",
    "intersection_cells": "cells",
    "load_network": "network",
    "plot": "pictures",
    "reverse_geocode": "geocoding",
    "routes": "journeys",
    "sample_network": "sample",
    "sample_points": "sample",
    "serve": "server.running",
    "shape_accuracy": "areas",
    "snap": "time_filters",
    "time_filter": "time_filters",
    "time_map": "areas",
    "union": "shapes",
    "union_cells": "cells",
}

__all__ = [  # noqa: RUF022  sorted as `_HOMES`, then the version; a test compares the two
    "CoordinateError",
    "CrsError",
    "DataError",
    "Explanation",
    "Fares",
    "FormatError",
    "GtfsError",
    "InputError",
    "InterruptedSearchError",
    "Leg",
    "LimitError",
    "MissingDependencyError",
    "MissingFileError",
    "ModeError",
    "MomentError",
    "Network",
    "NoServiceError",
    "Nominatim",
    "Reason",
    "Ride",
    "Route",
    "ServiceError",
    "Snapping",
    "Step",
    "StopCall",
    "Ticket",
    "Transportation",
    "TravelTimeError",
    "TravelTimeMap",
    "UnsupportedError",
    "add_speeds",
    "build_network",
    "difference",
    "distance_map",
    "explain",
    "geocode",
    "geohash_cells",
    "geohash_centroids",
    "h3_cells",
    "h3_centroids",
    "intersection",
    "intersection_cells",
    "load_network",
    "plot",
    "reverse_geocode",
    "routes",
    "sample_network",
    "sample_points",
    "serve",
    "shape_accuracy",
    "snap",
    "time_filter",
    "time_map",
    "union",
    "union_cells",
    "__version__",
]

if TYPE_CHECKING:
    from traveltime_lab.areas import distance_map, shape_accuracy, time_map
    from traveltime_lab.cells import (
        geohash_cells,
        geohash_centroids,
        h3_cells,
        h3_centroids,
        intersection_cells,
        union_cells,
    )
    from traveltime_lab.errors import (
        CoordinateError,
        CrsError,
        DataError,
        FormatError,
        GtfsError,
        InputError,
        InterruptedSearchError,
        LimitError,
        MissingDependencyError,
        MissingFileError,
        ModeError,
        MomentError,
        NoServiceError,
        ServiceError,
        TravelTimeError,
        UnsupportedError,
    )
    from traveltime_lab.explanations import explain
    from traveltime_lab.geocoding import geocode, reverse_geocode
    from traveltime_lab.journeys import routes
    from traveltime_lab.legs import Fares, Leg, Ride, Route, Step, StopCall, Ticket
    from traveltime_lab.modes import Snapping, Transportation
    from traveltime_lab.network import Network, build_network, load_network
    from traveltime_lab.nominatim import Nominatim
    from traveltime_lab.pictures import plot
    from traveltime_lab.reasons import Explanation, Reason
    from traveltime_lab.sample import sample_network, sample_points
    from traveltime_lab.server.running import serve
    from traveltime_lab.shapes import difference, intersection, union
    from traveltime_lab.speeds import add_speeds
    from traveltime_lab.time_filters import snap, time_filter
    from traveltime_lab.widget.view import TravelTimeMap


#: What people who know other packages look for.
_ELSEWHERE = {
    "isochrone": "time_map",
    "isochrones": "time_map",
    "isodistance": "distance_map",
    "travel_time_matrix": "time_filter",
    "traveltimematrix": "time_filter",
    "distance_matrix": "time_filter(..., properties=('travel_time', 'distance'))",
    "shortest_path": "routes",
    "route": "routes",
    "directions": "routes",
    "itineraries": "routes",
    "map": "TravelTimeMap",
    "explore": "TravelTimeMap, or explore() of any answer",
    "graph_from_place": "build_network",
    "read_network": "load_network",
    "transportnetwork": "build_network",
}


def __getattr__(name: str) -> Any:
    """Load the module of a public name when the name is first used (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        hint = f"; here it is {_ELSEWHERE[name.lower()]}" if name.lower() in _ELSEWHERE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__})
