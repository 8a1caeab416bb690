"""
The curve of the day below a map: it is searched in parts after the areas, and a click on it sets the time.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Callable
from typing import Any, Final

import geopandas as gpd
import ipywidgets
import pandas as pd

from traveltime_lab.errors import InputError
from traveltime_lab.maps.widget import browser
from traveltime_lab.maps.widget import day as days
from traveltime_lab.maps.widget.controls import column, show
from traveltime_lab.maps.widget.jobs import Job, LatestOnly
from traveltime_lab.maps.widget.panel import Panel
from traveltime_lab.maps.widget.state import MapState, Query
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.interrupts import interruptible

#: Seconds without a change after which the curve is searched, so that it is not in the way of a drag.
_REST_S: Final = 0.5
_SLIDER: Final = "traveltime-day"
#: Class of a curve that is about another place.
_OLD: Final = "traveltime-day-old"
#: The slider over the curve has no rails of its own: its handle is a line, and all of its height takes clicks.
_CSS: Final = (
    f"<style>.{_SLIDER}{{opacity:0}}.{_SLIDER} .slider-container{{padding:0;margin:0;height:100%}}"
    f".{_SLIDER} .noUi-target{{height:100%;margin:0;border:0}}.{_OLD}{{opacity:0.3}}</style>"
)


class DayCurve:
    """Methods of `TravelTimeMap` about the curve of the day."""

    network: Network
    state: MapState
    panel: Panel
    _areas: gpd.GeoDataFrame
    _drawn_question: Query | None
    _is_draft: bool
    _shape_jobs: LatestOnly
    _day_jobs: LatestOnly
    _day: days.Day | None
    _day_parts: list[tuple[dt.datetime, ...]]
    #: Parts of the day that have been searched.
    _day_found: list[pd.DataFrame]
    _day_picture: Any
    _day_box: Any
    _day_rest: asyncio.TimerHandle | None
    _catch_up: Callable[[], None]

    def _make_day(self) -> Any:
        """Return the curve with the slider that lies over it, hidden until it is needed."""
        self._day_jobs, self._day, self._day_found, self._day_rest = LatestOnly(), None, [], None
        self._day_picture = ipywidgets.HTML(layout=ipywidgets.Layout(margin="0", width="100%"))
        slider = ipywidgets.IntSlider(
            min=0, max=86_400, step=900, readout=False, value=self.state.second,
            layout=ipywidgets.Layout(
                width=f"calc(100% - {days.LEFT_PX + days.RIGHT_PX}px)", height=f"{days.PLOT_PX}px",
                margin=f"-{days.PLOT_PX + days.HOURS_PX}px 0 {days.HOURS_PX}px {days.LEFT_PX}px",
            ),
        )  # fmt: skip
        slider.add_class(_SLIDER)
        slider.observe(self._on_day_slider, "value")
        self._day_slider = slider
        styles = ipywidgets.HTML(_CSS, layout=ipywidgets.Layout(display="none"))
        self._day_box = column([styles, self._day_picture, slider], margin="2px 0 4px", overflow="hidden")
        show(self._day_box, False)
        return self._day_box

    def _on_day_slider(self, change: Any) -> None:
        """Show the areas of the time that was clicked, on the date of the curve."""
        second = min(change["new"], 86_400 - 900)
        if second == self.state.second or self._day is None:
            return
        with self.state.hold_trait_notifications():
            self.state.day = self._day.date
            self.state.second = second

    def _follow_day(self) -> None:
        """Show the curve of what the map shows: what is known of it now, and the rest after a while."""
        if self._day_rest is not None:
            self._day_rest.cancel()
            self._day_rest = None
        query = self._drawn_question
        day = days.day_of(self.network, query) if query is not None and self.panel.shows_day else None
        if day != self._day:
            self._day, self._day_found = day, []
            self._day_parts = [] if day is None else days.parts(day, self.network.timezone)
        self._day_picture.remove_class(_OLD)
        show(self._day_box, day is not None)
        if day is None:
            return
        self._draw_day()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # without an event loop, the curve would keep the caller waiting: `day_curve` searches it
        self._day_rest = loop.call_later(_REST_S, self._search_day)

    def _switch_day(self) -> None:
        """Show the curve, or hide it, as its control says."""
        self._follow_day()

    def _hold_day(self, query: Query) -> None:
        """Stop searching the curve, because the areas of a query are searched; dim it if it is about others."""
        if self._day is not None and days.day_of(self.network, query) != self._day:
            self._day_picture.add_class(_OLD)
        if self._day_rest is not None:
            self._day_rest.cancel()
            self._day_rest = None
        self._day_jobs.forget()

    def _search_day(self) -> None:
        """Search the next part of the curve, if there is one left."""
        day, n_found = self._day, len(self._day_found)
        if day is None or self._shape_jobs.running is not None:
            return
        if n_found == len(self._day_parts):
            return
        moments = self._day_parts[n_found]

        def work(job: Job) -> pd.DataFrame:
            # When Python ends, it waits for threads.
            with interruptible(lambda: job.is_cancelled or not threading.main_thread().is_alive()):
                return days.sizes(self.network, day, moments)

        self._day_jobs.submit(work, lambda found: self._on_day_part(day, n_found, found), self._on_no_day)

    def _on_day_part(self, day: days.Day, n_before: int, found: pd.DataFrame) -> None:
        """Draw another part of the curve and search the next one."""
        if day != self._day or n_before != len(self._day_found):
            return
        self._day_found.append(found)
        self._draw_day()
        self._search_day()

    def _on_no_day(self, _error: BaseException) -> None:
        """Hide the curve: the map shows the error of its own areas, if they have one."""
        if not self._day_found:
            show(self._day_box, False)

    def _draw_day(self) -> None:
        """Draw what has been found of the curve, with the time of the map."""
        if self._day is None or self._drawn_question is None:
            return
        found = self._known_day()
        moment, second, now = self._drawn_question.question.moment, None, None
        if isinstance(moment, dt.datetime):
            second = moment.hour * 3600 + moment.minute * 60 + moment.second
            now = days.size_now(self.network, self._areas)
        html = days.picture(
            self._day, found, browser.colours(self._drawn_question), top=self._day_top(), second=second, now=now,
            is_whole=len(self._day_found) == len(self._day_parts),
        )  # fmt: skip
        if self._day_picture.value != html:
            self._day_picture.value = html
        if self._day_slider.value != self.state.second:
            self._day_slider.value = self.state.second

    def _known_day(self) -> pd.DataFrame:
        """Return the parts of the curve that have been searched."""
        return pd.concat(self._day_found, ignore_index=True) if self._day_found else days.no_sizes()

    def _day_top(self) -> float:
        """Return the value at the upper end of the curve."""
        return days.top_of(self._known_day(), days.size_now(self.network, self._areas))

    @property
    def day_curve(self) -> pd.DataFrame:
        """
        Sizes of the areas at each half hour of the day; searches what is not known yet.

        Returns
        -------
        DataFrame
            One row per half hour and line of the curve: ``moment`` (in the time zone of the network), ``origin`` (name,
            or the type of combination if origins are combined), ``travel_time`` (int32, s) and ``area`` (float64, m²)
            of `time_map` with a low level of detail, unless that of the map is lower. One origin, or a combination, has
            all rings, and each of several origins its largest.

        Raises
        ------
        InputError
            If the areas on the map do not depend on the time of day.
        TravelTimeError
            As in `time_map`.
        """
        self._catch_up()
        query = self.state.query()
        day = days.day_of(self.network, query)
        if day is None:
            raise InputError(
                "The areas on the map do not depend on the time of day, so there is no curve; choose a type of "
                "transportation that does, and a departure or arrival time, such as departure_time='weekday_morning'."
            )
        known = self._day_found if day == self._day else []
        parts = days.parts(day, self.network.timezone)[len(known) :]
        return pd.concat([*known, *(days.sizes(self.network, day, part) for part in parts)], ignore_index=True)
