"""
Levels of detail of shapes: by name, by number or as a coarse grid (docs/contract.md, 4.5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from traveltime_lab._checks import number
from traveltime_lab.errors import InputError, LimitError, ModeError

LEVEL_NAMES = ("lowest", "low", "medium", "high", "highest")
#: Level of the functions of the library. The service has that of its contract, ``lowest``.
DEFAULT_LEVEL = "medium"
MIN_SQUARE_SIZE_M = 600
#: Largest square of a coarse grid, about nine degrees of latitude (assumed).
MAX_SQUARE_SIZE_M = 1_000_000
#: Side of a cell in metres by base mode, for the five named levels. Points for which a shape and `time_filter` disagree
#: lie along the outline, in a band of a fraction of a cell, so their share falls with the size of the cell and rises
#: for small shapes. The cells of ``medium`` and ``highest`` were chosen with benchmarks/accuracy.py, whose figures are
#: in benchmarks/README.md. ``lowest`` agrees to at least 97.7 %.
CELL_M: dict[str, tuple[float, ...]] = {
    "walking": (50.0, 30.0, 12.0, 8.0, 4.0),
    "cycling": (80.0, 50.0, 20.0, 12.0, 8.0),
    "driving": (100.0, 60.0, 25.0, 16.0, 10.0),
}
#: How many times the interval between two cells is halved where the contour crosses a step, for the five named levels:
#: for travel times by base mode, and for lengths. Nine tenths of the points for which a shape without halvings and
#: `time_filter` disagree are at steps: neighbouring cells belong to different streets, or two ways are as fast but not
#: as long. Drives have few, so that their cells are enough. Chosen with benchmarks/accuracy.py.
HALVINGS: dict[str, tuple[int, ...]] = {
    "walking": (0, 0, 2, 1, 1),
    "cycling": (0, 0, 2, 1, 1),
    "driving": (0, 0, 0, 0, 0),
    "lengths": (0, 0, 3, 3, 3),
}
#: Longest travel time of each level; the next lower level is used above it.
LONGEST_TRAVEL_TIME_S = {2: 5_400, 1: 7_200, 0: 10_800, -1: 14_400, -2: 14_400}
#: Growth factor of the cell for each numeric level below ``lowest``.
COARSENING = 1.25


@dataclass(frozen=True, slots=True)
class LevelOfDetail:
    """
    The level of detail of a shape; see `parse_level_of_detail`.

    Parameters
    ----------
    numeric : int
        Level from -20 (coarsest) to 2; -2 to 2 are ``lowest`` to ``highest``.
    square_size_m : int, optional
        Side of the squares of a ``coarse_grid``, which does not use `numeric`.
    is_kept : bool, default False
        Whether the level is not lowered for long travel times.
    """

    numeric: int = 0
    square_size_m: int | None = None
    is_kept: bool = False

    def downgraded(self, travel_time_s: float) -> LevelOfDetail:
        """Return the finest level up to this one that is available for a travel time; coarse grids always are."""
        numeric = self.numeric
        if self.square_size_m is None and not self.is_kept:
            while travel_time_s > LONGEST_TRAVEL_TIME_S.get(numeric, math.inf):
                numeric -= 1
        return LevelOfDetail(numeric, self.square_size_m, self.is_kept)

    def cell_m(self, mode_family: str) -> float:
        """
        Return the side of a cell in metres for a base mode.

        For a coarse grid the cell is that of the lowest level, or a twelfth of a large square, but never larger than
        that of level -20.

        Raises
        ------
        ModeError
            If `mode_family` is not ``walking``, ``cycling`` or ``driving``.
        """
        if mode_family not in CELL_M:
            raise ModeError(
                f"The mode family of a level of detail must be one of {', '.join(CELL_M)}. Got {mode_family!r} instead."
            )
        sizes = CELL_M[mode_family]
        if self.square_size_m is not None:
            return max(sizes[0], min(self.square_size_m / 12.0, sizes[0] * COARSENING**18))
        return sizes[max(self.numeric, -2) + 2] * COARSENING ** max(-2 - self.numeric, 0)

    def halvings(self, mode_family: str, *, is_length: bool) -> int:
        """Return how many times intervals are halved at steps, see `HALVINGS`; 0 for a coarse grid."""
        if self.square_size_m is not None:
            return 0
        return HALVINGS["lengths" if is_length else mode_family][max(self.numeric, -2) + 2]


def parse_level_of_detail(value: object = None) -> LevelOfDetail:
    """
    Parse a level of detail given as a name, a number or a mapping (docs/contract.md, 4.5).

    Parameters
    ----------
    value : str, int, mapping or LevelOfDetail, optional
        A name (``lowest``, ``low``, ``medium``, ``high``, ``highest``), a number from -20 to 2, or a mapping:
        ``{"scale_type": "simple", "level": name}``, ``{"scale_type": "simple_numeric", "level": number}`` or
        ``{"scale_type": "coarse_grid", "square_size": metres}``. Default: ``medium``.

    Raises
    ------
    InputError
        If `value` is none of these.
    LimitError
        If a number is not from -20 to 2, or a square is not from 600 m to 1,000 km.
    """
    if value is None:
        return _named_level(DEFAULT_LEVEL)
    if isinstance(value, LevelOfDetail):
        return value
    if isinstance(value, str):
        return _named_level(value)
    if isinstance(value, Mapping):
        scale_type = value.get("scale_type", "simple")
        if not isinstance(scale_type, str):
            scale_type = repr(scale_type)
        if scale_type == "simple":
            return _named_level(value.get("level", DEFAULT_LEVEL))
        if scale_type == "simple_numeric":
            return LevelOfDetail(_whole_number("level", value.get("level"), -20, 2))
        if scale_type == "coarse_grid":
            size = _whole_number("square_size", value.get("square_size"), MIN_SQUARE_SIZE_M, MAX_SQUARE_SIZE_M)
            return LevelOfDetail(square_size_m=size)
        raise InputError(
            "The 'scale_type' of level_of_detail must be 'simple', 'simple_numeric' or 'coarse_grid'. "
            f"Got {scale_type!r} instead."
        )
    return LevelOfDetail(_whole_number("level", value, -20, 2))


def _named_level(name: object) -> LevelOfDetail:
    if not isinstance(name, str) or name not in LEVEL_NAMES:
        raise InputError(f"A level of detail must be one of {', '.join(LEVEL_NAMES)}. Got {name!r} instead.")
    return LevelOfDetail(LEVEL_NAMES.index(name) - 2)


def _whole_number(field: str, value: object, least: int, most: int) -> int:
    # Some JSON clients send 600.0 for 600. Booleans are integers in Python, so they are excluded explicitly.
    try:
        size = number(value, field)
    except InputError:
        size = math.nan
    if size % 1 != 0 and not (isinstance(value, int) and math.isinf(size)):
        raise InputError(f"The '{field}' of level_of_detail must be a whole number. Got {value!r} instead.")
    if not least <= size <= most:
        raise LimitError(f"The '{field}' of level_of_detail must be from {least} to {most}. Got {value!r} instead.")
    return int(size)
