"""
Travel times to all places over the departures of several days: the times at the stops, and the fields that join them.

Only the times at the stops differ between days, as streets are the same. A field of many departures has those of all
days, and its values are statistics of the travel times at each place (`traveltime_lab.kernels.raster.over_days`).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array, unique_values
from traveltime_lab.kernels.raster import over_days
from traveltime_lab.kernels.raster.surface import Window
from traveltime_lab.kernels.transit.range_raptor import nearest_rank
from traveltime_lab.kernels.unreached import NEVER
from traveltime_lab.rounding import most_ms, most_s
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.runtime.threads import side_by_side
from traveltime_lab.streets.snapping import Snaps
from traveltime_lab.surfaces.field import CellReading, all_cells, of_windows
from traveltime_lab.surfaces.tiles import Tile
from traveltime_lab.transit.field import TransitField, transit_field, with_boarding
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.realizable import Names, followed_to_stops, grouped

#: Number of cells that are read at once, which bounds the memory for the ends of their edges (assumed).
_CELLS_AT_ONCE: Final = 4096
#: The statistic that is no percentile: the share of departures that do not reach a place within the limit.
SHARE: Final = None


class AtStops(NamedTuple):
    """
    Travel times between one point and the stops that some departure of a day reaches, or is reached from.

    Attributes
    ----------
    stops : int32 array of shape (n,)
        Rows in the planned timetable.
    ms : int32 array of shape (n_moments, n)
        `NEVER` if there is no journey.
    later : int32 array of shape (n_moments, n), optional
        How much later than planned the journey ends, `NEVER` if it does not end within the limit.
    """

    stops: Int32Array
    ms: Int32Array
    later: Int32Array | None = None

    @property
    def n_values(self) -> int:
        """Number of travel times."""
        return self.ms.size + (0 if self.later is None else self.later.size)


def fastest_at_stops(
    query: TransitQuery, snaps: Snaps, moments: Sequence[dt.datetime], stop_of: Int32Array | None
) -> list[AtStops]:
    """
    Return the shortest travel times between points and all stops at several moments.

    Parameters
    ----------
    query : TransitQuery
    snaps : Snaps
        Points on the search side.
    moments : sequence of datetime
        Ascending.
    stop_of : int32 array of shape (n_planned_stops,), optional
        Rows of the stops of the planned timetable in that of the query, -1 for none; None if they are the same.
    """
    n_stops = query.layer.timetable.n_stops
    times = np.empty((len(snaps), len(moments), n_stops), np.int32)
    for group in grouped(query, moments):
        some = [moments[i] for i in group]
        here = query.asking(moment=some[0])
        search, links = here.search(some), here.links(snaps, is_origin=not query.is_arrival)
        later = [round((moment.timestamp() - some[0].timestamp()) * 1000) for moment in some]
        starts = here.at(search) + np.array(later, np.int64)

        def find(
            point: int,
            of_group: tuple[Any, ...] = (search.stop_times_by_moment, links, starts, here.options, group),
        ) -> None:
            by_moment, links, starts, options, rows = of_group
            times[point, rows] = by_moment(links.of(point), starts, options, is_arrival=query.is_arrival)

        checkpoint()
        side_by_side([functools.partial(find, point) for point in range(len(snaps))])
    if stop_of is not None:
        is_none = stop_of < 0
        times = times[:, :, np.where(is_none, 0, stop_of)]
        times[:, :, is_none] = NEVER
    return [_reached(with_boarding(query, of_point)) for of_point in times]


def realizable_at_stops(
    planned: TransitQuery, day: TransitQuery, snaps: Snaps, moments: Sequence[dt.datetime], names: Names
) -> list[AtStops]:
    """Return the planned travel times from points to all stops, and how late they are on a day; see `followed`."""
    stops = np.flatnonzero(planned.layer.timetable.is_called)
    found = followed_to_stops(planned, day, snaps, stops, moments, names)
    by_point = []
    for point in range(len(snaps)):
        mine = slice(point * stops.size, (point + 1) * stops.size)
        ms, arrived = found.planned[:, mine], found.realizable[:, mine]
        at, ms = _reached(ms)[:2]
        arrived = arrived[:, at]
        later = np.where((ms < NEVER) & (arrived < NEVER), arrived - ms, NEVER).astype(np.int32)
        by_point.append(AtStops(stops[at].astype(np.int32), ms, later))
    return by_point


def _reached(ms: Int32Array) -> AtStops:
    """Return the columns of stops that some departure reaches."""
    at = np.flatnonzero((ms < NEVER).any(axis=0)).astype(np.int32)
    return AtStops(at, np.ascontiguousarray(ms[:, at]))


def joined(days: Sequence[AtStops], n_stops: int) -> over_days.StopTimes:
    """Return the travel times of one point on several days as those of one list of departures."""
    is_reached = np.zeros(n_stops, np.bool_)
    for day in days:
        is_reached[day.stops] = True
    stops = np.flatnonzero(is_reached)
    row_of = np.full(n_stops, -1, np.int32)
    row_of[stops] = np.arange(stops.size)
    has_later = any(day.later is not None for day in days)
    shape = stops.size, sum(len(day.ms) for day in days)
    ms = np.full(shape, NEVER, np.int32)
    later = np.full(shape if has_later else (0, shape[1]), NEVER, np.int32)
    first = 0
    for day in days:
        at = row_of[day.stops], slice(first, first + len(day.ms))
        ms[at] = day.ms.T
        if day.later is not None:
            later[at] = day.later.T
        first += len(day.ms)
    return over_days.StopTimes(row_of, ms, later, ms.min(axis=1, initial=NEVER))


@dataclass(frozen=True)
class DaysField(TransitField):
    """
    A statistic of the travel times of many departures along all streets.

    Attributes
    ----------
    times : StopTimes
    within_s : int
        Limit of plans, and that shares are about.
    statistic : float, optional
        The value is the least travel time that at least this percentage of the departures does not exceed. Or `SHARE`:
        the share of departures with a longer one, inf if it is that of all.
    """

    times: over_days.StopTimes
    within_s: int
    statistic: float | None

    def of(self, statistic: float | None) -> DaysField:
        """Return the field of another statistic."""
        return replace(self, statistic=statistic)

    def cell_readers(self, *arguments: Any, **keywords: Any) -> CellReading:
        """Return the functions that fill the values of cells, and where the reached edges are; see `Field`."""
        # The bounds of the best departure are not those of the statistic.
        return super().cell_readers(*arguments, **keywords)._replace(bounds=None)

    def _gatherer(self, per_metre: float, buffer_m: float) -> Callable[[Tile, Window, Any], None]:
        """Return a function that sets the values of cells, which have walks all the way; see `CellReader.read`."""
        lower = super()._gatherer(per_metre, buffer_m)
        assert self.around is not None
        walked = over_days.Walked(
            self._ports, self.around.by_state, self._on_edges, self.graph.directed, self.is_backward, self.budget_ms
        )
        times, limit_ms, within_ms = self.times, self.limit_ms, most_ms(self.within_s)
        level = most_s(self.within_s)
        rank = -1 if self.statistic is None else nearest_rank(self.statistic, times.ms.shape[1])

        def set_values(tile: Tile, values: Any) -> None:
            # For most cells the departure makes no difference: walking is faster, or no departure reaches them.
            least = values.copy()
            lower(tile, all_cells(tile), least)
            depends = least < values
            cells = np.flatnonzero(depends)
            walks = values.reshape(-1)[cells]
            if self.statistic is None:
                values[...] = np.where(values <= level, 0.0, np.inf)
            for first in range(0, cells.size, _CELLS_AT_ONCE):
                mask = np.zeros(values.shape, np.bool_)
                some = cells[first : first + _CELLS_AT_ONCE]
                mask.reshape(-1)[some] = True
                part, of_some = tile.some(mask), walks[None, first : first + _CELLS_AT_ONCE].copy()
                edges = unique_values(np.concatenate([part.edge.reshape(-1), part.tied_edge]))
                ends = over_days.edge_ends(edges[edges >= 0], walked, times, limit_ms)
                over_days.gather_statistic(
                    part.cells(per_metre, buffer_m), walked, times, ends, limit_ms, within_ms, rank, level, of_some
                )
                values.reshape(-1)[some] = of_some[0]

        return of_windows(set_values)


def days_field(query: TransitQuery, snaps: Snaps, times: over_days.StopTimes, within_s: int) -> DaysField:
    """
    Return the field of the departures of several days, of the share of those that do not reach a place.

    Parameters
    ----------
    query : TransitQuery
        To the planned timetable at any moment, with the limit of the searches for the times.
    snaps : Snaps of length 1
        The point, snapped to the streets of the search side.
    times : StopTimes
    within_s : int
        See `DaysField`.
    """
    least = np.full((1, times.row_of.size), NEVER, np.int32)
    is_reached = times.row_of >= 0
    least[0, is_reached] = times.least[times.row_of[is_reached]]
    field = transit_field(query, snaps, lambda: least)
    own = {each.name: getattr(field, each.name) for each in dataclasses.fields(TransitField)}
    return DaysField(**own, times=times, within_s=within_s, statistic=SHARE)


def calling_at(query: TransitQuery, is_called: BoolArray) -> TransitQuery:
    """Return a query that has ways on streets to stops where vehicles call on some day, but none by plan."""
    layer = query.layer
    if not (is_called & ~layer.timetable.is_called).any():
        return query
    timetable = replace(layer.timetable)
    # The value of the cached property.
    vars(timetable)["is_called"] = is_called | layer.timetable.is_called
    return TransitQuery(TransitLayer(layer.streets, timetable, layer.timezone, layer.typical_day), query.question)
