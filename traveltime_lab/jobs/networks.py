"""
Many networks, built or changed and prepared, each written to its own file (`write_networks`).
"""

from __future__ import annotations

import json
import os
import traceback
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from traveltime_lab._files import FULL, as_path, read_bytes, temporary_folder
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import FileAccessError, InterruptedSearchError, TravelTimeError, UnfinishedJobError
from traveltime_lab.jobs.folder import MANIFEST
from traveltime_lab.jobs.job import Failed, Made, check_versions, open_network, opened_by_worker, versions
from traveltime_lab.jobs.network_items import ENDING, Item, day_items, items_of, naming
from traveltime_lab.jobs.run import run
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network import unfinished
from traveltime_lab.network.build import transportations_of
from traveltime_lab.network.network import Network
from traveltime_lab.network.observed_days import ObservedDays
from traveltime_lab.network.prepared_file import MADE_WITH
from traveltime_lab.runtime.forks import Lock
from traveltime_lab.runtime.progress import Progress
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.scenarios.changes import Change


@explained_keywords
def write_networks(
    networks: Mapping[str, Mapping[str, Any] | Change | Sequence[Change]] | ObservedDays,
    path: str | os.PathLike[str],
    *,
    base: Network | str | os.PathLike[str] | None = None,
    prepare: str | Transportation | Sequence[str | Transportation | Mapping[str, Any]] = (),
    progress: Progress = True,
    executor: Executor | None = None,
) -> Path:
    """
    Build or change many networks, prepare them, and write each to its own file.

    Repeated, the call resumes where an earlier one stopped: after Ctrl+C, a full disk, or the end of the process at any
    moment. Networks that are written are kept, and each file is the same byte for byte as without an interruption.

    Parameters
    ----------
    networks : mapping of str to dict, Change or sequence of Change; or ObservedDays
        Networks by name, which is that of the file. Each is one of:

        - a region: a dict of the arguments of `build_network`, such as ``{"osm": "city.osm.pbf", "gtfs": "bus.zip"}``.
          The streets must be files;
        - a scenario: changes, which `Network.with_changes` applies to `base`;
        - an observed day: the networks of `observed_days` have their dates as names, such as ``2026-03-02``.
    path : path-like
        Folder of the files: a new one, an empty one, or that of an earlier call. Networks may be added to it later.
    base : Network or path-like, optional
        The network that scenarios change, or that of the observed days: a network, or the file of a saved one, which
        other processes open themselves. Days have a network; give its file, so that it is not sent to the workers.
    prepare : str, Transportation or sequence of these, default ()
        Means of transportation to prepare each network for; see `Network.prepare`. ``"prepare"`` of a region takes its
        place for this region.
    progress : bool or callable, default True
        Whether to show a progress bar, or a function that is called as ``progress(done, total)`` with numbers of
        networks.
    executor : concurrent.futures.Executor, optional
        Workers that compute the networks, as in `write_matrix`. Each task uses one thread, and needs the memory that
        its network needs. Regions are read from the same paths by all workers. Workers that see the folder write there
        under a temporary name; others send the file to this process.

    Returns
    -------
    Path
        The folder. Its files, such as ``helsinki.network``, are those of `Network.save`; see `load_network`.

    Raises
    ------
    InputError
        If a name is no name of a file, or a value is something else; if the folder has a network with different inputs,
        or from a different version, which the message names; if another process writes to the folder.
    MissingFileError
        If a file of a region, or that of `base`, does not exist.
    UnfinishedJobError
        If the disk is full or workers ended; repeat the call to resume.
    KeyboardInterrupt
        After Ctrl+C; the message says how many networks are written.
    TravelTimeError
        That of `build_network`, `Network.with_changes` or `Network.prepare` for one of the networks, which the message
        names. The others are written before it is raised. Correct its data or arguments, and repeat the call.

    See Also
    --------
    build_network, observed_days, Network.with_changes : Create one network.
    write_matrix : Travel times of many pairs.

    Notes
    -----
    A network that is not written yet may have other arguments when the call is repeated, and more networks may be
    given; those that are written must be given as before. ``_manifest.json`` has the inputs of each file: hashes of the
    files of a region, the changes of a scenario, the hash of the archive of a day, the fingerprint of `base`, and means
    of transportation; and its size and checksum. A file whose checksum differs is written again. `typical_day` of a
    region with a timetable depends on the day on which it is built.

    Where workers see the folder, what has been prepared of a region, or of a scenario that changes streets, is kept
    there, too, until the network is written. Scenarios that change the timetable only, and observed days, share the
    streets of `base`: prepare and save it first, and workers need not prepare them again. Without an executor, the
    streets of a `base` that is a network stay prepared.

    Examples
    --------
    Two scenarios of a sample, which are prepared for walking:

    >>> network = tl.sample_network("helsinki")
    >>> folder = tl.write_networks(
    ...     {
    ...         "today": [],
    ...         "works": tl.CloseStreets(edges=[0, 1], name="works"),
    ...     },
    ...     "scenarios",
    ...     base=network,
    ...     prepare="walking",
    ...     progress=False,
    ... )
    >>> works = tl.load_network(folder / "works.network")
    >>> works.prepared, len(works.changes)
    (('walking',), 1)

    Regions, on the workers of a pool::

        regions = {
            "helsinki": {"osm": "helsinki.osm.pbf", "gtfs": "hsl.zip"},
            "monaco": {"osm": "monaco.osm.pbf", "prepare": "walking"},
        }
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            tl.write_networks(
                regions,
                "regions",
                prepare=["walking", "public_transport"],
                executor=pool,
            )
    """
    transportations = transportations_of(prepare)
    opened, source = (None, None) if base is None else open_network(base)
    days = networks if isinstance(networks, ObservedDays) else None
    if days is not None:
        made, opened = day_items(days, opened, transportations), days._network
    else:
        made = items_of(networks, opened, transportations)
    job = NetworksJob(made, opened, source, days, as_path(path, "path").absolute())
    folder = run(job, path, executor, progress)
    for name in made:
        # A process may have ended after it had written the network.
        unfinished.remove(job.unfinished(name))
    return folder


@dataclass(eq=False)
class NetworksJob:
    """
    The job of `write_networks`; its parts are networks by name.

    It is pickled for other processes: without the base, and with days without it, if the base is a file.

    Attributes
    ----------
    items : dict of str to Item
    base : Network or None
        The network of scenarios and days; None in another process until it has been opened.
    source : Path or None
        File of it.
    days : ObservedDays or None
    folder : Path
        Absolute path of the folder.
    """

    items: dict[str, Item]
    base: Network | None
    source: Path | None
    days: ObservedDays | None
    folder: Path

    unit: ClassVar[str] = "network"
    pattern: ClassVar[str] = f"*{ENDING}"

    def __post_init__(self) -> None:
        """Remember the base and the versions of the process that began the job, and give the job a key."""
        self.fingerprint = "" if self.base is None else self.base.fingerprint
        self.versions, self.key, self._lock = versions(), uuid.uuid4().hex, Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs."""
        state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
        if self.source is not None:
            state |= {"base": None, "days": self.days and self.days._on(None)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        self.__dict__.update(state, _lock=Lock())

    def description(self) -> dict[str, Any]:
        """Return what determines the bytes of all files."""
        return {"kind": "networks", "versions": self.versions, "prepared_values": MADE_WITH}

    def files(self) -> dict[Any, str]:
        """Return the name of the file of each network."""
        return {name: f"{name}{ENDING}" for name in self.items}

    def inputs(self, part: str) -> dict[str, Any]:
        """Return what else determines the bytes of a file."""
        with naming(part):
            return self.items[part].inputs()

    def weight(self, part: str) -> int:
        """Return 1: no network is known to be more work than others."""
        return 1

    def unfinished(self, part: str) -> Path:
        """Return the folder of what has been prepared of a network until it is written."""
        return self.folder / f".{part}.unfinished"

    def make(self, part: str) -> Made | Failed:
        """Write a network, to the folder or a temporary one, and return its file, or else the error that it has."""
        check_versions(self.versions)
        base, days = self._opened()
        notes: list[str] = []
        try:
            with naming(part), warnings_to(lambda note: notes.append(f"networks[{part!r}]: {note}")):
                return self._made(part, base, days, notes)
        except (InterruptedSearchError, UnfinishedJobError):
            raise
        except MemoryError as error:
            msg = f"networks[{part!r}] needs more memory than there is ({error}); give each worker more, or have fewer"
            return _failed(UnfinishedJobError(msg), error)
        except FileAccessError as error:
            if error.errno in FULL:
                raise UnfinishedJobError(str(error), error.errno) from error
            return _failed(error, error)
        except TravelTimeError as error:
            # It would end here again.
            unfinished.remove(self.unfinished(part))
            return _failed(error, error)

    def _made(self, part: str, base: Network | None, days: ObservedDays | None, notes: list[str]) -> Made:
        item, shared = self.items[part], self._seen()
        network, kept = item.network(base, days), None
        if item.prepare:
            # Streets of the base are prepared once, for all networks that have them.
            if shared is not None and (base is None or network.streets is not base.streets):
                kept = self.unfinished(part)
            network.prepare(*item.prepare, folder=kept)
        about: dict[str, Any] = {"inputs": item.inputs(network), "notes": tuple(notes), "kept": kept}
        if shared is not None:
            return Made(network.save(shared / f".{part}.part"), **about)
        with temporary_folder() as folder:
            path = network.save(folder / f"network{ENDING}")
            del network
            return Made(read_bytes(path), **about)

    def _seen(self) -> Path | None:
        """Return the folder if this process can write to it; a different machine may not have it."""
        try:
            manifest = json.loads(read_bytes(self.folder / MANIFEST))
        except (OSError, ValueError):
            return None
        given = json.loads(json.dumps(self.description()))
        is_same = isinstance(manifest, dict) and {name: manifest.get(name) for name in given} == given
        return self.folder if is_same and os.access(self.folder, os.W_OK) else None

    def _opened(self) -> tuple[Network | None, ObservedDays | None]:
        """Return the base and the days; another process opens the file of the base."""
        with self._lock:
            if self.base is None and self.source is not None:
                self.base = opened_by_worker(self.source, self.fingerprint)
                self.days = self.days and self.days._on(self.base)
            return self.base, self.days


def _failed(error: TravelTimeError, caught: BaseException) -> Failed:
    """Return an error, after freeing the variables of the frames that it has come through, such as a network."""
    last: BaseException | None = caught
    while last is not None:
        traceback.clear_frames(last.__traceback__)
        last = last.__cause__ or last.__context__
    return Failed(error)
