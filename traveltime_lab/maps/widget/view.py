"""
`TravelTimeMap`: the state as sliders and markers, the answers as shapes on a map.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import geopandas as gpd

try:
    import ipyleaflet
    import ipywidgets
    import traitlets
except ImportError as error:
    from traveltime_lab.errors import MissingDependencyError

    msg = f"TravelTimeMap needs {error.name}; install it with pip install 'traveltime_lab[notebook]'"
    raise MissingDependencyError(msg) from error

from traveltime_lab.errors import InputError, TravelTimeError
from traveltime_lab.maps import basemap, style
from traveltime_lab.maps.widget import answers, browser
from traveltime_lab.maps.widget.exports import Exports
from traveltime_lab.maps.widget.jobs import Cancelled, Job, LatestOnly
from traveltime_lab.maps.widget.origins import Origin, find, lng_lat, moved_name, new_name
from traveltime_lab.maps.widget.panel import Panel
from traveltime_lab.maps.widget.state import (
    MAP_NAMES,
    OPTION_NAMES,
    MapState,
    Query,
    colour_of,
    state_of,
    value_names,
)
from traveltime_lab.maps.widget.values import refuse_unknown
from traveltime_lab.network.network import Network

logger = logging.getLogger(__name__)

#: Size of the map that first pictures are made for, before the browser tells the real one.
_ASSUMED_PX = (1000, 560)
#: The base map reaches this share of the window beyond each of its sides, so that small moves need no new one.
_SPARE = 0.5
#: Seconds that a move of the map, and slow work, may last before something happens.
_SETTLE_S = 0.06
_SLOW_S = 0.4
#: Answers that take longer than this are drawn coarsely while a marker is dragged.
_SLOW_DRAG_S = 0.15
#: What can be set, and read, on the map as well as on its state: the keywords first.
_ON_MAP = tuple(dict.fromkeys((*OPTION_NAMES, *value_names())))


class _Shapes(ipyleaflet.GeoJSON):
    """Shapes in a pane: ipyleaflet tells Leaflet the pane of a layer too late for the parts of a GeoJSON layer."""

    pane = traitlets.Unicode("").tag(sync=True, o=True)


class _Line(ipyleaflet.Polyline):
    """A line in a pane."""

    pane = traitlets.Unicode("").tag(sync=True, o=True)


class TravelTimeMap(Exports, ipywidgets.VBox):
    """
    A map on which areas within reach follow their origins.

    Parameters
    ----------
    network : Network
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), or a list of points or pairs, optional
        Where to start; by default the middle of the network. Labels of tables become names. An empty table is a map
        to click on.
    base_map : {"network", "none"}, str or tile provider, default "network"
        What lies underneath: the network itself, drawn offline; nothing (also None); or tiles from the internet, as an
        address with ``{z}/{x}/{y}``, an entry of ``ipyleaflet.basemaps`` or an ``ipyleaflet.TileLayer``.
    height : int, default 520
        Of the map in pixels.
    folder : path-like, default "."
        Where exports go that are not told where.
    **values
        ``travel_time`` (default 900) or ``distance``, ``rings`` (default 3), ``combine`` (``"each"``, ``"union"``,
        ``"intersection"``, ``"difference"``) and every option of `time_map`: ``transportation``,
        ``departure_time``, ``arrival_time``, ``level_of_detail`` and so on. Two defaults are not those of
        `time_map`, so that a first map is quick and round its origin: ``transportation="walking"`` and
        ``level_of_detail="medium"``. Each can be set and read as an attribute of the map, too.

    Attributes
    ----------
    state : MapState
        Everything that decides what is drawn; observe it, or set its values from other cells.
    areas : GeoDataFrame
        The shapes of the state, see `traveltime_lab.maps.widget.answers.areas`; no rows where there is no origin. Waits
        for the latest, and raises what is told beside the map where there is no answer. After a press of Cancel:
        what is still on the map.
    error : str
        What is told beside the map, empty if all is well. Waits for the latest.

    Raises
    ------
    InputError
        If a keyword or an attribute does not exist or a value cannot be used.
    MissingDependencyError
        If ipyleaflet is not installed.

    Examples
    --------
    >>> TravelTimeMap(network, homes, travel_time=900, transportation="cycling")  # doctest: +SKIP
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
        self.state: MapState = state_of(network, origins, **values)
        self._folder = Path(folder)
        self._areas: gpd.GeoDataFrame = answers.no_areas(self.state.measure)
        self._error = ""
        self._failure: BaseException | None = None
        self._service: tuple[Any, list[str]] = (None, [])
        self._drawn_question: Query | None = None
        self._asked: Query | None = None
        self._probed: tuple[float, float] | None = None
        self._is_dragging = False
        self._pressed: str | None = None
        self._full_s = 0.0
        self._is_draft = False
        self._markers: dict[str, ipyleaflet.Marker] = {}
        self._shape_jobs, self._probe_jobs, self._base_jobs = LatestOnly(), LatestOnly(), LatestOnly()
        self._base: basemap.Overlays | None = None
        self._settling: asyncio.TimerHandle | None = None
        base_map = "none" if base_map is None else base_map
        self._uses_network = isinstance(base_map, str) and base_map == "network"

        # Not timed: the first answer of a network prepares what later ones find ready.
        query = self.state.query()
        drawn = answers.areas(network, query) if query.origins else self._areas
        self.map = self._make_map(drawn, base_map, height)
        self.panel = Panel(
            self.state, self.network, on_remove=self._on_remove, on_export=self._export, on_cancel=self.cancel,
            on_fit=self.fit,
        )  # fmt: skip
        self._note = ipywidgets.HTML(layout=ipywidgets.Layout(min_height="24px", margin="2px 4px"))
        left = ipywidgets.VBox([self.map, self._note], layout=ipywidgets.Layout(flex="1 1 auto", min_width="300px"))
        row = ipywidgets.HBox([left, self.panel.box], layout=ipywidgets.Layout(width="100%", align_items="flex-start"))
        super().__init__([row], layout=ipywidgets.Layout(width="100%"))
        self._show(query, drawn)
        self._place_markers()
        self._draw_base()
        self.state.observe(self._on_state)
        self.map.observe(self._on_move, ["bounds", "zoom"])
        self.map.on_interaction(self._on_map_event)
        self._is_made = True

    # Names -----------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Return a value of the state by the name of its keyword."""
        if name in _ON_MAP and "state" in self.__dict__:
            return getattr(self.state, name)
        raise AttributeError(f"TravelTimeMap has no attribute {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a value of the state by the name of its keyword; what does not exist or cannot change is refused."""
        if name in _ON_MAP and "state" in self.__dict__:
            # As for keywords: whoever gives a distance wants areas of distance.
            with self.state.hold_trait_notifications():
                setattr(self.state, name, value)
                if name in ("travel_time", "distance"):
                    self.state.measure = name
            return
        if self.__dict__.get("_is_made") and not name.startswith("_"):
            if name in ("network", "state", "map", "panel", "base_map", "height"):
                raise InputError(
                    f"{name} is settled when the map is made; make another with TravelTimeMap(...). "
                    "The values of state, and the layers of map, can be changed."
                )
            if name != "folder" and not hasattr(ipywidgets.VBox, name):
                refuse_unknown([name], (*_ON_MAP, *MAP_NAMES[1:]), "TravelTimeMap")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """Return the names of attributes, those of the state's values among them."""
        return sorted({*super().__dir__(), *_ON_MAP})

    # What is on the map ----------------------------------------------------------------------------------------------

    def _make_map(self, drawn: gpd.GeoDataFrame, base_map: Any, height: int) -> Any:
        """Return the map with its layers, looking at the first shapes."""
        west, south, east, north = _worth_seeing(drawn, self.state.origins, self.network)
        self._ground = ipyleaflet.ImageOverlay(pane="ground", attribution=escape(self.network.attribution))
        self._streets = ipyleaflet.ImageOverlay(pane="streets")
        self._shapes = _Shapes(pane="areas")
        self._route = _Line(pane="routes", color=style.ROUTE, weight=3, fill=False, opacity=0.85, smooth_factor=1.0)
        layers: list[Any] = [self._shapes, self._route]
        if self._uses_network:
            layers = [self._ground, self._streets, *layers]
        elif not (isinstance(base_map, str) and base_map == "none"):
            layers = [_tile_layer(base_map), *layers]
        self._legend = ipywidgets.HTML()
        made = ipyleaflet.Map(
            layers=layers,
            center=((south + north) / 2.0, (west + east) / 2.0),
            zoom=browser.zoom_for((west, south, east, north), *(0.85 * side for side in _ASSUMED_PX)),
            scroll_wheel_zoom=True,
            double_click_zoom=False,
            max_zoom=19,
            panes={
                "ground": {"zIndex": 150, "pointerEvents": "none"},
                "areas": {"zIndex": 410, "opacity": style.AREA_OPACITY, "pointerEvents": "none"},
                "streets": {"zIndex": 420, "pointerEvents": "none"},
                "routes": {"zIndex": 430, "pointerEvents": "none"},
            },
            layout=ipywidgets.Layout(height=f"{height}px", min_width="300px"),
        )
        made.add(ipyleaflet.WidgetControl(widget=self._legend, position="bottomleft"))
        made.add(ipyleaflet.ScaleControl(position="bottomright", imperial=False))
        return made

    def _show(self, query: Query, drawn: gpd.GeoDataFrame) -> None:
        """Put shapes and legend on the map."""
        self._areas, self._drawn_question, self._failure = drawn, query, None
        lat = query.origins[0].lat if query.origins else self.map.center[0]
        pixel_m = browser.metres_per_pixel(self.map.zoom, lat)
        self._shapes.data = browser.feature_collection(drawn, query, pixel_m)
        legend = browser.legend_html(query)
        if self._legend.value != legend:
            self._legend.value = legend
        self._tell(" ".join([*answers.remarks(self.network, query, drawn), *self._service_remarks(query)]))

    def _service_remarks(self, query: Query) -> list[str]:
        """Return what is to say about the timetable on a day, found out once for each moment."""
        key = tuple(query.options.get(name) for name in ("departure_time", "arrival_time"))
        if not query.uses_timetable:
            return []
        if self._service[0] != key:
            self._service = key, answers.service_remarks(self.network, query)
        return self._service[1]

    def _place_markers(self) -> None:
        """Make the markers agree with the origins."""
        wanted = {str(origin.name): (i, origin) for i, origin in enumerate(self.state.origins)}
        for name in [name for name in self._markers if name not in wanted]:
            self.map.remove(self._markers.pop(name))
        is_single = len(wanted) == 1
        for name, (i, origin) in wanted.items():
            colour = style.ORIGIN if is_single else colour_of(i)
            marker = self._markers.get(name)
            if marker is None:
                marker = self._markers[name] = self._marker(name, origin)
                self.map.add(marker)
            elif tuple(marker.location) != (origin.lat, origin.lng) and not self._is_dragging:
                marker.location = (origin.lat, origin.lng)
            if getattr(marker, "colour", None) != colour:
                marker.colour = colour
                marker.icon = ipyleaflet.Icon(icon_url=browser.pin(colour), icon_size=(26, 36), icon_anchor=(13, 36))

    def _marker(self, name: str, origin: Origin) -> Any:
        marker = ipyleaflet.Marker(location=(origin.lat, origin.lng), draggable=True, title=name, alt=name)

        def on_event(_: Any, event: dict[str, Any], __: Any) -> None:
            # ipyleaflet has no event for a marker on the move, but whatever the mouse does to a marker tells where
            # the marker is, and while it is dragged the mouse keeps entering, leaving and crossing it.
            kind, place = event.get("type"), event.get("coordinates")
            if kind == "mousedown":
                self._pressed = marker.alt
            elif kind == "mouseup":
                self._pressed = None
            elif self._pressed == marker.alt and place and tuple(place) != tuple(marker.location):
                with self._errors_told():
                    self.move_origin(marker.alt, place[1], place[0], is_dragging=True)

        def on_location(change: Any) -> None:
            lat, lng = change["new"]
            self._pressed = None
            with self._errors_told():
                self.move_origin(marker.alt, lng, lat)

        marker.on_msg(on_event)
        marker.observe(on_location, "location")
        return marker

    def _draw_base(self) -> None:
        """Draw the base map for the window, unless the one that is there will do."""
        if not self._uses_network:
            return
        window = self._window()
        zoom = float(self.map.zoom)
        if self._base is not None:
            (south, west), (north, east) = self._base.bounds
            fits = west <= window[0] and south <= window[1] and east >= window[2] and north >= window[3]
            if fits and math.isclose(self._base.metres_per_pixel, self._pixel_m(zoom, window), rel_tol=0.2):
                return
        wide, high = window[2] - window[0], window[3] - window[1]
        bounds = (
            window[0] - _SPARE * wide,
            max(window[1] - _SPARE * high, -85.0),
            window[2] + _SPARE * wide,
            min(window[3] + _SPARE * high, 85.0),
        )
        pixel_m = self._pixel_m(zoom, window)
        self._base_jobs.submit(
            lambda _: basemap.overlays(self.network, bounds, pixel_m),
            self._show_base,
            self._on_failure,
            at_once=self._base is None,
        )

    @staticmethod
    def _pixel_m(zoom: float, window: tuple[float, float, float, float]) -> float:
        return browser.metres_per_pixel(zoom, (window[1] + window[3]) / 2.0)

    def _window(self) -> tuple[float, float, float, float]:
        """Return west, south, east, north of what is seen; a guess until the browser has told."""
        if self.map.north > self.map.south and self.map.east > self.map.west:
            return self.map.west, self.map.south, self.map.east, self.map.north
        lat, lng = self.map.center
        degrees = browser.metres_per_pixel(self.map.zoom, 0.0) / 111_320.0
        half_wide = _ASSUMED_PX[0] / 2.0 * degrees
        half_high = _ASSUMED_PX[1] / 2.0 * degrees * math.cos(math.radians(lat))
        return lng - half_wide, lat - half_high, lng + half_wide, lat + half_high

    def _show_base(self, made: basemap.Overlays) -> None:
        self._base = made
        for overlay, picture in ((self._ground, made.ground), (self._streets, made.streets)):
            with overlay.hold_sync():
                overlay.url, overlay.bounds = picture, made.bounds

    # What happens ----------------------------------------------------------------------------------------------------

    def add_origin(self, lng: Any, lat: float | None = None, name: Any = None) -> None:
        """
        Add an origin; it is drawn at once.

        Parameters
        ----------
        lng : float, Point or (lng, lat)
            EPSG:4326.
        lat : float, optional
            Unless the first is a Point or a pair.
        name : object, optional
            By default a number.

        Raises
        ------
        InputError
            If it is no place, or there is an origin of the name.
        CoordinateError
            If the place is not on Earth.
        """
        place = lng_lat(lng, lat)
        origin = Origin(new_name(self.state.origins) if name is None else name, *place)
        if str(origin.name) in {str(other.name) for other in self.state.origins}:
            raise InputError(f"There is an origin {origin.name!r} already; give another name.")
        self.state.origins = [*self.state.origins, origin]

    def move_origin(
        self, name: Any, lng: Any, lat: float | None = None, *, new_name: Any = None, is_dragging: bool = False
    ) -> None:
        """
        Move an origin; while it is being dragged shapes are drawn coarsely.

        Parameters
        ----------
        name : object
            Of the origin, also the one it had before it was moved first.
        lng : float, Point or (lng, lat)
            EPSG:4326.
        lat : float, optional
            Unless the place is a Point or a pair.
        new_name : object, optional
            By default the name with "(moved)", because the place is no longer what the old name says; those that are
            only numbered keep theirs.
        is_dragging : bool, default False

        Raises
        ------
        InputError
            If there is no such origin or no such place.
        CoordinateError
            If the place is not on Earth.
        """
        position = find(self.state.origins, name)
        place = lng_lat(lng, lat)
        origins = list(self.state.origins)
        old = origins.pop(position)
        was_dragging, self._is_dragging = self._is_dragging, is_dragging
        wanted = old.name if new_name is None else new_name
        if new_name is None and place != (old.lng, old.lat):
            wanted = moved_name(old.name, origins)
        elif str(wanted) in {str(other.name) for other in origins}:
            raise InputError(f"There is an origin {wanted!r} already; give another name.")
        moved = Origin(wanted, *place)
        if moved != old:
            self._rename_marker(str(old.name), str(wanted))
            origins.insert(position, moved)
            self.state.origins = origins
        elif was_dragging and not is_dragging and self._is_draft:
            self._draw()

    def _rename_marker(self, old: str, new: str) -> None:
        """Call a marker by another name; it stays the same one, because somebody may be dragging it."""
        marker = self._markers.pop(old, None)
        if marker is not None:
            marker.title = marker.alt = new
            self._markers[new] = marker
        if self._pressed == old:
            self._pressed = new

    def remove_origin(self, name: Any) -> None:
        """
        Take an origin away.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        origins = list(self.state.origins)
        del origins[find(origins, name)]
        self.state.origins = origins

    def _on_remove(self, name: Any) -> None:
        """Take away the origin whose button was pressed, or say why not: it may be gone already."""
        with self._errors_told():
            self.remove_origin(name)

    def fit(self) -> None:
        """Move and zoom the map so that all areas are in sight."""
        west, south, east, north = self._window()
        box = _worth_seeing(self._areas, self.state.origins, self.network)
        wide_px = (east - west) / 360.0 * 256.0 * 2.0**self.map.zoom
        high_px = (north - south) * 111_320.0 / self._pixel_m(self.map.zoom, (west, south, east, north))
        zoom = browser.zoom_for(box, 0.85 * wide_px, 0.85 * high_px)
        # At once: a move alone takes the browser a while, and a zoom meanwhile would end it half way.
        with self.map.hold_sync():
            self.map.center = ((box[1] + box[3]) / 2.0, (box[0] + box[2]) / 2.0)
            self.map.zoom = zoom

    def cancel(self) -> None:
        """Stop slow work; what is on the map stays."""
        self._shape_jobs.cancel()

    def _on_state(self, change: Any) -> None:
        if change["name"] == "origins":
            self._place_markers()
            self._clear_probe()
        self._draw(only_new=True)

    def _draw(self, *, at_once: bool = False, only_new: bool = False) -> None:
        """Ask for the shapes of the state and show them when they come."""
        try:
            query = self.state.query()
        except (TravelTimeError, TypeError, ValueError) as error:
            self._shape_jobs.forget()  # what is being answered is no longer asked, and would hide the error
            self._on_no_answer(error)
            return
        if not query.origins:
            self._shape_jobs.forget()
            self._asked = query
            self.panel.show_progress(None)
            self._show(query, answers.no_areas(query.measure))
            return
        if only_new and query == self._asked and not self._is_draft:
            return  # values that do not matter now, such as the traffic of those on foot
        self._asked = query
        # A draft has its own cells to prepare, so it pays only where the real thing is slow.
        if self._is_dragging and self._full_s > _SLOW_DRAG_S:
            query = query.draft()
            self._is_draft = True
        else:
            self._is_draft = False
        self._shape_jobs.submit(
            lambda job: self._answer(query, job),
            lambda drawn: self._on_shapes(query, drawn),
            self._on_no_answer,
            at_once=at_once,
        )
        self._watch(self._shape_jobs.running)

    def _answer(self, query: Query, job: Job) -> gpd.GeoDataFrame:
        """Return the shapes of a question, noting how long they took."""
        drawn = answers.areas(self.network, query, step=job.step)
        if not self._is_dragging or query.draft() == query:
            self._full_s = time.perf_counter() - job.started
        return drawn

    def _watch(self, job: Job | None) -> None:
        """Show the progress of a job once it turns out to be slow."""
        if job is None:
            return
        loop = asyncio.get_running_loop()

        def look() -> None:
            running = self._shape_jobs.running
            self.panel.show_progress(running)
            if running is not None:
                loop.call_later(0.2, look)

        loop.call_later(_SLOW_S, look)

    def _on_shapes(self, query: Query, drawn: gpd.GeoDataFrame) -> None:
        if self._shape_jobs.running is None:
            self.panel.show_progress(None)
        self._show(query, drawn)
        if self._probed is not None:
            self.ask(*self._probed)  # what is told about a place follows the clock, too

    def _on_no_answer(self, error: BaseException) -> None:
        """Keep, and say, why there is no answer; what is on the map stays, but is not handed out as the answer."""
        self._asked = None
        if not isinstance(error, Cancelled):
            self._failure = error
        self._on_failure(error)

    def _on_failure(self, error: BaseException) -> None:
        """Say what went wrong beside the map, never in a log that nobody sees."""
        self.panel.show_progress(self._shape_jobs.running)
        if isinstance(error, Cancelled):
            self._tell("Cancelled; the map shows the answer before.")
            return
        if not isinstance(error, TravelTimeError):
            logger.error("widget failure", exc_info=error)
        self._tell(str(error) if isinstance(error, TravelTimeError) else f"{type(error).__name__}: {error}")

    def _tell(self, text: str) -> None:
        """Show a sentence beside the map, or take it away."""
        self._error = text
        self.panel.show_error(text)

    def _on_move(self, _change: Any) -> None:
        """Wait until the window has stopped moving, then see to the base map."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._draw_base()
            return
        if self._settling is not None:
            self._settling.cancel()
        self._settling = loop.call_later(_SETTLE_S, self._draw_base)

    def _on_map_event(self, **event: Any) -> None:
        kind = event.get("type")
        if kind not in ("click", "mousemove"):
            return
        lat, lng = event["coordinates"]
        if kind == "click" and self.panel.click_adds:
            with self._errors_told():
                self.add_origin(lng, lat)
        elif self._pressed is None and (kind == "click" or self.panel.hover_asks):
            self.ask(lng, lat)

    def ask(self, lng: float, lat: float) -> None:
        """Tell travel time and route between the origins and a point, as pointing at it does."""
        query = self._drawn_question
        if query is None or not query.origins:
            return
        self._probed = lng, lat
        network = self.network
        self._probe_jobs.submit(
            lambda _: answers.probe(network, query, lng, lat),
            lambda found: self._show_probe(query, found),
            self._on_failure,
        )

    def _show_probe(self, query: Query, found: gpd.GeoDataFrame) -> None:
        """Show travel times in words and the routes as lines."""
        self._route.locations = [
            [[round(y, 6), round(x, 6)] for x, y in line.coords] for line in found.geometry if not line.is_empty
        ]
        self._note.value = browser.probe_html(query, found)

    def _clear_probe(self) -> None:
        self._probed = None
        if self._route.locations:
            self._route.locations = []
        self._note.value = ""

    @property
    def areas(self) -> gpd.GeoDataFrame:
        """
        The shapes of the state, once the latest are there; no rows where there is no origin.

        Raises
        ------
        TravelTimeError
            What is told beside the map, where the state cannot be answered.
        """
        self._catch_up()
        if self._failure is not None:
            # A fresh trace each time, not one that grows with every look.
            raise self._failure.with_traceback(None)
        return self._areas

    @property
    def error(self) -> str:
        """What is told beside the map, once the latest answer is there."""
        self._catch_up()
        return self._error

    def _catch_up(self) -> None:
        """Answer here and now what is being answered: a cell that sets a value and reads the answer expects both."""
        if self._shape_jobs.running is not None:
            self._draw(at_once=True)

    # What one takes away ---------------------------------------------------------------------------------------------

    def _answered(self) -> gpd.GeoDataFrame:
        """Return the shapes of the state, computed anew where the map shows a draft or something older."""
        self._catch_up()
        query = self.state.query()
        if not query.origins or query != self._drawn_question or self._failure is not None:
            return answers.areas(self.network, query)
        return self._areas

    def _export(self, kind: str) -> None:
        """Do what an export button says and tell where the result is."""
        with self._errors_told():
            if kind == "code":
                self.panel.show_code(self.code())
                return
            path = getattr(self, f"to_{kind}")()
            self.panel.show_export(f"Saved <code>{escape(str(path))}</code>")

    @contextlib.contextmanager
    def _errors_told(self) -> Iterator[None]:
        try:
            yield
        except (TravelTimeError, OSError) as error:
            self._on_failure(error)


def _worth_seeing(
    drawn: gpd.GeoDataFrame, origins: list[Origin], network: Network
) -> tuple[float, float, float, float]:
    """Return west, south, east, north around shapes and their origins; around the network if there is no shape."""
    shown = drawn[~drawn.geometry.is_empty]
    if not len(shown):
        return network.bounds
    west, south, east, north = network.bounds
    inside = [o for o in origins if west <= o.lng <= east and south <= o.lat <= north]
    lng = [*shown.total_bounds[[0, 2]], *(origin.lng for origin in inside)]
    lat = [*shown.total_bounds[[1, 3]], *(origin.lat for origin in inside)]
    return float(min(lng)), float(min(lat)), float(max(lng)), float(max(lat))


def _tile_layer(base_map: Any) -> Any:
    """Return a layer of tiles from whatever describes one."""
    if isinstance(base_map, ipyleaflet.TileLayer):
        return base_map
    if isinstance(base_map, str) and "{z}" in base_map:
        return ipyleaflet.TileLayer(url=base_map)
    if isinstance(base_map, dict) and "url" in base_map:
        return ipyleaflet.basemap_to_tiles(base_map)
    raise InputError(
        f"base_map must be 'network', 'none' or tiles; got {base_map!r}. Tiles are an entry of ipyleaflet.basemaps, "
        "such as base_map=ipyleaflet.basemaps.OpenStreetMap.Mapnik, an address, such as "
        "base_map='https://tile.openstreetmap.org/{z}/{x}/{y}.png', or an ipyleaflet.TileLayer"
    )
