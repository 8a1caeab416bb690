"""Places of a file by their tags, as points and as polygons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import shapely

import traveltime_lab as tl
from tests.support.osm_files import osm_xml

#: A square around (0.5, 0.5), a smaller one within it, and some nodes.
NODES = {
    1: (0.5, 0.5), 2: (0.51, 0.5), 3: (0.51, 0.51), 4: (0.5, 0.51),
    5: (0.504, 0.504), 6: (0.506, 0.504), 7: (0.506, 0.506), 8: (0.504, 0.506),
    9: (0.6, 0.6), 10: (0.61, 0.6), 11: (0.62, 0.6), 12: (0.7, 0.7),
}  # fmt: skip
WAYS = [
    (20, "1 2 3 4 1", "amenity=hospital|name=Royal Infirmary|operator=City"),
    (21, "1 2 3", ""),
    (22, "3 4 1", ""),
    (23, "5 6 7 8 5", ""),
    (24, "9 10 11", "leisure=track|name=Long Run"),
    (25, "1 2 99 4 1", "amenity=hospital|name=Cut at the edge"),
]
RELATIONS = [
    (30, "w21@outer w22@outer w23@inner", "type=multipolygon|landuse=forest|name=Ring Wood"),
    (31, "w21@outer w22@outer", "type=boundary|boundary=administrative|admin_level=9|name=Ward"),
    (32, "w21@outer n9@label", "type=site|amenity=hospital|name=No area"),
    (33, "w21@outer w98@outer", "type=boundary|boundary=administrative|name=Half"),
]
TAGS = {
    9: "amenity=clinic|name=Clínica São José",
    10: "amenity=pharmacy;clinic",
    11: "amenity=cafe",
    12: "amenity=no",
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("places") / "town.osm"
    path.write_bytes(osm_xml(NODES, WAYS, RELATIONS, TAGS))
    return path


def test_points(town: Path) -> None:
    found = tl.places(town, tags={"amenity": ["hospital", "clinic"], "leisure": "track"}, columns=["operator"])
    assert found.columns.tolist() == ["name", "amenity", "leisure", "operator", "osm_type", "osm_id", "geometry"]
    assert found.crs == "EPSG:4326"
    assert (found.geom_type == "Point").all()
    assert found["osm_id"].tolist() == [9, 10, 20, 24]
    assert found["osm_type"].tolist() == ["node", "node", "way", "way"]
    assert found["name"].fillna("-").tolist() == ["Clínica São José", "-", "Royal Infirmary", "Long Run"]
    assert found["amenity"].fillna("-").tolist() == ["clinic", "pharmacy;clinic", "hospital", "-"]
    assert found["operator"].notna().tolist() == [False, False, True, False]
    hospital, track = found.geometry.iloc[2:]
    assert shapely.box(0.5, 0.5, 0.51, 0.51).contains(hospital)
    assert (track.x, track.y) == pytest.approx((0.61, 0.6))


def test_a_point_inside_is_not_in_a_hole(town: Path) -> None:
    wood = tl.places(town, tags={"landuse": True})
    assert wood["osm_type"].tolist() == ["relation"]
    assert shapely.box(0.5, 0.5, 0.51, 0.51).contains(wood.geometry[0])
    assert not shapely.box(0.504, 0.504, 0.506, 0.506).intersects(wood.geometry[0])


def test_polygons(town: Path) -> None:
    ward = tl.places(town, tags={"boundary": "administrative"}, columns=["admin_level"], geometry="polygons")
    # The other boundary lacks a way.
    assert ward["name"].tolist() == ["Ward"]
    assert ward["admin_level"].tolist() == ["9"]
    assert ward.geometry[0].equals(shapely.box(0.5, 0.5, 0.51, 0.51))
    every = tl.places(town, tags={"amenity": True}, geometry="polygons")
    assert every["osm_id"].tolist() == [20]


def test_any_value_and_none(town: Path) -> None:
    assert tl.places(town, tags={"amenity": True})["osm_id"].tolist() == [9, 10, 11, 20]
    nothing = tl.places(town, tags={"shop": "bakery"})
    assert nothing.shape == (0, 5)
    assert nothing.crs == "EPSG:4326"


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"tags": {}}, tl.InputError, "tags must be a mapping of keys to values"),
        ({"tags": "amenity=hospital"}, tl.InputError, "tags must be a mapping"),
        ({"tags": {"amenity": []}}, tl.InputError, r"tags\['amenity'\] is an empty list; give values, or True"),
        ({"tags": {"amenity": False}}, tl.InputError, r"tags\['amenity'\] must be a list of values, or True"),
        ({"tags": {"amenity": [3]}}, tl.InputError, r"each of tags\['amenity'\] must be a text"),
        ({"tags": {3: True}}, tl.InputError, "each key of tags must be a text"),
        ({"tags": {"osm_id": True}}, tl.InputError, "has a column 'osm_id' already"),
        ({"columns": "operator"}, tl.InputError, "columns must be a list of keys"),
        ({"geometry": "areas"}, tl.InputError, "geometry must be one of 'points', 'polygons'"),
        ({"osm": "nowhere.osm.pbf"}, tl.MissingFileError, "does not exist"),
        ({"osm": 3}, tl.InputError, "must be the path"),
    ],
)
def test_wrong_arguments(town: Path, arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tl.places(**{"osm": town, "tags": {"amenity": True}, **arguments})


def test_a_broken_file_and_a_network(town: Path, tmp_path: Path, porto_alegre: tl.Network) -> None:
    broken = tmp_path / "broken.osm"
    broken.write_bytes(town.read_bytes()[:900])
    with pytest.raises(tl.DataError, match="not readable as OpenStreetMap data"):
        tl.places(broken, tags={"amenity": True})
    with pytest.raises(tl.InputError, match="give places the OpenStreetMap file that it was built from"):
        tl.places(porto_alegre, tags={"amenity": True})


def test_a_real_city(shared_data: Path) -> None:
    found = tl.places(shared_data / "porto_alegre" / "osm.pbf", tags={"amenity": "bus_station"})
    assert len(found) > 20
    assert found["name"].notna().any()
    assert found.cx[-51.3:-51.1, -30.2:-29.9].shape == found.shape
