"""
Prepare a network for some means of transportation, so that its first answer takes no longer than the others.

Searches derive search graphs, snap indexes and hierarchies from the tables of a network when they need them, and keep
them in memos (`traveltime_lab.runtime.memo`) under keys that name everything that they depend on besides their owner.
Preparing computes exactly these values under these keys in advance. They are never dropped, and are saved with the
network. So a prepared value is used where the memo would return the same value, and nowhere else.

Most of them do not depend on speeds: topologies, contraction orders, snap indexes, barriers and the links between stops
and streets; `add_speeds` keeps these. The labels of a road graph, the customized hierarchy, the walks around stops and
the transfers do; they are those of searches without a moment, and for walking and cycling those of all moments. Another
moment of driving has a hierarchy of its own, with the prepared order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from traveltime_lab.errors import ModeError
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.table import SPEED_OPTIONS
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.runtime import on_disk
from traveltime_lab.runtime.memo import Derived, Use, finished_by, recording
from traveltime_lab.streets import border, contraction, engines, layer, snapping
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.surfaces import field
from traveltime_lab.transit import stop_links
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.walks import Walks

logger = logging.getLogger(__name__)

#: Kinds of values that do not depend on speeds, by their names in a saved network.
_OF_STREETS: Final[dict[str, Derived[Any, Any]]] = {
    "topology": layer.TOPOLOGIES,
    "part sizes": engines.PART_SIZES,
    "contraction order": contraction.RANKS,
    "snap index": snapping.INDEXES,
    "islands": snapping.ISLANDS,
    "barriers": snapping.BARRIERS,
    "boxes": field.EDGE_BOXES,
    "stops": stop_links.STOPS,
    "stops at own speeds": stop_links.OWN_STOPS,
}
#: Kinds of values that do.
_OF_SPEEDS: Final[dict[str, Derived[Any, Any]]] = {
    "labels": layer.GRAPHS,
    "labels at own speeds": layer.OWN_GRAPHS,
    "hierarchy": contraction.HIERARCHY,
    "ways to the border": border.WAYS,
    "walks around stops": stop_links.WALKS,
    "transfers": stop_links.TRANSFERS,
}
KINDS: Final = _OF_STREETS | _OF_SPEEDS
_PLAIN: Final = Transportation("walking")
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


@dataclass(frozen=True)
class Prepared:
    """
    The prepared values of a network.

    Attributes
    ----------
    types : tuple of str
        Types of transportation, as the user named them.
    values : tuple of Use
        Values by kind, owner and key. Owners come before the values that are derived from them.
    """

    types: tuple[str, ...] = ()
    values: tuple[Use, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names of kinds, because each process has kinds of its own."""
        rows = tuple((name_of(use), *use[1:]) for use in self.values)
        return _restored, (self.types, rows)

    def pin(self) -> Prepared:
        """Put the values into the memos of their owners, and return this."""
        for kind, owner, key, value in self.values:
            kind.pin(owner, key, value)
        return self

    def merged(self, other: Prepared) -> Prepared:
        """Return all values of both."""
        known = {(name_of(use), id(use.owner), use.key) for use in self.values}
        more = [use for use in other.values if (name_of(use), id(use.owner), use.key) not in known]
        return Prepared(tuple(dict.fromkeys(self.types + other.types)), self.values + tuple(more))

    def without_speeds(self, old: Sequence[Any], new: Sequence[Any]) -> Prepared:
        """
        Return the values that do not depend on speeds, for a network with other speeds.

        Parameters
        ----------
        old, new : sequences
            The layers of both networks, which are the owners of values.
        """
        of = {id(before): after for before, after in zip(old, new, strict=True) if before is not None}
        return Prepared(
            self.types,
            tuple(
                use._replace(owner=of.get(id(use.owner), use.owner))
                for use in self.values
                if name_of(use) in _OF_STREETS
            ),
        )


def _restored(types: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Prepared:
    """Return the pickled values."""
    return Prepared(types, tuple(Use(KINDS[name], *rest) for name, *rest in rows))


def name_of(use: Use) -> str:
    """Return the name of the kind of a value."""
    return _NAMES[use.kind]


def check_timetable(transportations: Iterable[Transportation], *, has_timetable: bool) -> None:
    """Raise ModeError if a means of transportation needs a timetable and there is none."""
    for transportation in transportations:
        if transportation.uses_timetable and not has_timetable:
            msg = (
                f"{transportation.type!r} cannot be prepared, because the network has no timetable; "
                "build it with gtfs=..., or prepare walking, cycling or driving"
            )
            raise ModeError(msg)


class Kept(Protocol):
    """Where values are kept until all are prepared; see `traveltime_lab.network.unfinished`."""

    def keep(self, uses: list[Use]) -> None:
        """Keep values, of which some may have been kept before."""


def prepare(
    streets: StreetLayer,
    transit: TransitLayer | None,
    transportations: Iterable[Transportation],
    kept: Kept | None = None,
) -> Prepared:
    """
    Compute the values that searches by some means of transportation derive from a network.

    Parameters
    ----------
    streets, transit : StreetLayer and TransitLayer
        The layers of the network.
    transportations : iterable of Transportation
    kept : Kept, optional
        Is given the values so far after each step.

    Raises
    ------
    ModeError
        If a means of transportation needs a timetable and there is none, or no street is open to it.
    """
    transportations = tuple(transportations)
    check_timetable(transportations, has_timetable=transit is not None)
    on_disk.trim()
    with recording() as uses, finished_by(_on_disk):

        def keep() -> None:
            if kept is not None:
                kept.keep([use for use in uses if use.kind in _NAMES])

        # Driving first: it has the largest search graph, and takes the most memory while it is contracted.
        for transportation in sorted(transportations, key=lambda means: not means.street.has_turns):
            is_ridden = transportation.uses_timetable
            both = transportation.access, transportation.egress
            for means in dict.fromkeys(both) if is_ridden else (transportation,):
                for _ in _steps(streets, means):
                    keep()
                if transit is not None and (is_ridden or means.street.is_on_foot):
                    stop_links.linked_stops(transit, streets.road_graph(means), means)
                keep()
            if transit is not None and is_ridden:
                for _ in _walked(streets, transit, transportation):
                    keep()
    made = {(use.kind, id(use.owner), use.key): use for use in uses if use.kind in _NAMES}
    values = sorted_by_owner(_in_one_form(made.values()))
    return Prepared(tuple(dict.fromkeys(map(in_words, transportations))), tuple(values))


def _in_one_form(uses: Iterable[Use]) -> Iterator[Use]:
    """Yield values in the form that they have if nothing was searched before, so that files have the same bytes."""
    leaving: dict[tuple[Any, ...], Walks] = {}
    for kind, owner, key, value in uses:
        form = value
        if kind is stop_links.WALKS:
            assert isinstance(key, tuple)
            *others, is_leaving = key
            side = id(owner), *others
            form = leaving.setdefault(side, value.alone()) if is_leaving else value.beside(leaving[side])
        yield Use(kind, owner, key, form)


def sorted_by_owner(uses: Iterable[Use]) -> list[Use]:
    """Return values in an order in which owners come first: labels belong to a topology, hierarchies to labels."""
    order = {name: place for place, name in enumerate(("topology", "labels", "labels at own speeds"))}
    return sorted(uses, key=lambda use: order.get(name_of(use), len(order)))


def _on_disk(kind: str, value: Any) -> Any:
    """Return a value with its large arrays in a file, so that the next value has their memory."""
    kept = on_disk.moved(value)
    logger.info("prepared kind=%r bytes=%d", kind, on_disk.new_bytes(value))
    is_moved = kept is not value
    del value
    if is_moved:
        on_disk.let_go()
        on_disk.trim()
    return kept


def listed(types: tuple[str, ...]) -> str:
    """Return types of transportation as "walking, cycling and driving"."""
    return " and ".join(filter(None, (", ".join(types[:-1]), *types[-1:])))


def as_fact(types: tuple[str, ...], before: tuple[str, ...]) -> str:
    """Return the text of the report about the types prepared by this and by a different version."""
    text = listed(types) or "nothing"
    if before:
        text += f" (the file was prepared for {listed(before)} by another version of traveltime_lab: "
        text += "call prepare and save again)"
    return text


def in_words(means: Transportation) -> str:
    """Return a type, with the options of which the prepared values depend."""
    options = {
        "include_roads": ", ".join(means.include_roads),
        "exclude_roads": ", ".join(means.exclude_roads),
        "traffic_model": means.traffic_model or "",
        **{name: "" if (kph := getattr(means, name)) is None else f"{kph:g} km/h" for name in SPEED_OPTIONS},
        "max_stress": "" if means.stress_limit is None else str(means.stress_limit),
        "push_above_stress": str(means.push_above_stress) if means.push_above_stress else "",
        "step_free": str(means.step_free or ""),
        "max_incline": "" if means.max_incline is None else f"{means.max_incline:g} %",
        "min_width": "" if means.min_width is None else f"{means.min_width:g} m",
        "avoid": ", ".join(means.avoid),
        **{
            name: "" if (seconds := getattr(means, name)) == getattr(_PLAIN, name) else str(seconds)
            for name in ("boarding_time", "walking_time", "transfer_walking_time")
        },
    }
    text = [f"{name} {value}" for name, value in options.items() if value]
    return f"{means.type} ({'; '.join(text)})" if text else means.type


def _steps(streets: StreetLayer, means: Transportation) -> Iterator[None]:
    """Compute all values that searches on streets need, and yield after those that take long."""
    graph = streets.road_graph(means)
    if not graph.topology.is_open.any():
        msg = f"{means.type!r} cannot be prepared, because no street of the network is open to it; leave it out"
        raise ModeError(msg)
    yield
    contraction.ranks(streets, graph.topology)
    yield
    contraction.hierarchy(streets, graph)
    yield
    engines.part_sizes(graph)
    accept_roads = Snapping().accept_roads
    snapping.snap_index(streets, means, accept_roads)
    for needed in (snapping.CAN_LEAVE, snapping.CAN_ARRIVE, snapping.MAIN):
        snapping.island_index(streets, means, accept_roads, needed)
    snapping.barriers(streets)
    field.edge_boxes(streets)
    if border.is_known(streets):
        for is_arrival in (False, True):
            border.times_to_border(streets, graph, means, Snapping(), is_arrival=is_arrival)


def _walked(streets: StreetLayer, transit: TransitLayer, means: Transportation) -> Iterator[None]:
    """Compute the walks around stops and the transfers of a means of transportation, and yield after each."""
    stops = stop_links.linked_stops(transit, streets.road_graph(means.egress), means.egress)
    stop_links.walks(transit, stops, means.walking_time, is_leaving=True)
    yield
    if means.access.type == means.egress.type:
        stop_links.walks(transit, stops, means.walking_time, is_leaving=False)
        yield
    stop_links.changes(transit, stops, means.transfer_walking_time, means.walking_time)
    yield
