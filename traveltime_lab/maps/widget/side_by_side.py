"""
`SideBySideMap`: two maps beside each other, of two networks, with the same origins, options and window.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import geopandas as gpd
import ipywidgets
import pandas as pd

from traveltime_lab.errors import InputError
from traveltime_lab.maps.widget.answers import code_of
from traveltime_lab.maps.widget.controls import FONT, column, row, signed
from traveltime_lab.maps.widget.panel import Panel
from traveltime_lab.maps.widget.state import OPTION_NAMES, MapState, value_names
from traveltime_lab.maps.widget.values import refuse_unknown
from traveltime_lab.maps.widget.view import TravelTimeMap
from traveltime_lab.network.network import Network
from traveltime_lab.search.compare import compare

#: Values of the state that are also attributes of the widget.
_VALUES = tuple(dict.fromkeys((*OPTION_NAMES, *value_names())))


@signed
class SideBySideMap(ipywidgets.VBox):
    """
    Two interactive maps beside each other, such as of a network before and after changes.

    Both maps have the same origins, options and window: moving an origin or a map moves the other one, too, and the
    controls are those of both. Pointing at a place shows how long it takes in both networks.

    Parameters
    ----------
    network : Network
        Network of the first map.
    network_after : Network
        Network of the second map, such as the result of `Network.with_changes`.
    origins : GeoDataFrame, GeoSeries, Point, (lng, lat), or a list of points or pairs, optional
        As in `TravelTimeMap`.
    titles : tuple of str, default ("before", "after")
        Titles above the maps. Names of exported files end with them.
    base_map, height, folder, **values
        As in `TravelTimeMap`.

    Attributes
    ----------
    titles : tuple of str
    before, after : TravelTimeMap
        The two maps. Layers of own data are added to each by its own `TravelTimeMap.add_layer`.
    state : MapState
        State of both maps; its values are also attributes of this one.
    changes : GeoDataFrame
        Gains and losses between the two, see `compare`. Waits for running searches.

    Raises
    ------
    InputError
        If a keyword or an attribute is unknown or a value is invalid.
    MissingDependencyError
        If ipyleaflet is not installed.

    See Also
    --------
    side_by_side : The same as a picture.
    compare : Gains and losses between two results.

    Examples
    --------
    >>> network, places = tl.sample_network(), tl.sample_points()
    >>> closed = places.to_crs(network.crs).buffer(200).iloc[[0]]
    >>> scenario = network.with_changes(
    ...     tl.CloseStreets(closed, modes="driving")
    ... )
    >>> both = tl.SideBySideMap(
    ...     network,
    ...     scenario,
    ...     places.iloc[[1]],
    ...     travel_time=600,
    ...     transportation="driving",
    ... )
    >>> both.travel_time = 300
    >>> bool(
    ...     (both.changes.query("change == 'gained'")["increase"] > 0).any()
    ... )
    False
    """

    def __init__(
        self,
        network: Network,
        network_after: Network,
        origins: Any = None,
        *,
        titles: tuple[str, str] = ("before", "after"),
        base_map: Any = "network",
        height: int = 520,
        folder: str | Path = ".",
        **values: Any,
    ) -> None:
        for given, name in ((network, "network"), (network_after, "network_after")):
            if not isinstance(given, Network):
                raise InputError(f"{name} must be a Network; got {type(given).__name__}")
        self.titles = _two_texts(titles)
        options: dict[str, Any] = {"base_map": base_map, "height": height, "folder": folder}
        self.before = _Half(network, origins, title=self.titles[0], first=None, **options, **values)
        self.after = _Half(network_after, None, title=self.titles[1], first=self.before, **options)
        maps = []
        for half, title in zip((self.before, self.after), self.titles, strict=True):
            heading = ipywidgets.HTML(f"<div style='font:600 14px/1.6 {FONT};color:#222'>{escape(title)}</div>")
            # A half is a map with its note, without controls of its own.
            half.children = half.children[0].children[:1]
            maps.append(column([heading, half], flex="1 1 300px", min_width="0", padding="0 6px 0 0"))
        for name in ("center", "zoom"):
            ipywidgets.jslink((self.before.map, name), (self.after.map, name))
        pair = row(maps, flex="1000 1 610px", min_width="0", flex_flow="row wrap")
        both = row([pair, self.before.panel.box], flex_flow="row wrap")
        pair.layout.align_items = both.layout.align_items = "flex-start"
        super().__init__([both], layout=ipywidgets.Layout(width="100%", overflow="visible"))
        self.before.fit()
        self._is_made = True

    @property
    def state(self) -> MapState:
        """State of both maps."""
        return self.before.state

    @property
    def changes(self) -> gpd.GeoDataFrame:
        """
        Gains and losses, a row each for each area, by origin; waits for running searches.

        Raises
        ------
        TravelTimeError
            The error that a map displays, if its search failed.
        """
        return compare(*(half.areas.set_index("origin") for half in (self.before, self.after)))

    def __getattr__(self, name: str) -> Any:
        """Return a value of the state."""
        if name in _VALUES and "before" in self.__dict__:
            return getattr(self.before, name)
        raise AttributeError(f"SideBySideMap has no attribute {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a value of the state; raise an error for names that are unknown or read-only."""
        if self.__dict__.get("_is_made") and not name.startswith("_") and not hasattr(ipywidgets.VBox, name):
            if name in ("titles", "before", "after", "state", "changes"):
                raise InputError(f"{name} cannot be set; create another SideBySideMap, or set the values of state")
            refuse_unknown([name], _VALUES, "SideBySideMap")
            setattr(self.before, name, value)
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        """Return the names of attributes, including the values of the state."""
        return sorted({*super().__dir__(), *_VALUES})

    def code(self) -> str:
        """
        Return Python code that computes the areas on both maps, from ``network`` and ``network_after``.

        Raises
        ------
        TravelTimeError
            If there is no origin or the state is invalid, so that the code would fail.
        """
        return self.before.code()


class _Half(TravelTimeMap):
    """One of two maps that share origins, options, controls and window."""

    def __init__(self, network: Network, origins: Any, *, title: str, first: _Half | None, **values: Any) -> None:
        # `TravelTimeMap` requests state and controls in its constructor, when it has no attributes of its own yet.
        self._title = title
        self._halves = [self] if first is None else [first, self]
        super().__init__(network, origins, **values)
        if first is not None:
            first._halves.append(self)
            # A pin keeps the name that it was given, whichever map it is moved in.
            self._given, self._unnamed = first._given, first._unnamed

    def _make_state(self, origins: Any, values: dict[str, Any]) -> MapState:
        first = self._halves[0]
        return super()._make_state(origins, values) if first is self else first.state

    def _make_panel(self) -> Panel:
        first = self._halves[0]
        return super()._make_panel() if first is self else first.panel

    def _areas_in_sight(self) -> gpd.GeoDataFrame:
        tables = [half._areas for half in self._halves if len(half._areas)]
        return pd.concat(tables) if tables else self._areas

    def fit(self) -> None:
        """Fit both maps to the areas of both."""
        super().fit()
        for half in self._halves:
            with half.map.hold_sync():
                half.map.center, half.map.zoom = self.map.center, self.map.zoom
            half._fitted = self._fitted

    def _switch_day(self) -> None:
        for half in self._halves:
            half._follow_day()

    def _draw_day(self) -> None:
        # The other curve has the same scale.
        for half in self._halves:
            TravelTimeMap._draw_day(half)

    def _day_top(self) -> float:
        return max(TravelTimeMap._day_top(half) for half in self._halves)

    def ask(self, lng: Any, lat: float | None = None) -> None:
        """Show travel times and routes between the origins and a point on both maps; see `TravelTimeMap.ask`."""
        for half in self._halves:
            TravelTimeMap.ask(half, lng, lat)

    def code(self) -> str:
        """Return Python code that computes the areas on both maps."""
        self._answered()
        return code_of(self.state.query(), is_compared=True)

    def _stem(self) -> str:
        kept = "".join(letter if letter.isalnum() else "-" for letter in self._title)
        return f"{super()._stem()}-{kept}"

    def _export(self, kind: str) -> None:
        """Show the code of both maps, or write a file for each and show their paths."""
        if kind == "code":
            super()._export(kind)
            return
        with self._errors_shown():
            paths = [getattr(half, f"to_{kind}")() for half in self._halves]
            saved = " and ".join(f"<code>{escape(str(path))}</code>" for path in paths)
            self.panel.show_export(f"Saved {saved}")


def _two_texts(titles: Sequence[str]) -> tuple[str, str]:
    """Return two different titles."""
    is_pair = isinstance(titles, tuple | list) and len(titles) == 2 and all(isinstance(each, str) for each in titles)
    if not is_pair or titles[0] == titles[1]:
        raise InputError(f"titles must be two different texts, such as ('before', 'after'); got {titles!r}")
    return titles[0], titles[1]
