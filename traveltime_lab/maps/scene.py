"""
The contents of a static map: validated layers in local metres, and the colours of their rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, FloatArray, unique_values
from traveltime_lab._checks import floats_of, is_hashable
from traveltime_lab.errors import CoordinateError, CrsError, InputError
from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.shading import Shading
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.forks import cached_property

#: Margin around the layers as a share of their extent.
_MARGIN: Final = 0.06
#: Minimum extent of a map in metres.
_LEAST_M: Final = 500.0
#: Maximum number of values in a legend; more are shown as a colour bar.
_MOST_SWATCHES: Final = 8
#: Maximum number of origins that are distinguished by numbers, if there are more origins than colours.
MOST_NUMBERS: Final = 30
#: Columns of cells in seconds with their labels, in the order in which they are chosen for colouring.
_CELL_SECONDS: Final = {"mean": "mean travel time", "min": "shortest travel time", "max": "longest travel time"}
#: Columns that identify a search result; if its geometries are empty, nothing was reached.
_ANSWER: Final = ("travel_time", "travel_time_limit", "distance", "reason", "cell")
#: Column of the results of `compare` that maps draw in a diverging scale.
DIFFERENCE: Final = "increase"
#: Maximum ratio of the sides of a map.
_STEEPEST: Final = 1.6


@dataclass(frozen=True)
class Scene:
    """
    Validated layers of a map, in local metres.

    Attributes
    ----------
    network : Network
    box : tuple of float
        West, south, east, north.
    areas, points, lines : GeoDataFrame or None
        Layers in EPSG:4326, without rows with missing or empty geometries.
    area_shapes, line_shapes : object arrays
        Geometries of the rows in local metres.
    point_xy : float64 array of shape (n_points, 2)
        Coordinates of the points in local metres.
    column : str or None
        Column to colour by.
    note : str
        Note on missing contents; empty if nothing is missing.
    shading : Shading
        Options of the colours of values.
    """

    network: Network
    box: basemap.Box
    areas: gpd.GeoDataFrame | None
    area_shapes: AnyArray
    points: gpd.GeoDataFrame | None
    point_xy: FloatArray
    lines: gpd.GeoDataFrame | None
    line_shapes: AnyArray
    column: str | None
    note: str
    shading: Shading

    @cached_property
    def group_colours(self) -> dict[Hashable, list[str]]:
        """The colours of the rings of each group of areas, from the smallest ring to the largest."""
        return _group_colours(self)

    @property
    def numbers(self) -> dict[Hashable, str]:
        """The number of each group of areas, if there are more groups than colours."""
        groups = list(self.group_colours)
        if not len(style.ORIGIN_COLOURS) < len(groups) <= MOST_NUMBERS or self.is_scale:
            return {}
        own = [str(group) for group in groups]
        short = all(len(text) <= 2 for text in own)
        return dict(zip(groups, own if short else map(str, range(1, len(groups) + 1)), strict=True))

    @cached_property
    def point_values(self) -> FloatArray | None:
        """The value that each point is coloured by; None if points are not coloured by value."""
        if self.column is None or self.points is None or self.column not in self.points.columns:
            return None
        return read_numbers(self.points, self.column)

    @cached_property
    def area_values(self) -> FloatArray | None:
        """The value that each area is coloured by; None if areas are not coloured by value."""
        return None if self.areas is None or self.area_column is None else read_numbers(self.areas, self.area_column)

    @property
    def area_column(self) -> str | None:
        """The column that areas are coloured by, None if there is none."""
        columns = () if self.areas is None else self.areas.columns
        if self.column is None and compares_areas(self.areas):
            return None  # gained and lost are two colours, not two sizes
        names = (
            self.column,
            DIFFERENCE if is_comparison(self.areas) else None,
            "travel_time",
            "distance",
            *(_CELL_SECONDS if "cell" in columns else ()),
        )
        return next((name for name in names if name is not None and name in columns), None)

    @property
    def steps(self) -> FloatArray:
        """The unique values of areas in increasing order."""
        return np.empty(0) if self.area_values is None else _distinct(self.area_values)

    @property
    def is_scale(self) -> bool:
        """Whether areas need a colour bar: cells, a given column, or too many values for a legend."""
        if self.areas is None:
            return False
        if self.is_diverging or self.shading.is_given:
            return self.steps.size > 0
        is_chosen = self.column in self.areas.columns and self.area_column not in ("travel_time", "distance")
        return self.steps.size > (0 if is_chosen or "cell" in self.areas.columns else _MOST_SWATCHES)

    @property
    def is_diverging(self) -> bool:
        """Whether colours are those of a difference, centred on zero."""
        name = self.area_column if self.point_values is None else self.column
        return name == DIFFERENCE

    @property
    def measure(self) -> tuple[str, bool]:
        """The label of the colour bar, and whether values are in seconds."""
        table = self.areas if self.point_values is None else self.points
        name = self.area_column if self.point_values is None else self.column
        if name is None:
            return "", False
        if name in _CELL_SECONDS and table is not None and "cell" in table.columns:
            return _CELL_SECONDS[name], True
        return name.replace("_", " "), name.startswith("travel_time")

    @cached_property
    def values(self) -> FloatArray:
        """The finite values that are shown by colours."""
        parts = [self.point_values]
        if self.column is None or (self.areas is not None and self.column in self.areas.columns):
            parts.append(self.area_values)
        found = np.concatenate([part for part in parts if part is not None] or [np.empty(0)])
        return np.asarray(found[np.isfinite(found)])

    @property
    def limits(self) -> tuple[float, float]:
        """The minimum and maximum of the colour bar; values that are far out are beyond."""
        return self.shading.limits(self.values, is_centred=self.is_diverging)

    @cached_property
    def edges(self) -> FloatArray | None:
        """The ends of the classes, one more than there are classes; None if there are none."""
        return self.shading.edges(self.values)

    def place(self, values: FloatArray) -> list[str]:
        """Return the colours of values; missing values are grey."""
        return self.shading.place(values, self.values, is_diverging=self.is_diverging)

    def colour(self, share: float) -> str:
        """Return the colour of a place on the scale, from 0 to 1."""
        return self.shading.colour(share, is_diverging=self.is_diverging)


def is_comparison(table: Any) -> bool:
    """Return whether a table is a result of `compare`."""
    return table is not None and {"before", "after", DIFFERENCE} <= set(table.columns)


def compares_areas(table: Any) -> bool:
    """Return whether a table has the areas that `compare` says were gained and lost."""
    if not is_comparison(table) or "change" not in table.columns or "cell" in table.columns:
        return False
    return len(table) > 0 and bool(table["change"].isin(style.AREA_CHANGES).all())


def _distinct(values: FloatArray) -> FloatArray:
    """Return the unique finite values in increasing order."""
    return unique_values(values[np.isfinite(values)])


def read_numbers(table: gpd.GeoDataFrame, name: Hashable) -> FloatArray:
    """Return a column as floats, with NaN for missing values."""
    try:
        return floats_of(table[name])
    except (TypeError, ValueError) as error:
        msg = f"column {name!r} must hold numbers to colour by; got {table[name].dtype}"
        raise InputError(msg) from error


def read_table(table: Any, name: str) -> gpd.GeoDataFrame | None:
    """Validate a layer and convert it to EPSG:4326, without empty geometries."""
    if table is None:
        return None
    if isinstance(table, gpd.GeoSeries):
        table = table.to_frame("geometry")
    if not isinstance(table, gpd.GeoDataFrame):
        msg = f"{name} must be a GeoDataFrame or GeoSeries; got {type(table).__name__}"
        raise InputError(msg)
    if table.crs is None:
        msg = f"{name} has no CRS; set it first, for example with {name}.set_crs('EPSG:4326')"
        raise CrsError(msg)
    if table._geometry_column_name is None or not table.columns.is_unique:
        msg = f"{name} must have an active geometry and columns with different names; see {name}.set_geometry(...)"
        raise InputError(msg)
    shapes = np.asarray(table.geometry.array)
    kept = table[~(shapely.is_missing(shapes) | shapely.is_empty(shapes))].to_crs("EPSG:4326")
    if not kept.geometry.is_valid.all():
        kept = kept.set_geometry(kept.geometry.make_valid())
    if not np.isfinite(shapely.get_coordinates(np.asarray(kept.geometry.array))).all():
        msg = f"{name} has coordinates that are not finite"
        raise CoordinateError(msg)
    # Tables are put together by kind, for which their shapes must have one name.
    return kept if kept.geometry.name == "geometry" else kept.rename_geometry("geometry")


def _by_kind(tables: dict[str, gpd.GeoDataFrame | None]) -> dict[str, gpd.GeoDataFrame | None]:
    """Move points and lines that were given as areas to where they belong."""
    given = tables["areas"]
    if given is None or not len(given):
        return tables
    dimensions = shapely.get_dimensions(np.asarray(given.geometry.array))
    sorted_out = dict(tables)
    for dimension, name in ((0, "points"), (1, "lines"), (2, "areas")):
        mine = given[dimensions == dimension]
        other = tables[name] if name != "areas" else None
        if len(mine):
            sorted_out[name] = mine if other is None or not len(other) else gpd.GeoDataFrame(pd.concat([mine, other]))
        elif name == "areas":
            sorted_out[name] = None
    return sorted_out


def scene_of(
    network: Any, areas: Any, points: Any, lines: Any, column: Any, bounds: Any, shading: Shading | None = None
) -> Scene:
    """Validate the layers and convert them to local metres."""
    if not isinstance(network, Network):
        msg = (
            f"the first argument must be a Network, whose streets are the base map; got {type(network).__name__}. "
            "Call plot(network, areas, points)"
        )
        raise InputError(msg)
    frame = network.frame

    def local(shapes: Any) -> AnyArray:
        return np.asarray(
            shapely.transform(np.asarray(shapes), lambda c: np.column_stack(frame.to_xy(c[:, 0], c[:, 1])))
        )

    if column is not None and not is_hashable(column):
        msg = f"column must be the name of a column; got {column!r}"
        raise InputError(msg)
    tables = {
        "areas": read_table(areas, "areas"),
        "points": read_table(points, "points"),
        "lines": read_table(lines, "lines"),
    }
    note = _note(areas, tables["areas"])
    tables = _by_kind(tables)
    if column is not None and not any(t is not None and column in t.columns for t in tables.values()):
        # Empty geometries have been dropped, but the input tables may have the column.
        if not any(t is not None and column in t.columns for t in (areas, points, lines) if hasattr(t, "columns")):
            msg = f"neither points nor areas have a column {column!r}"
            raise InputError(msg)
        column = None
    shapes = {
        name: np.empty(0, dtype=object) if table is None else local(table.geometry.array)
        for name, table in tables.items()
    }
    point_shapes = shapes["points"]
    if len(point_shapes) and (shapely.get_type_id(point_shapes) != 0).any():
        msg = "points must hold points; use .representative_point() or pass polygons as areas"
        raise InputError(msg)
    if bounds is not None:
        from traveltime_lab.search.geocoding.geocode import check_bounds  # noqa: PLC0415 - only for given bounds

        west, south, east, north = check_bounds(bounds)
        x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
        box = (float(x[0]), float(y[0]), float(x[1]), float(y[1]))
        if not (box[0] < box[2] and box[1] < box[3]):
            msg = f"bounds must have a west below its east and a south below its north; got {bounds!r}"
            raise InputError(msg)
    else:
        everything = np.concatenate(list(shapes.values()))
        if not len(everything):
            west, south, east, north = network.bounds
            x, y = frame.to_xy(np.array([west, east]), np.array([south, north]))
            everything = shapely.points(x, y)
        box = _roomy(tuple(shapely.total_bounds(everything).tolist()))
    dots = tables["points"]
    if column is None and is_comparison(dots):
        column = DIFFERENCE
    if column is None and dots is not None and "travel_time" in dots.columns and not len(shapes["areas"]):
        column = "travel_time"
    if not note and column is not None and dots is not None and column in dots.columns and dots[column].isna().all():
        note = f"No point has a value of {column!r}" if column not in _ANSWER else "Nothing reached"
    return Scene(
        network,
        box,
        tables["areas"],
        shapes["areas"],
        dots,
        shapely.get_coordinates(point_shapes),
        tables["lines"],
        shapes["lines"],
        column,
        note,
        shading or Shading(),
    )


def _note(given: Any, kept: gpd.GeoDataFrame | None) -> str:
    """Return a note on empty areas."""
    if kept is None or (len(kept) and len(kept) == len(given)):
        return ""
    columns = given.columns if isinstance(given, gpd.GeoDataFrame) else ()
    if isinstance(given, gpd.GeoDataFrame) and compares_areas(given):
        return "" if len(kept) else "Nothing gained and nothing lost"
    reached = any(name in columns for name in _ANSWER)
    if len(kept):
        what = "routes" if (shapely.get_dimensions(np.asarray(kept.geometry.array)) == 1).all() else "areas"
        return f"{len(given) - len(kept)} of {len(given)} {what} are empty" + (": nothing reached" if reached else "")
    why = sorted({str(r).replace("_", " ") for r in given["reason"].dropna()}) if "reason" in columns else []
    text = "Nothing reached" if reached else "Nothing to show: all shapes are empty"
    return f"{text} ({', '.join(why)})" if why else text


def _roomy(box: tuple[float, ...]) -> basemap.Box:
    """Return a box with a margin, a minimum extent and a limited ratio of its sides."""
    west, south, east, north = box
    half_x = max(east - west, _LEAST_M) * (0.5 + _MARGIN)
    half_y = max(north - south, _LEAST_M) * (0.5 + _MARGIN)
    x, y = (west + east) / 2.0, (south + north) / 2.0
    return no_strip((x - half_x, y - half_y, x + half_x, y + half_y))


def no_strip(box: basemap.Box) -> basemap.Box:
    """Return the box, enlarged to limit the ratio of its sides."""
    west, south, east, north = box
    half_x, half_y = (east - west) / 2.0, (north - south) / 2.0
    half_x, half_y = max(half_x, half_y / _STEEPEST), max(half_y, half_x / _STEEPEST)
    x, y = (west + east) / 2.0, (south + north) / 2.0
    return x - half_x, y - half_y, x + half_x, y + half_y


def groups_of(scene: Scene) -> AnyArray:
    """Return the origin of each area."""
    areas = scene.areas
    if areas is None:
        return np.empty(0, dtype=object)
    if scene.area_column is None and compares_areas(areas):
        return np.asarray(areas["change"].to_numpy(), dtype=object)
    if "origin" in areas.columns:
        return np.asarray(areas["origin"].to_numpy(), dtype=object)
    values = scene.area_values
    if values is not None and unique_values(values).size == len(values):
        return np.zeros(len(areas), dtype=object)  # rings of one origin
    return np.asarray(areas.index.to_numpy(), dtype=object)


def _group_colours(scene: Scene) -> dict[Hashable, list[str]]:
    """Return the colours of the rings of each group, from the smallest ring to the largest."""
    n_rings = max(scene.steps.size, 1)
    owners = groups_of(scene)
    groups = list(dict.fromkeys(owners.tolist()))
    if scene.area_column is None and compares_areas(scene.areas):
        return {group: [style.AREA_CHANGES[group]] for group in groups}
    if len(groups) == 1 or len(groups) > MOST_NUMBERS or scene.is_scale:
        return dict.fromkeys(groups, style.ramp(n_rings))
    choices: Sequence[int] = range(len(groups))
    if len(groups) > len(style.ORIGIN_COLOURS):
        choices = _apart([scene.area_shapes[owners == group] for group in groups])
    return {group: style.tints(style.ORIGIN_COLOURS[i], n_rings) for group, i in zip(groups, choices, strict=True)}


def _apart(shapes: list[AnyArray]) -> list[int]:
    """Assign a colour to each group of areas, so that areas of the same colour overlap little."""
    # Convex hulls are a sufficient approximation of overlaps.
    rough = [shapely.convex_hull(shapely.geometrycollections(group)) for group in shapes]
    chosen: list[int] = []
    for mine in rough:
        overlaps = np.zeros(len(style.ORIGIN_COLOURS))
        for theirs, colour in zip(rough, chosen, strict=False):
            overlaps[colour] += 1e-6 * mine.area + shapely.intersection(mine, theirs).area
        chosen.append(int(np.argmin(overlaps)))
    return chosen


def bands(scene: Scene) -> list[tuple[str, Any, str]]:
    """Return the fill colour, geometry and outline colour of each band, outermost first."""
    if scene.areas is None or not len(scene.areas):
        return []
    values = scene.area_values
    if values is not None and scene.is_scale:
        # If several origins reach a cell, the smallest value is shown.
        order = np.argsort(values, kind="stable")
        if "cell" in scene.areas.columns:
            order = order[~scene.areas["cell"].iloc[order].duplicated().to_numpy()]
        colours = scene.place(values)
        if is_comparison(scene.areas) and "change" in scene.areas.columns:
            known = zip(colours, scene.areas["change"], strict=True)
            colours = [style.ONLY_ONE.get(change, colour) for colour, change in known]
        return [(colours[i], scene.area_shapes[i], "none") for i in order[::-1]]
    made = []
    owners = groups_of(scene)
    for group, colours in scene.group_colours.items():
        mine = np.flatnonzero(owners == group)
        rank = np.zeros(mine.size, np.intp)
        if values is not None:
            rank = np.where(np.isfinite(values[mine]), np.searchsorted(scene.steps, values[mine]), len(colours))
        outline = colours[0] if len(scene.group_colours) > 1 else None
        inner: Any = shapely.MultiPolygon()
        for position, ring in sorted(zip(mine, rank, strict=True), key=lambda pair: pair[1]):
            shape = scene.area_shapes[position]
            colour = colours[ring] if ring < len(colours) else style.NO_VALUE
            made.append((colour, shapely.difference(shape, inner), outline or colour))
            inner = shapely.union(inner, shape)
    return made[::-1]


def outer_outlines(scene: Scene) -> list[tuple[str, Any]]:
    """Return the colour and the union of each group of areas."""
    owners = groups_of(scene)
    several = len(scene.group_colours) > 1
    return [
        (colours[0 if several else -1], shapely.union_all(scene.area_shapes[owners == group]))
        for group, colours in scene.group_colours.items()
    ]


def line_names(scene: Scene) -> list[str]:
    """Return the name of each line; empty if it has none."""
    lines = scene.lines
    if lines is None:
        return []
    if {"origin", "destination"} <= set(lines.columns):
        pairs = list(zip(lines["origin"].astype(str), lines["destination"].astype(str), strict=True))
        starts, ends = (len(set(side)) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
        names = [f"to {b}" if starts == 1 else f"from {a}" if ends == 1 else f"{a} \u2192 {b}" for a, b in pairs]
    elif lines.index.inferred_type in ("string", "mixed"):
        names = [str(label) for label in lines.index]
    else:
        return [""] * len(lines)
    if "travel_time" in lines.columns:
        times = read_numbers(lines, "travel_time")
        names = [
            f"{name}, {style.minutes_label(time)}".replace(" min", "\u00a0min") if np.isfinite(time) else name
            for name, time in zip(names, times, strict=True)
        ]
    return names


def line_styles(scene: Scene) -> dict[str, tuple[str, Any]]:
    """Return the colour and dash pattern of lines by name; empty if all lines have the same style."""
    names = [name for name in dict.fromkeys(line_names(scene)) if name]
    if scene.group_colours and len(scene.group_colours) > 1 and not scene.is_scale:
        # Colours already distinguish areas.
        styles = [(style.ROUTE, dashes) for dashes in ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))]
    else:
        styles = [(colour, "-") for colour in style.ORIGIN_COLOURS]
    return dict(zip(names, styles, strict=False)) if 1 < len(names) <= len(styles) else {}
