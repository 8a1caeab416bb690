"""A question as arguments and as JSON, and the questions of the widget and of jobs."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from zoneinfo import ZoneInfo

import pytest

from tests.support import worlds
from traveltime_lab.maps.widget.state import state_of
from traveltime_lab.modes.table import MODES, applies
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import WEEKDAY_MORNING
from traveltime_lab.network.network import Network
from traveltime_lab.question import Question

ZONE = "Europe/Berlin"
MOMENTS = (None, WEEKDAY_MORNING, dt.datetime(2026, 3, 2, 8, 30, 15, tzinfo=ZoneInfo(ZONE)))


def questions(kind: str) -> list[Question]:
    """Return questions with each kind of moment, at both sides, with and without a window and options."""
    custom = [Transportation(kind, walking_speed=3.5)] if applies("walking_speed", kind) else []
    windows = (None, 1200) if MODES[kind].uses_timetable else (None,)
    return [
        Question.of(ZONE, each, *moments, snapping, limit=900, window=window)
        for each, window, moment, snapping in itertools.product(
            [Transportation(kind), *custom], windows, MOMENTS, (None, {"threshold": 300})
        )
        for moments in ((moment, None), (None, moment))
    ]


@pytest.mark.parametrize("kind", MODES)
def test_arguments_ask_the_same_question(kind: str) -> None:
    for question in questions(kind):
        given = dict(question.arguments)
        limit, window = given.pop("travel_time"), given.pop("window")
        assert Question.of(ZONE, **given, limit=limit, window=window) == question


@pytest.mark.parametrize("kind", MODES)
def test_questions_that_differ_have_different_json(kind: str) -> None:
    day = dt.date(2026, 3, 3)
    every = {(each.transportation, each.snapping, each.moment, each.is_arrival): each for each in questions(kind)}
    texts = {json.dumps(each.to_json(day if each.moment is WEEKDAY_MORNING else None)) for each in every.values()}
    assert len(texts) == len(every)
    assert sum('"weekday_morning": "2026-03-03"' in text for text in texts) == len(texts) * 2 // 5


@pytest.mark.parametrize("kind", MODES)
def test_the_options_of_a_map_ask_its_question(kind: str) -> None:
    network: Network = worlds.world({"a": (0.0, 0.0), "b": (1000.0, 0.0)}, [("a", "b")])
    for question in questions(kind):
        given = {name: value for name, value in question.arguments.items() if value is not None}
        spread = {"percentile": 80} if question.window else {}
        query = state_of(network, worlds.at((0.0, 0.0)), **given, **spread).query()
        options = dict(query.options)
        percents = (options.pop("percentile"),) if "percentile" in options else ()
        names = ("transportation", "departure_time", "arrival_time", "snapping")
        asked = {name: options.pop(name, None) for name in names}
        again = Question.of(network.timezone, **asked, limit=900, window=options.pop("window", None), percents=percents)
        assert again == query.question and not options
