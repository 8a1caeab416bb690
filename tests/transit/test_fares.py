"""What journeys cost: the cheapest tickets against every way to buy them, and fares by hand."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import traveltime_lab as tl
from tests.support.feeds import feed
from tests.support.towns import STOPS, STREETS, timetable, town
from tests.support.worlds import at
from traveltime_lab.fares import Fares
from traveltime_lab.itinerary import Leg, Route
from traveltime_lab.readers.gtfs.feed import read_feed, read_timetable
from traveltime_lab.transit.fares import FareBook, PaidRide
from traveltime_lab.transit.timetable import Timetable

#: A line in zones 1, 2 and 3.
ZONES = "stop_id,stop_lat,stop_lon,zone_id\na,0.5,0.50,1\nb,0.5,0.51,2\nc,0.5,0.52,3"


def book(folder: Path, **files: str) -> FareBook:
    """Return the fares of `LINE` in zones, with routes R and S."""
    routes = "route_id,route_short_name,route_type\nR,1,3\nS,2,3"
    return FareBook.of(read_feed(feed(folder, **{"stops": ZONES, "routes": routes, **files})))


def ride(zones: str, route: int = 0, board: int = 0, leg: int = 0, feed: int = 0, agency: int = 0) -> PaidRide:
    """Return a ride by the zones of its stops, a letter or digit each, ``-`` for a stop without one."""
    names = [zone.replace("-", "") for zone in zones]
    return PaidRide((leg,), feed, frozenset({route}), frozenset({agency}), names[0], names[-1], frozenset(names), board)


def bought(fares: Fares | None) -> list[tuple[str, tuple[int, ...]]] | None:
    """Return ids of fares and the legs that they pay for."""
    return None if fares is None else [(ticket.fare_id, ticket.legs) for ticket in fares.tickets]


# One ride ------------------------------------------------------------------------------------------------------------


def test_no_fares_are_unknown_and_no_rides_are_free(tmp_path: Path) -> None:
    nothing = book(tmp_path)
    assert nothing.cheapest([ride("12")]) is None
    assert nothing.cheapest([]) == Fares() and Fares().totals == {}
    only_rules = book(tmp_path, fare_rules="fare_id,route_id\nf,R")
    assert only_rules.cheapest([ride("12")]) is None


def test_a_fare_without_rules_is_valid_everywhere(tmp_path: Path) -> None:
    flat = book(tmp_path, fare_attributes="fare_id,price,currency_type,transfers\nf,2.50,eur,0")
    found = flat.cheapest([ride("-3", leg=4)])
    assert found is not None
    assert found.tickets == (tl.Ticket(2.5, "EUR", (4,), "f", "single"),)
    assert found.totals == {"EUR": 2.5}


def test_a_free_ride_costs_nothing_and_has_a_ticket(tmp_path: Path) -> None:
    free = book(tmp_path, fare_attributes="fare_id,price,currency_type,transfers\nf,0,EUR,0")
    found = free.cheapest([ride("12")])
    assert bought(found) == [("f", (0,))] and found is not None and found.totals == {"EUR": 0.0}


@pytest.mark.parametrize(
    ("rules", "zones", "route", "fits"),
    [
        ("f,R,,,", "12", 0, True),
        ("f,R,,,", "12", 1, False),
        ("f,,1,,", "12", 0, True),
        ("f,,1,,", "21", 0, False),
        ("f,,,2,", "12", 0, True),
        ("f,,,2,", "123", 0, False),
        ("f,,1,2,", "12", 0, True),
        ("f,,1,2,", "1-2", 0, True),
        # Origins and destinations of different rows do not mix.
        ("f,,1,2,\nf,,2,3,", "123", 0, False),
        ("f,R,1,,\nf,S,2,,", "23", 0, False),
        # All zones of a rule must be entered (reference), and no others (OpenTripPlanner).
        ("f,,,,1\nf,,,,2", "12", 0, True),
        ("f,,,,1\nf,,,,2", "121", 0, True),
        ("f,,,,1\nf,,,,2", "1", 0, False),
        ("f,,,,1\nf,,,,2", "123", 0, False),
        ("f,,,,1\nf,,,,2", "1-2", 0, False),
        ("f,R,,,1\nf,R,,,2\nf,S,,,1\nf,S,,,3", "12", 0, True),
        ("f,R,,,1\nf,R,,,2\nf,S,,,1\nf,S,,,3", "12", 1, False),
        ("f,R,,,1\nf,R,,,2\nf,S,,,1\nf,S,,,3", "13", 1, True),
        # A stop without a zone has none that could be named.
        ("f,,1,,", "-2", 0, False),
        ("f,R,,,", "--", 0, True),
    ],
)
def test_rules(tmp_path: Path, rules: str, zones: str, route: int, fits: bool) -> None:
    ruled = book(
        tmp_path,
        fare_attributes="fare_id,price,currency_type,transfers\nf,2,EUR,0",
        fare_rules=f"fare_id,route_id,origin_id,destination_id,contains_id\n{rules}",
    )
    assert (ruled.cheapest([ride(zones, route)]) is not None) is fits


def test_agencies_keep_to_their_own_fares(tmp_path: Path) -> None:
    agencies = "agency_id,agency_name,agency_url,agency_timezone\nA,A,x,UTC\nB,B,x,UTC"
    two = book(
        tmp_path,
        agency=agencies,
        routes="route_id,agency_id,route_type\nR,A,3\nS,B,3",
        fare_attributes="fare_id,price,currency_type,agency_id,transfers\na,2,EUR,A,\nall,5,EUR,,",
    )
    assert bought(two.cheapest([ride("12", agency=0)])) == [("a", (0,))]
    assert bought(two.cheapest([ride("12", 1, agency=1)])) == [("all", (0,))]
    both = [ride("12", agency=0), ride("23", 1, agency=1, leg=2)]
    assert bought(two.cheapest(both)) == [("all", (0, 2))]


def test_what_is_noted(tmp_path: Path) -> None:
    noted = read_feed(
        feed(
            tmp_path,
            agency="agency_id,agency_name,agency_url,agency_timezone\nA,A,x,UTC\nB,B,x,UTC",
            fare_attributes="fare_id,price,currency_type\nf,2,EUR",
            fare_rules="fare_id,origin_id\nf,9",
        )
    ).notes[0]["noted"]
    assert noted["fare_attributes.txt: no agency_id in a feed of several agencies: valid for all of them"]
    assert noted["fare_rules.txt: origin_id is not a zone_id of stops.txt: the rule never applies"] == "1 rows, lines 2"


# Several rides -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transfers", "duration", "n_tickets"),
    [
        ("0", "", 3),
        ("1", "", 2),
        ("2", "", 1),
        ("", "", 1),
        ("", "1200", 1),
        ("", "1199", 2),
        ("", "599", 3),
        ("", "0", 3),
    ],
)
def test_transfers_and_their_end(tmp_path: Path, transfers: str, duration: str, n_tickets: int) -> None:
    table = f"fare_id,price,currency_type,transfers,transfer_duration\nf,2.35,EUR,{transfers},{duration}"
    found = book(tmp_path, fare_attributes=table).cheapest([ride("12", board=600 * i, leg=2 * i) for i in range(3)])
    assert found is not None and len(found.tickets) == n_tickets
    # Sums are those of decimals, not of floats: 2.35 * 3 is 7.050000000000001.
    assert found.totals == {"EUR": float(Decimal("2.35") * n_tickets)}
    assert [leg for ticket in found.tickets for leg in ticket.legs] == [0, 2, 4]


def test_a_ticket_from_end_to_end(tmp_path: Path) -> None:
    zones = book(
        tmp_path,
        fare_attributes="fare_id,price,currency_type,transfers\nnear,2,EUR,\nfar,3,EUR,",
        fare_rules="fare_id,origin_id,destination_id\nnear,1,2\nnear,2,3\nfar,1,3",
    )
    assert bought(zones.cheapest([ride("12", leg=1), ride("23", leg=3)])) == [("far", (1, 3))]
    assert bought(zones.cheapest([ride("12"), ride("12", leg=1)])) == [("near", (0, 1))]
    # Nothing leads from 2 to 1.
    assert zones.cheapest([ride("12"), ride("21")]) is None


def test_a_ride_without_a_fare_makes_the_journey_unknown(tmp_path: Path) -> None:
    one = book(tmp_path, fare_attributes="fare_id,price,currency_type\nf,2,EUR", fare_rules="fare_id,route_id\nf,R")
    assert one.cheapest([ride("12"), ride("23", 1)]) is None
    assert one.cheapest([ride("12"), ride("23", 0)]) is not None


def test_feeds_do_not_share_tickets_and_currencies_are_not_added(tmp_path: Path) -> None:
    fares = "fare_id,price,currency_type\nf,{},{}"
    both = read_timetable(
        [
            feed(tmp_path, "a.zip", fare_attributes=fares.format(2, "EUR")),
            feed(tmp_path, "b.zip", fare_attributes=fares.format(3, "CHF")),
            feed(tmp_path, "c.zip"),
        ]
    )
    rides = [ride("12"), ride("23", 1, feed=1, agency=1, leg=1), ride("23", leg=2)]
    found = FareBook.of(both).cheapest(rides)
    assert found is not None
    assert found.totals == {"EUR": 4.0, "CHF": 3.0}
    assert [ticket.legs for ticket in found.tickets] == [(0,), (1,), (2,)]
    assert FareBook.of(both).cheapest([ride("12", 2, feed=2, agency=2)]) is None


def test_a_choice_of_currencies(tmp_path: Path) -> None:
    border = book(
        tmp_path,
        fare_attributes="fare_id,price,currency_type,transfers\ne,2,EUR,0\nc,2,CHF,0\nd,1,EUR,0\n",
        fare_rules="fare_id,route_id\ne,R\nc,R\nc,S\nd,S",
    )
    # One currency rather than two; which one of equal claim is a matter of names, not of amounts.
    assert bought(border.cheapest([ride("12"), ride("23", 1)])) == [("c", (0,)), ("c", (0,))]


# The twin ------------------------------------------------------------------------------------------------------------


def fits(timetable: Timetable, fare: int, rides: Sequence[PaidRide]) -> bool:
    """Return whether a fare pays for some consecutive rides, read from the tables row by row."""
    row = timetable.fare_attributes.iloc[fare]
    rules = timetable.fare_rules[timetable.fare_rules["fare_idx"] == fare]
    if any(one.feed != row["feed_idx"] for one in rides):
        return False
    if row["agency_idx"] >= 0 and any(one.agencies != {row["agency_idx"]} for one in rides):
        return False
    if row["transfers"] >= 0 and len(rides) > row["transfers"] + 1:
        return False
    if row["transfer_duration"] >= 0 and rides[-1].board - rides[0].board > row["transfer_duration"]:
        return False
    entered = set().union(*(one.zones for one in rides))
    for route in set().union(*(one.routes for one in rides)):
        fit = rules.empty
        for (_, ruled, origin, destination), rows in rules.groupby(
            ["fare_idx", "route_idx", "origin_id", "destination_id"]
        ):
            contains = set(rows["contains_id"]) - {""}
            fit |= (
                ruled in (-1, route)
                and origin in ("", rides[0].board_zone)
                and destination in ("", rides[-1].alight_zone)
                and (not contains or contains == entered)
            )
        if not fit:
            return False
    return True


def every_total(timetable: Timetable, rides: Sequence[PaidRide]) -> list[dict[str, Decimal]]:
    """Return what each way to buy tickets for all rides costs: all partitions, all fares for each of their parts."""
    totals = []
    for cuts in itertools.product((False, True), repeat=max(len(rides) - 1, 0)):
        parts, begin = [], 0
        for end in range(1, len(rides) + 1):
            if end == len(rides) or cuts[end - 1]:
                parts.append(rides[begin:end])
                begin = end
        choices = [[f for f in range(len(timetable.fare_attributes)) if fits(timetable, f, part)] for part in parts]
        for chosen in itertools.product(*choices):
            total: dict[str, Decimal] = {}
            for fare in chosen:
                row = timetable.fare_attributes.iloc[fare]
                total[row["currency_type"]] = total.get(row["currency_type"], Decimal(0)) + Decimal(str(row["price"]))
            totals.append({currency: amount for currency, amount in total.items() if amount})
    return totals


def beats(one: dict[str, Decimal], other: dict[str, Decimal]) -> bool:
    currencies = {*one, *other}
    return one != other and all(one.get(c, Decimal(0)) <= other.get(c, Decimal(0)) for c in currencies)


PRICES = st.sampled_from([0.0, 0.1, 1.0, 1.1, 2.35, 3.0])
ZONE = st.sampled_from(["", "1", "2", "3"])
#: Feed, price, currency, transfers, transfer_duration, agency.
FARES = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1]),
        PRICES,
        st.sampled_from(["EUR", "EUR", "CHF"]),
        st.sampled_from([-1, 0, 1, 2]),
        st.sampled_from([-1, 0, 300, 900]),
        st.sampled_from([-1, -1, 0, 1]),
    ),
    max_size=5,
)
RULES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([-1, 0, 1]), ZONE, ZONE, ZONE), max_size=8)
RIDES = st.lists(
    st.tuples(
        st.lists(ZONE, min_size=2, max_size=3),
        st.sampled_from([{0}, {1}, {0, 1}]),
        st.integers(0, 900),
        st.sampled_from([0, 0, 1]),
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    """Two feeds with two agencies each, of one route each."""
    files = {
        "agency": "agency_id,agency_name,agency_url,agency_timezone\nA,A,x,UTC\nB,B,x,UTC",
        "routes": "route_id,agency_id,route_type\nR,A,3\nS,B,3",
        "fare_attributes": "fare_id,price,currency_type\nf,1,EUR",
        "fare_rules": "fare_id,route_id\nf,R",
    }
    folder = tmp_path_factory.mktemp("feeds")
    return read_timetable([feed(folder, name, **files) for name in ("one.zip", "two.zip")])


def drawn(feeds: Timetable, fares: Any, rules: Any) -> Timetable:
    """Return the two feeds with other fares; routes and agencies are numbered over both."""
    table = pd.DataFrame(
        [
            (feed_idx, f"f{i}", agency + 2 * feed_idx if agency >= 0 else -1, price, currency, 0, transfers, duration)
            for i, (feed_idx, price, currency, transfers, duration, agency) in enumerate(fares)
        ],
        columns=feeds.fare_attributes.columns,
    )
    ruled = pd.DataFrame(
        [
            (fare, route + 2 * fares[fare][0] if route >= 0 else -1, *zones)
            for fare, route, *zones in rules
            if fare < len(fares)
        ],
        columns=feeds.fare_rules.columns,
    )
    return dataclasses.replace(feeds, fare_attributes=table, fare_rules=ruled)


def as_rides(rows: Any) -> list[PaidRide]:
    """Return rides one after the other; routes and agencies are numbered over both feeds."""
    rides, now = [], 0
    for i, (zones, routes, later, feed_idx) in enumerate(rows):
        now += later
        numbers = frozenset(route + 2 * feed_idx for route in routes)
        rides.append(PaidRide((2 * i,), feed_idx, numbers, numbers, zones[0], zones[-1], frozenset(zones), now))
    return rides


@pytest.mark.slow
@given(FARES, RULES, RIDES)
def test_the_cheapest_is_the_cheapest_of_all_ways_to_buy(feeds: Timetable, fares: Any, rules: Any, rows: Any) -> None:
    timetable = drawn(feeds, fares, rules)
    rides = as_rides(rows)
    found = FareBook.of(timetable).cheapest(rides)
    totals = every_total(timetable, rides)
    assert (found is None) == (not totals)
    if found is None:
        return
    best = [total for total in totals if not any(beats(other, total) for other in totals)]
    first = min(best, key=lambda total: (len(total), sorted(total.items())))
    assert {c: amount for c, amount in found.totals.items() if amount} == {c: float(a) for c, a in first.items()}
    # Each ride is paid for once, and each ticket fits the rides that it pays for.
    assert [leg for ticket in found.tickets for leg in ticket.legs] == [one.legs[0] for one in rides]
    by_leg = {one.legs[0]: one for one in rides}
    names = timetable.fare_attributes["fare_id"].tolist()
    for ticket in found.tickets:
        assert fits(timetable, names.index(ticket.fare_id), [by_leg[leg] for leg in ticket.legs])


@given(FARES.filter(len), RIDES.filter(len))
def test_never_more_than_single_tickets(feeds: Timetable, fares: Any, rows: Any) -> None:
    """In one currency a journey never costs more than its rides bought one by one, or than its two halves."""
    timetable = drawn(feeds, [(feed_idx, price, "EUR", *rest) for feed_idx, price, _, *rest in fares], [])
    rides, all_fares = as_rides(rows), FareBook.of(timetable)
    whole = all_fares.cheapest(rides)
    for cut in range(1, len(rides) + 1):
        parts = [all_fares.cheapest(rides[:cut]), all_fares.cheapest(rides[cut:])]
        if all(parts):
            assert whole is not None
            total = sum((Decimal(str(part.totals.get("EUR", 0))) for part in parts), Decimal(0))
            assert Decimal(str(whole.totals["EUR"])) <= total
    singles = [all_fares.cheapest([one]) for one in rides]
    assert (whole is None) == any(single is None for single in singles)


# Routes --------------------------------------------------------------------------------------------------------------

FROM_A_TO_C = {"transportation": "public_transport", "departure_time": "2026-03-03T07:55"}


def test_routes_with_fares(tmp_path: Path) -> None:
    network = town(
        tmp_path,
        fare_attributes="fare_id,price,currency_type,transfers\none,1.40,EUR,0\ntwo,2,EUR,0",
        fare_rules="fare_id,route_id\none,R0\ntwo,R1",
    )
    path = network.save(tmp_path / "town.network")
    places = at((100, 0), (5900, 0), (300, 0), (3000, 900_000))
    for each in (network, tl.load_network(path)):
        found = tl.routes(each, places.iloc[:1], places.iloc[1:], properties=["travel_time", "fares"], **FROM_A_TO_C)
        assert "route" not in found and list(found.columns[4:6]) == ["travel_time", "fares"]
        there, near, nowhere = found["fares"]
        assert there.totals == {"EUR": 3.4}
        assert near == Fares() and nowhere is None
        route = tl.routes(each, places.iloc[:1], places.iloc[1:2], **FROM_A_TO_C)["route"][0]
        assert route.fares == there
        assert [ticket.legs for ticket in there.tickets] == [(1,), (2,)]
        assert [route.legs[leg].ride.route_id for ticket in there.tickets for leg in ticket.legs] == ["R0", "R1"]
        # By arrival it is the same journey.
        how = {"transportation": "public_transport", "arrival_time": "2026-03-03T08:20"}
        assert tl.routes(each, places.iloc[:1], places.iloc[1:2], properties=["fares"], **how)["fares"][0].totals == {
            "EUR": 3.4
        }


def test_routes_without_fares(tmp_path: Path) -> None:
    places = at((100, 0), (5900, 0), (300, 0))
    found = tl.routes(town(tmp_path), places.iloc[:1], places.iloc[1:], properties=["fares"], **FROM_A_TO_C)
    assert found["fares"].tolist() == [None, Fares()]
    assert "fares" not in tl.routes(town(tmp_path), places.iloc[:1], places.iloc[1:], **FROM_A_TO_C)
    on_foot = tl.routes(town(tmp_path), places, places, transportation="walking", properties=["fares"])
    assert on_foot["fares"].tolist() == [Fares()] * 9


def test_zones_are_those_of_all_stops_called_at(tmp_path: Path) -> None:
    """A bus through zone 2 is dearer than one that does not stop there."""
    rows = [
        f"{name},{point.y:.7f},{point.x:.7f},{zone}"
        for (name, place), zone in zip(STOPS.items(), "123", strict=True)
        for point in at(place)
    ]
    files = {
        "stops": "\n".join(["stop_id,stop_lat,stop_lon,zone_id", *rows]),
        "fare_attributes": "fare_id,price,currency_type,transfers\nall,5,EUR,0\ntwo,3,EUR,0",
        "fare_rules": "fare_id,contains_id\nall,1\nall,2\nall,3\ntwo,1\ntwo,3",
    }
    places = at((0, 0), (6000, 0))
    slow, quick = [("a", 28_800), ("b", 29_100), ("c", 29_400)], [("a", 28_800), ("c", 29_400)]
    for calls, price in ((slow, 5.0), (quick, 3.0)):
        network = tl.build_network(STREETS, gtfs=timetable(tmp_path, STOPS, [calls], **files), timezone="UTC")
        found = tl.routes(network, places.iloc[:1], places.iloc[1:], properties=["fares"], **FROM_A_TO_C)
        assert found["fares"][0].totals == {"EUR": price}


def test_staying_seated_is_one_ride(tmp_path: Path) -> None:
    """A vehicle that goes on as another line needs a ticket for both, and no change."""
    files = {
        "trips": "route_id,service_id,trip_id,block_id\nR0,daily,t0,x\nR1,daily,t1,x",
        "fare_attributes": "fare_id,price,currency_type,transfers\none,1,EUR,0\nboth,4,EUR,0",
        "fare_rules": "fare_id,route_id\none,R0\nboth,R0\nboth,R1",
    }
    network = town(tmp_path, **files)
    places = at((0, 0), (6000, 0), (3000, 0))
    found = tl.routes(network, places.iloc[:1], places.iloc[1:], **FROM_A_TO_C)["route"]
    assert [leg.ride.stays_seated for leg in found[0].legs if leg.ride is not None] == [False, True]
    assert bought(found[0].fares) == [("both", (0, 1))]
    assert bought(found[1].fares) == [("one", (0,))]


def test_ferries_without_a_timetable_are_unknown() -> None:
    from traveltime_lab.itinerary import unpaid

    line = at((0, 0), (1, 0)).union_all().envelope.boundary
    walk, ferry = (Leg(mode, "", 1, 1.0, line) for mode in ("walk", "ferry"))
    assert unpaid((walk,)) == Fares() and unpaid((walk, ferry)) is None
    assert Route((walk,)).fares is None


# Real feeds ----------------------------------------------------------------------------------------------------------


def test_caltrain_by_hand(shared_data: Path) -> None:
    """Zone 1 (San Francisco) to zone 4 (San Jose) is 3528, 10.75 dollars; with a change it is the same ticket."""
    fares = FareBook.of(read_feed(shared_data / "gtfs_only" / "caltrain.zip"))
    north, middle, south = "2275", "2277", "2272"

    def train(start: str, end: str, board: int) -> PaidRide:
        return PaidRide((0,), 0, frozenset({0}), frozenset({0}), start, end, frozenset({start, end}), board)

    assert bought(fares.cheapest([train(north, south, 0)])) == [("3528", (0,))]
    changing = [train(north, middle, 0), train(middle, south, 3600)]
    assert fares.cheapest(changing).totals == {"USD": 10.75}
    # After four hours the second train needs a ticket of its own: 8.50 for three zones and 6.25 for two.
    changing = [train(north, middle, 0), train(middle, south, 14_401)]
    assert fares.cheapest(changing).totals == {"USD": 14.75}


def test_helsinki_by_hand(shared_data: Path) -> None:
    """The ticket AB, 2.80 euros for 80 minutes of boarding, whatever the changes; nothing is said of A alone."""
    fares = FareBook.of(read_feed(shared_data / "helsinki" / "gtfs.zip"))
    rides = [ride("A", board=0), ride("AB", board=360, leg=2), ride("B", board=4800, leg=4)]
    found = fares.cheapest(rides)
    assert bought(found) == [("AB", (0, 2, 4))] and found is not None and found.totals == {"EUR": 2.8}
    assert fares.cheapest([*rides[:2], dataclasses.replace(rides[2], zones=frozenset("B"), board=4801)]) is None
    assert fares.cheapest([ride("A")]) is None
    assert bought(fares.cheapest([ride("BC")])) == [("BC", (0,))]
    assert bought(fares.cheapest([ride("ABC")])) == [("ABC", (0,))]


def test_porto_alegre_from_door_to_door(porto_alegre: tl.Network) -> None:
    """A bus is 4.70 reais; the metro has no fares, and so has no journey with it."""
    places = gpd.GeoSeries.from_xy(
        [-51.176073, -51.222396, -51.240947, -51.197618], [-30.057972, -30.030426, -30.034038, -29.997721], crs=4326
    )
    found = tl.routes(
        porto_alegre, places[[0, 2]], places[[1, 3]], pairs="aligned", transportation="public_transport",
        departure_time="2019-05-14T08:00", properties=["fares", "route"],
    )  # fmt: skip
    by_bus, with_metro = found["fares"]
    modes = [[leg.mode for leg in route.legs if leg.ride is not None] for route in found["route"]]
    assert modes == [["bus"], ["bus", "train"]]
    assert bought(by_bus) == [("tarifa", (1,))] and by_bus.totals == {"BRL": 4.7}
    assert with_metro is None
