"""
The question of a search: the arguments that all searches share, as one value.

The public functions, the service, large jobs, the widget and `explain` all create a `Question`, which
`traveltime_lab.search.query.Query.of` binds to a network.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
import pandas as pd

from traveltime_lab._checks import whole
from traveltime_lab.errors import InputError, UnsupportedError
from traveltime_lab.limits import MAX_WINDOW_S
from traveltime_lab.modes.costs import Costs
from traveltime_lab.modes.snapping import Snapping, as_snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.moment_lists import Several
from traveltime_lab.moments import WEEKDAY_MORNING, Moment, resolve_moments

Metric = Literal["time", "distance"]
MomentLike: TypeAlias = dt.datetime | pd.Timestamp | np.datetime64 | str | None
#: One moment, or several: a list, or a tuple (start, end, every); see `traveltime_lab.moment_lists`.
MomentsLike: TypeAlias = MomentLike | Several


class Options(TypedDict, total=False):
    """The options of `Question.of`."""

    limit: int
    window: Any
    percents: tuple[float, ...]
    with_share: bool
    with_least: bool
    costs: Costs | None


class HasQuestion:
    """The attributes of its question, for the queries that hold one."""

    question: Question

    @property
    def transportation(self) -> Transportation:
        """The means of transportation."""
        return self.question.transportation

    @property
    def snapping(self) -> Snapping:
        """How points are snapped."""
        return self.question.snapping

    @property
    def is_arrival(self) -> bool:
        """Whether the moment is the arrival time."""
        return self.question.is_arrival

    @property
    def limit(self) -> int:
        """Maximum travel time in seconds."""
        return self.question.limit

    @property
    def percents(self) -> tuple[float, ...]:
        """Percentiles of the travel times over the window."""
        return self.question.percents


@dataclass(frozen=True)
class Question:
    """
    The arguments that all searches share; `Question.of` validates them.

    Attributes
    ----------
    transportation : Transportation
    snapping : Snapping
    moment : datetime, TypicalMoment or None
        Departure or arrival time; timezone-aware.
    is_arrival : bool
        Whether `moment` is the arrival time.
    limit : int
        Maximum travel time in seconds; 0 if there is none, and a question to a timetable is for snapping only.
    window : int
        Length of the window in seconds, 0 for none.
    metric : {"time", "distance"}
        Quantity to minimise.
    percents : tuple of float
        Percentiles over the window.
    with_share, with_least : bool
        Whether to compute the share of departures within the limit, and the least travel time, over the window.
    costs : Costs, optional
        Emissions and money of a kilometre; None if neither emissions nor costs are requested.
    """

    transportation: Transportation
    snapping: Snapping
    moment: Moment | None
    is_arrival: bool
    limit: int = 0
    window: int = 0
    metric: Metric = "time"
    percents: tuple[float, ...] = ()
    with_share: bool = False
    with_least: bool = True
    costs: Costs | None = None

    @classmethod
    def of(
        cls,
        timezone: str,
        transportation: Any,
        departure_time: MomentLike,
        arrival_time: MomentLike,
        snapping: Any,
        metric: Metric = "time",
        *,
        limit: int = 0,
        window: Any = None,
        percents: tuple[float, ...] = (),
        with_share: bool = False,
        with_least: bool = True,
        costs: Costs | None = None,
    ) -> Question:
        """
        Validate the arguments that all searches share.

        Parameters
        ----------
        timezone : str
            Time zone of moments without one: that of the network.
        transportation, departure_time, arrival_time, snapping, window
            As users give them; see `traveltime_lab.time_filter`.
        metric, limit, percents, with_share, with_least, costs
            See `Question`.
        """
        means = as_transportation(transportation)
        snap = as_snapping(snapping)
        moment, is_arrival = resolve_moments(departure_time, arrival_time, timezone)
        if window is None and (percents or with_share):
            msg = "percentiles and shares require a window of departures or arrivals; give one, such as window=3600"
            raise InputError(msg)
        if window is not None and not means.uses_timetable:
            msg = f"window needs a timetable; transportation {means.type!r} has none"
            raise InputError(msg)
        if metric == "distance" and means.uses_timetable:
            msg = f"distance_map supports streets only; transportation {means.type!r} uses a timetable"
            raise UnsupportedError(msg)
        if means.time_dependent:
            _check_time_dependent(moment, metric, limit)
        seconds = 0
        if window is not None and limit:
            seconds = whole(window, "window", 1, MAX_WINDOW_S, "seconds")
        return cls(means, snap, moment, is_arrival, limit, seconds, metric, percents, with_share, with_least, costs)

    @property
    def arguments(self) -> dict[str, Any]:
        """The question as arguments of a public function."""
        departure, arrival = (None, self.moment) if self.is_arrival else (self.moment, None)
        return {
            "travel_time": self.limit, "transportation": self.transportation, "departure_time": departure,
            "arrival_time": arrival, "snapping": self.snapping, "window": self.window or None,
        }  # fmt: skip

    def to_json(self, day: dt.date | None) -> dict[str, Any]:
        """Return means, moment and snapping as values of JSON, with the date of a network for a typical moment."""
        moment = self.moment.isoformat() if isinstance(self.moment, dt.datetime) else self.moment and self.moment.value
        costs = {} if self.costs is None else asdict(self.costs)
        costs = {name: dict(value) if isinstance(value, Mapping) else value for name, value in costs.items()}
        return {
            "transportation": asdict(self.transportation),
            "arrival_time" if self.is_arrival else "departure_time": moment,
            **({} if day is None else {WEEKDAY_MORNING.value: day.isoformat()}),
            "snapping": asdict(self.snapping),
            **({"costs": costs} if costs else {}),
        }

    def using(self, **options: Any) -> Question:
        """Return the question with changed options of its transportation."""
        return replace(self, transportation=replace(self.transportation, **options))

    @property
    def on_foot(self) -> Question:
        """The question for walking all the way, within its limit."""
        longest = self.transportation.direct_walking_time
        limit = self.limit if longest is None else min(self.limit, longest)
        return replace(self, transportation=self.transportation.egress, window=0, limit=limit)


def _check_time_dependent(moment: Moment | None, metric: Metric, limit: int) -> None:
    """Raise an error if a question cannot be answered at speeds that change on the way; without a limit, it snaps."""
    if metric == "distance":
        msg = "time_dependent=True is for searches by travel time; searches by distance need time_dependent=False"
        raise UnsupportedError(msg)
    if limit and not isinstance(moment, dt.datetime):
        got = "none" if moment is None else repr(moment.value)
        msg = f"time_dependent=True needs a departure_time or arrival_time with a date and a time of day; got {got}"
        raise InputError(msg)
