"""
Read the ways that are streets, and interpret their tags.

Ways are read some at a time: the texts of their tags have several times the memory of what is kept of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import osmium
import pandas as pd

from traveltime_lab._arrays import BoolArray, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array
from traveltime_lab.readers.osm.avoid import AVOID_KEYS, avoid_code
from traveltime_lab.readers.osm.edges import joined_ways, no_ways
from traveltime_lab.readers.osm.extract import OsmFile, Relation, Ways
from traveltime_lab.readers.osm.ferries import timed_ferries, untagged_ferries
from traveltime_lab.readers.osm.opl import decode, encode, parse_tags
from traveltime_lab.readers.osm.step_free import STEP_FREE_KEYS, way_code
from traveltime_lab.readers.osm.stress import STRESS_KEYS, codes
from traveltime_lab.readers.osm.tags import RELEVANT_KEYS, WayUse, interpret, is_off_ground
from traveltime_lab.streets.tables import USE_DTYPES

_STREET_KEYS = ("highway", "route", "railway", "public_transport", "man_made")
_RELEVANT = frozenset(RELEVANT_KEYS)
#: Keys of ways that say more of the streets that `interpret` finds.
_MORE = frozenset((*STRESS_KEYS, *STEP_FREE_KEYS, *AVOID_KEYS)) - _RELEVANT
_SURFACES = ("surface=", "tracktype=", "smoothness=")
#: Ways that are read at once (assumed).
AT_ONCE = 100_000


@dataclass
class StreetWays:
    """Ways that are open to a mode, with the interpretation of their tags and their names."""

    ways: Ways
    use: Int32Array
    off_ground: BoolArray
    has_surface: BoolArray
    #: Numbers of `codes` of each way in both directions, where traffic keeps right and left.
    stress: UInt16Array
    #: Numbers of `way_code` of each way.
    obstacles: UInt32Array
    #: Numbers of `avoid_code` of each way.
    avoid: UInt8Array
    name: Int32Array
    uses: list[WayUse]
    names: list[str]
    n_read: int
    n_outlines: int
    n_from_ferry_relations: int
    #: For each ferry with a duration: its row, its tags with the duration, and all rows that the duration covers.
    timed_ferries: list[tuple[int, dict[str, str], list[int]]] = field(default_factory=list)

    def uses_table(self) -> pd.DataFrame:
        """Return the different uses, one in each row."""
        columns = zip(*self.uses, strict=True)
        return pd.DataFrame(
            {
                column: pd.Series(values, dtype=dtype) if dtype == "object" else np.array(values, dtype)
                for (column, dtype), values in zip(USE_DTYPES.items(), columns, strict=True)
            }
        )


def read_street_ways(
    file: OsmFile, multipolygons: Sequence[Relation], ferry_relations: Sequence[Relation]
) -> StreetWays:
    """
    Return the streets of a file.

    Parameters
    ----------
    file : OsmFile
    multipolygons, ferry_relations : sequences of Relation
        Relations whose members are streets, too: the outlines of pedestrian areas, and ferries.
    """
    found = _Interpreter()
    for part in file.parts_of_ways(osmium.filter.KeyFilter(*_STREET_KEYS), most=AT_ONCE):
        found.add(part)
    known = found.ids()
    outlines = _pedestrian_outlines(file, multipolygons, known=known)
    known.update(outlines.osm_id.tolist())
    crossings, at_shore = untagged_ferries(file, ferry_relations, known=known)
    del known
    found.add(outlines)
    found.add(crossings)
    every_tag = np.array(found.row_of_tags, np.int32)
    return StreetWays(
        joined_ways(*found.kept),
        np.array(found.use, np.int32),
        np.array(found.off_ground, np.bool_),
        np.array(found.has_surface, np.bool_),
        np.array(found.stress_codes, np.uint16).reshape(-1, 2, 2)[every_tag],
        np.array(found.obstacles, np.uint32)[every_tag],
        np.array(found.avoid, np.uint8)[every_tag],
        np.array(found.name, np.int32),
        list(found.uses),
        [decode(text) for text in found.names],
        found.n_read,
        len(outlines.osm_id),
        len(crossings.osm_id),
        timed_ferries(found.ferries, ferry_relations, in_file={*found.ids(), *at_shore}),
    )


class _Interpreter:
    """
    Interprets the tags of ways.

    Attributes
    ----------
    kept : list of Ways
        Those that are open to a mode, without tags.
    use, name, row_of_tags : arrays of int
        The numbers of use and name of each of them, and its row of `stress_codes`, `obstacles` and `avoid`.
    off_ground, has_surface : bytearrays
        Whether each of them is above or below the ground, and whether it has a tag of its surface.
    ferries : dict
        Row and tags of each ferry, by its id.
    n_read : int
        Number of ways that are streets, whether a mode may use them or not.
    """

    def __init__(self) -> None:
        self.kept: list[Ways] = []
        # Numbers of ways in arrays: lists of Python objects would have five times the memory.
        self.use, self.name, self.row_of_tags = array("i"), array("i"), array("i")
        self.off_ground, self.has_surface = bytearray(), bytearray()
        self.stress_codes: list[tuple[int, ...]] = []
        self.obstacles: list[int] = []
        self.avoid: list[int] = []
        self.uses: dict[WayUse, int] = {}
        self.names = {"": 0}
        self.ferries: dict[int, tuple[int, dict[str, str]]] = {}
        self.n_read = 0
        self._ids: list[Int64Array] = []
        self._use_by_tags: dict[tuple[str, ...], int] = {}
        self._raised: set[tuple[str, ...]] = set()
        self._rows: dict[tuple[str, ...], int] = {}
        self._ferry_uses: set[int] = set()

    def ids(self) -> set[int]:
        """Return the ids of all ways, whether they are open to a mode or not."""
        return {way for part in self._ids for way in part.tolist()}

    def add(self, ways: Ways) -> None:
        """Interpret the tags of some ways, and keep those that are open to a mode."""
        kept_rows = array("q")
        for row, text in enumerate(ways.tags):
            relevant: list[str] = []
            more: list[str] = []
            label = number = ""
            for pair in text.split(","):
                key, _, value = pair.partition("=")
                if key in _RELEVANT:
                    relevant.append(pair)
                elif key in _MORE:
                    more.append(pair)
                elif key == "name":
                    label = value
                elif key == "ref":
                    number = value
            signature = tuple(relevant)
            use = self._use_by_tags.get(signature)
            if use is None:
                use = self._use_of(signature)
            if use < 0:
                self.n_read += "highway=" in text
                continue
            self.n_read += 1
            if use in self._ferry_uses:
                self.ferries[int(ways.osm_id[row])] = len(self.use), parse_tags(text)
            kept_rows.append(row)
            self.use.append(use)
            self.off_ground.append(signature in self._raised)
            self.row_of_tags.append(self._row_of((*relevant, *more)))
            self.has_surface.append(any(pair.startswith(_SURFACES) for pair in relevant))
            self.name.append(self.names.setdefault(label or number, len(self.names)))
        self._ids.append(ways.osm_id)
        self.kept.append(ways.rows(np.array(kept_rows, np.int64)).without_tags())

    def _use_of(self, signature: tuple[str, ...]) -> int:
        """Return the number of the use of ways with these tags, -1 for none, and remember it."""
        tags = parse_tags(",".join(signature))
        way_use = interpret(tags)
        if is_off_ground(tags):
            self._raised.add(signature)
        use = -1 if way_use is None else self.uses.setdefault(way_use, len(self.uses))
        self._use_by_tags[signature] = use
        if way_use is not None and way_use.is_ferry:
            self._ferry_uses.add(use)
        return use

    def _row_of(self, every: tuple[str, ...]) -> int:
        """Return the row of the codes of ways with these tags, which is new for the first of them."""
        row = self._rows.get(every)
        if row is None:
            tags = parse_tags(",".join(every))
            row = self._rows[every] = len(self._rows)
            self.stress_codes.append((*codes(tags), *codes(tags, is_left_hand=True)))
            self.obstacles.append(way_code(tags))
            self.avoid.append(avoid_code(tags))
        return row


def _pedestrian_outlines(file: OsmFile, multipolygons: Sequence[Relation], *, known: set[int]) -> Ways:
    """Return the outer rings of multipolygons that are streets, as ways with the tags of their relation."""
    street_of: dict[int, str] = {}
    for relation in multipolygons:
        if "highway" in relation.tags or "platform" in (
            relation.tags.get("railway"),
            relation.tags.get("public_transport"),
        ):
            tags = ((key, value) for key, value in relation.tags.items() if key in _RELEVANT or key in _MORE)
            text = ",".join(f"{key}={encode(value)}" for key, value in tags)
            for letter, ref, role in relation.members:
                if letter == "w" and role in ("outer", "") and ref not in known:
                    street_of.setdefault(ref, f"{text},area=yes")
    if not street_of:
        return no_ways()
    found = file.ways_by_id(street_of)
    return Ways(found.osm_id, [street_of[way] for way in found.osm_id.tolist()], found.indptr, found.refs)
