"""Lists of moments: which are taken, and that errors say which member is wrong."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from traveltime_lab.errors import InputError, LimitError, MomentError
from traveltime_lab.moment_lists import are_several, check_kind, resolve_several
from traveltime_lab.moments import resolve_moment

ZONE = "Europe/Helsinki"
DAY = "2026-03-02T"


def several(value: Any) -> list[str]:
    return [moment.isoformat() for moment in resolve_several(value, ZONE, name="departure_time")]


@pytest.mark.quick
@pytest.mark.parametrize(
    "value",
    [
        [f"{DAY}08:00", f"{DAY}08:15"],
        (f"{DAY}08:00", pd.Timestamp(f"{DAY}08:15")),
        pd.Series([f"{DAY}08:00", f"{DAY}08:15"], index=["b", "a"]),
        pd.to_datetime([f"{DAY}08:00", f"{DAY}08:15"]),
        pd.date_range(f"{DAY}08:00", periods=2, freq="15min", tz="Europe/Helsinki"),
        pd.date_range(f"{DAY}06:00", periods=2, freq="15min", tz="UTC").array,
        np.array([f"{DAY}08:00", f"{DAY}08:15"], "datetime64[s]"),
        (f"{DAY}08:00", f"{DAY}08:30", "15min"),
        (f"{DAY}08:00", f"{DAY}08:16", dt.timedelta(minutes=15)),
        (f"{DAY}08:00", f"{DAY}08:16", np.timedelta64(15, "m")),
        (f"{DAY}08:00", f"{DAY}08:30", pd.offsets.Minute(15)),
        (f"{DAY}08:00", f"{DAY}08:30", "0.25h"),
    ],
)
def test_all_kinds_of_lists(value: Any) -> None:
    assert are_several(value)
    assert several(value) == [f"{DAY}08:00:00+02:00", f"{DAY}08:15:00+02:00"]


def test_a_third_moment_is_no_step() -> None:
    assert len(several((f"{DAY}08:00", f"{DAY}08:15", f"{DAY}08:30"))) == 3
    assert len(several((f"{DAY}08:00", f"{DAY}08:15", "20260302T0830"))) == 3


@pytest.mark.parametrize(("day", "n"), [("2026-03-02", 96), ("2026-03-29", 92), ("2026-10-25", 100)])
def test_steps_are_elapsed_time(day: str, n: int) -> None:
    found = resolve_several((f"{day}T00:00", pd.Timestamp(day) + pd.Timedelta(days=1), "15min"), ZONE, name="x")
    assert len(found) == n
    instants = pd.DatetimeIndex([moment.astimezone(dt.UTC) for moment in found])
    assert (np.diff(instants) == np.timedelta64(15, "m")).all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "empty"),
        ([f"{DAY}08:00", None], r"departure_time\[1\] is missing \(None\)"),
        ([f"{DAY}08:00", pd.NaT], r"departure_time\[1\] is missing \(NaT\)"),
        ([f"{DAY}08:00", f"{DAY}08:00Z"], "mixes moments"),
        ([f"{DAY}08:00", f"{DAY}09:00", f"{DAY}08:00:00"], "twice, at 0 and 2"),
        ([f"{DAY}08:00", "weekday_morning"], "cannot be in a list"),
        ([8], r"departure_time\[0\] must be a datetime"),
        (["2026-03-02"], "no time of day"),
        ([[f"{DAY}08:00"]], "must be one moment here"),
        (np.zeros((2, 2)), "one dimension"),
        (pd.date_range("2026-03-29", periods=30, freq="15min"), r"departure_time\[12\].*does not exist"),
        ((f"{DAY}08:00", f"{DAY}09:00", 900), "got int 900"),
        ((f"{DAY}08:00", f"{DAY}09:00", "soon"), "'15min'; got 'soon'"),
        ((f"{DAY}08:00", f"{DAY}09:00", "1D"), "date_range"),
        ((f"{DAY}08:00", f"{DAY}09:00", "1MS"), "date_range"),
        ((f"{DAY}08:00", f"{DAY}09:00", "-15min"), "at least a second"),
        ((f"{DAY}08:00", f"{DAY}09:00", np.timedelta64("NaT", "s")), "at least a second"),
        (
            (f"{DAY}08:00", f"{DAY}09:00", "2026/03/03 10:00"),
            r"departure_time\[2\] '2026/03/03 10:00' is not an ISO 8601",
        ),
        ((f"{DAY}08:00", f"{DAY}09:00", "03.03.2026 10:00"), r"departure_time\[2\].*is not an ISO 8601"),
        ((f"{DAY}08:00", f"{DAY}09:00", "20260303"), r"departure_time\[2\] 20260303 has no time of day"),
        ((f"{DAY}08:00", f"{DAY}08:00", "15min"), "must end after it starts"),
        ((f"{DAY}08:00", None, "15min"), "the end of departure_time is missing"),
        (("weekday_morning", f"{DAY}08:00", "15min"), "cannot be in a list"),
    ],
)
def test_errors_say_what_is_wrong(value: Any, text: str) -> None:
    with pytest.raises(MomentError, match=text):
        several(value)


def test_sets_and_generators_are_no_lists() -> None:
    moments = [f"{DAY}08:00", f"{DAY}08:15"]
    for value in (set(moments), frozenset(moments), iter(moments), (each for each in moments), dict.fromkeys(moments)):
        with pytest.raises(
            MomentError, match=r"a list of moments, or \(start, end, every\); got (set|froz|list_i|gen|d)"
        ):
            check_kind(value, "departure_time")
    for value in (None, 5, moments, tuple(moments), moments[0], pd.Timestamp(moments[0]), np.array(5), pd.NaT, b"8"):
        check_kind(value, "departure_time")


def test_too_many() -> None:
    with pytest.raises(LimitError, match="35,040 moments"):
        several(("2026-01-01T00:00", "2027-01-01T00:00", "15min"))
    with pytest.raises(LimitError, match="1,501 moments"):
        several([f"{DAY}08:00"] * 1501)


def test_one_moment_is_no_list() -> None:
    assert not any(map(are_several, (None, f"{DAY}08:00", pd.Timestamp(DAY[:-1]), np.datetime64(DAY[:-1]))))
    for value in (np.array(5), np.ma.masked):
        assert not are_several(value)
        with pytest.raises(InputError, match="must be a datetime"):
            resolve_moment(value, ZONE, name="departure_time")
    with pytest.raises(InputError, match=r"one moment here.*got list of length 2"):
        resolve_moment([f"{DAY}08:00"] * 2, ZONE, name="departure_time")
