"""Service calendars: single dates, many dates at once, several feeds, and where service days begin."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.transit.calendar import Services, day_origin

MONDAY = dt.date(2026, 3, 2).toordinal()

DAY = st.integers(-5, 25)
#: Of each service: its weekdays, Monday first, the first and the last day, and exceptions by day.
SERVICE = st.tuples(
    st.lists(st.booleans(), min_size=7, max_size=7),
    st.integers(0, 20),
    st.integers(0, 20),
    st.dictionaries(st.integers(-3, 23), st.booleans(), max_size=4),
)


def services_of(rows: list[Any]) -> Services:
    exceptions = sorted((day, k, added) for k, row in enumerate(rows) for day, added in row[3].items())
    return Services(
        weekdays=np.array([sum(runs << day for day, runs in enumerate(row[0])) for row in rows], np.uint8),
        start=np.array([MONDAY + row[1] for row in rows], np.int32),
        end=np.array([MONDAY + row[2] for row in rows], np.int32),
        exception_date=np.array([MONDAY + day for day, _, _ in exceptions], np.int32),
        exception_service=np.array([k for _, k, _ in exceptions], np.int32),
        exception_added=np.array([added for _, _, added in exceptions], np.bool_),
    )


def runs(row: Any, day: int) -> bool:
    weekdays, first, last, exceptions = row
    return exceptions.get(day, weekdays[day % 7] and first <= day <= last)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(SERVICE, min_size=1, max_size=6), st.integers(0, 6), st.sets(st.integers(-5, 25), min_size=1), st.data()
)
def test_dates_one_by_one_and_together_equal_the_rules(
    rows: list[Any], cut: int, days: set[int], data: st.DataObject
) -> None:
    """Of one feed, or of two: a calendar of which the first date comes after the last is none, but for exceptions."""
    parts = [services_of(part) for part in (rows[:cut], rows[cut:]) if part]
    services = Services.joined(parts)
    assert len(services) == len(rows)
    expected = {day: [runs(row, day) for row in rows] for day in sorted(days)}
    for day, active in expected.items():
        assert services.on(MONDAY + day).tolist() == active
        assert services.on(dt.date.fromordinal(MONDAY + day)).tolist() == active
    n = data.draw(st.integers(0, 12))
    of = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=n, max_size=n))
    row = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    value = data.draw(st.lists(st.integers(-5, 1000), min_size=n, max_size=n))
    found = services.totals(
        np.array(of, np.intp), np.array(row, np.intp), np.array(value, np.int64), 3, np.array(sorted(days)) + MONDAY
    )
    for column, active in enumerate(expected.values()):
        for k in range(3):
            sums = [v for service, r, v in zip(of, row, value, strict=True) if r == k and active[service]]
            assert found[k, column] == sum(sums)
    spans = [[day for day in range(-10, 40) if runs(each, day)] for each in rows]
    first, last = services.spans()
    for k, span in enumerate(spans):
        assert (first[k] - MONDAY, last[k] - MONDAY) == (span[0], span[-1]) if span else first[k] > last[k]


@pytest.mark.parametrize(
    ("day", "zone", "expected"),
    [
        ("2026-03-03", "UTC", "2026-03-03T00:00:00+00:00"),
        ("2026-03-03", "Europe/Rome", "2026-03-03T00:00:00+01:00"),
        # Noon minus twelve hours: an hour before midnight in spring, an hour after it in autumn.
        ("2026-03-29", "Europe/Rome", "2026-03-28T23:00:00+01:00"),
        ("2026-10-25", "Europe/Rome", "2026-10-25T01:00:00+02:00"),
        ("9999-12-31", "UTC", "9999-12-31T00:00:00+00:00"),
        ("0001-01-01", "UTC", "0001-01-01T00:00:00+00:00"),
    ],
)
def test_where_a_service_day_begins(day: str, zone: str, expected: str) -> None:
    origin = day_origin(dt.date.fromisoformat(day).toordinal(), zone)
    assert origin == dt.datetime.fromisoformat(expected).timestamp()


def test_days_outside_of_the_calendar_follow_it() -> None:
    last, first = dt.date.max.toordinal(), dt.date.min.toordinal()
    for days in (1, 2, 400):
        assert day_origin(last + days, "UTC") == day_origin(last, "UTC") + 86_400 * days
        assert day_origin(first - days, "UTC") == day_origin(first, "UTC") - 86_400 * days
