"""Questions to a network whose answers are compared before and after a rewriting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

Frame = pd.DataFrame
Ask = Callable[[tl.Network, gpd.GeoSeries], Frame]


@dataclass(frozen=True)
class Slack:
    """
    By how much answers may differ, with the reason.

    Attributes
    ----------
    why : str
    seconds, metres : float
        Largest difference of one travel time and of one distance.
    share : float
        Largest share of the values of a question that may differ at all.
    mean_m : float or None
        Instead of the share of the distances: how far their mean may be from that of the original.
    area : float
        Largest share of an area that may be in one answer only.
    """

    why: str
    seconds: float = 0.0
    metres: float = 0.0
    share: float = 0.0
    area: float = 0.0
    mean_m: float | None = None


EXACT = Slack("nothing is rounded differently")


def assert_same(found: Frame, expected: Frame, slack: Slack = EXACT) -> None:
    """Assert that two answers are the same, or within what a rewriting may change."""
    assert list(found.columns) == list(expected.columns)
    if slack is EXACT:
        assert_equal(found, expected)
        return
    pd.testing.assert_index_equal(found.index, expected.index)
    for name in expected.columns:
        one, other = found[name], expected[name]
        if name == "geometry" and (expected.geom_type.dropna() == "Point").all():
            assert one.isna().tolist() == other.isna().tolist()
            off = shapely.distance(np.asarray(one), np.asarray(other))
            assert np.nan_to_num(off).max(initial=0.0) <= 1e-5 * max(slack.metres, 1e-3), name
        elif name == "geometry":
            apart = shapely.area(shapely.symmetric_difference(np.asarray(one), np.asarray(other)))
            whole = shapely.area(np.asarray(other))
            assert (apart <= slack.area * whole).all(), (apart / whole).max()
        elif pd.api.types.is_numeric_dtype(other.dtype):
            assert one.isna().tolist() == other.isna().tolist(), name
            off = (one.astype("float64") - other.astype("float64")).abs().fillna(0.0).to_numpy()
            most = slack.metres if "distance" in name else slack.seconds
            assert off.max(initial=0.0) <= most, (name, off.max())
            if "distance" in name and slack.mean_m is not None:
                assert abs(one.mean() - other.mean()) <= slack.mean_m, (name, one.mean() - other.mean())
                continue
            # Floating-point numbers of metres differ in their last bits.
            assert (off > 1e-6).mean() <= slack.share, (name, (off > 1e-6).mean())
        else:
            assert one.tolist() == other.tolist(), name


def assert_equal(found: Frame, expected: Frame) -> None:
    """Assert that two answers are equal to the last bit, rings of areas up to where they begin."""
    if isinstance(expected, gpd.GeoDataFrame):
        one, other = (shapely.normalize(np.asarray(frame.geometry)) for frame in (found, expected))
        same = shapely.equals_identical(one, other) | (shapely.is_missing(one) & shapely.is_missing(other))
        assert same.all(), f"{(~same).sum()} of {same.size} geometries differ"
        found, expected = (pd.DataFrame(frame).drop(columns=frame.geometry.name) for frame in (found, expected))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


# Questions

_HOUR = 3600


def matrix(mode: Any, **how: Any) -> Ask:
    """Travel times and distances between all places."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        wanted = ("travel_time",) if _rides(mode) else ("travel_time", "distance")
        found = tl.time_filter(
            network, places, places, travel_time=_HOUR, transportation=mode, properties=wanted, **how
        )
        return pd.DataFrame(found)[["origin", "destination", *wanted, "reason"]]

    return ask


def areas(mode: Any, travel_time: int, **how: Any) -> Ask:
    """Areas of two places."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        return tl.time_map(network, places.iloc[:2], travel_time=travel_time, transportation=mode, **how)[["geometry"]]

    return ask


def distance_areas(mode: Any, distance: int) -> Ask:
    """Areas within a distance of two places."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        return tl.distance_map(network, places.iloc[:2], distance=distance, transportation=mode)[["geometry"]]

    return ask


def nearest(mode: Any, **how: Any) -> Ask:
    """Travel times to the three nearest places; which of several is nearest as quickly does not matter."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        found = tl.nearest(network, places, places.iloc[::3], travel_time=_HOUR, k=3, transportation=mode, **how)
        return pd.DataFrame(found)[["origin", "travel_time"]]

    return ask


def routes(mode: Any, **how: Any) -> Ask:
    """Times and lengths of routes, and of their legs."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        found = tl.routes(network, places.iloc[:4], places.iloc[4:10], transportation=mode, **how)
        legs = [
            [] if route is None else [(leg.mode, leg.waiting_time) for leg in route.legs] for route in found["route"]
        ]
        table = pd.DataFrame(found)[["origin", "destination", "travel_time", "distance", "reason"]]
        return table.assign(legs=[str(leg) for leg in legs])

    return ask


def cells(mode: Any, travel_time: int, **how: Any) -> Ask:
    """Travel times of H3 cells."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        found = tl.h3_cells(
            network, places.iloc[:2], travel_time=travel_time, resolution=10, transportation=mode, geometry=False, **how
        )
        return pd.DataFrame(found)

    return ask


def snaps(mode: Any) -> Ask:
    """How far places are from the nearest street, and where on it they are."""

    def ask(network: tl.Network, places: gpd.GeoSeries) -> Frame:
        found = tl.snap(network, places, transportation=mode)
        return found[["snap_distance", "geometry"]].set_crs(4326, allow_override=True)

    return ask


def _rides(mode: Any) -> bool:
    name = mode if isinstance(mode, str) else mode["type"]
    return "public_transport" in name or name in ("bus", "train")


def lengths(network: tl.Network, places: gpd.GeoSeries) -> Frame:
    """Lengths of all edges."""
    return pd.DataFrame({"distance": np.sort(network.tables.edge_length_m)})


def streets(moment: str) -> dict[str, Ask]:
    """Return questions about streets at a moment, given without a time zone."""
    by = {"arrival_time": moment}
    at = {"departure_time": moment}
    return {
        "lengths of edges": lengths,
        "walking": matrix("walking"),
        "cycling": matrix("cycling"),
        "driving": matrix("driving", **at),
        "driving, by arrival": matrix("driving", **by),
        "with ferries": matrix("driving+ferry", **at),
        "walking areas": areas("walking", 600),
        "driving areas by arrival": areas("driving", 300, **by),
        "areas within a distance": distance_areas("cycling", 700),
        "nearest by car": nearest("driving", **at),
        "walking routes": routes("walking"),
        "driving routes": routes("driving", **at),
        # All cells of a small city: at a limit, a millisecond decides which points of a cell count.
        "cells": cells("cycling", 3600),
        "snapped to streets for cars": snaps("driving"),
        "snapped to paths": snaps("walking"),
    }


def rides(moment: str, arrival: str) -> dict[str, Ask]:
    """Return questions about public transport at two moments, given without a time zone."""
    kind = "public_transport"
    at, by = {"departure_time": moment}, {"arrival_time": arrival}
    return {
        "by departure": matrix(kind, **at),
        "by arrival": matrix(kind, **by),
        "percentiles of a window": matrix(kind, **at, window=1800, percentiles=(10, 50)),
        "bicycles to the stop": matrix("cycling+public_transport", **at),
        "areas": areas(kind, 1200, **at),
        "areas by arrival": areas(kind, 1200, **by),
        "nearest": nearest(kind, **at),
        "routes": routes(kind, **at),
        "routes by arrival": routes(kind, **by),
        "cells": cells(kind, 900, **at),
    }


def places_in(network: tl.Network, n: int, seed: int) -> gpd.GeoSeries:
    """Return random places in a network, half of them at its nodes."""
    rng = np.random.default_rng(seed)
    west, south, east, north = network.bounds
    lng, lat = rng.uniform(west, east, n), rng.uniform(south, north, n)
    t = network.tables
    nodes = rng.choice(np.unique(np.concatenate([t.edge_from, t.edge_to])), n // 2, replace=False)
    lng[: n // 2], lat[: n // 2] = t.node_lng[nodes], t.node_lat[nodes]
    order = rng.permutation(n)
    return gpd.GeoSeries.from_xy(lng[order], lat[order], index=[f"p{i}" for i in range(n)], crs="EPSG:4326")
