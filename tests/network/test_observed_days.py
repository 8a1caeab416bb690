"""Networks of past service days: a mapping by date, its tables and its figure."""

from __future__ import annotations

import datetime as dt
import gc
import json
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support import oracles_realtime as twin

DATES = ("2019-05-14", "2019-05-15", "2019-05-16")
ZONE = "America/Sao_Paulo"
HOW: dict[str, Any] = {"travel_time": 3600, "transportation": "public_transport"}


@pytest.fixture(scope="module")
def table(porto_alegre: tl.Network) -> pd.DataFrame:
    """Delays of 400 trips at two stops, more on each day, and some rows that are bad."""
    trips = porto_alegre.trips_frame(date=DATES[0])
    trips = trips[(trips["departure_s"] > 6 * 3600) & (trips["n_stops"] > 8)]["trip_id"].iloc[:400]
    parts = [
        pd.DataFrame({"trip_id": trips, "date": date, "stop_sequence": stop, "departure_delay": 60 * (stop + i) - 90})
        for i, date in enumerate(DATES)
        for stop in (2, 6)
    ]
    bad = pd.DataFrame({"trip_id": ["x"], "date": DATES[1], "stop_sequence": 1, "departure_delay": 0})
    far = parts[0][:1].assign(stop_sequence=7, departure_delay=90_000)
    early = parts[0][1:2].assign(stop_sequence=7, departure_delay=-9_000)
    return pd.concat([*parts, bad, far, early], ignore_index=True)


@pytest.fixture(scope="module")
def days(porto_alegre: tl.Network, table: pd.DataFrame) -> tl.ObservedDays:
    return tl.observed_days(porto_alegre, table)


@pytest.mark.thorough
def test_a_mapping_by_date(days: tl.ObservedDays, porto_alegre: tl.Network) -> None:
    dates = [dt.date.fromisoformat(date) for date in DATES]
    assert [*days] == [*days.keys()] == dates
    assert len(days) == 3
    assert repr(days) == "<ObservedDays: 3 days, 2019-05-14 to 2019-05-16>"
    network = days[dates[0]]
    assert network is days["2019-05-14"] is days[pd.Timestamp("2019-05-14 08:00")] is days[np.datetime64("2019-05-14")]
    assert next(iter(days.items())) == (dates[0], network)
    assert "2019-05-14" in days
    assert "2019-05-17" not in days
    assert 3 not in days
    assert "soon" not in days
    with pytest.raises(KeyError):
        days["2019-05-17"]
    with pytest.raises(tl.InputError, match="a date such as '2016-05-19'; got 'soon'"):
        days["soon"]
    with pytest.raises(tl.InputError, match="a date such as '2016-05-19'; got 3"):
        days[3]
    assert days.get(dates[0]) is network
    assert len({each.fingerprint for each in (*days.values(), porto_alegre)}) == 4
    assert network.streets is porto_alegre.streets
    gone = weakref.ref(network)
    del network
    gc.collect()
    assert gone() is None


@pytest.mark.thorough
def test_some_of_the_days(days: tl.ObservedDays) -> None:
    some = days.select([DATES[2], dt.date.fromisoformat(DATES[1])])
    assert [*days.select(pd.DatetimeIndex(DATES[1:]))] == [*some]
    assert [str(date) for date in some] == [*DATES[1:]]
    assert some.digest == days.digest
    network = days[DATES[1]]
    assert some[DATES[1]] is network
    assert some.quality().equals(days.quality()[1:].reset_index(drop=True))
    assert {*some.findings()["date"].dropna()} == {pd.Timestamp(DATES[1])}
    assert DATES[0] not in some
    assert some.get(DATES[0]) is None
    assert days.get("nope", 3) == 3
    with pytest.raises(tl.InputError, match="dates has 2019-05-14, of which there are no observations"):
        some.select([DATES[0]])
    with pytest.raises(tl.InputError, match="at least one date"):
        days.select([])


@pytest.mark.slow
def test_tables(days: tl.ObservedDays) -> None:
    quality = days.quality()
    assert quality["date"].tolist() == [pd.Timestamp(date) for date in DATES]
    assert quality["trips_observed"].tolist() == [400] * 3
    assert quality["runs"].tolist() == [400, 401, 400]
    assert quality["rows_unmatched"].tolist() == [0, 1, 0]
    assert quality["calls_observed"].tolist() == [800, 800, 800]
    assert quality["events_too_far"].tolist() == [1, 0, 0]
    assert quality["events_decreasing"].tolist() == [1, 0, 0]
    assert (quality["share_observed"] == 400 / quality["trips_planned"]).all()
    found = days.findings().set_index(["date", "what", "reason"])["count"]
    assert found[pd.Timestamp(DATES[1]), "runs", "unknown trip_id"] == 1
    assert found[pd.Timestamp(DATES[0]), "events", "more than 43,200 s from the timetable"] == 1
    delays = days.delays("date")
    assert delays["calls"].tolist() == [800, 800, 800]
    assert delays["median"].tolist() == [150.0, 210.0, 270.0]
    by_hand = [60 * (stop + i) - 90 for i in range(3) for stop in (2, 6)]
    whole = days.delays(())
    assert whole["calls"].tolist() == [2400]
    assert whole["on_time"].iloc[0] == pytest.approx(np.mean([-60 <= each <= 300 for each in by_hand]), abs=0.001)
    keys = ("date", "weekday", "hour", "feed", "route_id", "route_short_name", "direction_id", "stop_id", "trip_id")
    for key in (*keys, "stop_sequence"):
        assert days.delays(key)["calls"].sum() == 2400
    assert days.delays()["calls"].sum() == 2400
    assert {*days.delays("stop_sequence")["stop_sequence"]} == {2, 6}
    assert {*days.delays("weekday")["weekday"]} == {1, 2, 3}
    with pytest.raises(tl.InputError, match="by"):
        days.delays("colour")
    with pytest.raises(tl.InputError, match="twice"):
        days.delays(["date", "date"])


def test_figure(days: tl.ObservedDays) -> None:
    figure = days.plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[0] == "Trips by service date"
    assert titles[1].startswith("Median delay by route and hour")


@pytest.mark.thorough
def test_the_digest_is_that_of_the_content(
    days: tl.ObservedDays, porto_alegre: tl.Network, table: pd.DataFrame
) -> None:
    again = tl.observed_days(porto_alegre, table[::-1], gaps="planned")
    assert again.digest == days.digest
    assert len(days.digest) == 32
    assert again[DATES[0]].fingerprint != days[DATES[0]].fingerprint
    assert tl.observed_days(porto_alegre, table)[DATES[0]].fingerprint == days[DATES[0]].fingerprint
    assert tl.observed_days(porto_alegre, table[:-3]).digest != days.digest


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gaps": "linear"}, "gaps"),
        ({"unobserved": "gone"}, "unobserved"),
        ({"max_delay": 0}, "max_delay"),
        ({"max_delay": "1h"}, "max_delay"),
        ({"columns": {"trip": "x"}}, "columns has no name 'trip'"),
        ({"columns": {"trip_id": 3}}, r"columns\['trip_id'\] must be the name of a column"),
        ({"columns": {"trip_id": "trip"}}, "the table has no column 'trip'"),
        ({"columns": "trip"}, "columns must be a dict"),
        ({"feed": "none"}, "no feed of the network is called 'none'"),
        ({"feed": 3}, "feed must be the name of a feed"),
    ],
)
def test_options_are_checked(porto_alegre: tl.Network, table: pd.DataFrame, options: dict[str, Any], text: str) -> None:
    with pytest.raises(tl.InputError, match=text):
        tl.observed_days(porto_alegre, table, **options)


def test_columns_are_named(porto_alegre: tl.Network, table: pd.DataFrame, days: tl.ObservedDays) -> None:
    names = {"trip_id": "fahrt", "date": "tag", "departure_delay": "ab"}
    renamed = tl.observed_days(porto_alegre, table.rename(columns=names), columns=names)
    assert renamed.digest == days.digest


@pytest.mark.thorough
def test_max_delay(porto_alegre: tl.Network, table: pd.DataFrame) -> None:
    quality = tl.observed_days(porto_alegre, table, max_delay=240).quality()
    assert quality["events_too_far"].tolist() == [402, 400, 400]


@pytest.mark.thorough
def test_searches_of_a_day(
    days: tl.ObservedDays, porto_alegre: tl.Network, table: pd.DataFrame, tmp_path: Path
) -> None:
    places = tl.sample_points()
    network = days[DATES[0]]

    def times(network: tl.Network, date: str = DATES[0]) -> list[float]:
        found = tl.time_filter(network, places, places, departure_time=f"{date}T08:00", **HOW)
        return found["travel_time"].fillna(-1).tolist()

    assert times(network) != times(porto_alegre)
    assert times(network, DATES[1]) == times(porto_alegre, DATES[1])
    # One snapshot is live updates, but for what lies between.
    own = table[(table["date"] == DATES[0]) & (table["departure_delay"].abs() < 1_000)]
    updates = [
        {
            "trip": {"trip_id": trip, "start_date": "20190514"},
            "stop_time_update": [
                {"stop_sequence": int(row.stop_sequence), "departure": {"delay": int(row.departure_delay)}}
                for row in rows.itertuples()
            ],
        }
        for trip, rows in own.groupby("trip_id")
    ]
    content = json.dumps(twin.message(updates, twin.midnight("20190514", ZONE))).encode()
    live = porto_alegre.with_updates(content)
    one = tl.observed_days(porto_alegre, content, gaps="propagate")
    assert times(one[DATES[0]]) == times(live)
    # Changes are applied to the plan, the observations to the changed plan.
    change = tl.RemoveRoutes([str(network.routes_frame()["route_id"].iloc[0])])
    changed = network.with_changes(change)
    assert changed.updates is not None
    assert times(changed) == times(tl.observed_days(porto_alegre.with_changes(change), table)[DATES[0]])
    # Saved and pickled days.
    network.save(tmp_path / "day.ttn")
    loaded = tl.load_network(tmp_path / "day.ttn")
    assert times(loaded) == times(network)
    with pytest.raises(tl.InputError, match="planned"):
        tl.observed_days(loaded, table)
    copied = pickle.loads(pickle.dumps(days))
    assert [*copied] == [*days]
    assert times(copied[DATES[0]]) == times(network)
    assert times(pickle.loads(pickle.dumps(network))) == times(network)
    # Days of a day are those of the plan.
    assert times(tl.observed_days(network, table)[DATES[0]]) == times(network)
    receipt = tl.receipt(tl.time_filter(network, places, places, departure_time=f"{DATES[0]}T08:00", **HOW))
    assert network.fingerprint in json.dumps(receipt, default=str)
