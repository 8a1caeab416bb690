"""
Exports of a map: Python code, files of the areas, and an image.
"""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import TYPE_CHECKING

from traveltime_lab.errors import InputError, MissingFileError
from traveltime_lab.maps.widget import answers

if TYPE_CHECKING:
    import geopandas as gpd

    from traveltime_lab.maps.widget.state import MapState
    from traveltime_lab.network.network import Network


class Exports:
    """Export methods of `TravelTimeMap`, which work without a browser."""

    network: Network
    state: MapState
    _folder: Path

    @property
    def folder(self) -> Path:
        """Folder for exported files without a path."""
        return self._folder

    @folder.setter
    def folder(self, path: str | Path) -> None:
        self._folder = Path(path)

    def _answered(self) -> gpd.GeoDataFrame:
        """Return the areas of the current state, or raise an error if there are none."""
        raise NotImplementedError

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

        Parameters
        ----------
        path : path-like, optional
            File to write; an existing file is replaced. By default a new file in the folder of the map.

        Raises
        ------
        MissingFileError
            If the folder does not exist.
        InputError
            If the path is a folder, or there are no areas.
        """
        target = self._target(path, ".geojson")
        self._answered().to_file(target, driver="GeoJSON")
        return target

    def to_parquet(self, path: str | Path | None = None) -> Path:
        """Write the areas on the map as GeoParquet and return the path of the file; see `to_geojson`."""
        target = self._target(path, ".parquet")
        self._answered().to_parquet(target)
        return target

    def to_png(self, path: str | Path | None = None) -> Path:
        """Write a PNG image, drawn by `traveltime_lab.plot`, and return the path of the file; see `to_geojson`."""
        from traveltime_lab.maps import plot  # noqa: PLC0415 - needs matplotlib

        target = self._target(path, ".png")
        origins = answers.table_of(tuple(self.state.origins))
        plot.save(target, self.network, self._answered(), origins)
        return target

    def _target(self, path: str | Path | None, suffix: str) -> Path:
        """Return the path of the file to write, by default a new file in the folder of the map."""
        if path is None:
            folder = self.folder
            if not folder.is_dir():
                raise MissingFileError(f"The folder {folder} does not exist; create it or set the folder of the map.")
            return _free_path(folder, f"areas-{self.state.transportation.replace('+', '-')}", suffix)
        target = Path(path)
        if target.is_dir():
            raise InputError(f"cannot write to {target}: it is a folder; give the path of a file such as areas{suffix}")
        if not target.parent.is_dir():
            raise MissingFileError(
                f"cannot write to {target}: the folder {target.parent} does not exist; create it first"
            )
        return target


def _free_path(folder: Path, stem: str, suffix: str) -> Path:
    """Return the path of a file that does not exist yet."""
    path, number = folder / f"{stem}{suffix}", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}{suffix}", number + 1
    return path
