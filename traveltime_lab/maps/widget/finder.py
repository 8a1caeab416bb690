"""
The address box: a text field, and buttons for the places that match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import ipywidgets

from traveltime_lab.maps.widget.controls import FONT, column, labelled


class Found(NamedTuple):
    """A place with its label in the address box and its name as an origin."""

    label: str
    name: str
    lng: float
    lat: float


class Finder:
    """
    The address box.

    Parameters
    ----------
    on_text : callable
        Called with the text when it has been entered.
    on_pick : callable
        Called with a `Found` when its button is pressed.

    Attributes
    ----------
    box : ipywidgets.VBox
    """

    def __init__(self, on_text: Callable[[str], None], on_pick: Callable[[Found], None]) -> None:
        self._on_text, self._on_pick = on_text, on_pick
        # A text is sent when it is entered, not letter by letter.
        self._text = ipywidgets.Text(placeholder="Address or place", continuous_update=False)
        self._text.add_class("traveltime-find")
        self._text.observe(self._on_value, "value")
        self._places = column([])
        self.box = column([labelled("Find", self._text), self._places])

    def _on_value(self, change: Any) -> None:
        self._show([])
        if change["new"].strip():
            self._on_text(change["new"])

    def offer(self, text: str, found: Sequence[Found]) -> None:
        """Show a button for each place; a sentence if there is none."""
        if text != self._text.value:
            return  # another text has been entered in the meantime
        if not found:
            words = f"<span style='font:12px {FONT};color:#666'>Nothing is called {escape(repr(text))} here.</span>"
            self._show([ipywidgets.HTML(words)])
            return
        buttons = []
        for place in found:
            button = ipywidgets.Button(
                description=place.label, tooltip=place.label, icon="map-marker",
                layout=ipywidgets.Layout(width="auto", margin="1px 2px 1px 82px"),
            )  # fmt: skip
            button.on_click(lambda _, place=place: self._picked(place))
            buttons.append(button)
        self._show(buttons)

    def _picked(self, place: Found) -> None:
        self._text.value = ""
        self._on_pick(place)

    def _show(self, widgets: list[Any]) -> None:
        """Show widgets below the text, and close those before."""
        old, self._places.children = self._places.children, widgets
        for widget in old:
            for part in (widget.style, widget.layout, widget):
                part.close()
