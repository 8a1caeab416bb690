"""
Options for snapping points to streets.

Names and defaults are those of docs/contract.md, 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import ModeError
from traveltime_lab.limits import MAX_THRESHOLD_M
from traveltime_lab.modes.options import guess, one_of, whole

Penalty = Literal["enabled", "disabled"]
AcceptRoads = Literal["both_drivable_and_walkable", "any_drivable"]
PENALTIES: Final = ("enabled", "disabled")
ACCEPTABLE_ROADS: Final = ("both_drivable_and_walkable", "any_drivable")


@explained_keywords
@dataclass(frozen=True, slots=True)
class Snapping:
    """
    Options for snapping points to streets, named as in docs/contract.md, 4.4.

    Parameters
    ----------
    penalty : {"enabled", "disabled"}, default "enabled"
        Whether travel times and distances include the walk between a point and its street, at both ends.
    accept_roads : {"both_drivable_and_walkable", "any_drivable"}, default "both_drivable_and_walkable"
        Streets that points snap to when driving; the first excludes streets that pedestrians may not use.
    threshold : int, default 1000
        Maximum distance to a street in metres, 0 or more.

    Raises
    ------
    ModeError
        If a value is unknown or not a number.
    LimitError
        If `threshold` is negative or above 20,000,000.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> near = tl.snap(network, places, snapping=tl.Snapping(threshold=1))
    >>> int((near["status"] == "snapped").sum())
    0
    """

    penalty: Penalty = "enabled"
    accept_roads: AcceptRoads = "both_drivable_and_walkable"
    threshold: int = 1000

    def __post_init__(self) -> None:
        """Check and normalise every field."""
        object.__setattr__(self, "penalty", one_of(self.penalty, PENALTIES, "snapping penalty"))
        object.__setattr__(self, "accept_roads", one_of(self.accept_roads, ACCEPTABLE_ROADS, "snapping accept_roads"))
        far = whole(self.threshold, "snapping threshold", "metres", MAX_THRESHOLD_M)
        object.__setattr__(self, "threshold", far)


def as_snapping(value: Snapping | Mapping[str, Any] | None) -> Snapping:
    """
    Return a `Snapping` from a mapping of its fields, None for the defaults, or a `Snapping`.

    Parameters
    ----------
    value : Snapping, mapping or None
        Fields that are None are ignored.

    Raises
    ------
    ModeError
        If a field or a value is unknown.
    LimitError
        If the threshold is negative.
    """
    if value is None:
        return Snapping()
    if isinstance(value, Snapping):
        return value
    if not isinstance(value, Mapping):
        raise ModeError(
            "snapping must be a Snapping or a mapping of 'penalty', 'accept_roads' and 'threshold'; "
            f"got {type(value).__name__}."
        )
    known = tuple(field.name for field in fields(Snapping))
    for key in value:
        if key not in known:
            raise ModeError(f"Unknown snapping option {key!r}. {guess(key, known)}")
    return Snapping(**{key: item for key, item in value.items() if item is not None})
