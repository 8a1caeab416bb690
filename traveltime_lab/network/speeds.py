"""
Custom speeds by class of street, by OSM way, by edge, or by factors of classes and within polygons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray
from traveltime_lab._checks import did_you_mean, one_of
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import CrsError, InputError, LimitError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.network.network import Network, check_network, with_speeds
from traveltime_lab.points import plain
from traveltime_lab.streets.tables import StreetTables

#: Range of valid speeds in km/h (assumed: a slower street is closed, and no vehicle on a public street is faster).
MIN_KPH = 0.1
MAX_KPH = 500.0


class _Value(NamedTuple):
    """The name and the range of the values of a mapping."""

    name: str
    least: float
    most: float
    unit: str


_SPEED: Final = _Value("speed", MIN_KPH, MAX_KPH, " km/h")
#: The range of `SetSpeed`.
_FACTOR: Final = _Value("factor", 0.01, 100.0, "")


@explained_keywords
def add_speeds(
    network: Network,
    *,
    classes: Mapping[str, float] | pd.Series | None = None,
    ways: Mapping[int, float] | pd.Series | None = None,
    edges: Mapping[int, float] | pd.Series | None = None,
    polygons: gpd.GeoDataFrame | None = None,
    factors: Mapping[str, float] | pd.Series | None = None,
    mode: Literal["walking", "cycling", "driving"] = "driving",
) -> Network:
    """
    Return a copy of a network with custom speeds.

    If an edge is selected by several arguments, `edges` takes precedence over `ways`, and `ways` over `classes`. The
    factors of `factors` and `polygons` are applied last. Directions that are closed to the mode remain closed.

    Parameters
    ----------
    network : Network
        The network to copy; it is not modified.
    classes : mapping or Series, optional
        Speeds in km/h by value of the highway tag, or ``"ferry"``.
    ways : mapping or Series, optional
        Speeds in km/h by OSM way id.
    edges : mapping or Series, optional
        Speeds in km/h by row number of `Network.edges_frame`, of this network.
    polygons : GeoDataFrame, optional
        Polygons in any CRS with a column ``factor``. The speed of an edge is multiplied by the factor of the polygon
        that contains its midpoint; where polygons overlap, by the product of their factors.
    factors : mapping or Series, optional
        Factors, 0.01 to 100, by value of the highway tag, by which speeds are multiplied. Streets of a class with
        different speeds keep their proportions.
    mode : {"walking", "cycling", "driving"}, default "driving"
        The mode to change the speeds of.

    Returns
    -------
    Network
        A new network with another fingerprint.

    Raises
    ------
    InputError
        If no speeds are given, or a class, way or edge does not occur in the network.
    LimitError
        If a speed is below 0.1 or above 500 km/h, also after applying a factor, or a factor is not from 0.01 to 100
        (above 0 for `polygons`).
    CrsError
        If `polygons` has no CRS.

    See Also
    --------
    calibrate_speeds : Factors from measured travel times.

    Notes
    -----
    Speeds for driving are free-flow speeds, which searches reduce by the congestion at the departure time. If the
    speeds already include congestion, search with ``Transportation("driving", traffic_model="off_peak")``.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> calmer = tl.add_speeds(network, classes={"residential": 20})
    >>> edges = calmer.edges_frame()
    >>> int(
    ...     edges.loc[
    ...         edges["highway"] == "residential", "driving_kph_forward"
    ...     ].max()
    ... )
    20
    """
    check_network(network)
    one_of(mode, "mode", BASE_MODES)
    if all(given is None for given in (classes, ways, edges, polygons, factors)):
        msg = "add_speeds needs at least one of classes, ways, edges, polygons and factors"
        raise InputError(msg)
    tables = network.tables
    uses = tables.uses
    sides = [f"{mode}_kph_forward", f"{mode}_kph_backward"]
    speed = uses[sides].to_numpy().astype(np.float64)[tables.edge_use]
    is_open = speed > 0.0

    def put(rows: AnyArray, kph: FloatArray) -> None:
        speed[rows] = np.where(is_open[rows], kph[:, None], 0.0)

    if classes is not None:
        put(*_looked_up(classes, uses["highway"].to_numpy()[tables.edge_use], "classes", "class of street"))
    if ways is not None:
        put(*_looked_up(ways, tables.edge_way_id, "ways", "OSM way"))
    if edges is not None:
        put(*_looked_up(edges, np.arange(network.n_edges), "edges", "edge"))
    if factors is not None:
        rows, factor = _looked_up(
            factors, uses["highway"].to_numpy()[tables.edge_use], "factors", "class of street", _FACTOR
        )
        speed[rows] *= factor[:, None]
    if polygons is not None:
        speed *= _factors(network, polygons)[:, None]
    if factors is not None or polygons is not None:
        _check_scaled(speed, is_open, "factors" if polygons is None else "the factors of polygons")
    old_row, new_row = np.unique(
        np.column_stack([tables.edge_use, speed.astype(np.float32)]), axis=0, return_inverse=True
    )
    table = uses.iloc[old_row[:, 0].astype(np.int64)].reset_index(drop=True)
    table[sides] = old_row[:, 1:].astype(np.float32)
    report = {**tables.report, "own_speeds": int((speed != uses[sides].to_numpy()[tables.edge_use]).any(axis=1).sum())}
    changed = replace(tables, uses=table, edge_use=new_row.reshape(-1).astype(np.int32), report=report)
    return with_speeds(network, changed)


def tables_with_factors(tables: StreetTables, factors: Mapping[str, float], mode: str) -> StreetTables:
    """Return tables with the speeds that `add_speeds` gives for valid factors by class."""
    uses = tables.uses.copy()
    factor = np.array([factors.get(highway, 1.0) for highway in uses["highway"].tolist()])
    for side in ("forward", "backward"):
        column = f"{mode}_kph_{side}"
        uses[column] = (uses[column].to_numpy().astype(np.float64) * factor).astype(np.float32)
    return replace(tables, uses=uses)


def _check_scaled(speed: FloatArray, is_open: BoolArray, name: str) -> None:
    """Raise LimitError if a factor has given an open edge a speed that is not valid."""
    wrong = is_open & ((speed < MIN_KPH) | (speed > MAX_KPH))
    if wrong.any():
        edge, side = np.argwhere(wrong)[0].tolist()
        msg = (
            f"{name} give edge {edge} a speed of {speed[edge, side]:g} km/h; "
            f"choose factors that give {MIN_KPH:g} to {MAX_KPH:g} km/h"
        )
        raise LimitError(msg)


def _as_float(value: Any) -> float:
    """Return a speed or a factor as a float, NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _as_series(given: Mapping[Any, float]) -> pd.Series:
    """Return a mapping as a column of objects."""
    try:
        labels = pd.Index(list(given), tupleize_cols=False)
    except OverflowError:  # pandas 3.0 finds no type for integers beyond those of float64
        labels = pd.Index(list(given), dtype=object, tupleize_cols=False)
    return pd.Series(list(given.values()), labels, dtype=object)


def _looked_up(
    given: Mapping[Any, float] | pd.Series, keys: AnyArray, name: str, kind: str, value: _Value = _SPEED
) -> tuple[IndexArray, FloatArray]:
    """Return the edges whose keys occur in a mapping, and their speeds or factors."""
    if not isinstance(given, Mapping | pd.Series):
        got = f"{type(given).__name__} {given!r}"
        msg = f"{name} must map each {kind} to a {value.name}, as a dict or a Series; got {got}"
        raise InputError(msg)
    series = given if isinstance(given, pd.Series) else _as_series(given)
    if not series.index.is_unique:
        msg = f"{name} has the {kind} {plain(series.index[series.index.duplicated()][0])!r} more than once"
        raise InputError(msg)
    found = np.array([_as_float(each) for each in series.tolist()])
    wrong = ~((found >= value.least) & (found <= value.most))
    if wrong.any():
        at = int(wrong.argmax())
        msg = (
            f"{name} has the {value.name} {plain(series.iloc[at])!r} for {kind} {plain(series.index[at])!r}; "
            f"{value.name}s must be from {value.least:g} to {value.most:g}{value.unit}"
        )
        raise LimitError(msg)
    position = pd.Index(series.index).get_indexer(pd.Index(keys))
    known = np.zeros(len(series), np.bool_)
    known[position[position >= 0]] = True
    if not known.all():
        at = int((~known).argmax())
        requested = plain(series.index[at])
        hint = did_you_mean(requested, pd.unique(pd.Series(keys))) if name != "edges" else ""
        msg = f"{name} has the {kind} {requested!r}, which does not occur in the network{hint}"
        raise InputError(msg)
    rows = np.flatnonzero(position >= 0)
    return rows, found[position[rows]]


def _factors(network: Network, polygons: Any) -> FloatArray:
    """Return the product of the factors of the polygons that contain the midpoint of each edge."""
    if not isinstance(polygons, gpd.GeoDataFrame) or "factor" not in polygons.columns:
        msg = "polygons must be a GeoDataFrame with a column 'factor'"
        raise InputError(msg)
    if polygons.crs is None:
        msg = "polygons has no CRS; set it first, for example with polygons.set_crs('EPSG:4326')"
        raise CrsError(msg)
    factor = pd.to_numeric(polygons["factor"], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~((factor > 0.0) & (factor <= 100.0))
    if wrong.any():
        at = int(wrong.argmax())
        msg = (
            f"polygons has the factor {plain(polygons['factor'].iloc[at])!r} at {plain(polygons.index[at])!r}; "
            "factors must be above 0 and at most 100"
        )
        raise LimitError(msg)
    geometry = polygons.geometry.to_crs("EPSG:4326").to_numpy()
    lines = network.edges_frame().geometry.to_numpy()
    middle = shapely.line_interpolate_point(lines, 0.5, normalized=True)
    edge, polygon = shapely.STRtree(geometry).query(middle, predicate="intersects")
    factors = np.ones(network.n_edges)
    np.multiply.at(factors, edge, factor[polygon])
    return factors
