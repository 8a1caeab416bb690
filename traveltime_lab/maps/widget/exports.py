"""
Exports of a map: Python code, files of the areas, an image, and a web page.
"""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traveltime_lab._files import as_path, geojson, geoparquet, writable, write_bytes
from traveltime_lab.errors import InputError, MissingFileError
from traveltime_lab.maps.widget import answers, browser
from traveltime_lab.search.receipts.record import KEY
from traveltime_lab.search.replay.receipt import receipt

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.maps.widget.layers import Layer
    from traveltime_lab.maps.widget.state import MapState, Query
    from traveltime_lab.network.network import Network


class Exports:
    """Export methods of `TravelTimeMap`, which work without a browser."""

    network: Network
    state: MapState
    _folder: Path
    #: Layers of own data by name, with their parts of the map.
    _own: dict[str, tuple[Layer, Any]]
    #: The control panel.
    panel: Any
    _areas: gpd.GeoDataFrame
    _drawn_question: Query | None
    _failure: BaseException | None
    _catch_up: Callable[[], None]
    #: Shows errors on the map instead of raising them.
    _errors_shown: Callable[[], AbstractContextManager[None]]

    @property
    def folder(self) -> Path:
        """Folder for exported files without a path."""
        return self._folder

    @folder.setter
    def folder(self, path: str | Path) -> None:
        self._folder = as_path(path, "folder")

    def code(self) -> str:
        """
        Return Python code that computes the areas on the map.

        Raises
        ------
        TravelTimeError
            If there is no origin or the state is invalid, so that the code would fail.
        """
        self._answered()
        return answers.code_of(self.state.query())

    def to_cell(self) -> None:
        """Insert the code of the map into a new notebook cell below."""
        find_shell = getattr(builtins, "get_ipython", None)
        if find_shell is None:
            raise InputError("to_cell() works in a notebook only; use code() to get the text.")
        find_shell().set_next_input(self.code())

    def to_geojson(self, path: str | Path | None = None) -> Path:
        """
        Write the areas on the map as GeoJSON in full precision and return the path of the file.

        Names are written as they are, also those that a spreadsheet program takes for formulas (``=``, ``+``, ``-``,
        ``@``).

        Parameters
        ----------
        path : path-like, optional
            File to write; an existing file is replaced. By default a new file in the folder of the map.

        Raises
        ------
        MissingFileError
            If the folder does not exist.
        InputError
            If the path is a folder, a device, a pipe or a socket, or there are no areas.
        FileAccessError
            If the file cannot be written, as on a full disk.
        """
        return self._written(path, ".geojson", self._geojson)

    def to_parquet(self, path: str | Path | None = None) -> Path:
        """Write the areas on the map as GeoParquet and return the path of the file; see `to_geojson`."""
        return self._written(path, ".parquet", lambda: geoparquet(self._with_receipt()))

    def to_png(self, path: str | Path | None = None) -> Path:
        """Write a PNG image, drawn by `traveltime_lab.plot`, and return the path of the file; see `to_geojson`."""
        from traveltime_lab.maps import plot  # noqa: PLC0415 - needs matplotlib

        def drawn() -> bytes:
            buffer = io.BytesIO()
            origins = answers.table_of(tuple(self.state.origins))
            plot.save(buffer, self.network, self._answered(), origins, file_format="png")
            return buffer.getvalue()

        return self._written(path, ".png", drawn)

    def to_html(self, path: str | Path | None = None) -> Path:
        """
        Write the map as a web page and return the path of the file; see `to_geojson`.

        The page is one file that works without internet and without Python: it has the areas, the origins, the layers
        of own data and the streets of the network, and shows within what limit a point is reached.
        """
        from traveltime_lab.maps.widget import exported  # noqa: PLC0415 - with Leaflet, for this export only

        def drawn() -> bytes:
            areas = self._answered()
            query = self.state.query()
            layers = [layer for layer, _ in self._own.values()]
            box = browser.worth_seeing(areas, self.state.origins, self.network)
            return exported.page(self.network, query, areas, layers, box).encode()

        return self._written(path, ".html", drawn)

    def _answered(self) -> gpd.GeoDataFrame:
        """Return the areas of the current state; compute them if the map shows a draft or an older state."""
        self._catch_up()
        query = self.state.query()
        if not query.origins or query != self._drawn_question or self._failure is not None:
            return answers.areas(self.network, query)
        return self._areas

    def _stem(self) -> str:
        """Return the beginning of the names of files without a path."""
        return f"areas-{self.state.transportation.replace('+', '-')}"

    def _with_receipt(self) -> gpd.GeoDataFrame:
        """Return the areas with a receipt."""
        return answers.with_receipt(self.network, self.state.query(), self._answered())

    def _geojson(self) -> bytes:
        """Return the areas as GeoJSON with a receipt."""
        table = self._with_receipt()
        return geojson(table, "areas", **{KEY: receipt(table)})

    def _export(self, kind: str) -> None:
        """Run an export and show the path of its file."""
        with self._errors_shown():
            if kind == "code":
                self.panel.show_code(self.code())
                return
            path = getattr(self, f"to_{kind}")()
            self.panel.show_export(f"Saved <code>{escape(str(path))}</code>")

    def _written(self, path: str | Path | None, suffix: str, content: Callable[[], bytes]) -> Path:
        """Write a file, by default a new one in the folder of the map, and return its path."""
        if path is None:
            folder = self.folder
            if not folder.is_dir():
                raise MissingFileError(f"The folder {folder} does not exist; create it or set the folder of the map.")
            path = _free_path(folder, self._stem(), suffix)
        options = {"what": "the areas", "example": f"areas{suffix}"}
        writable(path, **options)
        write_bytes(path, content(), **options)
        return Path(path)


def _free_path(folder: Path, stem: str, suffix: str) -> Path:
    """Return the path of a file that does not exist yet."""
    path, number = folder / f"{stem}{suffix}", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}{suffix}", number + 1
    return path
