"""
Explanations of why a destination is unreachable, with the most similar question that reaches it.

The explanations use the same searches as the other functions: the question is repeated with relaxed limits
(`traveltime_lab.search.explain.relaxations`), and the differences between the results give the reasons.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from traveltime_lab._checks import whole
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, NoServiceError, UnsupportedError
from traveltime_lab.itinerary import Route
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.moments import TypicalMoment, are_same
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points, PointsLike, read_points
from traveltime_lab.question import MomentLike, Question
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.search.explain.questions import changed_options
from traveltime_lab.search.explain.reasons import Explanation, alerts_of, duration, made_of, parts_of
from traveltime_lab.search.explain.relaxations import Pair
from traveltime_lab.search.explain.streets import Findings, add_moved, by_other_means, on_streets
from traveltime_lab.search.explain.transit import by_timetable
from traveltime_lab.search.query import transit_of
from traveltime_lab.search.routes import routes
from traveltime_lab.search.time_filter import time_filter
from traveltime_lab.transit.query import typical_moment
from traveltime_lab.transit.timetable import ServiceWarning, service_warnings_to


@explained_keywords
def explain(
    network: Network,
    origin: PointsLike,
    destination: PointsLike,
    *,
    travel_time: int | dt.timedelta,
    transportation: str | Transportation | Mapping[str, Any] = "driving",
    departure_time: MomentLike = None,
    arrival_time: MomentLike = None,
    snapping: Snapping | Mapping[str, Any] | None = None,
    window: int | None = None,
) -> Explanation:
    """
    Explain why a destination is unreachable and what would reach it, or what its travel time consists of.

    Parameters
    ----------
    network : Network
    origin, destination : GeoDataFrame, GeoSeries, Point or (lng, lat)
        One point each in any CRS, such as ``places.loc[["home"]]``.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    transportation : str, Transportation or mapping, default "driving"
        Means of transportation; see `Transportation`.
    departure_time, arrival_time : datetime, str, optional
        One moment, as in `time_filter`, except that one that the timetable does not cover is a reason and no error.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    window : int, optional
        As in `time_filter`.

    Returns
    -------
    Explanation
        It prints as sentences. Its attributes are ``is_reached``, ``travel_time``, ``reasons`` (a tuple of `Reason`),
        ``nearest_request`` (keyword arguments with which `time_filter` reaches the destination; None if it is already
        reached, or if none were found), ``parts`` (what the travel time consists of) and ``weekday_morning`` (the date
        that this stands for, if the question has it).

    Raises
    ------
    InputError
        If a table does not have exactly one point, or an argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` is out of range.
    ModeError
        If the transportation is unknown.
    MomentError
        If a time does not exist or is ambiguous, or if it is missing for a type with a timetable.
    UnsupportedError
        If headways are random, or average with a window.

    Warns
    -----
    ServiceWarning
        If the destination is reached on a day with little or no service of some feed.

    See Also
    --------
    time_filter : Travel times of many pairs, with a short reason if a pair is unreachable.

    Notes
    -----
    The nearest request differs as little as possible from the given one. Doubling a number costs as much as departing
    an hour earlier or later (six hours and more cost less than that); doubling the travel time costs twice as much, an
    additional transfer half as much. A different type of transportation is suggested only if the given one cannot reach
    the destination at all. The search for longer travel times extends to 12 hours (a week on streets), but suggestions
    do not exceed 4 hours. Other departure times are considered within a day of the given one and, if no ride is found
    there, on the nearest days with different services. If nothing but the time has to change but for more than an hour,
    nearer times with other changes are considered, too.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> explanation = tl.explain(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[6]],
    ...     travel_time=900,
    ...     transportation="cycling",
    ... )
    >>> print(explanation)
    Not reached.
    It takes 31 min 47 s, which is 16 min 47 s too long: the limit is
    15 min.
    It would be reached with travel_time=1907.

    Pass ``nearest_request`` to `time_filter`:

    >>> found = tl.time_filter(
    ...     network,
    ...     places.iloc[[0]],
    ...     places.iloc[[6]],
    ...     **explanation.nearest_request,
    ... )
    >>> int(found["travel_time"].iloc[0])
    1907
    """
    means = as_transportation(transportation)
    if means.headways == "random":
        msg = "explanations are of one trip, which headways='random' has not; use headways='average' or 'exact'"
        raise UnsupportedError(msg)
    if means.headways == "average" and window is not None:
        msg = "explanations with headways='average' are of one moment; leave out window, or use headways='exact'"
        raise UnsupportedError(msg)
    if isinstance(network, Network):
        points = [_one_point(origin, "origin", network), _one_point(destination, "destination", network)]
    given: dict[str, Any] = {
        "travel_time": travel_time,
        "transportation": transportation,
        "departure_time": departure_time,
        "arrival_time": arrival_time,
        "snapping": snapping,
        "window": window,
    }
    heard: list[str] = []
    with service_warnings_to(heard.append):
        try:
            found = time_filter(network, origin, destination, **given)["travel_time"].iloc[0]
        except NoServiceError:
            found = pd.NA
    request = _Request(network, origin, destination, given)
    # Searches for other days, and days with little service, are part of the reasons.
    with service_warnings_to(lambda text: None):
        explanation = _explained(request, Pair(network, *points), found)
    if explanation.is_reached:
        for text in heard:
            warn(text, ServiceWarning)
    return explanation


def _explained(request: _Request, pair: Pair, found: Any) -> Explanation:
    """Return the explanation of a travel time, NA if the destination is not reached."""
    moved = Findings()
    add_moved(moved, pair, request.question)
    if not pd.isna(found):
        route = request.route(request.question)
        parts, n_changes = parts_of(route)
        reasons = (made_of(parts, n_changes), *(reason for _, reason in moved.reasons), *alerts_of(route))
        return Explanation(
            True, int(found), reasons, parts=parts, n_changes=n_changes, weekday_morning=request.weekday_morning
        )
    means = request.question.transportation
    findings = (
        by_timetable(pair, request.question, request.route)
        if means.uses_timetable
        else on_streets(pair, request.question)
    )
    best = request.first_that_works(findings.candidates)
    if best is None:
        best = request.first_that_works(by_other_means(pair, request.question))
    used = findings.parameters_of(request.question, best)
    if means.uses_timetable:
        _add_updates(findings, request)
    causes = sorted(findings.reasons + moved.reasons, key=lambda each: each[0] not in used)
    parts, n_changes = parts_of(request.route(findings.slow)) if findings.slow is not None else ({}, 0)
    return Explanation(
        False, None, tuple(reason for _, reason in causes),
        None if best is None else request.arguments(best), _advice(request, best), parts, n_changes,
        request.weekday_morning,
    )  # fmt: skip


def _add_updates(findings: Findings, request: _Request) -> None:
    """Add the reason that the destination is reached by the planned timetable, and not with the live updates."""
    planned = request.network._planned
    if planned is None:
        return
    try:
        found = time_filter(planned, request.origin, request.destination, **request.given)["travel_time"].iloc[0]
    except NoServiceError:
        return
    if not pd.isna(found):
        findings.add(
            "moment", "live_updates",
            f"By the planned timetable it takes {duration(int(found))}; live updates have changed that.", None,
            planned=int(found),
        )  # fmt: skip


def _one_point(table: Any, name: str, network: Network) -> Points:
    """Validate a table of exactly one point."""
    points = read_points(table, name, network.bounds)
    if len(points) != 1:
        msg = f"{name} must be one point; got {len(points)}. Select a row with two brackets: {name}.iloc[[0]]"
        raise InputError(msg)
    return points


@dataclass
class _Request:
    """The arguments of the caller, unchanged and as a question."""

    network: Network
    origin: Any
    destination: Any
    given: dict[str, Any]
    question: Question = field(init=False)
    weekday_morning: dt.date | None = field(init=False)

    def __post_init__(self) -> None:
        given, self.weekday_morning = self.given, None
        limit = whole(given["travel_time"], "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
        question = Question.of(
            self.network.timezone, given["transportation"], given["departure_time"], given["arrival_time"],
            given["snapping"], limit=limit, window=given["window"],
        )  # fmt: skip
        if isinstance(question.moment, TypicalMoment) and question.transportation.uses_timetable:
            moment = typical_moment(transit_of(self.network), is_arrival=question.is_arrival)
            self.weekday_morning, question = moment.date(), replace(question, moment=moment)
        self.question = question

    def arguments(self, question: Question) -> dict[str, Any]:
        """Return a question as arguments of `time_filter`; unchanged arguments keep the form that the caller gave."""
        mine = self.question.arguments
        changed = {name: value for name, value in question.arguments.items() if value != mine[name]}
        found = {**self.given, **changed, "travel_time": question.limit}
        return {name: value for name, value in found.items() if value is not None}

    def first_that_works(self, candidates: list[Question]) -> Question | None:
        """Return the first question with which `time_filter` reaches the destination."""
        for question in candidates:
            try:
                table = time_filter(self.network, self.origin, self.destination, **self.arguments(question))
            except NoServiceError:
                continue
            if table["travel_time"].notna().iloc[0]:
                return question
        return None

    def route(self, question: Question) -> Route | None:
        """Return the route of a question, which may take up to 12 hours."""
        arguments = self.arguments(question)
        del arguments["travel_time"]
        try:
            found: Route | None = routes(self.network, self.origin, self.destination, **arguments)["route"].iloc[0]
        except NoServiceError:
            return None
        return found


def _advice(request: _Request, best: Question | None) -> str:
    """Return a sentence on what the nearest question changes."""
    if best is None:
        return ""
    mine = request.question
    changes: dict[str, Any] = {}
    if best.limit != mine.limit:
        changes["travel_time"] = best.limit
    if isinstance(best.moment, dt.datetime) and not are_same(best.moment, mine.moment):
        changes["arrival_time" if mine.is_arrival else "departure_time"] = best.moment.isoformat()
    changes |= changed_options(mine.transportation, best.transportation)
    if best.snapping.threshold != mine.snapping.threshold:
        changes["threshold"] = best.snapping.threshold
    if best.snapping.accept_roads != mine.snapping.accept_roads:
        changes["accept_roads"] = best.snapping.accept_roads
    return f"It would be reached with {', '.join(f'{name}={value!r}' for name, value in changes.items())}."
