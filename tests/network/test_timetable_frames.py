"""The routes and trips of a timetable as tables, against the files of feeds."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support import worlds
from tests.support.towns import STOPS, STREETS, clock, timetable, towns

DAY = "2019-05-14"


def raw(path: Path) -> dict[str, pd.DataFrame]:
    """Return the files of a feed as texts."""
    with zipfile.ZipFile(path) as packed:
        return {
            name.removesuffix(".txt"): pd.read_csv(io.BytesIO(packed.read(name)), dtype="str", keep_default_na=False)
            for name in packed.namelist()
            if name.endswith(".txt")
        }


def seconds(text: str) -> int:
    hours, minutes, rest = (int(part) for part in text.split(":"))
    return hours * 3600 + minutes * 60 + rest


def trips_by_hand(files: dict[str, pd.DataFrame], day: dt.date) -> pd.DataFrame:
    """Return the trips of a day with first and last stop and times."""
    active = set()
    for row in files["calendar"].itertuples() if "calendar" in files else ():
        if getattr(row, f"{day:%A}".lower()) == "1" and row.start_date <= f"{day:%Y%m%d}" <= row.end_date:
            active.add(row.service_id)
    for row in files["calendar_dates"].itertuples() if "calendar_dates" in files else ():
        if row.date == f"{day:%Y%m%d}":
            (active.add if row.exception_type == "1" else active.discard)(row.service_id)
    times = files["stop_times"].assign(order=lambda t: t["stop_sequence"].astype(int)).sort_values("order")
    calls = times.groupby("trip_id").agg(
        n_stops=("stop_id", "size"), first_stop=("stop_id", "first"), last_stop=("stop_id", "last"),
        departure_s=("departure_time", "first"), arrival_s=("arrival_time", "last"),
    )  # fmt: skip
    trips = files["trips"][files["trips"]["service_id"].isin(active)]
    found = trips[["trip_id", "route_id"]].merge(calls.reset_index(), on="trip_id")
    return found.assign(**{name: found[name].map(seconds) for name in ("departure_s", "arrival_s")})


@pytest.fixture(scope="module")
def feeds(porto_alegre: tl.Network) -> dict[str, dict[str, pd.DataFrame]]:
    files = tl.sample_files("porto_alegre")
    return {name: raw(files[name]) for name in ("buses", "metro")}


@pytest.mark.thorough
def test_trips_are_those_of_the_files(porto_alegre: tl.Network, feeds: dict[str, dict[str, pd.DataFrame]]) -> None:
    day = dt.date.fromisoformat(DAY)
    expected = pd.concat([trips_by_hand(files, day) for files in feeds.values()]).sort_values("trip_id")
    found = porto_alegre.trips_frame(date=day, geometry=False).sort_values("trip_id")
    assert not isinstance(found, gpd.GeoDataFrame)
    pd.testing.assert_frame_equal(
        found[expected.columns].reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False
    )


@pytest.mark.thorough
def test_routes_are_sums_of_trips(porto_alegre: tl.Network, feeds: dict[str, dict[str, pd.DataFrame]]) -> None:
    routes = porto_alegre.routes_frame(date=DAY)
    trips = porto_alegre.trips_frame(date=DAY, geometry=False)
    midnight = pd.Timestamp(DAY, tz=porto_alegre.timezone)
    for row in routes.itertuples():
        own = trips[(trips["route_id"] == row.route_id) & (trips["feed"] == row.feed)]
        assert row.n_departures == own["n_departures"].sum() == len(own)
        if len(own):
            assert row.first_departure == midnight + pd.Timedelta(own["departure_s"].min(), "s")
            assert row.last_departure == midnight + pd.Timedelta(own["departure_s"].max(), "s")
        else:
            assert pd.isna(row.first_departure) and pd.isna(row.last_departure)
    everything = porto_alegre.trips_frame(geometry=False)
    counts = everything.groupby(["feed", "route_id"]).size()
    assert routes.set_index(["feed", "route_id"])["n_trips"].to_dict() == counts.to_dict()
    given = pd.concat([files["routes"] for files in feeds.values()]).set_index("route_id").fillna("")
    for mine, theirs in (
        ("short_name", "route_short_name"),
        ("color", "route_color"),
        ("text_color", "route_text_color"),
    ):
        assert routes.set_index("route_id")[mine].to_dict().items() <= given[theirs].to_dict().items()


@pytest.mark.thorough
def test_stops_of_routes(porto_alegre: tl.Network, feeds: dict[str, dict[str, pd.DataFrame]]) -> None:
    routes = porto_alegre.routes_frame().set_index("route_id")
    kept = set(porto_alegre.trips_frame(geometry=False)["trip_id"])
    for files in feeds.values():
        times = files["stop_times"].merge(files["trips"][["trip_id", "route_id"]], on="trip_id")
        times = times[times["trip_id"].isin(kept)]
        for route, own in times.groupby("route_id"):
            assert routes.loc[route, "n_stops"] == own["stop_id"].nunique()


@pytest.mark.thorough
def test_lines_follow_the_shapes(porto_alegre: tl.Network, feeds: dict[str, dict[str, pd.DataFrame]]) -> None:
    trips = porto_alegre.trips_frame(date=DAY).set_index("trip_id")
    stops = porto_alegre.stops_frame().set_index("stop_id").to_crs(porto_alegre.crs).geometry
    metric, gaps = trips.to_crs(porto_alegre.crs).geometry, []
    files = feeds["buses"]
    shapes = files["shapes"].assign(order=lambda t: t["shape_pt_sequence"].astype(int)).sort_values("order")
    drawn = {
        shape: shapely.LineString(own[["shape_pt_lon", "shape_pt_lat"]].astype(float).to_numpy())
        for shape, own in shapes.groupby("shape_id")
    }
    lines = gpd.GeoSeries(drawn, crs="EPSG:4326").to_crs(porto_alegre.crs)
    of = files["trips"].set_index("trip_id")["shape_id"]
    some = [trip for trip in metric.index[::200] if trip in of.index and of[trip] in lines.index]
    assert some
    for trip in some:
        line = metric[trip]
        # Each vertex of the line is on the shape.
        away = shapely.distance(shapely.points(shapely.get_coordinates(line)), lines[of[trip]])
        assert away.max() < 0.5, trip
        ends = shapely.points(shapely.get_coordinates(line)[[0, -1]])
        near = [stops[trips.loc[trip, side]] for side in ("first_stop", "last_stop")]
        gaps += shapely.distance(ends, near).tolist()
    assert np.median(gaps) < 20, "lines end at the stops"
    # No line is much shorter than the way from stop to stop, as that of a loop cut at its beginning would be.
    timetable = porto_alegre.timetable
    assert timetable is not None
    pattern = pd.Series(timetable.hot.trip_pattern, timetable.column("trips", "trip_id").astype(str)).loc[trips.index]
    xy = np.column_stack(
        porto_alegre.frame.to_xy(*(timetable.column("stops", name) for name in ("stop_lon", "stop_lat")))
    )
    shares = []
    for own, line in zip(pattern, metric, strict=True):
        at = timetable.pattern_stop[timetable.pattern_indptr[own] : timetable.pattern_indptr[own + 1]]
        shares.append(line.length / np.hypot(*np.diff(xy[at], axis=0).T).sum())
    assert min(shares) > 0.9
    routes = porto_alegre.routes_frame(date=DAY)
    assert (routes.geometry.geom_type == "MultiLineString").all() and routes.crs == trips.crs == "EPSG:4326"
    for row in routes.iloc[::20].itertuples():
        parts = {part.wkb for part in row.geometry.geoms}
        own = porto_alegre.trips_frame(routes=row.route_id).query("feed == @row.feed")
        assert parts == {line.wkb for line in own.geometry}


@pytest.mark.thorough
@settings(max_examples=20, deadline=None)
@given(
    town=towns(), repeats=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 900), st.integers(1, 400)), max_size=3)
)
def test_repeated_trips_of_random_towns(
    town: Any, repeats: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Departures are counted one by one."""
    _, _, stops, trips = town
    rows: dict[int, list[tuple[int, int, int]]] = {}
    for trip, length, headway in repeats:
        if trip < len(trips):
            start = 30_000 + 10_000 * len(rows.get(trip, []))
            rows.setdefault(trip, []).append((start, start + length, headway))
    frequencies = "\n".join(
        ["trip_id,start_time,end_time,headway_secs"]
        + [f"t{trip},{clock(a)},{clock(b)},{h}" for trip, own in rows.items() for a, b, h in own]
    )
    files = {"frequencies": frequencies} if rows else {}
    feed = timetable(tmp_path_factory.mktemp("feed"), stops, trips, **files)
    network = tl.build_network(STREETS, gtfs=feed, timezone="UTC")
    day = network.typical_day
    found = network.trips_frame(date=day).set_index("trip_id")
    routes = network.routes_frame().set_index("route_id")
    for number, calls in enumerate(trips):
        times = [when for a, b, h in rows.get(number, []) for when in range(a, b, h)] or [calls[0][1]]
        row = found.loc[f"t{number}"]
        assert (row["n_departures"], row["departure_s"], row["last_departure_s"]) == (len(times), times[0], times[-1])
        assert row["arrival_s"] - row["departure_s"] == calls[-1][1] - calls[0][1]
        assert (row["first_stop"], row["last_stop"]) == (calls[0][0], calls[-1][0])
        assert shapely.get_num_coordinates(row["geometry"]) == len(calls) == row["n_stops"], "straight, without shapes"
        route = routes.loc[f"R{number}"]
        assert route["n_departures"] == len(times) and route["n_stops"] == len({stop for stop, _ in calls})
        assert route["last_departure"] == pd.Timestamp(day, tz="UTC") + pd.Timedelta(times[-1], "s")


@pytest.mark.thorough
def test_scenarios_have_their_changed_trips(porto_alegre: tl.Network) -> None:
    route = porto_alegre.routes_frame(date=DAY).query("feed == 'buses'").sort_values("n_departures").iloc[-1]
    changed = porto_alegre.with_changes(
        [
            tl.SetHeadway(route["route_id"], "07:00", "09:00", 600, feed=route["feed"]),
            tl.RemoveRoutes("T1", feed="buses"),
            tl.AddLine(
                "X1", porto_alegre.stops_frame()["stop_id"].iloc[:3].tolist(), headway=1200, start="06:00",
                end="07:00", speed=30, feed="buses", route_name="Express",
            ),
        ]
    )  # fmt: skip
    before = porto_alegre.trips_frame(date=DAY, routes=route["route_id"])
    after = changed.trips_frame(date=DAY, routes=route["route_id"])
    in_between = after[after["departure_s"].between(7 * 3600, 9 * 3600 - 1)]
    n_directions = before["direction_id"].nunique()
    assert sorted(in_between["departure_s"]) == sorted(list(range(25_200, 32_400, 600)) * n_directions)
    routes = changed.routes_frame(date=DAY).set_index("route_id")
    assert "T1" not in routes.index and routes.loc["X1", "short_name"] == "Express"
    assert routes.loc["X1", "n_departures"] == 6 and routes.loc["X1", "n_stops"] == 3
    everything = changed.routes_frame(date=DAY, only_served=False).set_index("route_id")
    gone = everything.loc["T1"]
    assert gone["n_trips"] == gone["n_departures"] == gone["n_stops"] == 0 and gone["geometry"] is None
    assert routes.loc[route["route_id"], "n_departures"] == after["n_departures"].sum()


def test_the_day_is_the_typical_one_and_days_without_service_have_no_departures(porto_alegre: tl.Network) -> None:
    routes, same = porto_alegre.routes_frame(), porto_alegre.routes_frame(date=porto_alegre.typical_day)
    pd.testing.assert_frame_equal(routes, same)
    sunday = porto_alegre.routes_frame(date=dt.date(2019, 5, 12))
    assert len(sunday) == len(routes) and set(sunday.loc[sunday["n_departures"] > 0, "feed"]) == {"metro"}
    assert sunday["first_departure"].dtype == routes["first_departure"].dtype
    assert len(porto_alegre.trips_frame(date="2019-05-12")) == sunday["n_departures"].sum()


@pytest.mark.slow
def test_dtypes_do_not_depend_on_the_data_and_files_take_them(porto_alegre: tl.Network, tmp_path: Path) -> None:
    trips = porto_alegre.trips_frame(date=DAY, routes="T1")
    none = porto_alegre.trips_frame(date="2019-05-12", routes="T1")
    assert len(trips) and not len(none) and none.crs == trips.crs
    numbers = trips.select_dtypes("number").dtypes.to_dict()
    assert none[list(numbers)].dtypes.to_dict() == numbers
    for table in (trips, porto_alegre.routes_frame(date=DAY).head(3)):
        table.to_file(tmp_path / "table.geojson")
        assert len(gpd.read_file(tmp_path / "table.geojson")) == len(table)
        table.to_parquet(tmp_path / "table.parquet")


def test_errors(porto_alegre: tl.Network) -> None:
    street = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b", {})])
    for frame in (street.routes_frame, street.trips_frame):
        with pytest.raises(tl.InputError, match=r"no timetable, and no (routes|trips); build it with gtfs="):
            frame()
    with pytest.raises(tl.InputError, match=r"no route has the id 'T1-9'; did you mean 'T1' or 'T9'\?"):
        porto_alegre.trips_frame(routes=["T1-9"])
    for frame in (porto_alegre.routes_frame, porto_alegre.trips_frame):
        with pytest.raises(tl.NoServiceError, match="date 2026-01-01 is outside the dates that the timetable covers: "):
            frame(date="2026-01-01")
        with pytest.raises(tl.InputError, match="date must be a date such as"):
            frame(date="tomorrow")
    with pytest.raises(tl.InputError, match="must be True or False"):
        porto_alegre.routes_frame(only_served=1)


def test_stops_without_coordinates_have_no_part_in_lines(tmp_path: Path) -> None:
    trips = [[("a", 28_800), ("b", 29_100), ("c", 29_400)]]
    path = timetable(tmp_path, STOPS, trips)
    network = tl.build_network(STREETS, gtfs=path, timezone="UTC")
    line = network.trips_frame().geometry.iloc[0]
    places = network.stops_frame().set_index("stop_id").geometry
    assert np.allclose(shapely.get_coordinates(line), [(places[s].x, places[s].y) for s in "abc"])
