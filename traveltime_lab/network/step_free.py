"""
Step-free streets in tables of nodes and edges, and in reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import AnyArray, BoolArray
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets import step_free
from traveltime_lab.streets.tables import StreetTables, street_km
from traveltime_lab.streets.topology import open_edges

#: Values of the columns of streets and of places: whether they are passable at the usual caps.
ANSWERS: Final = ("yes", "no", "unknown")
_LENIENT, _STRICT = (Transportation("walking+ferry", step_free=rule) for rule in ("lenient", "strict"))


def _answers(barred: Callable[[StreetTables, Transportation], BoolArray], tables: StreetTables) -> AnyArray:
    """Return the answer for each edge or node, as positions in `ANSWERS`."""
    lenient, strict = barred(tables, _LENIENT), barred(tables, _STRICT)
    return np.where(lenient, 1, np.where(strict, 2, 0))


def _columns(answers: AnyArray, codes: AnyArray, reasons: AnyArray) -> dict[str, AnyArray]:
    """Return the columns of a table by name."""
    words = np.array(ANSWERS, dtype=object)[answers]
    return {"step_free": words, "step_free_reason": reasons, "step_free_code": codes}


def columns_of_edges(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the columns of edges by name; none if nothing is known of them."""
    if not _is_known(tables):
        return {}
    slope = tables.edge_slope if tables.edge_slope.size else np.zeros(tables.edge_from.size, np.uint16)
    key = tables.edge_step_free.astype(np.int64) << 16 | slope
    rows, which = np.unique(key, return_inverse=True)
    words = [step_free.edge_in_words(row >> 16, _STRICT, row & 0xFFFF) for row in rows.tolist()]
    reasons = np.array(words, dtype=object)[which]
    found = _columns(_answers(step_free.is_barred, tables), tables.edge_step_free, reasons)
    return found | ({"steepest_percent": tables.edge_slope / 10.0} if tables.edge_slope.size else {})


def columns_of_nodes(tables: StreetTables) -> dict[str, AnyArray]:
    """Return the columns of nodes by name; none if nothing is known of them."""
    if not _is_known(tables):
        return {}
    rows, which = np.unique(tables.node_step_free, return_inverse=True)
    words = [step_free.node_in_words(row, _STRICT) for row in rows.tolist()]
    reasons = np.array(words, dtype=object)[which]
    return _columns(_answers(step_free.nodes_barred, tables), tables.node_step_free, reasons)


def _is_known(tables: StreetTables) -> bool:
    """Return whether obstacles and slopes are known, as searches need them."""
    return tables.has_step_free and tables.has_slopes == bool(tables.edge_slope.size)


def arrays_of(nodes: Any, edges: Any) -> dict[str, Any]:
    """Return arrays of the tables of nodes and edges; raise ValueError if a column is missing or wrong."""
    found: dict[str, Any] = {}
    if "steepest_percent" in edges:
        tenths = np.rint(edges["steepest_percent"].to_numpy(np.float64, na_value=np.nan) * 10.0)
        if not ((tenths >= 0) & (tenths < 2**16)).all():
            raise ValueError("the column steepest_percent has values that are missing or not from 0 to 6553")
        found["edge_slope"] = tenths.astype(np.uint16)
    given = ["step_free_code" in table for table in (edges, nodes)]
    if not any(given):
        return found
    if not all(given):
        raise ValueError(f"the column step_free_code of {'nodes' if given[0] else 'edges'} is missing")
    for name, table, dtype in (("edge", edges, np.uint32), ("node", nodes, np.uint16)):
        values, most = table["step_free_code"], np.iinfo(dtype).max
        if not (values.between(0, most) & (values % 1 == 0)).all():
            raise ValueError(
                f"the column step_free_code has values that are missing, or no whole numbers from 0 to {most}"
            )
        found[f"{name}_step_free"] = values.to_numpy(dtype)
    return found


def with_answers_of(tables: StreetTables, nodes: Any, edges: Any) -> StreetTables:
    """Return tables with the answers that a user has changed in tables; raise ValueError for wrong ones."""
    if not _is_known(tables):
        if "step_free" in edges or "step_free" in nodes:
            raise ValueError("the column step_free needs step_free_code of nodes_frame() and edges_frame() beside it")
        return tables
    edge, node = tables.edge_step_free.copy(), tables.node_step_free.copy()
    meanings = ((edges, edge, step_free.is_barred, step_free.edge_as), (nodes, node, step_free.nodes_barred,
                step_free.node_as))  # fmt: skip
    for table, codes, barred, as_given in meanings:
        if "step_free" not in table:
            continue
        given = table["step_free"].to_numpy(object)
        wrong = [each for each in dict.fromkeys(given.tolist()) if each not in ANSWERS]
        if wrong:
            raise ValueError(f"the column step_free must have 'yes', 'no' or 'unknown'; got {wrong[0]!r}")
        is_other = given != np.array(ANSWERS, dtype=object)[_answers(barred, tables)]
        for answer in ANSWERS:
            rows = is_other & (given == answer)
            codes[rows] = as_given(codes[rows], answer)
    is_same = np.array_equal(edge, tables.edge_step_free) and np.array_equal(node, tables.node_step_free)
    return tables if is_same else replace(tables, edge_step_free=edge, node_step_free=node)


def report_facts(tables: StreetTables) -> Mapping[str, Any]:
    """Return the kilometres of streets by whether they are step-free, and the number of obstacles at their ends."""
    walked = open_edges(tables, Transportation("walking"), before_changes=True).reshape(-1, 2).any(axis=1)
    answers = _answers(step_free.is_barred, tables)
    km = {name: street_km(tables, walked & (answers == k)) for k, name in enumerate(ANSWERS)}
    total = sum(km.values())
    at_nodes = _answers(step_free.nodes_barred, tables)
    is_end = np.zeros(at_nodes.size, np.bool_)
    is_end[tables.edge_from[walked]] = is_end[tables.edge_to[walked]] = True
    return {
        "km_passable": round(km["yes"], 1),
        "km_with_obstacles": round(km["no"], 1),
        "km_unknown": round(km["unknown"], 1),
        "unknown_share": km["unknown"] / total if total else 0.0,
        "places_with_obstacles": int((is_end & (at_nodes == 1)).sum()),
        "places_unknown": int((is_end & (at_nodes == 2)).sum()),
    }


def with_facts(modes: dict[str, Any], tables: StreetTables) -> dict[str, Any]:
    """Return facts about the streets of each mode, with those about step-free walking."""
    if _is_known(tables):
        modes["walking"]["step_free"] = report_facts(tables)
    return modes
