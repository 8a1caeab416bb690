"""
Custom speeds by class of street, OSM way, edge or hour of the week, or by factors of classes and within polygons.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, IndexArray
from traveltime_lab._checks import did_you_mean, one_of
from traveltime_lab._files import as_path
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import CrsError, InputError, LimitError
from traveltime_lab.modes.table import BASE_MODES, STREET_MODES
from traveltime_lab.network.network import Network, check_network, with_speeds
from traveltime_lab.network.sources import described
from traveltime_lab.network.speed_profiles import with_profile
from traveltime_lab.points import plain
from traveltime_lab.streets.hourly_speeds import MAX_KPH, MIN_KPH, HourlySpeeds, check_scaled
from traveltime_lab.streets.tables import StreetTables


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
    profile: pd.DataFrame | str | os.PathLike[str] | None = None,
    polygons: gpd.GeoDataFrame | None = None,
    factors: Mapping[str, float] | pd.Series | None = None,
    mode: Literal["walking", "cycling", "driving"] = "driving",
) -> Network:
    """
    Return a copy of a network with custom speeds.

    If an edge is selected by several arguments, `edges` takes precedence over `ways`, and `ways` over `classes`; at the
    hours of `profile`, it takes precedence over all of them. The factors of `factors` and `polygons` are applied last,
    to all speeds. Directions that are closed to the mode remain closed.

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
    profile : DataFrame or path-like, optional
        Measured speeds of driving by hour of the week: a table, or a Parquet or CSV file (also ``.csv.gz``), with these
        columns and no others:

        - ``edge`` (row number of `Network.edges_frame`) or ``way`` (OSM way id, all edges of which get the speed),
        - ``direction``, optional: ``"forward"`` is from ``from_node`` to ``to_node`` of the edge, which is how
          OpenStreetMap draws a way; ``"backward"``, or ``"both"``, also where it is missing,
        - ``day``, optional: 0 (Monday) to 6 (Sunday), ``"monday"`` to ``"sunday"``, ``"weekday"`` or ``"weekend"``; all
          seven where it is missing,
        - ``hour``: 0 to 23, local time of the network; 8 is from 8 to 9 o'clock,
        - ``kph``: speed in km/h.
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
        A new network with another fingerprint, unless no speed differs.

    Raises
    ------
    InputError
        If no speeds are given, or a class, way or edge does not occur in the network; if `profile` has other columns,
        a direction or day that is none, a street with two speeds at one hour, or a mode other than driving.
    LimitError
        If a speed is below 0.1 or above 500 km/h, also after applying a factor, a factor is not from 0.01 to 100
        (above 0 for `polygons`), or an hour is not from 0 to 23.
    MissingFileError, DataError
        If the file of `profile` does not exist, or is damaged.
    CrsError
        If `polygons` has no CRS.

    See Also
    --------
    calibrate_speeds : Factors from measured travel times.

    Notes
    -----
    Speeds for driving are free-flow speeds, which searches reduce by the congestion at the departure time. If the
    speeds already include congestion, search with ``Transportation("driving", traffic_model="off_peak")``.

    Those of `profile` include the congestion of their hour, which is not applied to them. At hours without a measured
    speed, the free-flow speed and the assumed congestion of the hour apply. A search has the speeds of the hour of its
    departure or arrival for the whole trip; with ``Transportation("driving", time_dependent=True)``, each street has
    those of the hour in which it is driven. Without a moment, a street has its mean time from 7 to 20 o'clock on
    Monday to Friday; with ``"weekday_morning"`` or ``traffic_model="peak"`` that from 8 to 9; with ``"off_peak"`` the
    shortest of the week; ``"optimistic"`` and ``"pessimistic"`` have 0.5 and 1.5 times the difference to the shortest.
    A later profile replaces the hours that it has. Later speeds of `classes`, `ways` and `edges` replace all measured
    speeds of their edges.

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

    Speeds of one street on Tuesdays, measured at 8 and 9 o'clock:

    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"edge": 0, "day": "tuesday", "hour": [8, 9], "kph": [12.5, 14]}
    ... )
    >>> measured = tl.add_speeds(network, profile=table)
    >>> edges = measured.edges_frame(departure_time="2026-03-03T08:30")
    >>> float(edges["traffic_kph_forward"].iloc[0])
    12.5
    """
    check_network(network)
    one_of(mode, "mode", BASE_MODES)
    if all(given is None for given in (classes, ways, edges, profile, polygons, factors)):
        msg = "add_speeds needs at least one of classes, ways, edges, profile, polygons and factors"
        raise InputError(msg)
    if profile is not None and not STREET_MODES[mode].has_traffic:
        raise InputError(f"profile is for driving, the speeds of which depend on the hour; got mode={mode!r}")
    tables = network.tables
    uses = tables.uses
    sides = [f"{mode}_kph_forward", f"{mode}_kph_backward"]
    speed = uses[sides].to_numpy().astype(np.float64)[tables.edge_use]
    is_open = speed > 0.0
    factor = np.ones(network.n_edges)
    is_set = np.zeros(network.n_edges, np.bool_)

    def put(rows: AnyArray, kph: FloatArray) -> None:
        speed[rows] = np.where(is_open[rows], kph[:, None], 0.0)
        is_set[rows] = True

    if classes is not None:
        put(*_looked_up(classes, uses["highway"].to_numpy()[tables.edge_use], "classes", "class of street"))
    if ways is not None:
        put(*_looked_up(ways, tables.edge_way_id, "ways", "OSM way"))
    if edges is not None:
        put(*_looked_up(edges, np.arange(network.n_edges), "edges", "edge"))
    if factors is not None:
        rows, of_class = _looked_up(
            factors, uses["highway"].to_numpy()[tables.edge_use], "factors", "class of street", _FACTOR
        )
        factor[rows] = of_class
    if polygons is not None:
        factor *= _factors(network, polygons)
    speed *= factor[:, None]
    hourly = _hourly(tables, is_set, profile) if STREET_MODES[mode].has_traffic else tables.hourly
    if factors is not None or polygons is not None:
        name = "factors" if polygons is None else "the factors of polygons"
        _check_scaled(speed, is_open, name)
        if hourly is not None and STREET_MODES[mode].has_traffic:
            hourly = hourly.scaled(np.repeat(factor, 2))
            check_scaled(hourly, f"one of {name}")
    old_row, new_row = np.unique(
        np.column_stack([tables.edge_use, speed.astype(np.float32)]), axis=0, return_inverse=True
    )
    table = uses.iloc[old_row[:, 0].astype(np.int64)].reset_index(drop=True)
    table[sides] = old_row[:, 1:].astype(np.float32)
    report = {**tables.report, "own_speeds": int((speed != uses[sides].to_numpy()[tables.edge_use]).any(axis=1).sum())}
    if profile is not None and not isinstance(profile, pd.DataFrame):
        report["files"] = [*tables.report.get("files", ()), described(as_path(profile, "profile"), "measured speeds")]
    changed = replace(tables, uses=table, edge_use=new_row.reshape(-1).astype(np.int32), report=report, hourly=hourly)
    return with_speeds(network, changed)


def _hourly(tables: StreetTables, is_set: BoolArray, profile: Any) -> HourlySpeeds | None:
    """Return the measured speeds of tables without those of edges that get others, and with a profile."""
    kept = tables.hourly if tables.hourly is None or not is_set.any() else tables.hourly.without(np.repeat(is_set, 2))
    return kept if profile is None else with_profile(replace(tables, hourly=kept), profile)


def tables_with_factors(tables: StreetTables, factors: Mapping[str, float], mode: str) -> StreetTables:
    """Return tables with the speeds that `add_speeds` gives for valid factors by class."""
    uses = tables.uses.copy()
    factor = np.array([factors.get(highway, 1.0) for highway in uses["highway"].tolist()])
    for side in ("forward", "backward"):
        column = f"{mode}_kph_{side}"
        uses[column] = (uses[column].to_numpy().astype(np.float64) * factor).astype(np.float32)
    hourly = tables.hourly
    if hourly is not None and STREET_MODES[mode].has_traffic:
        hourly = hourly.scaled(np.repeat(factor[tables.edge_use], 2))
    return replace(tables, uses=uses, hourly=hourly)


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
