"""
What a still map shows: checked tables in local metres, and the colours that their rows have.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final

import geopandas as gpd
import numpy as np
import numpy.typing as npt
import shapely

from traveltime_lab import basemap, looks
from traveltime_lab.errors import CrsError, InputError
from traveltime_lab.network import Network

#: Share of what is shown that is left free around it.
_MARGIN: Final = 0.06
#: A map of one point or none shows at least this much, in metres.
_LEAST_M: Final = 500.0
#: More values than this are a scale, not a legend.
_MOST_SWATCHES: Final = 8
#: How much longer than wide a picture may be, or the other way round.
_STEEPEST: Final = 1.6


@dataclass(frozen=True)
class Scene:
    """Checked input in local metres."""

    network: Network
    box: basemap.Box
    areas: gpd.GeoDataFrame | None
    area_shapes: npt.NDArray[Any]
    points: gpd.GeoDataFrame | None
    point_xy: npt.NDArray[np.float64]
    lines: npt.NDArray[Any]
    column: str | None


def _table(table: Any, name: str) -> gpd.GeoDataFrame | None:
    """Return a table in EPSG:4326."""
    if table is None:
        return None
    if isinstance(table, gpd.GeoSeries):
        table = table.to_frame("geometry")
    if not isinstance(table, gpd.GeoDataFrame):
        msg = f"{name} must be a GeoDataFrame or GeoSeries; got {type(table).__name__}"
        raise InputError(msg)
    if table.crs is None:
        msg = f"{name} has no CRS; say what its coordinates are, e.g. {name}.set_crs('EPSG:4326')"
        raise CrsError(msg)
    shapes = np.asarray(table.geometry.array)
    return table[~(shapely.is_missing(shapes) | shapely.is_empty(shapes))].to_crs("EPSG:4326")


def scene_of(network: Any, areas: Any, points: Any, lines: Any, column: str | None, bounds: Any) -> Scene:
    """Check the input and bring it to local metres."""
    if not isinstance(network, Network):
        msg = f"the first argument must be a Network; got {type(network).__name__}"
        raise InputError(msg)
    frame = network.frame

    def local(shapes: Any) -> npt.NDArray[Any]:
        return np.asarray(
            shapely.transform(np.asarray(shapes), lambda c: np.column_stack(frame.to_xy(c[:, 0], c[:, 1])))
        )

    tables = {"areas": _table(areas, "areas"), "points": _table(points, "points"), "lines": _table(lines, "lines")}
    if column is not None and not any(t is not None and column in t.columns for t in tables.values()):
        msg = f"neither points nor areas have a column {column!r}"
        raise InputError(msg)
    shapes = {
        name: np.empty(0, dtype=object) if table is None else local(table.geometry.array)
        for name, table in tables.items()
    }
    point_shapes = shapes["points"]
    if len(point_shapes) and (shapely.get_type_id(point_shapes) != 0).any():
        msg = "points must hold points; use .representative_point() or pass polygons as areas"
        raise InputError(msg)
    if len(shapes["areas"]) and (shapely.get_dimensions(shapes["areas"]) != 2).any():
        msg = "areas must hold polygons; pass lines as lines=, points as points="
        raise InputError(msg)
    if bounds is not None:
        west, south, east, north = bounds
        x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
        box = (float(x[0]), float(y[0]), float(x[1]), float(y[1]))
    else:
        everything = np.concatenate(list(shapes.values()))
        if not len(everything):
            west, south, east, north = network.bounds
            x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
            everything = shapely.points(x, y)
        box = _roomy(tuple(shapely.total_bounds(everything).tolist()))
    return Scene(
        network,
        box,
        tables["areas"],
        shapes["areas"],
        tables["points"],
        shapely.get_coordinates(point_shapes),
        shapes["lines"],
        column,
    )


def _roomy(box: tuple[float, ...]) -> basemap.Box:
    """Return a box with a margin, neither tiny nor very long."""
    west, south, east, north = box
    half_x = max(east - west, _LEAST_M) * (0.5 + _MARGIN)
    half_y = max(north - south, _LEAST_M) * (0.5 + _MARGIN)
    half_x, half_y = max(half_x, half_y / _STEEPEST), max(half_y, half_x / _STEEPEST)
    x, y = (west + east) / 2.0, (south + north) / 2.0
    return x - half_x, y - half_y, x + half_x, y + half_y


def area_values(scene: Scene) -> npt.NDArray[np.float64] | None:
    """Return the number that each area is coloured by, None if there is none."""
    if scene.areas is None:
        return None
    name = value_column(scene)
    return None if name is None else scene.areas[name].to_numpy(dtype=np.float64)


def value_column(scene: Scene) -> str | None:
    """Return the column that areas are coloured by."""
    columns = () if scene.areas is None else scene.areas.columns
    names = (scene.column, "travel_time", "distance")
    return next((name for name in names if name is not None and name in columns), None)


def is_scale(values: npt.NDArray[np.float64]) -> bool:
    """Return whether values are too many for swatches."""
    return np.unique(values).size > _MOST_SWATCHES


def groups_of(scene: Scene) -> npt.NDArray[Any]:
    """Return whose area each row is."""
    areas = scene.areas
    if areas is None:
        return np.empty(0, dtype=object)
    if "origin" in areas.columns:
        return np.asarray(areas["origin"].to_numpy(), dtype=object)
    values = area_values(scene)
    if values is not None and np.unique(values).size == len(values):
        return np.zeros(len(areas), dtype=object)  # rings of one place
    return np.asarray(areas.index.to_numpy(), dtype=object)


def group_colours(scene: Scene) -> dict[Hashable, list[str]]:
    """Return the colours of the rings of each group, small to large."""
    values = area_values(scene)
    n_rings = 1 if values is None else np.unique(values).size
    groups = list(dict.fromkeys(groups_of(scene).tolist()))
    if len(groups) == 1 or len(groups) > len(looks.ORIGIN_COLOURS):
        return dict.fromkeys(groups, looks.ramp(n_rings))
    return {group: looks.tints(looks.ORIGIN_COLOURS[i], n_rings) for i, group in enumerate(groups)}


def limits_of(scene: Scene) -> tuple[float, float]:
    """Return the least and the greatest value of the scale."""
    parts = [
        table[scene.column].to_numpy(dtype=np.float64, na_value=np.nan)
        for table in (scene.points, scene.areas)
        if table is not None and scene.column in table.columns
    ]
    values = np.concatenate(parts) if parts else area_values(scene)
    if values is None or not np.isfinite(values).any():
        return 0.0, 1.0
    return float(np.nanmin(values)), float(np.nanmax(values))


def bands(scene: Scene) -> list[tuple[str, Any, str]]:
    """Return the colour, the shape and the colour of the outline of each band."""
    if scene.areas is None or not len(scene.areas):
        return []
    values = area_values(scene)
    if values is not None and is_scale(values):
        low, high = float(values.min()), float(values.max())
        colours = [looks.ramp_colour((float(v) - low) / (high - low or 1.0)) for v in values]
        return [(colour, shape, "none") for colour, shape in zip(colours, scene.area_shapes, strict=True)]
    bands = []
    by_group = group_colours(scene)
    for group, colours in by_group.items():
        mine = np.flatnonzero(groups_of(scene) == group)
        rank = np.zeros(mine.size, np.intp) if values is None else np.unique(values, return_inverse=True)[1][mine]
        inner: Any = shapely.MultiPolygon()
        for position in mine[np.argsort(rank, kind="stable")]:
            shape = scene.area_shapes[position]
            colour = colours[0 if values is None else int(np.searchsorted(np.unique(values), values[position]))]
            bands.append((colour, shapely.difference(shape, inner), colour if len(by_group) == 1 else colours[0]))
            inner = shapely.union(inner, shape)
    return bands[::-1]
