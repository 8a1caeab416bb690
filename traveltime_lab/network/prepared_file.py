"""
Prepared values as columns of a saved network.

Each array is a column, or two if it is nearly all zeros. A tree in the header of the file says which arrays, numbers
and further objects each value consists of. An object that occurs several times is written once, such as a topology and
the labels that belong to it.

The tree has the version of prepared values and their form. If they differ, the values are not used: the package might
compute different ones. Other changes of the package keep the values of a file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.kernels.raster.surface import EdgeBoxes
from traveltime_lab.kernels.records import Arcs, SharedArcs
from traveltime_lab.kernels.street.grid import Grid
from traveltime_lab.kernels.street.road import TIME_SHIFT
from traveltime_lab.kernels.street.ties import Parts, Places
from traveltime_lab.kernels.transit.walks import StopsOnEdges
from traveltime_lab.kernels.unreached import NEVER, UNREACHED
from traveltime_lab.network.prepared import KINDS, Prepared, name_of
from traveltime_lab.network.prepared_columns import RULES, check_kind, check_together, check_value, names_of_parts
from traveltime_lab.runtime import on_disk
from traveltime_lab.runtime.memo import Use
from traveltime_lab.streets.border import WaysThere
from traveltime_lab.streets.contraction import Hierarchy
from traveltime_lab.streets.costs import CONNECTOR_KPH
from traveltime_lab.streets.graph import Core, RoadGraph, Topology
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.streets.segments import SegmentIndex
from traveltime_lab.streets.snapping import STOP_SNAPPING, Snaps
from traveltime_lab.transit.inside import Walker
from traveltime_lab.transit.layer import TransitLayer
from traveltime_lab.transit.transfers import Transfers
from traveltime_lab.transit.walks import WalkRows, Walks
from traveltime_lab.transit.wheelchair import Rule

#: Prefix of the columns.
PREFIX: Final = "prepared/"
_CLASSES: Final[dict[str, Callable[..., Any]]] = {
    item.__name__: item
    for item in (
        Arcs, Core, EdgeBoxes, Grid, Hierarchy, Parts, Places, RoadGraph, Rule, SegmentIndex, SharedArcs,
        Snaps, StopsOnEdges, Topology, Transfers, Walker, WalkRows, Walks, WaysThere,
    )
}  # fmt: skip

#: The version of prepared values. Raise it when the same tables give other values than before, or the same values mean
#: something else; tests/network/test_prepared_values.py has digests of values and notices the first.
VERSION: Final = 4
#: An array is nearly all zeros if fewer than one in this number of its numbers are not zero (assumed).
_RARE: Final = 16
#: Numbers that any array of zeros may have (assumed).
_FEW: Final = 1 << 16


def _form() -> str:
    """Return a digest of the kinds of values, the names and dtypes of their parts, and what their numbers mean."""
    parts = [
        (name, names_of_parts(made), [(part, rule.dtype) for part, rule in RULES[name].items()])
        for name, made in sorted(_CLASSES.items())
    ]
    constants = TIME_SHIFT, int(UNREACHED), NEVER, CONNECTOR_KPH, asdict(STOP_SNAPPING)
    return hashlib.blake2b(repr((sorted(KINDS), parts, constants)).encode(), digest_size=16).hexdigest()


#: Version and form of the values that are used; others in a file are ignored.
MADE_WITH: Final = f"{VERSION} {_form()}"


class Writer:
    """
    Turns values into a tree and columns.

    Parameters
    ----------
    streets, transit : StreetLayer and TransitLayer
        The layers of the network.

    Attributes
    ----------
    columns : dict of str to array
        Columns by name.
    digests : dict of str to str
        Digest of the content of each column.
    """

    def __init__(self, streets: StreetLayer, transit: TransitLayer | None) -> None:
        self.owners = {id(streets): "streets"} | ({} if transit is None else {id(transit): "transit"})
        self.columns: dict[str, AnyArray] = {}
        self.digests: dict[str, str] = {}
        self._objects: dict[int, int] = {}
        self._arrays: dict[bytes, dict[str, str]] = {}

    def described(self, use: Use) -> dict[str, Any]:
        """Return kind, key, value and owner of a value as JSON; its owner has been described, or is a layer."""
        # The owner last: topologies are written as values before they are owners.
        key, value = self._tree(use.key), self._tree(use.value)
        return {"kind": name_of(use), "key": key, "value": value, "owner": self._tree(use.owner)}

    def _tree(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float | np.number):
            return value.item() if isinstance(value, np.number) else value
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, np.ndarray):
            return {**self._array(value), "dtype": value.dtype.str, "shape": value.shape}
        if id(value) in self.owners:
            return {"owner": self.owners[id(value)]}
        if type(value) is tuple:
            return {"tuple": [self._tree(item) for item in value]}
        if id(value) in self._objects:
            return {"same": self._objects[id(value)]}
        parts = {name: self._tree(getattr(value, name)) for name in names_of_parts(value)}
        # Numbered in the order in which a reader completes them.
        self._objects[id(value)] = len(self._objects)
        return {"class": type(value).__name__, "parts": parts}

    def _array(self, array: AnyArray) -> dict[str, str]:
        """Return the columns of an array; equal arrays have the same."""
        flat = np.ascontiguousarray(array).reshape(-1)
        key = _digest_of(flat)
        if flat.nbytes >= on_disk.LEAST:
            on_disk.let_go()
        if key not in self._arrays:
            self._arrays[key] = self._columns_of(flat, key)
        return self._arrays[key]

    def _columns_of(self, flat: AnyArray, key: bytes) -> dict[str, str]:
        """Write an array; where it is nearly all zeros, only its other numbers, so that reading it takes no memory."""
        if flat.dtype.kind in "biu" and _RARE * np.count_nonzero(flat) < flat.size:
            at = np.flatnonzero(flat)
            values = flat[at]
            return {"zeros but": self._column(values, _digest_of(values)), "at": self._column(at, _digest_of(at))}
        return {"array": self._column(flat, key)}

    def _column(self, flat: AnyArray, key: bytes) -> str:
        """Return the name of a new column."""
        name = f"{PREFIX}{len(self.columns)}"
        self.digests[name] = key.hex()
        # Arrow has booleans as bits, which would have to be copied.
        self.columns[name] = flat.view(np.uint8) if flat.dtype == np.bool_ else flat
        return name


def _digest_of(flat: AnyArray) -> bytes:
    return hashlib.blake2b(flat.data, key=flat.dtype.str.encode(), digest_size=16).digest()


class _Reader:
    """Turns a tree and columns into values."""

    def __init__(self, owners: Mapping[str, Any], columns: Mapping[str, AnyArray], *, is_known: bool) -> None:
        self.owners = owners
        transit = owners["transit"]
        self._sizes = {
            "edges": int(owners["streets"].tables.edge_from.size),
            "stops": 0 if transit is None else transit.timetable.n_stops,
        }
        self._columns = columns
        # An array of zeros is as long as other arrays of the file, or has a number for each street or stop.
        self._longest = max(_FEW, 4 * sum(self._sizes.values()), *(column.size for column in columns.values()))
        self._is_known = is_known
        self._objects: list[Any] = []

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        if "bytes" in tree:
            return bytes.fromhex(tree["bytes"])
        if "array" in tree:
            return self._columns[tree["array"]].view(tree["dtype"]).reshape(tree["shape"])
        if "zeros but" in tree:
            return self._filled(tree, self._columns[tree["zeros but"]], self._columns[tree["at"]])
        if "owner" in tree:
            return self.owners[tree["owner"]]
        if "tuple" in tree:
            return tuple(self.value(item) for item in tree["tuple"])
        if "same" in tree:
            return self._objects[tree["same"]]
        parts = {name: self.value(item) for name, item in tree["parts"].items()}
        made = _CLASSES[tree["class"]](**parts)
        check_value(made, self._sizes, is_known=self._is_known)
        self._objects.append(made)
        return made

    def _filled(self, tree: Mapping[str, Any], values: AnyArray, at: AnyArray) -> AnyArray:
        """
        Return an array of zeros with some other numbers; it takes memory around these only.

        It is writeable as others are, because kernels are compiled once more for arrays that are not.
        """
        size = math.prod(tree["shape"])
        if not 0 <= size <= self._longest:
            raise ValueError(f"an array of zeros has {size} numbers, the longest column has {self._longest}")
        if at.dtype != np.int64 or values.size != at.size or (at.size and (at[0] < 0 or (np.diff(at) <= 0).any())):
            raise ValueError("the places of the numbers of an array must ascend")
        flat = np.zeros(size, tree["dtype"])
        flat[at] = values.view(tree["dtype"])
        return flat.reshape(tree["shape"])


def to_columns(
    made: Prepared, fingerprint: str, streets: StreetLayer, transit: TransitLayer | None
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the part of the header about prepared values, and their columns."""
    writer = Writer(streets, transit)
    values = [writer.described(use) for use in made.values]
    return {"made_with": MADE_WITH, "network": fingerprint, "types": made.types, "values": values}, writer.columns


def from_columns(
    header: Mapping[str, Any],
    columns: Mapping[str, AnyArray],
    streets: StreetLayer,
    transit: TransitLayer | None,
    *,
    is_known: bool = False,
) -> Prepared:
    """
    Return prepared values.

    Parameters
    ----------
    header, columns : mappings
        From `to_columns`.
    streets, transit : StreetLayer and TransitLayer
        The layers of the network.
    is_known : bool, default False
        Whether the values of columns have been checked before; see `traveltime_lab.network.checked`.

    Raises
    ------
    ValueError, KeyError, TypeError
        If the values make no sense; see `traveltime_lab.network.prepared_columns`.
    """
    reader = _Reader({"streets": streets, "transit": transit}, columns, is_known=is_known)
    values = []
    for item in header["values"]:
        key, value = reader.value(item["key"]), reader.value(item["value"])
        owner = reader.value(item["owner"])
        check_kind(item["kind"], owner, value, is_known=is_known)
        hash(key)
        values.append(Use(KINDS[item["kind"]], owner, key, value))
    check_together([(name_of(use), use.key, use.value) for use in values])
    return Prepared(tuple(header["types"]), tuple(values))


def is_current(header: Mapping[str, Any], fingerprint: str) -> bool:
    """Return whether values have the version and form of this package, and belong to the network with a fingerprint."""
    return bool(header["made_with"] == MADE_WITH and header["network"] == fingerprint)
