"""
Validate searches for areas, draw their shapes, and return them as tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray, ObjectArray
from traveltime_lab._checks import finite, flag, one_of, percent, travel_times_s, whole
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.limits import (
    MAX_BUFFER_M,
    MAX_POLYGONS,
    MAX_TRAVEL_TIME_S,
    MIN_BUFFER_M,
)
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.question import MomentLike
from traveltime_lab.rounding import most_s
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.progress import advance
from traveltime_lab.search import border, trip_costs
from traveltime_lab.search.query import Query, ask
from traveltime_lab.search.tables import geo_frame
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, Snaps, on_closed_streets
from traveltime_lab.surfaces import polygons, raster, road_buffer
from traveltime_lab.surfaces.field import Field
from traveltime_lab.surfaces.level_of_detail import LevelOfDetail, parse_level_of_detail

#: Reasons why an area is empty.
_REASONS: Final = pd.CategoricalDtype(
    ["origin_outside_network", "origin_not_snapped", "origin_street_closed", "over_limit"]
)


@dataclass(frozen=True)
class ShapeStyle:
    """Validated shape options."""

    detail: LevelOfDetail
    no_holes: bool
    n_polygons: int | None
    is_road_buffer: bool
    buffer_m: int
    no_water: bool


def shape_style(
    detail: LevelOfDetail,
    *,
    no_holes: Any = False,
    polygons_filter: Any = None,
    render_mode: Any = "approximate_time_filter",
    buffer_distance: Any = 1000,
    remove_water_bodies: Any = True,
) -> ShapeStyle:
    """Validate the shape options."""
    if isinstance(polygons_filter, Mapping):
        unknown = set(polygons_filter) - {"limit"}
        if unknown or "limit" not in polygons_filter:
            msg = f"polygons_filter must be {{'limit': n}} or a number; got {dict(polygons_filter)!r}"
            raise InputError(msg)
        polygons_filter = polygons_filter["limit"]
    n_polygons = None
    if polygons_filter is not None:
        n_polygons = whole(polygons_filter, "polygons_filter", 1, MAX_POLYGONS, "polygons")
    one_of(render_mode, "render_mode", ("approximate_time_filter", "road_buffering"))
    return ShapeStyle(
        detail=detail,
        no_holes=flag(no_holes, "no_holes"),
        n_polygons=n_polygons,
        is_road_buffer=render_mode == "road_buffering",
        buffer_m=whole(buffer_distance, "buffer_distance", MIN_BUFFER_M, MAX_BUFFER_M, "metres"),
        no_water=flag(remove_water_bodies, "remove_water_bodies"),
    )


def area_query(
    network: Any,
    *,
    travel_time: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    window: Any,
    percentile: Any,
    level_of_detail: Any,
    max_emissions: Any = None,
    max_cost: Any = None,
    costs: Any = None,
    **shape_options: Any,
) -> tuple[Query, tuple[int, ...], ShapeStyle]:
    """Validate the parameters of isochrones; the others are those of `shape_style`."""
    limits = travel_times_s(travel_time, MAX_TRAVEL_TIME_S)
    percents = () if percentile is None else (percent(percentile, "percentile"),)
    most = trip_costs.limits_of(max_emissions, max_cost)
    query = ask(
        network,
        transportation,
        departure_time,
        arrival_time,
        snapping,
        limit=max(limits),
        window=window,
        percents=percents,
        costs=trip_costs.requested_costs(costs, most),
    )
    query = trip_costs.within(query, most)
    style = shape_style(parse_level_of_detail(level_of_detail).downgraded(max(limits)), **shape_options)
    if percents and style.is_road_buffer:
        msg = "percentile needs render_mode='approximate_time_filter': each departure reaches other roads"
        raise UnsupportedError(msg)
    if most and style.is_road_buffer:
        names = " and ".join(f"max_{name}" for name in most)
        raise UnsupportedError(f"{names} needs render_mode='approximate_time_filter': roads have no emissions or costs")
    return query, limits, style


def area_table(query: Query, places: Points, limits: Sequence[int], style: ShapeStyle, column: str) -> gpd.GeoDataFrame:
    """Return the table of areas, one row per origin and limit."""
    snaps = query.snap(places, is_origin=not query.is_arrival)
    shapes, reaches_border = draw_areas(query, snaps, limits, style)
    of_limits = {column: np.tile(np.array(limits, np.int32), len(places))}
    return table_of_shapes(query, places, snaps, shapes, reaches_border, of_limits)


def table_of_shapes(
    query: Query,
    places: Points,
    snaps: Snaps,
    shapes: ObjectArray,
    reaches_border: BoolArray | None,
    columns: Mapping[str, Any],
) -> gpd.GeoDataFrame:
    """
    Return a table with some shapes of each origin.

    Parameters
    ----------
    query : Query
    places, snaps : Points and Snaps of length n_origins
    shapes : object array of shape (n_origins, n_each)
    reaches_border : bool array of shape (n_origins, n_each), optional
    columns : mapping
        The first columns, with ``n_origins * n_each`` values.
    """
    geometry = shapes.ravel()
    n_each = shapes.shape[1]
    status = np.repeat(snaps.status, n_each)
    codes = np.where(status == OUTSIDE, 0, np.where(status == SNAPPED, 3, 1))
    codes[np.repeat(on_closed_streets(query.graph.topology, snaps), n_each)] = 2
    codes[(codes == 3) & ~shapely.is_empty(geometry)] = -1
    more: dict[str, Any] = {
        "snap_distance": np.repeat(finite(snaps.distance_m), n_each),
        "reason": pd.Categorical.from_codes(codes, dtype=_REASONS),
    }
    if reaches_border is not None:
        more[border.COLUMN] = reaches_border.ravel()
    index = places.index if n_each == 1 else places.index.repeat(n_each)
    return geo_frame({**columns, **more}, geometry, index)


def draw_shapes(query: Query, snaps: Snaps, limits: Sequence[int], style: ShapeStyle) -> ObjectArray:
    """
    Return the areas within one or more limits of each origin, with one search for each origin.

    Parameters
    ----------
    query : Query
        Validated query, from `ask` for the largest limit, or from `distance_query` for limits in metres.
    snaps : Snaps
        Snapped origins, see `Query.snap_at`.
    limits : sequence of int
        Maximum travel times in seconds, or distances in metres.
    style : ShapeStyle

    Returns
    -------
    object array of shape (n_origins, n_limits)
        MultiPolygons in EPSG:4326, empty if an origin is not snapped.
    """
    return draw_areas(query, snaps, limits, style)[0]


def draw_areas(
    query: Query, snaps: Snaps, limits: Sequence[int], style: ShapeStyle
) -> tuple[ObjectArray, BoolArray | None]:
    """Return the areas as `draw_shapes` does, and which reach the border, None if it is not known; warn of these."""
    shapes = np.full((len(snaps), len(limits)), shapely.MultiPolygon(), dtype=object)
    way = border.of_streets(query, snaps)
    for i in np.flatnonzero(snaps.status == SNAPPED).tolist():
        shapes[i], aboard = _shapes(query, snaps.one(i), limits, style)
        way[i] = min(way[i], aboard)
        advance(1)
    # A contour is interpolated between cells on both sides of the limit, as `_shapes` says.
    return shapes, border.of_areas(
        query, snaps, way, limits, shapes, style.detail.cell_m(query.egress_transportation.base)
    )


def _shapes(
    query: Query, here: Snaps, limits: Sequence[int], style: ShapeStyle
) -> tuple[list[shapely.MultiPolygon], float]:
    """Return the areas of one origin, and with a timetable the way from there to the border; inf if it is not known."""
    checkpoint()
    field = query.field_from(here, searched_limit(query, limits, style))
    return shapes_of_field(query, here, field, limits, style), border.of_field(query, here, field)


def searched_limit(query: Query, limits: Sequence[int], style: ShapeStyle) -> float:
    """
    Return the limit of the search for areas.

    It is one cell beyond the limit of the areas, so that the contour is interpolated between computed values. Values
    farther away have no effect: `contour_polygons` clips them.
    """
    return max(_levels(query, limits)) + style.detail.cell_m(query.egress_transportation.base)


def _levels(query: Query, limits: Sequence[int]) -> list[float]:
    """Return the values up to which places are within each limit."""
    return [float(limit) if query.is_in_metres else most_s(limit) for limit in limits]


def shapes_of_field(
    query: Query, here: Snaps, field: Field, limits: Sequence[int], style: ShapeStyle
) -> list[shapely.MultiPolygon]:
    """Return the areas within each limit, given the values of a search with `searched_limit` from one origin."""
    levels, cell_m = _levels(query, limits), style.detail.cell_m(query.egress_transportation.base)
    checkpoint()
    if style.is_road_buffer:
        drawn = [_road_buffer(query, field, level, style, cell_m) for level in levels]
    else:
        drawn_on = raster.surfaces(
            query.network.streets,
            query.egress_transportation,
            query.snapping,
            field,
            cell_m=cell_m,
            buffer_m=float(style.buffer_m),
            limits=levels,
            is_kept=trip_costs.places_within(query, here, max(limits) + 1),
        )
        checkpoint()
        drawn = [
            _contour(query, here, field, surface, level, style, cell_m)
            for level, surface in zip(levels, drawn_on, strict=True)
        ]
    return [_finished(query.network, shape, style) for shape in drawn]


def _road_buffer(query: Query, field: Field, level: float, style: ShapeStyle, cell_m: float) -> shapely.MultiPolygon:
    """Return the area around the roads whose values are at most a level, in local metres."""
    pieces = road_buffer.reached_pieces(query.network.streets, field, level)
    if not pieces.size:
        return shapely.MultiPolygon()
    # Distances are exact at cell centres, so cells smaller than a fortieth of the buffer do not change the shape.
    cell_m = float(np.clip(cell_m, style.buffer_m / 40.0, style.buffer_m / 5.0))
    distances = road_buffer.road_buffer_surface(pieces, float(style.buffer_m), cell_m=cell_m, frame=query.network.frame)
    checkpoint()
    if style.detail.square_size_m is not None:
        return polygons.coarse_grid_polygons(distances, float(style.buffer_m), float(style.detail.square_size_m))
    return polygons.contour_polygons(distances, float(style.buffer_m), steepest=cell_m)


def _contour(
    query: Query,
    here: Snaps,
    field: Field,
    drawn: polygons.Surface,
    level: float,
    style: ShapeStyle,
    cell_m: float,
) -> shapely.MultiPolygon:
    """Return the area of a surface whose values are at most a level, with the origin, in local metres."""
    x, y = (float(values[0]) for values in query.network.frame.to_xy(here.lng, here.lat))
    radius = raster.origin_radius(field, query.snapping, cell_m, level)
    if style.detail.square_size_m is not None:
        return polygons.coarse_grid_polygons(
            drawn, level, float(style.detail.square_size_m), origin_xy=(x, y) if radius > 0.0 else None
        )
    halvings = style.detail.halvings(query.egress_transportation.base, is_length=field.is_length)
    shape = polygons.contour_polygons(drawn, level, halvings=halvings)
    if radius > 0.0 and not polygons.is_surrounded(drawn, level, x, y):
        shape = polygons.include_point(shape, x, y, radius)
    return shape


def _finished(network: Network, shape: shapely.MultiPolygon, style: ShapeStyle) -> shapely.MultiPolygon:
    """Return a shape in longitude and latitude, without water, holes or small polygons if the style says so."""
    checkpoint()
    if style.no_water:
        shape = network.water.subtract(shape)
    if style.no_holes:
        shape = polygons.fill_holes(shape)
    checkpoint()
    if style.n_polygons is not None:
        shape = polygons.largest_polygons(shape, style.n_polygons, frame=network.frame)
    return polygons.to_lnglat(shape, network.frame)


def distance_query(
    network: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    *,
    shortest: Any = False,
) -> Query:
    """Validate the arguments that searches by distance share, as `ask` does for searches by travel time."""
    shortest = flag(shortest, "shortest")
    query = ask(network, transportation, departure_time, arrival_time, snapping, "distance")
    if shortest:
        return query
    return replace(ask(network, transportation, departure_time, arrival_time, snapping), is_length=True)
