"""
The data of a network: its parts, and the values that follow from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from traveltime_lab.crs import LocalFrame
from traveltime_lab.network.file import Contents, hash_of_streets, plain_arrays
from traveltime_lab.network.file import fingerprint as fingerprint_of
from traveltime_lab.network.history import History
from traveltime_lab.network.prepared import Prepared, listed
from traveltime_lab.network.water import WaterBodies
from traveltime_lab.runtime.memo import Derived, Memo
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.tables import StreetTables
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.timetable import Timetable

if TYPE_CHECKING:
    import datetime as dt

    from pyproj import CRS

#: The state of the hash of streets and water, to which that of the timetable is added.
_HASH = Derived[None, Any]("hash of streets")


#: Parameters of `NetworkData` that a file keeps.
_PARTS: Final = (
    "tables", "water", "timezone", "is_left_hand", "attribution", "timetable", "fingerprint", "history", "typical_day"
)  # fmt: skip


class NetworkData:
    """
    The parts of a network; `Network` has the functions.

    Parameters
    ----------
    tables : StreetTables
        Nodes, edges, lines and turn restrictions.
    water : WaterBodies
        Sea, lakes and wide rivers.
    timezone : str
        IANA name of the time zone; naive departure and arrival times are in this zone.
    is_left_hand : bool
        Whether traffic keeps left.
    attribution : str
        Attribution that must be shown with every map of the data.
    timetable : Timetable, optional
        Timetable of the GTFS feeds.
    fingerprint : str, optional
        Fingerprint of a saved network; computed if not given.
    history : History, optional
        The changes that the network has had.
    streets : StreetLayer, optional
        Streets to share with another network of the same tables.
    typical_day : date, optional
        The day of searches without a date, of a saved network or of the one before changes; chosen if not given.
    """

    def __init__(
        self,
        tables: StreetTables,
        *,
        water: WaterBodies,
        timezone: str,
        is_left_hand: bool,
        attribution: str,
        timetable: Timetable | None = None,
        fingerprint: str | None = None,
        history: History | None = None,
        streets: StreetLayer | None = None,
        typical_day: dt.date | None = None,
    ) -> None:
        for array in plain_arrays(tables).values():
            array.setflags(write=False)
        self.history = history or History()
        if streets is None:
            streets = StreetLayer(tables, is_left_hand=is_left_hand, shores=water.outlines)
        self.streets = streets
        self.transit = None
        if timetable is not None:
            self.transit = TransitLayer(streets, timetable, timezone, typical_day)
        self.water = water
        self.timezone = timezone
        self.attribution = attribution
        self.fingerprint = fingerprint or fingerprint_of(
            _HASH.of(streets, None, lambda: hash_of_streets(tables, water, timezone, is_left_hand)), timetable
        )
        self.memo = Memo()
        self._prepared = Prepared()
        #: Types that a different version of this package has prepared, according to the file.
        self._prepared_before: tuple[str, ...] = ()

    # Errors of Python name the class that is public.
    __init__.__qualname__ = "Network.__init__"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes; memos are pickled empty, and what was prepared is put into them again."""
        self.__dict__.update(state)
        self._prepared.pin()

    def __repr__(self) -> str:
        """Return the size and the location in one line."""
        west, south, east, north = self.bounds
        rides = f", {self.timetable.n_trips:,} trips" if self.timetable else ""
        ready = f", prepared for {listed(self.prepared)}" if self.prepared else ""
        return (
            f"<Network of {self.n_nodes:,} nodes and {self.n_edges:,} edges{rides} in "
            f"({west:.4f}, {south:.4f}, {east:.4f}, {north:.4f}), {self.timezone}{ready}>"
        )

    @property
    def changes(self) -> tuple[Change, ...]:
        """
        The changes of the network in their order, from all calls of `with_changes`.

        ``original.with_changes(network.changes)`` is this network again, for the network before the changes. Edges that
        were selected by row have names instead, since row numbers are those of one network only: a tuple of OSM way,
        first and last OSM node, number among the edges with these three, and longitude and latitude of the middle.
        Speeds of `add_speeds` and slopes of `add_elevation` are no changes.
        """
        return self.history.changes

    @property
    def prepared(self) -> tuple[str, ...]:
        """Types of transportation that the network is prepared for; see `prepare`."""
        return self._prepared.types

    @property
    def tables(self) -> StreetTables:
        """Nodes, edges, lines and turn restrictions."""
        return self.streets.tables

    @property
    def timetable(self) -> Timetable | None:
        """Timetable of the GTFS feeds; None without feeds."""
        return None if self.transit is None else self.transit.timetable

    @property
    def typical_day(self) -> dt.date | None:
        """
        Date of ``"weekday_morning"`` for types with a timetable; None without a timetable, or without service.

        It is chosen when the network is built and saved with it, so that it does not depend on the day of a search.
        Among the days between Tuesday and Thursday on which most feeds run (all of them, if there is such a day), it is
        one with 95 % of the departures of the busiest or more, if possible no holiday of the feeds, and of these the
        nearest to the day on which the network is built. `report` names feeds that do not run on it.

        Examples
        --------
        >>> print(tl.sample_network().typical_day)
        2019-07-11
        """
        return None if self.transit is None else self.transit.typical_day

    @property
    def is_left_hand(self) -> bool:
        """Whether traffic keeps left."""
        return self.streets.is_left_hand

    @property
    def frame(self) -> LocalFrame:
        """Local metric coordinates of the network."""
        return self.streets.frame

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.streets.n_nodes

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self.streets.n_edges

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east, north in EPSG:4326; west is larger than east if the box crosses the 180th meridian."""
        return self.streets.bounds

    @property
    def crs(self) -> CRS:
        """Local metric CRS: a transverse Mercator projection centred on the network."""
        from pyproj import CRS  # noqa: PLC0415 - costs 0.1 s that most calls do not need

        return CRS.from_proj4(
            f"+proj=tmerc +lat_0={self.frame.lat0:.6f} +lon_0={self.frame.lng0:.6f} +k=1 +datum=WGS84 +units=m +no_defs"
        )


def parts_of(given: NetworkData | Contents) -> dict[str, Any]:
    """Return the parts of a network, or of the contents of a file, by the name of the parameter."""
    return {name: getattr(given, name) for name in _PARTS}
