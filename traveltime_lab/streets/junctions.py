"""
The junctions at the ends of streets, of which a node has several where something is in the way.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab._arrays import AnyArray, Int32Array
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.streets import step_free
from traveltime_lab.streets.tables import (
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    StreetTables,
)

_BLOCKS = {"walking": NODE_BLOCKS_WALKING, "cycling": NODE_BLOCKS_CYCLING, "driving": NODE_BLOCKS_DRIVING}


def interleave(forward: AnyArray, backward: AnyArray) -> AnyArray:
    """Return values of directed edges, given those along the edges and those against them."""
    both = np.empty(2 * forward.size, forward.dtype)
    both[0::2], both[1::2] = forward, backward
    return both


def junction_of_ends(tables: StreetTables, transportation: Transportation) -> tuple[Int32Array, Int32Array]:
    """
    Return the junction at the start of each directed edge, and its node.

    Junctions are nodes, but for those that block the mode. These cannot be passed and can be reached from each of their
    streets, so that each of these has a junction of its own, numbered from ``n_nodes``. Step-free streets that an
    obstacle at a node separates have several, too.

    Returns
    -------
    junction, node : int32 arrays of shape (n_directed,)
    """
    node = interleave(tables.edge_from, tables.edge_to).astype(np.int32)
    blocked = (tables.node_flags[node] & _BLOCKS[transportation.base]) != 0
    side = np.where(blocked, np.arange(node.size, dtype=np.int32), -1)
    if transportation.step_free:
        ends, sides = step_free.ends_apart(tables, transportation)
        side[ends] = np.where(blocked[ends], ends, sides)
        blocked[ends] = True
    junction = node.copy()
    junction[blocked] = tables.node_lng.size + np.unique(side[blocked], return_inverse=True)[1]
    return junction, node
