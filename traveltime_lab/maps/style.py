"""
Colours and line widths of all maps: the widget, static maps and the demo.

The colour ramp is sampled from viridis (S. van der Walt and N. Smith, released under CC0), which is perceptually
uniform and remains ordered for readers with colour vision deficiencies and in greyscale. The colours of origins are
those of M. Okabe and K. Ito, "Color Universal Design" (2002), without black and yellow, which are hard to distinguish
from streets and background.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from traveltime_lab.errors import InputError, MissingDependencyError

#: Viridis at ten equidistant values, dark to light.
_VIRIDIS: Final = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
#: PuOr of ColorBrewer 2.0 (C. Brewer; colorbrewer2.org lists it as safe for colour vision deficiencies), from orange
#: over nearly white to purple.
_PUOR: Final = (
    "#7f3b08", "#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7", "#d8daeb", "#b2abd2", "#8073ac", "#542788",
    "#2d004b",
)  # fmt: skip
#: The part of viridis that contrasts with the background and with streets.
_RAMP_PART: Final = (0.12, 0.92)

#: Okabe and Ito: blue, vermilion, bluish green, reddish purple, orange, sky blue.
ORIGIN_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

#: Layers of own data in the widget: strong colours of PuOr and BrBG of ColorBrewer 2.0, unlike those of origins.
LAYER_COLOURS: Final = ("#5e3c99", "#a6611a", "#018571")

PAPER: Final = "#f6f4ef"
WATER: Final = "#c9dfec"
STREET: Final = "#55524c"
FERRY: Final = "#5b86a8"
LABEL: Final = "#1c1c1c"
STREET_LABEL: Final = "#4a4740"
ORIGIN: Final = "#d7301f"
ROUTE: Final = "#111111"
#: Legs of routes by mode (assumed: chosen by eye); others have the colour of routes.
MODE_COLOURS: Final = {
    "walk": "#4a4740", "bike": "#1b7837", "car": "#111111", "ferry": "#08519c", "bus": "#9e3d0a", "coach": "#8c510a",
    "train": "#762a83", "rail_national": "#762a83", "rail_overground": "#c51b7d", "rail_underground": "#2166ac",
    "rail_dlr": "#01665e",
}  # fmt: skip
#: Areas and points with missing values.
NO_VALUE: Final = "#b9b6b0"
#: Areas of a comparison that have a value only after it, or only before it; neither colour is on its scale.
ONLY_ONE: Final = {"gained": "#2a9d8f", "lost": "#6f6a63"}
#: Areas that `compare` says were gained and lost: strong colours of the two sides of the diverging scale.
AREA_CHANGES: Final = {"gained": "#542788", "lost": "#b35806"}
#: Opacity of areas; streets and labels below remain legible.
AREA_OPACITY: Final = 0.6


@dataclass(frozen=True, slots=True)
class StreetRank:
    """
    Line style of a group of street classes.

    Parameters
    ----------
    width_px : float
        Line width at scales of 10 m per pixel and coarser.
    coarsest_m : float
        Coarsest scale, in metres per pixel, at which the group is drawn.
    """

    width_px: float
    coarsest_m: float


#: Ranks from minor to major; classes that are not in `_RANK_OF` have rank 0 (assumed: chosen by eye).
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
    """Return the index in `RANKS` of a value of the highway tag."""
    return _RANK_OF.get(highway.removesuffix("_link"), 0)


def _mixed(one: str, other: str, share: float) -> str:
    """Interpolate linearly between two hexadecimal colours."""
    parts = [round(int(one[i : i + 2], 16) * (1 - share) + int(other[i : i + 2], 16) * share) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def ramp_colour(place: float) -> str:
    """
    Return a colour of the ramp.

    Parameters
    ----------
    place : float
        Position from 0 (near, dark) to 1 (far, light).

    Returns
    -------
    str
        Hexadecimal colour such as ``"#1f9e89"``.
    """
    if not 0.0 <= place <= 1.0:
        raise InputError(f"place must be from 0 to 1; got {place!r}")
    low, high = _RAMP_PART
    position = (low + place * (high - low)) * (len(_VIRIDIS) - 1)
    first = min(int(position), len(_VIRIDIS) - 2)
    return _mixed(_VIRIDIS[first], _VIRIDIS[first + 1], position - first)


def diverging_colour(place: float) -> str:
    """
    Return a colour of the diverging ramp.

    Parameters
    ----------
    place : float
        Position from -1 (orange) over 0 (nearly white) to 1 (purple).
    """
    if not -1.0 <= place <= 1.0:
        raise InputError(f"place must be from -1 to 1; got {place!r}")
    position = (place + 1.0) / 2.0 * (len(_PUOR) - 1)
    first = min(int(position), len(_PUOR) - 2)
    return _mixed(_PUOR[first], _PUOR[first + 1], position - first)


def ramp(n: int) -> list[str]:
    """Return `n` colours of the ramp from near to far; a single colour is from its middle."""
    if n == 1:
        return [ramp_colour(0.45)]
    return [ramp_colour(i / (n - 1)) for i in range(n)]


def tints(colour: str, n: int) -> list[str]:
    """Return `n` tints of a colour, strongest first."""
    return [_mixed(colour, "#ffffff", 0.7 * i / n) for i in range(n)]


def on_colour(colour: str) -> str:
    """Return black or white, whichever has more contrast with a colour."""
    luminance = _luminance(colour)
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as defined in WCAG 2.1, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour as defined in WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def minutes_label(seconds: float) -> str:
    """Format a travel time for labels: ``"7.5 min"``, ``"1 h 30 min"``."""
    minutes = seconds / 60.0
    if round(minutes, 1) < 60:
        return f"{minutes:.1f}".removesuffix(".0") + " min"
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def metres_label(metres: float) -> str:
    """Format a distance for labels: ``"500 m"``, ``"1.5 km"``."""
    return f"{metres:.0f} m" if round(metres) < 1000 else f"{number_label(metres / 1000)} km"


def number_label(value: float, digits: int = 3) -> str:
    """Format a number for labels: thousands have separators, smaller ones `digits` digits: ``"12,500"``, ``"0.25"``."""
    if abs(value) >= 1e15:
        return f"{value:.{digits}g}"
    kept = len(f"{abs(value):.0f}") if abs(value) >= 1.0 else 0
    return f"{value:,.{max(digits, kept)}g}"


def tick_labels() -> Any:
    """Return a formatter of matplotlib for the ticks of a scale: equal decimals, separators, and no powers of ten."""
    base: Any = matplotlib_module("ticker").ScalarFormatter

    def call(formatter: Any, value: float, position: int | None = None) -> str:
        text = str(base.__call__(formatter, value, position))
        whole, point, decimals = text.partition(".")
        return re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", whole) + point + decimals

    def reduce(formatter: Any) -> tuple[Any, ...]:
        """Pickle by this function, since pickle looks for classes in modules, which do not import matplotlib."""
        return tick_labels, (), vars(formatter)

    made = type("TickLabels", (base,), {"__call__": call, "__reduce__": reduce})(useOffset=False)
    made.set_scientific(False)
    return made


def round_length(most: float, steps: Sequence[float] = (1, 2, 5)) -> float:
    """Return the length of a scale bar: 1, 2 or 5 times a power of ten, at most `most` metres."""
    if not most > 0.0:
        raise InputError(f"most must be a positive length in metres; got {most!r}")
    power = 1.0
    while power * 10 <= most:
        power *= 10
    while power > most:
        power /= 10
    return max(step * power for step in steps if step * power <= most)


def matplotlib_module(name: str) -> Any:
    """Import a module of matplotlib, which is slow and seldom needed; explain how to install it if it is not there."""
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        msg = "plot needs matplotlib; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error
