"""
How values become colours: a continuous scale between two limits, or classes of mapclassify.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from traveltime_lab._arrays import FloatArray, unique_values
from traveltime_lab._checks import did_you_mean, number, whole, words
from traveltime_lab.errors import InputError, MissingDependencyError
from traveltime_lab.maps import style

#: Number of classes of a scheme, as in geopandas; the largest number is assumed.
CLASSES: Final = 5
_MOST_CLASSES: Final = 50
#: Values farther from the quartiles than this multiple of their distance are "far out" (J. W. Tukey, "Exploratory Data
#: Analysis", 1977, 2D).
_FAR_OUT: Final = 3.0


@dataclass(frozen=True)
class Shading:
    """
    Validated options of the colours of values.

    Attributes
    ----------
    scheme : str or None
        Name of a classifier of mapclassify; None for a continuous scale.
    k : int
        Number of classes.
    cmap : matplotlib colormap or None
        None for the colours of all maps.
    vmin, vmax : float or None
        Limits of a continuous scale; None for those of the values without outliers.
    """

    scheme: str | None = None
    k: int = CLASSES
    cmap: Any = None
    vmin: float | None = None
    vmax: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether colours are those of a scale, whatever the layers are."""
        return self != Shading()

    def limits(self, values: FloatArray, *, is_centred: bool = False) -> tuple[float, float]:
        """Return the ends of the scale: the given ones, or those of the values that are not far out."""
        if is_centred:
            # Where most differences are zero, the quartiles of all would say nothing about the others.
            values = np.abs(values[values != 0.0])
        if not values.size:
            low, high = 0.0, 1.0
        else:
            first, third = np.quantile(values, (0.25, 0.75))
            reach = _FAR_OUT * (third - first)
            near = values[(values >= first - reach) & (values <= third + reach)] if reach > 0.0 else values
            low, high = float(near.min()), float(near.max())
        if is_centred:
            low = -high
        low, high = low if self.vmin is None else self.vmin, high if self.vmax is None else self.vmax
        return (low, high) if low <= high else (high, low)

    def edges(self, values: FloatArray) -> FloatArray | None:
        """Return the lower end of the first class and the upper ends of all, None for a continuous scale."""
        if self.scheme is None or not values.size:
            return None
        import mapclassify  # noqa: PLC0415 - an optional extra, see `shading_of`

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fewer values than classes
                made = mapclassify.classify(values, self.scheme, k=self.k)
        except Exception as error:  # whatever a classifier raises
            msg = f"scheme {self.scheme!r} cannot classify {values.size} values into k={self.k}: {error}"
            raise InputError(msg) from error
        bins = unique_values(np.asarray(made.bins, np.float64))
        # A lowest class of the least value alone would have no extent in the legend.
        first = min(float(values.min()), bins[0])
        return np.concatenate([[first if first < bins[0] else bins[0] - (abs(bins[0]) or 1.0) * 1e-3], bins])

    def place(self, values: FloatArray, known: FloatArray, *, is_diverging: bool = False) -> list[str]:
        """
        Return the colours of values; missing values are grey.

        Parameters
        ----------
        values : float64 array
        known : float64 array
            The finite values that determine the scale or the classes.
        is_diverging : bool, default False
            Whether the scale is that of a difference, centred on zero.
        """
        edges = self.edges(known)
        if edges is not None:
            n_classes = len(edges) - 1
            codes = np.clip(np.searchsorted(edges[1:], values, side="left"), 0, n_classes - 1)
            shares = np.where(np.isfinite(values), codes / max(n_classes - 1, 1), np.nan)
        else:
            low, high = self.limits(known, is_centred=is_diverging)
            shares = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
        return [
            self.colour(float(share), is_diverging=is_diverging) if np.isfinite(share) else style.NO_VALUE
            for share in shares
        ]

    def colour(self, share: float, *, is_diverging: bool = False) -> str:
        """Return the colour of a place on the scale, from 0 to 1."""
        if self.cmap is not None:
            red, green, blue, _ = self.cmap(share)
            return "#" + "".join(f"{round(255 * part):02x}" for part in (red, green, blue))
        return style.diverging_colour(2.0 * share - 1.0) if is_diverging else style.ramp_colour(share)


def shading_of(scheme: Any = None, k: Any = CLASSES, cmap: Any = None, vmin: Any = None, vmax: Any = None) -> Shading:
    """Validate the options of colours; see `traveltime_lab.maps.plot.plot`."""
    n_classes = whole(k, "k", 2, _MOST_CLASSES, "classes")
    ends = [
        None if value is None else number(value, name, "units of the column")
        for name, value in (("vmin", vmin), ("vmax", vmax))
    ]
    if not all(end is None or math.isfinite(end) for end in ends):
        msg = f"vmin and vmax must be finite numbers, the ends of a scale; got vmin={vmin!r}, vmax={vmax!r}"
        raise InputError(msg)
    if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
        msg = f"vmin must be less than vmax; got vmin={vmin!r}, vmax={vmax!r}"
        raise InputError(msg)
    if scheme is not None:
        words(scheme, "scheme")
        if ends != [None, None]:
            msg = "vmin and vmax are for a continuous scale; leave them out, or leave out scheme, which makes classes"
            raise InputError(msg)
        _check_scheme(scheme)
    return Shading(scheme, n_classes, None if cmap is None else _colormap(cmap), *ends)


def _check_scheme(scheme: str) -> None:
    """Raise an error if mapclassify is missing or has no such classifier."""
    try:
        import mapclassify  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        msg = "scheme needs mapclassify; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error
    names = [name for name in mapclassify.CLASSIFIERS if name != "UserDefined"]
    if scheme.lower().replace("_", "") not in {name.lower() for name in names}:
        msg = f"scheme {scheme!r} is unknown; mapclassify has {', '.join(names)}{did_you_mean(scheme, names)}"
        raise InputError(msg)


def _colormap(cmap: Any) -> Any:
    """Return a colormap of matplotlib by its name."""
    if isinstance(cmap, style.matplotlib_module("colors").Colormap):
        return cmap
    if not isinstance(cmap, str):
        msg = f"cmap must be the name of a colormap of matplotlib, or a Colormap; got {cmap!r}"
        raise InputError(msg)
    colormaps = style.matplotlib_module("pyplot").colormaps
    try:
        return colormaps[cmap]
    except KeyError as error:
        hint = did_you_mean(cmap, colormaps)
        msg = f"cmap {cmap!r} is unknown; use the name of a colormap of matplotlib, such as 'viridis'{hint}"
        raise InputError(msg) from error
