"""
Convert the searches of all endpoints to questions of the library.

A moment was read when the request was decoded, and the transportation and snapping of the library are built from the
structs of the contract once; see `traveltime_lab.search.query` for the array-level searches that the endpoints call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from traveltime_lab._arrays import FloatArray, IndexArray
from traveltime_lab.errors import InputError, ModeError, MomentError, TravelTimeError
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.question import MomentLike
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.search.query import Query, ask
from traveltime_lab.server.atlas import MARGIN_M, Atlas, Map
from traveltime_lab.server.contract import limits
from traveltime_lab.server.contract.errors import (
    NO_TIMETABLE,
    NOT_COVERED,
    SCHEMA,
    Failure,
    SearchFailure,
    failure_of,
    schema_failure,
)
from traveltime_lab.server.contract.requests import FullRange, Request, Search, SimpleRange
from traveltime_lab.server.contract.rules import iter_searches
from traveltime_lab.server.contract.transportation import ByFerry, ByTimetable, OnStreets
from traveltime_lab.streets.pairs import Pairs
from traveltime_lab.streets.snapping import SNAPPED, Snaps, metres_to_streets

_T = TypeVar("_T", bound=Search)
_I = TypeVar("_I", bound=np.integer)
_R = TypeVar("_R", bound="_Result")
_A = TypeVar("_A")
_M = TypeVar("_M")

#: Moment of a search without one. Source: docs/contract.md, 4.9.
TYPICAL: Final = "weekday_morning"
_SECONDS: Final = (
    "pt_change_delay", "walking_time", "driving_time_to_station", "cycling_time_to_station", "parking_time",
    "boarding_time",
)  # fmt: skip
_PENALTIES: Final = ("enabled", "disabled")
#: Bytes of the old name of snapping, many times as many as its fields take.
_LONGEST_PENALTY: Final = 10_000
_ROADS: Final = ("both_drivable_and_walkable", "any_drivable")


#: Why a search that no map covers is refused.
ON_NO_MAP: Final = "The place of the search is on no map of this service; GET /v4/map-info lists the maps"
ON_TWO_MAPS: Final = "The places of the search are on different maps; send a separate search for each map"


class NotCoveredError(InputError):
    """The place of a search has no street near it."""


class NoTimetableError(InputError):
    """A network has no timetable."""


class RefusedError(SearchFailure):
    """A map lacks data that a search needs."""


class _Result(Protocol):
    """The answer to one search."""

    @property
    def search_id(self) -> str: ...


# Requests -------------------------------------------------------------------------------------------------------------


def each_search(request: Request, kind: type[_T], answer: Callable[[str, _T], _R]) -> list[_R]:
    """
    Return the answers to all searches of a request, in its order.

    Parameters
    ----------
    request : Request
    kind : type
        Type of all its searches.
    answer : callable
        Gets the JSON path of a search and the search.

    Raises
    ------
    Failure
        The first of them; faults in several searches are listed together.
    """
    answers: list[_R] = []
    failures: list[Failure] = []
    for path, search in iter_searches(request):
        assert isinstance(search, kind)
        checkpoint()
        try:
            answers.append(answer(path, search))
        except (Failure, TravelTimeError) as error:
            failures.append(_failure(error, path, search.id))
        if failures and failures[0].code != SCHEMA:
            raise failures[0]
    if failures:
        raise schema_failure(
            {path: texts for item in failures if item.code == SCHEMA for path, texts in item.info.items()}
        )
    return answers


def _failure(error: Exception, path: str, search_id: str) -> Failure:
    """Return the failure that a client gets for the error of a search; bugs and interruptions pass through."""
    if isinstance(error, NotCoveredError):
        return SearchFailure(NOT_COVERED, search_id, str(error))
    if isinstance(error, NoTimetableError):
        return SearchFailure(NO_TIMETABLE, search_id, str(error))
    failure = failure_of(error, path=path, search_id=search_id)
    if failure.status >= 500:
        raise error
    return failure


def by_search_id(results: Iterable[_R]) -> list[_R]:
    """Return results in the order of the contract."""
    return sorted(results, key=lambda result: result.search_id)


# Searches -------------------------------------------------------------------------------------------------------------


def transportation_of(given: OnStreets | ByTimetable | ByFerry, *, is_fast: bool = False) -> Transportation:
    """Return the transportation of a search with the defaults of its endpoint."""
    options = {name: value for name in given.__struct_fields__ if (value := getattr(given, name)) is not None}
    for name in _SECONDS:
        if name in options:
            options[name] = min(options[name], limits.LONGEST_S)
    changes = options.pop("max_changes", None)
    if changes is not None and changes.enabled:
        options["max_changes"] = min(changes.limit, limits.MOST_CHANGES)
    if is_fast and "traffic_model" in given.__struct_fields__:
        options.setdefault("traffic_model", "peak")
    return Transportation(str(given.__struct_config__.tag), **options)


def snapping_of(search: Search) -> Snapping:
    """Return the snapping of a search, which an older client calls ``snap_penalty``."""
    given = search.snapping
    if given is not None:
        options = {name: value for name in given.__struct_fields__ if (value := getattr(given, name)) is not None}
        if given.threshold is not None:
            options["threshold"] = min(given.threshold, limits.FARTHEST_M)
        return Snapping(**options)
    # An unknown field of a deprecated name: what cannot be read counts as absent, as unknown fields do.
    old = None
    if search.snap_penalty is not None and len(memoryview(search.snap_penalty)) <= _LONGEST_PENALTY:
        with contextlib.suppress(msgspec.MsgspecError, ValueError):
            old = msgspec.json.decode(search.snap_penalty)
    if isinstance(old, str):
        old = {"penalty": old}
    known = {"penalty": _PENALTIES, "accept_roads": _ROADS}
    fields = old if isinstance(old, dict) else {}
    return Snapping(**{name: fields[name] for name, values in known.items() if fields.get(name) in values})


def window_of(search: Search) -> SimpleRange | FullRange | None:
    """Return the window of a search for which one is enabled and means something."""
    window = search.range
    if window is None or not window.enabled or not isinstance(search.transportation, ByTimetable):
        return None
    return window


def most_ways(search: Search) -> int:
    """Return the largest number of ways to a place that a search requests."""
    window = window_of(search)
    return 1 if window is None else window.max_results or 1


def is_arrival(path: str) -> bool:
    """Return whether the trips of the search at a JSON path end at its place."""
    array = path.rpartition(".")[2].partition("[")[0]
    return array in ("arrival_searches", "many_to_one")


def answer_of_maps(atlas: Atlas, search: Search, lng: float, lat: float, answer: Callable[[Map], _A]) -> _A:
    """Return the answer of the first map that covers the place of a search and does not refuse it."""
    maps = atlas.covering(lng, lat, margin_of(search))
    if not maps:
        raise SearchFailure(NOT_COVERED, search.id, ON_NO_MAP)
    return first_answer(maps, answer)


def first_answer(maps: Sequence[_M], answer: Callable[[_M], _A]) -> _A:
    """
    Return the answer of the first map that does not refuse a question.

    Maps overlap, and a place near the edge of one may have its streets on the next. A map refuses what it has no
    streets, timetable, date, vehicles or fares for; other errors are those of the question, and pass through.

    Parameters
    ----------
    maps : sequence
        At least one map, or maps with further arguments of `answer`, in the order in which to search them.
    answer : callable

    Raises
    ------
    Exception
        If all refuse, the refusal of the first map that has a street near the place, or else of the first.
    """
    refusals: list[Exception] = []
    for each in maps:
        try:
            return answer(each)
        except (NotCoveredError, NoTimetableError, MomentError, ModeError, RefusedError) as error:
            refusals.append(error)
    raise next((error for error in refusals if not isinstance(error, NotCoveredError)), refusals[0])


def margin_of(search: Search) -> float:
    """Return how many metres beside the streets of a map the places of a search may be."""
    return float(max(MARGIN_M, snapping_of(search).threshold))


# Questions ------------------------------------------------------------------------------------------------------------


def question_of(
    network: Network, path: str, search: Search, *, limit: int, is_fast: bool = False, with_window: bool = True
) -> Query:
    """
    Return a search within a travel time as a question about a network.

    Raises
    ------
    NoTimetableError
        If it needs a timetable, which the network does not have.
    """
    window = window_of(search) if with_window else None
    return query_of(
        network, transportation_of(search.transportation, is_fast=is_fast), moment_of(search),
        is_arrival=is_arrival(path), snapping=snapping_of(search), limit=limit,
        window=None if window is None else window.width,
    )  # fmt: skip


def query_of(
    network: Network,
    transportation: Transportation,
    moment: MomentLike,
    *,
    is_arrival: bool,
    limit: int,
    snapping: Snapping | None = None,
    window: int | None = None,
) -> Query:
    """Return a question within a travel time; see `question_of`."""
    check_timetable(network, transportation)
    departure, arrival = (None, moment) if is_arrival else (moment, None)
    return ask(network, transportation, departure, arrival, snapping, limit=limit, window=window)


def check_timetable(network: Network, transportation: Transportation) -> None:
    """Raise `NoTimetableError` for a type that needs a timetable on a network that has none."""
    if transportation.uses_timetable and network.timetable is None:
        raise NoTimetableError(f"{transportation.type} needs a timetable, which this network does not have")


def moment_of(search: Search) -> MomentLike:
    """Return the moment of a search."""
    moment = search.departure_time or search.arrival_time
    return TYPICAL if moment is None else moment.value


def place_of(query: Query, lng: float, lat: float) -> Snaps:
    """Return where the place of a search meets the streets; `NotCoveredError` if it does not."""
    found = query.snap_at(np.array([lng]), np.array([lat]), is_origin=not query.is_arrival)
    if found.status[0] != SNAPPED:
        raise NotCoveredError(_why_not_snapped(query, found))
    return found


def _why_not_snapped(query: Query, place: Snaps) -> str:
    """Return why the place of a search meets no street: what is in between, or how far the nearest one is."""
    means, threshold = query.snapped_to(is_origin=not query.is_arrival), query.snapping.threshold
    how = means.street.how
    options = query.network.streets, place.lng, place.lat, means, query.snapping.accept_roads
    near = float(metres_to_streets(*options, limit_m=threshold)[0])
    if near <= threshold:
        # Motorways are crossed where there is no other street, water never.
        return (
            f"The place of the search is cut off by water: a street {how} is {near:,.0f} m away, on the other side, "
            f"and none on this side is within the snapping threshold of {threshold:,} m"
        )
    text = f"The place of the search has no street {how} within the snapping threshold of {threshold:,} m"
    reachable = float(metres_to_streets(*options, over_barriers=False)[0])
    return f"{text}; the nearest one is {reachable:,.0f} m away" if np.isfinite(reachable) else text


@dataclass(frozen=True)
class Trips:
    """
    All trips of a search: between its place and others.

    Attributes
    ----------
    query : Query
    place : Snaps
        One, at which all trips begin; those of an arrival search end there.
    others : Snaps
    """

    query: Query
    place: Snaps
    others: Snaps

    @classmethod
    def of(cls, query: Query, lng: float, lat: float, lngs: FloatArray, lats: FloatArray) -> Trips:
        """Return the trips between a place and others; `NotCoveredError` if the place has no street."""
        place = place_of(query, lng, lat)
        return cls(query, place, query.snap_at(lngs, lats, is_origin=query.is_arrival))

    def take(self, positions: IndexArray) -> Trips:
        """Return the trips between the place and some of the others."""
        return Trips(self.query, self.place, self.others.take(positions))

    @property
    def pairs(self) -> Pairs:
        """The origin and the destination of each trip."""
        return Pairs(self.others, self.place) if self.query.is_arrival else Pairs(self.place, self.others)

    def other_of(self, origins: npt.NDArray[_I], destinations: npt.NDArray[_I]) -> npt.NDArray[_I]:
        """Return the positions among the others of pairs."""
        return origins if self.query.is_arrival else destinations
