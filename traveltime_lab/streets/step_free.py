"""
Streets without steps, for wheelchairs and prams.
"""

from __future__ import annotations

import numpy as np

from traveltime_lab._arrays import BoolArray
from traveltime_lab.streets.tables import StreetTables


def is_barred(tables: StreetTables) -> BoolArray:
    """
    Return which edges cannot be passed without steps.

    Returns
    -------
    bool array of shape (n_edges,)
    """
    is_steps = tables.uses["highway"].to_numpy() == "steps"
    return np.asarray(is_steps[tables.edge_use])
