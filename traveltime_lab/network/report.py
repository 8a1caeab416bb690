"""
Report on a network: its sources, the data that were dropped and why, and its connectivity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from traveltime_lab.modes import Transportation
from traveltime_lab.streets import snapping
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.layer import TransitLayer

#: Maximum number of stops that the report lists by name.
_STOPS_LISTED = 5


class Report(dict[str, Any]):
    """Report on a network: a dict that prints as text."""

    def __str__(self) -> str:
        """Return one line per entry."""
        return "\n".join(_report_lines(self, ""))


def _report_lines(facts: dict[str, Any], indent: str) -> list[str]:
    """Return the lines of a nested report."""
    lines = []
    for key, value in facts.items():
        label = str(key).replace("_", " ")
        if isinstance(value, dict):
            lines.append(f"{indent}{label}:")
            lines.extend(_report_lines(value, indent + "  "))
        elif isinstance(value, float):
            lines.append(f"{indent}{label}: {value:,.4g}")
        elif isinstance(value, int) and not isinstance(value, bool):
            lines.append(f"{indent}{label}: {value:,}")
        else:
            lines.append(f"{indent}{label}: {value}")
    return lines


def connectivity(streets: StreetLayer) -> dict[str, Any]:
    """Return, for each mode, the length of streets in kilometres and the share of them on islands."""
    tables = streets.tables
    modes: dict[str, Any] = {}
    for base in ("walking", "cycling", "driving"):
        topology = streets.road_graph(Transportation(f"{base}+ferry")).topology
        is_open = topology.is_open[0::2] | topology.is_open[1::2]
        on_island = is_open & ~(topology.can_leave & topology.can_arrive)
        km = float(tables.edge_length_m[is_open].sum() / 1000)
        island_km = float(tables.edge_length_m[on_island].sum() / 1000)
        modes[base] = {
            "edges": int(is_open.sum()),
            "street_km": km,
            "island_edges": int(on_island.sum()),
            "island_share": island_km / km if km else 0.0,
        }
    return modes


def timetable_facts(transit: TransitLayer) -> dict[str, Any]:
    """Return the report on the timetable of each feed, including stops that are not connected to streets."""
    feeds: dict[str, Any] = transit.timetable.report()
    for feed, facts in enumerate(feeds.values()):
        facts["stops_off_streets"] = _stops_off_streets(transit, feed)
    return feeds


def _stops_off_streets(transit: TransitLayer, feed: int) -> dict[str, Any]:
    """Return the stops of a feed that are too far from any walkable street."""
    timetable = transit.timetable
    stops = timetable.stops[timetable.is_called & (timetable.column("stops", "feed_idx") == feed)]
    walking = Transportation("walking")
    lng, lat = (stops[name].to_numpy(np.float64) for name in ("stop_lon", "stop_lat"))
    how = snapping.STOP_SNAPPING
    far = np.flatnonzero(snapping.snap_points(transit.streets, lng, lat, walking, how).edge < 0)
    facts: dict[str, Any] = {"number": far.size, "of": len(stops), "farther_than_m": how.threshold}
    if far.size:
        some = far[:_STOPS_LISTED]
        metres = snapping.metres_to_streets(transit.streets, lng[some], lat[some], walking)
        listed = [f"{name} ({m:,.0f} m)" for name, m in zip(stops["stop_id"].iloc[some], metres, strict=True)]
        facts["such_as"] = ", ".join(listed)
    return facts
