"""
What one takes away from a map: its code, its shapes as files, its picture.
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
    """The part of `TravelTimeMap` that writes things down; it needs no browser."""

    network: Network
    state: MapState
    _folder: Path

    @property
    def folder(self) -> Path:
        """Where exports go that are not told where."""
        return self._folder

    @folder.setter
    def folder(self, path: str | Path) -> None:
        self._folder = Path(path)

    def _answered(self) -> gpd.GeoDataFrame:
        """Return the shapes of the state, or raise why there are none."""
        raise NotImplementedError

    def code(self) -> str:
        """
        Return Python code that computes what the map shows.

        Raises
        ------
        TravelTimeError
            If there is no origin, or the state cannot be answered, so that its code would fail.
        """
        self._answered()
        return answers.code_of(self.state.query())

    def to_cell(self) -> None:
        """Put the code of the map into a new cell below."""
        find_shell = getattr(builtins, "get_ipython", None)
        if find_shell is None:
            raise InputError("to_cell() works in a notebook only; code() returns the text.")
        find_shell().set_next_input(self.code())

    def to_geojson(self, path: str | Path | None = None) -> Path:
        """
        Write the shapes on the map as GeoJSON in full precision and return the file's path.

        Parameters
        ----------
        path : path-like, optional
            An existing file is replaced. By default a new file in the map's folder.

        Raises
        ------
        MissingFileError
            If the folder is not there.
        InputError
            If the path is a folder, or there is nothing to write.
        """
        target = self._target(path, ".geojson")
        self._answered().to_file(target, driver="GeoJSON")
        return target

    def to_parquet(self, path: str | Path | None = None) -> Path:
        """Write the shapes on the map as GeoParquet and return the file's path; for the path see `to_geojson`."""
        target = self._target(path, ".parquet")
        self._answered().to_parquet(target)
        return target

    def to_png(self, path: str | Path | None = None) -> Path:
        """Write a picture as `traveltime_lab.plot` draws it and return its path; for the path see `to_geojson`."""
        from traveltime_lab.maps import plot  # noqa: PLC0415 - needs matplotlib

        target = self._target(path, ".png")
        origins = answers.table_of(tuple(self.state.origins))
        plot.save(target, self.network, self._answered(), origins)
        return target

    def _target(self, path: str | Path | None, suffix: str) -> Path:
        """Return the path of a file to write, by default a new one in the map's folder."""
        if path is None:
            folder = self.folder
            if not folder.is_dir():
                raise MissingFileError(f"There is no folder {folder} to write to; set the map's folder.")
            return _free_path(folder, f"areas-{self.state.transportation.replace('+', '-')}", suffix)
        target = Path(path)
        if target.is_dir():
            raise InputError(f"cannot write to {target}: it is a folder; give a file name such as areas{suffix}")
        if not target.parent.is_dir():
            raise MissingFileError(f"cannot write to {target}: there is no folder {target.parent}; create it first")
        return target


def _free_path(folder: Path, stem: str, suffix: str) -> Path:
    """Return a file's path in a folder that does not exist yet."""
    path, number = folder / f"{stem}{suffix}", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}{suffix}", number + 1
    return path
