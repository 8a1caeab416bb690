"""Hours of the week in opening_hours, and when turn restrictions hold by their tags."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traveltime_lab.readers.osm.conditions import Held, read_conditions
from traveltime_lab.readers.osm.opening_hours import minutes_of, reason_of

pytestmark = pytest.mark.quick

DAYS = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
WORKDAYS = [0, 1, 2, 3, 4]
WEEK = 7 * 24 * 60


def times(days: list[int], *spans: tuple[float, float]) -> np.ndarray:
    """Return the minutes of the week of hours on some days; they may go on into the next day."""
    minutes = np.zeros(WEEK, bool)
    for day in days:
        for begin, end in spans:
            for minute in range(round(begin * 60), round(end * 60)):
                minutes[(day * 1440 + minute) % WEEK] = True
    return minutes


PEAKS = times(WORKDAYS, (7, 9), (16, 18))
NIGHT = times(range(7), (22, 30))

UNDERSTOOD = {
    "Mo-Fr 07:00-09:00,16:00-18:00": PEAKS,
    "Mo-Fr 7:00-9:00,16:00-18:00": PEAKS,
    "mo-fr 07:00-09:00 , 16:00 - 18:00": PEAKS,
    "Mo,Tu,We,Th,Fr 07:00-09:00,16:00-18:00": PEAKS,
    "Mo-We,Th-Fr 07:00-09:00, 16:00-18:00": PEAKS,
    "Monday-Friday 07:00-09:00,16:00-18:00": PEAKS,
    "Mo-Fr 07:00\N{EN DASH}09:00,16:00-18:00": PEAKS,
    "Mo-Fr 07:00-09:00, Mo-Fr 16:00-18:00": PEAKS,
    "Mo-Su 07:00-09:00,16:00-18:00; Sa,Su off": PEAKS,
    "07:00-09:00,16:00-18:00; Sa-Su closed": PEAKS,
    "Mo-Fr 07:00-18:00; Mo-Fr 09:00-16:00 off": PEAKS,
    "Mo-Fr 07:00-09:00,16:00-18:00 open": PEAKS,
    "22:00-06:00": NIGHT,
    "22:00-30:00": NIGHT,
    "Mo-Su 22:00-06:00": NIGHT,
    "00:00-06:00,22:00-24:00": NIGHT,
    "06:00-22:00 off": None,
    "24/7; 06:00-22:00 off": NIGHT,
    "24/7": times(range(7), (0, 24)),
    "00:00-24:00": times(range(7), (0, 24)),
    "00:00-00:00": times(range(7), (0, 24)),
    "Sa-Su": times([5, 6], (0, 24)),
    "Fr-Mo": times([4, 5, 6, 0], (0, 24)),
    "Su 22:00-02:00": times([6], (22, 26)),
    "Fr 22:00-06:00; Sa 10:00-12:00": times([4], (22, 30)) | times([5], (10, 12)),
    "Fr 22:00-06:00; Sa off": times([4], (22, 30)),
    "Fr 22:00-06:00; Sa 00:00-03:00 off": times([4], (22, 24)) | times([5], (3, 6)),
    # By the wiki a rule after a semicolon replaces earlier ones on its days, a rule after a comma adds to them.
    "Mo-Fr 08:00-18:00; We 10:00-12:00": times([0, 1, 3, 4], (8, 18)) | times([2], (10, 12)),
    "Mo-Fr 08:00-18:00, We 20:00-21:00": times(WORKDAYS, (8, 18)) | times([2], (20, 21)),
    "Mo 07:00-09:00, Sa": times([0], (7, 9)) | times([5], (0, 24)),
    "Mo-Mo 07:00-09:00": times([0], (7, 9)),
    "Mo 00:00-48:00": times([0, 1], (0, 24)),
    "Mo 07:30-07:31": times([0], (7.5, 7.51667)),
}

NOT_UNDERSTOOD = {
    "PH": "holidays",
    "Mo-Fr 07:00-09:00; PH off": "holidays",
    "Mo-Fr,PH 07:00-09:00": "holidays",
    "SH Mo-Fr 07:00-09:00": "holidays",
    "sunrise-sunset": "sun",
    "(sunset+01:00)-22:00": "sun",
    "Apr-Oct": "dates",
    "Apr 01-Oct 31 07:00-09:00": "dates",
    "2026 May 03": "dates",
    "week 1-10 Mo": "dates",
    "Mo[1] 07:00-09:00": "dates",
    "winter": "dates",
    "weight>7.5": "other",
    "hgv": "other",
    "wet": "other",
    "": "other",
    " ": "other",
    ";": "other",
    "Mo-Fr;": "other",
    "Mo-": "other",
    "-Fr": "other",
    "Mo-Fr 07:00": "other",
    "Mo-Fr 07:00-": "other",
    "Mo-Fr 07:00-09:00+": "other",
    "Mo-Fr 7-9": "other",
    "Mo-Fr 7am-9am": "other",
    "Mo-Fr 07.00-09.00": "other",
    "Mo-Fr 25:00-26:00": "other",
    "Mo-Fr 07:00-48:01": "other",
    "Mo-Fr 07:60-09:00": "other",
    "Mo, 07:00-09:00": "other",
    "Mo-Fr 07:00-09:00 Sa": "other",
    "T-S 07:00-09:00": "other",
    "Moo 07:00-09:00": "other",
    "Mo--Fr": "other",
    "off": "other",
    "Su off": "other",
    'Mo "by permit"': "other",
    "Mo-Fr 07:00-09:00 || Sa": "other",
    "07:00-09:00,": "other",
    "\N{ARABIC-INDIC DIGIT SEVEN}:00": "other",
    "\0": "other",
    "Mo;" * 100_000 + "Mo": "other",
}


@pytest.mark.parametrize("text", [text for text, found in UNDERSTOOD.items() if found is not None])
def test_hours_that_are_understood(text):
    np.testing.assert_array_equal(minutes_of(text), UNDERSTOOD[text])


@pytest.mark.parametrize("text", [*NOT_UNDERSTOOD, *(text for text, found in UNDERSTOOD.items() if found is None)])
def test_hours_that_are_not_understood(text):
    assert minutes_of(text) is None
    assert reason_of(text) == NOT_UNDERSTOOD.get(text, "other")


@pytest.mark.thorough
@given(st.text(alphabet=st.sampled_from("MoTuWeFrSaSuPH 0123456789:-,;@()/&|\"'off[]+.\0"), max_size=300) | st.text())
def test_no_text_is_an_error(text):
    assert minutes_of(text) is None or minutes_of(text).shape == (WEEK,)
    for tags in ({"restriction:conditional": f"no_left_turn @ {text}"}, {"restriction:conditional": text}):
        assert len(read_conditions(tags).held) <= 1
    for key in ("day_on", "day_off", "hour_on", "hour_off"):
        read_conditions({"restriction": "no_left_turn", key: text, "hour_off": "9"})


@st.composite
def rules(draw):
    """Draw (separator, days, spans): one rule after a semicolon or a comma."""
    first, last = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    minute = st.integers(0, 1439)
    spans = draw(st.lists(st.tuples(minute, minute), max_size=3))
    return draw(st.sampled_from(["; ", ", "])), first, last, spans


@settings(max_examples=20)
@given(st.lists(rules(), min_size=1, max_size=5))
def test_hours_equal_those_read_minute_by_minute(drawn):
    text = ""
    plan: dict[int, list[tuple[int, int]]] = {day: [] for day in range(7)}
    is_whole_day = False
    for separator, first, last, spans in drawn:
        if is_whole_day:
            separator = "; "  # "Mo, Tu 8:00-9:00" is a list of days with the same hours
        is_whole_day = not spans
        hours = ",".join(f"{a // 60:02}:{a % 60:02}-{b // 60:02}:{b % 60:02}" for a, b in spans)
        text += f"{separator if text else ''}{DAYS[first]}-{DAYS[last]} {hours}".rstrip()
        lengths = [(a, (b - a) % 1440 or 1440) for a, b in spans] or [(0, 1440)]
        day = first
        while True:
            plan[day] = lengths if separator == "; " else plan[day] + lengths
            if day == last:
                break
            day = (day + 1) % 7
    expected = [
        any((minute - 1440 * day - begin) % WEEK < length for day in plan for begin, length in plan[day])
        for minute in range(WEEK)
    ]
    np.testing.assert_array_equal(minutes_of(text), expected)


def on(held: Held) -> np.ndarray:
    """Return the minutes of the week at which a restriction holds."""
    minutes = np.zeros(WEEK, bool)
    for begin, end in zip(held.hours[::2], held.hours[1::2], strict=True):
        minutes[begin:end] = True
    return minutes if held.hours else ~minutes


def check(tags, expected, *ignored):
    """Compare the kinds of a relation, the minutes of each, and whether each holds without a moment."""
    reading = read_conditions(tags)
    assert reading.is_for_cars
    assert {held.kind: held.by_default for held in reading.held} == {
        kind: is_on for kind, (_, is_on) in expected.items()
    }
    for held in reading.held:
        np.testing.assert_array_equal(on(held), expected[held.kind][0])
        assert all(a < b for a, b in pairwise(held.hours))
    assert reading.ignored == ignored


ALWAYS = np.ones(WEEK, bool)
LEFT, RIGHT = "no_left_turn", "no_right_turn"


@pytest.mark.parametrize(
    ("tags", "expected", "ignored"),
    [
        ({"restriction": LEFT}, {LEFT: (ALWAYS, True)}, ()),
        ({"restriction:conditional": f"{LEFT} @ (Mo-Fr 07:00-09:00,16:00-18:00)"}, {LEFT: (PEAKS, False)}, ()),
        ({"restriction:conditional": f"{LEFT}@Mo-Fr 07:00-09:00,16:00-18:00"}, {LEFT: (PEAKS, False)}, ()),
        ({"restriction:conditional": f"{LEFT} @ (Mo-Fr AND 07:00-09:00,16:00-18:00)"}, {LEFT: (PEAKS, False)}, ()),
        # A semicolon outside of parentheses begins another value, unless none follows.
        (
            {"restriction:conditional": f"{LEFT} @ Mo-Fr 07:00-09:00; Sa 07:00-09:00"},
            {LEFT: (times([0, 1, 2, 3, 4, 5], (7, 9)), False)},
            (),
        ),
        (
            {"restriction:conditional": f"{LEFT} @ (Mo 07:00-09:00; Tu 07:00-09:00); {RIGHT} @ (Mo 08:00-10:00)"},
            {LEFT: (times([0], (7, 8)) | times([1], (7, 9)), False), RIGHT: (times([0], (8, 10)), False)},
            (),
        ),
        ({"restriction:conditional": f"{LEFT} @ (24/7)"}, {LEFT: (ALWAYS, True)}, ()),
        # Exceptions: without a moment the plain value holds.
        ({"restriction": LEFT, "restriction:conditional": "none @ (22:00-06:00)"}, {LEFT: (~NIGHT, True)}, ()),
        (
            {"restriction": "no_straight_on", "restriction:conditional": "only_left_turn @ (22:00-06:00)"},
            {"no_straight_on": (~NIGHT, True), "only_left_turn": (NIGHT, False)},
            (),
        ),
        ({"restriction": LEFT, "restriction:conditional": "none @ 24/7"}, {}, ()),
        # Tags of vehicles replace more general ones.
        ({"restriction": LEFT, "restriction:motorcar": RIGHT}, {RIGHT: (ALWAYS, True)}, ()),
        ({"restriction:motor_vehicle:conditional": f"{LEFT} @ (22:00-06:00)"}, {LEFT: (NIGHT, False)}, ()),
        ({"restriction:vehicle": LEFT}, {LEFT: (ALWAYS, True)}, ()),
        (
            {"restriction": LEFT, "restriction:motorcar:conditional": "none @ (22:00-06:00)"},
            {LEFT: (~NIGHT, True)},
            (),
        ),
        (
            {"restriction:motorcar": LEFT, "restriction:conditional": "none @ (22:00-06:00)"},
            {LEFT: (ALWAYS, True)},
            (),
        ),
        ({"restriction": LEFT, "restriction:hgv:conditional": "none @ (22:00-06:00)"}, {LEFT: (ALWAYS, True)}, ()),
        # The tags that :conditional replaced.
        (
            {"restriction": LEFT, "day_on": "Monday", "day_off": "Friday", "hour_on": "07:30", "hour_off": "9"},
            {LEFT: (times(WORKDAYS, (7.5, 9)), False)},
            (),
        ),
        (
            {"restriction": LEFT, "day_on": "M", "day_off": "F", "hour_on": "16", "hour_off": "18:30"},
            {LEFT: (times(WORKDAYS, (16, 18.5)), False)},
            (),
        ),
        ({"restriction": LEFT, "day_on": "Sa", "day_off": "Su"}, {LEFT: (times([5, 6], (0, 24)), False)}, ()),
        ({"restriction": LEFT, "hour_on": "22", "hour_off": "06"}, {LEFT: (NIGHT, False)}, ()),
        (
            {"restriction": LEFT, "hour_on": "07:30-09:30,17:30-19:30"},
            {LEFT: (times(range(7), (7.5, 9.5), (17.5, 19.5)), False)},
            (),
        ),
        (
            {"restriction": LEFT, "hour_on": "06", "hour_off": "23", "restriction:conditional": "none @ (23:00-06:00)"},
            {LEFT: (times(range(7), (6, 23)), False)},
            (),
        ),
        ({"restriction": LEFT, "hour_on": "07:00"}, {}, ("other",)),
        ({"restriction": LEFT, "day_on": "Mo"}, {}, ("other",)),
        ({"restriction": LEFT, "hour_on": "7.00 - 17.00", "hour_off": "9.00 - 19.00"}, {}, ("other",)),
        # What is not understood is left out.
        ({"restriction": LEFT, "restriction:conditional": "none @ (PH)"}, {LEFT: (ALWAYS, True)}, ("holidays",)),
        ({"restriction:conditional": f"{LEFT} @ (Mo-Fr 07:00-09:00; PH off)"}, {}, ("holidays",)),
        (
            {"restriction:conditional": f"{LEFT} @ (22:00-06:00); {RIGHT} @ (weight>7.5)"},
            {LEFT: (NIGHT, False)},
            ("other",),
        ),
        ({"restriction:conditional": f"{LEFT} @ (22:00-06:00 AND weight>3.5)"}, {}, ("other",)),
        ({"restriction:conditional": f"{LEFT} @ (Mo AND Tu)"}, {}, ("other",)),
        ({"restriction:conditional": "no_idea @ (22:00-06:00)"}, {}, ("unknown_kind",)),
        ({"restriction:conditional": LEFT}, {}, ("other",)),
        ({"restriction:conditional": f"{LEFT} @ (22:00-06:00"}, {}, ("other",)),
        ({"restriction:conditional": f"{LEFT} @ 22:00-06:00)"}, {}, ("other",)),
        ({"restriction:conditional": f"{LEFT} @"}, {}, ("other",)),
        ({"restriction:conditional": ""}, {}, ()),
        ({"restriction:conditional": " ; ;"}, {}, ()),
        ({"restriction:conditional": "@@@"}, {}, ("unknown_kind",)),
        ({"restriction": "no_idea"}, {}, ()),
    ],
)
def test_when_restrictions_hold(tags, expected, ignored):
    check(tags, expected, *ignored)


@pytest.mark.parametrize("tags", [{}, {"restriction:hgv": LEFT}, {"restriction:bus:conditional": f"{LEFT} @ (Mo)"}])
def test_restrictions_of_other_vehicles(tags):
    assert not read_conditions(tags | {"hour_on": "7"}).is_for_cars
