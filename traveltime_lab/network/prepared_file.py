"""
Prepared values as columns of a saved network.

Each array is a column, and a tree in the header of the file says which arrays, numbers and further objects each value
consists of. An object that occurs several times is written once, such as a topology and the labels that belong to it.

The tree has the version of prepared values and their form. If they differ, the values are not used: the package might
compute different ones. Other changes of the package keep the values of a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray
from traveltime_lab.kernels.raster.surface import EdgeBoxes
from traveltime_lab.kernels.records import Arcs
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
        Arcs, Core, EdgeBoxes, Grid, Hierarchy, Parts, Places, RoadGraph, Rule, SegmentIndex, Snaps,
        StopsOnEdges, Topology, Transfers, Walker, WalkRows, Walks, WaysThere,
    )
}  # fmt: skip

#: The version of prepared values. Raise it when the same tables give other values than before, or the same values mean
#: something else; tests/network/test_prepared_values.py has digests of values and notices the first.
VERSION: Final = 3


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
        self._arrays: dict[bytes, str] = {}

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
            return {"array": self._column(value), "dtype": value.dtype.str, "shape": value.shape}
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

    def _column(self, array: AnyArray) -> str:
        """Return the name of the column of an array; equal arrays have one."""
        flat = np.ascontiguousarray(array).reshape(-1)
        key = hashlib.blake2b(flat.data, key=flat.dtype.str.encode(), digest_size=16).digest()
        if flat.nbytes >= on_disk.LEAST:
            on_disk.let_go()
        if key not in self._arrays:
            name = self._arrays[key] = f"{PREFIX}{len(self.columns)}"
            self.digests[name] = key.hex()
            # Arrow has booleans as bits, which would have to be copied.
            self.columns[name] = flat.view(np.uint8) if flat.dtype == np.bool_ else flat
        return self._arrays[key]


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
        self._is_known = is_known
        self._objects: list[Any] = []

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        if "bytes" in tree:
            return bytes.fromhex(tree["bytes"])
        if "array" in tree:
            return self._columns[tree["array"]].view(tree["dtype"]).reshape(tree["shape"])
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
