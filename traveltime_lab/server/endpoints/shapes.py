"""Answers with shapes: areas within a travel time or a distance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias

import msgspec
import shapely

from traveltime_lab.errors import BorderWarning
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search import area_shapes
from traveltime_lab.search.area_shapes import ShapeStyle
from traveltime_lab.search.query import Query
from traveltime_lab.server import formats
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.requests import Combination
from traveltime_lab.server.contract.shape_requests import (
    CoarseGrid,
    DistanceMapSearch,
    DrawnSearch,
    ShapesRequest,
    TimeMapSearch,
)
from traveltime_lab.server.endpoints.searches import (
    answer_of_maps,
    each_search,
    is_arrival,
    moment_of,
    place_of,
    question_of,
    snapping_of,
    transportation_of,
)
from traveltime_lab.surfaces.level_of_detail import LevelOfDetail, parse_level_of_detail
from traveltime_lab.surfaces.polygons import as_multipolygon

Combine: TypeAlias = Callable[[list[shapely.MultiPolygon]], shapely.MultiPolygon]


def shape_results(atlas: Atlas, request: ShapesRequest, *, is_fast: bool, media: str) -> list[formats.ShapeResult]:
    """
    Return the shapes of a request's searches, unions and intersections.

    Parameters
    ----------
    atlas : Atlas
    request : TimeMapRequest, FastTimeMapRequest or DistanceMapRequest
    is_fast : bool
    media : str
        Format of the answer: bounding boxes keep the level of detail, others lower it for long travel times.
    """

    def answer(path: str, search: DrawnSearch) -> formats.ShapeResult:
        lng, lat = search.coords.lng, search.coords.lat
        return answer_of_maps(atlas, search, lng, lat, lambda item: drawn_on(item.network, path, search))

    def drawn_on(network: Network, path: str, search: DrawnSearch) -> formats.ShapeResult:
        lng, lat = search.coords.lng, search.coords.lat
        detail = _detail_of(search, is_kept=media == formats.BOXES)
        if isinstance(search, DistanceMapSearch):
            query, limit = _distance_question(network, path, search), search.travel_distance
        else:
            assert search.travel_time is not None
            limit = search.travel_time
            query, detail = question_of(network, path, search, limit=limit, is_fast=is_fast), detail.downgraded(limit)
        style = _style_of(search, detail)
        found = draw(query, lng, lat, limit, style)
        properties: dict[str, Any] = {}
        requested = (search.properties if isinstance(search, TimeMapSearch) else None) or ()
        if "is_only_walking" in requested:
            properties["is_only_walking"] = _is_only_walking(query, lng, lat, limit, style, found)
        if "agencies" in requested and query.transit is None:
            # Streets have none; those of the rides of a shape are not known.
            properties["agencies"] = []
        return formats.ShapeResult(search.id, found, properties)

    results = each_search(request, DrawnSearch, answer)
    return results + _combined(request, results)


def draw(query: Query, lng: float, lat: float, limit: int, style: ShapeStyle) -> shapely.MultiPolygon:
    """Return the shape around a place; `NotCoveredError` if the place has no street."""
    shape = area_shapes.draw_shapes(query, place_of(query, lng, lat), (limit,), style)[0, 0]
    assert isinstance(shape, shapely.MultiPolygon)
    return shape


def _distance_question(network: Network, path: str, search: DistanceMapSearch) -> Query:
    departure, arrival = (None, moment_of(search)) if is_arrival(path) else (moment_of(search), None)
    means = transportation_of(search.transportation)
    return area_shapes.distance_query(network, means, departure, arrival, snapping_of(search))


def _is_only_walking(
    query: Query, lng: float, lat: float, limit: int, style: ShapeStyle, found: shapely.MultiPolygon
) -> bool:
    """Return whether a shape, found with the same arguments, is reached on foot without any vehicle."""
    if query.transit is None:
        return query.transportation.mode.is_only_walking
    on_foot = Query.of(query.question.on_foot, query.network)
    # The area itself has warned of the border.
    with warnings_to(lambda _: None, BorderWarning):
        return bool(draw(on_foot, lng, lat, limit, style).equals(found))


def _detail_of(search: DrawnSearch, *, is_kept: bool) -> LevelOfDetail:
    if search.level_of_detail is None:
        return parse_level_of_detail(limits.DEFAULT_LEVEL_OF_DETAIL)
    detail = msgspec.to_builtins(search.level_of_detail)
    if isinstance(search.level_of_detail, CoarseGrid):
        detail["square_size"] = min(detail["square_size"], limits.MAX_SQUARE_SIZE_M)
    return replace(parse_level_of_detail(detail), is_kept=is_kept)


def _style_of(search: DrawnSearch, detail: LevelOfDetail) -> ShapeStyle:
    options: dict[str, Any] = {}
    for name in ("no_holes", "render_mode", "remove_water_bodies"):
        if getattr(search, name) is not None:
            options[name] = getattr(search, name)
    if search.buffer_distance is not None:
        options["buffer_distance"] = min(search.buffer_distance, limits.MAX_BUFFER_M)
    if search.polygons_filter is not None:
        options["polygons_filter"] = min(search.polygons_filter.limit, limits.MAX_POLYGONS)
    elif search.single_shape:
        options["polygons_filter"] = 1
    return area_shapes.shape_style(detail, **options)


def _combined(request: ShapesRequest, results: list[formats.ShapeResult]) -> list[formats.ShapeResult]:
    """Return the unions and intersections of a request."""
    members = {result.search_id: result.shape for result in results}

    def combined(items: Sequence[Combination] | None, combine: Combine) -> list[formats.ShapeResult]:
        found = []
        for item in items or ():
            checkpoint()
            shapes = [members[search_id] for search_id in item.members]
            found.append(formats.ShapeResult(item.id, combine(shapes) if shapes else shapely.MultiPolygon(), {}))
        return found

    return combined(request.unions, _union) + combined(request.intersections, _intersection)


def _union(shapes: list[shapely.MultiPolygon]) -> shapely.MultiPolygon:
    return as_multipolygon(shapely.union_all(shapes))


def _intersection(shapes: list[shapely.MultiPolygon]) -> shapely.MultiPolygon:
    return reduce(lambda a, b: as_multipolygon(shapely.intersection(a, b)), shapes)
