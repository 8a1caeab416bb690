"""What an update is about, what alerts close, and what becomes of updates that do not match, on small feeds."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.feeds import EVERY_DAY, feed, posix, runs_of
from traveltime_lab.errors import InputError
from traveltime_lab.readers.gtfs.feed import read_timetable
from traveltime_lab.realtime import alerts, growing
from traveltime_lab.realtime.messages import read_messages
from traveltime_lab.realtime.sources import Source
from traveltime_lab.realtime.updates import Updates, read_updates, with_updates
from traveltime_lab.scenarios import timetables
from traveltime_lab.transit import timetable_file
from traveltime_lab.transit.stop_sequences import StopSequences
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.trip_instances import trip_table

pytestmark = pytest.mark.quick

DAY = "20260302"
#: The line of `tests.support.feeds`, with a trip after midnight, one back, and repeated ones.
TRIPS = {
    "trips": """
        route_id,service_id,trip_id,direction_id
        R,daily,t,0
        R,daily,night,0
        R,daily,back,1
        R,daily,exact,0
        R,daily,loose,0
    """,
    "stop_times": """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        t,1,a,8:00:00,8:00:00
        t,2,b,8:10:00,8:11:00
        t,3,c,8:20:00,8:20:00
        night,1,a,24:30:00,24:30:00
        night,2,b,24:40:00,24:40:00
        back,1,c,8:00:00,8:00:00
        back,2,a,8:20:00,8:20:00
        exact,1,a,0:00:00,0:00:00
        exact,2,c,0:15:00,0:15:00
        loose,1,a,0:00:00,0:00:00
        loose,2,c,0:15:00,0:15:00
    """,
    "frequencies": """
        trip_id,start_time,end_time,headway_secs,exact_times
        exact,12:00:00,13:00:00,1200,1
        loose,14:00:00,15:00:00,1200,0
    """,
}


@pytest.fixture(scope="module")
def timetable(tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    return read_timetable(feed(tmp_path_factory.mktemp("feed"), **TRIPS))


def message(*entities: dict[str, Any], at: str = "2026-03-02T07:00") -> bytes:
    entity = [{"id": str(i), **each} for i, each in enumerate(entities)]
    header = {"gtfs_realtime_version": "2.0", **({"timestamp": posix(at)} if at else {})}
    return json.dumps({"header": header, "entity": entity}).encode()


def update(trip: str = "t", *stops: dict[str, Any], day: str = DAY, **others: Any) -> dict[str, Any]:
    inner = {key: others.pop(key) for key in ("delay", "timestamp", "trip_properties") if key in others}
    named = {"trip_id": trip, "start_date": day, **others}
    named = {key: value for key, value in named.items() if value}
    return {"trip_update": {"trip": named, "stop_time_update": list(stops), **inner}}


def apply(timetable: Timetable, *entities: dict[str, Any], **others: Any) -> tuple[Timetable, Updates]:
    found, report, _ = with_updates(timetable, read_updates(message(*entities, **others), None))
    return found, report


def calls(timetable: Timetable, trip: str = "t", day: str = DAY) -> list[str]:
    """Return the calls of the runs of a trip that begin on a day, in words."""
    begin = posix(f"{day[:4]}-{day[4:6]}-{day[6:]}")
    table = trip_table(timetable, begin, begin + 30 * 3600)
    ordinal = begin // 86_400 + 719_163
    found = []
    for (name, date, run), n in runs_of(timetable, table).items():
        if name.split("@")[0] == trip and date == ordinal:
            words = []
            for stop, arrival, departure, board, alight in run:
                times = [f"{(t - begin) // 3600}:{(t - begin) // 60 % 60:02d}" for t in (arrival, departure)]
                words.append(f"{stop} {'-'.join(dict.fromkeys(times))}{'' if board and alight else '!'}")
            found += [", ".join(words)] * n
    return sorted(found)


def reason(timetable: Timetable, entity: dict[str, Any], **others: Any) -> str:
    found, report = apply(timetable, entity, **others)
    assert found is timetable
    assert not report.trips["applied"].any()
    return str(report.trips["reason"][0])


PLANNED = "a 8:00, b 8:10-8:11, c 8:20"


class TestTimes:
    @pytest.mark.parametrize(
        ("entity", "expected"),
        [
            (update(delay=300), "a 8:05, b 8:15-8:16, c 8:25"),
            (update("t", {"stop_sequence": 2, "arrival": {"delay": 300}}), "a 8:00, b 8:15-8:16, c 8:25"),
            (update("t", {"stop_id": "b", "departure": {"delay": 300}}), "a 8:00, b 8:10-8:16, c 8:25"),
            (update("t", {"stop_id": "b", "arrival": {"time": posix("2026-03-02T08:30")}}),
             "a 8:00, b 8:30-8:31, c 8:40"),
            # Time takes precedence over delay, and a time of 0 is none.
            (update("t", {"stop_id": "b", "arrival": {"time": posix("2026-03-02T08:12"), "delay": 999}}),
             "a 8:00, b 8:12-8:13, c 8:22"),
            (update("t", {"stop_id": "b", "arrival": {"time": 0, "delay": 60}}), "a 8:00, b 8:11-8:12, c 8:21"),
            (update("t", {"stop_id": "b", "schedule_relationship": "SKIPPED"}), "a 8:00, c 8:20"),
            (update("t", {"stop_id": "a", "departure": {"delay": 60}},
                    {"stop_id": "b", "schedule_relationship": "SKIPPED"}),
             "a 8:01, c 8:21"),
            (update("t", {"stop_id": "a", "departure": {"delay": 60}},
                    {"stop_id": "b", "schedule_relationship": "NO_DATA"}),
             "a 8:00-8:01, b 8:10-8:11, c 8:20"),
            # The vehicle is early: it has left the stop before, too.
            (update("t", {"stop_id": "c", "arrival": {"delay": -900}}), "a 8:00, b 8:05, c 8:05"),
            (update("t", {"stop_sequence": 3, "stop_time_properties": {"assigned_stop_id": "a"},
                          "arrival": {"delay": 0}}),
             "a 8:00, b 8:10-8:11, a 8:20"),
            (update("t", {"stop_sequence": 2, "arrival": {"delay": 0},
                          "stop_time_properties": {"pickup_type": "NONE"}}),
             "a 8:00, b 8:10-8:11!, c 8:20"),
        ],
    )  # fmt: skip
    def test_as_the_reference_says(self, timetable: Timetable, entity: dict[str, Any], expected: str) -> None:
        found, report = apply(timetable, entity)
        # The first arrival, before any event that is given, is that of the timetable.
        assert calls(found)[0].replace("a 8:00-8:01", "a 8:01") == expected.replace("a 8:00-8:01", "a 8:01")
        assert report.trips["applied"].all()
        for other in ("20260301", "20260303"):
            assert calls(found, day=other) == [PLANNED]

    def test_times_that_decrease_are_raised_and_counted(self, timetable: Timetable) -> None:
        late, early = {"stop_id": "a", "departure": {"delay": 900}}, {"stop_id": "b", "arrival": {"delay": -60}}
        found, report = apply(timetable, update("t", late, early))
        assert calls(found) == ["a 8:00-8:15, b 8:15, c 8:19"]
        assert report.counts["trips"]["with times that decreased, which were raised"] == 1

    @pytest.mark.parametrize("time", [1, 10**9, 2 * 10**12, 2**62, -5])
    def test_times_decades_off(self, timetable: Timetable, time: int) -> None:
        found, report = apply(timetable, update("t", {"stop_id": "b", "arrival": {"time": time}}, delay=60))
        assert calls(found) == ["a 8:01, b 8:10-8:11, c 8:20"]
        assert report.counts["stops"]["more than a day from the timetable"] == 1

    def test_nothing_but_times_decades_off(self, timetable: Timetable) -> None:
        milliseconds = {"stop_id": "b", "arrival": {"time": posix("2026-03-02T08:30") * 1000}}
        for entity in (update("t", milliseconds), update(delay=10**6)):
            assert reason(timetable, entity) == "its times are more than a day from the timetable"

    def test_unknown_stops_are_counted(self, timetable: Timetable) -> None:
        stops = {"stop_id": "x", "arrival": {"delay": 9}}, {"stop_sequence": 9}
        _, report = apply(timetable, update("t", *stops, delay=0))
        assert report.counts["stops"] == {"not a stop of the trip": 2}
        assert report.counts["trips"] == {"as in the timetable": 1}
        assert reason(timetable, update("t", *stops)) == "none of its stops can be used"
        found, report = apply(timetable, update("exact", *stops, start_time="12:20:00"))
        assert found is timetable
        assert report.trips["reason"].tolist() == ["none of its stops can be used"]

    def test_delays_at_removed_stops_hold_for_the_next(self, timetable: Timetable) -> None:
        removed = timetables.apply(timetable, tl.RemoveStops("b"), "UTC")[0]
        late, c = {"stop_sequence": 2, "departure": {"delay": 600}}, {"stop_sequence": 3}
        for stops, expected in (
            ([late], "a 8:00, c 8:30"),
            ([{**late, "stop_id": "b"}], "a 8:00, c 8:30"),
            ([late, {**c, "arrival": {"delay": 60}}], "a 8:00, c 8:21"),
            ([late, {**c, "schedule_relationship": "NO_DATA"}], "a 8:00, c 8:20"),
            ([{"stop_sequence": 1, "departure": {"delay": 60}}, {"stop_sequence": 2, "schedule_relationship": 2}],
             "a 8:01, c 8:20"),
        ):  # fmt: skip
            found, report = apply(removed, update("t", *stops))
            assert calls(found)[0].replace("a 8:00-", "a ") == expected
            assert report.trips["applied"].all()
        for stop in ({"stop_id": "b", "departure": {"delay": 600}},
                     {"stop_sequence": 2, "departure": {"time": posix("2026-03-02T08:30")}}):  # fmt: skip
            assert reason(removed, update("t", stop)) == "none of its stops can be used"

    def test_same_as_planned_is_the_same_timetable(self, timetable: Timetable) -> None:
        found, report = apply(timetable, update("t", {"stop_sequence": 1, "departure": {"delay": 0}}))
        assert found is timetable
        assert report.trips["applied"].all()


class TestDays:
    @pytest.mark.parametrize(
        ("at", "trip", "day"),
        [("2026-03-02T07:00", "t", DAY), ("2026-03-02T23:00", "night", DAY), ("2026-03-03T00:35", "night", DAY),
         ("2026-03-02T14:00", "night", DAY), ("2026-03-01T21:00", "t", DAY)],
    )  # fmt: skip
    def test_without_a_date_it_is_the_nearest_run(self, timetable: Timetable, at: str, trip: str, day: str) -> None:
        found, _ = apply(timetable, update(trip, day="", delay=60), at=at)
        assert calls(found, trip, day) != calls(timetable, trip, day)

    def test_times_of_stops_say_the_day(self, timetable: Timetable) -> None:
        stop = {"stop_id": "b", "arrival": {"time": posix("2026-03-05T00:45")}}
        found, report = apply(timetable, update("night", stop, day=""), at="2026-03-02T07:00")
        assert calls(found, "night", "20260304") == ["a 24:30, b 24:45"]
        assert str(report.trips["start_date"][0].date()) == "2026-03-04"

    def test_the_last_update_counts(self, timetable: Timetable) -> None:
        found, report = apply(timetable, update(delay=60, timestamp=9), update(delay=120, timestamp=5))
        assert calls(found) == ["a 8:01, b 8:11-8:12, c 8:21"]
        assert report.trips["applied"].tolist() == [True, False]
        assert report.counts["not_applied"] == {"replaced by a later update of the same trip": 1}

    def test_the_time_of_the_message_stands_for_that_of_the_update(self, timetable: Timetable) -> None:
        old = message(update(delay=60, timestamp=posix("2026-03-02T07:00")), at="2026-03-02T07:00")
        new = message(update(delay=120), at="2026-03-02T07:30")
        for given in ([old, new], [new, old]):
            found, report, _ = with_updates(timetable, read_updates(given, None))
            assert calls(found) == ["a 8:02, b 8:12-8:13, c 8:22"]
            assert report.counts["applied"] == 1

    def test_without_times_it_is_the_last_one_given(self, timetable: Timetable) -> None:
        for times in ((5, None), (None, 5), (None, None)):
            given: list[dict[str, Any]] = [{} if at is None else {"timestamp": at} for at in times]
            entities = [update(delay=60 * (i + 1), **each) for i, each in enumerate(given)]
            assert calls(apply(timetable, *entities, at="")[0]) == ["a 8:02, b 8:12-8:13, c 8:22"]

    def test_one_that_cannot_be_applied_leaves_the_one_before(self, timetable: Timetable) -> None:
        stop = {"stop_id": "x", "arrival": {"time": posix("2026-03-02T09:00")}}
        found, report = apply(timetable, update(delay=60), update("t", stop, schedule_relationship="REPLACEMENT"))
        assert calls(found) == ["a 8:01, b 8:11-8:12, c 8:21"]
        assert report.trips["reason"].tolist() == ["", "a stop of the new trip is unknown"]


class TestNotApplied:
    @pytest.mark.parametrize(
        ("entity", "expected"),
        [
            (update("x", delay=5), "unknown trip_id"),
            (update("x", route_id="R", start_time="09:00:00"), "unknown trip_id, and no trip of the route starts"),
            (update("", route_id="R", start_time="9 o'clock"), "start_time is no time"),
            (update("", route_id="Q", start_time="09:00:00"), "unknown route_id"),
            (update("", route_id="R"), "names neither a trip nor a start_time"),
            (update(""), "names neither a trip nor a route"),
            (update(day="2026-03-02", delay=5), "start_date is no date"),
            (update(day="20260230", delay=5), "start_date is no date"),
            (update(day="19260302", delay=5), "start_date is outside the dates"),
            (update(schedule_relationship="MAYBE", delay=5), "unknown schedule_relationship"),
            (update(modified_trip={"modifications_id": "x"}), "trip modifications are not supported"),
            (update("exact", delay=60), "start_time is missing"),
            (update("exact", start_time="12:10:00"), "no repetition of the trip starts then"),
            (update("exact", start_time="12:00:00", schedule_relationship="REPLACEMENT"), "REPLACEMENT of a trip with"),
            (update("n", schedule_relationship="NEW"), "new trip of an unknown route"),
            (update("n", schedule_relationship="NEW", route_id="R"), "new trip with fewer than two stops"),
            (update("n", {"stop_id": "a"}, {"stop_id": "b"}, schedule_relationship="NEW", route_id="R"),
             "a stop of the new trip has no time"),
            (update("n", {"stop_id": "x", "arrival": {"time": 5}}, schedule_relationship="NEW", route_id="R"),
             "a stop of the new trip is unknown"),
            (update("n", *({"stop_id": s, "arrival": {"time": 10**9}} for s in "ab"), schedule_relationship="NEW",
                    route_id="R", day=""), "new trip outside the dates of the timetable"),
            (update(schedule_relationship="DUPLICATED", trip_properties={"start_date": "20990101"}),
             "start_date of the duplicated trip is no date of the timetable"),
        ],
    )  # fmt: skip
    def test_reasons(self, timetable: Timetable, entity: dict[str, Any], expected: str) -> None:
        assert reason(timetable, entity).startswith(expected)

    def test_days_on_which_the_trip_does_not_run(self, tmp_path: Path) -> None:
        calendar = EVERY_DAY.replace("daily,1,", "daily,0,")  # no Mondays
        other = read_timetable(feed(tmp_path, calendar=calendar, **TRIPS))
        assert reason(other, update(delay=5)) == "the trip does not run on its start_date"
        assert reason(other, update(day="", delay=5)) == "the trip does not run at that time"

    def test_no_day_at_all(self, timetable: Timetable) -> None:
        assert reason(timetable, update(day="", delay=5), at="") == "neither a start_date nor a time says the day"


class TestByRoute:
    def test_start_and_direction(self, timetable: Timetable) -> None:
        for direction, trip in ((0, "t"), (1, "back")):
            entity = update("", route_id="R", start_time="08:00:00", delay=60)
            entity["trip_update"]["trip"]["direction_id"] = direction
            found, report = apply(timetable, entity)
            assert report.trips["trip_id"][0] == trip
            assert calls(found, trip) != calls(timetable, trip)

    def test_stops_decide_where_directions_are_missing(self, timetable: Timetable) -> None:
        entity = update("", {"stop_id": "b", "arrival": {"delay": 5}}, route_id="R", start_time="08:00:00")
        assert apply(timetable, entity)[1].trips["trip_id"][0] == "t"
        assert reason(timetable, update("", route_id="R", start_time="08:00:00")) == "several trips start at that time"

    def test_ids_of_the_subway_of_new_york(self, tmp_path: Path) -> None:
        subway = read_timetable(
            feed(
                tmp_path,
                stop_times="""
                    trip_id,stop_sequence,stop_id,arrival_time,departure_time
                    t,1,aS,8:00:30,8:00:30
                    t,2,bS,8:10:00,8:10:00
                """,
                stops="""
                    stop_id,stop_name,stop_lat,stop_lon
                    aS,Ash,0.5,0.50
                    bS,Birch,0.5,0.51
                """,
            )
        )
        stop = {"stop_id": "bS", "arrival": {"time": posix("2026-03-02T08:12")}}
        _, report = apply(subway, update("048050_R..S07R", stop, route_id="R"))
        assert report.trips[["trip_id", "applied"]].to_numpy().tolist() == [["t", True]]
        assert "no trip of the route" in reason(subway, update("048050_R..N07R", stop, route_id="R"))


class TestRepeated:
    EXACT = ("a 12:00, c 12:15", "a 12:20, c 12:35", "a 12:40, c 12:55")

    def test_one_with_exact_times(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, update("exact", start_time="12:20:00", delay=300))
        assert calls(found, "exact") == [self.EXACT[0], "a 12:25, c 12:40", self.EXACT[2]]
        assert calls(found, "exact", "20260303") == [*self.EXACT]
        found, _ = apply(timetable, update("exact", start_time="12:20:00", schedule_relationship="CANCELED"))
        assert calls(found, "exact") == [self.EXACT[0], self.EXACT[2]]

    def test_all(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, update("exact", schedule_relationship="CANCELED"))
        assert calls(found, "exact") == []
        assert calls(found, "exact", "20260303") == [*self.EXACT]

    def test_one_without_takes_the_place_of_the_nearest(self, timetable: Timetable) -> None:
        def loose(*starts: str) -> list[str]:
            entities = [update("loose", start_time=each, schedule_relationship="UNSCHEDULED") for each in starts]
            return [each.split(",")[0] for each in calls(apply(timetable, *entities)[0], "loose")]

        assert loose("14:25:00") == ["a 14:00", "a 14:25", "a 14:40"]
        assert loose("14:22:00", "14:25:00") == ["a 14:00", "a 14:22", "a 14:25", "a 14:40"]
        assert loose("16:00:00") == ["a 14:00", "a 14:20", "a 14:40", "a 16:00"]


class TestNewTrips:
    def new(self, relation: str, trip: str = "n", **others: Any) -> dict[str, Any]:
        stops = [
            {"stop_id": stop, "departure": {"time": posix(f"2026-03-02T09:{i}0")}} for i, stop in enumerate("cba", 1)
        ]
        return update(trip, *stops, schedule_relationship=relation, **others)

    @pytest.mark.parametrize("relation", ["ADDED", "NEW"])
    @pytest.mark.parametrize("day", [DAY, ""])
    def test_added(self, timetable: Timetable, relation: str, day: str) -> None:
        found, report = apply(timetable, self.new(relation, route_id="R", day=day))
        assert calls(found, "n") == ["c 9:10, b 9:20, a 9:30"]
        assert calls(found) == [PLANNED]
        assert report.counts["trips"] == {"added": 1}

    def test_the_route_follows_from_the_stops(self, timetable: Timetable) -> None:
        stops = [{"stop_id": s, "arrival": {"time": posix(f"2026-03-02T09:0{i}")}} for i, s in enumerate("abc")]
        found, _ = apply(timetable, update("n", *stops, schedule_relationship="ADDED", day=""))
        assert calls(found, "n") == ["a 9:00, b 9:01, c 9:02"]

    @pytest.mark.parametrize("relation", ["ADDED", "NEW"])
    def test_the_last_update_counts(self, timetable: Timetable, relation: str) -> None:
        first, gone = self.new(relation, route_id="R"), update("n", schedule_relationship="CANCELED")
        later = self.new(relation, route_id="R")
        for stop in later["trip_update"]["stop_time_update"]:
            stop["departure"]["time"] += 60
        added = ["c 9:11, b 9:21, a 9:31"]
        for given, expected in (((first, later), added), ((first, gone), []), ((gone, later), added),
                                ((first, gone, later), added), ((first, later, gone), [])):  # fmt: skip
            found, report = apply(timetable, *given)
            assert calls(found, "n") == expected
            assert report.trips["applied"].tolist() == [False] * (len(given) - 1) + [True]
            assert calls(found) == [PLANNED]
        found, report = apply(timetable, first, update("n", schedule_relationship="CANCELED", day="20260303"))
        assert calls(found, "n") == ["c 9:10, b 9:20, a 9:30"]
        assert report.trips["reason"].tolist() == ["", "unknown trip_id"]

    def test_ids_that_do_not_run_on_that_day(self, tmp_path: Path) -> None:
        calendar = EVERY_DAY.replace("daily,1,", "daily,0,")  # no Mondays
        other = read_timetable(feed(tmp_path, calendar=calendar, **TRIPS))
        for relation in ("ADDED", "NEW"):
            for day in (DAY, ""):
                found, report = apply(other, self.new(relation, "t", day=day))
                assert calls(found) == ["c 9:10, b 9:20, a 9:30"]
                assert str(report.trips["start_date"][0].date()) == "2026-03-02"
        properties = {"trip_id": "d", "start_date": DAY, "start_time": "10:00:00"}
        for day, at in ((DAY, "2026-03-02T07:00"), ("", "2026-03-02T07:00"), ("", "")):
            entity = update(schedule_relationship="DUPLICATED", trip_properties=properties, day=day)
            assert calls(apply(other, entity, at=at)[0], "d") == ["a 10:00, b 10:10-10:11, c 10:20"]

    def test_duplicated_then_canceled(self, timetable: Timetable) -> None:
        properties = {"trip_id": "d", "start_date": DAY, "start_time": "10:00:00"}
        twice = update(schedule_relationship="DUPLICATED", trip_properties=properties)
        found, report = apply(timetable, twice, update("d", schedule_relationship="CANCELED"))
        assert calls(found, "d") == []
        assert calls(found) == [PLANNED]
        assert report.counts["trips"] == {"canceled": 1}

    def test_replaced(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, self.new("REPLACEMENT", "t"))
        assert calls(found) == ["c 9:10, b 9:20, a 9:30"]
        assert calls(found, day="20260303") == [PLANNED]

    def test_duplicated(self, timetable: Timetable) -> None:
        properties = {"trip_id": "d", "start_date": "20260303", "start_time": "10:00:00"}
        found, _ = apply(timetable, update(schedule_relationship="DUPLICATED", trip_properties=properties, delay=60))
        assert calls(found, "d", "20260303") == ["a 10:01, b 10:11-10:12, c 10:21"]
        assert calls(found) == calls(found, day="20260303") == [PLANNED]

    @pytest.mark.parametrize("relation", ["CANCELED", "DELETED"])
    def test_gone(self, timetable: Timetable, relation: str) -> None:
        found, report = apply(timetable, update(schedule_relationship=relation))
        assert calls(found) == []
        assert calls(found, day="20260303") == [PLANNED]
        assert report.counts["trips"] == {"canceled": 1}


class TestAlerts:
    def alert(self, *selectors: dict[str, Any], period: tuple[str, str] | None = None, **others: Any) -> dict[str, Any]:
        periods = [] if period is None else [{"start": posix(period[0]), "end": posix(period[1])}]
        return {
            "alert": {"effect": "NO_SERVICE", "informed_entity": list(selectors), "active_period": periods, **others}
        }

    MORNING = ("2026-03-02T07:00", "2026-03-02T12:00")

    @pytest.mark.parametrize(
        ("selector", "left"),
        [({"stop_id": "b"}, ["a 8:00, c 8:20"]), ({"route_id": "R"}, []), ({"agency_id": "A"}, []),
         ({"route_type": 3}, []), ({"route_type": 1}, [PLANNED]), ({"route_id": "R", "direction_id": 1}, [PLANNED]),
         ({"trip": {"trip_id": "t"}}, []), ({"trip": {"trip_id": "back"}}, [PLANNED]), ({"stop_id": "x"}, [PLANNED]),
         ({"route_id": "R", "stop_id": "b"}, ["a 8:00, c 8:20"]), ({}, [PLANNED])],
    )  # fmt: skip
    def test_what_is_closed(self, timetable: Timetable, selector: dict[str, Any], left: list[str]) -> None:
        found, report = apply(timetable, self.alert(selector, period=self.MORNING))
        assert calls(found) == left
        assert calls(found, day="20260303") == [PLANNED]
        assert report.alerts["result"][0].startswith("closes ")

    def test_periods_are_those_of_calls(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, self.alert({"route_id": "R"}, period=("2026-03-02T08:15", "2026-03-02T09:00")))
        assert calls(found) == ["a 8:00, b 8:10-8:11"]
        assert calls(found, "exact") == [*TestRepeated.EXACT]

    def test_until_further_notice(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, self.alert({"stop_id": "b"}))
        assert calls(found, day="20260301") == [PLANNED]
        for day in (DAY, "20260310", "20260430"):
            assert calls(found, day=day) == ["a 8:00, c 8:20"]
        assert calls(found, day="20260601") == [PLANNED]  # 60 days are looked at

    @pytest.mark.parametrize("bound", [1_772_445_600_000, -5, 253_402_300_800])
    def test_impossible_bounds_close_nothing(self, timetable: Timetable, bound: int) -> None:
        for name in ("start", "end"):
            void = {name: bound}
            found, report = apply(timetable, self.alert({"route_id": "R"}, active_period=[void]))
            assert found is timetable
            assert (
                report.alerts["result"][0]
                == "closes nothing, as an active_period is empty, or no time in POSIX seconds"
            )
            good = {"start": posix(self.MORNING[0]), "end": posix(self.MORNING[1])}
            found, report = apply(timetable, self.alert({"stop_id": "b"}, active_period=[void, good]))
            assert calls(found) == ["a 8:00, c 8:20"]
            assert calls(found, day="20260303") == [PLANNED]
            assert report.alerts["result"][0].endswith("; an active_period is empty, or no time in POSIX seconds")

    @pytest.mark.parametrize("end", [0, 2**64 - 1, 2**63 - 1])
    def test_no_end(self, timetable: Timetable, end: int) -> None:
        period = {"start": posix(self.MORNING[0]), "end": end}
        found, _ = apply(timetable, self.alert({"stop_id": "b"}, active_period=[period]))
        for day in (DAY, "20260310"):
            assert calls(found, day=day) == ["a 8:00, c 8:20"]

    def test_no_time_at_all(self, timetable: Timetable) -> None:
        several: list[list[dict[str, int]]] = [[], [{}]]
        for periods in several:
            found, report = apply(timetable, self.alert({"route_id": "R"}, active_period=periods), at="")
            assert found is timetable
            assert report.alerts["result"][0].startswith("closes nothing, as neither an active_period nor a time")

    def test_together_with_updates(self, timetable: Timetable) -> None:
        found, _ = apply(timetable, update(delay=60), self.alert({"stop_id": "b"}, period=self.MORNING))
        assert calls(found) == ["a 8:01, c 8:21"]

    def test_selectors_are_bounded(self, timetable: Timetable, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that name one stop each are one together, and repeated ones count once."""
        monkeypatch.setattr(alerts, "MOST_SELECTORS", 1)
        many = [{"stop_id": stop} for stop in "abcx" * 1000]
        found, report = apply(timetable, self.alert(*many, period=self.MORNING))
        assert calls(found) == []
        assert "more selectors" not in report.alerts["result"][0]
        both = [{"route_id": "R", "stop_id": stop} for stop in ("b", "c")]
        found, report = apply(timetable, self.alert(*both, period=self.MORNING))
        assert calls(found) == ["a 8:00, c 8:20"]
        assert report.alerts["result"][0].endswith("; 1 more selectors are not applied")

    def test_ids_beyond_the_bound_are_counted(self, timetable: Timetable, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(alerts, "_MOST_IDS", 2)
        found, report = apply(timetable, self.alert(*({"stop_id": stop} for stop in "xbbxcay"), period=self.MORNING))
        assert calls(found) == ["a 8:00, c 8:20"]
        assert report.alerts["result"][0].endswith("; 3 more selectors are not applied")

    def test_others_are_notes(self, timetable: Timetable) -> None:
        words = {"translation": [{"text": "Slow"}]}
        found, report = apply(timetable, self.alert({"route_id": "R"}, effect="DETOUR", header_text=words))
        assert found is timetable
        row = report.alerts.iloc[0]
        assert (row["effect"], row["header"], row["routes"], row["result"]) == ("DETOUR", "Slow", ("R",), "note")


#: A trip that is repeated every ten minutes from noon to one, and calls at three stops.
SHUTTLE = {
    "trips": """
        route_id,service_id,trip_id,direction_id
        R,daily,s,0
    """,
    "stop_times": """
        trip_id,stop_sequence,stop_id,arrival_time,departure_time
        s,1,a,6:00:00,6:00:00
        s,2,b,6:05:00,6:06:00
        s,3,c,6:12:00,6:12:00
    """,
}


@pytest.fixture(scope="module", params=["0", "1"])
def shuttle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    frequencies = f"""
        trip_id,start_time,end_time,headway_secs,exact_times
        s,12:00:00,12:30:00,600,{request.param}
        s,12:30:00,13:00:00,600,{request.param}
    """
    return read_timetable(feed(tmp_path_factory.mktemp("shuttle"), **SHUTTLE, frequencies=frequencies))


class TestAlertsOnRepetitions:
    """Each repetition is closed as a trip of its own would be."""

    OFFSETS = (("a", 0, 0), ("b", 5, 6), ("c", 12, 12))

    def planned(self, minute: int, closed: str = "") -> str:
        words = []
        for stop, *times in self.OFFSETS:
            if stop not in closed:
                shown = dict.fromkeys(f"{12 + (minute + each) // 60}:{(minute + each) % 60:02d}" for each in times)
                words.append(f"{stop} {'-'.join(shown)}")
        return ", ".join(words) if len(words) > 1 else ""

    def closed(self, minute: int, begin: int, end: int, stops: str) -> str:
        return "".join(stop for stop, _, at in self.OFFSETS if stop in stops and begin <= minute + at < end)

    def alert(self, begin: int, end: int, **selector: Any) -> dict[str, Any]:
        noon = posix("2026-03-02T12:00")
        period = {"start": noon + 60 * begin, "end": noon + 60 * end}
        return {"alert": {"effect": "NO_SERVICE", "informed_entity": [selector], "active_period": [period]}}

    @pytest.mark.parametrize("stops", ["", "a", "b", "c"])
    def test_equal_those_of_single_trips(self, shuttle: Timetable, stops: str) -> None:
        for begin, end in ((0, 30), (-60, 11), (16, 32), (25, 26), (59, 300), (-60, 300), (90, 99), (7, 65)):
            selector = {"stop_id": stops} if stops else {"route_id": "R"}
            found, report = apply(shuttle, self.alert(begin, end, **selector))
            closed = {minute: self.closed(minute, begin, end, stops or "abc") for minute in range(0, 60, 10)}
            expected = [self.planned(minute, gone) for minute, gone in closed.items()]
            assert calls(found, "s") == sorted(each for each in expected if each)
            assert calls(found, "s", "20260303") == [self.planned(minute) for minute in range(0, 60, 10)]
            n = sum(map(len, closed.values()))
            assert (report.alerts["result"][0] == "closes no call of the timetable") == (n == 0)

    def test_one_of_them(self, shuttle: Timetable) -> None:
        for trip in ({"trip_id": "s"}, {"route_id": "R"}):
            found, report = apply(shuttle, self.alert(-60, 90, trip={**trip, "start_time": "12:20:00"}))
            assert calls(found, "s") == [self.planned(minute) for minute in (0, 10, 30, 40, 50)]
            assert report.counts["trips"] == {"with repetitions closed by alerts": 1}
            found, report = apply(shuttle, self.alert(-60, 90, trip={**trip, "start_time": "20:20:00"}))
            assert found is shuttle
            found, report = apply(shuttle, self.alert(-60, 90, trip={**trip, "start_time": "noon"}))
            assert found is shuttle

    def test_together_with_updates(self, shuttle: Timetable) -> None:
        late = update("s", start_time="12:10:00", delay=60)
        found, _ = apply(shuttle, late, self.alert(10, 20, stop_id="b"))
        rest = [self.planned(minute) for minute in (0, 20, 30, 40, 50)]
        assert calls(found, "s") == sorted([*rest, "a 12:11, c 12:23"])


def test_start_times_of_other_trips(timetable: Timetable) -> None:
    for start, left in (("08:00:00", []), ("09:00:00", [PLANNED])):
        selector = {"trip": {"trip_id": "t", "start_time": start}}
        found, _ = apply(timetable, {"alert": {"effect": "NO_SERVICE", "informed_entity": [selector]}})
        assert calls(found) == left


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    folder = tmp_path_factory.mktemp("two")
    return read_timetable([feed(folder, "one.zip"), feed(folder, "two.zip")])


class TestFeeds:
    def test_equal_ids_need_the_name_of_a_feed(self, two: Timetable) -> None:
        assert "several feeds" in reason(two, update(delay=60))
        content = message(update(delay=60))
        for given, name in ((content, "two"), ({"two": content}, None)):
            found, report, _ = with_updates(two, read_updates(given, name))
            assert report.trips["applied"].all()
            assert calls(found) == [PLANNED, "a 8:01, b 8:11-8:12, c 8:21"]
            assert (found.hot.trip_feed[found.hot.trip_service != two.hot.trip_service[0]] <= 1).all()

    def test_alerts_on_equal_ids_need_it_too(self, two: Timetable) -> None:
        base = {"effect": "NO_SERVICE"}
        for selector in ({"stop_id": "b"}, {"route_id": "R"}, {"trip": {"trip_id": "t"}}, {"agency_id": "A"},
                         {"route_id": "R", "stop_id": "b"}, {"route_type": 3}):  # fmt: skip
            content = message({"alert": {**base, "informed_entity": [selector, {"stop_id": "x"}]}})
            found, report, _ = with_updates(two, read_updates(content, None))
            assert found is two
            assert report.alerts["result"][0] == (
                "closes no call of the timetable; 1 selectors are of several feeds; say which with feed="
            )
            found, report, _ = with_updates(two, read_updates(content, "two"))
            left = {"a 8:00, c 8:20"} if "stop_id" in selector else set()
            assert calls(found) == sorted({PLANNED} | left)

    def test_unknown_feeds(self, two: Timetable) -> None:
        with pytest.raises(InputError, match=r"no feed of the network is called 'tow'.*'two'"):
            with_updates(two, read_updates(message(), "tow"))
        with pytest.raises(InputError, match="at least one message"):
            read_updates([], None)


@pytest.mark.thorough
def test_messages_with_a_feed_and_without(two: Timetable) -> None:
    """Each message is about its own feed, or any, whatever the others of the list are about."""
    names = two.feeds["name"].tolist()
    content = message(update(delay=60))
    for given in itertools.product([None, *names], repeat=3):
        read = read_messages([Source.of("it", feed, content) for feed in given])
        assert read.sources["feed"].tolist() == [*given]
        _, found, _ = with_updates(two, read)
        expected = "the trip is in several feeds; say which with feed="
        assert (found.trips["reason"] == expected).tolist() == [feed is None for feed in given]


def test_large_tables_are_shared(timetable: Timetable) -> None:
    found, _ = apply(timetable, update(delay=60))
    for name in ("stops", "routes", "agencies", "transfers", "feeds"):
        assert getattr(found, name) is getattr(timetable, name)
    for name in ("pattern_stop", "pattern_indptr", "course_along", "shape_lng", "frequency_trip"):
        assert np.shares_memory(getattr(found, name), getattr(timetable, name)) or not getattr(found, name).size


@pytest.fixture(scope="module")
def tens(tmp_path_factory: pytest.TempPathFactory) -> Timetable:
    rows = [line.strip().split(",") for line in TRIPS["stop_times"].strip().splitlines()]
    tens = [[row[0], f"{row[1]}0" if row[1].isdigit() else row[1], *row[2:]] for row in rows]
    files = {**TRIPS, "stop_times": "\n".join(",".join(row) for row in tens)}
    return read_timetable(feed(tmp_path_factory.mktemp("tens"), **files))


class TestSequences:
    """Numbers of stops that are not 1, 2, 3 are kept by all that rewrites a timetable."""

    def expected(self, timetable: Timetable, trip: str = "t") -> list[int]:
        return StopSequences.of_trip(timetable, timetable.trips["trip_id"].tolist().index(trip))

    def test_ordinary_ones_take_no_memory(self, timetable: Timetable) -> None:
        assert timetable.sequences is None
        assert self.expected(timetable) == [1, 2, 3]

    def test_updates_name_them(self, tens: Timetable) -> None:
        assert self.expected(tens) == [10, 20, 30]
        found, _ = apply(tens, update("t", {"stop_sequence": 20, "arrival": {"delay": 60}}))
        assert calls(found) == ["a 8:00, b 8:11-8:12, c 8:21"]

    def test_files_keep_them(self, tens: Timetable) -> None:
        assert self.expected(timetable_file.from_tables(*timetable_file.to_tables(tens))) == [10, 20, 30]

    def test_feeds_together(self, tens: Timetable, timetable: Timetable) -> None:
        for parts in ([tens, timetable], [timetable, tens]):
            joined = timetable_file.join_timetables(parts)
            found = sorted(
                StopSequences.of_trip(joined, row)
                for row, name in enumerate(joined.trips["trip_id"].tolist())
                if name == "t"
            )
            assert found == [[1, 2, 3], [10, 20, 30]]

    def test_changes_keep_them(self, tens: Timetable) -> None:
        changed = timetables.apply(tens, tl.RemoveStops("b"), "UTC")[0]
        assert self.expected(changed) == [10, 30]
        changed = timetables.apply(tens, tl.ShiftTrips("R", 600), "UTC")[0]
        assert self.expected(changed) == [10, 20, 30]
        line = tl.AddLine("N", stops=["a", "b"], headway=600, start="06:00", end="07:00", speed=20)
        changed = timetables.apply(tens, line, "UTC")[0]
        assert self.expected(changed, "N:0:0") == [1, 2]
        assert self.expected(changed) == [10, 20, 30]


class TestGrowing:
    """Longer copies of an array are private, and equal to plain ones."""

    def test_copies_are_private(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(growing, "LEAST_BYTES", 1)
        memory = growing.Growing()
        array = np.arange(10_000, dtype=np.int32)
        copies = [memory.longer("a", array, np.full(n, n, np.int32)) for n in (3, 0, 5_000, 1)]
        copies[0][:2] = 7
        for n, found in zip((0, 5_000, 1), copies[1:], strict=True):
            assert found.flags.c_contiguous
            assert found.tolist() == [*range(10_000), *[n] * n]
        assert copies[0][-3:].tolist() == [3, 3, 3]

    def test_without_files_in_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(growing, "LEAST_BYTES", 1)
        monkeypatch.delattr(os, "memfd_create", raising=False)
        assert growing.Growing().longer("a", np.arange(3), np.arange(2)).tolist() == [0, 1, 2, 0, 1]

        def full() -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(growing, "_temporary_file", full)
        assert growing.Growing().longer("a", np.arange(3), np.arange(2)).tolist() == [0, 1, 2, 0, 1]


@pytest.mark.thorough
def test_many_entities(timetable: Timetable) -> None:
    """Within the bound of a mutation: see tests/support/batches.py."""
    import time

    from traveltime_lab.realtime.json_messages import to_bytes

    one = to_bytes(message(update("x", {"stop_id": "b", "arrival": {"delay": 5}}, day="", delay=5)), "x")
    head = to_bytes(message(), "x")
    entity = one[len(head) :]
    begin = time.process_time()
    _, report, _ = with_updates(timetable, read_updates(head + entity * 250_000, None))
    assert report.counts["not_applied"] == {"unknown trip_id": 250_000}
    assert time.process_time() - begin < 30
