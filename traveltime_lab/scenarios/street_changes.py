"""
Changes of streets: close, reopen, add, and give other speeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from traveltime_lab._checks import flag, one_of, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError
from traveltime_lab.modes.table import BASE_MODES
from traveltime_lab.scenarios.changes import (
    Change,
    a_number,
    edges,
    integers,
    line_of,
    modes,
    places_of,
    polygon_of,
    texts,
)
from traveltime_lab.streets.hourly_speeds import MAX_KPH, MIN_KPH

#: Greatest distances from points and beside streets, in metres.
MOST_NEAR_M, MOST_BESIDE_M = 50_000.0, 200.0


@dataclass(frozen=True)
class Selection(Change):
    """Streets by polygon, OSM way, edge, name, or near points."""

    shapes: ClassVar[frozenset[str]] = frozenset({"polygon"})

    polygon: Any = None
    ways: Any = ()
    edges: Any = ()
    streets: Any = field(default=(), kw_only=True)
    near: Any = field(default=(), kw_only=True)
    distance: float | None = field(default=None, kw_only=True)
    beside: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Check the selection."""
        super().__post_init__()
        self._put(
            polygon=None if self.polygon is None else polygon_of(self.polygon),
            ways=integers(self.ways, "ways"),
            edges=edges(self.edges, "edges"),
            streets=() if self._is_none(self.streets) else texts(self.streets, "streets"),
            near=() if self._is_none(self.near) else places_of(self.near),
            beside=a_number(self.beside, "beside", 0.0, MOST_BESIDE_M, "metres"),
        )
        if "" in self.streets:
            raise InputError("streets has an empty name; give names as in edges_frame()['name']")
        if bool(self.near) != (self.distance is not None):
            raise InputError(f"{type(self).__name__} needs both near and distance, in metres, or neither")
        if self.distance is not None:
            self._put(distance=a_number(self.distance, "distance", 0.1, MOST_NEAR_M, "metres"))
        if self.polygon is None and not (self.ways or self.edges or self.streets or self.near):
            raise InputError(f"{type(self).__name__} needs at least one of polygon, ways, edges, streets and near")

    @staticmethod
    def _is_none(value: Any) -> bool:
        """Return whether an argument stands for nothing."""
        return value is None or (isinstance(value, list | tuple) and not value)


@dataclass(frozen=True)
class OfModes(Selection):
    """Streets, and the modes for which they change."""

    modes: Any = BASE_MODES

    def __post_init__(self) -> None:
        """Check the selection and the modes."""
        super().__post_init__()
        self._put(modes=modes(self.modes))


@explained_keywords
@dataclass(frozen=True)
class CloseStreets(OfModes):
    """
    Close streets to some modes.

    A closed street is still there, but no trip leads along it. Junctions, mandatory turns and destination-only zones
    stay as they are, and so do points: trips cannot begin or end at a closed street, and results say so in
    their reason. Vehicles of a timetable keep running and stop where they did; take them out of service with
    `RemoveRoutes` or `RemoveStops`.

    Parameters
    ----------
    polygon : Polygon, MultiPolygon, GeoDataFrame or GeoSeries, optional
        Close every street that meets it, from junction to junction, at all levels; no ferries. Shapes are in
        EPSG:4326, tables in their own CRS.
    ways : int or sequence of int, default ()
        Close these OSM ways.
    edges : int or sequence of int, default ()
        Close these rows of `Network.edges_frame`, of the network that is changed. Names of edges, which
        `Network.changes` has instead of rows, are accepted, too: they mean the same street in other networks, also
        where a new street has split it.
    modes : str or sequence of str, default ("walking", "cycling", "driving")
        Modes to close the streets to.
    streets : str or sequence of str, default ()
        Close the streets with these names, in capitals or not and in any Unicode normalisation: all edges whose
        ``name`` in `Network.edges_frame` is one of them.
    near : Point, (lng, lat), sequence of these, GeoDataFrame or GeoSeries, optional
        Close every street that comes within `distance` of one of these points, from junction to junction, at all
        levels; no ferries. With `streets`, only those of the streets with these names. Points without a table are in
        EPSG:4326.
    distance : float, optional
        Metres from `near`, 0.1 to 50,000.
    beside : float, default 0
        Close also what runs beside the selected streets, within this number of metres (0 to 200), such as the
        cycleways and footways of a bridge: streets that lead along them for half of their length or more, and have the
        same name or are off the ground (bridges, piers and tunnels) as they are. Networks from osmnx do not have what
        is off the ground.
    name : str, default ""
        A name for reports.

    See Also
    --------
    ReopenStreets : The opposite.
    RemoveRoutes, RemoveStops : Take vehicles or stops out of service.
    Network.with_changes : Apply changes.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> edges = network.edges_frame()
    >>> primary = edges[edges["highway"] == "primary"]
    >>> way = int(primary["way_id"].iloc[0])
    >>> scenario = network.with_changes(
    ...     [tl.CloseStreets(ways=way, modes="driving", name="works")]
    ... )
    >>> scenario.report()["changes"]
    {"1. CloseStreets 'works'": '2 edges, 0.38 km, closed to driving'}

    A bridge by its name, with the cycleways on it:

    >>> change = tl.CloseStreets(streets="Pitkäsilta", beside=20)
    >>> closed = tl.sample_network("helsinki").with_changes(change)
    >>> fact = closed.report()["changes"]["1. CloseStreets"]
    >>> fact.split("; ")
    ['4 edges, 0.22 km, closed to walking, cycling and driving',
     '2 edges, 0.11 km, of them beside the others']
    """


@explained_keywords
@dataclass(frozen=True)
class ReopenStreets(OfModes):
    """
    Reopen streets that `CloseStreets` has closed, as if it had not.

    Streets that are closed in the data stay closed.

    Parameters
    ----------
    polygon, ways, edges, modes, streets, near, distance, beside, name
        As in `CloseStreets`.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> closed = network.with_changes([tl.CloseStreets(edges=[7, 8])])
    >>> opened = closed.with_changes([tl.ReopenStreets(edges=[7, 8])])
    >>> opened.fingerprint == network.fingerprint
    True
    """


@explained_keywords
@dataclass(frozen=True)
class SetSpeed(OfModes):
    """
    Give streets other speeds.

    Directions that are closed to a mode remain closed. Speeds for driving are those of free flow, which searches reduce
    by the congestion of the hour. Measured speeds by hour (`add_speeds`) are multiplied by `factor`, and replaced by
    `kph`. The level of traffic stress for cycling follows `kph` of driving.

    Parameters
    ----------
    polygon : Polygon, MultiPolygon, GeoDataFrame or GeoSeries, optional
        Change every street whose midpoint is in it; no ferries.
    ways, edges : int or sequence of int, default ()
        As in `CloseStreets`.
    modes : str or sequence of str, default ("walking", "cycling", "driving")
        Modes to change the speeds of.
    kph : float, optional
        The new speed in km/h, 0.1 to 500.
    factor : float, optional
        Number by which to multiply speeds, 0.01 to 100. Either `kph` or `factor` is needed.
    streets, near, distance, beside
        As in `CloseStreets`.
    name : str, default ""
        A name for reports.

    See Also
    --------
    add_speeds : Speeds by class of street, or for many streets.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> edges = network.edges_frame()
    >>> residential = edges[edges["highway"] == "residential"]
    >>> ways = residential["way_id"].unique()[:10]
    >>> calmer = network.with_changes(
    ...     [tl.SetSpeed(ways=ways, modes="driving", kph=20)]
    ... )
    >>> slow = calmer.edges_frame()[edges["way_id"].isin(ways)]
    >>> int(slow["driving_kph_forward"].max())
    20
    """

    kph: float | None = None
    factor: float | None = None

    def __post_init__(self) -> None:
        """Check speed and factor."""
        super().__post_init__()
        if (self.kph is None) == (self.factor is None):
            raise InputError("SetSpeed needs either kph or factor")
        if self.kph is not None:
            self._put(kph=a_number(self.kph, "kph", MIN_KPH, MAX_KPH, "km/h"))
        if self.factor is not None:
            self._put(factor=a_number(self.factor, "factor", 0.01, 100.0, "times the speed"))


@explained_keywords
@dataclass(frozen=True)
class AddCycleTrack(Selection):
    """
    Build cycle tracks along streets: their traffic stress becomes 1, whatever it was.

    Crossings stay as they are, and so do speeds. A network with the change equals one of OpenStreetMap data in which
    the streets have the tag ``cycleway=track``. Where cyclists may not go at all, such as on motorways, nothing is
    built; reports say so.

    Parameters
    ----------
    polygon : Polygon, MultiPolygon, GeoDataFrame or GeoSeries, optional
        Build along every street that meets it, from junction to junction; no ferries.
    ways, edges : int or sequence of int, default ()
        As in `CloseStreets`.
    direction : {"both", "forward", "backward"}, default "both"
        For cyclists along the line of the edge in `Network.edges_frame` (``"forward"``), against it, or in each
        direction in which cars drive. A track against a one-way street opens it to cycling in that direction.
    streets, near, distance, beside
        As in `CloseStreets`.
    name : str, default ""
        A name for reports.

    See Also
    --------
    Transportation : `max_stress` is the highest level that a cyclist accepts.
    AddStreet : A path of its own, where there is no street.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> tracks = network.with_changes(
    ...     tl.AddCycleTrack(streets="Avenida Ipiranga")
    ... )
    >>> edges = tracks.edges_frame().query("name == 'Avenida Ipiranga'")
    >>> int(edges["stress_forward"].max())
    1
    """

    direction: Literal["both", "forward", "backward"] = "both"

    def __post_init__(self) -> None:
        """Check selection and direction."""
        super().__post_init__()
        one_of(self.direction, "direction", ("both", "forward", "backward"))


@explained_keywords
@dataclass(frozen=True)
class MakeStepFree(Selection):
    """
    Remove what is in the way of wheelchairs along streets and at their ends: ramps beside stairs, lowered kerbs, gates.

    The streets and the nodes at their ends are then known to be passable, whatever their slope and width, and speeds
    stay as they are. Nothing changes for others. Choose the crossing to lower its kerbs, or the stairs to build a ramp.

    Parameters
    ----------
    polygon : Polygon, MultiPolygon, GeoDataFrame or GeoSeries, optional
        Change every street that meets it, from junction to junction; no ferries.
    ways, edges : int or sequence of int, default ()
        As in `CloseStreets`.
    streets, near, distance, beside
        As in `CloseStreets`.
    name : str, default ""
        A name for reports.

    See Also
    --------
    Transportation : `step_free` walks are those that need it.
    explain : Names what is in the way.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> edges = network.edges_frame()
    >>> stairs = edges.index[edges["highway"] == "steps"]
    >>> ramps = network.with_changes(tl.MakeStepFree(edges=stairs.tolist()))
    >>> set(ramps.edges_frame().loc[stairs, "step_free"])
    {'yes'}
    """


@explained_keywords
@dataclass(frozen=True)
class AddStreet(Change):
    """
    Add a street, joined to the streets that it crosses or touches.

    Motorways and ferries are crossed without a junction. Points that are nearer to the new street than to any other use
    it. Where it makes a junction, cars need as long for turns as at other junctions.

    Parameters
    ----------
    line : LineString or sequence of (lng, lat)
        The street in EPSG:4326, within the bounds of the network. Ends within 10 m of a street are moved onto it.
    speeds : mapping
        Speeds in km/h by mode, such as ``{"walking": 5, "cycling": 15}``, 0.1 to 500. Other modes cannot use it.
    oneway : bool, default False
        Whether cycling and driving are along the line only. Walking is in both directions, as in OpenStreetMap.
    joins : {"crossings", "ends"}, default "crossings"
        Whether to join all streets that the line crosses or touches, or those at its ends only, as for a bridge or a
        tunnel.
    highway : str, default "unclassified"
        Class of the street, a value of OpenStreetMap's tag ``highway``. It decides the congestion, the
        traffic stress for cycling, together with the speed of driving, and how maps draw the street.
    name : str, default ""
        Name of the street, also for reports.

    Examples
    --------
    >>> network = tl.sample_network()
    >>> ends = tl.sample_points().geometry.iloc[:2]
    >>> path = tl.AddStreet(
    ...     list(zip(ends.x, ends.y)),
    ...     {"walking": 5, "cycling": 18},
    ...     joins="ends",
    ...     name="Sea path",
    ... )
    >>> network.with_changes([path]).n_edges > network.n_edges
    True
    """

    shapes: ClassVar[frozenset[str]] = frozenset({"line"})

    line: Any
    speeds: Any
    oneway: bool = False
    joins: Literal["crossings", "ends"] = "crossings"
    highway: str = "unclassified"

    def __post_init__(self) -> None:
        """Check line and speeds."""
        super().__post_init__()
        self._put(line=line_of(self.line), oneway=flag(self.oneway, "oneway"))
        one_of(self.joins, "joins", ("crossings", "ends"))
        if not words(self.highway, "highway") or self.highway == "ferry":
            raise InputError(f"highway must be a class of street such as 'residential'; got {self.highway!r}")
        if not isinstance(self.speeds, Mapping):
            raise InputError(f"speeds must map modes to km/h, such as {{'walking': 5}}; got {self.speeds!r}")
        found = {
            mode: a_number(self.speeds[mode], f"the speed of {mode}", MIN_KPH, MAX_KPH, "km/h")
            for mode in modes(list(self.speeds), "speeds")
        }
        self._put(speeds=found)
