"""
What types cannot say about a request: ids, references, counts over several arrays, windows.

Each rule gets a request in which `UNSET` stands for whatever has a fault already, and reports paths and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET

from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.moments import read_moment

Report = Callable[[str, str], None]

_DIRECTIONS = ("one_to_many", "many_to_one")


def _list(owner: Any, name: str) -> list[Any]:
    """Return an array of a request, empty for what is null, absent or faulty."""
    value = getattr(owner, name, None)
    return value if isinstance(value, list) else []


def iter_searches(request: Any) -> Iterator[tuple[str, Any]]:
    """Yield the JSON path and the content of each search that is not faulty as a whole."""
    by_direction = getattr(request, "arrival_searches", None)
    if by_direction is UNSET:
        return
    if by_direction is None or isinstance(by_direction, list):
        owner, prefix, names = request, "obj", ("departure_searches", "arrival_searches")
    else:
        owner, prefix, names = by_direction, "obj.arrival_searches", _DIRECTIONS
    for name in names:
        for i, search in enumerate(_list(owner, name)):
            if search is not UNSET:
                yield f"{prefix}.{name}[{i}]", search


def iter_combinations(request: Any) -> Iterator[tuple[str, Any]]:
    """Yield the JSON path and the content of each union and intersection."""
    for name in ("unions", "intersections"):
        for i, combination in enumerate(_list(request, name)):
            if combination is not UNSET:
                yield f"obj.{name}[{i}]", combination


def has_search(request: Any, report: Report) -> None:
    """Check that there is a search, in whatever array."""
    owner, path, names = request, "obj", ("departure_searches", "arrival_searches")
    if not hasattr(request, "departure_searches"):
        owner, path, names = request.arrival_searches, "obj.arrival_searches", _DIRECTIONS
    if owner is UNSET:
        return
    arrays = [getattr(owner, name) for name in names]
    if not any(array is UNSET or array for array in arrays):
        report(path, f"must have at least one search in {names[0]} or {names[1]}")


def unique_ids(request: Any, report: Report) -> None:
    """Check that ids of searches, unions and intersections occur once."""
    seen: set[str] = set()
    for path, item in [*iter_searches(request), *iter_combinations(request)]:
        if item.id is UNSET:
            continue
        if item.id in seen:
            report(f"{path}.id", f"must be unique among searches, unions and intersections; got {item.id!r} twice")
        seen.add(item.id)


def known_search_ids(request: Any, report: Report) -> None:
    """Check that unions and intersections name searches of the request."""
    known = {search.id for _, search in iter_searches(request)}
    for path, combination in iter_combinations(request):
        for i, search_id in enumerate(_list(combination, "search_ids")):
            if search_id is not UNSET and search_id not in known:
                report(f"{path}.search_ids[{i}]", f"must be the id of a search of this request; got {search_id!r}")


def readable_moments(request: Any, report: Report) -> None:
    """Check that departure and arrival times can be read."""
    for path, search in iter_searches(request):
        for name in ("departure_time", "arrival_time"):
            value = getattr(search, name, None)
            if isinstance(value, str):
                try:
                    read_moment(value)
                except ValueError as error:
                    report(f"{path}.{name}", str(error))


def usable_windows(request: Any, report: Report) -> None:
    """Check that enabled windows have a width, and a number of results where there can be several."""
    bounds = {"width": (1, limits.MAX_RANGE_WIDTH_S), "max_results": (1, limits.MAX_RANGE_RESULTS)}
    for path, search in iter_searches(request):
        window = getattr(search, "range", None)
        kind = getattr(search, "transportation", None)
        if window in (None, UNSET) or window.enabled is not True or not hasattr(kind, "pt_change_delay"):
            continue
        for name, (least, most) in bounds.items():
            value = getattr(window, name, UNSET)
            if value is None:
                report(f"{path}.range.{name}", "missing")
            elif value is not UNSET and not least <= value <= most:
                report(f"{path}.range.{name}", f"must be from {least} to {most}; got {value}")


def usable_changes(request: Any, report: Report) -> None:
    """Check that an enabled limit of changes is not negative."""
    for path, search in iter_searches(request):
        changes = getattr(getattr(search, "transportation", None), "max_changes", None)
        if changes in (None, UNSET) or changes.enabled is not True or changes.limit is UNSET:
            continue
        if changes.limit < 0:
            report(f"{path}.transportation.max_changes.limit", f"must be at least 0; got {changes.limit}")


def one_place(request: Any, report: Report) -> None:
    """Check that coordinates of cell searches are a place or the name of a cell."""
    for path, search in iter_searches(request):
        coords = search.coords
        if coords is UNSET:
            continue
        name = "h3_centroid" if hasattr(coords, "h3_centroid") else "geohash_centroid"
        cell, pair = getattr(coords, name), (coords.lat, coords.lng)
        if cell is None:
            for field, value in zip(("lat", "lng"), pair, strict=True):
                if value is None:
                    report(f"{path}.coords.{field}", "missing")
        elif pair != (None, None):
            report(f"{path}.coords", f"must have lat and lng or {name}, not both")


def no_borders(request: Any, report: Report) -> None:
    """Check that nobody wants to stay within a country: networks carry no borders."""
    for path, search in iter_searches(request):
        if getattr(getattr(search, "transportation", None), "disable_border_crossing", None) is True:
            report(f"{path}.transportation.disable_border_crossing", "cannot be true: the maps here carry no borders")


_TRAVEL = (has_search, unique_ids, readable_moments, usable_windows, usable_changes, no_borders)
#: The rules of requests for shapes, for cells, and for times between places or to zones; see also
#: `traveltime_lab.server.endpoints.locations`.
SHAPES = (*_TRAVEL, known_search_ids)
CELLS = (*SHAPES, one_place)
SEARCHES = _TRAVEL
