"""
Pairs of origins and destinations on streets.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import AnyArray, IndexArray
from traveltime_lab.streets.snapping import Snaps

PairIndex = tuple[IndexArray, IndexArray]


@dataclass(frozen=True)
class Pairs:
    """
    Pairs of snapped points.

    Attributes
    ----------
    starts, ends : Snaps
        Origins and destinations.
    chosen : pair of intp arrays of shape (n_pairs,), optional
        Positions of the origin and the destination of each pair; by default all pairs, origin by origin.
    """

    starts: Snaps
    ends: Snaps
    chosen: PairIndex | None = None

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.starts) * len(self.ends) if self.chosen is None else self.chosen[0].size

    @functools.cached_property
    def origin_of(self) -> IndexArray:
        """Positions of the origins."""
        return np.repeat(np.arange(len(self.starts)), len(self.ends)) if self.chosen is None else self.chosen[0]

    @functools.cached_property
    def destination_of(self) -> IndexArray:
        """Positions of the destinations."""
        return np.tile(np.arange(len(self.ends)), len(self.starts)) if self.chosen is None else self.chosen[1]

    def take(self, rows: AnyArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.starts, self.ends, (self.origin_of[rows], self.destination_of[rows]))

    def reversed(self) -> Pairs:
        """Return the pairs from the destinations to the origins, in the same order."""
        return Pairs(self.ends, self.starts, (self.destination_of, self.origin_of))
