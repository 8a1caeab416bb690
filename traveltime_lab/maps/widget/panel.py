"""
The control panel, beside the map or below it. Each control is bound to a value of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from traveltime_lab import limits
from traveltime_lab.maps import style
from traveltime_lab.maps.widget import choices
from traveltime_lab.maps.widget.controls import (
    FONT,
    column,
    labelled,
    ladder,
    number_of_polygons,
    row,
    show,
    with_entry,
)
from traveltime_lab.maps.widget.finder import Finder
from traveltime_lab.maps.widget.state import MOST_RINGS, MapState, colour_of
from traveltime_lab.modes.table import MODES, applies
from traveltime_lab.modes.transportation import TRAFFIC_MODELS
from traveltime_lab.surfaces.level_of_detail import DEFAULT_LEVEL, LEVEL_NAMES

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

#: Step of the time-of-day slider in seconds, and duration of a step in milliseconds when the slider plays.
_QUARTER_S = 900
_PLAY_MS = 500

_DAY_SECONDS = 86_400
#: Choices of departure windows; 0 is no window.
_WINDOWS = (("this very minute", 0), ("within 15 minutes", 900), ("within 30 minutes", 1800), ("within an hour", 3600))
_PENALTIES = (("takes its time", "enabled"), ("takes no time", "disabled"))
#: Limits to choose from with a slider: fine steps first, up to what is allowed.
_SECONDS = [60 * n for n in (*range(1, 60), *range(60, 120, 5), *range(120, limits.MAX_TRAVEL_TIME_S // 60 + 1, 10))]
_METRES = [
    *range(100, 3000, 100),
    *range(3000, 10_000, 500),
    *range(10_000, 50_000, 2500),
    *range(50_000, 200_000, 10_000),
]
_METRES += range(200_000, limits.MAX_DISTANCE_M + 1, 50_000)


class Panel:
    """
    The control panel of a map.

    Parameters
    ----------
    state : MapState
        State that the controls are bound to, in both directions.
    network : Network
        Network that determines the available modes and days.
    finder : Finder
        The address box.
    on_remove : callable
        Called with the name of an origin when its remove button is pressed.
    on_export : callable
        Called with ``"code"``, ``"geojson"``, ``"parquet"``, ``"png"`` or ``"html"`` when an export button is pressed.
    on_fit : callable
        Called when the button for showing all areas is pressed.
    on_day : callable
        Called when the curve of the day is switched on or off.

    Attributes
    ----------
    box : ipywidgets.VBox
    """

    def __init__(
        self,
        state: MapState,
        network: Network,
        *,
        finder: Finder,
        on_remove: Callable[[Any], None],
        on_export: Callable[[str], None],
        on_fit: Callable[[], None],
        on_day: Callable[[], None],
    ) -> None:
        self.state, self._network = state, network
        self._on_remove, self._on_export, self._on_fit, self._on_day = on_remove, on_export, on_fit, on_day
        self._is_updating = False
        self._bound: list[tuple[Any, str, Callable[[Any], Any]]] = []

        self._origin_rows = column([])
        self._export_note = ipywidgets.HTML()
        self._code = ipywidgets.Textarea(rows=8, layout=ipywidgets.Layout(width="auto", display="none"), disabled=False)
        sections = ipywidgets.Accordion(
            [self._shape_options(), self._travel_options(), self._export_options()],
            titles=("Shapes", "Travel options", "Export"),
            selected_index=None,
        )
        sections.layout.overflow = "visible"
        # As wide as the controls need beside the map, and as wide as the cell below it.
        self.box = column(
            [*self._main(), finder.box, self._origin_rows, sections],
            flex="1 1 310px",
            min_width="0",
            padding="0 0 0 10px",
        )
        self._list_origins()
        self._follow_kind()
        state.observe(self._on_state)

    # Binding ---------------------------------------------------------------------------------------------------------

    def _bind(
        self,
        control: Any,
        name: str,
        to_state: Callable[[Any], Any] = lambda value: value,
        to_control: Callable[[Any], Any] = lambda value: value,
    ) -> Any:
        """Synchronise a control with a value of the state."""
        self._bound.append((control, name, to_control))
        self._put(control, to_control(getattr(self.state, name)))

        def on_control(change: Any) -> None:
            if not self._is_updating:
                setattr(self.state, name, to_state(change["new"]))

        control.observe(on_control, "value")
        return control

    @staticmethod
    def _put(control: Any, value: Any) -> None:
        """Set a control to a value, after extending the options of a list if needed."""
        options = getattr(control, "options", None)
        if options is not None:
            pairs = [option if isinstance(option, tuple) else (option, option) for option in options]
            if value not in [known for _, known in pairs]:
                is_slider = isinstance(control, ipywidgets.SelectionSlider)
                text = control.in_words(value) if is_slider else str(value)
                pairs = [*pairs, (text, value)]
                control.options = sorted(pairs, key=lambda pair: pair[1]) if is_slider else pairs
        if control.value != value:
            control.value = value

    def _bind_option(self, control: Any, bag: str, name: str, usual: Any) -> Any:
        """Synchronise a control with an entry of a mapping in the state."""
        return self._bind(
            control,
            bag,
            lambda value: with_entry(getattr(self.state, bag), name, value, usual),
            lambda entries: entries.get(name, usual),
        )

    def _choice_row(self, name: str) -> Any:
        """Return the row of an option with a few values."""
        label, values, usual = choices.OPTIONS[name]
        control = self._bind_option(ipywidgets.Dropdown(options=values), "mode_options", name, usual)
        return labelled(label, control, is_long=True)

    def _on_state(self, change: Any) -> None:
        self._is_updating = True
        try:
            for control, name, to_control in self._bound:
                if name == change["name"]:
                    self._put(control, to_control(change["new"]))
        finally:
            self._is_updating = False
        if change["name"] == "origins":
            self._list_origins()
        else:
            self._follow_kind()

    def _ask_for_hour(self, change: Any) -> None:
        """Set a day when a departure or arrival time is first chosen, because the clock needs one."""
        if change["old"] == "any" and self.state.day is None and not self._is_updating:
            self.state.day = choices.first_day(self._network)

    def _ask_for_timetable(self, change: Any) -> None:
        """Set a departure time on a day with service when a type with a timetable is chosen."""
        if not MODES[change["new"]].uses_timetable or self._is_updating:
            return
        state = self.state
        if state.day is not None or state.moment == "any":
            state.day = choices.day_with_service(self._network, state.day)
        if state.moment == "any":
            state.moment = "departure"

    # Controls --------------------------------------------------------------------------------------------------------

    def _main(self) -> list[Any]:
        """Return the controls that are always visible."""
        kinds = [(choices.in_words(kind), kind) for kind in choices.kinds(self._network)]
        mode = ipywidgets.Dropdown(options=kinds)
        mode.add_class("traveltime-mode")
        # Registered before the binding, so that the first search already has a departure time.
        mode.observe(self._ask_for_timetable, "value")
        self._bind(mode, "transportation")
        measure = self._bind(
            ipywidgets.Dropdown(options=[("travel time", "travel_time"), ("distance", "distance")]), "measure"
        )
        minutes = self._bind(ladder(_SECONDS, style.minutes_label), "travel_time")
        minutes.add_class("traveltime-minutes")
        metres = self._bind(ladder(_METRES, style.metres_label), "distance")
        rings = self._bind(ipywidgets.IntSlider(min=1, max=MOST_RINGS), "rings")
        combine = self._bind(ipywidgets.Dropdown(options=choices.COMBINATIONS), "combine")
        self._click = ipywidgets.ToggleButtons(
            options=[("adds origin", True), ("asks only", False)], value=True, style={"button_width": "98px"}
        )
        fit = ipywidgets.Button(description="Show all areas", icon="arrows-alt")
        fit.on_click(lambda _: self._on_fit())
        self._minutes_row, self._metres_row = labelled("Limit", minutes), labelled("Limit", metres)
        self._combine_row = labelled("Areas", combine)
        return [
            labelled("Travel", mode),
            labelled("Within", measure),
            self._minutes_row,
            self._metres_row,
            labelled("Rings", rings),
            *self._times(),
            self._combine_row,
            labelled("A click", self._click),
            labelled("Window", fit),
        ]

    def _times(self) -> list[Any]:
        """Return the controls for the day, the hour and what depends on them."""
        moment = self._bind(
            ipywidgets.Dropdown(options=[("any time", "any"), ("departing", "departure"), ("arriving", "arrival")]),
            "moment",
        )
        # Registered before the binding, so that one search runs instead of two.
        moment.observe(self._ask_for_hour, "value")
        day = self._bind(ipywidgets.DatePicker(), "day")
        clock = self._bind(
            ipywidgets.IntSlider(min=0, max=_DAY_SECONDS - _QUARTER_S, step=_QUARTER_S, readout=False), "second"
        )
        clock.add_class("traveltime-clock")
        play = ipywidgets.Play(
            min=0, max=_DAY_SECONDS - _QUARTER_S, step=2 * _QUARTER_S, interval=_PLAY_MS, show_repeat=False,
            value=self.state.second, layout=ipywidgets.Layout(width="84px", flex="0 0 auto"),
        )  # fmt: skip
        # Playing continues from the position of the slider.
        self._bind(play, "second")
        self._clock_text = ipywidgets.HTML(layout=ipywidgets.Layout(width="42px", flex="0 0 auto"))
        clock.layout.flex, clock.layout.width, clock.layout.min_width = "1 1 auto", "auto", "0"
        self._clock_row = row([play, clock, self._clock_text])
        traffic = self._bind_option(
            ipywidgets.Dropdown(
                options=[("by the hour", ""), *((each.replace("_", " "), each) for each in TRAFFIC_MODELS)]
            ),
            "mode_options",
            "traffic_model",
            "",  # for a drop-down list, None means that nothing is selected
        )
        window = self._bind(ipywidgets.Dropdown(options=_WINDOWS), "window")
        luck = self._bind(
            ipywidgets.Dropdown(options=choices.PERCENTILES), "percentile", lambda p: p or None, lambda p: p or 0
        )
        self._moment_row, self._day_row = labelled("When", moment), labelled("Day", day)
        self._window_row, self._luck_row = labelled("Leaving", window), labelled("Good for", luck)
        self._traffic_row = labelled("Traffic", traffic)
        self._hour_note = ipywidgets.HTML()
        self._curve = ipywidgets.Checkbox(value=True, description="Curve of the day below the map", indent=False)
        self._curve.observe(lambda _: self._on_day(), "value")
        return [
            self._moment_row,
            self._day_row,
            self._clock_row,
            self._window_row,
            self._luck_row,
            self._traffic_row,
            self._hour_note,
            self._curve,
        ]

    def _shape_options(self) -> Any:
        """Return the controls for shape options."""
        level = ipywidgets.Dropdown(options=list(LEVEL_NAMES))
        render = ipywidgets.Dropdown(
            options=[("surface of times", "approximate_time_filter"), ("widened roads", "road_buffering")]
        )
        return column(
            [
                labelled("Detail", self._bind(level, "level_of_detail", to_control=lambda v: v or DEFAULT_LEVEL)),
                labelled("Drawn as", self._bind(render, "render_mode")),
                labelled(
                    "Width of roads, metres",
                    self._bind(
                        ipywidgets.BoundedIntText(min=limits.MIN_BUFFER_M, max=limits.MAX_BUFFER_M), "buffer_distance"
                    ),
                    is_long=True,
                ),
                labelled(
                    "Keep the largest parts",
                    self._bind(
                        ipywidgets.BoundedIntText(min=0, max=limits.MAX_POLYGONS, tooltip="0: all parts"),
                        "polygons_filter",
                        lambda n: n or None,
                        number_of_polygons,
                    ),
                    is_long=True,
                ),
                self._bind(ipywidgets.Checkbox(description="Fill holes", indent=False), "no_holes"),
                self._bind(ipywidgets.Checkbox(description="Cut out water", indent=False), "remove_water_bodies"),
            ]
        )

    def _travel_options(self) -> Any:
        """Return the controls for travel options."""
        snap = "snapping"
        penalty = self._bind_option(ipywidgets.Dropdown(options=_PENALTIES), snap, "penalty", "enabled")
        roads = self._bind_option(
            ipywidgets.Dropdown(
                options=[("walkable as well", "both_drivable_and_walkable"), ("any for cars", "any_drivable")]
            ),
            snap,
            "accept_roads",
            "both_drivable_and_walkable",
        )
        threshold = self._bind_option(ipywidgets.BoundedIntText(min=0, max=10_000), snap, "threshold", 1000)
        boarding = self._bind_option(ipywidgets.BoundedIntText(min=0, max=7200), "mode_options", "boarding_time", 0)
        self._hover = ipywidgets.Checkbox(value=True, description="Pointing shows time and route", indent=False)
        self._boarding_row = labelled("Boarding a ferry, seconds", boarding, is_long=True)
        self._roads_row = labelled("Streets", roads)
        tracks = self._road_choice("include_roads", "track", "Use rough tracks")
        restricted = self._road_choice("include_roads", "restricted", "Use restricted roads")
        self._choice_rows = {name: self._choice_row(name) for name in choices.OPTIONS}
        tolls = self._road_choice("exclude_roads", "toll", "Avoid tolls")
        self._car_options = column([self._roads_row, tracks, restricted, tolls])
        walk = self._bind(
            ipywidgets.BoundedIntText(min=0, max=240),
            "mode_options",
            lambda minutes: with_entry(self.state.mode_options, "walking_time", minutes * 60, 900),
            lambda options: round(options.get("walking_time", 900) / 60),
        )
        changes = self._bind(
            ipywidgets.Dropdown(options=[("any number", -1), *((str(n), n) for n in range(5))]),
            "mode_options",
            lambda n: with_entry(self.state.mode_options, "max_changes", None if n < 0 else n, None),
            lambda options: -1 if options.get("max_changes") is None else options["max_changes"],
        )
        delay = self._bind_option(ipywidgets.BoundedIntText(min=0, max=7200), "mode_options", "pt_change_delay", 0)
        headways = self._bind(
            ipywidgets.Dropdown(
                options=[("as printed", "exact"), ("half the headway", "average"), ("random, in a window", "random")]
            ),
            "mode_options",
            self._with_headways,
            lambda options: options.get("headways", "exact"),
        )
        self._ride_options = column(
            [
                labelled("Longest walk, minutes", walk, is_long=True),
                labelled("Changes", changes),
                labelled("Spare time per change, seconds", delay, is_long=True),
                labelled("Wait for lines without times", headways, is_long=True),
            ]
        )
        return column(
            [
                self._hover,
                labelled("Farthest street, metres", threshold, is_long=True),
                labelled("Way there", penalty),
                self._boarding_row,
                self._car_options,
                *self._choice_rows.values(),
                self._ride_options,
            ]
        )

    def _with_headways(self, how: str) -> dict[str, Any]:
        """Return the options of the mode with a kind of headways; only random ones have draws and a seed."""
        known = self.state.mode_options
        kept = {name: known[name] for name in known if how == "random" or not name.startswith("headway_")}
        return with_entry(kept, "headways", how, "exact")

    def _road_choice(self, name: str, road: str, text: str) -> Any:
        """Return a checkbox that adds a class of roads to an option of the transportation."""

        def to_state(is_chosen: bool) -> dict[str, Any]:
            chosen = [other for other in self.state.mode_options.get(name, ()) if other != road]
            return with_entry(self.state.mode_options, name, (*chosen, road) if is_chosen else tuple(chosen), ())

        control = ipywidgets.Checkbox(description=text, indent=False)
        return self._bind(control, "mode_options", to_state, lambda options: road in options.get(name, ()))

    def _export_options(self) -> Any:
        """Return the export buttons."""
        buttons = []
        for kind, text in (
            ("code", "Code"),
            ("geojson", "GeoJSON"),
            ("parquet", "GeoParquet"),
            ("png", "PNG"),
            ("html", "Web page"),
        ):
            button = ipywidgets.Button(description=text, layout=ipywidgets.Layout(width="116px"))
            button.on_click(lambda _, kind=kind: self._on_export(kind))
            buttons.append(button)
        return column([row(buttons[:2]), row(buttons[2:4]), row(buttons[4:]), self._export_note, self._code])

    def _follow_kind(self) -> None:
        """Show the controls that apply to the state and hide the others."""
        state = self.state
        in_time = state.measure == "travel_time"
        has_hour = state.moment != "any" and state.depends_on_hour
        kind = state.transportation
        show(self._minutes_row, in_time)
        show(self._metres_row, not in_time)
        show(self._day_row, has_hour)
        show(self._clock_row, has_hour and state.day is not None)
        show(self._curve, has_hour)
        show(self._window_row, has_hour and state.uses_timetable)
        show(self._luck_row, has_hour and state.uses_timetable and state.window > 0)
        show(self._traffic_row, applies("traffic_model", kind) and in_time)
        show(self._car_options, applies("exclude_roads", kind))
        for name, each in self._choice_rows.items():
            show(each, applies(name, kind))
        show(self._ride_options, applies("max_changes", kind))
        show(self._boarding_row, applies("boarding_time", kind))
        hours, minutes = divmod(state.second // 60, 60)
        self._clock_text.value = f"<b style='font:13px {FONT}'>{hours:02d}:{minutes:02d}</b>"
        note = ""
        if state.moment != "any" and not state.depends_on_hour:
            note = "The result does not depend on the time of day."
        elif has_hour and state.day is None:
            day = self._network.typical_day if state.uses_timetable else None
            which = "" if day is None else f", {day:%A} {day}"
            note = f"A typical weekday morning{which}; pick a day to choose the hour."
        covered = choices.span(self._network) if state.uses_timetable else None
        if covered is not None:
            note = f"{note} Timetable: {covered[0]} to {covered[1]}".strip()
        self._hour_note.value = f"<div style='font:12px/1.4 {FONT};color:#666'>{note}</div>"
        show(self._hour_note, bool(note))

    def _list_origins(self) -> None:
        """List the origins in their colours, each with a remove button."""
        origins: Sequence[Any] = self.state.origins
        names = [(str(origin.name), i) for i, origin in enumerate(origins)]
        # Widgets exist in kernel and browser until they are closed, so a drag must not create new ones at every step.
        if names == getattr(self, "_listed", None):
            return
        self._listed = names
        rows = []
        for i, origin in enumerate(origins):
            colour = colour_of(i) if len(origins) > 1 else style.ORIGIN
            label = ipywidgets.HTML(
                # A long name must not wrap: its row would grow when "(moved)" is added during a drag.
                f"<div style='font:13px {FONT};white-space:nowrap;overflow:hidden;text-overflow:ellipsis'>"
                f"<b style='color:{colour}'>&#9679;</b> {escape(str(origin.name))}</div>",
                layout=ipywidgets.Layout(flex="1 1 0", min_width="0"),
            )
            button = ipywidgets.Button(
                icon="times", tooltip=f"remove {origin.name}", layout=ipywidgets.Layout(width="32px", height="28px")
            )
            button.on_click(lambda _, name=origin.name: self._on_remove(name))
            rows.append(row([label, button] if len(origins) > 1 else [label]))
        gone, self._origin_rows.children = self._origin_rows.children, rows
        for old in gone:
            for widget in (*old.children, old):
                for part in (getattr(widget, "style", None), widget.layout, widget):
                    if part is not None:
                        part.close()
        show(self._combine_row, len(origins) > 1)

    # Used by the map -------------------------------------------------------------------------------------------------

    @property
    def click_adds(self) -> bool:
        """Whether a click on the map adds an origin."""
        return bool(self._click.value)

    @property
    def shows_day(self) -> bool:
        """Whether the curve of the day is shown where there is one."""
        return bool(self._curve.value)

    @property
    def hover_asks(self) -> bool:
        """Whether moving the mouse over the map shows travel times and routes."""
        return bool(self._hover.value)

    def show_export(self, html: str) -> None:
        """Show a message about an export."""
        self._export_note.value = f"<span style='font:12px {FONT}'>{html}</span>"

    def show_code(self, code: str) -> None:
        """Show code to copy."""
        self._code.value, self._code.layout.display = code, None
        self.show_export("Copy this into a cell; <code>to_cell()</code> makes one.")
