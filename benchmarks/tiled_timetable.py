"""
Make timetables of any size: the feeds of real cities, many times, joined by long-distance lines.

    python benchmarks/tiled_timetable.py DATA folder --stop-times 50e6
    python benchmarks/tiled_timetable.py DATA folder --stop-times 5e6 --measure --no-write

The first form writes one GTFS feed, ``gtfs.zip``, and its streets, ``streets.npz``. The cities are those of `CITIES`,
in turn, with a part of New York after every third turn, until the feed has as many stop times as requested. With 50
million it has 500,000 stops. Ids get the number of the copy in front. Cities are moved to the points of a grid of one
degree, east-west distances kept, and dates by whole weeks, so that the day that is known best in each feed becomes
`DAY`. All are in one time zone. Trips, calendars, headways, transfers and blocks are those of the feeds; shapes, fares
and pathways are left out. Trains between the busiest stops of neighbouring cities (assumed: 200 km/h, 3 minutes at
each, once an hour) join them.

Streets run between neighbouring stops: the Delaunay triangulation of the stops of a city, without its sides longer than
1.5 km that are not needed to connect it. So there are three streets for each stop, and every stop has one.

With ``--measure``, each stage prints the most memory that the process has needed in it, wall time, and processor time.
The network is built and saved in one process, loaded and searched in a second one, from the busiest stop of the city in
the middle. A third one compares the travel times of 200 pairs of stops with a connection scan in plain Python
(`Oracle`), which needs minutes for each origin.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay

sys.path.insert(0, str(Path(__file__).parent.parent))

DAY = "2026-10-20"  # a Tuesday
ZONE = "Europe/Berlin"
#: Feed, and the day in it that becomes `DAY`: a Tuesday, but for Auckland, which has two days by calendar_dates.txt.
CITIES = (
    ("porto_alegre/gtfs_bus_full.zip", "2019-05-14"),
    ("realtime/auckland/gtfs_reconstructed.zip", "2016-05-19"),
    ("gtfs_only/bydgoszcz.zip", "2020-05-12"),
    ("frequencies/mexico_city.zip", "2018-06-05"),
    ("gtfs_only/zug_transfers.zip", "2021-03-09"),
    ("helsinki/gtfs.zip", "2022-02-22"),
    ("gtfs_only/kuopio.zip", "2017-02-14"),
)
NEW_YORK = tuple(
    (f"bench/nyc/gtfs_{name}.zip", DAY) for name in ("bus_m", "bus_bk", "subway", "bus_bx", "bus_qns", "bus_si")
)
#: Cities between two parts of New York.
BETWEEN = 3 * len(CITIES)
#: Where the grid of cities begins, and how many it has from west to east.
WEST, SOUTH, COLUMNS = 5.0, 44.0, 14
#: Trains between the cities.
TRAIN_KPH, TRAIN_STOP_S, FIRST_TRAIN_S, LAST_TRAIN_S, HEADWAY_S = 200.0, 180, 5 * 3600, 23 * 3600, 3600
#: Longest street between two stops, if these are connected without it.
LONGEST_M = 1500.0
#: Where the number of the copy goes in the texts of a city.
HERE = "\x01"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Columns of each file; those with ids first.
FILES = {
    "routes.txt": (("route_id", "agency_id"), ("route_short_name", "route_long_name", "route_type")),
    "trips.txt": (
        ("route_id", "service_id", "trip_id", "block_id"),
        ("trip_headsign", "trip_short_name", "direction_id", "wheelchair_accessible", "bikes_allowed"),
    ),
    "stop_times.txt": (
        ("trip_id", "stop_id"),
        ("arrival_time", "departure_time", "stop_sequence", "pickup_type", "drop_off_type"),
    ),
    "calendar.txt": (("service_id",), (*DAYS, "start_date", "end_date")),
    "calendar_dates.txt": (("service_id",), ("date", "exception_type")),
    "frequencies.txt": (("trip_id",), ("start_time", "end_time", "headway_secs", "exact_times")),
    "transfers.txt": (("from_stop_id", "to_stop_id"), ("transfer_type", "min_transfer_time")),
    "stops.txt": (("stop_id", "parent_station"), ("stop_name", "stop_lat", "stop_lon", "location_type")),
}  # fmt: skip


@dataclass
class City:
    """A feed, with `HERE` in front of its ids."""

    texts: dict[str, bytes]
    stops: pd.DataFrame  # stop_id, parent_station, stop_name, location_type, east and north (degrees from the middle)
    n_stop_times: int
    hub: str
    streets: np.ndarray  # rows of stops
    lng: np.ndarray
    lat: np.ndarray


def read_city(path: Path, day: str) -> City:
    """Read a feed, and move its dates."""
    archive = zipfile.ZipFile(path)
    later = pd.Timestamp(DAY) - pd.Timestamp(day)
    texts, tables = {}, {}
    for name, (ids, others) in FILES.items():
        if name not in archive.namelist():
            continue
        table = pd.read_csv(archive.open(name), dtype=str, keep_default_na=False, encoding="utf-8-sig")
        table = table.rename(columns=str.strip)
        for column in (*ids, *others):
            if column not in table:
                table[column] = ""
        table = table[[*ids, *others]].apply(lambda values: values.str.strip())
        for column in {"date", "start_date", "end_date"} & {*others}:
            table[column] = (pd.to_datetime(table[column], format="%Y%m%d") + later).dt.strftime("%Y%m%d")
        for column in ids:
            table[column] = np.where(table[column] == "", "", HERE + table[column])
        if name == "routes.txt":
            table["agency_id"] = HERE
        tables[name] = table
        if name != "stops.txt":
            texts[name] = table.to_csv(index=False, header=False, lineterminator="\n").encode()
    counts = tables["stop_times.txt"]["stop_id"].value_counts()
    stops = tables["stops.txt"]
    lng, lat = (stops[name].replace("", "nan").astype(float).to_numpy() for name in ("stop_lon", "stop_lat"))
    called = np.flatnonzero(stops["stop_id"].isin(counts.index) & np.isfinite(lng + lat))
    # Outliers, such as the other end of a long line, would draw long streets only.
    return City(
        texts, stops, len(tables["stop_times.txt"]), counts.index[0],
        called[streets_between(lng[called], lat[called])], lng, lat,
    )  # fmt: skip


def streets_between(lng: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Return the pairs of points that streets join."""
    xy = np.column_stack([lng * np.cos(np.radians(np.median(lat))), lat]) * 111_195.0
    at, first = np.unique(xy, axis=0, return_index=True)
    corners = Delaunay(at - at.mean(axis=0)).simplices
    sides = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), 1), axis=0)
    metres = np.hypot(*(at[sides[:, 0]] - at[sides[:, 1]]).T)
    tree = minimum_spanning_tree(coo_array((metres, sides.T), shape=(len(at), len(at)))).tocoo()
    needed = np.sort(np.column_stack([tree.row, tree.col]), axis=1)
    return first[np.unique(np.concatenate([sides[metres <= LONGEST_M], needed]), axis=0)]


def clock(seconds: np.ndarray) -> list[str]:
    """Return times as H:MM:SS."""
    return [f"{s // 3600}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds.tolist()]


def make(folder: Path, out: Path, n_stop_times: int) -> None:
    """Write the feed and its streets."""
    known: dict[tuple[str, str], City] = {}
    copies: list[City] = []
    total = 0
    for number in range(10**6):
        turn, place = divmod(number, BETWEEN + 1)
        what = NEW_YORK[turn % len(NEW_YORK)] if place == BETWEEN else CITIES[(turn * BETWEEN + place) % len(CITIES)]
        if what not in known:
            known[what] = read_city(folder / what[0], what[1])
        copies.append(known[what])
        total += copies[-1].n_stop_times
        if total >= n_stop_times:
            break
    n = len(copies)
    columns = min(COLUMNS, int(np.ceil(np.sqrt(n))))
    places = [(WEST + i % columns, SOUTH + i // columns) for i in range(n)]
    lng, lat, begin, end, first = [], [], [], [], 0
    stops_of = []
    for i, (city, (east, north)) in enumerate(zip(copies, places, strict=True)):
        middle = np.nanmedian(city.lng), np.nanmedian(city.lat)
        narrower = np.cos(np.radians(middle[1])) / np.cos(np.radians(north))
        x, y = (city.lng - middle[0]) * narrower + east, city.lat - middle[1] + north
        stops = city.stops.assign(
            stop_lon=[f"{value:.6f}" if value == value else "" for value in x],
            stop_lat=[f"{value:.6f}" if value == value else "" for value in y],
        )
        stops_of.append(stops.replace(HERE, f"{i}_", regex=True))
        lng.append(np.round(x, 6))
        lat.append(np.round(y, 6))
        begin.append(city.streets[:, 0] + first)
        end.append(city.streets[:, 1] + first)
        first += x.size
    lng, lat, begin, end = (np.concatenate(each) for each in (lng, lat, begin, end))
    hubs = [city.hub.replace(HERE, f"{i}_") for i, city in enumerate(copies)]
    trains, times = trains_between(hubs, places, columns)
    with zipfile.ZipFile(out / "gtfs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        agencies = "".join(f"{i}_,City {i},https://example.com,{ZONE}\n" for i in range(n))
        archive.writestr(
            "agency.txt",
            f"agency_id,agency_name,agency_url,agency_timezone\n{agencies}T,T,https://example.com,{ZONE}\n",
        )
        extra = {
            "routes.txt": "T,T,T,Trains,2\n",
            "calendar.txt": f"T,{'1,' * 7}20260901,20261231\n",
            "trips.txt": trains,
            "stop_times.txt": times,
            "stops.txt": pd.concat(stops_of).to_csv(index=False, header=False, lineterminator="\n"),
        }
        for name, (ids, others) in FILES.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write((",".join([*ids, *others]) + "\n").encode())
                for i, city in enumerate(copies):
                    if name in city.texts:
                        file.write(city.texts[name].replace(HERE.encode(), f"{i}_".encode()))
                file.write(extra.get(name, "").encode())
    # Nodes of streets are the stops on them.
    used, ends = np.unique(np.concatenate([begin, end]), return_inverse=True)
    middle = min(n // 2 // columns * columns + columns // 2, n - 1)
    home = stops_of[middle].set_index("stop_id").loc[hubs[middle], ["stop_lon", "stop_lat"]].astype(float)
    np.savez(
        out / "streets.npz", lng=lng[used], lat=lat[used], begin=ends[: begin.size], end=ends[begin.size :], home=home
    )
    print(
        f"{n} cities, {total + times.count(chr(10)):,} stop times, {lng.size:,} stops, {begin.size:,} streets, "
        f"{(out / 'gtfs.zip').stat().st_size / 1e6:.0f} MB"
    )


def trains_between(hubs: list[str], places: list[tuple[float, float]], columns: int) -> tuple[str, str]:
    """Return rows of trips.txt and stop_times.txt: trains along the rows and columns of the grid, both ways."""
    numbers = np.arange(len(hubs))
    lines = [numbers[numbers // columns == row] for row in range(-(-len(hubs) // columns))]
    lines += [numbers[numbers % columns == column] for column in range(columns)]
    trips, times = io.StringIO(), io.StringIO()
    for k, line in enumerate([each for way in lines if way.size > 1 for each in (way, way[::-1])]):
        at = np.array([places[i] for i in line])
        steps = np.diff(at, axis=0) * np.column_stack([np.cos(np.radians(at[1:, 1])), np.ones(len(at) - 1)])
        ride = np.round(np.hypot(*steps.T) * 111.195 / TRAIN_KPH * 3600).astype(int)
        arrival = np.append(0, np.cumsum(ride + TRAIN_STOP_S) - TRAIN_STOP_S)
        departure = arrival + np.where(np.arange(line.size) == line.size - 1, 0, TRAIN_STOP_S) * (arrival > 0)
        for start in range(FIRST_TRAIN_S, LAST_TRAIN_S, HEADWAY_S):
            trip = f"T{k}-{start}"
            trips.write(f"T,T,{trip},,,,,,\n")
            for sequence, (i, a, d) in enumerate(
                zip(line, clock(arrival + start), clock(departure + start), strict=True), 1
            ):
                times.write(f"{trip},{hubs[i]},{a},{d},{sequence},,\n")
    return trips.getvalue(), times.getvalue()


class Clock:
    """Prints wall time, processor time and peak memory of stages."""

    def __init__(self) -> None:
        from tiled_network import peak_gb

        self.peak_gb, self.most_gb = peak_gb, 0.0
        self.start()

    def start(self) -> None:
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def print(self, stage: str) -> None:
        wall, processor = time.perf_counter() - self.wall, time.process_time() - self.processor
        gb = self.peak_gb()
        self.most_gb = max(self.most_gb, gb)
        print(f"{stage:58} {wall:8.2f} s, processors {processor:8.2f} s, peak {gb:6.2f} GB", flush=True)
        self.start()


def street_tables(path: Path):
    """Return the streets as tables."""
    from tiled_network import CLASSES, _uses

    from traveltime_lab.streets.tables import StreetTables

    with np.load(path) as of:
        lng, lat, begin, end = (of[name] for name in ("lng", "lat", "begin", "end"))
    x = (lng[end] - lng[begin]) * np.cos(np.radians((lat[begin] + lat[end]) / 2))
    n = begin.size
    return StreetTables(
        node_osm_id=np.arange(1, lng.size + 1), node_lng=lng, node_lat=lat, node_flags=np.zeros(lng.size, np.uint16),
        edge_from=begin.astype(np.int32), edge_to=end.astype(np.int32),
        edge_length_m=np.hypot(x, lat[end] - lat[begin]) * 111_195.0, edge_way_id=np.arange(1, n + 1),
        edge_use=np.full(n, len(CLASSES) - 1, np.int32), edge_name=np.zeros(n, np.int32),
        coord_indptr=2 * np.arange(n + 1, dtype=np.int64), coord_lng=np.column_stack([lng[begin], lng[end]]).ravel(),
        coord_lat=np.column_stack([lat[begin], lat[end]]).ravel(), uses=_uses(), names=[""],
        report={"source": "between stops", "attribution": "agencies of the feeds"},
    )  # fmt: skip


def build(out: Path) -> None:
    """Build and save the network, and print what it takes."""
    import traveltime_lab as tl

    clock = Clock()
    clock.print("imports")
    network = tl.build_network(street_tables(out / "streets.npz"), gtfs=[out / "gtfs.zip"], timezone=ZONE)
    clock.print("build")
    timetable = network.timetable
    print(
        f"{timetable.arrival.size:,} stop times, {timetable.n_trips:,} trips, {timetable.n_stops:,} stops, "
        f"{timetable.pattern_indptr.size - 1:,} patterns, {len(timetable.services):,} services"
    )
    path = network.save(out / "timetable.network")
    clock.print("save")
    network.prepare("public_transport")
    clock.print("prepare")
    print_walks(network)
    path = network.save(out / "prepared.network")
    clock.print("save, prepared")
    print(f"most memory {clock.most_gb:.2f} GB; file {path.stat().st_size / 1e6:,.0f} MB")


def print_walks(network) -> None:
    """Print the number and the bytes of the walks and transfers of a prepared network."""
    from traveltime_lab.network.prepared import name_of

    # The first walks of two directions.
    found = {name_of(use): use.value for use in reversed(network._prepared.values)}
    walks, transfers = found["walks around stops"], found["transfers"]
    n_bytes = sum(array.nbytes for array in (*walks.rows, *transfers))
    n_stops = network.timetable.n_stops
    print(
        f"per stop: {walks.rows.ms.size / n_stops:.0f} walks, {transfers.stop.size / n_stops:.0f} transfers, "
        f"{n_bytes / n_stops:,.0f} bytes"
    )


def search(out: Path) -> None:
    """Load the network, and print what questions take."""
    import geopandas as gpd

    import traveltime_lab as tl

    clock = Clock()
    clock.print("imports")
    network = tl.load_network(out / "prepared.network", verify=False)
    clock.print("load, mapped")
    rng = np.random.default_rng(0)
    with np.load(out / "streets.npz") as of:
        lng, lat, begin, end, home = (of[name] for name in ("lng", "lat", "begin", "end", "home"))
    some = rng.integers(begin.size, size=100_000)
    along = rng.random(some.size)
    doors = gpd.GeoSeries.from_xy(
        lng[begin[some]] + along * (lng[end[some]] - lng[begin[some]]),
        lat[begin[some]] + along * (lat[end[some]] - lat[begin[some]]), crs="EPSG:4326",
    )  # fmt: skip
    home = gpd.GeoSeries.from_xy(home[:1], home[1:], crs="EPSG:4326")
    stops = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    clock.print("points")
    question = {"transportation": "public_transport", "departure_time": f"{DAY}T08:00", "travel_time": 4 * 3600}
    for name, points in (("all stops", stops), ("100,000 doors", doors)):
        for again in ("first", "second", "third"):
            found = tl.time_filter(network, home, points, form="matrix", **question)
            clock.print(f"4 hours, one to {name}, {again}")
        print(f"  {int(np.isfinite(found.to_numpy()).sum()):,} of {len(points):,} reached")
    eight_hours(network, home, stops, doors, clock)
    for again in ("first", "second"):
        tl.time_map(network, home, **{**question, "travel_time": 3600})
        clock.print(f"time_map of 60 minutes, {again}")


def eight_hours(network, home, stops, doors, clock: Clock) -> None:
    """Search 8 hours, which is more than the contract allows in one call, with the functions below the calls."""
    from traveltime_lab.kernels.unreached import UNREACHED
    from traveltime_lab.transit import travel_times

    query = query_of(network, 8 * 3600)
    clock.print("8 hours: query")
    search = query.search()
    clock.print("8 hours: trip table")
    table = search.table
    print(
        f"  {table.instance_trip.size:,} trip instances, {table.arrival.size:,} stop times, "
        f"{table.pattern_indptr.size - 1:,} patterns"
    )
    for again in ("first", "second", "third"):
        near = query.snap(home.x.to_numpy(), home.y.to_numpy(), is_origin=True)
        access = query.links(near, is_origin=True)
        times = search.stop_times(access, query.at(search), query.options)
        clock.print(f"8 hours, one to all stops, engine alone, {again}")
    print(f"  {int((times < query.options.travel_limit + 1).sum()):,} of {times.size:,} stops reached")
    for name, points in (("all stops", stops), ("100,000 doors", doors)):
        for again in ("first", "second", "third"):
            near = query.snap(home.x.to_numpy(), home.y.to_numpy(), is_origin=True)
            far = query.snap(points.x.to_numpy(), points.y.to_numpy(), is_origin=False)
            for block in travel_times.label_blocks(query, near, far):
                n_reached = int((block.labels != UNREACHED).sum())
            clock.print(f"8 hours, one to {name}, {again}")
        print(f"  {n_reached:,} of {len(points):,} reached")


def check(out: Path) -> None:
    """Compare the travel times of pairs of stops over 8 hours with a plain connection scan."""
    import traveltime_lab as tl
    from traveltime_lab.kernels.records import StopLinks
    from traveltime_lab.kernels.unreached import NEVER

    network = tl.load_network(out / "prepared.network", verify=False)
    query = query_of(network, 8 * 3600)
    search = query.search()
    oracle = Oracle(network.timetable, search.table, 8 * 3600)
    rng = np.random.default_rng(1)
    called = np.flatnonzero(network.timetable.is_called)
    n_equal = n_same = n_pairs = n_reached = 0
    for origin in rng.choice(called, 10, replace=False).tolist():
        expected, passes = oracle.arrivals(origin, query.at(search))
        links = StopLinks(np.array([0, 1]), np.array([origin], np.int32), np.zeros(1, np.int32))
        found = search.stop_times(links, query.at(search), query.options)[0]
        expected = np.where(expected <= query.at(search) + 8 * 3_600_000, expected - query.at(search), NEVER)
        to = rng.choice(called, 20, replace=False)
        n_pairs += to.size
        n_equal += int((found[to] == expected[to]).sum())
        n_reached += int((found[to] < NEVER).sum())
        n_same += int((found == expected).sum())
        print(
            f"from stop {origin}: {n_equal} of {n_pairs} pairs equal, {n_reached} reached ({passes} passes)", flush=True
        )
    print(f"of all stops: {n_same:,} of {10 * found.size:,} pairs equal; {oracle.n:,} connections")


class Oracle:
    """
    A connection scan in plain Python.

    Runs are expanded from the calendars, stop times and frequencies of the timetable. Walks between stops and what a
    vehicle continues as are those of the trip table.
    """

    def __init__(self, timetable, table, seconds: int) -> None:
        from zoneinfo import ZoneInfo

        trips, shifts, dates = [], [], []
        route_zone = timetable.routes["zone_idx"].to_numpy()[timetable.trips["route_idx"].to_numpy()]
        service = timetable.trips["service_idx"].to_numpy()
        headways: dict[int, list[list[int]]] = {}
        rows = (getattr(timetable, f"frequency_{name}").tolist() for name in ("trip", "start", "end", "headway"))
        for trip, *row in zip(*rows, strict=True):
            headways.setdefault(trip, []).append(row)
        services = timetable.services
        for day in pd.date_range(DAY, periods=4) - pd.Timedelta(days=2):
            ordinal = day.toordinal()
            runs = (
                ((services.weekdays >> day.weekday()) & 1 == 1)
                & (services.start <= ordinal)
                & (services.end >= ordinal)
            )
            for i in np.flatnonzero(services.exception_date == ordinal).tolist():
                runs[services.exception_service[i]] = services.exception_added[i]
            for number, zone in enumerate(timetable.zones):
                noon = pd.Timestamp(day.date()).replace(hour=12).tz_localize(ZoneInfo(zone)).timestamp()
                midnight = int(noon) - 12 * 3600 - table.reference
                for trip in np.flatnonzero(runs[service] & (route_zone == number)).tolist():
                    own = headways.get(trip)
                    first = int(timetable.departure[timetable.trip_indptr[trip]])
                    starts = [first] if own is None else [t for row in own for t in range(*row)]
                    for start in starts:
                        if not -2 * 86400 < midnight + start < seconds + 3600:
                            continue
                        trips.append(trip)
                        shifts.append(midnight + start - first)
                        dates.append(ordinal)
        trip, shift, date = (np.array(values, np.int32) for values in (trips, shifts, dates))
        # Vehicles that do not run between the beginning and the end are left out.
        begin, end = timetable.trip_indptr[trip], timetable.trip_indptr[trip + 1]
        is_on = (timetable.arrival[end - 1] + shift >= 0) & (timetable.departure[begin] + shift <= seconds + 3600)
        trip, shift, date, begin, end = (values[is_on] for values in (trip, shift, date, begin, end))
        lengths = end - begin - 1
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = np.repeat(begin, lengths) + within
        departs = timetable.departure[at] + np.repeat(shift, lengths)
        arrives = timetable.arrival[at + 1] + np.repeat(shift, lengths)
        is_on = (departs >= 0) & (arrives <= seconds + 3600)
        run = np.repeat(np.arange(trip.size, dtype=np.int32), lengths)[is_on]
        within, departs, arrives = within[is_on], departs[is_on], arrives[is_on]
        place = timetable.pattern_indptr[timetable.trips["pattern_idx"].to_numpy()[trip]][run] + within
        order = np.lexsort((within, run, arrives, departs))
        columns = (
            departs, arrives, run, within, timetable.pattern_stop[place], timetable.pattern_stop[place + 1],
            timetable.pattern_pickup[place] != 1, timetable.pattern_drop_off[place + 1] != 1,
            within == lengths[run] - 1,
        )  # fmt: skip
        self.columns = [values[order].astype(np.bool_ if values.dtype == bool else np.int32) for values in columns]
        self.n, self.n_runs, self.table = order.size, trip.size, table
        # Runs of one trip on one date are told apart by headways only, which no vehicle continues.
        number = {key: i for i, key in enumerate(zip(trip.tolist(), date.tolist(), strict=True))}
        self.stay = {}
        for i in np.flatnonzero(table.stay_instance >= 0).tolist():
            one, other = (
                number.get((int(table.instance_trip[k]), int(table.instance_date[k])))
                for k in (i, int(table.stay_instance[i]))
            )
            if one is not None and other is not None:
                self.stay[one] = other

    def arrivals(self, origin: int, start: int) -> tuple[np.ndarray, int]:
        """Return the earliest arrival of a vehicle at each stop, ms, and how often all connections were scanned."""
        far = 2_000_000_000
        table, stay = self.table, self.stay
        ready, arrived, aboard = [far] * table.n_stops, [far] * table.n_stops, [far] * self.n_runs
        ready[origin] = start
        change = table.change_time.tolist()
        passes, is_stable = 0, False
        while not is_stable:
            is_stable, passes = True, passes + 1
            for first in range(0, self.n, 200_000):
                chunk = (values[first : first + 200_000].tolist() for values in self.columns)
                for departs, arrives, run, k, here, there, can_board, can_alight, is_last in zip(*chunk, strict=True):
                    if k < aboard[run]:
                        if not can_board or ready[here] > departs * 1000:
                            continue
                        aboard[run] = k
                        is_stable = False
                    if is_last and run in stay and aboard[stay[run]] > 0:
                        aboard[stay[run]] = 0
                        is_stable = False
                    at = arrives * 1000
                    if can_alight and at < arrived[there]:
                        arrived[there] = at
                        is_stable = False
                        ready[there] = min(ready[there], at + change[there])
                        ends = slice(int(table.transfer_indptr[there]), int(table.transfer_indptr[there + 1]))
                        for other, walk in zip(
                            table.transfer_stop[ends].tolist(), table.transfer_time[ends].tolist(), strict=True
                        ):
                            ready[other] = min(ready[other], at + walk)
        return np.array(arrived), passes


def query_of(network, seconds: int):
    """Return a query of any length."""
    from traveltime_lab.question import Question
    from traveltime_lab.transit.query import transit_query

    question = Question.of(network.timezone, "public_transport", f"{DAY}T08:00", None, None, limit=seconds)
    return transit_query(network.transit, question)


def main() -> None:
    """Make a timetable, and print what it takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the feeds")
    parser.add_argument("out", type=Path, help="folder to write to")
    parser.add_argument("--stop-times", type=float, default=1e6)
    parser.add_argument("--no-write", action="store_true", help="use the feed that is there")
    parser.add_argument("--measure", nargs="*", choices=("build", "search", "check"), default=None)
    parser.add_argument("--stage", choices=("build", "search", "check"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        {"build": build, "search": search, "check": check}[arguments.stage](arguments.out)
        return
    arguments.out.mkdir(exist_ok=True)
    if not arguments.no_write:
        make(arguments.folder, arguments.out, int(arguments.stop_times))
    if arguments.measure is not None:
        for stage in arguments.measure or ("build", "search", "check"):
            subprocess.run(
                [sys.executable, __file__, str(arguments.folder), str(arguments.out), "--stage", stage], check=True
            )


if __name__ == "__main__":
    main()
