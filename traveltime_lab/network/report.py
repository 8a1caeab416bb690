"""
Report on a network: its sources, the data that were dropped and why, and its connectivity.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import shapely

from traveltime_lab._arrays import BoolArray, FloatArray, IndexArray
from traveltime_lab._files import write_bytes
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import as_date, today
from traveltime_lab.network import avoid, speed_profiles, step_free, stress
from traveltime_lab.network.doubtful_speeds import doubtful_speeds
from traveltime_lab.network.frames import edges_frame
from traveltime_lab.network.report_figure import figure
from traveltime_lab.network.report_html import facts_table, finding, page, service_tables, verdict_list
from traveltime_lab.network.report_text import report_lines, worded
from traveltime_lab.network.verdict import verdict
from traveltime_lab.network.views import stops_frame
from traveltime_lab.streets import snapping
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.tables import StreetTables, street_km
from traveltime_lab.transit.doubtful_trips import fast_rides, overtaking_trips
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.service_hours import departures_by_hour
from traveltime_lab.transit.station_report import access_facts, far_stops
from traveltime_lab.transit.timetable_report import days_left, headway_lines

if TYPE_CHECKING:
    import geopandas as gpd
    from matplotlib.figure import Figure

    from traveltime_lab.network.data import NetworkData

_WALKING: Final = Transportation("walking")
#: Maximum number of stops that the report lists by name.
_STOPS_LISTED = 5


class Report(dict[str, Any]):
    """
    Report on a network: a dict that prints as text, and tables of what to look at.

    The tables are computed on access. Copies and pickles of a report contain the dict only.
    """

    # The network is not part of the dict, so that reports compare, print and pickle by their facts.
    _network: NetworkData | None = None

    @classmethod
    def of(cls, network: NetworkData) -> Report:
        """Return a report on a network, with the facts of its source so far."""
        report = cls(network.tables.report)
        report._network = network
        return report

    def verdict(self, on: dt.date | str | None = None) -> list[str]:
        """
        Return three to six sentences: the size of the network, then what matters most about its data and what to do.

        Parameters
        ----------
        on : date or str, optional
            Date from which days count; by default today, in the time zone of the network.

        Returns
        -------
        list of str
            The findings that pass their thresholds, the most important first, at most four.

        Raises
        ------
        InputError
            If `on` is no date.

        Examples
        --------
        >>> sentences = tl.sample_network().report().verdict("2026-11-26")
        >>> print(sentences[0])
        The network has streets of 1,855 km for walking, 1,820 km for
        cycling and 1,661 km for driving.
        >>> print(sentences[3].partition(";")[0])
        1,476 of 4,231 stops are not on these streets: the extract is
        smaller than the timetable
        """
        return verdict(self, None if on is None else as_date(on, "on"))

    def __str__(self) -> str:
        """Return the verdict, and one line per entry that is not zero."""
        sentences = self.verdict()
        return "\n".join([*sentences, *([""] if sentences else []), *report_lines(self, "")])

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the state of copies and pickles: the dict, without the network."""
        return type(self), (dict(self),)

    def _repr_html_(self) -> str:
        """Return the verdict, the facts and the departures by date and hour as tables, for notebooks."""
        parts = [verdict_list(self.verdict()), facts_table(self, "Report on a network", worded)]
        if self._network is not None and self._network.transit is not None:
            parts.extend(service_tables(self.service()))
        return "".join(parts)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """
        Write the report as a page that needs no other files.

        It has the verdict, the facts, departures by date and hour, the days left of each feed, and the first ten rows
        of each of the tables of what may be wrong.

        Parameters
        ----------
        path : path-like
            File to write; it is written under a temporary name and then renamed.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        InputError
            If the path is a folder or no regular file.
        MissingFileError
            If the folder of the file does not exist.
        FileAccessError
            If the file cannot be written.

        Examples
        --------
        >>> tl.sample_network().report().to_html("report.html").name
        'report.html'
        """
        findings = "" if self._network is None else "".join(finding(*each) for each in self._findings())
        write_bytes(path, page(self._repr_html_() + findings), what="the report", example="report.html")
        return Path(path)

    def plot(self, *, week: dt.date | str | None = None, on: dt.date | str | None = None) -> Figure:
        """
        Draw the report as one figure: departures by date and hour, stops off streets, and islands on a map.

        Parameters
        ----------
        week : date or str, optional
            A day of the week whose departures are drawn, as in `service`.
        on : date or str, optional
            Date from which the days left of each feed count, as in `expiry`.

        Returns
        -------
        Figure
            ``figure.savefig("report.png")`` writes it. Without a timetable it is the map alone.

        Raises
        ------
        InputError
            If `week` or `on` is no date, or is given without a timetable.
        MissingDependencyError
            If matplotlib is not installed.

        Examples
        --------
        >>> figure = tl.sample_network().report().plot(on="2019-06-01")
        >>> figure.savefig("report.png")
        """
        network = self._of("plot")
        if network.transit is None and week is None and on is None:
            return figure(network, None, None, None, self.islands())
        hours, dates = self.service(week), self.expiry(on)
        return figure(network, hours, dates, self.stops_off_streets(), self.islands())

    def service(self, week: dt.date | str | None = None) -> pd.DataFrame:
        """
        Return the number of departures of each feed by service date and hour, over one week.

        Parameters
        ----------
        week : date or str, optional
            A day of the week to count, such as ``"2019-05-14"``. By default the week named by ``week_of`` of each
            feed in the report, one with most trips.

        Returns
        -------
        DataFrame
            ``feed``, ``date`` (service date), ``hour`` and ``departures``, with a row for each hour. A departure is
            that of a trip from its first stop; each repetition of frequencies.txt counts. Hours are those of the
            service date: hour 25 is one o'clock in the night after it. Feeds without service have no rows, unless
            `week` is given.

        Raises
        ------
        InputError
            If the network has no timetable, or `week` is no date.

        Examples
        --------
        >>> hours = tl.sample_network().report().service()
        >>> list(hours.columns)
        ['feed', 'date', 'hour', 'departures']
        """
        return departures_by_hour(self._transit("service").timetable, None if week is None else as_date(week, "week"))

    def expiry(self, on: dt.date | str | None = None) -> pd.DataFrame:
        """
        Return the first and the last date with service of each feed, and the days that are left.

        Parameters
        ----------
        on : date or str, optional
            Date from which to count; by default today, in the time zone of the network.

        Returns
        -------
        DataFrame
            ``feed``, ``first``, ``last`` (dates, None for a feed without service) and ``days_left``: 0 on the last
            date with service, negative after it, missing for a feed without service.

        Raises
        ------
        InputError
            If the network has no timetable, or `on` is no date.

        Examples
        --------
        >>> dates = tl.sample_network().report().expiry("2019-06-01")
        >>> dates["days_left"].tolist()
        [44, 213]
        """
        transit = self._transit("expiry")
        day = today(transit.timezone) if on is None else as_date(on, "on")
        return days_left(transit.timetable, day)

    def headways(self) -> pd.DataFrame:
        """
        Return the lines that run by headway: with rows of frequencies.txt without exact times.

        Returns
        -------
        DataFrame
            ``feed``, ``route_id``, ``line`` (its name), ``mode``, ``least_headway`` and ``most_headway`` (s), and
            ``trips_with_times``, the trips of the line that have times. `Transportation` says how they are
            read.

        Raises
        ------
        InputError
            If the network has no timetable.
        """
        return headway_lines(self._transit("headways").timetable)

    def overtaking(self) -> pd.DataFrame:
        """
        Return the trips that leave later than another of the same stops, and arrive earlier: often errors of a feed.

        Returns
        -------
        DataFrame
            ``feed``, ``date``, ``route_id``, ``trip_id``, ``overtaken`` (the trip that it overtakes by most),
            ``stop_id`` (where) and ``seconds`` (by how much). Each trip is listed on the first date of the week named
            by ``week_of`` of its feed on which it overtakes. Trips of frequencies.txt are left out, as they have no
            times of their own.

        Raises
        ------
        InputError
            If the network has no timetable.

        Examples
        --------
        >>> len(tl.sample_network().report().overtaking())
        4
        """
        return overtaking_trips(self._transit("overtaking").timetable)

    def fast_rides(self) -> gpd.GeoDataFrame:
        """
        Return the rides from one stop to the next that are too fast for their mode, in a straight line.

        Limits by mode are assumed: 130 km/h for buses, coaches and undergrounds, 350 for other trains, 90 for
        ferries, 60 for cable cars, 1,000 for planes. As the times of many feeds are whole minutes, a ride may take a
        minute more.

        Returns
        -------
        GeoDataFrame
            ``feed``, ``route_id``, ``mode``, ``from_stop_id``, ``to_stop_id``, ``km``, ``seconds`` (of the fastest
            trip), ``kph`` and ``trips`` (number of trips that are as doubtful), and the straight lines in EPSG:4326.
            A row for each route and pair of stops, the fastest first.

        Raises
        ------
        InputError
            If the network has no timetable.

        Examples
        --------
        >>> len(tl.sample_network().report().fast_rides())
        0
        """
        import geopandas as gpd  # noqa: PLC0415 - slow to import

        timetable = self._transit("fast_rides").timetable
        rides = fast_rides(timetable).sort_values(["kph", "km"], ascending=False, ignore_index=True)
        ids = timetable.stops["stop_id"].to_numpy(object)
        lng, lat = (timetable.column("stops", name).astype(np.float64) for name in ("stop_lon", "stop_lat"))
        ends = rides[["from_stop", "to_stop"]].to_numpy(np.int64)
        lines = shapely.linestrings(np.stack([lng[ends], lat[ends]], axis=-1))
        rides.insert(3, "from_stop_id", ids[ends[:, 0]])
        rides.insert(4, "to_stop_id", ids[ends[:, 1]])
        return gpd.GeoDataFrame(rides.drop(columns=["from_stop", "to_stop"]), geometry=lines, crs="EPSG:4326")

    def stops_off_streets(self) -> gpd.GeoDataFrame:
        """
        Return the stops that cannot be used, because they are too far from any walkable street.

        Returns
        -------
        GeoDataFrame
            The rows of `Network.stops_frame` for these stops, with ``metres`` to the nearest walkable street (inf if
            there is none).

        Raises
        ------
        InputError
            If the network has no timetable.

        Examples
        --------
        >>> len(tl.sample_network().report().stops_off_streets())
        1476
        """
        transit = self._transit("stops_off_streets")
        called = np.flatnonzero(transit.timetable.is_called)
        far = far_stops(transit, *_places(transit, called), called)
        frame = stops_frame(self._of("stops_off_streets")).iloc[far].reset_index(drop=True)
        frame.insert(len(frame.columns) - 1, "metres", _metres(transit, called[far]))
        return frame

    def islands(self) -> gpd.GeoDataFrame:
        """
        Return the edges on islands: street that cannot be left or reached by some mode.

        Returns
        -------
        GeoDataFrame
            ``way_id``, ``name``, ``length_m`` and whether the edge is on an island for ``walking``, ``cycling`` and
            ``driving``. The index is that of `Network.edges_frame`.

        Examples
        --------
        >>> report = tl.sample_network().report()
        >>> islands = int(report.islands()["driving"].sum())
        >>> islands == report["modes"]["driving"]["island_edges"]
        True
        """
        network = self._of("islands")
        masks = {mode: _open_and_islands(network.streets, mode)[1] for mode in BASE_MODES}
        some = np.any(list(masks.values()), axis=0)
        edges = edges_frame(network)[["way_id", "name", "length_m", "geometry"]]
        edges.attrs = {}
        found = edges[some].copy()
        for place, (mode, mask) in enumerate(masks.items(), 3):
            found.insert(place, mode, mask[some])
        return found

    def doubtful_speeds(self) -> gpd.GeoDataFrame:
        """
        Return the streets whose speeds for cars may be wrong.

        Returns
        -------
        GeoDataFrame
            ``way_id``, ``name``, ``highway`` (road class), ``length_m``, ``kph`` (the higher one of both directions),
            ``usual_kph`` and ``reason``, with the lines in EPSG:4326; the index is that of `Network.edges_frame`.
            Reasons are ``too_fast`` (more than 145 km/h), ``differs_from_neighbours`` (twice as fast or as slow as all
            sections of the same street before and after it; ``usual_kph`` is the nearest of their speeds) and
            ``differs_from_class`` (three times as fast or as slow as the median of its road class, if that has 30 edges
            or more). These limits are assumed.

        Examples
        --------
        >>> doubtful = tl.sample_network().report().doubtful_speeds()
        >>> doubtful["reason"].value_counts().to_dict()
        {'differs_from_class': 36, 'differs_from_neighbours': 1}
        """
        network = self._of("doubtful_speeds")
        found = doubtful_speeds(network.tables).set_index("edge")
        frame = edges_frame(network)[["way_id", "name", "highway", "length_m", "geometry"]].loc[found.index]
        frame.attrs, frame.index.name = {}, None
        for place, name in enumerate(("kph", "usual_kph", "reason"), 4):
            frame.insert(place, name, found[name].to_numpy())
        return frame

    def _findings(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield titles and tables of what may be wrong."""
        network = self._of("to_html")
        if network.transit is not None:
            yield "Days left of each feed", self.expiry()
            yield "Stops too far from any walkable street", self.stops_off_streets()
            yield "Trips that overtake others", self.overtaking()
            yield "Rides that are too fast for their mode", self.fast_rides()
        yield "Streets on islands", self.islands()
        yield "Streets whose speeds may be wrong", self.doubtful_speeds()

    def _of(self, method: str) -> NetworkData:
        """Return the network of the report."""
        if self._network is None:
            msg = f"{method}() needs the network of the report, which copies do not have; call network.report() again"
            raise InputError(msg)
        return self._network

    def _transit(self, method: str) -> TransitLayer:
        """Return the timetable of the network and its streets."""
        transit = self._of(method).transit
        if transit is None:
            msg = f"{method}() needs a timetable, which the network has not; build it with gtfs=, a GTFS feed"
            raise InputError(msg)
        return transit


def border_facts(tables: StreetTables) -> dict[str, Any] | str:
    """Return how the border of the extract is known, and how many edges are cut there."""
    if tables.extent is None:
        return "not known: the file does not say where it was cut"
    return {"is_from": tables.extent.in_words, "edges_cut": int(tables.edge_is_cut.sum())}


def mode_facts(streets: StreetLayer) -> dict[str, Any]:
    """
    Return, for each mode, the length of streets in kilometres, the share of them on islands, and what is known of them.

    Edges are counted with those of ferries, lengths without.
    """
    modes: dict[str, Any] = {}
    for base in BASE_MODES:
        is_open, on_island = _open_and_islands(streets, base)
        km, island_km = street_km(streets.tables, is_open), street_km(streets.tables, on_island)
        modes[base] = {
            "edges": int(is_open.sum()),
            "street_km": km,
            "island_edges": int(on_island.sum()),
            "island_share": island_km / km if km else 0.0,
        }
    modes = stress.with_facts(modes, streets)
    modes = speed_profiles.with_facts(modes, streets.tables)
    return avoid.with_facts(step_free.with_facts(modes, streets.tables), streets.tables)


def _open_and_islands(streets: StreetLayer, base: str) -> tuple[BoolArray, BoolArray]:
    """Return for each edge whether it is open to a mode, and whether it is on an island for it."""
    topology = streets.road_graph(Transportation(f"{base}+ferry")).topology
    is_open = topology.is_open[0::2] | topology.is_open[1::2]
    return is_open, is_open & ~(topology.can_leave & topology.can_arrive)


def timetable_facts(transit: TransitLayer) -> dict[str, Any]:
    """Return the report on the timetable of each feed, including stops that are not connected to streets."""
    feeds: dict[str, Any] = transit.timetable.report()
    for feed, facts in enumerate(feeds.values()):
        facts |= {"stops_off_streets": _stops_off_streets(transit, feed), **access_facts(transit, feed, facts)}
    return feeds


def _stops_off_streets(transit: TransitLayer, feed: int) -> dict[str, Any]:
    """Return the stops of a feed that are too far from any walkable street."""
    timetable = transit.timetable
    rows = np.flatnonzero(timetable.is_called & (timetable.column("stops", "feed_idx") == feed))
    far = rows[far_stops(transit, *_places(transit, rows), rows)]
    facts: dict[str, Any] = {"number": far.size, "of": rows.size, "farther_than_m": snapping.STOP_SNAPPING.threshold}
    if far.size:
        some = far[:_STOPS_LISTED]
        names, metres = timetable.stops["stop_id"].iloc[some], _metres(transit, some)
        facts["such_as"] = ", ".join(f"{name} ({m:,.0f} m)" for name, m in zip(names, metres, strict=True))
    return facts


def _metres(transit: TransitLayer, rows: IndexArray) -> FloatArray:
    """Return the distance of some stops to the nearest walkable street."""
    return snapping.metres_to_streets(transit.streets, *_places(transit, rows), _WALKING)


def _places(transit: TransitLayer, rows: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return longitude and latitude of some stops."""
    lng, lat = (transit.timetable.column("stops", name).astype(np.float64)[rows] for name in ("stop_lon", "stop_lat"))
    return lng, lat
