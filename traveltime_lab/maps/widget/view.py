"""
`TravelTimeMap`: an interactive map with controls, draggable markers and isochrones.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import geopandas as gpd

try:
    import ipyleaflet
    import ipywidgets
except ImportError as error:
    from traveltime_lab.errors import MissingDependencyError

    msg = f"TravelTimeMap needs {error.name}; install it with pip install 'traveltime_lab[notebook]'"
    raise MissingDependencyError(msg) from error

from traveltime_lab._files import as_path
from traveltime_lab.errors import InputError, TravelTimeError
from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.widget import answers, browser, rides
from traveltime_lab.maps.widget.background import ASSUMED_PX, Background, tile_layer
from traveltime_lab.maps.widget.controls import Status, column, row, signed
from traveltime_lab.maps.widget.day_view import DayCurve
from traveltime_lab.maps.widget.exports import Exports
from traveltime_lab.maps.widget.finder import Finder
from traveltime_lab.maps.widget.jobs import Cancelled, Job, LatestOnly
from traveltime_lab.maps.widget.layers import Layer
from traveltime_lab.maps.widget.markers import Markers
from traveltime_lab.maps.widget.naming import Naming
from traveltime_lab.maps.widget.origins import lng_lat
from traveltime_lab.maps.widget.own_layers import OwnLayers, Shapes
from traveltime_lab.maps.widget.panel import Panel
from traveltime_lab.maps.widget.state import MAP_NAMES, OPTION_NAMES, MapState, Query, state_of, value_names
from traveltime_lab.maps.widget.values import refuse_unknown
from traveltime_lab.network.network import Network

logger = logging.getLogger(__name__)

#: Seconds without movement before the base map is redrawn, and seconds before the progress of a search is shown.
_SETTLE_S = 0.06
_SLOW_S = 0.4
#: If a search takes longer than this, a lower level of detail is used while a marker is dragged.
_SLOW_DRAG_S = 0.15
#: Values of the state that are also attributes of the map, keywords first.
_ON_MAP = tuple(dict.fromkeys((*OPTION_NAMES, *value_names())))


@signed
class TravelTimeMap(Exports, Markers, Naming, OwnLayers, DayCurve, Background, ipywidgets.VBox):
    """
    Interactive map with isochrones that follow their origins.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), or a list of points or pairs, optional
        Initial origins; by default the crossing nearest to the middle of the streets. Index labels become names. Pass
        an empty table for a map without origins, which can be added by clicking.
    base_map : {"network", "none"}, str or tile provider, default "network"
        ``"network"`` draws the streets and water of the network, without internet access; ``"none"`` or None draws no
        base map. Tiles from the internet are given as a URL with ``{z}/{x}/{y}``, an entry of ``ipyleaflet.basemaps``
        or an ``ipyleaflet.TileLayer``.
    height : int, default 520
        Height of the map in pixels.
    folder : path-like, default "."
        Folder for exported files without a path.
    **values
        ``travel_time`` (default 900) or ``distance``, ``rings`` (default 3), ``combine`` (``"each"``, ``"union"``,
        ``"intersection"`` or ``"difference"``) and any option of `time_map` but limits on emissions and costs:
        ``transportation``, ``departure_time``, ``arrival_time``, ``level_of_detail`` and so on. One default differs
        from that of `time_map`, so that the first map appears quickly: ``transportation="walking"``. All values are
        also attributes of the map.

    Attributes
    ----------
    state : MapState
        State of the map; observe it, or set its values from other cells.
    areas : GeoDataFrame
        Areas of the current state, see `traveltime_lab.maps.widget.answers.areas`; without rows if there are no
        origins. Waits for a running search, and raises the error that the map displays, if any. After cancelling a
        search, the areas that are on the map.
    day_curve : DataFrame
        Sizes of the areas at each half hour of the day, which a curve below the map shows where they depend on the
        time of day; a click on the curve sets the time. Searches what is not known yet.
    error : str
        Message displayed on the map, empty if there is none. Waits for a running search.

    Raises
    ------
    InputError
        If a keyword or an attribute is unknown or a value is invalid.
    MissingDependencyError
        If ipyleaflet is not installed.

    See Also
    --------
    plot : Static map.

    Examples
    --------
    In a notebook, a map as the last expression of a cell is displayed:

    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> view = tl.TravelTimeMap(network, places[:1], rings=3)

    Other cells can change it, and read the areas:

    >>> view.travel_time = 600
    >>> view.rings = 2
    >>> view.areas["travel_time"].tolist()
    [300, 600]

    Own data under or over the areas:

    >>> view.add_layer(places, "Places", over=True)
    """

    def __init__(
        self,
        network: Network,
        origins: Any = None,
        *,
        base_map: Any = "network",
        height: int = 520,
        folder: str | Path = ".",
        **values: Any,
    ) -> None:
        if not isinstance(network, Network):
            raise InputError(f"The first argument must be a Network; got {type(network).__name__}.")
        self.network = network
        self.state: MapState = self._make_state(origins, values)
        self._folder = as_path(folder, "folder")
        self._areas: gpd.GeoDataFrame = answers.no_areas(self.state.measure)
        self._error = ""
        self._failure: BaseException | None = None
        self._service: tuple[Any, list[str]] = (None, [])
        self._drawn_question: Query | None = None
        self._query_shown: Query | None = None
        self._probed: tuple[float, float] | None = None
        self._is_dragging = False
        self._pressed: str | None = None
        self._full_s = 0.0
        self._is_draft = False
        self._markers: dict[str, ipyleaflet.Marker] = {}
        self._given: set[str] = set()
        self._unnamed: set[str] = set()
        self._own: dict[str, tuple[Layer, Shapes]] = {}
        self._shape_jobs, self._probe_jobs, self._base_jobs = LatestOnly(), LatestOnly(), LatestOnly()
        self._find_jobs, self._name_jobs = LatestOnly(), LatestOnly()
        self._base: basemap.Overlays | None = None
        self._settling: asyncio.TimerHandle | None = None
        base_map = "none" if base_map is None else base_map
        self._uses_network = isinstance(base_map, str) and base_map == "network"

        # Not timed, because the first search of a network also builds its search graphs.
        query = self.state.query()
        drawn = answers.areas(network, query) if query.origins else self._areas
        self._status = Status(self.cancel)
        self.map = self._make_map(drawn, base_map, height)
        self._finder = Finder(self._find, self._pick)
        self.panel = self._make_panel()
        self._note = ipywidgets.HTML(layout=ipywidgets.Layout(margin="2px 4px", overflow="hidden"))
        # Below 700 px, the panel wraps below the map. Beside the map, it gets next to nothing of the spare width.
        left = column([self.map, self._make_day(), self._note], flex="1000 1 390px", min_width="0")
        both = row([left, self.panel.box], flex_flow="row wrap")
        both.layout.align_items = "flex-start"
        super().__init__([both], layout=ipywidgets.Layout(width="100%", overflow="visible"))
        self._show(query, drawn)
        self._fitted = (*self.map.center, self.map.zoom)
        self._place_markers()
        self._draw_base()
        self._follow_day()
        self.state.observe(self._on_state)
        self.map.observe(self._on_move, ["bounds", "zoom"])
        self.map.on_interaction(self._on_map_event)
        self._is_made = True

    def _make_state(self, origins: Any, values: dict[str, Any]) -> MapState:
        """Return the state that the map shows."""
        return state_of(self.network, origins, **values)

    def _make_panel(self) -> Panel:
        """Return the controls of the map."""
        return Panel(
            self.state, self.network, finder=self._finder, on_remove=self._on_remove, on_export=self._export,
            on_fit=self.fit, on_day=self._switch_day,
        )  # fmt: skip

    # Attributes ------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Return a value of the state."""
        if name in _ON_MAP and "state" in self.__dict__:
            return getattr(self.state, name)
        raise AttributeError(f"TravelTimeMap has no attribute {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a value of the state; raise an error for names that are unknown or read-only."""
        if name in _ON_MAP and "state" in self.__dict__:
            # As in the constructor, setting a distance selects areas by distance.
            with self.state.hold_trait_notifications():
                setattr(self.state, name, value)
                if name in ("travel_time", "distance"):
                    self.state.measure = name
            return
        if self.__dict__.get("_is_made") and not name.startswith("_"):
            if name in ("network", "state", "map", "panel", "base_map", "height"):
                raise InputError(
                    f"{name} cannot be changed after the map has been created; create another map with "
                    "TravelTimeMap(...). The values of state, and the layers of map, can be changed."
                )
            if name != "folder" and not hasattr(ipywidgets.VBox, name):
                refuse_unknown([name], (*_ON_MAP, *MAP_NAMES[1:]), "TravelTimeMap")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """Return the names of attributes, including the values of the state."""
        return sorted({*super().__dir__(), *_ON_MAP})

    # Layers ----------------------------------------------------------------------------------------------------------

    def _make_map(self, drawn: gpd.GeoDataFrame, base_map: Any, height: int) -> Any:
        """Return the map with its layers, fitted to the first areas."""
        west, south, east, north = browser.worth_seeing(drawn, self.state.origins, self.network)
        self._ground = ipyleaflet.ImageOverlay(pane="ground", attribution=escape(self.network.attribution))
        self._streets = ipyleaflet.ImageOverlay(pane="streets")
        self._shapes = Shapes(pane="areas")
        self._route = Shapes(pane="routes", data=rides.route_features([]))
        layers: list[Any] = [self._shapes, self._route]
        if self._uses_network:
            layers = [self._ground, self._streets, *layers]
        elif not (isinstance(base_map, str) and base_map == "none"):
            layers = [tile_layer(base_map), *layers]
        self._legend = ipywidgets.HTML()
        made = ipyleaflet.Map(
            layers=layers,
            center=((south + north) / 2.0, (west + east) / 2.0),
            zoom=browser.zoom_for((west, south, east, north), *(0.85 * side for side in ASSUMED_PX)),
            scroll_wheel_zoom=True,
            double_click_zoom=False,
            max_zoom=19,
            panes={
                "ground": {"zIndex": 150, "pointerEvents": "none"},
                "under": {"zIndex": 405, "pointerEvents": "none"},
                "areas": {"zIndex": 410, "opacity": style.AREA_OPACITY, "pointerEvents": "none"},
                "streets": {"zIndex": 420, "pointerEvents": "none"},
                "over": {"zIndex": 425, "pointerEvents": "none"},
                "routes": {"zIndex": 430, "pointerEvents": "none"},
            },
            attribution_control=False,
            layout=ipywidgets.Layout(height=f"{height}px", min_width="0"),
        )
        made.add(ipyleaflet.AttributionControl(position="bottomright", prefix=""))
        made.add(ipyleaflet.WidgetControl(widget=self._legend, position="topright"))
        made.add(ipyleaflet.WidgetControl(widget=self._status.box, position="bottomleft", transparent_bg=True))
        made.add(ipyleaflet.ScaleControl(position="bottomright", imperial=False))
        return made

    def _show(self, query: Query, drawn: gpd.GeoDataFrame) -> None:
        """Show areas and their legend on the map."""
        self._areas, self._drawn_question, self._failure = drawn, query, None
        lat = query.origins[0].lat if query.origins else self.map.center[0]
        pixel_m = browser.metres_per_pixel(self.map.zoom, lat)
        self._shapes.data = browser.feature_collection(drawn, query, pixel_m)
        self._note.layout.height = f"{browser.probe_height(query)}px"
        self._draw_legend()
        self._tell(" ".join([*answers.remarks(self.network, query, drawn), *self._service_remarks(query)]))

    def _draw_legend(self) -> None:
        """Show the legend of the areas on the map and of the layers of own data."""
        legend = browser.legend_html(self._drawn_question, [layer.legend_html() for layer, _ in self._own.values()])
        if self._legend.value != legend:
            self._legend.value = legend

    def _service_remarks(self, query: Query) -> list[str]:
        """Return the warnings of the timetable; cached for the last departure or arrival time."""
        key = query.question.moment, query.is_arrival
        if not query.transportation.uses_timetable:
            return []
        if self._service[0] != key:
            self._service = key, answers.service_remarks(self.network, query)
        return self._service[1]

    # Actions and events ----------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel the running search; the areas on the map stay."""
        self._shape_jobs.cancel()

    def _on_state(self, change: Any) -> None:
        if change["name"] == "origins":
            self._place_markers()
            self._clear_probe()
        self._draw(only_new=True)

    def _draw(self, *, at_once: bool = False, only_new: bool = False) -> None:
        """Search for the areas of the state and show them when they are ready."""
        try:
            query = self.state.query()
        except (TravelTimeError, TypeError, ValueError) as error:
            self._shape_jobs.forget()  # the result of a running search would hide the error
            self._on_no_answer(error)
            return
        if not query.origins:
            self._shape_jobs.forget()
            self._query_shown = query
            self._status.show_progress(None)
            self._show(query, answers.no_areas(query.measure))
            self._follow_day()
            return
        if only_new and query == self._query_shown and not self._is_draft:
            return  # a value changed that does not apply, such as the traffic model when walking
        self._query_shown = query
        self._hold_day(query)
        # A draft needs indexes for its own level of detail, so it is worthwhile only if searches are slow.
        self._is_draft = self._is_dragging and self._full_s > _SLOW_DRAG_S
        if self._is_draft:
            query = query.draft()
        self._shape_jobs.submit(
            lambda job: self._answer(query, job),
            lambda drawn: self._on_shapes(query, drawn),
            self._on_no_answer,
            at_once=at_once,
        )
        self._watch(self._shape_jobs.running)

    def _answer(self, query: Query, job: Job) -> gpd.GeoDataFrame:
        """Return the areas of a query and measure the time of the search."""
        drawn = answers.areas(self.network, query, step=job.step)
        if not self._is_dragging or query.draft() == query:
            self._full_s = time.perf_counter() - job.started
        return drawn

    def _watch(self, job: Job | None) -> None:
        """Show the progress of a job if it is slow."""
        if job is None:
            return
        loop = asyncio.get_running_loop()

        def look() -> None:
            running = self._shape_jobs.running
            self._status.show_progress(running)
            if running is not None:
                loop.call_later(0.2, look)

        loop.call_later(_SLOW_S, look)

    def _on_shapes(self, query: Query, drawn: gpd.GeoDataFrame) -> None:
        if self._shape_jobs.running is None:
            self._status.show_progress(None)
        self._show(query, drawn)
        if not self._is_dragging:
            self._keep_in_sight()
        if not self._is_dragging and self._shape_jobs.running is None:
            self._follow_day()
        if self._probed is not None:
            self.ask(*self._probed)  # travel times to the probed point depend on the state, too

    def _on_no_answer(self, error: BaseException) -> None:
        """Store and show the error of a search; the areas on the map stay, but `areas` raises the error."""
        self._query_shown = None
        if not isinstance(error, Cancelled):
            self._failure = error
        self._on_failure(error)

    def _on_failure(self, error: BaseException) -> None:
        """Show an error on the map, because the log is not visible in a notebook."""
        self._status.show_progress(self._shape_jobs.running)
        if isinstance(error, Cancelled):
            self._tell("Cancelled; the map shows the previous areas.")
            return
        if not isinstance(error, TravelTimeError):
            logger.error("widget failure", exc_info=error)
        self._tell(str(error) if isinstance(error, TravelTimeError) else f"{type(error).__name__}: {error}")

    def _tell(self, text: str) -> None:
        """Show a message on the map; hide it if the text is empty."""
        self._error = text
        self._status.show_error(text)

    def _on_move(self, _change: Any) -> None:
        """Redraw the base map after the map has stopped moving, or has changed its size."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._on_settled()
            return
        if self._settling is not None:
            self._settling.cancel()
        self._settling = loop.call_later(_SETTLE_S, self._on_settled)

    def _on_settled(self) -> None:
        # On a narrow screen, a map that has not been moved shows less than what it was fitted to.
        if not self._was_moved() and self._pressed is None:
            self._keep_in_sight()
        self._draw_base()

    def _on_map_event(self, **event: Any) -> None:
        kind = event.get("type")
        if kind not in ("click", "mousemove"):
            return
        lat, lng = event["coordinates"]
        with self._errors_shown():
            if kind == "click" and self.panel.click_adds:
                self.add_origin(lng, lat)
            elif self._pressed is None and (kind == "click" or self.panel.hover_asks):
                self.ask(lng, lat)

    def ask(self, lng: Any, lat: float | None = None) -> None:
        """
        Show travel times and routes between the origins and a point, as moving the mouse there does.

        Parameters
        ----------
        lng : float, Point or (lng, lat)
            Longitude, or the point, in EPSG:4326.
        lat : float, optional
            Latitude, if `lng` is a number.

        Raises
        ------
        InputError
            If the point is invalid.
        CoordinateError
            If the coordinates are out of range.
        """
        lng, lat = lng_lat(lng, lat)
        query = self._drawn_question
        if query is None or not query.origins:
            return
        self._probed = lng, lat
        self._probe_jobs.submit(
            lambda _: answers.probe(self.network, query, lng, lat),
            lambda found: self._show_probe(query, found),
            self._on_failure,
        )

    def _show_probe(self, query: Query, found: gpd.GeoDataFrame) -> None:
        """Show travel times as text and routes as lines."""
        self._route.data = rides.route_features(found["legs"])
        self._note.value = browser.probe_html(query, found)

    def _clear_probe(self) -> None:
        self._probed = None
        if self._route.data["features"]:
            self._route.data = rides.route_features([])
        self._note.value = ""

    @property
    def areas(self) -> gpd.GeoDataFrame:
        """
        Areas of the current state; without rows if there are no origins. Waits for a running search.

        Raises
        ------
        TravelTimeError
            The error that the map displays, if the search failed.
        """
        self._catch_up()
        if self._failure is not None:
            # The traceback is cleared, because it would grow with every access.
            raise self._failure.with_traceback(None)
        return self._areas

    @property
    def error(self) -> str:
        """Message displayed on the map, empty if there is none. Waits for a running search."""
        self._catch_up()
        return self._error

    def _catch_up(self) -> None:
        """Complete a running search synchronously, so that a cell can set a value and read the result."""
        if self._shape_jobs.running is not None:
            self._draw(at_once=True)

    @contextlib.contextmanager
    def _errors_shown(self) -> Iterator[None]:
        try:
            yield
        except (TravelTimeError, OSError) as error:
            self._on_failure(error)
