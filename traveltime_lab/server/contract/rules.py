"""
Checks of requests beyond types: ids, references, counts over several arrays, windows.

Each rule gets a request in which `UNSET` stands for faulty values, and reports paths and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.area_requests import CellRequest
from traveltime_lab.server.contract.decode import is_faulty
from traveltime_lab.server.contract.errors import shown
from traveltime_lab.server.contract.requests import (
    PLACES_OF_OPTIONS,
    Combination,
    FastSearches,
    GeohashCoords,
    H3Coords,
    Request,
    Search,
)
from traveltime_lab.server.contract.transportation import ByTimetable

Report = Callable[[str, str], None]
_T = TypeVar("_T")


def iter_searches(request: Request) -> Iterator[tuple[str, Search]]:
    """Yield the JSON path and the content of each search that is not faulty as a whole."""
    by_direction = request.arrival_searches
    if isinstance(by_direction, FastSearches):
        arrays: dict[str, object] = {
            "obj.arrival_searches.one_to_many": by_direction.one_to_many,
            "obj.arrival_searches.many_to_one": by_direction.many_to_one,
        }
    elif is_faulty(by_direction):
        return
    else:
        arrays = {"obj.departure_searches": request.departure_searches, "obj.arrival_searches": by_direction}
    yield from _numbered(arrays, Search)


def iter_combinations(request: Request) -> Iterator[tuple[str, Combination]]:
    """Yield the JSON path and the content of each union and intersection."""
    yield from _numbered({"obj.unions": request.unions, "obj.intersections": request.intersections}, Combination)


def _numbered(arrays: dict[str, object], kind: type[_T]) -> Iterator[tuple[str, _T]]:
    """Yield paths and items of arrays, without faulty ones."""
    for path, array in arrays.items():
        for i, item in enumerate(array if isinstance(array, list) else ()):
            if isinstance(item, kind):
                yield f"{path}[{i}]", item


def has_search(request: Request, report: Report) -> None:
    """Check that there is a search in any array."""
    found = request.arrival_searches
    if is_faulty(found):
        return
    if isinstance(found, FastSearches):
        path, names, arrays = (
            "obj.arrival_searches",
            "one_to_many or many_to_one",
            (found.one_to_many, found.many_to_one),
        )
    else:
        path, names, arrays = "obj", "departure_searches or arrival_searches", (request.departure_searches, found)
    if not any(is_faulty(array) or array for array in arrays):
        report(path, f"must have at least one search in {names}")


def unique_ids(request: Request, report: Report) -> None:
    """Check that ids of searches, unions and intersections occur once."""
    seen: set[str] = set()
    named: list[tuple[str, Search | Combination]] = [*iter_searches(request), *iter_combinations(request)]
    for path, item in named:
        if is_faulty(item.id):
            continue
        if item.id in seen:
            text = f"must be unique among searches, unions and intersections; got {shown(item.id)!r} twice"
            report(f"{path}.id", text)
        seen.add(item.id)


def known_search_ids(request: Request, report: Report) -> None:
    """Check that unions and intersections name searches of the request."""
    known = {search.id for _, search in iter_searches(request)}
    for path, combination in iter_combinations(request):
        for i, search_id in enumerate(combination.search_ids if isinstance(combination.search_ids, list) else ()):
            if not is_faulty(search_id) and search_id not in known:
                text = f"must be the id of a search of this request; got {shown(search_id)!r}"
                report(f"{path}.search_ids[{i}]", text)


def usable_windows(request: Request, report: Report) -> None:
    """Check that enabled windows have a width, and a number of results where there can be several."""
    for path, search in iter_searches(request):
        window = search.range
        if window is None or is_faulty(window) or window.enabled is not True:
            continue
        if not isinstance(search.transportation, ByTimetable):
            continue
        values = {
            "width": (window.width, 1, limits.MAX_WINDOW_S),
            "max_results": (window.max_results, 1, limits.MAX_RESULTS),
        }
        for name, (value, least, most) in values.items():
            if value is None:
                report(f"{path}.range.{name}", "missing")
            elif not is_faulty(value) and not least <= value <= most:
                report(f"{path}.range.{name}", f"must be from {least} to {most}; got {value}")


def usable_changes(request: Request, report: Report) -> None:
    """Check that an enabled limit of changes is not negative."""
    for path, search in iter_searches(request):
        if not isinstance(search.transportation, ByTimetable):
            continue
        changes = search.transportation.max_changes
        if changes is None or is_faulty(changes) or changes.enabled is not True or is_faulty(changes.limit):
            continue
        if changes.limit < 0:
            report(f"{path}.transportation.max_changes.limit", f"must be at least 0; got {changes.limit}")


def one_place(request: CellRequest, report: Report) -> None:
    """Check that coordinates of cell searches are a place or the name of a cell."""
    for path, search in iter_searches(request):
        coords = search.coords
        if not isinstance(coords, H3Coords | GeohashCoords):
            continue
        pair = coords.lat, coords.lng
        if coords.cell is None:
            for field, value in zip(("lat", "lng"), pair, strict=True):
                if value is None:
                    report(f"{path}.coords.{field}", "missing")
        elif pair != (None, None):
            report(f"{path}.coords", f"must have lat and lng or {coords.cell_field}, not both")


def no_borders(request: Request, report: Report) -> None:
    """Check that no search is to stay within a country: networks carry no borders."""
    for path, search in iter_searches(request):
        means = search.transportation
        if getattr(means, "disable_border_crossing", None) is True:
            report(f"{path}.transportation.disable_border_crossing", "cannot be true: the maps here carry no borders")


def misplaced_options(request: Request, report: Report) -> None:
    """Check that options are in the objects that they belong to, not beside them."""
    for path, search in iter_searches(request):
        for name, place in PLACES_OF_OPTIONS.items():
            if getattr(search, name, None) is not None:
                report(f"{path}.{name}", f"is a field of {place}; write it there, as {place}.{name}")


_TRAVEL = (has_search, unique_ids, usable_windows, usable_changes, no_borders, misplaced_options)
#: The rules of requests for shapes, for cells, and for times between places or to zones; see also
#: `traveltime_lab.server.endpoints.locations`.
SHAPES = (*_TRAVEL, known_search_ids)
CELLS = (*SHAPES, one_place)
SEARCHES = _TRAVEL
