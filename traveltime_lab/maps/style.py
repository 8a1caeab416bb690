"""
How maps look, in one place: colours and line widths that the widget, the static picture and the demo share.

The ramp is sampled from viridis (S. van der Walt and N. Smith, released under CC0): it grows evenly in lightness and
keeps its order under the common kinds of colour blindness and in grey. The colours of several origins are those of
M. Okabe and K. Ito, "Color Universal Design" (2002), without black and yellow, which streets and paper leave no room
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from traveltime_lab.errors import InputError

#: Viridis at ninths, dark to light.
_VIRIDIS: Final = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
#: The part of the ramp that stands out from the paper and lets streets show through.
_RAMP_PART: Final = (0.12, 0.92)

#: Okabe and Ito: blue, vermilion, bluish green, reddish purple, orange, sky blue.
ORIGIN_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

PAPER: Final = "#f6f4ef"
WATER: Final = "#c9dfec"
STREET: Final = "#55524c"
FERRY: Final = "#5b86a8"
LABEL: Final = "#1c1c1c"
STREET_LABEL: Final = "#4a4740"
ORIGIN: Final = "#d7301f"
ROUTE: Final = "#111111"
#: Areas and points whose number is not known.
NO_VALUE: Final = "#b9b6b0"
#: Opacity of areas; the paper and the streets below stay readable.
AREA_OPACITY: Final = 0.6


@dataclass(frozen=True, slots=True)
class StreetRank:
    """
    How a group of street classes is drawn.

    Parameters
    ----------
    width_px : float
        Width of a line where a pixel is 10 m or more.
    coarsest_m : float
        Metres to a pixel beyond which the group is left out.
    """

    width_px: float
    coarsest_m: float


#: From small to large; a street class that is not in `_RANK_OF` is small (assumed throughout: chosen by eye).
RANKS: Final = (
    StreetRank(0.35, 9.0),
    StreetRank(0.5, 50.0),
    StreetRank(0.8, 90.0),
    StreetRank(1.2, 150.0),
    StreetRank(1.6, 400.0),
    StreetRank(2.1, 1e9),
)
_RANK_OF: Final = {
    "motorway": 5, "trunk": 5, "primary": 4, "secondary": 3, "tertiary": 2, "residential": 1, "unclassified": 1,
    "living_street": 1, "pedestrian": 1, "road": 1,
}  # fmt: skip


def rank_of(highway: str) -> int:
    """Return the position in `RANKS` of a value of the highway tag."""
    return _RANK_OF.get(highway.removesuffix("_link"), 0)


def _mixed(one: str, other: str, share: float) -> str:
    """Return the colour between two hexadecimal colours, `share` of the way to the other."""
    parts = [round(int(one[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def ramp_colour(place: float) -> str:
    """
    Return the colour at a place of the ramp.

    Parameters
    ----------
    place : float
        0 (near, dark) to 1 (far, light).

    Returns
    -------
    str
        Such as ``"#1f9e89"``.
    """
    if not 0.0 <= place <= 1.0:
        raise InputError(f"The place on the ramp must be from 0 to 1. Got {place!r} instead.")
    low, high = _RAMP_PART
    position = (low + place * (high - low)) * (len(_VIRIDIS) - 1)
    first = min(int(position), len(_VIRIDIS) - 2)
    return _mixed(_VIRIDIS[first], _VIRIDIS[first + 1], position - first)


def ramp(n: int) -> list[str]:
    """Return `n` colours of the ramp, near to far; one alone is the middle."""
    if n == 1:
        return [ramp_colour(0.45)]
    return [ramp_colour(i / (n - 1)) for i in range(n)]


def tints(colour: str, n: int) -> list[str]:
    """Return `n` tints of a colour, the strongest first."""
    return [_mixed(colour, "#ffffff", 0.7 * i / n) for i in range(n)]


def on_colour(colour: str) -> str:
    """Return black or white, whichever is read more easily on a colour."""
    # Relative luminance, WCAG 2.1.
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def minutes_label(seconds: float) -> str:
    """Return a travel time as people write it on a map: ``"7.5 min"``, ``"1 h 30 min"``."""
    minutes = seconds / 60.0
    if minutes < 60:
        return f"{minutes:.1f}".removesuffix(".0") + " min"
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def metres_label(metres: float) -> str:
    """Return a distance as people write it on a map: ``"500 m"``, ``"1.5 km"``."""
    return f"{metres:.0f} m" if metres < 1000 else f"{metres / 1000:.3g} km"


def round_length(most: float, steps: Sequence[float] = (1, 2, 5)) -> float:
    """Return the longest round length (1, 2 or 5 times a power of ten) of at most `most` metres, for a scale bar."""
    if not most > 0.0:
        raise InputError(f"A scale bar needs a positive length. Got {most!r} instead.")
    power = 1.0
    while power * 10 <= most:
        power *= 10
    while power > most:
        power /= 10
    return max(step * power for step in steps if step * power <= most)
