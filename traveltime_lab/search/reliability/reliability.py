"""
Travel times and accessibility over days on which vehicles did not run as planned (`reliability`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Literal

import geopandas as gpd
import pandas as pd

from traveltime_lab._checks import one_of, percents_of, travel_time_s
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.limits import MAX_TRAVEL_TIME_S
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation, as_transportation
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.points import PointsLike, as_table, read_points
from traveltime_lab.question import MomentsLike, Question
from traveltime_lab.runtime.executors import check_executor, made_parts
from traveltime_lab.runtime.progress import Progress, advance, check_progress, watched
from traveltime_lab.search.amounts import columns_of_amounts
from traveltime_lab.search.each_moment import warned_once
from traveltime_lab.search.pairs import chosen_pairs
from traveltime_lab.search.receipts.record import DAYS, with_receipt
from traveltime_lab.search.reliability import tables
from traveltime_lab.search.reliability.days import Departures, about_days, check_days, planned_of
from traveltime_lab.search.reliability.study import DayAmounts, DayTimes, Study

FORMS: Final = ("summary", "departures")
#: Largest number of travel times of one kind that are kept, 4 bytes each.
_MOST_TIMES: Final = 100_000_000
#: Largest number of rows of ``form="departures"``.
_MOST_ROWS: Final = 20_000_000
#: Columns of the result that are not amounts.
_RESERVED: Final = ("origin", "date", "departure_time", "n_days", "n_departures", "reason", "geometry")


@explained_keywords
@with_receipt
def reliability(
    network: Network,
    days: Mapping[dt.date, Network],
    origins: PointsLike,
    destinations: PointsLike | None = None,
    *,
    departure_time: MomentsLike,
    travel_time: int | dt.timedelta,
    opportunities: PointsLike | None = None,
    values: str | Sequence[str] | None = None,
    transportation: str | Transportation | Mapping[str, Any] = "public_transport",
    window: int | None = None,
    percentiles: Sequence[float] = (50, 80, 95),
    pairs: Literal["all", "aligned"] | pd.DataFrame = "all",
    form: Literal["summary", "departures"] = "summary",
    snapping: Snapping | Mapping[str, Any] | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
) -> pd.DataFrame | gpd.GeoDataFrame:
    """
    Return how reliable travel times, or accessibility, are over days on which vehicles did not run as planned.

    There are three travel times of each departure: the *planned* one by the timetable; the *observed* one, the fastest
    by the times that vehicles had, as for passengers with perfect information on all delays; and the *realizable* one,
    of passengers who follow the planned itinerary, and take the next vehicle of the line after a missed transfer. These
    are the schedule-based, retrospective and realizable times of [1]_; [2]_ compare the first two.

    Parameters
    ----------
    network : Network
        The planned timetable. Live updates of this network are left out.
    days : mapping of date to Network
        Networks with the times that vehicles had on each service date, such as ``{date: network.with_updates(...)}``.
        Keys are dates, texts such as ``"2026-01-31"``, or Timestamps at midnight. The networks are searched one after
        the other, so that a mapping that creates them on access needs the memory of one. Their stops, routes and trips
        are compared with the planned ones by id, and feeds by name if there are several.
    origins, destinations : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        Points in any CRS, with unique indexes.
    departure_time : datetime, str or list of these
        As in `time_filter`; the time of day is moved to each of the dates. With several moments, that of the first one
        is the date of the day, so that departures after midnight are on the next date. ``"weekday_morning"`` is 8:00.
        Where a time of day is there twice, as the clocks go back, the first one is meant unless the given moment was
        such a second one.
    travel_time : int or timedelta
        Maximum travel time in seconds, 1 to 14400.
    opportunities : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these, optional
        In place of destinations: the amount of these in reach is summed up for each origin, as in `accessibility`.
    values : str or sequence of str, optional
        Columns of `opportunities` with amounts. By default each opportunity counts 1.
    transportation : str, Transportation or mapping, default "public_transport"
        Types with a timetable, with exact headways; see `Transportation`.
    window : int, optional
        Seconds after each departure time, 1 to 43200, with a departure a minute.
    percentiles : sequence of float, default (50, 80, 95)
        Percentages above 0 and at most 100. ``observed_p80`` is the least travel time that at least 80 % of the
        departures of all days do not exceed; for opportunities, the largest amount that is in reach at no less.
    pairs : {"all", "aligned"} or DataFrame, default "all"
        As in `time_filter`; for destinations only.
    form : {"summary", "departures"}, default "summary"
        ``"summary"`` has a row for each pair, or origin; ``"departures"`` one for each of them, day and departure, from
        which all numbers of the summary follow.
    snapping : Snapping or mapping, optional
        Options for snapping points to streets.
    progress : bool or callable, default False
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of pairs.
    executor : concurrent.futures.Executor, optional
        Workers that search the days, such as ``ProcessPoolExecutor(4)`` or ``client.get_executor()`` of a Dask client.
        Each one needs memory for the planned network and for that of one day.

    Returns
    -------
    DataFrame or GeoDataFrame
        With destinations, ``origin`` and ``destination`` (labels); ``planned_p50`` and so on for each of planned,
        observed and realizable and each percentile (Int32, s, NA if fewer departures reach the destination);
        ``planned_share`` and so on, the share of departures within the travel time (float64, 0 to 1);
        ``transfers_missed``, the share of planned transfers between vehicles at which the planned vehicle could not be
        caught (Float64, NA without planned transfers); ``possible``, the share of departures with a planned trip for
        which all its vehicles could be caught (Float64, NA without a planned trip); ``n_days`` and ``n_departures``
        (int32, over all days); and ``reason`` (categorical), why the planned trip never ends within the travel time, NA
        if it does on some day.
        ``form="departures"``: ``origin``, ``destination``, ``date`` (datetime64), ``departure_time`` (timezone-aware),
        ``planned``, ``observed`` and ``realizable`` (Int32, s, NA if unreachable), ``transfers`` and
        ``transfers_missed`` (Int8), ``possible`` (boolean) and ``reason``, why there is no realizable travel time. The
        reasons are those of `time_filter` if there is no planned trip, ``no_vehicle`` if no vehicle of the line leaves
        a stop within the travel time, and ``late`` if the trip ends later.
        With opportunities, a GeoDataFrame indexed like `origins`: for each of `values`, or ``opportunities``, columns
        such as ``jobs_planned_mean`` and ``jobs_realizable_p80`` (float64, NaN for origins without a street),
        ``n_days``, ``n_departures``, ``reason`` and the origin as a point in EPSG:4326. ``form="departures"``:
        ``origin``, ``date``, ``departure_time``, and columns such as ``jobs_planned``.

    Raises
    ------
    InputError
        If days are no mapping of dates to networks with a timetable, a table is empty or has duplicate labels, or an
        argument is unknown.
    CrsError
        If a table has no CRS.
    CoordinateError
        If coordinates are missing, out of range or swapped.
    LimitError
        If `travel_time` is out of range, there are more than 100 million pairs over all departures, or 20 million rows.
    ModeError
        If the transportation is unknown.
    MomentError
        If a given time is ambiguous, a time of day does not exist on one of the dates, as the clocks go forward, or a
        timetable does not cover it.
    UnsupportedError
        If headways are not exact.
    UnfinishedJobError
        If the executor can no longer be used, or its workers ended several times.

    See Also
    --------
    Network.with_updates : The network of a day, from GTFS Realtime.
    time_filter : Travel times by one timetable.

    Notes
    -----
    The planned itinerary is that of `routes` on `network` at the same date and time. On the day, the passenger leaves
    at the planned moment and takes the planned ways on streets. At each stop the passenger takes the vehicle of the
    planned route that arrives first at the planned stop where the ride ends, of those that depart at or after the
    moment at which the passenger is ready: the next one, unless another one overtakes it. A planned vehicle cannot be
    caught if it does not run, does not call at one of the two stops, or departs before this moment. A call at another
    stop of the same station (``parent_station``) than planned counts as one at the planned stop, and the way between
    them takes no time. That a transfer is missed may save time: the number is about the plan. Trips of
    ``frequencies.txt`` are no vehicles of their own: a transfer to one succeeds if any vehicle of its line comes. A
    passenger who plans to walk all the way walks.

    A realizable travel time is not below the observed one, except by the ways between platforms. Departures that do not
    reach a destination within the travel time count as longer than all others. Percentiles of all departures of all
    days are those of ``numpy.percentile(..., method="inverted_cdf")``.

    The receipt has the dates, the fingerprints of the networks that were searched, and the attribute `digest` of the
    days if they have one.

    References
    ----------
    .. [1] Liu, Porr, Miller. "Realizable accessibility: evaluating the reliability of public transit accessibility
       using high-resolution real-time data". Journal of Geographical Systems 25, 2023.
       https://doi.org/10.1007/s10109-022-00382-w
    .. [2] Wessel, Farber. "On the accuracy of schedule-based GTFS for measuring accessibility". Journal of Transport
       and Land Use 12(1), 2019. https://doi.org/10.5198/jtlu.2019.1502

    Examples
    --------
    Two days, on one of which the trips of a bus line are 10 minutes late:

    >>> import datetime as dt
    >>> import json
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> trips = network.trips_frame(date="2019-05-14")
    >>> late = [
    ...     {
    ...         "id": trip,
    ...         "trip_update": {
    ...             "trip": {"trip_id": trip, "start_date": "20190514"},
    ...             "delay": 600,
    ...         },
    ...     }
    ...     for trip in trips.query("route == 'T9'").trip_id
    ... ]
    >>> message = {
    ...     "header": {"gtfs_realtime_version": "2.0"},
    ...     "entity": late,
    ... }
    >>> tuesday = network.with_updates(json.dumps(message).encode())
    >>> found = tl.reliability(
    ...     network,
    ...     {
    ...         dt.date(2019, 5, 14): tuesday,
    ...         dt.date(2019, 5, 15): network,
    ...     },
    ...     places.loc[["PUCRS"]],
    ...     places.loc[["Mercado Público"]],
    ...     departure_time="2019-05-14T08:00:00",
    ...     travel_time=3600,
    ...     form="departures",
    ... )
    >>> found[["planned", "observed", "realizable"]]
       planned  observed  realizable
    0     1793      1828        2033
    1     1793      1793        1793
    """
    limit = travel_time_s(travel_time, MAX_TRAVEL_TIME_S)
    check_network(network)
    network = planned_of(network)
    keys = check_days(days)
    dates = tuple(keys)
    means = as_transportation(transportation)
    if not means.uses_timetable:
        msg = f"reliability needs a timetable; transportation {means.type!r} has none, and is the same on all days"
        raise InputError(msg)
    one_of(form, "form", FORMS)
    percents = percents_of(percentiles)
    departures = Departures.of(departure_time, window, network.timezone)
    check_progress(progress)
    check_executor(executor)
    given = _ends(destinations, opportunities, values, pairs)
    question = Question.of(network.timezone, means, departures.on(dates[0])[0], None, snapping, limit=limit)
    starts = read_points(origins, "origins", network.bounds)
    ends = read_points(given, "destinations" if opportunities is None else "opportunities", network.bounds)
    names, amounts = None, None
    if opportunities is not None:
        names, amounts = columns_of_amounts(as_table(opportunities), values, len(ends), _RESERVED)
    chosen = chosen_pairs(pairs, starts, ends)
    study = Study(network, days, keys, question, departures, starts, ends, chosen, amounts)
    with warned_once(2 * len(dates)):
        query, snapped = study.planned(departures.on(dates[0])[0])
        assert query.transit is not None
        query.transit.check_headways("reliability")
        n_departures = [len(departures.on(date)) for date in dates]
        _check_size(form, n_departures, study.n_pairs if amounts is None else len(starts), is_times=amounts is None)
        found: dict[int, DayTimes | DayAmounts] = {}
        with watched(progress, sum(n_departures) * study.n_pairs, "Reliability", "pair"):
            for part, result in made_parts(study, range(len(dates)), executor):
                found[part] = result
                if executor is not None:
                    advance(n_departures[part] * study.n_pairs)
    each = [found[part] for part in range(len(dates))]
    table = tables.Table(query, dates, starts, ends, snapped, percents)
    answer: pd.DataFrame
    if names is None:
        answer = table.of_pairs(each) if form == "summary" else table.of_pairs_by_departure(each)
    else:
        answer = table.of_amounts(names, each) if form == "summary" else table.of_amounts_by_departure(names, each)
    # For the receipt.
    answer.attrs[DAYS] = about_days(days, [day.fingerprint for day in each])
    return answer


def _ends(destinations: Any, opportunities: Any, values: Any, pairs: Any) -> Any:
    """Return the destinations or the opportunities of a call."""
    if (destinations is None) == (opportunities is None):
        what = "neither" if destinations is None else "both"
        msg = f"give destinations, for travel times of pairs, or opportunities, for amounts in reach; got {what}"
        raise InputError(msg)
    if opportunities is None:
        if values is not None:
            msg = "values names columns of opportunities; give these in place of destinations"
            raise InputError(msg)
        return destinations
    if not (isinstance(pairs, str) and pairs == "all"):
        msg = "opportunities are searched from all origins; pairs is for destinations only"
        raise InputError(msg)
    return opportunities


def _check_size(form: str, n_departures: Sequence[int], n_rows: int, *, is_times: bool) -> None:
    """Raise LimitError if a table is too large."""
    n_times = sum(n_departures) * n_rows
    if form == "departures" and n_times > _MOST_ROWS:
        msg = f"form='departures' supports at most {_MOST_ROWS:,} rows; got {n_times:,}. Use form='summary'"
        raise LimitError(msg)
    if is_times and n_times > _MOST_TIMES:
        msg = (
            f"reliability supports at most {_MOST_TIMES:,} pairs over all departures; got {n_times:,}. "
            "Give some origins at a time, or opportunities, whose amounts are summed up"
        )
        raise LimitError(msg)
