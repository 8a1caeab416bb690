"""
Reasons why a destination is not reached with a timetable.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from traveltime_lab._arrays import Int32Array
from traveltime_lab.itinerary import Route
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.question import Question
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.explain.obstacles import ANY_STEPS, obstacles_on_route
from traveltime_lab.search.explain.questions import WALK, walks, ways
from traveltime_lab.search.explain.reasons import clock, day, duration, parts_of, vehicle_words
from traveltime_lab.search.explain.relaxations import LONGEST_S, Around, Pair, Solution, solutions
from traveltime_lab.search.explain.stations import closed_stations, steps_in_the_way
from traveltime_lab.search.explain.streets import Findings, add_obstacles, add_unsnapped
from traveltime_lab.search.query import transit_of
from traveltime_lab.transit import service_days
from traveltime_lab.transit.wheelchair import rule_of

#: Returns the route of a question, which may take up to 12 hours.
RouteOf: TypeAlias = Callable[[Question], Route | None]
_TRIED: Final = "at other hours, on other days, with longer ways to and from stops, or within 4 hours"


def by_timetable(pair: Pair, question: Question, route: RouteOf) -> Findings:
    """Return the reasons why a destination is not reached with a timetable."""
    findings = Findings()
    timetable = transit_of(pair.network).timetable
    moment = question.moment
    assert isinstance(moment, dt.datetime)
    is_covered = pair.is_covered(moment)
    trips = service_days.trips_of(timetable, question.transportation)
    if not is_covered:
        _add_outside(findings, pair, question)
    if not trips.any():
        kinds = service_days.groups(timetable)
        findings.add(
            "vehicles", "no_vehicles",
            f"No {vehicle_words(question.transportation)[0]} runs in this network; its timetable has "
            f"{'only ' + ', '.join(kinds) if kinds else 'no trips at all'}.",
            type=question.transportation.type, available=tuple(kinds),
        )  # fmt: skip
    add_unsnapped(findings, pair, question)
    thresholds = pair.thresholds(question)
    if not thresholds:
        return findings
    tried = [replace(question, snapping=replace(question.snapping, threshold=each)) for each in thresholds]
    snapped = tried[0]
    if trips.any():
        near = {side: _add_stops(findings, pair, snapped, trips, side) for side in ("origin", "destination")}
        if is_covered:
            _add_service(findings, pair, snapped, trips, near)
    if is_covered:
        _add_stations(findings, pair, snapped, route)
        ms = pair.milliseconds(replace(snapped, limit=LONGEST_S))
        add_obstacles(findings, obstacles_on_route(pair, snapped, ms, route))
        if ms is not None and whole_seconds(ms) > question.limit:
            findings.slow = snapped
            findings.add_over_limit(
                question, ms, *parts_of(route(snapped)), "" if snapped == question else "Even then it takes"
            )
    for each in tried:
        found = _solved(pair, each)
        if found:
            _add_parameters(findings, pair, route, each, found)
            if all(WALK in solution.parameters for solution in found):
                findings.add("", "no_connection", f"No ride that beats walking all the way was found {_TRIED}.")
            findings.candidates = [solution.question for solution in found]
            break
    else:
        findings.add(
            "", "no_connection",
            f"No journey was found {_TRIED}.",
        )  # fmt: skip
    return findings


def _add_stations(findings: Findings, pair: Pair, question: Question, route: RouteOf) -> None:
    """Add what is in the way of travellers without steps, and platforms that closed pathways cut off."""
    if rule_of(question.transportation):
        freer = question.using(**ANY_STEPS)
        steps = steps_in_the_way(pair, question, route(freer))
        if steps is not None:
            findings.add("step_free", "not_step_free", steps[0], **steps[1])
    ends = np.array([[side.lng[0], side.lat[0]] for side in (pair.origin, pair.destination)])
    closed = closed_stations(pair, question, ends)
    if closed is not None:
        findings.add("", "station_closed", closed[0], **closed[1])


def _solved(pair: Pair, question: Question) -> list[Solution]:
    """Return the relaxations of a snapped question; the question itself if its threshold is sufficient."""
    assert isinstance(question.moment, dt.datetime)
    if pair.is_covered(question.moment) and pair.reaches(question):
        return [Solution(question, frozenset(), None)]
    return solutions(pair, question)


def _add_outside(findings: Findings, pair: Pair, question: Question) -> None:
    """Add the reason that the timetable does not cover the time."""
    timetable, moment = transit_of(pair.network).timetable, question.moment
    assert isinstance(moment, dt.datetime)
    dates = {
        str(name): (row["first"], row["last"]) for name, row in timetable.dates().iterrows() if row["first"] is not None
    }
    listed = "; ".join(f"{name} runs from {first} to {last}" for name, (first, last) in dates.items())
    findings.add(
        "moment", "outside_timetable",
        f"{clock(moment)} is outside the dates that the timetable covers: {listed or 'it never runs'}.",
        moment=moment, dates=dates,
    )  # fmt: skip


def _add_stops(findings: Findings, pair: Pair, question: Question, trips: service_days.Trips, side: str) -> Int32Array:
    """Return the stops near a side (stop_idx), and add a reason if there are none."""
    timetable, means = transit_of(pair.network).timetable, question.transportation
    is_origin = side == "origin"
    on_the_way = pair.means(question, side).street
    option, way = on_the_way.access_option, on_the_way.way
    wide = dict.fromkeys(ways(question), MAX_TRAVEL_TIME_S)
    transit = pair.query(question.using(**wide)).transit
    assert transit is not None
    links = transit.links(pair.snaps(question)[0 if is_origin else 1], is_origin=is_origin)
    served = service_days.stops_of(timetable, trips, is_boarding=is_origin)[links.stops]
    stops, ms = links.stops[served], links.ms[served]
    if is_origin:
        ms = ms - (means.access_penalty + means.pt_change_delay) * 1000
    budget = getattr(means, option)
    near: Int32Array = stops[whole_seconds(ms) <= budget]
    if near.size:
        return near
    kind = vehicle_words(means)[1]
    code = f"no_stop_near_{side}"
    if not stops.size:
        findings.add(
            "ways", code, f"No {kind} is within {way} of 4 h of the {side}.", side, option=option, budget=budget,
            stop_id=None, stop_name=None, needed=None,
        )  # fmt: skip
        return near
    nearest = int(ms.argmin())
    needed = whole_seconds(int(ms[nearest]))
    row = timetable.stops.iloc[int(stops[nearest])]
    name = str(row["stop_name"] or row["stop_id"])
    findings.add(
        "ways", code,
        f"No {kind} is near enough to the {side}: the nearest, {name}, is {way} of {duration(needed)} away, and "
        f"{option} allows {duration(budget)}.",
        side, option=option, budget=budget, stop_id=str(row["stop_id"]), stop_name=str(row["stop_name"]), needed=needed,
    )  # fmt: skip
    return near


def _add_service(
    findings: Findings,
    pair: Pair,
    question: Question,
    trips: service_days.Trips,
    near: Mapping[str, Int32Array],
) -> None:
    """Add the reason that there is no service on the day, in the whole timetable or at the stops near a side."""
    timetable, moment = transit_of(pair.network).timetable, question.moment
    assert isinstance(moment, dt.datetime)
    vehicle = vehicle_words(question.transportation)[0]
    date = moment.date()
    chosen: list[tuple[str | None, service_days.Trips]] = [(None, trips)]
    for near_side, stops in near.items():
        calling = service_days.trips_at(timetable, trips, stops, is_boarding=near_side == "origin")
        if calling.any():
            chosen.append((near_side, calling))
    for side, some in chosen:
        if service_days.runs_on(timetable, some, date):
            continue
        days = [each for each, _ in zip(service_days.nearest_days(timetable, some, date), range(7), strict=False)]
        where = "" if side is None else f" at the stops near the {side}"
        sentence = f"No {vehicle} runs on {day(date)}{where}"
        sentence += f"; the nearest day with service is {day(days[0])}." if days else ", or on any other day."
        findings.add(
            "moment", "no_service_that_day", sentence, side, date=date, nearest_date=days[0] if days else None,
            dates=tuple(sorted(days)),
        )  # fmt: skip
        if side is None:
            return


def _add_parameters(findings: Findings, pair: Pair, route: RouteOf, question: Question, found: list[Solution]) -> None:
    """Add reasons for the parameters relaxed by the nearest question, and for those that suffice on their own."""
    requested: dict[str, Solution] = dict.fromkeys(sorted(found[0].parameters), found[0])
    for solution in found[1:]:
        if len(solution.parameters) == 1:
            requested.setdefault(next(iter(solution.parameters)), solution)
    given, vehicles = question.transportation, vehicle_words(question.transportation)[0]
    for parameter, (other, parameters, around) in requested.items():
        means = other.transportation
        if parameter == WALK and means.direct_walking_time != given.direct_walking_time:
            assert means.direct_walking_time is not None and given.direct_walking_time is not None
            findings.add(
                "travel_time", "walk_too_long",
                f"Walking all the way takes {duration(means.direct_walking_time)}, and direct_walking_time allows "
                f"{duration(given.direct_walking_time)}.",
                needed=means.direct_walking_time, direct_walking_time=given.direct_walking_time,
            )  # fmt: skip
        if parameter in ("travel_time", WALK) and not findings.has("over_limit"):
            ms = pair.milliseconds(other)
            if ms is not None and whole_seconds(ms) > question.limit:
                findings.add_over_limit(
                    question, ms, *parts_of(route(other)), "Even then it takes" if len(parameters) > 1 else ""
                )
        elif parameter == "ways" and not findings.has("no_stop_near_origin", "no_stop_near_destination"):
            longer = {
                name: getattr(means, name) for name in walks(question) if getattr(means, name) != getattr(given, name)
            }
            if longer:
                words = " and ".join(f"{name} of {duration(value)}" for name, value in longer.items())
                text = f"The stops that lead there are farther away: it needs a {words}."
                findings.add("ways", "stops_too_far", text, **longer)
        elif parameter == "max_changes":
            needed = means.max_changes
            findings.add(
                "max_changes", "too_many_changes",
                f"It needs {needed} change{'s' if needed != 1 else ''}, and max_changes allows {given.max_changes}.",
                needed=needed, max_changes=given.max_changes,
            )  # fmt: skip
        elif parameter == "vehicles" and not findings.has("no_vehicles"):
            kinds = service_days.groups(transit_of(pair.network).timetable)
            findings.add(
                "vehicles", "no_vehicles", f"No {vehicles} leads there in time; other vehicles do.",
                type=given.type, available=tuple(kinds), needed=means.type,
            )  # fmt: skip
        elif (
            parameter == "moment"
            and around is not None
            and not findings.has("outside_timetable", "no_service_that_day")
        ):
            _add_moment(findings, route, question, other, around)


def _add_moment(findings: Findings, route: RouteOf, question: Question, other: Question, around: Around) -> None:
    """Add the reason with the departure or arrival times of the itineraries before and after the given time."""
    moment = question.moment
    assert isinstance(moment, dt.datetime)
    before, after = (None if journey is None else journey.moment for journey in around)
    today = [each is not None and each.date() == moment.date() for each in (before, after)]
    code = {
        (False, False): "no_trip_that_day",
        (False, True): "first_trip_not_yet",
        (True, False): "last_trip_gone",
        (True, True): "no_trip_then",
    }[today[0], today[1]]
    verb, past = ("arrives", "arrived") if question.is_arrival else ("leaves", "left")
    parts = []
    if after is not None:
        parts.append(f"the {'first' if code == 'first_trip_not_yet' else 'next'} that does {verb} at {clock(after)}")
    if before is not None:
        parts.append(f"the last one before {past} at {clock(before)}")
    found = route(other)
    ride = None if found is None else next((leg.ride for leg in found.legs if leg.ride is not None), None)
    data: dict[str, Any] = {"next": after, "previous": before}
    if ride is not None:
        data |= {"line": ride.line, "stop_name": ride.board.name, "departs_at": ride.board.time}
    findings.add(
        "moment", code,
        f"No journey at {clock(moment)} will do; {', '.join(parts)}.", None, **data,
    )  # fmt: skip
