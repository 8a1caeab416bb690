"""What a network shows of itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

import traveltime_lab as tl
from tests.support import worlds
from tests.support.towns import blocks


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> tl.Network:
    return blocks(tmp_path_factory.mktemp("feed"))


@pytest.fixture(scope="module")
def street() -> tl.Network:
    return worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b", {"driving_kph": 0.0})])


def words(network: tl.Network) -> dict[str, str]:
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", network._repr_html_())
    return dict(rows)


def test_summary(street: tl.Network, town: tl.Network) -> None:
    facts = words(street)
    assert facts["Size"] == "2 nodes, 1 edges" and facts["Timetable"] == "none"
    assert facts["Streets for walking"] == "1 km" and facts["Streets for driving"] == "0 km"
    assert facts["Water"] == "0.0 km²"
    assert "UTC" in facts["Place"] and "Prepared for" not in facts and "Changes" not in facts
    assert words(town)["Timetable"].startswith("4 stops, ")
    assert any(name.startswith("Feed ") and " to " in text for name, text in words(town).items())
    changed = town.with_changes(tl.RemoveStops("n"))
    assert words(changed)["Changes"] == "1"


@pytest.mark.parametrize("name", ["porto_alegre", "helsinki", "private"])
def test_summary_and_report_have_the_same_streets(name: str, request: pytest.FixtureRequest) -> None:
    if name == "private":
        corners = {"a": (0.0, 0.0), "b": (1000.0, 0.0), "c": (3000.0, 0.0), "d": (7000.0, 0.0)}
        uses: list[dict[str, Any]] = [{}, {"access": "private"}, {"highway": None, "route": "ferry"}]
        network = worlds.world(corners, list(zip("abc", "bcd", uses, strict=True)))
        assert words(network)["Streets for driving"] == "1 km", "neither private streets nor ferries"
    else:
        network = request.getfixturevalue(name)
    for mode, facts in network.report()["modes"].items():
        assert words(network)[f"Streets for {mode}"] == f"{facts['street_km']:,.0f} km", mode


def test_summary_of_a_sample(porto_alegre: tl.Network) -> None:
    facts = words(porto_alegre)
    assert facts["Feed buses"] == "2019-04-15 to 2019-07-15"
    assert facts["Attribution"] == porto_alegre.attribution


def test_water_is_counted_within_the_bounds(helsinki: tl.Network) -> None:
    west, south, east, north = helsinki.bounds
    assert 0 < float(words(helsinki)["Water"].split()[0]) < (east - west) * (north - south) * 111.2**2 / 2


def test_stops(town: tl.Network, street: tl.Network, porto_alegre: tl.Network) -> None:
    stops = town.stops_frame()
    assert stops["stop_id"].tolist() == list("wmen") and stops.crs.to_epsg() == 4326
    expected = worlds.at((0.0, 600.0), (900.0, 600.0), (1500.0, 600.0), (900.0, 1500.0))
    assert shapely.distance(stops.geometry.array, expected.array).max() < 1e-6
    assert len(porto_alegre.stops_frame()) == 4_207 + 24 <= len(porto_alegre.stops_frame(only_served=False))
    without = town.with_changes(tl.RemoveStops("n"))
    assert without.stops_frame()["stop_id"].tolist() == list("wme")
    with pytest.raises(tl.InputError, match="no timetable, and no stops; build it with gtfs="):
        street.stops_frame()
    wrong: Any = None
    with pytest.raises(tl.InputError, match="only_served must be True or False"):
        town.stops_frame(only_served=wrong)


def test_stops_are_origins(town: tl.Network) -> None:
    stops = town.stops_frame().set_index("stop_id")
    times = tl.time_filter(town, stops, stops, travel_time=3600, transportation="walking", form="matrix")
    assert np.diag(times).tolist() == [0, 0, 0, 0]


def test_maps(town: tl.Network, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    ax = town.plot(points=town.stops_frame(), title="Stops")
    assert ax.get_title(loc="left") == "Stops"
    with pytest.raises(tl.KeywordError, match=r"plot\(\) has no argument 'colour'"):
        town.plot(colour="red")
    pytest.importorskip("ipyleaflet")
    shown = town.explore(worlds.at((0.0, 600.0)), travel_time=300)
    assert isinstance(shown, tl.TravelTimeMap) and shown.travel_time == 300


def test_one_percentile_is_a_plain_matrix(town: tl.Network) -> None:
    starts, ends = worlds.at((10.0, 600.0), (10.0, 300.0)), worlds.at((900.0, 1490.0), (1490.0, 600.0))
    asked: dict[str, Any] = {"travel_time": 3600, "transportation": "public_transport", "form": "matrix"}
    asked |= {"departure_time": "2026-03-03T08:00", "window": 600}
    plain = tl.time_filter(town, starts, ends, percentiles=80, **asked)
    assert plain.columns.nlevels == 1 and plain.columns.name == "destination"
    several = tl.time_filter(town, starts, ends, percentiles=(50, 80), **asked)
    assert several.columns.unique("property").tolist() == ["travel_time_p50", "travel_time_p80"]
    assert several["travel_time_p80"].equals(plain)
    both = tl.time_filter(town, starts, ends, percentiles=80, properties="travel_time", **asked)
    assert both.columns.unique("property").tolist() == ["travel_time", "travel_time_p80"]
