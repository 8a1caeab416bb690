"""
The `Network` class: the streets, timetable and water of a region, which are immutable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traveltime_lab._checks import one_of
from traveltime_lab._digests import digest
from traveltime_lab.errors import InputError, KeywordError
from traveltime_lab.kernels import cache
from traveltime_lab.modes.one_moment import of_one_moment
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import resolve_moment
from traveltime_lab.network import exports, frames, prepared, prepared_file, stress, timetable_frames, unfinished, views
from traveltime_lab.network.data import NetworkData, parts_of
from traveltime_lab.network.file import Contents, write_file
from traveltime_lab.network.history import History
from traveltime_lab.network.report import Report, border_facts, mode_facts, timetable_facts
from traveltime_lab.network.sources import in_words
from traveltime_lab.question import Metric
from traveltime_lab.realtime.growing import Growing
from traveltime_lab.realtime.messages import Messages
from traveltime_lab.realtime.updates import Updates, check_planned, read_updates, with_updates
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.runtime.progress import CompilationBar
from traveltime_lab.runtime.warnings import warn
from traveltime_lab.scenarios.apply import apply_changes, changes_of, check_stops
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.street_changes import AddStreet
from traveltime_lab.streets import graph
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.transit.stop_links import share_stops
from traveltime_lab.transit.timetable import Timetable
from traveltime_lab.transit.typical_day import in_service

if TYPE_CHECKING:
    import datetime as dt


cache.watchers.append(CompilationBar())

#: Memory that a network shares with those with live updates.
_GROWING = Derived[None, Growing]("longer arrays")


class Network(NetworkData):
    """
    The streets, timetable and water of a region, for repeated searches.

    A network is immutable. Search graphs are built on demand and cached. Create networks with `build_network`,
    `load_network` or `sample_network`, not with the constructor.

    Attributes
    ----------
    attribution : str
        Attribution that must be shown with every map of the data.
    timezone : str
        IANA name of the time zone; naive departure and arrival times are in this zone.
    fingerprint : str
        Hash of all data. Networks with equal fingerprints give equal results for equal moments; the date of
        ``"weekday_morning"`` is `typical_day`.
    prepared : tuple of str
        Types of transportation that the network is prepared for.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> network.timezone
    'America/Sao_Paulo'
    >>> edges = network.edges_frame()
    >>> edges[["from_node", "to_node", "length_m"]].shape
    (29161, 3)
    >>> report = network.report()
    >>> report["traffic_keeps"]
    'right'
    """

    def __init__(self, *arguments: Any, **parts: Any) -> None:
        # Users of pandana pass coordinates and edges.
        if len(arguments) > 1 or not (arguments or parts) or not isinstance((*arguments, None)[0], StreetTables | None):
            raise KeywordError(
                "Network(...) is for other modules; create a network with build_network (a file, an osmnx graph, or "
                "tables of nodes and edges), load_network or sample_network"
            )
        super().__init__(*arguments, **parts)

    @classmethod
    def of(cls, contents: Contents) -> Network:
        """Return the network of the contents of a file, with what was prepared."""
        network = cls(**parts_of(contents))
        if contents.prepared is not None:
            header, columns = contents.prepared
            if prepared_file.is_current(header, network.fingerprint):
                parts = header, columns, network.streets, network.transit
                network._prepared = prepared_file.from_columns(*parts, is_known=contents.is_known).pin()
            else:
                network._prepared_before = tuple(header["types"])
        return network

    def with_changes(self, changes: Change | Sequence[Change]) -> Network:
        """
        Return a network with changes of its streets and timetable.

        Every function, the widget and the service answer for the new network; this one stays unchanged. Data that do
        not change are shared between the two. `report` and saved files name the changes.

        Parameters
        ----------
        changes : Change or sequence of Change
            `CloseStreets`, `ReopenStreets`, `SetSpeed`, `AddStreet`, `RemoveRoutes`, `RemoveStops`, `ScaleHeadway`,
            `SetHeadway`, `ShiftTrips`, `AddStop`, `AddLine`, `ClosePathway` and `CloseElevator`, applied one after the
            other. Row numbers of edges are those of this network, also after a change that adds a street.

        Returns
        -------
        Network
            A new network, whose fingerprint differs unless the changes change nothing.

        Raises
        ------
        InputError
            If something is not a change; if a change refers to a way, an edge, a route, a stop or a feed that does not
            exist, or to a timetable of a network without one; if an edge with a name of `changes` is elsewhere; if a
            new street joins no other, or a new stop is too far from any street.
        LimitError
            If a factor gives a speed below 0.1 or above 500 km/h, or trips are moved to the day before.

        Warns
        -----
        UserWarning
            If a street is added to a network with elevation: it is level.

        See Also
        --------
        save_changes, load_changes : Keep changes in a file.
        compare : Compare results before and after.

        Notes
        -----
        Removing something never makes a trip shorter: points stay at their streets, junctions cost what they did, and
        searches without a date are about the same day. Only trips between two points of one island, which a closure
        divides, begin and end on the main network then, and may become shorter with longer walks. The same departures
        are sampled before and after.

        Examples
        --------
        >>> network = tl.sample_network()
        >>> places = tl.sample_points().to_crs(network.crs)
        >>> market = places.buffer(300).iloc[[0]]
        >>> scenario = network.with_changes(
        ...     [tl.CloseStreets(market, modes="driving", name="fair")]
        ... )
        >>> print(scenario.report()["changes"]["1. CloseStreets 'fair'"])
        81 edges, 4.51 km, closed to driving
        """
        if self._planned is not None and self._updates is not None:
            return self._planned.with_changes(changes)._with_messages(self._updates.messages)
        applied = apply_changes(self.tables, self.timetable, self.timezone, changes_of(changes), self.typical_day)
        added = applied.changes
        history = History(
            (*self.history.changes, *added),
            (*self.history.facts, *applied.facts),
            self.history.original or (self.fingerprint if added else None),
        )
        if self.tables.has_slopes and any(isinstance(change, AddStreet) for change in added):
            msg = "new streets are level, as their heights are not known; call add_elevation for the changed network"
            warn(msg)
        changed = _like(self, applied.tables, applied.timetable, history)
        check_stops(changed.streets, added)
        return changed

    def with_updates(self, source: Any, *, feed: str | None = None) -> Network:
        """
        Return a network whose timetable has the live updates of GTFS Realtime messages.

        Every function, the widget and the service answer for the new network; this one stays unchanged. Updates hold
        for the service date that they name; on all other dates the timetable is as planned. Tables that do not
        change are shared between the two. `updates` and `report` say what was applied, and why other updates were not.

        Parameters
        ----------
        source : path-like, bytes, FeedMessage, list of these, or dict
            GTFS Realtime messages in Protocol Buffers, also packed with gzip, or in JSON: files, the content of files,
            or messages of the package gtfs-realtime-bindings. A list has several messages, such as those of trips,
            alerts and vehicles. A dict has the messages of several agencies by the name of their GTFS feed.
        feed : str, optional
            Name of the GTFS feed that the messages are about, where feeds have equal ids. Default: any feed that has
            the ids.

        Returns
        -------
        Network
            A new network, whose fingerprint differs unless the updates change nothing. Earlier updates are replaced.

        Raises
        ------
        InputError
            If there is no timetable or one saved with updates, a feed is unknown, or `source` is something else.
        DataError
            If a message is truncated, or is no GTFS Realtime message. No part of any message is applied then.
        MissingFileError, FileAccessError
            If a file does not exist or cannot be read.
        LimitError
            If a message is larger than 256 MB.

        See Also
        --------
        with_changes : Change streets and timetable by hand.

        Notes
        -----
        Updates of trips are applied as the GTFS Realtime reference says, https://gtfs.org/documentation/realtime/; the
        page "What is different today?" of the user guide has the rules that it leaves open, and the limits.

        Examples
        --------
        >>> import json
        >>> network = tl.sample_network()
        >>> trip = network.trips_frame().trip_id.iloc[0]
        >>> late = {
        ...     "trip": {"trip_id": trip, "start_date": "20190711"},
        ...     "delay": 300,
        ... }
        >>> message = {
        ...     "header": {"gtfs_realtime_version": "2.0"},
        ...     "entity": [{"id": "1", "trip_update": late}],
        ... }
        >>> today = network.with_updates(json.dumps(message).encode())
        >>> today.updates
        <Updates: 1 of 1 trips applied, 0 alerts>
        """
        check_planned(self.timetable, self.tables.report)
        return (self._planned or self)._with_messages(read_updates(source, feed))

    def _with_messages(self, messages: Messages) -> Network:
        """Return this network with the updates of messages."""
        assert self.timetable is not None and self.transit is not None
        timetable, updates, mark = with_updates(self.timetable, messages, _GROWING.of(self, None, Growing))
        fingerprint = digest(self.fingerprint.encode(), mark).hexdigest() if mark else self.fingerprint
        parts = {**parts_of(self), "timetable": timetable, "fingerprint": fingerprint}
        updated = Network(**parts, streets=self.streets)
        assert updated.transit is not None
        share_stops(updated.transit, self.transit)
        updated.transit.alerts_of = updates.of_ride
        updated._planned, updated._updates = self, updates
        return updated

    @property
    def updates(self) -> Updates | None:
        """
        The live updates of `with_updates`; None without any.

        Returns
        -------
        Updates or None
            An object with these attributes:

            - ``trips``: DataFrame with a row for each update of a trip: ``source``, ``entity``, ``trip_id``,
              ``route_id``, ``start_date`` (service date), ``relationship``, ``applied`` (bool) and ``reason`` why it
              was not.
            - ``alerts``: DataFrame with a row for each alert: ``cause``, ``effect``, ``header``, ``description``,
              ``url``, ``routes``, ``stops`` and ``trips`` (tuples of ids), ``periods`` (POSIX seconds) and ``result``,
              which says what it closes, or ``"note"``.
            - ``vehicles``: GeoDataFrame of positions in EPSG:4326 with ``vehicle_id``, ``label``, ``trip_id``,
              ``route_id``, ``stop_id``, ``status``, ``timestamp`` (UTC), ``bearing`` (degrees) and ``speed`` (m/s).
            - ``counts``: dict with the numbers of `report`.
            - ``timestamp``: when the latest message was written, a Timestamp in UTC or None.

        Examples
        --------
        >>> tl.sample_network().updates is None
        True
        """
        return self._updates

    #: The network before the updates, and the updates; see `with_updates`.
    _planned: Network | None = None
    _updates: Updates | None = None

    #: Attributes for the other modules of this package, which `dir` leaves out.
    _internal = frozenset(
        ("frame", "history", "memo", "of", "road_graph", "streets", "tables", "timetable", "transit", "water")
    )

    def __dir__(self) -> list[str]:
        """Return the public attributes, for completion."""
        return [name for name in super().__dir__() if name not in self._internal]

    __getattr__ = views.no_attribute
    _repr_html_ = views.as_html
    nodes_frame = frames.nodes_frame
    edges_frame = frames.edges_frame
    stops_frame = views.stops_frame
    stress_islands = stress.stress_islands
    routes_frame = timetable_frames.routes_frame
    trips_frame = timetable_frames.trips_frame
    plot = views.plot
    explore = views.explore
    to_networkx = exports.to_networkx
    to_osmnx = exports.to_osmnx
    to_pandana = exports.to_pandana

    def road_graph(
        self,
        transportation: str | Transportation,
        moment: dt.datetime | object | None = None,
        *,
        metric: Metric = "time",
    ) -> graph.RoadGraph:
        """
        Return the search graph of a means of transportation; it is cached.

        Parameters
        ----------
        transportation : str or Transportation
            For a type with a timetable, it is the graph of the access to stops.
        moment : datetime or str, optional
            Departure or arrival time; selects the congestion and the turn restrictions for driving.
        metric : {"time", "distance"}, default "time"
            The quantity that searches minimise.
        """
        one_of(metric, "metric", ("time", "distance"))
        when = resolve_moment(moment, self.timezone, name="moment")
        return self.streets.road_graph(of_one_moment(transportation, "a search graph"), when, metric=metric)

    def prepare(
        self, *transportations: str | Transportation | Mapping[str, Any], folder: str | os.PathLike[str] | None = None
    ) -> Network:
        """
        Prepare the network for means of transportation, so that their first searches take no longer than others.

        Search graphs, snap indexes, contraction hierarchies, walks around stops and transfers are built now instead of
        by the first search that needs them, and `save` writes them with the network. Answers do not change.

        Parameters
        ----------
        *transportations : str, Transportation or mapping
            For a type with a timetable, the streets, stops and walks of its access and egress are prepared. Options on
            which these depend are part of the prepared data: ``"driving+ferry"`` differs from ``"driving"``.
        folder : path-like, optional
            Keeps finished data, so that the same call resumes after an interruption; delete it when you have saved.

        Returns
        -------
        Network
            This network.

        Raises
        ------
        ModeError, UnsupportedError
            If a type is unknown, no street is open to it, it needs a timetable and there is none, or `time_dependent`.

        Notes
        -----
        Driving has other speeds at other times of day. This prepares those of searches without a moment, and for all
        moments the order of the hierarchy, most of the work. `add_speeds` keeps the data that do not depend on speeds.
        Prepared data of a different version are not used. Large arrays are in a temporary file (`TMPDIR`).

        Examples
        --------
        >>> network = tl.sample_network("helsinki").prepare("walking")
        >>> path = network.save("helsinki.network")
        >>> tl.load_network(path).prepared
        ('walking',)
        """
        made = unfinished.prepare(self.streets, self.transit, transportations, folder, self.fingerprint)
        self._prepared = self._prepared.merged(made)
        self._prepared_before = ()
        return self

    def report(self) -> Report:
        """
        Return a report on the sources of the network, the data that were dropped, and its connectivity.

        Returns
        -------
        Report
            A dict that prints as text, which begins with three to six sentences on what matters most and what to do,
            also from its method ``verdict``. Facts that are zero have no line.
            ``modes`` has, for each mode, the length of streets in kilometres and the share of them on islands
            (components of fewer than 50 junctions, by car streets, that cannot be left or reached).
            Among the turn restrictions, ``restrictions_with_hours`` hold at some hours of the week, and
            ``restriction_conditions_ignored`` counts the conditions that are not honoured. ``timetable`` has,
            for each feed, the dates covered, the number of trips by day of the week, the rows that were dropped, with
            file and line, and the stops that cannot be used because they are too far from any walkable street.
            ``weekday_morning`` has the date of searches without one (`typical_day`), the number of departures on it,
            and the feeds that do not run then.
            ``border`` says how the border of the extract is known, and how many edges are cut there.
            ``files`` are those that the network was built from, with their dates and hashes.
            ``changes`` says what each change has done, if the network has had any, and ``elevation`` what
            `add_elevation` has found. ``updates`` counts live updates by what became of them. ``stress`` of cycling has
            kilometres by level; ``step_free``, ``lit`` and ``paved`` of walking have them by what is known. Its methods
            ``service``, ``expiry``, ``stops_off_streets`` and ``islands`` have departures by hour, and what to check.
        """
        facts = Report.of(self)
        if "files" in facts:
            facts["files"] = in_words(facts["files"])
        facts["nodes"] = self.n_nodes
        facts["edges"] = self.n_edges
        facts["timezone"] = self.timezone
        facts["traffic_keeps"] = "left" if self.is_left_hand else "right"
        facts["bounds"] = ", ".join(f"{value:.5f}" for value in self.bounds)
        facts["border"] = border_facts(self.tables)
        facts["water_bodies"] = dict(self.water.report)
        facts["attribution"] = self.attribution
        facts["fingerprint"] = self.fingerprint
        facts["prepared_for"] = prepared.as_fact(self.prepared, self._prepared_before)
        facts["modes"] = mode_facts(self.streets)
        if self.transit is not None:
            facts["timetable"] = timetable_facts(self.transit)
            day = self.transit.typical_day
            facts["weekday_morning"] = "never" if day is None else in_service(self.transit.timetable, day)
        if self.changes:
            facts["changes"] = self.history.listed()
            facts["fingerprint_before_changes"] = self.history.original
        if self.updates is not None:
            facts["updates"] = self.updates.facts()
        return facts

    def save(self, path: str | os.PathLike[str]) -> Path:
        """
        Write the network to an Arrow IPC file.

        A network with live updates is saved with its updated timetable, without the messages. When it is loaded,
        `updates` is None, and `with_updates` refuses newer messages; save the planned network for these.

        The file is written under a temporary name and then renamed, so that an incomplete file is never left behind.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced, a symbolic link stays and the file behind it is replaced.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        InputError
            If the path is a folder, a device, a pipe or a socket.
        MissingFileError
            If the folder does not exist.
        FileAccessError
            If the file cannot be written, as on a full disk.

        See Also
        --------
        load_network : Load the file.
        """
        ready = None
        if self._prepared.types:
            ready = prepared_file.to_columns(self._prepared, self.fingerprint, self.streets, self.transit)
        parts = parts_of(self)
        if self.updates is not None:
            # The messages are not saved; the report of the file says that there were some.
            parts["tables"] = replace(self.tables, report={**self.tables.report, "updates": self.updates.facts()})
        return write_file(Contents(**parts, prepared=ready), path)


def check_network(given: Any, name: str = "the first argument") -> None:
    """Raise InputError for anything but a network."""
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        raise InputError(
            f"{name} must be a Network; got {path!r}. Load a saved one with load_network({path!r}), or create one with "
            "build_network"
        )
    if not isinstance(given, Network):
        raise InputError(f"{name} must be a Network; got {type(given).__name__}. Create one with build_network")


def _like(network: Network, tables: StreetTables, timetable: Timetable | None, history: History) -> Network:
    """Return a network of the same place; streets that are the same are shared."""
    changed = {"tables": tables, "timetable": timetable, "history": history, "fingerprint": None}
    streets = network.streets if tables is network.tables else None
    return Network(**{**parts_of(network), **changed}, streets=streets)


def with_speeds(network: Network, tables: StreetTables) -> Network:
    """Return a network with tables that differ in speeds only; prepared data without speeds and updates are kept."""
    planned = network._planned or network
    changed = _like(planned, tables, planned.timetable, planned.history)
    if network._updates is not None:
        changed = changed._with_messages(network._updates.messages)
    changed._prepared = network._prepared.without_speeds(
        (network.streets, network.transit), (changed.streets, changed.transit)
    )
    changed._prepared.pin()
    return changed
