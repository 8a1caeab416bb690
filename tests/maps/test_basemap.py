"""The base map: what is shown at which scale, how light it is, and that labels keep out of each other's way."""

from __future__ import annotations

import base64
import itertools
import math
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely

from tests.support.worlds import world
from traveltime_lab.errors import InputError
from traveltime_lab.maps import basemap, style

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

TOWN = {"a": (0, 0), "b": (1000, 0), "c": (2000, 0), "d": (1000, 1000), "e": (1000, 10), "f": (1005, 20)}
STREETS = [
    ("a", "b", {"highway": "primary", "name": "High Street"}),
    ("b", "c", {"highway": "primary", "name": "High Street"}),
    ("b", "d", {"highway": "residential", "name": "Side Street"}),
    ("e", "f", {"highway": "footway"}),
]


def document(address: str) -> ElementTree.Element:
    assert address.startswith("data:image/svg+xml;base64,")
    return ElementTree.fromstring(base64.b64decode(address.partition(",")[2]))


def test_classes_by_scale() -> None:
    network = world(TOWN, STREETS)
    box = (-1100.0, -600.0, 1100.0, 600.0)  # metres from the middle of the network
    near = basemap.base_map(network, box, 2.0)
    assert {rank: len(lines) for rank, lines in near.streets.items()} == {0: 1, 1: 1, 4: 1}
    assert shapely.length(near.streets[4][0]) == pytest.approx(2000, rel=1e-3), "merged across the junction"
    assert {label.text for label in near.labels} == {"High Street", "Side Street"}
    assert next(label.angle for label in near.labels if label.text == "Side Street") == pytest.approx(90, abs=1)
    far = basemap.base_map(network, box, 100.0)
    assert list(far.streets) == [4]
    assert far.labels == []
    # The largest roads that there are stay, however far one goes.
    village = world({"a": (0, 0), "b": (1000, 0)}, [("a", "b")])
    assert len(basemap.base_map(village, box, 120.0).streets[1]) == 1


@pytest.mark.parametrize("pixel_m", [1.0, 3.0, 8.0, 20.0])
def test_labels_do_not_touch(helsinki: Network, porto_alegre: Network, pixel_m: float) -> None:
    for network in (helsinki, porto_alegre):
        box = (-500 * pixel_m, -300 * pixel_m, 500 * pixel_m, 300 * pixel_m)
        labels = basemap.base_map(network, box, pixel_m).labels
        grounds = [basemap.label_box(label, 10.0 * pixel_m) for label in labels]
        assert not any(shapely.intersects(a, b) for a, b in itertools.combinations(grounds, 2))
        assert all(shapely.contains(shapely.box(*box), ground) for ground in grounds)
        assert all(-90 <= label.angle <= 90 for label in labels)
        assert len({label.text for label in labels}) == len(labels)


@pytest.mark.parametrize("zoom", [10, 12, 14, 16])
def test_overlays_are_light_and_in_place(porto_alegre: Network, zoom: int) -> None:
    lng, lat = -51.227811, -30.027565
    pixel_m = 156_543.03 * math.cos(math.radians(lat)) / 2**zoom
    half_x, half_y = 1000 * 360 / 256 / 2**zoom, 560 * 360 / 256 / 2**zoom * math.cos(math.radians(lat))
    made = basemap.overlays(porto_alegre, (lng - half_x, lat - half_y, lng + half_x, lat + half_y), pixel_m)
    assert len(made.ground) + len(made.streets) < 400_000
    root = document(made.streets)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert width == pytest.approx(20_000, rel=0.01), "tenths of the 2000 pixels of the window"
    assert height == pytest.approx(11_200, rel=0.01)
    # Every line begins at a street's place: where pixels say the first point is, there is a street.
    x, y = porto_alegre.frame.to_xy(porto_alegre.tables.coord_lng, porto_alegre.tables.coord_lat)
    streets = shapely.STRtree(shapely.points(x, y))
    paths = [path.get("d", "") for path in root.iter("{http://www.w3.org/2000/svg}path")]
    starts = [re.match(r"M(-?\d+) ?(-?\d+)", path) for path in paths]
    for start in filter(None, starts):
        px, py = float(start[1]), float(start[2])
        north = basemap.mercator(np.array([0.0]), np.array([lat + half_y]))[1][0]
        south = basemap.mercator(np.array([0.0]), np.array([lat - half_y]))[1][0]
        at_y = north + (south - north) * py / height
        at_lat = math.degrees(2 * math.atan(math.exp(at_y / 6_378_137)) - math.pi / 2)
        at = porto_alegre.frame.to_xy(lng - half_x + 2 * half_x * px / width, at_lat)
        nearest = streets.geometries[streets.nearest(shapely.Point(at))]
        assert nearest.distance(shapely.Point(at)) < 1.5 * pixel_m


def test_water_is_drawn(helsinki: Network) -> None:
    made = basemap.overlays(helsinki, helsinki.bounds, 3.0)
    colours = [path.get("fill") for path in document(made.ground).iter("{http://www.w3.org/2000/svg}path")]
    assert style.WATER in colours


def test_names_are_escaped() -> None:
    network = world({"a": (0, 0), "b": (900, 0)}, [("a", "b", {"name": "<Salt & Pepper>"})])
    lng, lat = network.frame.to_lnglat(np.array([-500.0, 500.0]), np.array([-300.0, 300.0]))
    texts = document(basemap.overlays(network, (lng[0], lat[0], lng[1], lat[1]), 1.0).streets)
    assert [text.text for text in texts.iter("{http://www.w3.org/2000/svg}text")] == ["<Salt & Pepper>"]


def test_ramp_grows_evenly_in_lightness() -> None:
    def lightness(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for n in range(2, 9):
        values = [lightness(colour) for colour in style.ramp(n)]
        assert values == sorted(values)
        assert min(np.diff(values)) > 0.15 / n
    assert len(style.ramp(1)) == 1
    with pytest.raises(InputError):
        style.ramp_colour(1.5)


@pytest.mark.parametrize(("most", "expected"), [(1234.0, 1000), (999.0, 500), (2.4, 2), (0.7, 0.5), (50_000.0, 50_000)])
def test_round_lengths(most: float, expected: float) -> None:
    assert style.round_length(most) == pytest.approx(expected)


def test_labels_of_limits() -> None:
    assert [style.minutes_label(s) for s in (450, 3598, 3600, 5400)] == ["7.5 min", "1 h", "1 h", "1 h 30 min"]
    assert [style.metres_label(m) for m in (500, 999.6, 1500, 20_000)] == ["500 m", "1 km", "1.5 km", "20 km"]
