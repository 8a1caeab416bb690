"""
Ways inside buildings between points and the places where they are linked to streets.
"""

from __future__ import annotations

from typing import NamedTuple

from traveltime_lab._arrays import BoolArray, IndexArray, Int64Array, chosen_rows


class Indoors(NamedTuple):
    """
    The parts of connectors between points and their places that are inside buildings.

    Attributes
    ----------
    labels : int64 array of shape (n_places,)
        Time and length, for each of the `places` of `traveltime_lab.streets.snapping.Snaps`.
    is_indoors : bool array of shape (n_points,)
        Points of which the connectors are inside: they are one place with no other point.
    """

    labels: Int64Array
    is_indoors: BoolArray

    def take(self, indptr: Int64Array, index: IndexArray) -> Indoors:
        """Return those of the points at some positions, given the CSR of the places by point."""
        return Indoors(self.labels[chosen_rows(indptr, index)[1]], self.is_indoors[index])
