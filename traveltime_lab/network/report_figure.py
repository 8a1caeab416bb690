"""
Draw the report on a network: departures by date and hour, stops off streets, and islands on a map.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import shapely

from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.network.report_html import WEEKDAYS
from traveltime_lab.network.views import plot

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    from matplotlib.figure import Figure

    from traveltime_lab.network.data import NetworkData

#: Maximum number of feeds whose departures are drawn.
_FEEDS_DRAWN: Final = 5
#: Colour and width of edges on islands by mode, the widest below. Colours of Okabe and Ito, which the colour-blind can
#: tell apart.
_ISLANDS: Final = {"driving": ("#D55E00", 4.5), "cycling": ("#0072B2", 2.6), "walking": ("#000000", 1.0)}
_STOPS: Final = {"marker": "X", "s": 46, "c": "#CC79A7", "edgecolors": "white", "linewidths": 0.8, "zorder": 30}
#: Names of feeds are drawn literally, without formulas.
_LITERAL: Final = {"parse_math": False, "usetex": False}


def figure(
    network: NetworkData,
    hours: pd.DataFrame | None,
    dates: pd.DataFrame | None,
    off_streets: gpd.GeoDataFrame | None,
    islands: gpd.GeoDataFrame,
) -> Figure:
    """
    Return a figure of the tables of a report.

    Parameters
    ----------
    network : NetworkData
    hours, dates, off_streets : DataFrame, optional
        From `Report.service`, `Report.expiry` and `Report.stops_off_streets`; None without a timetable.
    islands : GeoDataFrame
        From `Report.islands`.
    """
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError as error:
        msg = "plot needs matplotlib; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error
    feeds = [] if hours is None else [each for each in hours.groupby("feed", sort=False) if each[1]["departures"].any()]
    drawn = [(str(feed), own) for feed, own in feeds[:_FEEDS_DRAWN]]
    whole: Figure = pyplot.figure(figsize=(14.0, 7.0) if drawn else (8.0, 7.0), layout="constrained")
    if drawn:
        parts: Any = whole.subfigures(1, 2)
        left, right = parts
        strips = left.subplots(len(drawn), 1, squeeze=False)[:, 0]
        for ax, (feed, own) in zip(strips, drawn, strict=True):
            _draw_hours(ax, feed, own, dates)
        left.suptitle("Departures by service date and hour" + _more(len(feeds) - len(drawn)))
    else:
        right = whole.subfigures()
    _draw_map(right.subplots(), network, off_streets, islands)
    return whole


def _more(number: int) -> str:
    """Return the note on feeds that are not drawn."""
    return "" if number <= 0 else f" ({number} more feed{'s' * (number > 1)} not drawn)"


def _draw_hours(ax: Any, feed: str, own: pd.DataFrame, dates: pd.DataFrame | None) -> None:
    """Draw the departures of one feed as a strip: a row for each date, a column for each hour."""
    table = own.pivot_table(index="date", columns="hour", values="departures", aggfunc="sum")
    table = table.loc[:, : table.columns[table.any()].max()]
    image = ax.imshow(table.to_numpy(), aspect="auto", cmap="Blues", vmin=0)
    ax.set_yticks(range(len(table)), [f"{WEEKDAYS[date.weekday()]} {date}" for date in table.index], fontsize=8)
    ax.set_xticks(range(0, table.shape[1], 3), [str(hour) for hour in table.columns[::3]], fontsize=8)
    ax.tick_params(length=0)
    ax.set_xlabel("hour of the service date", fontsize=8)
    ticks = import_module("matplotlib.ticker").MaxNLocator(nbins=6, integer=True)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.01, aspect=12, ticks=ticks, format="{x:,.0f}")
    bar.ax.tick_params(labelsize=8)
    bar.set_label("departures", fontsize=8)
    # Feeds may have the same name; one that is drawn has service.
    served = None if dates is None else dates[(dates["feed"] == feed) & dates["days_left"].notna()]
    if served is not None and len(served):
        first, last, left = served[["first", "last", "days_left"]].iloc[0]
        days = f"{abs(left):,} day{'' if abs(left) == 1 else 's'}"
        feed += f": service from {first} to {last}, " + (f"{days} left" if left >= 0 else f"ended {days} ago")
    ax.set_title(feed, fontsize=9, loc="left", **_LITERAL)


def _draw_map(ax: Any, network: NetworkData, off_streets: gpd.GeoDataFrame | None, islands: gpd.GeoDataFrame) -> None:
    """Draw edges on islands, and stops that are too far from streets, on the map of the network."""
    collections, lines = import_module("matplotlib.collections"), import_module("matplotlib.lines")
    plot(network, ax=ax, street_names=False, legend=False)
    ax.autoscale(enable=False)
    known = []
    for mode, (colour, width) in _ISLANDS.items():
        edges = islands[islands[mode].to_numpy(dtype=bool)]
        paths = [_local(network, line) for line in edges.geometry]
        ax.add_collection(collections.LineCollection(paths, colors=colour, linewidths=width, zorder=20), autolim=False)
        km = float(edges["length_m"].sum()) / 1000.0
        known.append(
            lines.Line2D([], [], color=colour, lw=width, label=f"islands {mode}: {len(edges):,} edges, {km:,.1f} km")
        )
    if off_streets is not None:
        far = _local(network, shapely.multipoints(off_streets.geometry.to_numpy()))
        ax.scatter(*far.T, **_STOPS)
        label = f"stops off streets: {len(off_streets):,}"
        known.append(lines.Line2D([], [], ls="", marker="X", color=_STOPS["c"], markersize=7, label=label))
    ax.legend(handles=known, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=2, fontsize=8, frameon=False)
    ax.set_title("Streets that cannot be left or reached, and stops that cannot be used", fontsize=10)


def _local(network: NetworkData, shape: Any) -> Any:
    """Return the coordinates of a geometry in EPSG:4326 as local metres, shape (n, 2)."""
    lng, lat = shapely.get_coordinates(shape).T
    return np.column_stack(network.frame.to_xy(lng, lat))
