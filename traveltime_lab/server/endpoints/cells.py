"""
Answers about cells of the H3 and geohash systems.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pandas as pd

from traveltime_lab.errors import InputError
from traveltime_lab.server import engine
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.contract.decode import Rule
from traveltime_lab.server.contract.rules import iter_searches
from traveltime_lab.server.endpoints.searches import (
    by_search_id,
    each_search,
    map_of,
    snapping_of,
    transportation_of,
    when_of,
    window_of,
)


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

    def answer(path: str, search: Any) -> tuple[str, pd.DataFrame]:
        lng, lat = _centre(search, system)
        return search.id, engine.cells(
            map_of(atlas, search, lng, lat).network,
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

    members = dict(each_search(request, answer))
    found = dict(members)
    for name in ("unions", "intersections"):
        for item in getattr(request, name) or ():
            tables = [members[key] for key in item.search_ids]
            # Of no searches there are no cells, whatever the table.
            found[item.id] = (
                engine.combine_cells(tables, is_union=name == "unions")
                if tables
                else next(iter(members.values())).iloc[:0]
            )
    wanted = [name for name in ("min", "max", "mean") if name in request.properties]
    return by_search_id(CellsResult(key, _listed(table, wanted)) for key, table in found.items())


def _listed(table: pd.DataFrame, wanted: list[str]) -> list[Cell]:
    """Return cells with the statistics that were asked for."""
    columns = [table[name].tolist() for name in wanted]
    if not columns:
        return [Cell(cell, {}) for cell in table["cell"].tolist()]
    rows = zip(*columns, strict=True)
    return [
        Cell(cell, dict(zip(wanted, row, strict=True))) for cell, row in zip(table["cell"].tolist(), rows, strict=True)
    ]


def known_centres(system: str) -> Rule:
    """Return the rule that the cells whose centres searches start from exist."""

    def check(request: Any, report: Callable[[str, str], None]) -> None:
        for path, search in iter_searches(request):
            cell = getattr(search.coords, f"{system}_centroid", None)
            if isinstance(cell, str):
                try:
                    engine.cell_centre(system, cell)
                except InputError as error:
                    report(f"{path}.coords.{system}_centroid", str(error))

    return check


def _centre(search: Any, system: str) -> tuple[float, float]:
    """Return the place of a search, which may be the centre of a cell."""
    cell = getattr(search.coords, f"{system}_centroid")
    return (search.coords.lng, search.coords.lat) if cell is None else engine.cell_centre(system, cell)
