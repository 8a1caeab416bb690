"""
Read ``pathways.txt`` and ``levels.txt``: the ways inside stations.

GTFS requires that the pathways of a station are complete: each platform can be reached from an entrance, and left by
one. Stations of which that is not true, or whose rows cannot be read, are linked to the streets as if they had no
pathways: straight from each platform. The report lists them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, unique_values
from traveltime_lab.crs import segment_lengths_m
from traveltime_lab.kernels.transit import parse
from traveltime_lab.readers.gtfs.files import FeedFiles
from traveltime_lab.readers.gtfs.findings import Findings
from traveltime_lab.readers.gtfs.rows import codes, drop_rows, new_numbers, read_file, unique_ids
from traveltime_lab.readers.gtfs.tables import Stops
from traveltime_lab.readers.gtfs.text import TextTable
from traveltime_lab.transit.pathways import ENTRANCE, EXIT_GATE, PLATFORM, STATION, Arcs, Pathways, roots

#: Straight-line distance in metres from its station beyond which the place of an entrance must be wrong (assumed: the
#: largest stations have passages of about a kilometre).
FARTHEST_ENTRANCE_M: Final = 2000.0
_INSTEAD: Final = "its station is linked straight to the streets"


def read_pathways(
    files: FeedFiles, findings: Findings, stops: Stops, called: Int32Array
) -> tuple[Pathways | None, dict[str, dict[str, int]]]:
    """
    Return the pathways of stations that can be used, and facts for the report.

    Parameters
    ----------
    files : FeedFiles
    findings : Findings
    stops : Stops
    called : int32 array
        Rows of stops.txt at which trips stop.

    Returns
    -------
    pathways : Pathways or None
        Their stops are numbers of kept stops. None if there are none.
    facts : dict
        ``pathways``: the numbers of stations with pathways, and of those that are linked straight to the streets;
        empty without pathways.txt.
    """
    table = read_file(
        files, findings, "pathways.txt", "pathway_id", "from_stop_id", "to_stop_id", "pathway_mode",
        "is_bidirectional", "length", "traversal_time", "stair_count", "max_slope", "min_width", "signposted_as",
        "reversed_signposted_as",
    )  # fmt: skip
    if not table.n_rows:
        return None, {}
    table.require("pathway_id", "from_stop_id", "to_stop_id", "pathway_mode", "is_bidirectional")
    number = new_numbers(stops.is_kept)
    kind = stops.frame["location_type"].to_numpy()
    parent = stops.frame["parent_idx"].to_numpy()
    root = roots(parent)
    _, keep = unique_ids(table, findings, "pathway_id")
    ends: list[Int32Array] = []
    for column in ("from_stop_id", "to_stop_id"):
        row = codes(table.strings(column), stops.ids)
        ends.append(np.where(row >= 0, number[row], -1).astype(np.int32))
    start, end = ends
    broken = np.zeros(parent.size, np.bool_)

    def give_up(is_bad: AnyArray, reason: str, column: str) -> None:
        """Drop rows, and the other rows of their stations."""
        rows = np.flatnonzero(keep & is_bad)
        drop_rows(table, findings, keep, is_bad, f"{reason}: {_INSTEAD}", column)
        for stop in ends:
            broken[root[stop[rows][stop[rows] >= 0]]] = True

    for stop, column in zip(ends, ("from_stop_id", "to_stop_id"), strict=True):
        give_up(stop < 0, f"unknown {column}", column)
        give_up(kind[stop] == STATION, f"{column} is a station", column)
    mode, both = table.integers("pathway_mode"), table.integers("is_bidirectional")
    give_up((mode < 1) | (mode > EXIT_GATE), "pathway_mode is no number from 1 to 7", "pathway_mode")
    give_up((both != 0) & (both != 1), "is_bidirectional is neither 0 nor 1", "is_bidirectional")
    seconds, is_text = table.floats("traversal_time")
    give_up(is_text | (seconds < 0) | (seconds > 86_400), "traversal_time is not from 0 to 86,400 s", "traversal_time")
    metres, is_text = table.floats("length")
    give_up(is_text | (metres < 0) | (metres > 100_000.0), "length is not a number of metres", "length")
    numbers = {}
    for column in ("max_slope", "min_width"):
        numbers[column], is_text = table.floats(column)
        _note(table, findings, keep & is_text, f"{column} is not a number: ignored")
    is_bad = keep & (numbers["min_width"] <= 0)
    _note(table, findings, is_bad, "min_width is not above 0: ignored")
    numbers["min_width"] = np.where(is_bad, np.nan, numbers["min_width"])
    is_bad = keep & (np.abs(numbers["max_slope"]) > 1.0)
    _note(table, findings, is_bad, "max_slope is above 1, a slope of 45°: is it in per cent?")
    stairs = table.integers("stair_count")
    is_bad = (stairs != parse.MISSING) & (np.abs(stairs) > 100_000)
    _note(table, findings, keep & is_bad, "stair_count is not a number: ignored")
    levels = _levels(files, findings, stops)
    found = Pathways(
        start=start[keep],
        end=end[keep],
        kind=mode[keep].astype(np.uint8),
        is_two_way=both[keep] == 1,
        # A time of zero, which GTFS does not allow, stands for an unknown one.
        seconds=np.where(seconds > 0, np.ceil(seconds), -1)[keep].astype(np.int32),
        metres=metres[keep],
        stairs=np.where(is_bad | (stairs == parse.MISSING), 0, stairs)[keep].astype(np.int32),
        slope=numbers["max_slope"][keep],
        width=numbers["min_width"][keep],
        is_closed=np.zeros(int(keep.sum()), np.bool_),
        ids=tuple(table.objects("pathway_id")[keep]),
        signs=tuple(table.objects("signposted_as")[keep]),
        signs_back=tuple(table.objects("reversed_signposted_as")[keep]),
        levels=tuple((levels[a], levels[b]) for a, b in zip(start[keep], end[keep], strict=True)),
    )
    has_any = np.zeros(parent.size, np.bool_)
    for stop in ends:
        has_any[root[stop[stop >= 0]]] = True
    is_called = np.zeros(parent.size, np.bool_)
    is_called[number[called]] = True
    lat, lng = (stops.frame[name].to_numpy(np.float64) for name in ("stop_lat", "stop_lon"))
    _far_entrances(findings, found, kind, root, (lng, lat), broken, stops)
    _cut_off(findings, found, kind, parent, is_called & (kind == PLATFORM), broken, stops)
    found = found.take(~broken[root[found.start]] & ~broken[root[found.end]])
    facts = {"stations": int(has_any.sum()), "linked_straight": int((has_any & broken).sum())}
    return (found if len(found) else None), {"pathways": facts}


def _note(table: TextTable, findings: Findings, is_bad: BoolArray, reason: str) -> None:
    findings.add(table.name, reason, table.lines(np.flatnonzero(is_bad)), is_dropped=False)


def _levels(files: FeedFiles, findings: Findings, stops: Stops) -> list[str]:
    """Return the name of the level of each kept stop, "" where it is not known."""
    table = read_file(files, findings, "levels.txt", "level_id", "level_name")
    names = dict(zip(table.objects("level_id").tolist(), table.objects("level_name").tolist(), strict=True))
    levels = stops.level_id[stops.is_kept].tolist()
    n_unknown = sum(bool(level) and level not in names for level in levels)
    findings.add("stops.txt", "level_id is not in levels.txt: ignored", rows=n_unknown, is_dropped=False)
    return [names.get(level, "") for level in levels]


def _far_entrances(
    findings: Findings,
    pathways: Pathways,
    kind: AnyArray,
    root: Int32Array,
    place: tuple[FloatArray, FloatArray],
    broken: BoolArray,
    stops: Stops,
) -> None:
    """Find entrances that are too far from their stations to be in the right place."""
    used = unique_values(np.concatenate([pathways.start, pathways.end]))
    entrances = used[kind[used] == ENTRANCE]
    lng, lat = place
    both = np.column_stack([entrances, root[entrances]]).ravel()
    apart = segment_lengths_m(lng[both], lat[both])[::2]
    far = entrances[(apart > FARTHEST_ENTRANCE_M) | np.isnan(lng[entrances])]
    ids = stops.frame["stop_id"].to_numpy()
    reason = f"entrance without a place within {FARTHEST_ENTRANCE_M:,.0f} m of its station: {_INSTEAD}"
    findings.add("pathways.txt", reason, rows=far.size, example=str(ids[far[0]]) if far.size else "", is_dropped=False)
    broken[root[far]] = True


def _cut_off(
    findings: Findings,
    pathways: Pathways,
    kind: AnyArray,
    parent: AnyArray,
    is_platform: BoolArray,
    broken: BoolArray,
    stops: Stops,
) -> None:
    """Find platforms that cannot be reached from an entrance, or left by one, until those of all other stations can."""
    root = roots(np.asarray(parent, np.int32))
    arcs = Arcs.of(pathways, kind, parent)
    has_pathways = np.zeros(root.size, np.bool_)
    has_pathways[root[pathways.start]] = has_pathways[root[pathways.end]] = True
    lost = np.zeros(root.size, np.bool_)
    while True:
        is_sound = ~(broken[root[arcs.tail]] | broken[root[arcs.head]])
        here = arcs.take(is_sound)
        doors = kind == ENTRANCE
        reached = here.reached(doors) & here.reached(doors, is_backward=True)
        new = is_platform & has_pathways[root] & ~broken[root] & ~reached
        if not new.any():
            break
        lost |= new
        broken[root[new]] = True
    rows = np.flatnonzero(lost)
    example = str(stops.frame["stop_id"].iat[rows[0]]) if rows.size else ""
    reason = f"platform that pathways do not join with an entrance in both directions: {_INSTEAD}"
    findings.add("pathways.txt", reason, rows=rows.size, example=example, is_dropped=False)
