"""
Parts of the control panel: rows with labels, and the status that lies over the map.
"""

from __future__ import annotations

import inspect
from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeVar

import ipywidgets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from traveltime_lab.maps.widget.jobs import Job

_W = TypeVar("_W")

FONT: Final = "system-ui,sans-serif"


def signed(widget: type[_W]) -> type[_W]:
    """Give a class of widgets the signature of its constructor, in place of that of all widgets."""
    parameters = list(inspect.signature(widget.__init__).parameters.values())[1:]
    # The stubs of classes lack this attribute.
    described: Any = widget
    described.__signature__ = inspect.Signature(parameters)
    return widget


def row(controls: list[Any], **options: Any) -> Any:
    """Return controls beside each other, without the scrollbars that boxes of ipywidgets have by default."""
    return ipywidgets.HBox(
        controls, layout=ipywidgets.Layout(width="100%", align_items="center", overflow="visible", **options)
    )


def column(controls: list[Any], **options: Any) -> Any:
    """Return controls below each other, without the scrollbars that boxes of ipywidgets have by default."""
    return ipywidgets.VBox(controls, layout=ipywidgets.Layout(**{"overflow": "visible", **options}))


def labelled(text: str, control: Any, *, is_long: bool = False) -> Any:
    """Return a control with a label before it; a long label leaves room for a number."""
    label = ipywidgets.HTML(f"<div style='font:12px/1.3 {FONT};color:#444'>{text}</div>")
    if is_long:
        label.layout.flex, label.layout.min_width = "1 1 auto", "0"
        control.layout.flex, control.layout.width = "0 0 auto", "84px"
        return row([label, control])
    label.layout.flex, label.layout.width = "0 0 auto", "76px"
    control.layout.flex, control.layout.width, control.layout.min_width = "1 1 auto", "auto", "0"
    return row([label, control])


def ladder(values: Sequence[int], in_words: Callable[[float], str]) -> Any:
    """Return a slider over values that are shown in words."""
    slider = ipywidgets.SelectionSlider(options=[(in_words(value), value) for value in values])
    slider.in_words = in_words
    return slider


def number_of_polygons(value: Any) -> int:
    """Return the number of a polygons_filter, 0 if there is none."""
    return int((value.get("limit") if isinstance(value, dict) else value) or 0)


def with_entry(entries: dict[str, Any], name: str, value: Any, usual: Any) -> dict[str, Any]:
    """Return a mapping with an entry set, or removed if it has its default."""
    others = {key: entry for key, entry in entries.items() if key != name}
    return others if value == usual else {**others, name: value}


def show(control: Any, is_shown: bool) -> None:
    """Show or hide a control."""
    display = None if is_shown else "none"
    if control.layout.display != display:
        control.layout.display = display


class Status:
    """
    Messages and the progress of searches, over the map: beside it, they would move the controls.

    Attributes
    ----------
    box : ipywidgets.VBox
    """

    def __init__(self, on_cancel: Callable[[], None]) -> None:
        self._error = ipywidgets.HTML(layout=ipywidgets.Layout(margin="0"))
        self._bar = ipywidgets.IntProgress(min=0, max=1, layout=ipywidgets.Layout(flex="1 1 auto", width="auto"))
        stop = ipywidgets.Button(description="Cancel", layout=ipywidgets.Layout(width="76px", flex="0 0 auto"))
        stop.on_click(lambda _: on_cancel())
        self._progress = row([self._bar, stop], display="none")
        self.box = column([self._error, self._progress], max_width="420px")

    def show_error(self, text: str) -> None:
        """Show an error message; hide it if the text is empty."""
        value = ""
        if text:
            value = (
                f"<div role='alert' style='font:13px/1.4 {FONT};color:#7a1c10;background:#fdecea;"
                f"border-left:3px solid #d7301f;padding:6px 8px;white-space:normal'>{escape(text)}</div>"
            )
        if self._error.value != value:
            self._error.value = value

    def show_progress(self, job: Job | None) -> None:
        """Show the progress of a job; hide the progress bar for None."""
        show(self._progress, job is not None)
        if job is not None:
            self._bar.max, self._bar.value = max(job.total, 1), job.done
