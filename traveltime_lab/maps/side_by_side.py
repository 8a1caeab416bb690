"""
Draw two results beside each other, on maps of one extent and one scale.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from traveltime_lab._checks import number
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.maps import basemap
from traveltime_lab.maps.plot import MOST_INCHES, check_options, draw
from traveltime_lab.maps.scene import Scene, no_strip, scene_of
from traveltime_lab.maps.shading import shading_of
from traveltime_lab.maps.style import matplotlib_module

if TYPE_CHECKING:
    import geopandas as gpd
    from matplotlib.figure import Figure

    from traveltime_lab.network.network import Network

#: Two maps with their colour bars need so much.
_LEAST_INCHES: Final = 6.0


@explained_keywords
def side_by_side(
    network: Network,
    before: gpd.GeoDataFrame | gpd.GeoSeries,
    after: gpd.GeoDataFrame | gpd.GeoSeries,
    points: gpd.GeoDataFrame | gpd.GeoSeries | None = None,
    *,
    network_after: Network | None = None,
    titles: tuple[str, str] = ("before", "after"),
    column: str | None = None,
    unit: str | None = None,
    cmap: Any = None,
    vmin: float | None = None,
    vmax: float | None = None,
    labels: bool | None = None,
    street_names: bool = False,
    bounds: tuple[float, float, float, float] | None = None,
    size: float = 14.0,
) -> Figure:
    """
    Plot two results beside each other: two maps of the same extent, with the same colours for the same values.

    Parameters
    ----------
    network : Network
        Network whose streets and water are the base map.
    before, after : GeoDataFrame or GeoSeries
        Two answers to the same question, such as areas, cells or accessibility before and after `with_changes`. They
        are drawn as `plot` draws `areas`.
    points : GeoDataFrame or GeoSeries, optional
        Points to draw on both maps, such as the origins.
    network_after : Network, optional
        Network of the second map, such as the one with changes; by default `network`.
    titles : tuple of str, default ("before", "after")
        Titles of the two maps.
    column, unit, cmap, vmin, vmax, labels, street_names, bounds
        As in `plot`. The scale without `vmin` and `vmax`, and the extent without `bounds`, are those of both results
        together.
    size : float, default 14
        Width of the figure in inches, 6 or more.

    Returns
    -------
    Figure
        The figure; its first two axes are the maps.

    Raises
    ------
    InputError, LimitError, CrsError, MissingDependencyError
        As `plot` does, and InputError if `titles` are not two texts.

    See Also
    --------
    compare : The differences in one table, which `plot` draws in one map.
    SideBySideMap : Two interactive maps.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> areas = [
    ...     tl.time_map(
    ...         network,
    ...         places.iloc[[0]],
    ...         travel_time=s,
    ...         transportation="walking",
    ...     )
    ...     for s in (600, 900)
    ... ]
    >>> figure = tl.side_by_side(
    ...     network, *areas, titles=("10 minutes", "15 minutes")
    ... )
    >>> figure.savefig("maps.png")
    """
    if not isinstance(titles, tuple | list) or len(titles) != 2 or not all(isinstance(text, str) for text in titles):
        msg = f"titles must be two texts, such as ('before', 'after'); got {titles!r}"
        raise InputError(msg)
    options: dict[str, Any] = {"unit": unit, "labels": labels, "street_names": street_names, "legend": True}
    for title in titles:
        check_options(size=1.0, title=title, **options)
    if not _LEAST_INCHES <= number(size, "size", "inches") <= MOST_INCHES:
        msg = f"size must be from {_LEAST_INCHES:g} to {MOST_INCHES:g} inches; got {size!r}"
        raise LimitError(msg)
    networks = network, network if network_after is None else network_after
    shading = shading_of(cmap=cmap, vmin=vmin, vmax=vmax)
    scenes = [
        scene_of(of, result, points, None, column, bounds, shading)
        for of, result in zip(networks, (before, after), strict=True)
    ]
    scenes = _alike(scenes)
    west, south, east, north = scenes[0].box
    height = size / 2.0 * (north - south) / (east - west) + 0.6
    figure: Figure = matplotlib_module("pyplot").figure(figsize=(size, max(height, 1.0)), layout="constrained")
    for ax, scene, title in zip(figure.subplots(1, 2), scenes, titles, strict=True):
        draw(ax, scene, title=title, **options)
    return figure


def _alike(scenes: list[Scene]) -> list[Scene]:
    """Return two scenes with the extent of both, and with the scale of the values of both if they have one."""
    one, other = scenes
    # The local metres of the second map are those of its own network.
    corners = [_degrees(scene) for scene in scenes]
    west, south = np.min([corner[0] for corner in corners], axis=0)
    east, north = np.max([corner[1] for corner in corners], axis=0)
    values = np.concatenate([scene.values for scene in scenes])
    shading = one.shading
    if values.size and any(scene.is_scale or scene.point_values is not None for scene in scenes):
        low, high = shading.limits(values, is_centred=one.is_diverging or other.is_diverging)
        shading = replace(shading, vmin=low, vmax=high)
    return [replace(scene, box=_box(scene, west, south, east, north), shading=shading) for scene in scenes]


def _degrees(scene: Scene) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the south-western and the north-eastern corner of a map in degrees."""
    west, south, east, north = scene.box
    lng, lat = scene.network.frame.to_lnglat(np.array([west, east]), np.array([south, north]))
    return (float(lng[0]), float(lat[0])), (float(lng[1]), float(lat[1]))


def _box(scene: Scene, west: float, south: float, east: float, north: float) -> basemap.Box:
    """Return an extent in degrees as local metres of a map."""
    x, y = scene.network.frame.to_xy(np.array([west, east]), np.array([south, north]))
    return no_strip((float(x[0]), float(y[0]), float(x[1]), float(y[1])))
