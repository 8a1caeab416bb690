"""
The streets of a network: their tables, and the search graphs built from them on demand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab.crs import LocalFrame, wrap_degrees
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.question import Metric
from traveltime_lab.runtime.memo import Derived, Memo
from traveltime_lab.streets.graph import RoadGraph, Topology, weigh
from traveltime_lab.streets.hourly_speeds import HOURS_OF_WEEK
from traveltime_lab.streets.restriction_hours import timed_holding
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.streets.topology import build_topology
from traveltime_lab.streets.traffic import Traffic, is_hour, traffic_of

#: Memory of the search graphs at measured speeds that are kept, with their hierarchies (assumed), the bytes of one of
#: them for each edge of the network (New York, by `benchmarks/speeds_by_hour.py`), and the fewest that are kept.
MEMORY_OF_HOURS, BYTES_PER_EDGE, FEWEST_HOURS = 2 << 30, 581, 3

#: The properties of a transportation that decide which streets are open: mode, ferries, included and excluded roads.
RoadsKey = tuple[str, bool, tuple[str, ...], tuple[str, ...]]

#: Streets of too much traffic stress in the key of roads: those that are closed, and those along which one pushes.
_ABOVE = {False: "stress above", True: "pushed above stress"}

#: Properties that decide a search graph: roads, restrictions, boarding time of ferries, traffic, own speed, metric.
GraphKey = tuple[RoadsKey, bytes, int, Traffic, float | None, Metric]

#: Topologies by roads and the turn restrictions that hold; the bits of the latter are empty where all always hold.
TOPOLOGIES = Derived[tuple[RoadsKey, bytes], Topology]("topologies", kept=24)
#: Search graphs by roads, restrictions, boarding time of ferries, traffic and metric; a day of driving has one for
#: each hour, and for each time at which a turn restriction begins or ceases to hold.
GRAPHS = Derived[tuple[RoadsKey, bytes, int, Traffic, Metric], RoadGraph]("road graphs", kept=32)
#: The same at the measured speeds of an hour, of which a week has 168.
HOURLY_GRAPHS = Derived[tuple[RoadsKey, bytes, int, Traffic, Metric], RoadGraph](
    "road graphs of hours", kept=lambda streets: hours_kept(streets.n_edges)
)
#: The same of people with a walking or cycling speed of their own, by speed; few, so that a study of many speeds needs
#: no more memory than one of some.
OWN_GRAPHS = Derived[tuple[RoadsKey, int, Metric, float], RoadGraph]("road graphs at own speeds", kept=6)


class StreetLayer:
    """
    Streets, and everything that searches on streets need.

    Parameters
    ----------
    tables : StreetTables
        Nodes, edges, lines, turn restrictions.
    is_left_hand : bool
        Whether traffic keeps left.
    shores : callable, optional
        Returns the starts and the ends of the outlines of water, which have the water on their left, as float64 arrays
        of shape (n, 2) in local metres. Straight walks between points and streets do not cross them.

    Attributes
    ----------
    bounds : tuple of float
        West, south, east, north in EPSG:4326; west is larger than east across the 180th meridian.
    frame : LocalFrame
        Projection to local metres.
    memo : Memo
        Objects derived from the streets.
    """

    def __init__(
        self,
        tables: StreetTables,
        *,
        is_left_hand: bool,
        shores: Callable[[], tuple[FloatArray, FloatArray]] | None = None,
    ) -> None:
        self.tables = tables
        self.shores = shores
        self.is_left_hand = is_left_hand
        self.bounds = bounds_of(tables.node_lng, tables.node_lat)
        self.frame = frame_of(self.bounds)
        self.memo = Memo()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.tables.node_lng.size)

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.tables.edge_from.size)

    def road_graph(
        self,
        transportation: Transportation,
        moment: dt.datetime | object | None = None,
        *,
        metric: Metric = "time",
    ) -> RoadGraph:
        """
        Return the search graph of a transportation at a moment; it is built once and kept.

        Parameters
        ----------
        transportation : Transportation
        moment : datetime, optional
            Timezone-aware, in the network's zone. It decides the traffic of driving, and which of the turn
            restrictions with hours hold; see `traveltime_lab.streets.restriction_hours`.
        metric : {"time", "distance"}
            Quantity to minimise.
        """
        transportation = as_transportation(transportation)
        roads, bits, boarding_time, traffic, own, _ = self.graph_key(transportation, moment, metric=metric)
        topology = TOPOLOGIES.of(
            self,
            (roads, bits),
            lambda: build_topology(
                self.tables,
                transportation,
                self.frame,
                is_left_hand=self.is_left_hand,
                timed=self._timed(transportation, moment),
            ),
        )
        if own is not None:
            return OWN_GRAPHS.of(
                self,
                (roads, boarding_time, metric, own),
                lambda: weigh(topology, self.tables, transportation, traffic, metric=metric),
            )
        return (HOURLY_GRAPHS if is_hour(traffic) else GRAPHS).of(
            self,
            (roads, bits, boarding_time, traffic, metric),
            lambda: weigh(topology, self.tables, transportation, traffic, metric=metric),
        )

    def graph_key(
        self, transportation: Transportation, moment: dt.datetime | object | None = None, *, metric: Metric = "time"
    ) -> GraphKey:
        """Return the key of the graph of `road_graph`, without building it: equal keys have equal graphs."""
        transportation = as_transportation(transportation)
        has_traffic = transportation.street.has_traffic
        timed = self._timed(transportation, moment)
        return (
            roads_key(transportation),
            np.packbits(timed).tobytes() if timed.size else b"",
            transportation.boarding_time,
            traffic_of(self.tables.hourly, transportation.traffic_model, moment) if has_traffic else 1.0,
            transportation.speed,
            metric,
        )

    def _timed(self, transportation: Transportation, moment: dt.datetime | object | None) -> BoolArray:
        """Return which turn restrictions with hours hold; they are for cars, so that others have always the same."""
        return timed_holding(self.tables, moment if transportation.street.has_turns else None)


def hours_kept(n_edges: int) -> int:
    """Return the number of search graphs at measured speeds that are kept: a week in towns, some hours in cities."""
    return min(max(MEMORY_OF_HOURS // (BYTES_PER_EDGE * max(n_edges, 1)), FEWEST_HOURS), HOURS_OF_WEEK)


def roads_key(transportation: Transportation) -> RoadsKey:
    """Return the properties that decide which streets are open to a transportation."""
    most = transportation.stress_limit
    above = () if most is None else (f"{_ABOVE[transportation.push_above_stress]} {most}",)
    caps = f"{transportation.incline_cap:g} {transportation.width_cap:g}"
    steps = (f"step_free {transportation.step_free} {caps}",) if transportation.step_free else ()
    return (
        transportation.base,
        transportation.uses_ferry,
        transportation.include_roads,
        (*transportation.exclude_roads, *above, *steps, *transportation.avoid),
    )


def bounds_of(lng: FloatArray, lat: FloatArray) -> tuple[float, float, float, float]:
    """Return the smallest bounding box; if it crosses the 180th meridian, west is larger than east."""
    west, east = float(lng.min()), float(lng.max())
    if east - west > 180.0:
        # The largest gap between longitudes is outside of the box.
        ordered = np.sort(wrap_degrees(lng))
        gaps = np.diff(ordered)
        widest = int(gaps.argmax())
        if gaps[widest] > 360.0 - (east - west):
            west, east = float(ordered[widest + 1]), float(ordered[widest])
    return west, float(lat.min()), east, float(lat.max())


def frame_of(bounds: tuple[float, float, float, float]) -> LocalFrame:
    """Return the local frame around the centre of a bounding box."""
    west, south, east, north = bounds
    if east < west:
        east += 360.0
    return LocalFrame(float(wrap_degrees((west + east) / 2.0)), (south + north) / 2.0)
