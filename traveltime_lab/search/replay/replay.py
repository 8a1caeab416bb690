"""
Repeat the search of a receipt (`replay`).
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd

import traveltime_lab
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import DataError, InputError, UnsupportedError
from traveltime_lab.moments import WEEKDAY_MORNING
from traveltime_lab.network.network import Network, check_network
from traveltime_lab.points import PointsLike, as_table, read_points
from traveltime_lab.scenarios.file import from_json
from traveltime_lab.search.accessibility.accessibility import accessibility
from traveltime_lab.search.calibration.calibrate import Calibration, calibrate_speeds
from traveltime_lab.search.calibration.inputs import as_observed, input_trips
from traveltime_lab.search.calibration.trips import read_trips
from traveltime_lab.search.cells import geohash_cells, h3_cells
from traveltime_lab.search.nearest import nearest
from traveltime_lab.search.pareto import pareto_routes
from traveltime_lab.search.query import typical_day_of
from traveltime_lab.search.receipts.digest import digest_of
from traveltime_lab.search.receipts.inputs import InputTable, input_table, table_of
from traveltime_lab.search.receipts.record import DAY, DAYS, KEY
from traveltime_lab.search.reliability.areas import reliability_cells, reliability_map
from traveltime_lab.search.reliability.days import check_days
from traveltime_lab.search.reliability.reliability import reliability
from traveltime_lab.search.replay.receipt import checked
from traveltime_lab.search.replay.receipt import receipt as receipt_of
from traveltime_lab.search.routes import routes
from traveltime_lab.search.snap import snap
from traveltime_lab.search.time_filter import time_filter
from traveltime_lab.search.time_map import distance_map, time_map
from traveltime_lab.transit.query import ARRIVAL_HOUR, DEPARTURE_HOUR


def _matrix(network: Network, **arguments: Any) -> pd.DataFrame:
    """Return the rows of `write_matrix`."""
    found = time_filter(network, **arguments, form="sparse")
    return _by_origin(found, read_points(arguments["origins"], "origins", network.bounds).index)


def _by_origin(table: Any, origins: pd.Index) -> Any:
    """Return the rows of several moments in the order of a large job: by origin, and by moment."""
    if "moment" not in table:
        return table
    order = np.argsort(origins.get_indexer(pd.Index(table["origin"])), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _calibration(network: Network, *, observed: pd.DataFrame, classes: Any, **arguments: Any) -> Calibration:
    """Return the calibration of a receipt, in which groups of classes are lists."""
    groups = classes and [tuple(group) if isinstance(group, list) else group for group in classes]
    return calibrate_speeds(network, as_observed(observed), classes=groups, **arguments)


def _areas(network: Network, **arguments: Any) -> gpd.GeoDataFrame:
    """Return the rows of `write_areas`."""
    found = time_map(network, **arguments)
    columns = ["origin", "travel_time", "snap_distance", "reason", "geometry"]
    if "moment" in found:
        columns = ["moment", *columns]
    origins = read_points(arguments["origins"], "origins", network.bounds).index
    return _by_origin(found.reset_index(names="origin")[columns], origins)


_ANSWERS: Final[Mapping[str, Callable[..., Any]]] = {
    "time_filter": time_filter,
    "nearest": nearest,
    "snap": snap,
    "time_map": time_map,
    "distance_map": distance_map,
    "routes": routes,
    "pareto_routes": pareto_routes,
    "h3_cells": h3_cells,
    "geohash_cells": geohash_cells,
    "accessibility": accessibility,
    "reliability": reliability,
    "reliability_map": reliability_map,
    "reliability_cells": reliability_cells,
    "calibrate_speeds": _calibration,
    "write_matrix": _matrix,
    "write_areas": _areas,
}


@dataclass(frozen=True, eq=False)
class Replay:
    """
    Result of a repetition; see `replay`.

    Attributes
    ----------
    is_same : bool
        Whether the answer is the same, to the last bit.
    digest : str
        Hash of the new answer.
    differences : tuple of str
        Differences of the answer, the version, the files of the network, and the network. Empty if there are none.
    answer : DataFrame, GeoDataFrame or Calibration
        The new answer, with its own receipt.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> found = tl.snap(network, places)
    >>> tl.replay(found, network)
    <Replay of snap: the same answer>
    """

    function: str
    is_same: bool
    digest: str
    differences: tuple[str, ...]
    answer: Any

    def __repr__(self) -> str:
        """Return one line."""
        found = ("the same answer", *self.differences) if self.is_same else self.differences
        return f"<Replay of {self.function}: {'; '.join(found)}>"


@explained_keywords
def replay(
    receipt: Mapping[str, Any] | pd.DataFrame | Calibration | str | os.PathLike[str],
    network: Network,
    *,
    origins: PointsLike | None = None,
    destinations: PointsLike | None = None,
    opportunities: PointsLike | None = None,
    places: PointsLike | None = None,
    points: PointsLike | None = None,
    pairs: pd.DataFrame | None = None,
    observed: pd.DataFrame | None = None,
    days: Mapping[dt.date, Network] | None = None,
) -> Replay:
    """
    Repeat the search of a receipt, and compare the answers.

    Parameters
    ----------
    receipt : mapping, DataFrame, GeoDataFrame, Calibration or path-like
        A receipt, or what the function `receipt` reads one from.
    network : Network
        The network of the receipt. If the receipt is of a network with changes and this one is the network before them,
        the changes are applied first.
    origins, destinations, opportunities, places, points, pairs, observed : optional
        The tables of the question that the receipt has only a hash of, because they have more than 10,000 rows, labels
        other than whole numbers and texts, or were written by `write_matrix` or `write_areas`.
    days : mapping of date to Network, optional
        For a receipt of `reliability` and its areas and cells, which has only hashes of the days: these.

    Returns
    -------
    Replay
        Whether the answer is the same, what differs, and the new answer.

    Raises
    ------
    InputError
        If there is no receipt, or a table is missing or its hash differs from that of the receipt.
    UnsupportedError
        If the receipt is that of a map, which has code to run instead.
    DataError
        If the receipt is damaged or of a different version.
    MissingFileError
        If the file does not exist.

    See Also
    --------
    receipt : Return the receipt of a result.

    Notes
    -----
    A different network or version is a difference, not an error: the search is repeated nevertheless. Files are
    compared by their SHA-256, so that a change that no answer depends on is noticed, too. The date of
    ``"weekday_morning"`` is that of the receipt, also if the network has a different one.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> times = tl.time_filter(
    ...     network,
    ...     places.iloc[:3],
    ...     places,
    ...     travel_time=1800,
    ...     transportation="cycling",
    ... )
    >>> times.to_parquet("times.parquet")
    >>> tl.replay("times.parquet", network).is_same
    True
    >>> slower = tl.add_speeds(network, edges={0: 5.0})
    >>> tl.replay("times.parquet", slower).differences[-1].partition(":")[0]
    'the network has changed'
    """
    check_network(network, "network")
    kept = checked(receipt, "receipt") if isinstance(receipt, Mapping) else receipt_of(receipt)
    answer_before = kept.get("answer")
    if not isinstance(answer_before, Mapping) or not isinstance(answer_before.get("digest"), str):
        raise InputError("the receipt has no answer to compare with; read it with receipt(...)")
    function = kept["function"]
    if function == "TravelTimeMap":
        msg = "the receipt is that of a map; its code is in receipt['arguments']['code'], run it with the network"
        raise UnsupportedError(msg)
    if function not in _ANSWERS:
        raise DataError(f"the receipt is of {function!r}, which this version does not have")
    given = {
        "origins": origins, "destinations": destinations, "opportunities": opportunities, "places": places,
        "points": points, "pairs": pairs, "observed": observed,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None and name not in kept["points"]:
            raise InputError(f"{function} of the receipt has no table {name}; it has {', '.join(kept['points'])}")
    network = _changed(kept["network"], network)
    tables = {name: _table(kept, name, given[name], network) for name in kept["points"] if name in given}
    arguments = {**_arguments(kept, network), **_days(kept, days)}
    try:
        answer = _ANSWERS[function](network, **tables, **arguments)
    except TypeError as error:
        raise DataError(f"the receipt is damaged or of a different version: {error}") from error
    table = answer.table if isinstance(answer, Calibration) else answer
    digest, before = digest_of(table), answer_before["digest"]
    differences = [*_differences(kept, network), *_other_days(kept, answer)]
    if digest != before:
        rows = f"{len(table)} rows with the hash {digest}, not {answer_before.get('rows')} rows with {before}"
        differences.insert(0, f"the answer differs: {rows}")
    return Replay(function, digest == before, digest, tuple(differences), answer)


def _arguments(kept: Mapping[str, Any], network: Network) -> dict[str, Any]:
    """Return the arguments of a call; keys of JSON are texts, those of steps are numbers, and dates are kept."""
    found = dict(kept["arguments"])
    day = _day_of(kept)
    for name, hour in (("departure_time", DEPARTURE_HOUR), ("arrival_time", ARRIVAL_HOUR)):
        if day is not None and day != network.typical_day and found.get(name) == WEEKDAY_MORNING.value:
            found[name] = dt.datetime.combine(day, dt.time(hour), ZoneInfo(network.timezone))
    decay = found.get("decay")
    if isinstance(decay, Mapping) and isinstance(decay.get("steps"), Mapping):
        try:
            steps = {float(key): value for key, value in decay["steps"].items()}
        except (TypeError, ValueError) as error:
            raise DataError(f"the receipt is damaged: the steps of its decay are not seconds ({error})") from error
        found["decay"] = {**decay, "steps": {int(key) if key.is_integer() else key: steps[key] for key in steps}}
    return found


def _days(kept: Mapping[str, Any], days: Mapping[dt.date, Network] | None) -> dict[str, Any]:
    """Return the argument with the days of a study; empty if the function has none."""
    if DAYS not in kept["arguments"]:
        if days is not None:
            raise InputError(f"{kept['function']} of the receipt has no days; leave them out")
        return {}
    if days is None:
        raise InputError("the receipt has only a hash of its days; pass them as days=")
    check_days(days)
    return {DAYS: days}


def _other_days(kept: Mapping[str, Any], answer: Any) -> Iterator[str]:
    """Yield what is different about the days of a study, in words."""
    if DAYS not in kept["arguments"]:
        return
    before, now = dict(kept["arguments"][DAYS]), answer.attrs[KEY]["arguments"][DAYS]
    dates = before.get("dates", [])
    if dates != now["dates"] or before.get("digest") != now.get("digest"):
        known = (each.get("digest") or "no hash of an archive" for each in (now, before))
        yield "the days differ: {} dates with {}, not {} with {}".format(
            len(now["dates"]), next(known), len(dates), next(known)
        )
    # Older receipts of archives have no fingerprints.
    was = dict(zip(dates, before.get("fingerprints", ()), strict=False))
    for date, fingerprint in zip(now["dates"], now["fingerprints"], strict=True):
        if was.get(date, fingerprint) != fingerprint:
            yield f"the network of {date} differs: fingerprint {fingerprint}, not {was[date]}"


def _day_of(kept: Mapping[str, Any]) -> dt.date | None:
    """Return the date that ``"weekday_morning"`` had."""
    if DAY not in kept:
        return None
    try:
        return dt.date.fromisoformat(kept[DAY])
    except (TypeError, ValueError) as error:
        raise DataError(f"the receipt is damaged: its {DAY} is {kept[DAY]!r}, not a date") from error


def _changed(about: Mapping[str, Any], network: Network) -> Network:
    """Return the network with the changes of the receipt, if it is the network before them."""
    changes, before = about.get("changes"), about.get("fingerprint_before_changes")
    if not changes or network.fingerprint != before or network.fingerprint == about.get("fingerprint"):
        return network
    return network.with_changes(from_json(changes, "the receipt"))


def _table(kept: Mapping[str, Any], name: str, given: Any, network: Network) -> Any:
    """Return a table of the question: that of the receipt, or the one given if it is the same."""
    about = kept["points"][name]
    if not isinstance(about, Mapping):
        raise DataError(f"the receipt is damaged: its {name} are of a different type")
    if given is None:
        table = table_of(about, name)
        if table is None:
            msg = f"the receipt has only a hash of its {about.get('count')} {name}; pass them as {name}="
            raise InputError(msg)
        return table
    if about.get("digest") not in list(_digests(given, name, kept, network)):
        msg = f"{name} are not those of the receipt: labels, coordinates, CRS or the columns that count differ"
        raise InputError(msg)
    return given


def _digests(given: Any, name: str, kept: Mapping[str, Any], network: Network) -> Iterator[str]:
    """Yield the hashes that a table may have in a receipt: as given, and in longitude and latitude."""
    if name == "observed":
        yield input_trips(read_trips(network, given)).digest
        return
    argument = {"origins": "demand", "opportunities": "values"}.get(name, "")
    requested = ("origin", "destination") if name == "pairs" else kept["arguments"].get(argument) or ()
    if not isinstance(requested, str | list | tuple) or not all(isinstance(column, str) for column in requested):
        raise DataError(f"the receipt is damaged: its {argument} are {requested!r}, not names of columns")
    columns = (requested,) if isinstance(requested, str) else tuple(requested)
    if name == "pairs":
        if not isinstance(given, pd.DataFrame) or not {*columns} <= {*given.columns}:
            raise InputError("pairs must be a DataFrame with the columns origin and destination")
        yield input_table(pd.DataFrame(given), columns).digest
        return
    found = read_points(given, name, network.bounds)
    for column in columns:
        if column not in getattr(as_table(given), "columns", ()):
            raise InputError(f"{name} has no column {column!r}, which the question of the receipt needs")
    yield input_table(given, columns).digest
    yield InputTable(found.index, np.column_stack([found.lng, found.lat]), WGS84, {}).digest


def _differences(kept: Mapping[str, Any], network: Network) -> Iterator[str]:
    """Yield what is not as the receipt says, in words."""
    about, version = kept["network"], kept.get("versions", {}).get("traveltime_lab")
    if version != traveltime_lab.__version__:
        yield f"this is version {traveltime_lab.__version__}, the receipt is of {version}"
    before = {file["name"]: file["sha256"] for file in about.get("files", ())}
    now = {file["name"]: file["sha256"] for file in network.tables.report.get("files", ())}
    for name in before.keys() & now.keys():
        if before[name] != now[name]:
            yield f"the SHA-256 of the file {name} differs: {now[name][:16]}..., not {before[name][:16]}..."
    if before.keys() != now.keys():
        listed = [", ".join(sorted(each)) or "no file" for each in (now, before)]
        yield f"the network was built from {listed[0]}, not from {listed[1]}"
    day, needed = _day_of(kept), typical_day_of(network, {"transportation": "driving", **kept["arguments"]})
    if needed is not None and day is None:
        yield f"the receipt does not say the date of {DAY}; this search is of {needed}"
    elif needed != day:
        yield f"{DAY} of the network is {needed}; this search is of {day}, as the receipt says"
    if about.get("fingerprint") != network.fingerprint:
        yield f"the network has changed: fingerprint {network.fingerprint}, not {about.get('fingerprint')}"
