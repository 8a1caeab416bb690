"""
Questions between two points: how they are relaxed, and how far they are from each other.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from traveltime_lab.limits import MAX_STRESS, MAX_TRAVEL_TIME_S
from traveltime_lab.modes.table import ALL_VEHICLES, STREET_MODES, WALKING, with_all_vehicles
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import elapsed_s
from traveltime_lab.question import Question

#: Parameters of a timetable question that can be relaxed, in the order in which sets of equal size are reported.
PARAMETERS: Final = ("travel_time", "ways", "max_changes", "vehicles", "moment")
#: Stands for walking all the way in the parameters of a solution.
WALK: Final = "walk"
#: Longest walk between vehicles that is suggested: the default, because more of them make searches slow.
USUAL_TRANSFER_S: Final = Transportation(ALL_VEHICLES).transfer_walking_time
#: Hours up to which another time costs as much as doubling a number for each of them (see `cost`); each doubling beyond
#: costs half as much.
_NEAR_H: Final = 6.0
#: Costs of giving up step-free walks, from the strict ones.
_STEP_FREE: Final[dict[Any, float]] = {"strict": 6.0, "lenient": 4.0, None: 0.0}
#: Costs of using one kind of the ways to avoid.
_AVOIDED: Final = 2.0


def walks(question: Question) -> tuple[str, ...]:
    """Return the options that limit walks and ways, and that can be relaxed."""
    is_less = question.transportation.transfer_walking_time < USUAL_TRANSFER_S
    return (*ways(question), "transfer_walking_time") if is_less else ways(question)


def ways(question: Question) -> tuple[str, ...]:
    """Return the options that limit the access and egress times of a question, access last."""
    return tuple(dict.fromkeys((WALKING.access_option, question.transportation.street.access_option)))


def loosened(question: Question, parameters: Iterable[str], most_s: int = MAX_TRAVEL_TIME_S) -> Question:
    """Return a question with some parameters fully relaxed, the travel time to `most_s`; the time is not changed."""
    chosen = set(parameters)
    if "travel_time" in chosen:
        question = replace(question, limit=max(question.limit, most_s))
    if "vehicles" in chosen:
        question = question.using(type=with_all_vehicles(question.transportation.mode).name, modes=())
    if "max_changes" in chosen:
        question = question.using(max_changes=None)
    if "ways" in chosen:
        # Access and egress cannot take longer than the whole itinerary.
        wide = {name: max(getattr(question.transportation, name), question.limit) for name in ways(question)}
        if "transfer_walking_time" in walks(question):
            wide["transfer_walking_time"] = USUAL_TRANSFER_S
        question = question.using(**wide)
    return question


def cost(given: Question, other: Question) -> float:
    """
    Return the distance of a question from the given one.

    Assumed costs: doubling the travel time 2, doubling any other number 1, an additional transfer 0.5, other vehicles
    1, a higher level of traffic stress 1, a lenient instead of a strict step-free walk 2, one with steps 4 more, each
    word of `avoid` less 2, a different time 1 for each hour up to six hours and 0.5 more for each doubling of these.
    """
    means, others = given.transportation, other.transportation
    total = 2.0 * math.log2(other.limit / given.limit)
    for name in (*(mode.access_option for mode in STREET_MODES.values()), "transfer_walking_time"):
        total += math.log2((getattr(others, name) + 60) / (getattr(means, name) + 60))
    if means.max_changes is not None:
        total += 0.5 * ((others.max_changes or means.max_changes) - means.max_changes)
    total += (others.stress_limit or MAX_STRESS) - (means.stress_limit or MAX_STRESS)
    total += _STEP_FREE[means.step_free] - _STEP_FREE[others.step_free]
    total += _AVOIDED * (len(means.avoid) - len(others.avoid))
    total += float((means.type, means.modes) != (others.type, others.modes))
    total += math.log2((other.snapping.threshold + 100) / (given.snapping.threshold + 100))
    if isinstance(given.moment, dt.datetime) and isinstance(other.moment, dt.datetime):
        hours = abs(elapsed_s(given.moment, other.moment)) / 3600.0
        total += min(hours, _NEAR_H) + 0.5 * math.log2(max(hours / _NEAR_H, 1.0))
    return total


def changed_options(given: Transportation, other: Transportation) -> dict[str, Any]:
    """Return the options of a transportation that differ from those of the given one."""
    names = [field.name for field in dataclasses.fields(Transportation)]
    return {name: getattr(other, name) for name in names if getattr(other, name) != getattr(given, name)}
