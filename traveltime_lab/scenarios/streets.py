"""
Apply changes to the tables of streets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, BoolArray, IndexArray, Int64Array, unique_values
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.modes.table import STREET_MODES
from traveltime_lab.scenarios.changes import Change
from traveltime_lab.scenarios.edge_names import named
from traveltime_lab.scenarios.selection import selected
from traveltime_lab.scenarios.street_changes import (
    AddCycleTrack,
    AddStreet,
    CloseStreets,
    MakeStepFree,
    OfModes,
    ReopenStreets,
    Selection,
    SetSpeed,
)
from traveltime_lab.streets import step_free, stress
from traveltime_lab.streets.hourly_speeds import MAX_KPH, MIN_KPH, check_scaled
from traveltime_lab.streets.tables import ACCESS_NO, CLOSED_BY_CHANGE, StreetTables

_OTHER = {"forward": "backward", "backward": "forward"}
#: Changes of streets.
KINDS = (CloseStreets, ReopenStreets, SetSpeed, AddCycleTrack, MakeStepFree, AddStreet)


def with_names(tables: StreetTables, change: Change) -> Change:
    """
    Return a change whose edges have names that last, instead of row numbers of the tables.

    Raises
    ------
    InputError
        If a row number is not one of the tables.
    """
    if not isinstance(change, Selection):
        return change
    rows = np.array([each for each in change.edges if isinstance(each, int)], np.int64)
    n = tables.edge_from.size
    unknown = rows[(rows < 0) | (rows >= n)]
    if unknown.size:
        raise InputError(f"{change.title}: the network has no edge {int(unknown[0])}; edges are from 0 to {n - 1}")
    return replace(change, edges=named(tables, change.edges)) if rows.size else change


def apply(tables: StreetTables, change: Change) -> tuple[StreetTables, str]:
    """Apply a change that selects streets; return the tables, and its effect, for reports."""
    assert isinstance(change, Selection)
    chosen, beside = selected(tables, change)
    if isinstance(change, SetSpeed):
        how = f"factor {change.factor:g}" if change.kph is None else f"{change.kph:g} km/h"
        done = f"{how} for {_and(change.modes)}"
        changed, is_other = with_uses(tables, chosen, lambda uses: _with_speeds(uses, change))
        changed, is_other = _with_measured_speeds(changed, is_other, chosen, change)
        if change.kph is not None and any(STREET_MODES[mode].has_traffic for mode in change.modes):
            changed = _with_stress_of_speeds(changed, np.flatnonzero(is_other))
    elif isinstance(change, AddCycleTrack):
        done = "cycle tracks built" + ("" if change.direction == "both" else f" {change.direction}")
        ridden = chosen[_is_ridden(tables)[chosen]]
        changed, is_other = _with_tracks(tables, ridden, change)
        left = np.zeros(tables.edge_from.size, np.bool_)
        left[np.setdiff1d(chosen, ridden)] = True
        if left.any():
            done += f"; none along {_counted(tables, left)}, which cyclists may not use"
    elif isinstance(change, MakeStepFree):
        done = "without obstacles for wheelchairs"
        changed, is_other = _made_step_free(tables, chosen, change)
    else:
        assert isinstance(change, OfModes)
        closes = isinstance(change, CloseStreets)
        done = f"{'closed' if closes else 'reopened'} to {_and(change.modes)}"
        changed, is_other = with_uses(tables, chosen, lambda uses: _with_access(uses, change.modes, closes=closes))
    fact = f"{_counted(tables, is_other)}, {done}"
    is_beside = np.zeros(is_other.size, np.bool_)
    is_beside[beside] = True
    if (is_other & is_beside).any():
        fact = f"{fact}; {_counted(tables, is_other & is_beside)}, of them beside the others"
    return changed, fact


def _counted(tables: StreetTables, edges: BoolArray) -> str:
    """Return the number of some edges and their length in words."""
    n, km = int(edges.sum()), float(tables.edge_length_m[edges].sum() / 1000)
    return f"{n:,} edge{'' if n == 1 else 's'}, {km:,.2f} km"


def _and(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def with_uses(
    tables: StreetTables, edges: IndexArray, changed: Callable[[pd.DataFrame], pd.DataFrame]
) -> tuple[StreetTables, BoolArray]:
    """
    Return tables with new uses of some edges, and which edges have other uses than before; unchanged arrays are shared.

    The numbers in ``edge_use`` of two tables cannot be compared: rows are renumbered, so that an edge may have the same
    number for another use.

    Parameters
    ----------
    tables : StreetTables
    edges : integer array
    changed : callable
        Returns the changed rows of `StreetTables.uses`.
    """
    is_other = np.zeros(tables.edge_from.size, np.bool_)
    if not edges.size:
        return tables, is_other
    uses = tables.uses
    rows, which = np.unique(tables.edge_use[edges], return_inverse=True)
    new = changed(uses.iloc[rows].copy()).astype(uses.dtypes.to_dict())
    # An equal row that exists is used, so that a change and its opposite give the tables of before.
    known: dict[tuple[object, ...], int] = {}
    for number, row in enumerate(pd.concat([uses, new]).itertuples(index=False, name=None)):
        known.setdefault(row, number)
    place, before = (
        np.array([known[row] for row in each.itertuples(index=False, name=None)], np.int64)
        for each in (new, uses.iloc[rows])
    )
    is_other[edges] = (place != before)[which]
    if not is_other.any():
        return tables, is_other
    edge_use = tables.edge_use.copy()
    edge_use[edges] = place[which]
    table = pd.concat([uses, new], ignore_index=True)
    used, edge_use[:] = _numbered(edge_use, len(uses))
    table = table.iloc[used].reset_index(drop=True)
    return replace(tables, uses=table, edge_use=edge_use.astype(np.int32)), is_other


def _numbered(edge_use: AnyArray, n_before: int) -> tuple[Int64Array, Int64Array]:
    """Return the rows to keep, those of before up to the last one that is used and used new ones, and new numbers."""
    used = unique_values(edge_use)
    old = used[used < n_before]
    rows = np.concatenate([np.arange(int(old.max(initial=-1)) + 1), used[used >= n_before]])
    number = np.full(int(rows.max()) + 1, -1, np.int64)
    number[rows] = np.arange(rows.size)
    return rows, number[edge_use]


def _with_stress_of_speeds(tables: StreetTables, edges: IndexArray) -> StreetTables:
    """Return tables with the levels of traffic stress that follow from the speeds of cars on some edges."""
    if not tables.has_stress or not edges.size:
        return tables
    codes = tables.edge_stress.reshape(-1, 2).copy()
    uses = tables.uses.iloc[tables.edge_use[edges]]
    kph = uses[["driving_kph_forward", "driving_kph_backward"]].to_numpy(np.float64)
    # Against a one-way street, cyclists meet its cars.
    kph = np.where(kph > 0, kph, kph[:, ::-1])
    before = zip(codes[edges].tolist(), kph.tolist(), uses["highway"], strict=True)
    codes[edges] = [
        [stress.with_speed(code, speed, highway) if speed > 0 else code
         for code, speed in zip(both, speeds, strict=True)]
        for both, speeds, highway in before
    ]  # fmt: skip
    return replace(tables, edge_stress=codes.ravel()) if (codes.ravel() != tables.edge_stress).any() else tables


def _is_ridden(tables: StreetTables) -> BoolArray:
    """Return which edges are open to cycling in a direction, those that a change has closed among them."""
    uses = tables.uses
    allowed = (uses["cycling_access"].to_numpy() & ~np.uint8(CLOSED_BY_CHANGE)) != ACCESS_NO
    moves = (uses["cycling_kph_forward"].to_numpy() > 0) | (uses["cycling_kph_backward"].to_numpy() > 0)
    return np.asarray((allowed & moves)[tables.edge_use])


def _with_tracks(tables: StreetTables, edges: IndexArray, change: AddCycleTrack) -> tuple[StreetTables, BoolArray]:
    """Return tables with cycle tracks along some edges, and which edges have other stress or uses than before."""
    if not tables.has_stress:
        raise InputError(
            f"{change.title} needs levels of traffic stress, which this network does not have; build it again from "
            "OpenStreetMap data, or from tables with the column 'highway'"
        )
    codes = tables.edge_stress.reshape(-1, 2).copy()
    changed, is_opened = tables, np.zeros(tables.edge_from.size, np.bool_)
    for side, way in enumerate(("forward", "backward")):
        if change.direction not in ("both", way):
            continue
        ways = {mode: tables.uses[[f"{mode}_kph_{each}" for each in (way, _OTHER[way])]].to_numpy() > 0
                for mode in ("driving", "cycling")}  # fmt: skip
        # Streets of buses alone have the directions of cyclists.
        is_driven = np.where(ways["driving"].any(axis=1), ways["driving"][:, 0], ways["cycling"][:, 0])
        is_driven = is_driven[tables.edge_use[edges]]
        rows = edges if change.direction == way else edges[is_driven]
        codes[rows, side] = stress.with_track(codes[rows, side])
        if change.direction == way:
            changed, is_opened = with_uses(tables, edges, partial(_opened, way=way))
    is_other = (codes != tables.edge_stress.reshape(-1, 2)).any(axis=1)
    return replace(changed, edge_stress=codes.ravel()) if is_other.any() else changed, is_other | is_opened


def _made_step_free(tables: StreetTables, edges: IndexArray, change: MakeStepFree) -> tuple[StreetTables, BoolArray]:
    """Return tables without obstacles along some edges and at their ends, and which of them had any."""
    if not tables.has_step_free:
        raise InputError(
            f"{change.title} needs obstacles for wheelchairs, which this network does not have; build it again from "
            "OpenStreetMap data, or from tables with the column 'highway'"
        )
    edge, node = step_free.made_step_free(tables, edges)
    is_node = node != tables.node_step_free
    is_other = np.zeros(edge.size, np.bool_)
    is_other[edges] = (edge != tables.edge_step_free)[edges]
    is_other[edges] |= is_node[tables.edge_from[edges]] | is_node[tables.edge_to[edges]]
    if not is_other.any():
        return tables, is_other
    return replace(tables, edge_step_free=edge, node_step_free=node), is_other


def _opened(uses: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return uses that are open to cycling in a direction, at the speed of the other one."""
    own, other = f"cycling_kph_{way}", f"cycling_kph_{_OTHER[way]}"
    uses[own] = np.where(uses[own] > 0, uses[own], uses[other])
    return uses


def _with_measured_speeds(
    tables: StreetTables, is_other: BoolArray, edges: IndexArray, change: SetSpeed
) -> tuple[StreetTables, BoolArray]:
    """Return tables whose measured speeds of some edges are dropped or multiplied, and the edges that differ."""
    if tables.hourly is None or not any(STREET_MODES[mode].has_traffic for mode in change.modes):
        return tables, is_other
    is_measured = (tables.hourly.week_of.reshape(-1, 2)[edges] > 0).any(axis=1)
    rows = edges[is_measured]
    if not rows.size or change.factor == 1.0:
        return tables, is_other
    is_other[rows] = True
    directed = np.concatenate([2 * rows, 2 * rows + 1])
    if change.kph is not None:
        return replace(tables, hourly=tables.hourly.without(directed)), is_other
    factor = np.ones(2 * tables.edge_from.size)
    factor[directed] = change.factor
    scaled = tables.hourly.scaled(factor)
    check_scaled(scaled, f"{change.title}: factor {change.factor:g}")
    return replace(tables, hourly=scaled), is_other


def _with_access(uses: pd.DataFrame, modes: tuple[str, ...], *, closes: bool) -> pd.DataFrame:
    """Return uses that are closed to some modes, or open as they were."""
    for mode in modes:
        access = uses[f"{mode}_access"].to_numpy()
        closed = np.where(access != ACCESS_NO, access | CLOSED_BY_CHANGE, ACCESS_NO)
        uses[f"{mode}_access"] = (closed if closes else access & ~np.uint8(CLOSED_BY_CHANGE)).astype(np.uint8)
    return uses


def _with_speeds(uses: pd.DataFrame, change: SetSpeed) -> pd.DataFrame:
    """Return uses with other speeds in the directions that are open."""
    for mode in change.modes:
        for side in ("forward", "backward"):
            kph = uses[f"{mode}_kph_{side}"].to_numpy().astype(np.float64)
            new = kph * change.factor if change.kph is None else np.full(kph.size, change.kph)
            wrong = (kph > 0) & ~((new >= MIN_KPH) & (new <= MAX_KPH))
            if wrong.any():
                raise LimitError(
                    f"{change.title}: factor {change.factor:g} makes {kph[wrong][0]:g} km/h {new[wrong][0]:g} km/h; "
                    f"choose one that gives {MIN_KPH:g} to {MAX_KPH:g} km/h"
                )
            uses[f"{mode}_kph_{side}"] = np.where(kph > 0, new, 0.0)
    return uses
