"""
Find streets whose speeds for cars may be wrong.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import FloatArray, IndexArray
from traveltime_lab.streets.tables import StreetTables

#: No street is faster (km/h; assumed: streets without a limit have 140, see `traveltime_lab.readers.osm.tag_values`).
FASTEST_KPH: Final = 145.0
#: Ratio of a speed to the median of its road class, or inverse, from which it is doubtful (assumed).
FAR_FROM_CLASS: Final = 3.0
#: Fewest edges of a road class of which a median says something (assumed).
FEWEST_OF_CLASS: Final = 30
#: Ratio of speeds of both neighbours of a section to its own, or inverse, from which it is doubtful (assumed).
FAR_FROM_NEIGHBOURS: Final = 2.0


def doubtful_speeds(tables: StreetTables) -> pd.DataFrame:
    """
    Return the edges whose speeds for cars may be wrong.

    Returns
    -------
    DataFrame
        ``edge``, ``kph`` (the higher one of both directions), ``usual_kph`` (that of the road class, or of the
        neighbours) and ``reason``: ``too_fast``, ``differs_from_neighbours`` or ``differs_from_class``; the first that
        applies.
    """
    uses = tables.uses
    both = uses[["driving_kph_forward", "driving_kph_backward"]].to_numpy(np.float64).max(axis=1)
    kph = np.where(uses["is_ferry"].to_numpy(), 0.0, both)[tables.edge_use]
    edges = np.flatnonzero(kph > 0.0)
    of_class = uses["highway"].to_numpy()[tables.edge_use][edges]
    speeds = pd.Series(kph[edges]).groupby(pd.Series(of_class), observed=True)
    usual = speeds.transform("median").where(speeds.transform("size") >= FEWEST_OF_CLASS).to_numpy()
    least, most = _neighbours_kph(tables, edges, kph[edges], of_class)
    own = kph[edges]
    too_fast = own > FASTEST_KPH
    slower, faster = own * FAR_FROM_NEIGHBOURS <= least, own >= most * FAR_FROM_NEIGHBOURS
    far = (own > usual * FAR_FROM_CLASS) | (own * FAR_FROM_CLASS < usual)
    reason = np.select(
        [too_fast, slower | faster, far], ["too_fast", "differs_from_neighbours", "differs_from_class"], default=""
    )
    found = np.flatnonzero(reason != "")
    beside = np.where(slower, least, most)
    return pd.DataFrame(
        {
            "edge": edges[found],
            "kph": own[found],
            "usual_kph": np.where(slower | faster, beside, usual)[found],
            "reason": reason[found],
        }
    )


def _neighbours_kph(
    tables: StreetTables, edges: IndexArray, kph: FloatArray, of_class: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """
    Return the least and highest speed of the sections of the same street before and after each edge.

    Sections of a street have the same name and road class. The speeds are NaN if there is none on one of the sides.
    """
    n = edges.size
    street = pd.factorize(pd.MultiIndex.from_arrays([tables.edge_name[edges], of_class]))[0]
    is_named = np.array([bool(name) for name in tables.names])[tables.edge_name[edges]]
    node = np.concatenate([tables.edge_from[edges], tables.edge_to[edges]]).astype(np.int64)
    group = np.unique(np.column_stack([node, np.tile(street, 2)]), axis=0, return_inverse=True)[1].ravel()
    speed = np.tile(kph, 2)
    order = np.lexsort((speed, group))
    ends = np.cumsum(np.bincount(group))
    first, last = (ends - np.bincount(group))[group], ends[group] - 1
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    ranked = speed[order]
    # The least and highest of the others at the same junction: an edge that is the least itself does not count.
    least = np.where(first == last, np.nan, ranked[np.minimum(first + (place == first), last)])
    most = np.where(first == last, np.nan, ranked[np.maximum(last - (place == last), first)])
    lowest = np.where(is_named, np.minimum(least[:n], least[n:]), np.nan)
    return lowest, np.where(is_named, np.maximum(most[:n], most[n:]), np.nan)
