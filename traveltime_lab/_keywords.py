"""
Names of arguments in other packages, answered with those here.

Imports nothing heavy: `traveltime_lab.Transportation` is cheap to import.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar, cast

from traveltime_lab.errors import KeywordError

_F = TypeVar("_F", bound=Callable[..., Any])

#: Arguments here, and their names in other packages.
_NAMED_ELSEWHERE: Final[Mapping[str, str]] = {
    "departure_time": """departure departure_datetime depart depart_at departs_at leave_at start_time datetime date_time
        moment time when""",
    "arrival_time": "arrival arrival_datetime arrive arrive_by arrive_at end_time",
    "travel_time": """max_time max_travel_time max_duration max_trip_duration max_minutes minutes trip_time trip_times
        cutoff cutoffs cutoff_sec duration time_limit seconds""",
    "distance": "max_distance cutoff_distance dist metres meters length",
    "transportation": """mode modes type transport transport_mode transport_modes transportation_mode travel_mode
        transportation_type network_type profile costing vehicle means""",
    "type": "mode transportation transport transport_mode transportation_type",
    "mode": "transportation transport_mode network_type",
    "origins": """origin from_ from_point from_points start starts source sources orig departure_location point points
        location locations places center centre center_point coords""",
    "origin": "origins from_ from_point start source orig departure_location",
    "destinations": "destination to to_point to_points end ends target targets dest arrival_location",
    "destination": "destinations to to_point end target dest arrival_location",
    "points": "origins point location locations places",
    "network": "graph g transport_network net",
    "networks": "network graph net",
    "window": "departure_time_window time_window range",
    "resolution": "res h3_resolution precision",
    "k": "num n n_nearest num_pois maxitems n_neighbors",
    "gtfs": "gtfs_path gtfs_paths feed feeds",
    "osm": "osm_pbf osm_file pbf filepath place",
}


def meant_by(name: str, known: Collection[str]) -> str | None:
    """Return the argument, of those known, that is called `name` in other packages; None if there is none."""
    wanted = name.lower()
    return next((here for here, names in _NAMED_ELSEWHERE.items() if here in known and wanted in names.split()), None)


def explained_keywords(target: _F) -> _F:
    """Have a function, or the constructor of a class, say what an argument that it does not have is called here."""
    if inspect.isclass(target):
        kind: Any = target
        kind.__init__ = _explained(kind.__init__, kind.__name__)
        return target
    return cast(_F, _explained(target, target.__name__))


def _explained(function: Callable[..., Any], shown: str) -> Callable[..., Any]:
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    names = frozenset(known)

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if not keywords.keys() <= names:
            wrong = next(name for name in keywords if name not in names)
            meant = meant_by(wrong, known)
            if meant is not None:
                hint = f"Here it is {meant!r}{', in seconds' if meant == 'travel_time' else ''}."
            else:
                close = difflib.get_close_matches(wrong.lower(), known, n=2)
                hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"It has {', '.join(known)}."
            raise KeywordError(f"{shown}() has no argument {wrong!r}. {hint}")
        return function(*arguments, **keywords)

    return checked
