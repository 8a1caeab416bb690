"""
Turn restrictions and ferries as a driver meets them.

The restrictions are read here a second time, object by object with pyosmium, and held against the routes that the
library drives: none may make a forbidden turn. So that this can fail, the same is asked of the same streets without
restrictions, where most routes do make it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import geopandas as gpd
import numpy as np
import osmium
import pytest
import shapely

from tests.support.osm_files import osm_xml
from traveltime_lab import Snapping, build_network, load_network, snap, time_filter, time_map
from traveltime_lab.network.network import Network
from traveltime_lab.readers.osm.streets import read_osm
from traveltime_lab.streets.tables import StreetTables

ANY_ROAD = Snapping(accept_roads="any_drivable")
#: Vehicles that a restriction may except; if it does, it is not for cars.
CARS = {"motorcar", "motor_vehicle", "vehicle"}


class Turn(NamedTuple):
    """A restriction as directed edges in travel order."""

    relation: int
    is_only: bool
    edges: tuple[int, ...]


class Streets:
    """Street tables, looked at one edge at a time."""

    def __init__(self, tables: StreetTables) -> None:
        self.tables = tables
        ids = tables.node_osm_id
        self.ends = list(zip(ids[tables.edge_from].tolist(), ids[tables.edge_to].tolist(), strict=True))
        kph = [tables.uses[f"driving_kph_{side}"].to_numpy()[tables.edge_use] for side in ("forward", "backward")]
        is_open = (tables.uses["driving_access"] == 1).to_numpy()[tables.edge_use]
        self.by_way: dict[int, list[int]] = {}
        self.leaving: dict[int, list[int]] = {}
        self.arriving: dict[int, list[int]] = {}
        for edge, way in enumerate(tables.edge_way_id.tolist()):
            for side in (0, 1):
                if kph[side][edge] > 0 and is_open[edge]:
                    directed = 2 * edge + side
                    self.by_way.setdefault(way, []).append(directed)
                    self.leaving.setdefault(self.tail(directed), []).append(directed)
                    self.arriving.setdefault(self.head(directed), []).append(directed)

    def tail(self, directed: int) -> int:
        return self.ends[directed // 2][directed % 2]

    def head(self, directed: int) -> int:
        return self.ends[directed // 2][1 - directed % 2]

    def line(self, directed: int) -> shapely.LineString:
        t = self.tables
        row = slice(*t.coord_indptr[directed // 2 : directed // 2 + 2])
        line = np.column_stack([t.coord_lng[row], t.coord_lat[row]])
        return shapely.LineString(line[::-1] if directed % 2 else line)

    def middle(self, directed: int) -> shapely.Point:
        return self.line(directed).interpolate(0.5, normalized=True)


def raw_restrictions(path: Path) -> list[tuple[int, str, list[Any], list[Any], list[Any]]]:
    """Read (relation, kind, from, via, to) of the restrictions on cars that always hold, straight from the file."""
    found = []
    for relation in osmium.FileProcessor(str(path), osmium.osm.RELATION):
        tags = dict(relation.tags)
        kind = tags.get("restriction", "")
        if tags.get("type") != "restriction" or not kind.startswith(("no_", "only_")):
            continue
        if "day_on" in tags or "hour_on" in tags:
            continue
        if CARS & set(tags.get("except", "").replace(" ", "").split(";")):
            continue
        members = [(m.role, (m.type, m.ref)) for m in relation.members]
        found.append((relation.id, kind, *([m for role, m in members if role == r] for r in ("from", "via", "to"))))
    return found


def turns_at_nodes(streets: Streets, path: Path) -> list[Turn]:
    """Return the restrictions via a node whose turn can be driven and is one only."""
    turns = []
    for relation, kind, sources, vias, targets in raw_restrictions(path):
        if len(sources) != 1 or len(targets) != 1 or len(vias) != 1 or vias[0][0] != "n":
            continue
        arriving = [d for d in streets.by_way.get(sources[0][1], []) if streets.head(d) == vias[0][1]]
        leaving = [d for d in streets.by_way.get(targets[0][1], []) if streets.tail(d) == vias[0][1]]
        if len(arriving) == len(leaving) == 1 and arriving[0] != leaving[0] ^ 1:
            turns.append(Turn(relation, kind.startswith("only_"), (arriving[0], leaving[0])))
    return turns


def turns_via_ways(streets: Streets, path: Path) -> list[Turn]:
    """Return the restrictions via ways that are one edge each, in the order of the relation."""
    turns = []
    for relation, kind, sources, vias, targets in raw_restrictions(path):
        if len(sources) != 1 or len(targets) != 1 or not vias or any(letter != "w" for letter, _ in vias):
            continue
        chains = [(d,) for d in streets.by_way.get(sources[0][1], [])]
        for _, way in [*vias, targets[0]]:
            chains = [
                (*chain, d)
                for chain in chains
                for d in streets.by_way.get(way, [])
                if streets.tail(d) == streets.head(chain[-1]) and d != chain[-1] ^ 1
            ]
        if len(chains) == 1:
            turns.append(Turn(relation, kind.startswith("only_"), chains[0]))
    return turns


def drive(network: Network, streets: Streets, trips: list[tuple[int, int]]) -> gpd.GeoDataFrame:
    """Drive from the middles of directed edges to those of others."""
    starts = gpd.GeoSeries([streets.middle(a) for a, _ in trips], crs="EPSG:4326")
    ends = gpd.GeoSeries([streets.middle(b) for _, b in trips], crs="EPSG:4326")
    return time_filter(
        network,
        starts,
        ends,
        travel_time=7200,
        properties=["travel_time", "route"],
        pairs="aligned",
        snapping=ANY_ROAD,
    )


def goes_along(streets: Streets, route: Any, edges: tuple[int, ...]) -> bool:
    """Return whether a route comes along the first edge, crosses all between, and goes on along the last."""
    if route is None or shapely.is_empty(route):
        return False
    points = shapely.get_coordinates(route)
    corner = shapely.get_coordinates(streets.line(edges[0]))[-1:]
    inner = np.concatenate([corner, *(shapely.get_coordinates(streets.line(edge)) for edge in edges[1:-1])])
    inner = inner[np.append(True, (np.diff(inner, axis=0) != 0).any(axis=1))]
    first, last = streets.line(edges[0]), streets.line(edges[-1])
    for i in range(1, len(points) - len(inner)):
        if not np.allclose(points[i : i + len(inner)], inner, rtol=0, atol=1e-7):
            continue
        before = shapely.Point((points[i - 1] + points[i]) / 2)
        after = shapely.Point((points[i + len(inner) - 1] + points[i + len(inner)]) / 2)
        if first.distance(before) < 1e-7 and last.distance(after) < 1e-7:
            return True
    return False


def without_restrictions(tables: StreetTables, dropped: Iterable[int] | None = None) -> Network:
    """Return the network of tables that lost all restrictions, or those with these numbers."""
    numbers = set(range(len(tables.restriction_only)) if dropped is None else dropped)
    kept = [n for n in range(len(tables.restriction_only)) if n not in numbers]
    rows = [tables.restriction_edges[slice(*tables.restriction_indptr[n : n + 2])] for n in kept]
    is_timed = np.isin(tables.timed_restrictions, kept)
    timed = tables.timed_restrictions[is_timed].tolist()
    return build_network(
        dataclasses.replace(
            tables,
            timed_restrictions=np.array([kept.index(n) for n in timed], np.int32),
            timed_by_default=tables.timed_by_default[is_timed],
            timed_indptr=np.arange(0, 2 * len(timed) + 1, 2),
            timed_minutes=np.tile(np.array([0, 1], np.int32), len(timed)),  # searches here have no moment
            restriction_only=tables.restriction_only[kept],
            restriction_indptr=np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
            restriction_edges=np.concatenate([*rows, np.zeros(0, np.int32)]).astype(np.int32),
        )
    )


class City(NamedTuple):
    """Streets with and without their restrictions."""

    path: Path
    streets: Streets
    network: Network
    free: Network


@pytest.fixture(scope="module", params=["edge_cases/no_left_turn", "edge_cases/via_way_restriction"])
def city(request: pytest.FixtureRequest, shared_data: Path) -> City:
    path = shared_data / f"{request.param}.osm.pbf"
    tables = read_osm(path)
    return City(path, Streets(tables), build_network(tables), without_restrictions(tables))


class TestRestrictionsOfRealStreets:
    # How many forbidden turns of the files can be driven, and how many the best routes would make if they might. The
    # others are U-turns on one edge, restrictions of some hours or of others than cars, and broken or cut relations.
    LEAST_FORBIDDEN: ClassVar = {"no_left_turn.osm.pbf": (85, 80), "via_way_restriction.osm.pbf": (20, 18)}
    LEAST_COMPULSORY: ClassVar = {"no_left_turn.osm.pbf": (25, 20), "via_way_restriction.osm.pbf": (15, 12)}

    def test_forbidden_turns_are_not_made(self, city):
        turns = [turn for turn in turns_at_nodes(city.streets, city.path) if not turn.is_only]
        trips = [(turn.edges[0], turn.edges[-1]) for turn in turns]
        self.check(city, trips, [turn.edges for turn in turns], self.LEAST_FORBIDDEN[city.path.name])

    def test_compulsory_turns_leave_no_other(self, city):
        compulsory = [turn for turn in turns_at_nodes(city.streets, city.path) if turn.is_only]
        chosen: dict[int, set[int]] = {}
        for turn in compulsory:
            chosen.setdefault(turn.edges[0], set()).add(turn.edges[1])
        trips = []
        for first, targets in chosen.items():
            others = city.streets.leaving[city.streets.head(first)]
            trips += [(first, other) for other in others if other not in targets and other != first ^ 1]
        self.check(city, trips, trips, self.LEAST_COMPULSORY[city.path.name])

    def check(self, city, trips, forbidden, least):
        routes = drive(city.network, city.streets, trips)
        free = drive(city.free, city.streets, trips)
        made = [goes_along(city.streets, line, path) for line, path in zip(routes.geometry, forbidden, strict=True)]
        would = [goes_along(city.streets, line, path) for line, path in zip(free.geometry, forbidden, strict=True)]
        assert not any(made)
        assert len(trips) >= least[0]
        assert sum(would) >= least[1], "without restrictions the turns are made, so that this test can fail"
        longer = (routes.travel_time > free.travel_time) | routes.travel_time.isna()
        assert longer[would].all()
        assert routes.travel_time.notna().mean() > 0.9, "there is another way round nearly everywhere"


class TestRestrictionsViaWaysOfRealStreets:
    @pytest.mark.parametrize(
        ("name", "least"),
        [
            pytest.param("edge_cases/via_way_restriction.osm.pbf", 1, marks=pytest.mark.slow),
            pytest.param("helsinki/osm_center.pbf", 1, marks=pytest.mark.slow),
            pytest.param("milan/osm.pbf", 8, marks=pytest.mark.thorough),
        ],
    )
    def test_the_whole_path_is_forbidden_and_nothing_else(self, shared_data, name, least):
        tables = read_osm(shared_data / name)
        streets = Streets(tables)
        turns = turns_via_ways(streets, shared_data / name)
        assert len(turns) >= least
        network = build_network(tables)
        free = without_restrictions(tables, np.flatnonzero(np.diff(tables.restriction_indptr) > 2).tolist())
        forbidden: list[tuple[int, ...]] = []
        allowed: list[tuple[int, ...]] = []
        for turn in turns:
            first, *vias, last = turn.edges
            elsewhere = [d for d in streets.leaving[streets.head(vias[-1])] if d not in (last, vias[-1] ^ 1)]
            others = [d for d in streets.arriving[streets.tail(vias[0])] if d not in (first, vias[0] ^ 1)]
            if turn.is_only:
                forbidden += [(first, *vias, d) for d in elsewhere]
                allowed += [turn.edges, *((d, *vias, e) for d in others for e in elsewhere)]
            else:
                forbidden.append(turn.edges)
                allowed += [(first, *vias, d) for d in elsewhere] + [(d, *vias, last) for d in others]
        paths = list(dict.fromkeys(forbidden)) + [path for path in dict.fromkeys(allowed) if path not in forbidden]
        n_forbidden = len(set(forbidden))
        trips = [(path[0], path[-1]) for path in paths]
        routes, free_routes = drive(network, streets, trips), drive(free, streets, trips)
        made, would = (
            np.array([goes_along(streets, line, path) for line, path in zip(table.geometry, paths, strict=True)])
            for table in (routes, free_routes)
        )
        assert not made[:n_forbidden].any()
        assert would[:n_forbidden].any(), "without the restrictions some are the best way, so that this test can fail"
        np.testing.assert_array_equal(made[n_forbidden:], would[n_forbidden:])
        assert would[n_forbidden:].any()
        kept = routes.travel_time[n_forbidden:].to_numpy(float, na_value=np.inf)
        np.testing.assert_array_equal(kept, free_routes.travel_time[n_forbidden:].to_numpy(float, na_value=np.inf))


# Nodes 1 to 25 on a grid with steps of 0.002 degrees, row by row from the north-west: streets all around a crossing
# at 13, so that there is another way to everywhere.
GRID = {5 * row + column + 1: (column * 0.002, 0.008 - row * 0.002) for row in range(5) for column in range(5)}
FRAME = [(1, "1 2 3 4 5 10 15 20 25 24 23 22 21 16 11 6 1", "highway=residential")]
CROSS = [
    *FRAME,
    (10, "11 12 13", "highway=residential"),  # from the west
    (11, "13 14 15", "highway=residential"),  # to the east
    (12, "3 8 13", "highway=residential"),  # from the north
    (13, "13 18 23", "highway=residential"),  # to the south
]


class TestRestrictionsOnAGrid:
    def network(self, tmp_path, ways, *relations, **options):
        path = tmp_path / "grid.osm"
        path.write_bytes(osm_xml(GRID, ways, relations, **options))
        return build_network(path)

    def nodes(self, network, start, end):
        """Return the grid nodes that the best drive between two places (lng, lat) passes."""
        points = [gpd.GeoSeries([shapely.Point(place)], crs="EPSG:4326") for place in (start, end)]
        row = time_filter(network, *points, travel_time=7200, properties=["travel_time", "route"]).iloc[0]
        if row.geometry is None or row.geometry.is_empty:
            return None
        at = {position: node for node, position in GRID.items()}
        passed = [at.get((round(x, 6), round(y, 6))) for x, y in row.geometry.coords]
        return [node for node in passed if node is not None]

    @staticmethod
    def place(a, b, share=0.5):
        """Return the place on the street from one grid node to another."""
        return tuple(np.round(np.array(GRID[a]) + share * (np.array(GRID[b]) - np.array(GRID[a])), 7))

    def west_to(self, network, node):
        return self.nodes(network, self.place(12, 13, 0.25), self.place(13, node, 0.75))

    def test_nothing_is_forbidden_without_a_relation(self, tmp_path):
        network = self.network(tmp_path, CROSS)
        assert [self.west_to(network, node) for node in (8, 14, 18)] == [[13], [13], [13]]

    def test_no_left_turn_forbids_the_left_turn_only(self, tmp_path):
        relation = (90, "w10@from n13@via w12@to", "type=restriction restriction=no_left_turn")
        network = self.network(tmp_path, CROSS, relation)
        assert self.west_to(network, 14) == self.west_to(network, 18) == [13]
        around = self.west_to(network, 8)
        assert around[-2:] == [3, 8]
        assert 13 not in around

    def test_only_straight_on(self, tmp_path):
        relation = (90, "w10@from n13@via w11@to", "type=restriction restriction=only_straight_on")
        network = self.network(tmp_path, CROSS, relation)
        assert self.west_to(network, 14) == [13]
        for node in (8, 18):
            assert self.west_to(network, node)[-1] != 13
        assert self.nodes(network, self.place(13, 8), self.place(13, 18)) == [13], "from elsewhere all is open"

    @pytest.mark.parametrize("tags", ["except=motorcar", "except=bus;motor_vehicle"])
    def test_cars_that_are_exempt(self, tmp_path, tags):
        relation = (90, "w10@from n13@via w12@to", f"type=restriction restriction=no_left_turn {tags}")
        network = self.network(tmp_path, CROSS, relation)
        assert self.west_to(network, 8) == [13]
        assert network.report()["restrictions_dropped"] == {"cars_exempt": 1}

    def test_other_vehicles_that_are_exempt(self, tmp_path):
        relation = (90, "w10@from n13@via w12@to", "type=restriction restriction=no_left_turn except=bus;bicycle")
        network = self.network(tmp_path, CROSS, relation)
        assert 13 not in self.west_to(network, 8)

    def test_conditions_that_are_not_understood_are_ignored_and_counted(self, tmp_path):
        conditional = "type=restriction|restriction:conditional=no_left_turn @ (PH)"
        relation = (90, "w10@from n13@via w12@to", conditional)
        network = self.network(tmp_path, CROSS, relation)
        assert self.west_to(network, 8) == [13]
        report = network.report()
        assert (report["restrictions_read"], report["restrictions_mapped"]) == (1, 0)
        assert report["restrictions_dropped"] == {"condition_not_understood": 1}
        assert report["restrictions_with_ignored_conditions"] == 1
        assert report["restriction_conditions_ignored"] == {"holidays": 1}

    # A road with two carriageways, 6 > 10 and 20 > 16, joined at its east end by 10-15-20.
    CARRIAGEWAYS = (
        (20, "6 7 8 9 10", "highway=primary oneway=yes"),
        (21, "20 19 18 17 16", "highway=primary oneway=yes"),
        (22, "10 15 20", "highway=primary_link"),
        (23, "8 13 18", "highway=primary_link"),
        (24, "16 11 6", "highway=primary"),
    )

    def test_no_u_turn_via_a_way(self, tmp_path):
        trip = self.place(7, 8), self.place(18, 17)
        network = self.network(tmp_path, self.CARRIAGEWAYS)
        assert self.nodes(network, *trip) == [8, 13, 18]
        relation = (90, "w20@from w23@via w21@to", "type=restriction restriction=no_u_turn")
        network = self.network(tmp_path, self.CARRIAGEWAYS, relation)
        assert network.report()["restrictions_mapped"] == 1
        assert self.nodes(network, *trip) == [8, 9, 10, 15, 20, 19, 18]

    def test_no_u_turn_at_a_dead_end(self, tmp_path):
        ways = [(20, "11 12 13", "highway=residential oneway=no"), (21, "11 6 1", "highway=residential")]
        trip = self.place(12, 13, 0.75), self.place(12, 13, 0.25)
        assert self.nodes(self.network(tmp_path, ways), *trip) == [], "back along the street, without its end"
        ways[0] = (20, "11 12", "highway=residential")
        lane = (22, "12 13", "highway=residential")
        relation = (90, "w22@from n13@via w22@to", "type=restriction restriction=no_u_turn")
        topologies = [
            self.network(tmp_path, [*ways, lane], *relations).road_graph("driving").topology
            for relations in ((), (relation,))
        ]
        with_turn, without_turn = (topology.indices.size for topology in topologies)
        assert without_turn == with_turn - 1

    def test_via_two_ways(self, tmp_path):
        # From the west along 12 and 17 to the south: 12-13, 13-18 are via ways.
        ways = [
            *FRAME,
            (10, "11 12", "highway=residential"),
            (14, "12 13", "highway=residential"),
            (15, "13 18", "highway=residential"),
            (16, "18 23", "highway=residential"),
            (17, "13 14 15", "highway=residential"),
            (18, "18 17 16", "highway=residential"),
            (19, "7 12", "highway=residential"),
        ]
        relation = (90, "w10@from w14@via w15@via w16@to", "type=restriction restriction=no_straight_on")
        open_network = self.network(tmp_path, ways)
        network = self.network(tmp_path, ways, relation)
        assert network.report()["restrictions_mapped"] == 1
        start, end = self.place(11, 12, 0.9), self.place(18, 23, 0.1)
        assert self.nodes(open_network, start, end) == [12, 13, 18]
        assert self.nodes(network, start, end) not in (None, [12, 13, 18])
        west, east = self.place(18, 17, 0.1), self.place(13, 14, 0.1)
        assert self.nodes(network, start, west) == self.nodes(open_network, start, west)
        assert self.nodes(network, start, east) == [12, 13], "the first half of the path is open"
        assert self.nodes(network, self.place(7, 12, 0.9), end) == [12, 13, 18], "and so it is from elsewhere"
        assert self.nodes(network, self.place(12, 13, 0.1), end) == [13, 18], "and from the middle of it"


# Streets of two islands, Naselesele to the west of the 180th meridian and Matei to the east of it, and a ferry.
WEST_ISLAND = {1: (179.985, -16.70), 2: (179.990, -16.70), 3: (179.995, -16.70), 4: (179.990, -16.705)}
EAST_ISLAND = {11: (-179.995, -16.70), 12: (-179.990, -16.70), 13: (-179.985, -16.70), 14: (-179.990, -16.705)}
ISLAND_WAYS = [
    (10, "1 2 3", "highway=residential"),
    (11, "2 4 1", "highway=residential"),
    (20, "11 12 13", "highway=residential"),
    (21, "12 14 13", "highway=residential"),
]
CROSSING = (30, "3 11", "route=ferry motor_vehicle=yes duration=00:10")
FERRY_MODES = ["walking", "cycling", "driving"]


def points(*places: tuple[float, float]) -> gpd.GeoSeries:
    return gpd.GeoSeries([shapely.Point(place) for place in places], crs="EPSG:4326")


def check_on_the_globe(shape: Any) -> None:
    assert shape.geom_type == "MultiPolygon"
    assert shape.is_valid
    west, _, east, _ = shape.bounds
    assert -180.0 <= west <= east <= 180.0
    assert all(part.bounds[2] - part.bounds[0] < 1.0 for part in shape.geoms), "no polygon spans the globe"
    assert all(part.exterior.is_ccw for part in shape.geoms)


@pytest.fixture(scope="module")
def islands(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("islands") / "islands.osm"
    path.write_bytes(osm_xml({**WEST_ISLAND, **EAST_ISLAND}, [*ISLAND_WAYS, CROSSING]))
    return build_network(path)


class TestFerryAcrossThe180thMeridian:
    def test_bounds_go_east_across_it(self, islands):
        west, south, east, north = islands.bounds
        assert (west, east) == (179.985, -179.985)
        assert south <= north
        assert abs(islands.frame.lng0) == pytest.approx(180.0)

    @pytest.mark.parametrize("mode", FERRY_MODES)
    def test_only_with_the_ferry(self, islands, mode):
        places = points((179.987, -16.70), (-179.987, -16.70))
        there = time_filter(islands, places, places, travel_time=3600, transportation=f"{mode}+ferry")
        assert there.reason.isna().all()
        # 10 minutes on the water and 0.85 km of street at each end; cars are also held up at crossings.
        assert there.travel_time[1] == there.travel_time[2]
        kph = {"walking": 5, "cycling": 15, "driving": 25}[mode]
        assert there.travel_time[1] == pytest.approx(600 + 2 * 853 / (kph / 3.6), abs=60 if mode == "driving" else 3)
        without = time_filter(islands, places, places, travel_time=3600, transportation=mode)
        assert without.travel_time.isna().tolist() == [False, True, True, False]
        assert without.reason[1] == without.reason[2] == "other_component"

    def test_boarding_takes_its_time(self, islands):
        trip = points((179.987, -16.70)), points((-179.987, -16.70))
        times = [
            time_filter(
                islands, *trip, travel_time=3600, transportation={"type": "driving+ferry", "boarding_time": seconds}
            ).travel_time[0]
            for seconds in (0, 300)
        ]
        assert times[1] - times[0] == 300

    @pytest.mark.parametrize("mode", FERRY_MODES)
    def test_shapes_lie_on_both_sides(self, islands, mode):
        shapes = [
            time_map(islands, points((179.987, -16.70)), travel_time=2400, transportation=name).geometry.iloc[0]
            for name in (mode, f"{mode}+ferry")
        ]
        for shape in shapes:
            check_on_the_globe(shape)
        here, there = shapely.Point(179.988, -16.70), shapely.Point(-179.994, -16.70)
        assert [shape.contains(here) for shape in shapes] == [True, True]
        assert [shape.contains(there) for shape in shapes] == [False, True]

    @pytest.mark.parametrize(("lng", "landing"), [(179.99, 179.99), (-179.99, -179.99), (-179.9999, -179.995)])
    def test_snapping_from_both_sides(self, islands, lng, landing):
        row = snap(islands, points((lng, -16.7005)), transportation="walking").iloc[0]
        assert row.status == "snapped"
        assert row.geometry.x == pytest.approx(landing, abs=1e-6)
        assert row.snap_distance < 540

    def test_the_nearest_street_may_be_across_the_meridian(self, tmp_path):
        path = tmp_path / "one_side.osm"
        path.write_bytes(osm_xml({1: (-179.9995, -16.70), 2: (-179.99, -16.70)}, [(10, "1 2", "highway=path")]))
        row = snap(build_network(path), points((179.9985, -16.70)), transportation="walking").iloc[0]
        assert row.geometry.x == pytest.approx(-179.9995, abs=1e-6)
        assert row.snap_distance == pytest.approx(0.002 * 106_650, rel=0.01)

    def test_saved_and_loaded(self, islands, tmp_path):
        loaded = load_network(islands.save(tmp_path / "islands.network"))
        assert loaded.bounds == islands.bounds
        trip = points((179.987, -16.70)), points((-179.987, -16.70))
        times = [time_filter(n, *trip, travel_time=3600, transportation="driving+ferry") for n in (islands, loaded)]
        assert times[0].travel_time.tolist() == times[1].travel_time.tolist()


SUVA, MATEI = (178.4390, -18.1350), (-179.8800, -16.6950)


@pytest.fixture(scope="module")
def fiji(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Network]:
    """
    Suva and Matei on either side of the meridian, as they are in the file and with a ferry between them.

    The file has streets only, although it is named for a ferry: `test_the_file_itself_has_no_ferry` reads all of it
    with pyosmium and finds 1,179 ways, every one of them a ``highway``, and four relations, all turn restrictions. What
    is left of a ferry is the node of a terminal in Suva. (It was made for a router whose ferries run by timetable.)
    The ferry added here has a way without tags in a ``route=ferry`` relation, as long ferry lines often have.
    """
    path = shared_data / "edge_cases" / "fiji_ferry_antimeridian.osm.pbf"
    plain = build_network(path)
    t = plain.tables
    is_street = (t.uses["highway"].isin(["residential", "secondary"])).to_numpy()[t.edge_use]
    ashore = np.unique(np.concatenate([t.edge_from[is_street], t.edge_to[is_street]]))
    first, last = (
        ashore[np.hypot(t.node_lng[ashore] - lng, t.node_lat[ashore] - lat).argmin()] for lng, lat in (SUVA, MATEI)
    )
    # A point every 8 km.
    share = np.linspace(0, 1, 25)[1:-1]
    lng = t.node_lng[first] + share * (t.node_lng[last] + 360 - t.node_lng[first])
    lat = t.node_lat[first] + share * (t.node_lat[last] - t.node_lat[first])
    target = tmp_path_factory.mktemp("fiji") / "fiji.osm.pbf"
    mutable = osmium.osm.mutable
    with osmium.SimpleWriter(str(target)) as writer:
        for item in osmium.FileProcessor(str(path)):
            writer.add(item)
        ids = [10**12 + i for i in range(share.size)]
        for node, place in zip(ids, zip((lng + 180) % 360 - 180, lat, strict=True), strict=True):
            writer.add_node(mutable.Node(id=node, version=1, location=place))
        refs = [int(t.node_osm_id[first]), *ids, int(t.node_osm_id[last])]
        writer.add_way(mutable.Way(id=10**12, version=1, nodes=refs))
        tags = {"type": "route", "route": "ferry", "motor_vehicle": "yes", "duration": "03:00"}
        writer.add_relation(mutable.Relation(id=10**12, version=1, members=[("w", 10**12, "")], tags=tags))
    return plain, build_network(target)


class TestFiji:
    def test_the_file_itself_has_no_ferry(self, fiji, shared_data):
        path = shared_data / "edge_cases" / "fiji_ferry_antimeridian.osm.pbf"
        kinds: Counter[str] = Counter()
        about_ferries = []
        for item in osmium.FileProcessor(str(path)):
            tags = dict(item.tags)
            if item.is_way():
                kinds["highway" if "highway" in tags else "other way"] += 1
            elif item.is_relation():
                kinds[f"type={tags['type']}"] += 1
            if any("ferry" in text.lower() for pair in tags.items() for text in pair):
                about_ferries.append((item.type_str(), tags))
        assert kinds == {"highway": 1179, "type=restriction": 4}
        assert about_ferries == [("n", {"amenity": "ferry_terminal", "name": "Korean Wharf"})]
        plain, _ = fiji
        assert not plain.tables.uses["is_ferry"].any()
        times = time_filter(plain, points(SUVA), points(MATEI), travel_time=14_400, transportation="driving+ferry")
        assert times.reason[0] == "other_component"

    def test_bounds_go_east_across_the_meridian(self, fiji):
        for network in fiji:
            west, south, east, north = network.bounds
            assert west == pytest.approx(178.42, abs=0.01)
            assert east == pytest.approx(-179.83, abs=0.01)
            assert (south, north) == pytest.approx((-18.16, -16.69), abs=0.01)
        assert fiji[0].timezone == "Pacific/Fiji"

    @pytest.mark.parametrize("mode", FERRY_MODES)
    def test_reached_with_the_ferry_and_not_without(self, fiji, mode):
        _, network = fiji
        ends = points(SUVA, MATEI)
        with_ferry = time_filter(network, ends, ends, travel_time=14_400, transportation=f"{mode}+ferry")
        without = time_filter(network, ends, ends, travel_time=14_400, transportation=mode)
        assert with_ferry.travel_time.notna().all()
        assert with_ferry.travel_time[[1, 2]].between(10_800, 13_500).all()
        assert without.travel_time.notna().tolist() == [True, False, False, True]
        assert set(without.reason.dropna()) == {"other_component"}

    @pytest.mark.slow
    def test_shapes_on_both_sides(self, fiji):
        _, network = fiji
        shapes = [
            time_map(network, points(SUVA), travel_time=14_400, transportation=name).geometry.iloc[0]
            for name in ("driving", "driving+ferry")
        ]
        for shape in shapes:
            check_on_the_globe(shape)
            assert shape.bounds[2] > 178.4
        assert shapes[0].bounds[0] > 178.0
        assert shapes[1].bounds[0] < -179.9
        assert shapes[1].contains(shapely.Point(MATEI))

    @pytest.mark.parametrize("lng", [179.995, -179.995])
    def test_snapping_near_the_meridian(self, fiji, lng):
        # The westernmost street of Matei lies nine metres east of it.
        t = fiji[0].tables
        lat = t.node_lat[np.where(t.node_lng < 0, t.node_lng, 0).argmin()]
        row = snap(fiji[0], points((lng, lat)), transportation="walking").iloc[0]
        assert row.status == "snapped"
        assert -180 <= row.geometry.x < -179.99
        assert row.snap_distance < 600
