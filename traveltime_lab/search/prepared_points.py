"""
Points that are snapped to streets once, for many searches (`PreparedPoints`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from traveltime_lab.errors import InputError
from traveltime_lab.modes.snapping import Snapping
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.network.network import Network
from traveltime_lab.points import Points
from traveltime_lab.streets.snapping import Snaps, index_key

#: Parameters of snapping besides the streets and the role of the points.
_Rules = tuple[Any, float]


@dataclass(frozen=True, eq=False, repr=False)
class PreparedPoints(Points):
    """
    Points that are snapped to the streets of a network; see `prepare_points`.

    Attributes
    ----------
    table : GeoDataFrame, GeoSeries, Point, (lng, lat) or list of these
        The points as they were given. Later changes of the table have no effect.
    transportation : Transportation
    snapping : Snapping
    network : Network

    Examples
    --------
    >>> tl.prepare_points(
    ...     tl.sample_network(),
    ...     tl.sample_points(),
    ...     transportation="cycling",
    ... )
    PreparedPoints(8 points, cycling, origins and destinations)
    """

    table: Any
    transportation: Transportation
    snapping: Snapping
    network: Network
    _snaps: dict[tuple[_Rules, bool], Snaps] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the number of points and the parameters that they are prepared for."""
        roles = sorted({"origins" if is_origin else "destinations" for _, is_origin in self._snaps}, reverse=True)
        return f"PreparedPoints({len(self):,} points, {self.transportation.type}, {' and '.join(roles)})"

    def snapped(
        self, network: Network, transportation: Transportation, snapping: Snapping, *, is_origin: bool
    ) -> Snaps:
        """
        Return the positions of the points on the streets.

        Raises
        ------
        InputError
            If the points are prepared for other streets, or for another role.
        """
        if network.streets is not self.network.streets:
            msg = "the points are prepared for another network, or for one without its changes"
        elif (found := self._snaps.get((rules(transportation, snapping), is_origin))) is not None:
            return found
        elif (rules(transportation, snapping), not is_origin) in self._snaps:
            ready, given = ("destinations", "origins") if is_origin else ("origins", "destinations")
            msg = f"the points are prepared as {ready}, but are {given} here"
        else:
            msg = (
                f"the points are prepared for transportation {self.transportation.type!r} and {self.snapping}, but "
                f"the search uses the streets of {transportation.type!r} and {snapping}"
            )
        raise InputError(f"{msg}; prepare them with prepare_points(network, points, transportation=..., role=...)")


def rules(transportation: Transportation, snapping: Snapping) -> _Rules:
    """Return the parameters of snapping besides the streets and the role of the points; the penalty is added later."""
    return index_key(transportation, snapping.accept_roads), float(snapping.threshold)
