"""
The curve of the day: how large the areas of a map are at each half hour of its date.

`parts` divides a day, `sizes` searches a part of it, and `picture` draws what has been found, as HTML.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Final

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab.errors import BorderWarning, MomentError
from traveltime_lab.maps import style
from traveltime_lab.maps.widget import answers, choices
from traveltime_lab.maps.widget.state import Query, colour_of
from traveltime_lab.modes.table import MODES
from traveltime_lab.moments import resolve_moment
from traveltime_lab.runtime.warnings import warnings_to
from traveltime_lab.search.each_moment import COLUMN
from traveltime_lab.search.time_map import time_map
from traveltime_lab.transit.timetable import service_warnings_to

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: Seconds between the moments of the curve.
STEP_S: Final = 1800
#: Moments that are searched by one call, after which the curve is drawn.
_TOGETHER: Final = 8
_DAY_S: Final = 86_400
_HOUR_S: Final = 3600
#: Height of the curve in pixels, and of its title and its hours.
PLOT_PX: Final = 56
TITLE_PX: Final = 18
HOURS_PX: Final = 16
#: Space for the numbers left of the curve in pixels.
LEFT_PX: Final = 60
RIGHT_PX: Final = 16


@dataclass(frozen=True)
class Day:
    """
    Areas of a query at all times of a date, of which the curve of the day shows the sizes.

    Attributes
    ----------
    query : Query
        With a low level of detail, and without its moment.
    date : date
    """

    query: Query
    date: dt.date


def day_of(network: Network, query: Query) -> Day | None:
    """Return the day of a query; None if its areas do not depend on the hour, or if there is no origin."""
    moment = query.question.moment
    depends = query.measure == "travel_time" and MODES[query.transportation.type].depends_on_hour
    if moment is None or not depends or not query.origins:
        return None
    date = moment.date() if isinstance(moment, dt.datetime) else choices.first_day(network)
    drafted = query.draft()
    # With several origins there is a line for each, otherwise one for each ring.
    limits = query.limits if _by_ring(query) else query.limits[-1:]
    question = replace(query.question, moment=None)
    return Day(replace(drafted, limits=limits, question=question), date)


def _by_ring(query: Query) -> bool:
    return query.combine != "each" or len(query.origins) == 1


def parts(day: Day, timezone: str) -> list[tuple[dt.datetime, ...]]:
    """Return the moments of a day, some together; local times that do not exist or are ambiguous are left out."""
    midnight = dt.datetime.combine(day.date, dt.time())
    found = []
    for second in range(0, _DAY_S, STEP_S):
        try:
            moment = resolve_moment(midnight + dt.timedelta(seconds=second), timezone, name="departure_time")
        except MomentError:
            continue
        assert isinstance(moment, dt.datetime)
        found.append(moment)
    return [tuple(found[i : i + _TOGETHER]) for i in range(0, len(found), _TOGETHER)]


def sizes(network: Network, day: Day, moments: Sequence[dt.datetime]) -> pd.DataFrame:
    """
    Return the sizes of the areas of a day at some moments.

    Returns
    -------
    DataFrame
        A row per moment and line of the curve: ``moment`` (in the time zone of the network), ``origin`` (its name, or
        the type of combination if origins are combined), ``travel_time`` (int32, s) and ``area`` (float64, m²).

    Raises
    ------
    TravelTimeError
        As in `time_map`.
    """
    query = day.query
    name = "arrival_time" if query.is_arrival else "departure_time"
    # The map shows the warnings of its own moment.
    with service_warnings_to(lambda text: None), warnings_to(lambda text: None, BorderWarning):
        found = time_map(
            network, answers.table_of(query.origins), travel_time=list(query.limits),
            **{**query.options, name: list(moments)},
        )  # fmt: skip
    found = found.reset_index(names="origin")
    if query.combine != "each":
        rings = [
            answers.combined(network, ring, query, int(limit)).assign(**{COLUMN: moment})
            for (moment, limit), ring in found.groupby([COLUMN, "travel_time"])
        ]
        found = gpd.GeoDataFrame(pd.concat(rings, ignore_index=True))
    area = found.geometry.to_crs(network.crs).area.to_numpy()
    return pd.DataFrame(found[[COLUMN, "origin", "travel_time"]]).assign(area=area)


def no_sizes() -> pd.DataFrame:
    """Return the result of `sizes` without rows."""
    columns = {"origin": object, "travel_time": np.int32, "area": np.float64}
    empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})
    empty.insert(0, COLUMN, pd.Series(dtype="datetime64[ns, UTC]"))
    return empty


def size_now(network: Network, drawn: gpd.GeoDataFrame) -> float:
    """Return the size of the largest area on the map in square metres."""
    return float(drawn.geometry.to_crs(network.crs).area.max()) if len(drawn) else 0.0


def picture(
    day: Day,
    found: pd.DataFrame,
    colours: Mapping[object, Sequence[str]],
    *,
    top: float,
    is_whole: bool,
    second: int | None = None,
    now: float | None = None,
) -> str:
    """
    Return the curve of a day as HTML.

    Parameters
    ----------
    day : Day
    found : DataFrame
        Result of `sizes`, of the part of the day that has been searched.
    colours : dict of list of str
        Colours by origin; see `traveltime_lab.maps.widget.browser.colours`.
    top : float
        Value at the upper end of the curve in square metres; see `top_of`.
    is_whole : bool
        Whether all of the day has been searched.
    second : int, optional
        Time of the areas on the map, in seconds since midnight; None if they are those of a typical morning.
    now : float, optional
        Size of the largest area on the map in square metres.
    """
    shapes = [_shape(day, part, colours, top) for _, part in found.groupby(["origin", "travel_time"], sort=False)]
    hours = range(0, 25, 3)
    grid = "".join(
        f"<line x1='{hour / 0.24:.2f}' x2='{hour / 0.24:.2f}' y1='0' y2='100' stroke='#e4e4e4' "
        "vector-effect='non-scaling-stroke'/>"
        for hour in hours
    )
    mark = ""
    if second is not None:
        at = 100.0 * second / _DAY_S
        mark = (
            f"<line class='now' x1='{at:.2f}' x2='{at:.2f}' y1='0' y2='100' stroke='{style.LABEL}' stroke-width='1.5' "
            "vector-effect='non-scaling-stroke'/>"
        )
    texts = [
        _text(f"{hour} h", f"left:calc({LEFT_PX}px + (100% - {LEFT_PX + RIGHT_PX}px) * {hour / 24:.4f});"
              f"top:{TITLE_PX + PLOT_PX + 1}px;transform:translateX(-50%)")
        for hour in hours
    ]  # fmt: skip
    texts += [
        _text(_km2(top), f"right:calc(100% - {LEFT_PX - 4}px);top:{TITLE_PX - 6}px"),
        _text("0", f"right:calc(100% - {LEFT_PX - 4}px);top:{TITLE_PX + PLOT_PX - 9}px"),
    ]
    return (
        f"<div class='traveltime-day-picture' style='position:relative;width:100%;"
        f"height:{TITLE_PX + PLOT_PX + HOURS_PX}px;background:#fff;font:11px/14px system-ui,sans-serif;color:#444'>"
        f"<div style='position:absolute;left:{LEFT_PX}px;right:0;top:0;white-space:nowrap;overflow:hidden;"
        f"text-overflow:ellipsis'>{escape(title(day, found, second, now, is_whole=is_whole))}</div>"
        "<svg viewBox='0 0 100 100' preserveAspectRatio='none' "
        f"style='position:absolute;left:{LEFT_PX}px;top:{TITLE_PX}px;width:calc(100% - {LEFT_PX + RIGHT_PX}px);"
        f"height:{PLOT_PX}px;overflow:visible'>{grid}<line x1='0' x2='100' y1='100' y2='100' stroke='#999' "
        f"vector-effect='non-scaling-stroke'/>{''.join(shapes[::-1])}{mark}</svg>{''.join(texts)}</div>"
    )


def _shape(day: Day, part: pd.DataFrame, colours: Mapping[object, Sequence[str]], top: float) -> str:
    """Return a line of the curve in percent of its width and height; that of a ring is filled like the ring."""
    clock = part[COLUMN].dt
    x = (100.0 * (clock.hour * 3600 + clock.minute * 60).to_numpy() / _DAY_S).tolist()
    y = (100.0 * (1.0 - part["area"].to_numpy() / top)).tolist()
    # Each value holds until the next moment.
    wide = 100.0 * STEP_S / _DAY_S
    steps = [f"{at:.2f},{value:.2f} {at + wide:.2f},{value:.2f}" for at, value in zip(x, y, strict=True)]
    points, origin = " ".join(steps), part["origin"].iloc[0]
    look = "stroke-linejoin='round' vector-effect='non-scaling-stroke'/>"
    if not _by_ring(day.query):
        colour = colour_of(list(colours).index(origin))
        return f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2' {look}"
    fill = colours[origin][day.query.limits.index(int(part["travel_time"].iloc[0]))]
    ends = f"{x[0]:.2f},100 ", f" {x[-1] + wide:.2f},100"
    return (
        f"<polygon points='{ends[0]}{points}{ends[1]}' fill='{fill}' fill-opacity='{style.AREA_OPACITY}'/>"
        f"<polyline points='{points}' fill='none' stroke='{style.LABEL}' stroke-width='0.7' {look}"
    )


def title(day: Day, found: pd.DataFrame, second: int | None, now: float | None, *, is_whole: bool) -> str:
    """Return what the curve shows as a sentence, with its largest and smallest value."""
    query, limit = day.query, day.query.limits[-1]
    what = "Area" if query.combine == "each" else f"{query.combine.capitalize()} of {len(query.origins)} areas"
    text = f"{what} within {style.minutes_label(limit)}, {day.date:%A} {day.date}"
    if not _by_ring(query):
        return text
    if second is not None and now is not None:
        text += f"; at {_clock(second)} {_km2(now)}"
    if is_whole:
        largest = found[found["travel_time"] == limit]
        clocks = largest[COLUMN].dt.strftime("%H:%M").to_numpy()
        low, high = int(np.argmin(largest["area"])), int(np.argmax(largest["area"]))
        least, most = (_km2(float(largest["area"].iloc[k])) for k in (low, high))
        text += f"; from {least} ({clocks[low]}) to {most} ({clocks[high]})"
    return text


def top_of(found: pd.DataFrame, now: float) -> float:
    """Return a round number of square metres that neither a value of a curve nor that of the map exceeds."""
    most = max([1e4, now, *found["area"]])
    size = 10.0 ** np.floor(np.log10(most))
    return float(size * next(factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if factor * size >= most))


def _km2(area: float) -> str:
    """Return an area in square kilometres with three digits."""
    km2 = area / 1e6
    return f"{km2:,.0f} km²" if km2 >= 100 else f"{km2:.3g} km²"


def _clock(second: int) -> str:
    return f"{second // _HOUR_S:02d}:{second // 60 % 60:02d}"


def _text(text: str, place: str) -> str:
    return f"<div style='position:absolute;white-space:nowrap;{place}'>{text}</div>"
