"""
Slopes of streets, and how much longer they take on foot and by bicycle.

Every number has its source beside it or is marked as assumed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import spsolve

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab.modes.table import CYCLING
from traveltime_lab.streets.costs import PUSHING_KPH
from traveltime_lab.streets.tables import StreetTables

#: Walking: speed is proportional to ``exp(-3.5 * abs(slope + 0.05))``. Source: W. Tobler, "Three presentations on
#: geographical analysis and modeling", NCGIA Technical Report 93-1, 1993. R5 (ToblerCalculator) and OpenTripPlanner
#: (ToblersHikingFunction) have it in the same form, relative to level ground.
_TOBLER_RATE: Final = 3.5
_TOBLER_OFFSET: Final = 0.05
#: Cycling, m/s: speed on level ground, lost for each per cent uphill, won for each per cent downhill, and the highest
#: speed downhill. Source: J. Parkin and J. Rotheram, "Design speeds and acceleration characteristics of bicycle traffic
#: for use in planning, design and appraisal", Transport Policy 17(5), 2010, doi:10.1016/j.tranpol.2010.03.001; the
#: digits are those of MATSim's BikeTravelTime, which takes them from there.
_LEVEL_MPS: Final = 6.01
_UPHILL_MPS: Final = 0.4002
_DOWNHILL_MPS: Final = 0.2379
_FASTEST_MPS: Final = 35.0 / 3.6
#: Steeper slopes count as this one. The steepest street, Baldwin Street in Dunedin, has 34.8 % (Guinness World
#: Records, 2020): a steeper slope is an error of the heights, or a cliff beside the street.
STEEPEST: Final = 0.35


def walking_factor(slope: FloatArray) -> FloatArray:
    """
    Return the time on foot divided by that on level ground.

    Parameters
    ----------
    slope : float64 array
        Metres up for each metre along, negative downhill.
    """
    slope = np.clip(slope, -STEEPEST, STEEPEST)
    return np.exp(_TOBLER_RATE * (np.abs(slope + _TOBLER_OFFSET) - _TOBLER_OFFSET))


def cycling_factor(slope: FloatArray) -> FloatArray:
    """
    Return the time by bicycle divided by that on level ground.

    Cyclists push uphill where walking beside a bicycle is faster than riding.

    Parameters
    ----------
    slope : float64 array
        Metres up for each metre along, negative downhill.
    """
    percent = 100.0 * np.clip(slope, -STEEPEST, STEEPEST)
    lost = np.where(percent > 0.0, _UPHILL_MPS, _DOWNHILL_MPS) * percent
    riding = np.minimum(_LEVEL_MPS - lost, _FASTEST_MPS) / _LEVEL_MPS
    pushing = PUSHING_KPH / CYCLING.usual_kph / walking_factor(slope)
    return np.asarray(1.0 / np.maximum(riding, pushing))


def heights_of_bridges(tables: StreetTables, height: FloatArray) -> FloatArray:
    """
    Return the heights of nodes, with those within bridges and tunnels interpolated between their ends.

    Parameters
    ----------
    tables : StreetTables
    height : float64 array of shape (n_nodes,), m
        Heights of the ground; NaN where unknown.
    """
    off = tables.edge_off_ground
    if not off.any():
        return height
    on_ground = np.zeros(height.size, np.bool_)
    on_ground[tables.edge_from[~off]] = True
    on_ground[tables.edge_to[~off]] = True
    is_end = on_ground & ~np.isnan(height)
    # A node with nothing but bridges around it, as in the middle of one; an unknown end has no height.
    is_inner = ~on_ground
    used = off & (is_inner | is_end)[tables.edge_from] & (is_inner | is_end)[tables.edge_to]
    a, b = tables.edge_from[used], tables.edge_to[used]
    conductance = 1.0 / np.maximum(tables.edge_length_m[used], 0.1)
    n = height.size
    joined = sparse.coo_array((np.tile(conductance, 2), (np.r_[a, b], np.r_[b, a])), shape=(n, n)).tocsr()
    inner = np.flatnonzero(is_inner & (np.diff(joined.indptr) > 0))
    # Bridges that end nowhere keep the heights of the ground.
    _, part = csgraph.connected_components(joined[inner][:, inner], directed=False)
    to_ends = np.asarray(joined[inner] @ is_end.astype(np.float64))
    inner = inner[(np.bincount(part, to_ends) > 0.0)[part]] if inner.size else inner
    if not inner.size:
        return height
    rows = joined[inner]
    system = sparse.diags_array(np.asarray(rows.sum(axis=1)).ravel()) - rows[:, inner]
    given = np.where(is_end, height, 0.0)
    found = height.copy()
    found[inner] = spsolve(system.tocsc(), rows @ given)
    return found


def keeps_speed(tables: StreetTables) -> BoolArray:
    """Return the edges whose speeds do not depend on slopes: ferries, elevators, and stairs, which are slow already."""
    highway = tables.uses["highway"].to_numpy()
    keeps = tables.uses["is_ferry"].to_numpy() | (highway == "elevator") | (highway == "steps")
    return np.asarray(keeps[tables.edge_use], np.bool_)
