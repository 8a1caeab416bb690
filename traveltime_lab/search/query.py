"""
A question about a network: its search graphs, and the searches.

Each search has two levels. The public functions take and return tables. The array-level functions below them take a
validated `Query` and snapped points and return arrays: `traveltime_lab.search.pair_times.pair_times` and
`reachable_pairs`, `traveltime_lab.search.area_shapes.draw_shapes`, `traveltime_lab.search.routes.find_routes` and
`traveltime_lab.search.cell_times.cell_times`. The HTTP service uses the latter.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from traveltime_lab._arrays import FloatArray, IndexArray, Int64Array
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.moments import WEEKDAY_MORNING, Moment, TypicalMoment
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.points import Points
from traveltime_lab.question import HasQuestion, Metric, MomentLike, Options, Question
from traveltime_lab.runtime.progress import advance
from traveltime_lab.runtime.shared import shared, shared_by
from traveltime_lab.search.prepared_points import PreparedPoints
from traveltime_lab.streets import k_nearest, matrix
from traveltime_lab.streets.field import length_field, row_field
from traveltime_lab.streets.graph import RoadGraph
from traveltime_lab.streets.snapping import CAN_ARRIVE, CAN_LEAVE, Snaps, snap_points
from traveltime_lab.streets.timed import TimedGraph, timed_graph
from traveltime_lab.surfaces.field import DistanceField, Field, StreetField
from traveltime_lab.surfaces.islands import with_island
from traveltime_lab.surfaces.timed_field import TimedField
from traveltime_lab.transit import travel_times
from traveltime_lab.transit.field import transit_field
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.query import TransitQuery, transit_query


@dataclass(frozen=True)
class Query(HasQuestion):
    """
    A question about a network.

    Attributes
    ----------
    network : Network
    question : Question
        The original question; that of `transit` has the date of a typical morning, and the limit of the search.
    graph : RoadGraph
        The graph of streets that is searched; with a timetable that of walking.
    transit : TransitQuery, optional
        The search of a timetable; None if streets only are searched.
    needs_length : bool
        Whether lengths are searched, too.
    is_length : bool
        Whether the limits of fastest routes are metres.
    needs_border : bool
        Whether a search of a timetable looks for the border of the extract, too.
    charges : tuple of str
        ``"emissions"`` and ``"cost"`` if they are requested, and do not need routes.
    most : dict of str to float
        Largest emissions and costs of the fastest trips; places with more, or without known ones, are not reached. See
        `traveltime_lab.search.trip_costs`.
    """

    network: Network
    question: Question
    graph: RoadGraph
    transit: TransitQuery | None = None
    needs_length: bool = True
    is_length: bool = False
    needs_border: bool = False
    charges: tuple[str, ...] = ()
    most: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, question: Question, network: Network, *, check: bool = True) -> Query:
        """
        Return the query of a question to a network; without a limit, one to a timetable is for snapping only.

        Parameters
        ----------
        question : Question
        network : Network
        check : bool, default True
            Whether to check that the timetable covers the moment and has the modes.
        """
        means, moment = question.transportation, question.moment
        if means.time_dependent and isinstance(moment, dt.datetime):
            graph = timed_graph(network.streets, means, moment, is_arrival=question.is_arrival)
            return cls(network, question, graph)
        if not means.uses_timetable:
            # Without a moment, the question is for snapping only.
            steady = replace(means, time_dependent=False) if means.time_dependent else means
            return cls(network, question, network.road_graph(steady, moment, metric=question.metric))
        if not question.limit:
            return cls(network, replace(question, transportation=means.access), network.road_graph(means.access))
        by_timetable = (
            transit_query(network.transit, question) if check else TransitQuery(transit_of(network), question)
        )
        # Lengths of journeys take as long as the search, so they are computed only on request.
        return cls(network, question, by_timetable.walking, by_timetable, needs_length=False)

    @property
    def moment(self) -> Moment | None:
        """The departure or arrival time."""
        return self.question.moment

    @property
    def day(self) -> dt.date | None:
        """The date that the network has for a typical moment; None if it is not needed."""
        if self.transit is None or not isinstance(self.moment, TypicalMoment):
            return None
        return self.transit.moment.date()

    def at_moment(self, moment: Moment) -> Query:
        """Return the query at another moment, which the timetable covers."""
        found = Query.of(replace(self.question, moment=moment), self.network, check=False)
        return replace(
            found, needs_length=self.needs_length, is_length=self.is_length, needs_border=self.needs_border,
            charges=self.charges, most=self.most,
        )  # fmt: skip

    @property
    def is_in_metres(self) -> bool:
        """Whether limits are metres."""
        return self.is_length or self.graph.metric == "distance"

    def with_limit(self, limit: int) -> Query:
        """Return the query with another limit on the travel time of itineraries."""
        return self if self.transit is None else replace(self, transit=self.transit.asking(limit=limit))

    def snap(self, points: Points, *, is_origin: bool = True) -> Snaps:
        """Snap points to the streets of the mode; prepared points are snapped already."""
        if isinstance(points, PreparedPoints):
            return points.snapped(
                self.network, self.snapped_to(is_origin=is_origin), self.snapping, is_origin=is_origin
            )
        here = shared_by()
        if here is not None and is_origin != self.is_arrival:
            here.n_points = max(here.n_points, len(points))
        means = self.snapped_to(is_origin=is_origin)
        snap = functools.partial(self.snap_at, points.lng, points.lat, is_origin=is_origin)
        return shared("snaps", (points,), snap, means, is_origin)

    def snapped_to(self, *, is_origin: bool) -> Transportation:
        """Return the mode of access of origins, or of egress of destinations, to whose streets they are snapped."""
        if self.transit is None:
            return self.transportation
        return self.transit.transportation.access if is_origin else self.transit.transportation.egress

    def snap_at(self, lng: FloatArray, lat: FloatArray, *, is_origin: bool = True) -> Snaps:
        """Snap coordinates to the streets of the mode of access, or of egress for destinations."""
        needed = CAN_LEAVE if is_origin else CAN_ARRIVE
        return snap_points(self.network.streets, lng, lat, self.snapped_to(is_origin=is_origin), self.snapping, needed)

    @property
    def egress_transportation(self) -> Transportation:
        """Means of transportation at the egress side; with a timetable, this is walking."""
        return self.transportation if self.transit is None else self.transportation.egress

    def field_from(self, snaps: Snaps, limit: float) -> Field:
        """Return the travel-time field of a search from (or to) a snapped point."""
        if self.transit is not None:
            return transit_field(self.transit.asking(limit=math.ceil(limit)), snaps)

        def search(here: Snaps) -> Field:
            by_timetable = (self.graph, here, self.snapping)
            if self.is_length:
                return DistanceField(length_field(*by_timetable, limit_m=limit, is_backward=self.is_arrival))
            if isinstance(self.graph, TimedGraph):
                return TimedField.of(self.graph, here, self.snapping, limit=limit)
            return StreetField(row_field(*by_timetable, limit=limit, is_backward=self.is_arrival))

        return with_island(search(snaps), search, self.graph, snaps, is_backward=self.is_arrival)

    def blocks(self, starts: Snaps, ends: Snaps, limit: int, engine: str = "dijkstra") -> Iterator[matrix.Block]:
        """Yield the blocks of a travel-time matrix, and report pairs as progress."""
        if self.transit is not None:
            found = travel_times.label_blocks(
                self.transit.asking(limit=limit), starts, ends,
                with_length=self.needs_length, with_border=self.needs_border,
            )  # fmt: skip
        else:
            found = matrix.label_blocks(
                self.network.streets, self.graph, starts, ends, self.snapping,
                limit=limit, engine=engine, with_length=self.needs_length,
            )  # fmt: skip
        for block in found:
            yield block
            advance(block.labels.size)

    def nearest(self, starts: Snaps, ends: Snaps, k: int, limit: int) -> tuple[IndexArray, Int64Array] | None:
        """
        Find the `k` nearest destinations of all origins at once; None where a matrix is quicker.

        Returns
        -------
        places : intp array of shape (n_origins, k)
            Positions of the destinations, nearest first; -1 where there is none within the limit.
        labels : int64 array of shape (n_origins, k)
            As in `matrix.label_blocks`.
        """
        if self.transit is not None:
            return None
        linked = k_nearest.link(self.graph, starts, ends, self.snapping)
        way = k_nearest.quickest(self.network.streets, self.graph, *linked, k, limit)
        if way is None:
            return None
        return k_nearest.nearest_places(self.network.streets, self.graph, *linked, self.snapping, k, limit, way)


def ask(
    network: Any,
    transportation: Any,
    departure_time: MomentLike,
    arrival_time: MomentLike,
    snapping: Any,
    metric: Metric = "time",
    **options: Unpack[Options],
) -> Query:
    """Return the query for the arguments that all searches share; see `Question.of`."""
    check_network(network)
    question = Question.of(network.timezone, transportation, departure_time, arrival_time, snapping, metric, **options)
    return Query.of(question, network)


def typical_day_of(network: Network, arguments: Mapping[str, Any]) -> dt.date | None:
    """Return the date that the valid arguments of a search leave to the network; None if there is none."""
    if not any(
        value is WEEKDAY_MORNING or (isinstance(value, str) and value == WEEKDAY_MORNING.value)
        for value in (arguments.get("departure_time"), arguments.get("arrival_time"))
    ):
        return None
    given = arguments["transportation"]
    several = given if isinstance(given, list | tuple) else [given]
    return network.typical_day if any(as_transportation(each).uses_timetable for each in several) else None


def transit_of(network: Network) -> TransitLayer:
    """Return the transit layer of a network that is known to have one."""
    assert network.transit is not None
    return network.transit
