"""
Answers about cells of the H3 and geohash systems.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec

from traveltime_lab.errors import InputError
from traveltime_lab.server import engine
from traveltime_lab.server.answers import (
    by_search_id,
    each_search,
    map_of,
    snapping_of,
    transportation_of,
    when_of,
    window_of,
)
from traveltime_lab.server.failures import schema_failure
from traveltime_lab.server.networks import Atlas

#: Smallest, largest and mean travel time of a cell in seconds.
Values = tuple[int, int, float]


class Cell(msgspec.Struct, gc=False):
    """A cell with the statistics that were asked for."""

    id: str
    properties: dict[str, int]


class CellsResult(msgspec.Struct):
    """The answer to one search, union or intersection."""

    search_id: str
    cells: list[Cell]


def cell_results(atlas: Atlas, request: Any, system: str, *, is_fast: bool) -> list[CellsResult]:
    """
    Return the cells of a request's searches, unions and intersections, sorted by search id.

    In a union or an intersection the smallest time of a cell is the smallest of its members', the largest their
    largest, the mean the mean of their means (contract 4.7).
    """

    def answer(path: str, search: Any) -> tuple[str, dict[str, Values]]:
        lng, lat = _centre(path, search, system)
        network = map_of(atlas, search, lng, lat).network
        ids, smallest, largest, mean = engine.cells(
            network,
            lng,
            lat,
            system=system,
            resolution=request.resolution,
            travel_time=search.travel_time,
            transportation=transportation_of(search, is_fast=is_fast),
            when=when_of(path, search),
            snapping=snapping_of(search),
            window=window_of(search) if hasattr(search, "range") else None,
            remove_water_bodies=search.remove_water_bodies is not False,
        )
        values = zip(smallest.tolist(), largest.tolist(), mean.tolist(), strict=True)
        return search.id, dict(zip(ids, values, strict=True))

    members = dict(each_search(request, answer))
    found = dict(members)
    for name in ("unions", "intersections"):
        for item in getattr(request, name) or ():
            found[item.id] = _combined([members[key] for key in item.search_ids], is_union=name == "unions")
    wanted = [name for name in ("min", "max", "mean") if name in request.properties]
    return by_search_id(
        CellsResult(key, [Cell(cell, _properties(values, wanted)) for cell, values in cells.items()])
        for key, cells in found.items()
    )


def _centre(path: str, search: Any, system: str) -> tuple[float, float]:
    """Return the place of a search, which may be the centre of a cell."""
    coords = search.coords
    cell = getattr(coords, f"{system}_centroid")
    if cell is None:
        return coords.lng, coords.lat
    try:
        return engine.cell_centre(system, cell)
    except InputError as error:
        raise schema_failure({f"{path}.coords.{system}_centroid": [str(error)]}) from error


def _properties(values: Values, wanted: list[str]) -> dict[str, int]:
    by_name = {"min": values[0], "max": values[1], "mean": values[2]}
    return {name: round(by_name[name]) for name in wanted}


def _combined(members: list[dict[str, Values]], *, is_union: bool) -> dict[str, Values]:
    """Return the cells in any of several answers, or in all."""
    values: defaultdict[str, list[Values]] = defaultdict(list)
    for member in members:
        for cell, value in member.items():
            values[cell].append(value)
    return {
        cell: (min(v[0] for v in each), max(v[1] for v in each), sum(v[2] for v in each) / len(each))
        for cell, each in values.items()
        if is_union or len(each) == len(members)
    }
