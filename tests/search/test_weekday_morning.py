"""The date of searches that leave it to the network: chosen once, written down, and asked for again."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import traveltime_lab as tl
from tests.support.combinations import combined
from tests.support.towns import STREETS, timetable, two_feeds
from tests.support.worlds import at
from traveltime_lab.maps.widget import answers, choices
from traveltime_lab.maps.widget.state import state_of
from traveltime_lab.transit.timetable import ServiceWarning

HOW: dict[str, Any] = {"transportation": "public_transport", "departure_time": "weekday_morning"}
A, C = (0.0, 0.0), (6000.0, 0.0)


def built(folder: Path, monkeypatch: pytest.MonkeyPatch, today: str) -> tl.Network:
    monkeypatch.setattr("traveltime_lab.transit.layer.today", lambda timezone: dt.date.fromisoformat(today))
    return two_feeds(folder)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tl.Network:
    return built(tmp_path, monkeypatch, "2026-11-25")


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tl.Network:
    """The network as it was built on a Sunday of 2019."""
    (tmp_path / "before").mkdir()
    return built(tmp_path / "before", monkeypatch, "2019-05-12")


def seconds(network: tl.Network, **how: Any) -> int:
    return int(tl.time_filter(network, at(A), at(C), travel_time=7200, **{**HOW, **how})["travel_time"].iloc[0])


def test_all_feeds_run(network: tl.Network, before: tl.Network) -> None:
    """On New Year's Day of 2008, the first of the equally busy days of the metro, one walks for 6,000 s."""
    assert str(network.typical_day) == "2019-12-31" and str(before.typical_day) == "2019-05-14"
    assert seconds(network) == seconds(before) == seconds(network, departure_time="2019-05-14T08:00") == 700
    with pytest.warns(ServiceWarning, match=r"2008-01-01T08:00.* is not covered by lines"):
        assert seconds(network, departure_time="2008-01-01T08:00") == 6000
    assert network.report()["weekday_morning"] == {
        "date": "2019-12-31", "weekday": "Tuesday", "departures": 2, "feeds_without_service": "none",
    }  # fmt: skip


#: Each function whose results have a receipt.
SEARCHES: dict[str, Callable[..., pd.DataFrame]] = {
    "time_filter": lambda net, **how: tl.time_filter(net, at(A), at(C), travel_time=7200, **how),
    "sparse": lambda net, **how: tl.time_filter(net, at(A), at(C), travel_time=7200, form="sparse", **how),
    "routes": lambda net, **how: tl.routes(net, at(A), at(C), **how),
    "nearest": lambda net, **how: tl.nearest(net, at(A), at(C), travel_time=7200, **how),
    "time_map": lambda net, **how: tl.time_map(net, at(A), travel_time=900, **how),
    "h3_cells": lambda net, **how: tl.h3_cells(net, at(A), travel_time=900, resolution=8, **how),
    "geohash_cells": lambda net, **how: tl.geohash_cells(net, at(A), travel_time=900, resolution=6, **how),
    "accessibility": lambda net, **how: tl.accessibility(net, at(A), at(C), travel_time=900, **how),
}


@pytest.mark.parametrize(
    ("name", "moment"), combined(SEARCHES, ["departure_time", "arrival_time"], mark=pytest.mark.thorough)
)
def test_results_and_receipts_have_the_date(network: tl.Network, before: tl.Network, name: str, moment: str) -> None:
    how = {"transportation": "public_transport", moment: "weekday_morning"}
    found = SEARCHES[name](before, **how)
    assert found.attrs["weekday_morning"] == tl.receipt(found)["weekday_morning"] == "2019-05-14"
    again = tl.replay(tl.receipt(found), network)
    assert again.is_same and "weekday_morning of the network is 2019-12-31; this search is of 2019-05-14" in str(again)
    assert again.answer.attrs.get("weekday_morning") is None
    assert tl.receipt(again.answer)["arguments"][moment].startswith("2019-05-14T0")
    assert tl.replay(tl.receipt(found), before).differences == ()
    for other in ({"transportation": "walking", moment: "weekday_morning"}, {**how, moment: "2019-05-14T08:00"}):
        assert "weekday_morning" not in SEARCHES[name](network, **other).attrs


def test_a_receipt_without_the_date(network: tl.Network) -> None:
    kept = tl.receipt(SEARCHES["routes"](network, **HOW))
    del kept["weekday_morning"]
    difference = tl.replay(kept, network).differences[0]
    assert "does not say the date of weekday_morning; this search is of 2019-12-31" in difference
    with pytest.raises(tl.DataError, match="its weekday_morning is 'soon', not a date"):
        tl.replay({**kept, "weekday_morning": "soon"}, network)


def test_files_have_the_date(network: tl.Network, tmp_path: Path) -> None:
    SEARCHES["time_map"](network, **HOW).to_parquet(tmp_path / "areas.parquet")
    assert tl.receipt(tmp_path / "areas.parquet")["weekday_morning"] == "2019-12-31"


def test_jobs_have_the_date(network: tl.Network, before: tl.Network, tmp_path: Path) -> None:
    """The same call does not continue with a different date."""
    how = {"travel_time": 7200, "progress": False, **HOW}
    for write, places in ((tl.write_matrix, (at(A), at(C))), (tl.write_areas, (at(A),))):
        folder = write(before, *places, tmp_path / write.__name__, **how)
        parameters = json.loads((folder / "_manifest.json").read_text("utf-8"))["parameters"]
        assert parameters["departure_time"] == "weekday_morning" and parameters["weekday_morning"] == "2019-05-14"
        assert tl.receipt(folder)["weekday_morning"] == "2019-05-14"
        assert network.fingerprint == before.fingerprint
        with pytest.raises(tl.InputError, match="weekday_morning was '2019-05-14' and is now '2019-12-31'"):
            write(network, *places, folder, **how)


def test_it_does_not_depend_on_the_day_of_the_search(
    before: tl.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved, sent to a worker, or changed: the network keeps the day that it was built with."""
    monkeypatch.setattr("traveltime_lab.transit.layer.today", lambda timezone: dt.date(2026, 11, 25))
    again = tl.load_network(before.save(tmp_path / "x.network"))
    changed = before.with_changes(tl.ShiftTrips("R0", 60, feed="lines"))
    twice = tl.load_network(changed.save(tmp_path / "y.network"))
    for network in (again, changed, twice, pickle.loads(pickle.dumps(before)), tl.add_speeds(before, edges={0: 5.0})):
        assert str(network.typical_day) == "2019-05-14"


def test_explanations(network: tl.Network) -> None:
    found = tl.explain(network, at(A), at(C), travel_time=7200, **HOW)
    assert found.is_reached and found.travel_time == 700 and found.weekday_morning == network.typical_day
    assert "The date of weekday_morning is Tuesday 2019-12-31." in str(found)
    assert tl.explain(network, at(A), at(C), travel_time=7200, transportation="walking").weekday_morning is None
    with pytest.warns(ServiceWarning, match="not covered by lines"):
        tl.explain(network, at(A), at(C), travel_time=7200, **{**HOW, "departure_time": "2008-01-01T08:00"})


def test_the_widget(network: tl.Network) -> None:
    assert choices.first_day(network) == choices.day_with_service(network, dt.date(2026, 1, 1)) == network.typical_day
    streets = tl.build_network(STREETS, timezone="UTC")
    assert streets.typical_day is None and choices.first_day(streets).weekday() == 1
    query = state_of(network, at(A), **HOW).query()
    drawn = answers.with_receipt(network, query, answers.areas(network, query))
    assert drawn.attrs["weekday_morning"] == "2019-12-31"
    assert answers.service_remarks(network, query) == []


@pytest.mark.slow
def test_absent_feeds_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The days of two feeds that never run together: one of them is missing, also in words."""
    monkeypatch.setattr("tests.support.towns.timetable", _apart)
    network = built(tmp_path, monkeypatch, "2026-11-25")
    assert str(network.typical_day) == "2020-12-31"
    assert network.report()["weekday_morning"]["feeds_without_service"] == "lines"
    for name, search in SEARCHES.items():
        with pytest.warns(ServiceWarning, match=r"\(weekday_morning\) 2020-12-31T08:00:00\+00:00") as heard:
            search(network, **HOW)
        assert {Path(each.filename).name for each in heard} == {Path(__file__).name}, name
        assert "lines has 0 departures on Thursday 2020-12-31 and within a week of it" in str(heard[0].message)
    query = state_of(network, at(A), **HOW).query()
    assert "lines has 0 departures" in answers.service_remarks(network, query)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seconds(network, transportation="walking")


def _apart(*arguments: Any, calendar: str) -> Path:
    """Write a feed; that of the lines has no days but one before and one after those of the other."""
    if "2019" not in calendar:
        return timetable(*arguments, calendar=calendar)
    dates = "service_id,date,exception_type\ndaily,20071225,1\ndaily,20210302,1"
    return timetable(*arguments, calendar=calendar.splitlines()[0], calendar_dates=dates)
