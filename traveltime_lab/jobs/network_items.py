"""
The items of `write_networks`: regions, scenarios and observed days, and the inputs that determine their files.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from traveltime_lab._checks import folded, words
from traveltime_lab._files import explained
from traveltime_lab._keywords import explained_as
from traveltime_lab.errors import InputError, MissingFileError, TravelTimeError
from traveltime_lab.jobs.run import reworded
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.build import ROLES, build_network, checked_arguments
from traveltime_lab.network.network import Network
from traveltime_lab.network.observed_days import ObservedDays
from traveltime_lab.network.prepared import check_timetable, in_words
from traveltime_lab.network.sources import described
from traveltime_lab.scenarios.apply import changes_of
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.file import to_json

#: Ending of the files.
ENDING: Final = ".network"
#: Characters that some system does not allow in names of files.
_NOT_IN_NAMES: Final = frozenset('/\\:*?"<>|')
#: Longest name of a network in bytes: file systems allow 255 for names of files, with what is added to it.
_LONGEST: Final = 200

#: Checks arguments of `build_network`, and names it in errors.
_checked = explained_as("build_network", checked_arguments)


class Item(ABC):
    """A network to create."""

    prepare: tuple[Transportation, ...]

    @abstractmethod
    def network(self, base: Network | None, days: ObservedDays | None) -> Network:
        """Return the network, given that of scenarios and days."""

    @abstractmethod
    def inputs(self, made: Network | None = None) -> dict[str, Any]:
        """Return what determines the bytes of the file, as values of JSON; `made` is the network, if it is there."""

    @property
    def prepared(self) -> dict[str, Any]:
        """The means of transportation, in words, that determine what is prepared."""
        return {"prepared": [in_words(each) for each in self.prepare]}


@dataclass(frozen=True)
class Region(Item):
    """
    A network of files.

    Attributes
    ----------
    files : dict of str to list of Path
        Files by the argument of `build_network`; absolute.
    options : dict
        Other arguments of it.
    part : dict
        The part of the files, in words.
    prepare : tuple of Transportation
    """

    files: dict[str, list[Path]]
    options: dict[str, Any]
    part: dict[str, str]
    prepare: tuple[Transportation, ...]

    def network(self, base: Network | None, days: ObservedDays | None) -> Network:
        """Build the network."""
        return build_network(self.files["osm"], gtfs=self.files["gtfs"], **self.options)

    def inputs(self, made: Network | None = None) -> dict[str, Any]:
        """Return the hashes of the files, and the options; the report of a network has the hashes."""
        if made is None:
            found = [described(path, ROLES[name]) for name, paths in self.files.items() for path in paths]
        else:
            found = made.tables.report["files"]
        files = [{name: file[name] for name in ("role", "name", "sha256")} for file in found]
        side = self.options.get("is_left_hand")
        options = {"timezone": self.options.get("timezone"), "is_left_hand": side if side is None else bool(side)}
        return {"files": files, **self.part, **options, **self.prepared}


@dataclass(frozen=True)
class Scenario(Item):
    """
    A network with changes.

    Attributes
    ----------
    changes : tuple of Change
    of : dict
        Fingerprint and typical day of the network that they change.
    prepare : tuple of Transportation
    """

    changes: tuple[Change, ...]
    of: dict[str, Any]
    prepare: tuple[Transportation, ...]

    def network(self, base: Network | None, days: ObservedDays | None) -> Network:
        """Apply the changes."""
        assert base is not None
        return base.with_changes(self.changes)

    def inputs(self, made: Network | None = None) -> dict[str, Any]:
        """Return the changes, and the network that they change."""
        return {**self.of, "changes": to_json(self.changes), **self.prepared}


@dataclass(frozen=True)
class Day(Item):
    """
    The network of an observed day.

    Attributes
    ----------
    date : date
    of : dict
        Fingerprint and typical day of the planned network; archive and options.
    prepare : tuple of Transportation
    """

    date: dt.date
    of: dict[str, Any]
    prepare: tuple[Transportation, ...]

    def network(self, base: Network | None, days: ObservedDays | None) -> Network:
        """Apply the observations."""
        assert days is not None
        return days[self.date]

    def inputs(self, made: Network | None = None) -> dict[str, Any]:
        """Return the date, the planned network and the archive."""
        return {**self.of, "date": self.date.isoformat(), **self.prepared}


def _of(base: Network) -> dict[str, Any]:
    """Return the inputs of networks that are derived from this one."""
    day = base.typical_day
    return {"network": base.fingerprint, "typical_day": None if day is None else day.isoformat()}


def day_items(days: ObservedDays, base: Network | None, prepare: tuple[Transportation, ...]) -> dict[str, Item]:
    """Return the items of observed days by name."""
    if base is not None and base.fingerprint != days._network.fingerprint:
        msg = "base is not the network of the observed days; give the file of the network that observed_days was given"
        raise InputError(msg)
    check_timetable(prepare, has_timetable=True)
    of = {**_of(days._network), **days._inputs()}
    return {date.isoformat(): Day(date, of, prepare) for date in days}


def items_of(networks: Any, base: Network | None, prepare: tuple[Transportation, ...]) -> dict[str, Item]:
    """Return the items of a mapping by name."""
    if not isinstance(networks, Mapping):
        msg = (
            "networks must map names to arguments of build_network or to changes, such as "
            f"{{'city': {{'osm': 'city.osm.pbf'}}}}, or be observed_days(...); got {type(networks).__name__}"
        )
        raise InputError(msg)
    if not networks:
        raise InputError("networks is empty; give at least one network")
    found: dict[str, Item] = {}
    seen: dict[str, str] = {}
    for key, value in networks.items():
        name = _checked_name(key)
        before = seen.setdefault(folded(name), name)
        if before is not name:
            raise InputError(f"networks has {before!r} and {name!r}, which some systems take for the same name")
        with naming(name):
            found[name] = _region(value, prepare) if isinstance(value, Mapping) else _scenario(value, base, prepare)
    if base is not None and all(isinstance(item, Region) for item in found.values()):
        raise InputError("base is the network of scenarios and observed days, and networks has neither; leave it out")
    return found


def _checked_name(key: Any) -> str:
    """Return the name of a network if it can be that of a file."""
    name = words(key, "each name of networks")
    is_odd = not name.isprintable() or _NOT_IN_NAMES & {*name} or name != name.strip() or name[:1] in ("", ".", "_")
    if is_odd or name.endswith(".") or len(name.encode()) > _LONGEST:
        msg = (
            f"each name of networks becomes that of a file, such as 'helsinki' of helsinki{ENDING}: at most "
            f"{_LONGEST} bytes without any of {' '.join(sorted(_NOT_IN_NAMES))}, not beginning with . or _, and "
            f"without blanks or a point at its ends; got {name!r:.300}"
        )
        raise InputError(msg)
    return name


def _region(given: Mapping[Any, Any], prepare: tuple[Transportation, ...]) -> Region:
    """Return the region of arguments of `build_network`."""
    if odd := [name for name in given if not isinstance(name, str)]:
        raise InputError(f"the arguments of build_network have names; got {odd[0]!r}")
    found = _checked(**{"prepare": prepare, **given})
    if not found.files:
        msg = (
            "osm must be a file or a list of files, which workers can read; got "
            f"{type(given['osm']).__name__} {given['osm']!r:.80}. Build others with build_network, and save them"
        )
        raise InputError(msg)
    for path in (*found.files, *found.feeds):
        with explained(path, "read"):
            if not path.exists():
                raise MissingFileError(f"no file or folder at {path}")
    files = {"osm": [path.absolute() for path in found.files], "gtfs": [path.absolute() for path in found.feeds]}
    options = {name: value for name, value in given.items() if name not in (*files, "prepare")}
    return Region(files, options, {} if found.region is None else found.region.facts(), found.prepare)


def _scenario(given: Any, base: Network | None, prepare: tuple[Transportation, ...]) -> Scenario:
    """Return the scenario of changes."""
    if isinstance(given, Network):
        raise InputError("it is a network already; write it with Network.save")
    if isinstance(given, str | os.PathLike):
        msg = f"give a dict of arguments of build_network, such as {{'osm': {os.fspath(given)!r}}}, or changes"
        raise InputError(msg)
    changes = changes_of(given)
    if base is None:
        raise InputError("changes need the network that they change; give it as base")
    check_timetable(prepare, has_timetable=base.transit is not None)
    return Scenario(changes, _of(base), prepare)


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Name a network in the errors of a ``with`` block."""
    try:
        yield
    except TravelTimeError as error:
        raise reworded(error, f"networks[{name!r}]: {error}") from error.__cause__
    except Exception as error:
        error.add_note(f"networks[{name!r}]")
        raise
