"""Where the sea is, though streets stand in it, and where it is not, whatever the coastline says."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import osmium
import pytest
import shapely

from tests.support.combinations import first_of
from tests.support.osm_files import osm_xml
from traveltime_lab import build_network
from traveltime_lab.crs import LocalFrame

PLACE = LocalFrame(73.5, 4.2)


class Drawing:
    """A file of streets and coastlines, drawn in metres."""

    def __init__(self, frame=PLACE):
        self.frame, self.nodes, self.ways = frame, {}, []

    def node(self, x, y):
        lng, lat = self.frame.to_lnglat(np.array([x]), np.array([y]))
        self.nodes[len(self.nodes) + 1] = float(lng[0]), float(lat[0])
        return len(self.nodes)

    def way(self, points, tags):
        """Draw a way; points are places in metres or numbers of nodes."""
        refs = [point if isinstance(point, int) else self.node(*point) for point in points]
        self.ways.append((1000 + len(self.ways), " ".join(map(str, refs)), tags))
        return refs

    def streets(self, points, tags):
        """Draw a way for each segment, so that each point is a junction."""
        refs = [point if isinstance(point, int) else self.node(*point) for point in points]
        for pair in itertools.pairwise(refs):
            self.way(pair, tags)
        return refs

    def town(self, x, y, n, m, step=80.0):
        """Draw a grid of n by m streets whose south-west corner is at a place."""
        grid = np.array([[self.node(x + step * i, y + step * j) for j in range(m)] for i in range(n)])
        for line in (*grid, *grid.T):
            for pair in itertools.pairwise(line.tolist()):
                self.way(pair, "highway=residential")
        return grid

    def island(self, x, y, radius_m=300.0):
        angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        ring = [self.node(x + radius_m * np.cos(a), y + radius_m * np.sin(a)) for a in angle]
        self.way([*ring, ring[0]], "natural=coastline")

    def build(self, folder, *, bounds=None, **options):
        """Build the network of the file, which states the given bounds in metres."""
        head = ""
        if bounds is not None:
            (west, east), (south, north) = self.frame.to_lnglat(np.array(bounds[0::2]), np.array(bounds[1::2]))
            head = f'<bounds minlon="{west}" minlat="{south}" maxlon="{east}" maxlat="{north}"/>'
        path = folder / "drawn.osm"
        path.write_bytes(osm_xml(self.nodes, self.ways, head=head))
        return build_network(path, timezone="Indian/Maldives", **options)

    def wet(self, network, *points):
        x, y = network.frame.to_xy(*self.frame.to_lnglat(*np.array(points, np.float64).T))
        return network.water.contains(x, y).tolist()


@pytest.mark.parametrize(
    "tags",
    [
        "man_made=pier",
        "highway=footway man_made=pier",
        "highway=footway bridge=boardwalk",
        "highway=footway floating=yes",
        "highway=path man_made=breakwater",
        "route=ferry foot=yes",
    ],
)
def test_an_atoll_of_more_piers_than_streets_has_a_sea(tmp_path, tags):
    """Four fifths of the nodes are in the sea, in lines and in a marina as dense as a town."""
    drawing = Drawing()
    for x in (0.0, 2_000.0, 4_000.0):
        drawing.island(x, 0)
        town = drawing.town(x - 80, -80, 3, 3)
        for i in range(4):
            jetty = [(x - 80 + 60 * i, -320 - 40 * k) for k in range(8)]
            drawing.streets([int(town[1, 0]), *jetty], tags)
    network = drawing.build(tmp_path)
    assert network.water.report["sea_faces_rejected"] == 0
    assert drawing.wet(network, (0, 0), (1_000, 0), (0, -400), (5_000, 1_000)) == [False, True, True, True]


def test_jetties_without_tags_are_too_few_to_fill_the_sea(tmp_path):
    """A resort: 9 nodes on the island, 40 on footways over the lagoon."""
    drawing = Drawing()
    drawing.island(0, 0, 150.0)
    town = drawing.town(-60, -60, 3, 3, 60.0)
    for side in (-1, 1):
        drawing.streets([int(town[1, 1]), *[(side * (160 + 35 * k), 4 * k) for k in range(20)]], "highway=footway")
    network = drawing.build(tmp_path, bounds=(-2_000.0, -2_000.0, 2_000.0, 2_000.0))
    assert drawing.wet(network, (0, 0), (0, 400), (700, -300)) == [False, True, True]
    assert network.water.report["street_nodes_in_sea"] == 40


def coast_town(drawing, x, y, *, reversed_coast=False):
    """Draw a town of 12 by 8 junctions whose southern shore runs from west to east, with land on the left."""
    drawing.town(x, y + 40, 12, 8)
    shore = [(x - 200, y), (x + 450, y - 10), (x + 1_100, y)]
    drawing.way(shore[::-1] if reversed_coast else shore, "natural=coastline")


@pytest.mark.parametrize(
    "where",
    first_of(
        2,
        [(300_000, 0), (-200_000, 150_000), (0, 300_000), (0, -300_000), (150_000, -150_000)],
        mark=pytest.mark.thorough,
    ),
)
def test_a_far_city_says_nothing_about_a_coast(tmp_path, where):
    """A city of 2,500 junctions inland. In the direction of the sea, the coastline does not say that it is on land."""
    plain, both = Drawing(), Drawing()
    for drawing in (plain, both):
        coast_town(drawing, 0, 0)
    both.town(*where, 50, 50)
    near = [(x, y) for x in range(-150, 1_100, 50) for y in range(-2_900, 1_000, 50)]
    expected = plain.wet(plain.build(tmp_path), *near)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = both.build(tmp_path)
    assert both.wet(network, *near) == expected
    assert set(expected) == {False, True}
    inside = [(where[0] + a, where[1] + b) for a in (100, 2_000, 3_900) for b in (100, 2_000, 3_900)]
    assert not any(both.wet(network, *inside))
    assert len(caught) == network.water.report["sea_faces_rejected"] == (where[1] < 0)


def test_a_coastline_the_wrong_way_round_is_found_and_warned_of(tmp_path):
    drawing = Drawing()
    coast_town(drawing, 0, 0, reversed_coast=True)
    said = r"km2 of sea around longitude 73\.\d+, latitude 4\.\d+ are taken for land"
    with pytest.warns(UserWarning, match=said) as caught:
        network = drawing.build(tmp_path)
    assert caught[0].filename == __file__
    assert not any(drawing.wet(network, (100, 100), (100, -100), (500, 500)))
    assert network.report()["water_bodies"]["sea_faces_rejected"] == 1


def test_one_wrong_coast_does_not_dry_another(tmp_path):
    """Two coasts 60 km apart, of one sea: the town on the second stands in it."""
    drawing = Drawing()
    coast_town(drawing, 0, 0)
    drawing.town(60_000, -800, 12, 8)
    with pytest.warns(UserWarning, match="are taken for land"):
        network = drawing.build(tmp_path)
    assert drawing.wet(network, (400, -500), (400, 300), (60_300, -500)) == [True, False, False]


def test_a_lake_cut_by_the_border_may_be_crossed_by_a_bridge(tmp_path):
    """A bridge with many junctions, a causeway of piers; streets on the ground make it a peninsula."""
    bounds = '<bounds minlat="0.0" minlon="0.0" maxlat="0.02" maxlon="0.02"/>'
    nodes = {1: (0.002, 0.02), 2: (0.002, 0.01), 3: (0.018, 0.01), 4: (0.018, 0.02)}
    nodes |= {10 + k: (0.001 + 0.001 * k, 0.015) for k in range(19)} | {50 + k: (0.001 * k, 0.009) for k in range(20)}
    shore = [(1, " ".join(map(str, range(50, 70))), "highway=residential")]
    shore += [(2 + k, f"{50 + k} {51 + k}", "highway=residential") for k in range(19)]
    lake = (99, "1 2 3 4 999 1", "natural=water")
    found = {}
    for tags in ("highway=residential bridge=yes", "highway=footway man_made=pier", "highway=residential"):
        across = [(100 + k, f"{10 + k} {11 + k}", tags) for k in range(18)]
        sides = [(200 + k, f"{10 + k} {51 + k}", tags) for k in range(0, 18, 2)]
        path = tmp_path / "lake.osm"
        path.write_bytes(osm_xml(nodes, [*shore, *across, *sides, lake], head=bounds))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            report = build_network(path, timezone="UTC").report()
        assert len(caught) == report.get("water_areas_dropped_with_streets", 0)
        found[tags] = report.get("water_areas_closed_at_border"), report.get("water_areas_dropped_with_streets", 0)
    assert list(found.values()) == [(1, 0), (1, 0), (0, 1)]


@pytest.mark.thorough
def test_the_sea_of_monaco_stays_beside_milan(tmp_path, shared_data):
    """The areas of Monaco are the same whether or not the file has Milan, 230 km away."""
    sources = [shared_data / "monaco" / "osm.pbf", shared_data / "milan" / "osm.pbf"]
    path = tmp_path / "both.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        for number, source in enumerate(sources):
            more = number * 10**11
            for item in osmium.FileProcessor(str(source)):
                if item.is_node():
                    writer.add_node(item.replace(id=item.id + more))
                elif item.is_way():
                    refs = [node.ref + more for node in item.nodes]
                    writer.add_way(item.replace(id=item.id + more, nodes=refs))
    alone, both = build_network(sources[0]), build_network(path)
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-3_000, 3_000, 121), np.linspace(-3_000, 3_000, 121)))
    lng, lat = alone.frame.to_lnglat(x, y)
    wet = alone.water.contains(x, y)
    assert 0.2 < wet.mean() < 0.8
    assert (both.water.contains(*both.frame.to_xy(lng, lat)) == wet).mean() > 0.9999
    assert shapely.area(both.water.tiles).sum() > 0
