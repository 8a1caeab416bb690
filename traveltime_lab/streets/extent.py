"""
The extent of an extract: where its streets are complete.

An extract has all streets at the places inside of its extent. Beyond it, it has the rest of the streets that cross its
border, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import shapely

from traveltime_lab._arrays import BoolArray, FloatArray
from traveltime_lab.crs import LocalFrame

Bounds = tuple[float, float, float, float]
_SOURCES: Final = {
    "bounds": "the bounds that they were cut to",
    "file": "the bounding box in the header of their file",
    "ways": "where their ways are cut",
}


@dataclass(frozen=True)
class Extent:
    """
    A bounding box and, if the extract was cut along a polygon that is known, this polygon.

    Attributes
    ----------
    source : str
        ``"bounds"`` if it was given when the network was built, ``"file"`` if it is the bounding box in the header of
        the file, ``"ways"`` if only the ways that are cut show where the extract ends.
    box : tuple of float, optional
        West, south, east, north in EPSG:4326; west is greater than east across the 180th meridian. None for ``"ways"``.
    shape : Polygon or MultiPolygon, optional
        In EPSG:4326.
    """

    source: str
    box: Bounds | None = None
    shape: Any = None

    @property
    def in_words(self) -> str:
        """How the border is known."""
        return _SOURCES.get(self.source, self.source)

    def contains(self, lng: FloatArray, lat: FloatArray) -> BoolArray:
        """Return whether points are in the extent or on its border."""
        if self.box is None:
            return np.ones(lng.shape, np.bool_)
        west, south, east, north = self.box
        is_east, is_west = lng >= west, lng <= east
        inside: BoolArray = (is_east & is_west if west <= east else is_east | is_west) & (lat >= south) & (lat <= north)
        if self.shape is not None:
            rows = np.flatnonzero(inside)
            inside[rows] = shapely.intersects_xy(self.shape, lng[rows], lat[rows])
        return inside

    def gap_m(self, lng: FloatArray, lat: FloatArray, frame: LocalFrame, within_m: float) -> FloatArray:
        """
        Return how far points are from the border.

        Parameters
        ----------
        lng, lat : float64 arrays of shape (n,)
            EPSG:4326.
        frame : LocalFrame
            Local metres of the network.
        within_m : float
            Distances above this one may be returned as inf.

        Returns
        -------
        float64 array of shape (n,), m
            0 for points beyond the border; inf without a box.
        """
        gap = np.full(lng.shape, np.inf)
        if self.box is None:
            return gap
        west, south, east, north = self.box
        x, y = frame.to_xy(lng, lat)
        (x_west, x_east), (y_south, y_north) = frame.to_xy(np.array([west, east]), np.array([south, north]))
        shrink = frame.shrink(y)
        gap = np.minimum(np.minimum(x - x_west, x_east - x) * shrink, np.minimum(y - y_south, y_north - y))
        if self.shape is not None:
            near = np.flatnonzero(gap > 0.0)
            near = near[~self._core(frame, within_m, x[near], y[near])]
            lines = shapely.transform(self.shape, lambda at: np.column_stack(frame.to_xy(at[:, 0], at[:, 1]))).boundary
            shapely.prepare(lines)
            # East-west distances in local metres are too long where `shrink` is below 1.
            to_line = shapely.distance(shapely.points(x[near], y[near]), lines) * np.minimum(shrink[near], 1.0)
            gap[near] = np.where(self.contains(lng[near], lat[near]), np.minimum(gap[near], to_line), 0.0)
        found: FloatArray = np.maximum(gap, 0.0)
        return found

    def _core(self, frame: LocalFrame, margin_m: float, x: FloatArray, y: FloatArray) -> BoolArray:
        """Return which points are farther inside of the polygon than a margin, some of them at least."""
        if not np.isfinite(margin_m):
            return np.zeros(x.shape, np.bool_)
        shape = shapely.transform(self.shape, lambda at: np.column_stack(frame.to_xy(at[:, 0], at[:, 1])))
        core = shapely.buffer(shape, -1.05 * margin_m)
        shapely.prepare(core)
        found: BoolArray = shapely.contains_xy(core, x, y)
        return found

    def border(self, frame: LocalFrame, spacing_m: float) -> tuple[FloatArray, FloatArray]:
        """
        Return places on the border, at most a distance apart, and the directions to the inside there.

        Returns
        -------
        places, inwards : float64 arrays of shape (n, 2), m
            Local metres; directions have the length 1.
        """
        none = np.zeros((0, 2))
        if self.box is None:
            return none, none
        west, south, east, north = self.box
        (x_west, x_east), (y_south, y_north) = frame.to_xy(np.array([west, east]), np.array([south, north]))
        shape: Any = shapely.box(x_west, y_south, x_east, y_north)
        if self.shape is not None:
            own = shapely.transform(self.shape, lambda at: np.column_stack(frame.to_xy(at[:, 0], at[:, 1])))
            shape = shapely.intersection(shape, own)
        found = [(none, none)]
        for part in shapely.get_parts(shape):
            if not isinstance(part, shapely.Polygon):
                continue
            # The inside is on the left of all rings then.
            turned = shapely.geometry.polygon.orient(part)
            for ring in (turned.exterior, *turned.interiors):
                line = shapely.get_coordinates(shapely.segmentize(ring, spacing_m))
                steps = np.diff(line, axis=0)
                length = np.hypot(steps[:, 0], steps[:, 1])
                some = length > 0.0
                left = np.column_stack([-steps[some, 1], steps[some, 0]]) / length[some, None]
                found.append(((line[:-1] + steps / 2.0)[some], left))
        places, inwards = (np.concatenate(part) for part in zip(*found, strict=True))
        return places, inwards

    def to_json(self) -> dict[str, Any]:
        """Return the extent as values of JSON."""
        shape = None if self.shape is None else shapely.to_wkb(self.shape, hex=True)
        return {"source": self.source, "box": None if self.box is None else list(self.box), "polygon": shape}

    @classmethod
    def from_json(cls, values: Any) -> Extent:
        """Return an extent from the result of `to_json`; raise an error if it is none."""
        box = values["box"]
        if box is not None:
            west, south, east, north = (float(value) for value in box)
            box = west, south, east, north
            if not (np.isfinite(box).all() and south <= north):
                msg = f"the extent {box} is no bounding box"
                raise ValueError(msg)
        try:
            shape = None if values["polygon"] is None else shapely.from_wkb(values["polygon"])
        except shapely.errors.ShapelyError as error:
            msg = f"the extent is no polygon ({error})"
            raise ValueError(msg) from error
        if shape is not None and not (isinstance(shape, shapely.Polygon | shapely.MultiPolygon) and shape.is_valid):
            msg = "the extent is no polygon"
            raise ValueError(msg)
        if shape is not None:
            shapely.prepare(shape)
        return cls(str(values["source"]), box, shape)
