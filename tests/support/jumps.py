"""Compare the values of cells with a matrix where both may jump between places that are next to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geopandas as gpd
import numpy as np

from traveltime_lab.surfaces.polygons import Surface

#: Cells are decided in float32 seconds and metres, matrices in whole milliseconds and centimetres. Where two ways are
#: as fast, or two streets as near, the two may choose differently. The places between which they do are no farther
#: apart than what a car covers in a few milliseconds.
AROUND_M = 0.05


def assert_cells_equal(
    drawn: Surface,
    ask: Callable[[gpd.GeoSeries], Any],
    level: float,
    *,
    within: float,
    sure: float,
    where: Callable[[gpd.GeoSeries], Any] | None = None,
) -> None:
    """
    Fail unless each cell has the value of the matrix at its centre, or lies within the values around a jump.

    Parameters
    ----------
    drawn : Surface
    ask : callable
        Called with points, returns the values of the matrix, NaN where not reached.
    level : float
        Limit of the surface. Larger values count as not reached.
    within : float
        Largest difference of two values that count as equal.
    sure : float
        Values of cells closer to the limit than this may be on either side of it.
    where : callable, optional
        Called with the centres of all cells, returns which of them are compared. Default: all.
    """
    rows, columns = np.indices(drawn.values.shape)
    x, y = drawn.x0 + columns.ravel() * drawn.cell_m, drawn.y0 + rows.ravel() * drawn.cell_m
    values = drawn.values.ravel().astype(np.float64)
    values[~(values <= level + sure)] = np.inf

    def found(dx: float, dy: float, some: Any = slice(None)) -> Any:
        points = gpd.GeoSeries.from_xy(*drawn.frame.to_lnglat(x[some] + dx, y[some] + dy), crs="EPSG:4326")
        answer = np.asarray(ask(points), np.float64).ravel()
        return np.where(answer <= level, answer, np.inf)

    def is_between(low: Any, high: Any, value: Any) -> Any:
        close = np.abs(value - level) <= sure  # may count as unreached
        return (low - within <= value) & (value <= high + within) | (close & np.isinf(high))

    here = found(0.0, 0.0)
    differs = ~is_between(here, here, values)
    if where is not None:
        differs &= where(gpd.GeoSeries.from_xy(*drawn.frame.to_lnglat(x, y), crs="EPSG:4326"))
    suspects = np.flatnonzero(differs)
    if suspects.size:
        steps = (-AROUND_M, 0.0, AROUND_M)
        around = np.array([found(dx, dy, suspects) for dx in steps for dy in steps])
        wrong = suspects[~is_between(around.min(axis=0), around.max(axis=0), values[suspects])]
        assert not wrong.size, [(x[k], y[k], values[k], here[k]) for k in wrong[:5]]
