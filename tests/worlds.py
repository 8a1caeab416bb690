"""Small street networks drawn in the test that uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import geopandas as gpd
import pandas as pd
import shapely

from traveltime_lab.crs import LocalFrame
from traveltime_lab.network.build import build_network
from traveltime_lab.network.network import Network
from traveltime_lab.readers.frames import tables_from_frames
from traveltime_lab.streets.tables import StreetTables

#: Where the worlds lie: by the Gulf of Guinea's zero point nothing else is near, and metres are easy.
FRAME = LocalFrame(0.5, 0.5)


def tables(
    nodes: Mapping[Any, tuple[float, float]], streets: Sequence[tuple[Any, ...]], *, frame: LocalFrame = FRAME
) -> StreetTables:
    """
    Return street tables of nodes in metres and streets between them.

    A street is ``(from, to)`` or ``(from, to, tags)``; without tags it is a residential street of 18 km/h, 5 m/s, for
    everyone.
    """
    ids = {name: i for i, name in enumerate(nodes)}
    lng, lat = frame.to_lnglat(*zip(*nodes.values(), strict=True))
    points = gpd.GeoDataFrame(geometry=shapely.points(lng, lat), index=list(ids.values()), crs="EPSG:4326")
    rows = []
    for i, (start, end, *more) in enumerate(streets):
        row = {"u": ids[start], "v": ids[end], "way_id": 100 + i, "highway": "residential"}
        row |= {"walking_kph": 18.0, "cycling_kph": 18.0, "driving_kph": 18.0}
        row |= more[0] if more else {}
        rows.append(row)
    edges = gpd.GeoDataFrame(
        pd.DataFrame(rows),
        geometry=[shapely.LineString([points.geometry[row["u"]], points.geometry[row["v"]]]) for row in rows],
        crs="EPSG:4326",
    )
    return tables_from_frames(points, edges)


def world(
    nodes: Mapping[Any, tuple[float, float]], streets: Sequence[tuple[Any, ...]], *, frame: LocalFrame = FRAME
) -> Network:
    """Return a network of nodes in metres and streets between them; see `tables`."""
    return build_network(tables(nodes, streets, frame=frame), timezone="UTC")


def at(*places: tuple[float, float], frame: LocalFrame = FRAME) -> gpd.GeoSeries:
    """Return points at places in metres."""
    return gpd.GeoSeries.from_xy(*frame.to_lnglat(*zip(*places, strict=True)), crs="EPSG:4326")
