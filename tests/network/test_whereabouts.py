"""Time zone, side of traffic and country of made-up streets where boxes have their middle at sea or abroad."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.support.combinations import combined
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab import build_network, geocode, load_network
from traveltime_lab.maps.widget.origins import read_origins
from traveltime_lab.search.geocoding.countries import country_of
from traveltime_lab.server.atlas import Map

pytestmark = pytest.mark.quick

#: Longitudes and latitudes of streets, and the time zone, side of traffic and country of all.
PLACES = {
    "Malta with a port of Sicily": ([(14.51, 35.90), (14.24, 36.04), (14.40, 35.83)], "Europe/Malta", True, "MT"),
    "Hawaii": ([(-157.86, 21.31), (-155.09, 19.71), (-159.37, 21.97)], "Pacific/Honolulu", False, "US"),
    "Canaries": ([(-15.43, 28.10), (-13.55, 28.96), (-17.92, 27.81)], "Atlantic/Canary", False, "ES"),
    "Okinawa": ([(127.68, 26.21), (124.16, 24.34), (131.24, 25.83)], "Asia/Tokyo", True, "JP"),
    "Shetland and Fair Isle": ([(-1.14, 60.15), (-1.63, 59.53), (-2.08, 60.14)], "Europe/London", True, "GB"),
    "Fiji": ([(178.44, -18.14), (-179.98, -16.80), (179.38, -16.43)], "Pacific/Fiji", True, "FJ"),
    "Azores": ([(-25.67, 37.74), (-28.63, 38.53), (-31.20, 39.45)], "Atlantic/Azores", False, "PT"),
}


def osm_of(places, *, length=0.003):
    """Return a file with a cross of named streets at each place."""
    nodes, ways = {}, []
    for i, (lng, lat) in enumerate(places):
        first = 10 * i + 1
        nodes |= {first: (lng, lat), first + 1: (lng + length, lat), first + 2: (lng, lat + 0.001)}
        ways.append((100 + i, f"{first} {first + 1}", f"highway=residential|name=Street {i}"))
        ways.append((200 + i, f"{first} {first + 2}", "highway=residential"))
    ways.append((300, " ".join(str(10 * i + 1) for i in range(len(places))), "route=ferry|motor_vehicle=yes"))
    return osm_xml(nodes, ways)


def build(folder, places, **options):
    path = folder / "places.osm"
    path.write_bytes(osm_of(places))
    return build_network(path, **options)


@pytest.mark.parametrize("name", PLACES)
def test_places_whose_middle_is_at_sea(tmp_path, name):
    places, zone, is_left, code = PLACES[name]
    built = build(tmp_path, places)
    saved = load_network(built.save(tmp_path / "saved.network"))
    for network in (built, saved):
        assert (network.timezone, network.is_left_hand) == (zone, is_left)
        assert network.report()["traffic_keeps"] == ("left" if is_left else "right")
        assert "km_by_timezone" not in network.report()
        found = geocode(network, "Street 1", within_country=code)
        assert set(found["country"]) == {country_of(code).name}
        assert len(geocode(network, "Street 1", within_country="CH")) == 0
        lng, lat = Map("here", network).middle
        assert any(np.hypot(lng - x, lat - y) < 0.01 for x, y in places)
        assert [(origin.lng, origin.lat) for origin in read_origins(network, None)] == [(lng, lat)]


def test_most_kilometres_decide_and_the_report_says_so(tmp_path):
    """Two streets in Nice and one in Monaco; each place is in its country."""
    network = build(tmp_path, [(7.26, 43.70), (7.25, 43.71), (7.42, 43.735)])
    assert (network.timezone, network.is_left_hand) == ("Europe/Paris", False)
    km = network.report()["km_by_timezone"]
    assert list(km) == ["Europe/Paris", "Europe/Monaco"]
    assert km["Europe/Paris"] == pytest.approx(2 * km["Europe/Monaco"], abs=0.2)
    for code, street in (("FR", "Street 0"), ("MC", "Street 2")):
        assert geocode(network, street, within_country=code)["name"].tolist() == [street]


def test_streets_beyond_all_zones_have_that_of_the_nearest_land(tmp_path):
    assert build(tmp_path, [(15.6, 35.6), (15.7, 35.5)]).timezone == "Europe/Malta"


def test_traffic_that_keeps_to_both_sides_is_warned_of(tmp_path):
    """Two streets in Shenzhen, one in Hong Kong."""
    places = [(114.06, 22.55), (114.10, 22.57), (114.17, 22.32)]
    with pytest.warns(UserWarning, match="keeps right along 1 km of the streets and left along 0 km") as caught:
        network = build(tmp_path, places)
    assert (network.timezone, network.is_left_hand, len(caught)) == ("Asia/Shanghai", False, 1)
    assert caught[0].filename == __file__
    assert build(tmp_path, places, is_left_hand=True).is_left_hand


def test_the_side_is_that_of_the_streets_and_not_of_the_clock(tmp_path):
    for zone in ("UTC", "Asia/Calcutta", "Europe/Paris"):
        assert build(tmp_path, [(77.2, 28.6)], timezone=zone).is_left_hand
    at_sea = [(0.5, 0.5)]
    assert [build(tmp_path, at_sea, timezone=zone).is_left_hand for zone in ("UTC", "Asia/Calcutta", "GB")] == [
        False, True, True,
    ]  # fmt: skip


MALTA = PLACES["Malta with a port of Sicily"][0]


def agency(*zones):
    return "agency_id,agency_name,agency_url,agency_timezone\n" + "".join(
        f"{number},Transit,https://example.org,{zone}\n" for number, zone in enumerate(zones)
    )


def feed_in(folder, name, *zones, trips=(1,)):
    """Write a feed with a route for each zone, each of some trips."""
    routes = "route_id,agency_id,route_short_name,route_type\n"
    listed, times = "route_id,service_id,trip_id\n", "trip_id,stop_sequence,stop_id,arrival_time,departure_time\n"
    for number, _ in enumerate(zones):
        routes += f"R{number},{number},{number},3\n"
        for k in range(trips[number]):
            listed += f"R{number},daily,t{number}-{k}\n"
            for step, stop in enumerate("abc"):
                times += f"t{number}-{k},{step},{stop},{8 + k}:1{step}:00,{8 + k}:1{step}:00\n"
    return feed(folder, name, agency=agency(*zones), routes=routes, trips=listed, stop_times=times)


def built_with(folder, *feeds, **options):
    """Return the network of streets in Malta and feeds, and the texts of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = build(folder, MALTA, gtfs=feeds, **options)
    assert all(each.filename == __file__ for each in caught)
    return network, [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("zones", "trips", "zone", "warned", "n_files"),
    combined([
        (["Europe/Malta"], [1], "Europe/Malta", []),
        (["Europe/Rome"], [1], "Europe/Rome", []),  # another name, the same clock
        (["MET"], [1], "MET", []),  # an alias of Europe/Brussels
        (["UTC"], [1], "Europe/Malta", ["UTC, most streets are in Europe/Malta, whose clocks differ by -2 or -1"]),
        (["Etc/GMT-1"], [1], "Europe/Malta", ["streets are in Europe/Malta, whose clocks differ by -1 or +0"]),
        (["Europe/London"], [1], "Europe/London", ["streets are in Europe/Malta, whose clocks differ by -1 hours"]),
        (["Europe/Rome", "Europe/Malta"], [1, 2], "Europe/Malta", []),
        (["GB", "Europe/Malta"], [1, 2], "Europe/Malta", ["Europe/Malta (2 trips), GB (1 trips)"]),
        (
            ["Europe/London", "Europe/Malta"], [2, 1], "Europe/London",
            ["Europe/London (2 trips), Europe/Malta (1 trips)", "clocks differ by -1 hours"],
        ),
    ], [1, 2], mark=pytest.mark.thorough),
)  # fmt: skip
def test_the_zone_of_the_feeds_comes_first(tmp_path, zones, trips, zone, warned, n_files):
    """One feed with several agencies, and a feed of each."""
    if n_files == 1:
        feeds = [feed_in(tmp_path, "all.zip", *zones, trips=trips)]
    else:
        feeds = [feed_in(tmp_path, f"{k}.zip", zones[k], trips=[trips[k]]) for k in range(len(zones))]
    network, texts = built_with(tmp_path, *feeds)
    assert (network.timezone, network.is_left_hand) == (zone, True)
    assert len(texts) == len(warned)
    assert all(part in text for part, text in zip(warned, texts, strict=True))
    stated, texts = built_with(tmp_path, *feeds, timezone="America/New_York")
    assert (stated.timezone, stated.is_left_hand, texts) == ("America/New_York", True, [])
