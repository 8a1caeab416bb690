"""
Draw the quality of observed days: trips observed by date, delays by hour, and by route and hour.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from traveltime_lab.errors import MissingDependencyError
from traveltime_lab.network.report_html import WEEKDAYS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Routes with the most observed calls are drawn.
_ROUTES_DRAWN: Final = 25
#: Most labels of dates.
_DATES_LABELLED: Final = 14
#: Names of routes are drawn literally, without formulas.
_LITERAL: Final = {"parse_math": False, "usetex": False}
#: Delays of the ends of the colour scale, minutes (assumed).
_LEAST_SCALE_MIN: Final = 5.0
_MOST_SCALE_MIN: Final = 30.0


def figure(quality: pd.DataFrame, by_hour: pd.DataFrame, by_route: pd.DataFrame) -> Figure:
    """
    Return a figure of the tables of observed days.

    Parameters
    ----------
    quality : DataFrame
        From `ObservedDays.quality`.
    by_hour, by_route : DataFrame
        From `ObservedDays.delays` by hour, and by route_id, route_short_name and hour.
    """
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError as error:
        msg = "plot needs matplotlib; install it with pip install 'traveltime_lab[notebook]'"
        raise MissingDependencyError(msg) from error
    whole: Figure = pyplot.figure(figsize=(13.0, 7.0), layout="constrained")
    axes: Any = whole.subplot_mosaic([["dates", "routes"], ["hours", "routes"]], width_ratios=[1.0, 1.25])
    _draw_dates(axes["dates"], quality)
    _draw_hours(axes["hours"], by_hour)
    _draw_routes(axes["routes"], by_route)
    return whole


def _draw_dates(ax: Any, quality: pd.DataFrame) -> None:
    """Draw the trips of each date: those planned, and those of them that were observed."""
    at = np.arange(len(quality))
    ax.bar(at, quality["trips_planned"], color="#D9D9D9", width=0.8, label="planned")
    ax.bar(at, quality["trips_observed"], color="#0072B2", width=0.5, label="observed")
    step = -(-len(quality) // _DATES_LABELLED) or 1
    labels = [f"{WEEKDAYS[date.weekday()]}\n{date:%m-%d}" for date in quality["date"]]
    ax.set_xticks(at[::step], labels[::step], fontsize=8)
    ax.set_xlim(-0.75, max(len(quality), 4) - 0.25)
    ax.tick_params(labelsize=8)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    ax.set_title("Trips by service date", fontsize=10, loc="left")


def _draw_hours(ax: Any, by_hour: pd.DataFrame) -> None:
    """Draw the median and high percentiles of the delay by hour."""
    for name, label, style in (
        ("p95", "95 %", {"color": "#D55E00", "ls": ":"}),
        ("p80", "80 %", {"color": "#D55E00", "ls": "--"}),
        ("median", "median", {"color": "#000000"}),
    ):
        ax.plot(by_hour["hour"], by_hour[name] / 60.0, marker="o", ms=3, lw=1.5, label=label, **style)
    ax.axhline(0.0, color="#999999", lw=0.8)
    ax.set_xlabel("hour of the service date", fontsize=8)
    ax.set_ylabel("delay (minutes)", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.xaxis.set_major_locator(import_module("matplotlib.ticker").MaxNLocator(nbins=12, integer=True))
    ax.legend(fontsize=8, frameon=False, ncols=3)
    ax.set_title("Delay of observed calls by hour", fontsize=10, loc="left")


def _draw_routes(ax: Any, by_route: pd.DataFrame) -> None:
    """Draw the median delay of the routes with the most observed calls, in rows, by hour, in columns."""
    calls = by_route.groupby("route_id")["calls"].sum().sort_values(ascending=False, kind="stable")
    drawn = calls.index[:_ROUTES_DRAWN]
    own = by_route[by_route["route_id"].isin(drawn)]
    table = own.pivot_table(index="route_id", columns="hour", values="median", aggfunc="mean").reindex(drawn) / 60.0
    ax.set_title("Median delay by route and hour" + _more(len(calls) - len(drawn)), fontsize=10, loc="left")
    if not table.size:
        ax.set_axis_off()
        return
    table = table.reindex(columns=range(int(table.columns.min()), int(table.columns.max()) + 1))
    largest = float(np.nanpercentile(np.abs(table.to_numpy(np.float64)), 95))
    most = min(max(_LEAST_SCALE_MIN, np.ceil(largest)), _MOST_SCALE_MIN)
    image = ax.imshow(table.to_numpy(np.float64), aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most)
    names = own.drop_duplicates("route_id").set_index("route_id")["route_short_name"].reindex(drawn)
    labels = [str(name) or str(route) for route, name in names.items()]
    labels = [label if len(label) <= 18 else f"{label[:17]}…" for label in labels]
    ax.set_yticks(range(len(table)), labels, fontsize=8, **_LITERAL)
    ax.set_xticks(range(0, table.shape[1], 2), [str(hour) for hour in table.columns[::2]], fontsize=8)
    ax.tick_params(length=0)
    ax.set_xlabel("hour of the service date", fontsize=8)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.01, aspect=30, extend="both")
    bar.ax.tick_params(labelsize=8)
    bar.set_label("minutes late", fontsize=8)


def _more(number: int) -> str:
    """Return the note on routes that are not drawn."""
    return "" if number <= 0 else f" ({number:,} more route{'s' * (number > 1)} not drawn)"
