"""Moments: spellings, time zones and clock changes; options of the machine."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from traveltime_lab.errors import InputError, LimitError, MomentError
from traveltime_lab.moments import WEEKDAY_MORNING, resolve_moment, resolve_moments
from traveltime_lab.settings import CACHE_VARIABLE, Settings, settings

pytestmark = [pytest.mark.quick, pytest.mark.pythons]

HELSINKI = "Europe/Helsinki"
EIGHT_LOCAL = dt.datetime(2026, 3, 2, 6, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-02T06:00:00Z",
        "2026-03-02T06:00:00.000Z",
        "2026-03-02t06:00:00z",
        " 2026-03-02T08:00:00+02:00 ",
        "2026-03-02T08:00:00",
        "2026-03-02T08:00",
        "2026-03-02 08:00",
        "2026-03-02T01:00:00-05:00",
        dt.datetime(2026, 3, 2, 8),
        dt.datetime(2026, 3, 2, 6, tzinfo=dt.UTC),
        dt.datetime(2026, 3, 2, 15, tzinfo=ZoneInfo("Asia/Tokyo")),
        pd.Timestamp("2026-03-02T08:00:00"),
        pd.Timestamp("2026-03-02T06:00:00Z"),
        pd.Timestamp("2026-03-02T08:00:00", tz=HELSINKI),
        np.datetime64("2026-03-02T08:00"),
        np.datetime64("2026-03-02T08:00:00.000000000"),
    ],
)
def test_spellings(value: object) -> None:
    moment = resolve_moment(value, HELSINKI, name="departure_time")
    assert moment == EIGHT_LOCAL
    assert isinstance(moment, dt.datetime)
    assert type(moment) is dt.datetime
    assert moment.tzinfo == ZoneInfo(HELSINKI)
    assert (moment.hour, moment.minute) == (8, 0)


@pytest.mark.parametrize("digits", ["1", "123", "123456", "123456789"])
def test_fractions_of_any_length(digits: str) -> None:
    moment = resolve_moment(f"2026-03-02T08:00:00.{digits}", HELSINKI, name="departure_time")
    assert isinstance(moment, dt.datetime)
    assert moment.replace(microsecond=0) == EIGHT_LOCAL


def test_none_and_weekday_morning() -> None:
    assert resolve_moment(None, HELSINKI, name="departure_time") is None
    assert resolve_moment("weekday_morning", HELSINKI, name="departure_time") is WEEKDAY_MORNING
    assert resolve_moment(WEEKDAY_MORNING, HELSINKI, name="departure_time") is WEEKDAY_MORNING
    assert pickle.loads(pickle.dumps(WEEKDAY_MORNING)) is WEEKDAY_MORNING


@pytest.mark.parametrize(
    "value", ["2026-03-02", "20260302", "2026-W10-1", dt.date(2026, 3, 2), np.datetime64("2026-03-02")]
)
def test_date_without_time(value: object) -> None:
    with pytest.raises(MomentError, match="no time of day"):
        resolve_moment(value, HELSINKI, name="departure_time")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "tomorrow",
        "08:00",
        "2026-13-02T08:00",
        "2026-02-30T08:00",
        "2026-03-02T25:00",
        1772431200,
        1.5,
        [],
        object(),
    ],
)
def test_unreadable(value: object) -> None:
    with pytest.raises(MomentError, match="arrival_time"):
        resolve_moment(value, HELSINKI, name="arrival_time")


@pytest.mark.parametrize("value", [pd.NaT, np.datetime64("NaT", "ns"), np.datetime64("NaT", "s")])
def test_missing(value: object) -> None:
    with pytest.raises(MomentError, match="NaT"):
        resolve_moment(value, HELSINKI, name="departure_time")


@pytest.mark.parametrize("unit", ["h", "m", "s", "10s", "ms", "us"])
@pytest.mark.parametrize("count", [2**62, -(2**62)])
def test_numbers_of_numpy_that_are_too_far(unit: str, count: int) -> None:
    with pytest.raises(MomentError, match="outside the years 1 to 9999"):
        resolve_moment(np.datetime64(count, unit), "UTC", name="departure_time")


@pytest.mark.parametrize("unit", ["h", "m", "s", "30s", "ms", "us", "ns"])
def test_units_of_numpy(unit: str) -> None:
    moment = np.datetime64("2026-03-02T08:00", "h").astype(f"datetime64[{unit}]")
    found = resolve_moment(moment, "UTC", name="departure_time")
    assert isinstance(found, dt.datetime) and found.isoformat() == "2026-03-02T08:00:00+00:00"


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:30:00Z", np.datetime64(10**9, "h")])
def test_end_of_the_calendar(value: object) -> None:
    with pytest.raises(MomentError):
        resolve_moment(value, HELSINKI, name="departure_time")


def test_time_that_does_not_exist() -> None:
    with pytest.raises(MomentError, match="does not exist in Europe/Helsinki") as caught:
        resolve_moment("2026-03-29T03:30:00", HELSINKI, name="departure_time")
    message = str(caught.value)
    assert "2026-03-29T03:30:00+02:00 (which is 2026-03-29T04:30:00+03:00)" in message
    assert "2026-03-29T03:30:00+03:00 (which is 2026-03-29T02:30:00+02:00)" in message
    assert resolve_moment("2026-03-29T03:30:00+02:00", HELSINKI, name="x") == dt.datetime(
        2026, 3, 29, 1, 30, tzinfo=dt.UTC
    )


def test_time_that_happens_twice() -> None:
    with pytest.raises(MomentError, match="is ambiguous in Europe/Helsinki") as caught:
        resolve_moment(dt.datetime(2026, 10, 25, 3, 30), HELSINKI, name="departure_time")
    assert "2026-10-25T03:30:00+03:00 (the first)" in str(caught.value)
    assert "2026-10-25T03:30:00+02:00 (the second)" in str(caught.value)
    second = resolve_moment(dt.datetime(2026, 10, 25, 3, 30, fold=1), HELSINKI, name="departure_time")
    assert isinstance(second, dt.datetime)
    assert second.isoformat() == "2026-10-25T03:30:00+02:00"
    first = resolve_moment("2026-10-25T03:30:00+03:00", HELSINKI, name="departure_time")
    assert isinstance(first, dt.datetime)
    assert first.isoformat() == "2026-10-25T03:30:00+03:00"


def test_zone_without_clock_changes() -> None:
    moment = resolve_moment("2026-03-29T03:30:00", "Asia/Tokyo", name="departure_time")
    assert isinstance(moment, dt.datetime)
    assert moment.utcoffset() == dt.timedelta(hours=9)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd"])
def test_unknown_zone(zone: str) -> None:
    with pytest.raises(MomentError, match="time zone"):
        resolve_moment("2026-03-29T03:30:00", zone, name="departure_time")


def test_one_of_two_moments() -> None:
    assert resolve_moments(None, None, HELSINKI) == (None, False)
    assert resolve_moments("2026-03-02T08:00:00", None, HELSINKI) == (EIGHT_LOCAL, False)
    assert resolve_moments(None, "2026-03-02T08:00:00", HELSINKI) == (EIGHT_LOCAL, True)
    assert resolve_moments(None, "weekday_morning", HELSINKI) == (WEEKDAY_MORNING, True)
    with pytest.raises(InputError, match="not both"):
        resolve_moments("2026-03-02T08:00:00", "2026-03-02T09:00:00", HELSINKI)


def test_options_are_validated_and_scoped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings.cache_folder, settings.threads
    with settings.override(cache_folder=str(tmp_path), threads=1) as inner:
        assert inner is settings
        assert (settings.cache_folder, settings.threads) == (tmp_path, 1)
        assert "threads=1" in repr(settings)
    assert (settings.cache_folder, settings.threads) == before
    for bad in (0, -1, 1.5, "2", True):
        with pytest.raises(LimitError), settings.override(cache_folder=tmp_path, threads=bad):
            pass
    assert (settings.cache_folder, settings.threads) == before
    with pytest.raises(AttributeError, match="thread"), settings.override(thread=1):
        pass
    with pytest.raises(AttributeError):
        settings.cores = 2
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    assert Settings().cache_folder == tmp_path / "elsewhere"
