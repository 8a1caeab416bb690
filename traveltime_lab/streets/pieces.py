"""
The pieces of street that a route consists of.
"""

from __future__ import annotations

from dataclasses import dataclass

from traveltime_lab.kernels.records import Positions


@dataclass(frozen=True, slots=True)
class Piece:
    """
    The part of one edge that a route uses.

    Attributes
    ----------
    directed : int
        Directed edge.
    begin, end : float
        Positions on it where the route enters and leaves it, 0 to 1.
    label : int
        Label (see `traveltime_lab.kernels.street.road`), including the turn or signal at its end, without boarding.
    boarding : int
        Label of boarding a ferry before it.
    """

    directed: int
    begin: float
    end: float
    label: int
    boarding: int = 0


@dataclass(frozen=True, slots=True)
class Path:
    """
    The fastest route of one pair.

    Attributes
    ----------
    pair : int
        Position of the pair in the request.
    pieces : list of Piece
        Pieces in travel order, without connectors; empty if origin and destination are one place.
    access, egress : int
        Labels of the connectors at the origin and the destination.
    """

    pair: int
    pieces: list[Piece]
    access: int
    egress: int

    @property
    def label(self) -> int:
        """Label of the whole route, which equals that of `traveltime_lab.streets.matrix`."""
        return self.access + sum(piece.label + piece.boarding for piece in self.pieces) + self.egress


def each_position(positions: Positions) -> list[tuple[int, float, int]]:
    """Return the edge, the fraction and the label of the connector of each position of a point."""
    rows = slice(int(positions.indptr[0]), int(positions.indptr[-1]))
    columns = positions.edge[rows].tolist(), positions.fraction[rows].tolist(), positions.connector[rows].tolist()
    return list(zip(*columns, strict=True))
