"""Whether two pictures look the same, whatever their number of pixels and the last digits of their colours."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

#: Pictures are compared in squares, of which this many are along their sides.
SQUARES = 32
#: Largest difference of the mean colour of a square, of 255, and share of the squares that may differ by more: names
#: and symbols may be placed a little differently.
DIFFERENCE, SHARE = 40, 0.01
#: Largest difference of the ratios of width and height.
RATIO = 0.05


def difference(one: bytes, other: bytes) -> float:
    """Return the share of the squares that differ, or 1 for pictures of other shapes."""
    pictures = [
        Image.open(io.BytesIO(each)).convert("RGB")
        for each in (one, other)
    ]
    ratios = [picture.width / picture.height for picture in pictures]
    if abs(ratios[0] / ratios[1] - 1) > RATIO:
        return 1.0
    size = SQUARES, SQUARES
    small = [
        np.asarray(picture.resize(size, Image.Resampling.BOX), int)
        for picture in pictures
    ]
    return float(
        (np.abs(small[0] - small[1]).max(axis=2) > DIFFERENCE).mean()
    )


def looks_the_same(one: bytes, other: bytes) -> bool:
    """Return whether two pictures, as PNG files, look the same."""
    return difference(one, other) <= SHARE
