"""
Views of a network: tables of its nodes, edges and stops, a summary for notebooks, and maps.
"""

from __future__ import annotations

import importlib
import inspect
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from traveltime_lab._checks import flag
from traveltime_lab._elsewhere import ATTRIBUTES, FUNCTIONS, similar
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network import prepared
from traveltime_lab.runtime.collector import without_collector
from traveltime_lab.streets.tables import street_km
from traveltime_lab.streets.topology import open_edges

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.network.data import NetworkData

#: Maximum number of feeds that the summary lists.
_FEEDS_LISTED = 5


def _hint(name: str) -> str:
    """Return advice on an attribute that a network does not have."""
    if name.startswith("_"):
        return ""
    here = ATTRIBUTES.get(name.lower())
    if here is None:
        # Its stub has the public names only.
        package: Any = importlib.import_module("traveltime_lab")
        function = FUNCTIONS.get(name.lower(), name).partition("(")[0]
        if function not in package.__all__ or not inspect.isfunction(found := getattr(package, function)):
            return ""
        if next(iter(inspect.signature(found).parameters), "") != "network":
            return ""
        here = f"traveltime_lab.{function}(network, ...)"
    return f"; use {here}"


def no_attribute(self: NetworkData, name: str) -> Any:
    """Name the attribute that corresponds to an unknown one, or those with similar names."""
    hint = _hint(name) or similar(name, dir(self), ATTRIBUTES)
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")


@explained_keywords
def stops_frame(self: NetworkData, *, only_served: bool = True) -> gpd.GeoDataFrame:
    """
    Return the stops of the timetable as points in EPSG:4326.

    Parameters
    ----------
    only_served : bool, default True
        Whether to return only stops at which a trip stops, without stations and entrances.

    Returns
    -------
    GeoDataFrame
        ``stop_id``, ``name``, ``code``, ``feed`` (name of the feed), ``parent`` (``stop_id`` of the station, empty
        if there is none) and ``location_type`` of GTFS. Stops without coordinates have no geometry.

    Raises
    ------
    InputError
        If the network has no timetable.

    Examples
    --------
    >>> stops = tl.sample_network().stops_frame()
    >>> len(stops), stops.crs.to_epsg()
    (4231, 4326)
    """
    import geopandas as gpd  # noqa: PLC0415

    flag(only_served, "only_served")
    timetable = self.timetable
    if timetable is None:
        msg = "the network has no timetable, and no stops; build it with gtfs=, the path of a GTFS feed"
        raise InputError(msg)
    rows = np.flatnonzero(timetable.is_called) if only_served else np.arange(timetable.n_stops)
    ids = timetable.stops["stop_id"].to_numpy(dtype=object)
    parent = timetable.column("stops", "parent_idx")[rows]
    lng, lat = (timetable.column("stops", name).astype(np.float64)[rows] for name in ("stop_lon", "stop_lat"))
    with without_collector:
        points = shapely.points(np.nan_to_num(lng), np.nan_to_num(lat))
    points[~(np.isfinite(lng) & np.isfinite(lat))] = None
    columns = {
        "stop_id": ids[rows],
        "name": timetable.stops["stop_name"].to_numpy(dtype=object)[rows],
        "code": timetable.stops["stop_code"].to_numpy(dtype=object)[rows],
        "feed": timetable.feeds["name"].to_numpy(dtype=object)[timetable.column("stops", "feed_idx")[rows]],
        "parent": np.where(parent >= 0, ids[parent], ""),
        "location_type": timetable.column("stops", "location_type")[rows],
    }
    return gpd.GeoDataFrame(columns, geometry=points, crs="EPSG:4326")


def plot(self: Any, areas: Any = None, points: Any = None, **options: Any) -> Any:
    """
    Plot the network, with areas, points and lines over it.

    Parameters
    ----------
    areas, points, **options
        As in `plot`; without any, the map shows streets and water alone.

    Returns
    -------
    Axes

    See Also
    --------
    plot : The same as a function, with all options.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> ax = network.plot(points=network.stops_frame(), title="Stops")
    """
    # The package finds the function by its name: this package may not import maps, which import it.
    import traveltime_lab  # noqa: PLC0415

    return traveltime_lab.plot(self, areas, points, **options)


def explore(self: Any, origins: Any = None, **options: Any) -> Any:
    """
    Return an interactive map of the network for notebooks, with an isochrone that can be moved.

    Parameters
    ----------
    origins, **options
        As in `TravelTimeMap`.

    Returns
    -------
    TravelTimeMap

    See Also
    --------
    TravelTimeMap : The same, with all options.

    Examples
    --------
    >>> map_ = tl.sample_network().explore(travel_time=600)
    """
    import traveltime_lab  # noqa: PLC0415 - as above

    return traveltime_lab.TravelTimeMap(self, origins, **options)


def as_html(self: NetworkData) -> str:
    """Return the content of the network as a table, for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align: left'>{escape(name)}</th><td style='text-align: left'>{escape(text)}</td></tr>"
        for name, text in _facts(self).items()
    )
    return f"<table><caption>Network</caption>{rows}</table>"


def _facts(network: NetworkData) -> dict[str, str]:
    """Return the facts of the summary by name."""
    west, south, east, north = network.bounds
    tables = network.tables
    facts = {
        "Source": str(tables.report.get("source", "")),
        "Place": f"{south:.3f} to {north:.3f} north, {west:.3f} to {east:.3f} east; {network.timezone}",
        "Size": f"{network.n_nodes:,} nodes, {network.n_edges:,} edges",
    }
    for mode in BASE_MODES:
        sides = open_edges(tables, Transportation(mode))
        facts[f"Streets for {mode}"] = f"{street_km(tables, sides[0::2] | sides[1::2]):,.0f} km"
    timetable = network.timetable
    if timetable is None:
        facts["Timetable"] = "none"
    else:
        facts["Timetable"] = f"{int(timetable.is_called.sum()):,} stops, {timetable.n_trips:,} trips"
        dates = timetable.dates()
        for feed, first, last in dates.head(_FEEDS_LISTED).itertuples():
            facts[f"Feed {feed}"] = f"{first} to {last}" if first is not None else "no service"
        if len(dates) > _FEEDS_LISTED:
            facts["More feeds"] = f"{len(dates) - _FEEDS_LISTED}"
    x, y = network.frame.to_xy(np.array([west, east]), np.array([south, north]))
    wet = shapely.clip_by_rect(network.water.tiles, x[0], y[0], x[1], y[1])
    facts["Water"] = f"{float(shapely.area(wet).sum()) / 1e6:,.1f} km²"
    facts["Elevation"] = tables.report.get("elevation", {}).get("file", "yes") if tables.has_slopes else ""
    facts["Prepared for"] = prepared.listed(network.prepared) if network.prepared else ""
    facts["Changes"] = f"{len(network.changes)}" if network.changes else ""
    facts["Attribution"] = network.attribution
    return {name: text for name, text in facts.items() if text}
