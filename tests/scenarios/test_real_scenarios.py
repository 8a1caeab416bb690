"""Laws of scenarios on the streets and full timetables of Porto Alegre."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import traveltime_lab as tl

MORNING = "2019-05-14T07:30:00"


@pytest.fixture(scope="module")
def places(shared_data: Path) -> gpd.GeoSeries:
    """Fifteen places of the city."""
    table = pd.read_csv(shared_data / "porto_alegre" / "points_of_interest.csv")
    return gpd.GeoSeries.from_xy(table["lon"], table["lat"], crs="EPSG:4326")


def seconds(network: tl.Network, places: Any, means: str, **how: Any) -> np.ndarray:
    found = tl.time_filter(
        network, places, places, travel_time=7200, transportation=means, departure_time=MORNING, form="matrix", **how
    )
    return found.astype("float64").fillna(np.inf).to_numpy()


def test_streets(porto_alegre: tl.Network, places: gpd.GeoSeries) -> None:
    net = porto_alegre
    centre = shapely.Point(-51.2, -30.05).buffer(0.004)
    closed = net.with_changes(tl.CloseStreets(centre, name="fair"))
    assert "edges" in closed.report()["changes"]["1. CloseStreets 'fair'"]
    for means in ("walking", "driving", "public_transport"):
        before, after = (seconds(each, places, means) for each in (net, closed))
        assert (after >= before).all()
        # Few walks to stops lead through these streets.
        assert (after > before).any() or means == "public_transport"
    assert closed.with_changes(tl.ReopenStreets(centre)).fingerprint == net.fingerprint
    path = tl.AddStreet([(-51.21, -30.06), (-51.19, -30.04)], {"walking": 30}, name="moving walkway")
    added = net.with_changes(path)
    assert (seconds(added, places, "walking") <= seconds(net, places, "walking") + 1).all()


def test_timetables(porto_alegre: tl.Network, places: gpd.GeoSeries) -> None:
    net = porto_alegre
    table = net.timetable
    assert table is not None
    routes = table.routes["route_id"].to_numpy()[table.hot.trip_route]
    busiest = pd.Series(routes).value_counts().index[:5].tolist()
    before = seconds(net, places, "public_transport")
    fewer = net.with_changes(tl.RemoveRoutes(busiest))
    assert (seconds(fewer, places, "public_transport") >= before).all()
    more = net.with_changes([tl.ScaleHeadway(route, 0.5) for route in busiest])
    assert (seconds(more, places, "public_transport") <= before).all()
    ways = {"window": 3600}
    assert (seconds(more, places, "public_transport", **ways) <= seconds(net, places, "public_transport", **ways)).all()
    stops = table.stops["stop_id"][table.is_called & (table.stops["feed_idx"] == 0).to_numpy()].tolist()[::40]
    passing = net.with_changes(tl.RemoveStops(stops, feed=str(table.feeds["name"].iloc[0])))
    assert (seconds(passing, places, "public_transport") >= before).all()
    same = net.with_changes([tl.ShiftTrips(busiest[0], 300), tl.ShiftTrips(busiest[0], -300)])
    assert (seconds(same, places, "public_transport") == before).all()
