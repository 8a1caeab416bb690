"""Time zones of places and countries, and names that mean the same zone."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traveltime_lab import timezones
from traveltime_lab.streets.costs import LEFT_HAND_ZONES, drives_on_left

pytestmark = pytest.mark.quick

NAMES = sorted(zoneinfo.available_timezones() - {"localtime"})


def test_zones_of_the_sea_are_none():
    lng, lat = np.array([14.51, 16.5, -157.86, 0.5]), np.array([35.9, 35.0, 21.31, 0.5])
    assert timezones.zones_at(lng, lat) == ["Europe/Malta", "", "Pacific/Honolulu", ""]


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ((14.51, 35.9), "Europe/Malta"),
        ((15.6, 35.6), "Europe/Malta"),  # 90 km south-east of Malta, and farther from Sicily
        ((-157.6, 20.3), "Pacific/Honolulu"),
        ((179.9, -15.0), "Pacific/Fiji"),
        ((-179.9, -15.0), "Pacific/Fiji"),
        ((0.0, 90.0), "America/Godthab"),
        ((0.0, -90.0), "Antarctica/McMurdo"),
    ],
)
def test_the_nearest_land(place, zone):
    found = timezones.nearest_zone(*place)
    assert timezones.canonical(found) == timezones.canonical(zone)


def test_an_alias_is_of_the_same_clock_country_and_side():
    """Every name of the tz database: zones of no country are those of UTC and its offsets, and four obsolete ones."""
    day = dt.date(2026, 1, 1)
    without = ("Etc/", "CST6CDT", "EST5EDT", "MST7MDT", "PST8PDT", "Factory")
    assert len(NAMES) > 500
    for name in NAMES:
        known = timezones.canonical(name)
        assert timezones.canonical(known) == known, name
        assert drives_on_left(name) == drives_on_left(known), name
        assert timezones.country_code(name) == timezones.country_code(known), name
        # Old names may be missing on a machine, as without Debian's tzdata-legacy. Their rules are those of the package
        # tzdata then, which may be newer.
        if len({any(Path(folder, each).is_file() for folder in zoneinfo.TZPATH) for each in (name, known)}) == 1:
            assert timezones.hours_apart(name, known, day, day + dt.timedelta(364)) == [0.0], name
        assert bool(timezones.country_code(name)) == (not known.startswith(without)), name


def test_left_hand_zones_have_canonical_names():
    assert {timezones.canonical(name) for name in LEFT_HAND_ZONES} == LEFT_HAND_ZONES


@pytest.mark.pythons
@given(
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.dates(dt.date(2020, 1, 1), dt.date(2030, 1, 1)),
    st.integers(0, 400),
)
def test_hours_apart_are_those_of_noons(one, other, first, n_days):
    last = first + dt.timedelta(n_days)
    found = timezones.hours_apart(one, other, first, last)
    assert found == sorted(set(found))
    for day in (first, last):
        noon = dt.datetime.combine(day, dt.time(12), dt.UTC)
        here, there = (noon.astimezone(zoneinfo.ZoneInfo(name)).replace(tzinfo=None) for name in (one, other))
        assert (here - there) / dt.timedelta(hours=1) in found
    assert timezones.hours_apart(other, one, first, last) == sorted(-gap for gap in found)


def test_feeds_may_run_for_ever():
    assert timezones.hours_apart("Pacific/Kiritimati", "UTC", dt.date.max, dt.date.max) == [14.0]
    assert timezones.hours_apart("Asia/Tokyo", "UTC", dt.date.min, dt.date.max) == [9.0]


def test_summer_time_on_one_side_only():
    days = dt.date(2026, 1, 1), dt.date(2026, 12, 31)
    assert timezones.hours_apart("Etc/GMT-1", "Europe/Malta", *days) == [-1.0, 0.0]
