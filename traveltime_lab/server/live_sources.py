"""
Where the service finds live updates: files and addresses, with the networks and feeds that they are about.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from traveltime_lab._checks import did_you_mean, plain_text
from traveltime_lab._files import as_path, explained
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network
from traveltime_lab.realtime.match import feed_number
from traveltime_lab.realtime.updates import check_planned
from traveltime_lab.server.live_readers import SCHEMES

#: Sources of a service (assumed); each has a thread.
_MOST_SOURCES: Final = 100
#: Characters of names for logs and metrics (assumed).
_LONGEST_LABEL: Final = 200


@dataclass(frozen=True)
class UpdateSource:
    """
    A file or an address of live updates.

    Parameters
    ----------
    address : str
        Path, or address with http or https.
    map : str, optional
        Name of the network; None for the only one.
    feed : str, optional
        Name of the GTFS feed that the messages are about.
    label : str
        Name for logs and metrics: the host of an address and the last part of its path, as the rest may contain a key,
        or the name of the file.
    """

    address: str
    map: str | None = None
    feed: str | None = None
    label: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether it is an address."""
        return self.address.lower().startswith(SCHEMES)


def update_sources(given: Any, maps: tuple[str, ...]) -> tuple[UpdateSource, ...]:
    """
    Return the sources that the argument `updates` of `serve` gives.

    Parameters
    ----------
    given : path-like, list of these, or mapping
        A mapping has names of networks or of feeds as keys; see `traveltime_lab.serve`.
    maps : tuple of str
        Names of the networks.
    """
    return tuple(_sources(given, maps, None, None))


def _sources(given: Any, maps: tuple[str, ...], name: str | None, feed: str | None) -> list[UpdateSource]:
    if isinstance(given, Mapping):
        if any(not isinstance(key, str) for key in given):
            raise InputError(f"the keys of updates must be names of networks or feeds; got {[*given]!r}")
        if feed is not None:
            raise InputError(f"updates of feed {feed!r} must be a file or an address, or a list of these; got a dict")
        is_by_map = name is None and (len(maps) > 1 or {*given} <= {*maps})
        if is_by_map:
            return [each for key, inner in given.items() for each in _sources(inner, maps, key, None)]
        return [each for key, inner in given.items() for each in _sources(inner, maps, name, key)]
    if isinstance(given, list | tuple):
        nested = [each for each in given if isinstance(each, list | tuple | Mapping)]
        if nested:
            raise InputError(f"a list of updates must have files or addresses; got {nested[0]!r}")
        return [each for inner in given for each in _sources(inner, maps, name, feed)]
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "updates must be a file or an address that is read again and again, a list of these, or a dict by network "
            f"or feed; got {type(given).__name__}"
        )
    text = os.fspath(as_path(given, "updates")) if not isinstance(given, str) else given
    return [UpdateSource(text.strip(), name, feed)]


def parsed(text: str) -> UpdateSource:
    """Return the source that an option ``[NETWORK][:FEED]=FILE_OR_URL`` of the command specifies."""
    names, equals, address = text.partition("=")
    if not equals or "/" in names or "\\" in names:
        return UpdateSource(text.strip())
    name, _, feed = names.partition(":")
    return UpdateSource(address.strip(), name.strip() or None, feed or None)


def name_of(source: UpdateSource, names: tuple[str, ...]) -> str:
    """Return the name of the network that a source is about; InputError if there is none, or several could be meant."""
    if source.map is None and len(names) > 1:
        raise InputError(
            f"updates must name the network that they are about, which is one of {', '.join(names)}; write "
            f"NETWORK={_label(source)}, or pass a dict"
        )
    name = names[0] if source.map is None else source.map
    if name not in names:
        raise InputError(
            f"updates are for a network called {name!r}; there are {', '.join(map(repr, names))}"
            f"{did_you_mean(name, names)}"
        )
    return name


def checked(sources: tuple[UpdateSource, ...], networks: Mapping[str, Network]) -> tuple[UpdateSource, ...]:
    """
    Return sources with the names of their networks, and with labels that differ.

    Raises
    ------
    InputError
        If a network or feed is unknown, a network has no timetable, or an address cannot be one.
    """
    if len(sources) > _MOST_SOURCES:
        raise InputError(f"a service has at most {_MOST_SOURCES} sources of updates; got {len(sources)}")
    labels: set[str] = set()
    found = []
    for source in sources:
        name = name_of(source, tuple(networks))
        network = networks[name]
        check_planned(network.timetable, network.tables.report)
        assert network.timetable is not None
        feed_number(network.timetable.feeds["name"].astype(str).tolist(), source.feed)
        label = shown = _label(source)
        for number in itertools.count(2):
            if shown not in labels:
                break
            shown = f"{label} #{number}"
        labels.add(shown)
        found.append(UpdateSource(source.address, name, source.feed, shown))
    return tuple(found)


def _label(source: UpdateSource) -> str:
    if not source.is_remote:
        return plain_text(_file(source.address).name, _LONGEST_LABEL)
    try:
        parts = urlsplit(source.address)
        host, port = parts.hostname, parts.port
        is_good = bool(host) and source.address.isascii() and source.address.isprintable() and " " not in source.address
    except ValueError:
        is_good = False
    if not is_good:
        raise InputError(f"updates must be a file or an address; {_without_secrets(source.address)!r} is no address")
    if parts.username is not None or parts.password is not None:
        raise InputError(f"updates from {host}: an address with a password is not supported; use one with a key")
    folders, slash, last = parts.path.rpartition("/")
    path = f"{'/...' if folders else ''}{slash}{last}"
    place = f"{f'[{host}]' if ':' in str(host) else host}{f':{port}' if port else ''}"
    return plain_text(f"{parts.scheme.lower()}://{place}{path}", _LONGEST_LABEL)


def _file(text: str) -> Path:
    """Return the path of a file, which need not exist; InputError for what looks like an address with a mistake."""
    path = as_path(text, "updates")
    scheme, _, rest = text.partition(":")
    is_odd = "//" in text or "?" in text or (len(scheme) > 1 and rest and scheme.replace("+", "").isalnum())
    if is_odd:
        with explained(path, "look for"):
            is_odd = not path.exists()
    if is_odd:
        raise InputError(
            f"updates must be a file or an address with http or https; got {_without_secrets(text)!r}, which is no "
            "address, and no file that exists"
        )
    return path


def _without_secrets(text: str) -> str:
    """Return the beginning of an address, without what may be a password or a key."""
    head = re.split("[?#]", text, maxsplit=1)[0]
    scheme, separator, rest = head.partition("//")
    rest = rest.rpartition("@")[2]
    return plain_text(f"{scheme}{separator}{rest}" if separator else head.rpartition("@")[2], _LONGEST_LABEL)
