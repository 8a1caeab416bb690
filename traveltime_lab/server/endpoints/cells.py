"""
Answers about cells of the H3 and geohash systems.
"""

from __future__ import annotations

import msgspec
import numpy as np

from traveltime_lab.errors import InputError
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search.cell_times import CELL_PROPERTIES, CellTimes, cell_times, combined_times
from traveltime_lab.search.cells import cell_centres
from traveltime_lab.search.query import Query
from traveltime_lab.server.atlas import Atlas, Map
from traveltime_lab.server.contract.area_requests import CellRequest, CellSearch, FastCellSearch, ResolvedRequest
from traveltime_lab.server.contract.decode import Rule
from traveltime_lab.server.contract.requests import GeohashCoords, H3Coords, Search
from traveltime_lab.server.contract.rules import Report, iter_searches
from traveltime_lab.server.endpoints.searches import answer_of_maps, by_search_id, each_search, place_of, question_of
from traveltime_lab.surfaces.grids import Grid


class Cell(msgspec.Struct, gc=False):
    """A cell with the requested statistics."""

    id: str
    properties: dict[str, int]


class CellsResult(msgspec.Struct):
    """The answer to one search, union or intersection."""

    search_id: str
    cells: list[Cell]


class _Found(msgspec.Struct):
    """The cells of one search."""

    search_id: str
    times: CellTimes


def cell_results(atlas: Atlas, request: ResolvedRequest, system: Grid, *, is_fast: bool) -> list[CellsResult]:
    """
    Return the cells of a request's searches, unions and intersections, sorted by search id.

    In a union or an intersection the smallest time of a cell is the smallest of its members', the largest their
    largest, the mean the mean of their means (docs/contract.md, 4.7).
    """

    def answer(path: str, search: Search) -> _Found:
        assert isinstance(search, CellSearch | FastCellSearch)
        lng, lat = _centre(search, system)
        limit, no_water = search.travel_time, search.remove_water_bodies is not False

        def found_on(item: Map) -> _Found:
            query = question_of(item.network, path, search, limit=limit, is_fast=is_fast)
            return _Found(search.id, find_cells(query, lng, lat, system, request.resolution, limit, no_water))

        return answer_of_maps(atlas, search, lng, lat, found_on)

    members = {found.search_id: found.times for found in each_search(request, Search, answer)}
    found = dict(members)
    for union in request.unions or ():
        checkpoint()
        found[union.id] = combined([members[key] for key in union.members], is_union=True)
    for intersection in request.intersections or ():
        checkpoint()
        found[intersection.id] = combined([members[key] for key in intersection.members], is_union=False)
    requested: list[str] = [name for name in CELL_PROPERTIES if name in request.properties]
    return by_search_id(CellsResult(key, _listed(times, requested)) for key, times in found.items())


def find_cells(
    query: Query, lng: float, lat: float, system: Grid, resolution: int, limit: int, no_water: bool
) -> CellTimes:
    """Return the cells within a travel time; `NotCoveredError` if the place has no street."""
    ((found,),) = cell_times(query, place_of(query, lng, lat), system, resolution, (limit,), no_water=no_water)
    return found


def combined(members: list[CellTimes], *, is_union: bool) -> CellTimes:
    """Return the cells in any of several answers, or in all; no cells without searches."""
    if not members:
        nothing = np.zeros(0, np.int32)
        return CellTimes(np.zeros(0, dtype=object), nothing, nothing, nothing)
    return combined_times(members, at_least=1 if is_union else len(members))


def _listed(times: CellTimes, requested: list[str]) -> list[Cell]:
    """Return cells with the requested statistics."""
    names = times.cell.tolist()
    if not requested:
        return [Cell(name, {}) for name in names]
    rows = zip(*(getattr(times, name).tolist() for name in requested), strict=True)
    return [Cell(name, dict(zip(requested, row, strict=True))) for name, row in zip(names, rows, strict=True)]


def known_centres(system: Grid) -> Rule:
    """Return the rule that the cells whose centres searches start from exist."""

    def check(request: CellRequest, report: Report) -> None:
        for path, search in iter_searches(request):
            coords = search.coords
            if isinstance(coords, H3Coords | GeohashCoords) and isinstance(coords.cell, str):
                try:
                    cell_centres(system, [coords.cell])
                except InputError as error:
                    report(f"{path}.coords.{coords.cell_field}", str(error))

    return check


def _centre(search: Search, system: Grid) -> tuple[float, float]:
    """Return the place of a search, which may be the centre of a cell."""
    coords = search.coords
    assert isinstance(coords, H3Coords | GeohashCoords)
    if coords.cell is None:
        assert coords.lng is not None and coords.lat is not None  # see `traveltime_lab.server.contract.rules.one_place`
        return coords.lng, coords.lat
    lng, lat = cell_centres(system, [coords.cell])
    return float(lng[0]), float(lat[0])
