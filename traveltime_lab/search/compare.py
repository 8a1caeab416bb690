"""
Compare results of two networks: changes, gains and losses (`compare`).
"""

from __future__ import annotations

from typing import Any, Final

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._checks import did_you_mean, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import CrsError, InputError
from traveltime_lab.search.border import COLUMN
from traveltime_lab.surfaces.polygons import as_multipolygon

#: Kinds of change of a value; missing if there is none before and after.
CHANGES: Final = ("gained", "lost", "more", "less", "same")
_DTYPE: Final = pd.CategoricalDtype(list(CHANGES))
#: Columns that tell rows of a result apart, in the order of the result.
_KEYS: Final = ("moment", "origin", "destination", "search_id", "cell", "departure_time", "travel_time", "distance")
_ROUTE_KEYS: Final = ("feed", "route_id", "short_name")
#: Columns of cells that may be compared, the first that there is.
_CELL_VALUES: Final = ("mean", "min", "max", "share_reachable")
#: Cylindrical equal-area projection of the world, for square metres.
_EQUAL_AREA: Final = "EPSG:6933"


@explained_keywords
def compare(before: Any, after: Any, *, column: str | None = None) -> pd.DataFrame | gpd.GeoDataFrame:
    """
    Compare two results of one function, such as before and after the changes of a scenario.

    Parameters
    ----------
    before, after : DataFrame or GeoDataFrame
        Results of the same call on two networks, or for two means of transportation, from `time_filter` (a row for each
        pair, or a matrix), `time_map`, `distance_map`, `h3_cells`, `geohash_cells`, `accessibility` or
        `Network.routes_frame`.
    column : str, optional
        The column to compare. Default: ``travel_time`` of pairs, ``mean`` of cells (or ``min`` or ``max``), the
        value of accessibility if there is one only, and ``n_departures`` of routes. Areas and matrices have none.

    Returns
    -------
    DataFrame or GeoDataFrame
        The columns that tell the rows apart, and: ``before`` and ``after`` (float64, NaN where there is no value),
        ``increase`` (``after - before``, NaN if one of them is missing) and ``change`` (categorical): ``"gained"``
        if there is a value after only, such as a destination that was out of reach or a new line, ``"lost"`` if before
        only, ``"more"``, ``"less"`` or ``"same"``, NA if there is neither. Pairs of a matrix are rows, too.

        Areas have two rows each, with the ``change`` ``"gained"`` and ``"lost"`` and the polygon of what was gained or
        lost, which may be empty. ``before`` and ``after`` are square metres of the whole area, and ``increase`` those
        of the polygon, negative for what was lost.

    Raises
    ------
    InputError
        If the tables are not results of one function, or are about different origins or limits, or the column is
        missing or holds no numbers.
    CrsError
        If a table of areas has no CRS.

    See Also
    --------
    Network.with_changes : A network with changes.
    plot : Draws ``increase`` in a diverging scale that is centred on zero.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> closed = places.to_crs(network.crs).buffer(200).iloc[[0]]
    >>> scenario = network.with_changes(
    ...     tl.CloseStreets(closed, modes="driving")
    ... )
    >>> times = [
    ...     tl.time_filter(each, places, places, travel_time=1800)
    ...     for each in (network, scenario)
    ... ]
    >>> changes = tl.compare(*times)["change"].value_counts()
    >>> changes[["gained", "less"]].tolist()
    [0, 0]
    """
    if column is not None:
        words(column, "column")
    kinds = [_kind(table, name) for table, name in ((before, "before"), (after, "after"))]
    if kinds[0] != kinds[1]:
        raise InputError(f"before and after must be results of one function; got {kinds[0]} and {kinds[1]}")
    kind = kinds[0]
    if kind in ("areas", "a matrix"):
        if column is not None:
            raise InputError(f"column is for tables with several columns of values; {kind} have none")
        return _areas(before, after) if kind == "areas" else _matrix(before, after)
    keys = [key for key in _KEYS if key in before.columns]
    if kind == "pairs":
        name = column or "travel_time"
        keys = [key for key in keys if key in ("moment", "origin", "destination", "search_id")]
        return _keyed(before, after, keys, name)
    if kind == "routes":
        return _keyed(before, after, list(_ROUTE_KEYS), column or "n_departures")
    if kind == "cells":
        name = column or next((each for each in _CELL_VALUES if each in before.columns), "mean")
        return _keyed(before, after, [key for key in keys if key != "distance"], name)
    others = ("moment", "travel_time_limit", "reason", COLUMN, "geometry")
    values = [each for each in before.columns if each not in others]
    if not values:
        raise InputError("before has no column of accessibility, only travel_time_limit, reason and geometry")
    if column is None and len(values) != 1:
        raise InputError(f"accessibility has the values {', '.join(map(repr, values))}; say which with column=")
    return _accessibility(before, after, column or values[0])


def _kind(table: Any, name: str) -> str:
    """Return the kind of result in a table."""
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{name} must be a table of results; got {type(table).__name__}")
    columns = set(table.columns)
    if "cell" in columns:
        return "cells"
    if {"origin", "destination"} <= columns:
        return "pairs"
    if {*_ROUTE_KEYS, "n_departures"} <= columns:
        return "routes"
    if isinstance(table, gpd.GeoDataFrame) and table.active_geometry_name is not None:
        shapes = np.asarray(table.geometry.array)
        is_point = shapely.get_type_id(shapes) == 0
        if is_point.all() and {"travel_time_limit", "reason"} <= columns:
            return "accessibility"
        if columns & {"travel_time", "distance"} and np.isin(shapely.get_type_id(shapes), (3, 6)).all():
            return "areas"
    elif len(columns) and all(pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes):
        return "a matrix"
    raise InputError(
        f"{name} is no result of time_filter, time_map, distance_map, cells, accessibility or routes_frame"
    )


def _floats(table: pd.DataFrame, column: str, name: str) -> pd.Series:
    """Return a column as floats, NaN where it is missing."""
    if column not in table.columns:
        hint = did_you_mean(column, table.columns)
        raise InputError(f"{name} has no column {column!r}; it has {', '.join(map(repr, table.columns))}{hint}")
    if not pd.api.types.is_numeric_dtype(table[column].dtype):
        raise InputError(f"column {column!r} of {name} must hold numbers; got {table[column].dtype}")
    return pd.Series(table[column].to_numpy(dtype=np.float64, na_value=np.nan), index=table.index)


def _with_change(frame: pd.DataFrame) -> pd.DataFrame:
    """Add increase and change to a table with before and after."""
    old, new = frame["before"].to_numpy(), frame["after"].to_numpy()
    increase = new - old
    was, is_there = ~np.isnan(old), ~np.isnan(new)
    codes = np.full(len(frame), -1, np.int8)
    both = was & is_there
    codes[both] = np.select([increase[both] > 0, increase[both] < 0], [2, 3], 4)
    codes[is_there & ~was] = 0
    codes[was & ~is_there] = 1
    return frame.assign(increase=increase, change=pd.Categorical.from_codes(codes, dtype=_DTYPE))


def _keyed(before: Any, after: Any, keys: list[str], column: str) -> Any:
    """Compare tables whose rows some columns tell apart; rows of one table only have no value in the other."""
    parts = []
    for table, name in ((before, "before"), (after, "after")):
        missing = [key for key in keys if key not in table.columns]
        if missing:
            raise InputError(f"{name} has no column {missing[0]!r}, but the other table has")
        part = table[keys].assign(**{name: _floats(table, column, name).to_numpy()})
        try:
            is_again = part.duplicated(keys).any()
        except TypeError as error:
            raise InputError(f"{name} has values in {', '.join(keys)} that are no labels: {error}") from error
        if is_again:
            raise InputError(f"{name} has several rows for the same {', '.join(keys)}; compare one row for each")
        parts.append(part)
    for key in keys:
        kinds = {part[key].dtype.kind for part in parts}
        if "f" in kinds and kinds <= {"f", "i", "u"}:  # pandas would warn
            parts = [part.astype({key: np.float64}) for part in parts]
    try:
        merged = parts[0].merge(parts[1], on=keys, how="outer", sort=False)
    except (TypeError, ValueError) as error:
        types = ["; ".join(f"{key} of {part[key].dtype}" for key in keys) for part in parts]
        msg = f"before and after have labels of different types: {types[0]} before and {types[1]} after"
        raise InputError(f"{msg}; repeat both calls with the same labels of points") from error
    frame = _with_change(merged)
    geometries = [table for table in (before, after) if isinstance(table, gpd.GeoDataFrame)]
    if len(geometries) < 2 or "cell" not in keys:
        return frame
    # A cell is the same polygon for all origins.
    shape = pd.concat([table.set_index("cell").geometry for table in geometries])
    shape = shape[~shape.index.duplicated()]
    return gpd.GeoDataFrame(frame, geometry=shape.loc[frame["cell"]].to_numpy(), crs=geometries[0].crs)


def _matrix(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Compare two matrices; the result has a row for each pair."""
    for what in ("index", "columns"):
        one, other = getattr(before, what), getattr(after, what)
        if not (one.is_unique and other.is_unique and len(one) == len(other) and one.isin(other).all()):
            raise InputError(
                f"before and after have different {what}; repeat both calls with the same points, each once"
            )
    after = after.loc[before.index, before.columns]
    values = [table.to_numpy(dtype=np.float64, na_value=np.nan).ravel() for table in (before, after)]
    n, m = before.shape
    moments = {}
    origins = before.index
    if "moment" in origins.names:
        moments = {"moment": origins.get_level_values("moment").repeat(m)}
        origins = origins.droplevel("moment")
    frame = pd.DataFrame(
        {
            **moments,
            "origin": origins.repeat(m),
            "destination": before.columns.append([before.columns] * (n - 1)) if n else before.columns[:0],
            "before": values[0],
            "after": values[1],
        }
    )
    return _with_change(frame)


def _labelled(table: gpd.GeoDataFrame, limit: str) -> pd.Index:
    """Return origin, limit and, in results for several, moment of each row."""
    moments = [table[name] for name in _moment(table)]
    return pd.MultiIndex.from_arrays([table.index, table[limit], *moments], names=["origin", limit, *_moment(table)])


def _moment(table: pd.DataFrame) -> list[str]:
    """Return the name of the column of moments, if a table has one."""
    return [name for name in ("moment",) if name in table.columns]


def _matched(before: gpd.GeoDataFrame, after: gpd.GeoDataFrame, limit: str) -> gpd.GeoDataFrame:
    """Return the rows of `after` in the order of `before`."""
    if limit not in after.columns:
        raise InputError(f"after has no column {limit!r}, but before has; repeat the same call on both networks")
    if _moment(before) != _moment(after):
        raise InputError("before or after has the column 'moment', and the other has not; repeat the same call")
    ours, theirs = _labelled(before, limit), _labelled(after, limit)
    if not (ours.is_unique and theirs.is_unique and len(ours) == len(theirs) and ours.isin(theirs).all()):
        msg = "before and after have different origins or limits, or moments; repeat the same call on both networks"
        raise InputError(msg)
    return after.iloc[theirs.get_indexer(ours)]


def _accessibility(before: gpd.GeoDataFrame, after: gpd.GeoDataFrame, column: str) -> gpd.GeoDataFrame:
    """Compare a value of accessibility, origin by origin."""
    after = _matched(before, after, "travel_time_limit")
    frame = pd.DataFrame(
        {
            **{name: before[name] for name in _moment(before)},
            "travel_time_limit": before["travel_time_limit"].to_numpy(),
            "before": _floats(before, column, "before").to_numpy(),
            "after": _floats(after, column, "after").to_numpy(),
        },
        index=before.index,
    )
    return gpd.GeoDataFrame(_with_change(frame), geometry=before.geometry.to_numpy(), crs=before.crs)


def _areas(before: gpd.GeoDataFrame, after: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Compare areas: a row for the gained and one for the lost part of each."""
    for table, name in ((before, "before"), (after, "after")):
        if table.crs is None:
            raise CrsError(f"{name} has no CRS; set it first, for example with {name}.set_crs('EPSG:4326')")
    limit = "travel_time" if "travel_time" in before.columns else "distance"
    after = _matched(before, after, limit)
    old, new = (np.asarray(table.geometry.to_crs("EPSG:4326").array) for table in (before, after))
    shapes = np.empty(2 * len(before), object)
    for row in range(len(before)):
        shapes[2 * row] = as_multipolygon(shapely.difference(new[row], old[row]))
        shapes[2 * row + 1] = as_multipolygon(shapely.difference(old[row], new[row]))
    sizes = [gpd.GeoSeries(part, crs="EPSG:4326").to_crs(_EQUAL_AREA).area.to_numpy() for part in (old, new, shapes)]
    return gpd.GeoDataFrame(
        {
            **{name: before[name].array.repeat(2) for name in _moment(before)},
            limit: before[limit].repeat(2).to_numpy(),
            "before": sizes[0].repeat(2),
            "after": sizes[1].repeat(2),
            "increase": sizes[2] * np.tile([1.0, -1.0], len(before)),
            "change": pd.Categorical.from_codes(np.tile([0, 1], len(before)), dtype=_DTYPE),
        },
        geometry=shapes,
        index=before.index.repeat(2),
        crs="EPSG:4326",
    )
