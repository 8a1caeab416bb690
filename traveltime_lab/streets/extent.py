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

from traveltime_lab._arrays import BoolArray, FloatArray, within_rows
from traveltime_lab.crs import LocalFrame, wrap_degrees

Bounds = tuple[float, float, float, float]
_SOURCES: Final = {
    "bounds": "the bounds that they were cut to",
    "file": "the bounding box in the header of their file",
    "ways": "where their ways are cut",
}
#: Degrees from the centre within which sides are kept: half a turn, and some more for points next to it.
_HALF_TURN: Final = 190.0
#: Metres by which a place on a side may be beyond it.
_ROUNDING_M: Final = 1e-6


def are_inside(box: Bounds, shape: Any, lng: FloatArray, lat: FloatArray) -> BoolArray:
    """
    Return which points are in a bounding box, and in a polygon if there is one, or on the border; NaN are not.

    The box is west, south, east, north; west is greater than east across the 180th meridian.
    """
    west, south, east, north = box
    is_east, is_west = lng >= west, lng <= east
    inside: BoolArray = (is_east & is_west if west <= east else is_east | is_west) & (lat >= south) & (lat <= north)
    if shape is not None:
        rows = np.flatnonzero(inside)
        inside[rows] = shapely.intersects_xy(shape, lng[rows], lat[rows])
    return inside


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
        if self.source == "file" and self.shape is not None:
            return "the bounding boxes in the headers of their files"
        return _SOURCES.get(self.source, self.source)

    def contains(self, lng: FloatArray, lat: FloatArray) -> BoolArray:
        """Return whether points are in the extent or on its border."""
        return np.ones(lng.shape, np.bool_) if self.box is None else are_inside(self.box, self.shape, lng, lat)

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


@dataclass(frozen=True)
class LocalBorder:
    """
    The border of an extent in the local metres of a network, ready to be measured from.

    Attributes
    ----------
    extent : Extent
        One with a box.
    frame : LocalFrame
    lines : STRtree, optional
        The sides of the polygon; None without one.
    """

    extent: Extent
    frame: LocalFrame
    lines: shapely.STRtree | None

    @classmethod
    def of(cls, extent: Extent, frame: LocalFrame) -> LocalBorder:
        """Prepare the border of an extent."""
        if extent.shape is None:
            return cls(extent, frame, None)
        sides = _in_metres(_ring_sides(extent.shape, frame), frame)
        lines = shapely.STRtree(shapely.linestrings(sides.reshape(-1, 2, 2)))
        lines.query(shapely.Point(0.0, 0.0))  # the tree is built at the first query, which threads must not share
        return cls(extent, frame, lines)

    def gap_m(self, lng: FloatArray, lat: FloatArray, within_m: float) -> FloatArray:
        """
        Return how far points are from the border.

        Parameters
        ----------
        lng, lat : float64 arrays of shape (n,)
            EPSG:4326.
        within_m : float
            Distances to the polygon above this one may be replaced by those to its bounding box.

        Returns
        -------
        float64 array of shape (n,), m
            0 for points beyond the border.
        """
        x, y = self.frame.to_xy(lng, lat)
        shrink = self.frame.shrink(y)
        gap = self._gap_to_box(lng, lat, shrink)
        near = np.flatnonzero(gap > 0.0)
        if self.lines is not None and near.size:
            # East-west distances in local metres are too long where `shrink` is below 1.
            less = np.minimum(shrink[near], 1.0)
            most = within_m / float(less.min())
            (of, _), metres = self.lines.query_nearest(
                shapely.points(x[near], y[near]), return_distance=True, all_matches=False,
                max_distance=max(most, 1.0) if np.isfinite(most) else None,
            )  # fmt: skip
            gap[near[of]] = np.minimum(gap[near[of]], metres * less[of])
            gap[near[~self.extent.contains(lng[near], lat[near])]] = 0.0
        found: FloatArray = np.maximum(gap, 0.0)
        return found

    def is_deeper(self, lng: FloatArray, lat: FloatArray, metres: FloatArray) -> BoolArray:
        """Return which points are certainly farther from the border than `metres`; a quick test, none of a polygon."""
        middle, width, south, north = _across(self.extent)
        if self.lines is not None or width >= 180.0 or max(-south, north) > 85.0 or not lng.size:
            return np.zeros(lng.size, np.bool_)
        # Half as much again, as degrees are not of the same length everywhere in the box.
        shrink = min(1.0, float(np.min(self.frame.shrink((np.array([south, north]) - self.frame.lat0)
                                                         * self.frame.metres_per_degree_lat))))  # fmt: skip
        lat_deg = 1.5 / self.frame.metres_per_degree_lat * metres
        lng_deg = lat_deg * (self.frame.metres_per_degree_lat / (self.frame.metres_per_degree_lng * shrink))
        inside: BoolArray = np.abs(lat - (south + north) / 2.0) < (north - south) / 2.0 - lat_deg
        inside &= np.abs(wrap_degrees(lng - middle)) < width / 2.0 - lng_deg
        return inside

    def _gap_to_box(self, lng: FloatArray, lat: FloatArray, shrink: FloatArray) -> FloatArray:
        """Return the metres to the nearest side of the box, less than 0 for points beyond it."""
        middle, width, south, north = _across(self.extent)
        gap: FloatArray = np.minimum(lat - south, north - lat) * self.frame.metres_per_degree_lat
        if width < 360.0:
            to_side = width / 2.0 - np.abs(wrap_degrees(lng - middle))
            gap = np.minimum(gap, to_side * self.frame.metres_per_degree_lng * shrink)
        return gap

    def places(self, spacing_m: float, window: Bounds) -> tuple[FloatArray, FloatArray]:
        """
        Return places on the border, at most a distance apart, and the directions to the inside there.

        Parameters
        ----------
        spacing_m : float
        window : tuple of float
            West, south, east, north in local metres; places beyond it are left out.

        Returns
        -------
        places, inwards : float64 arrays of shape (n, 2), m
            Local metres; directions have the length 1.
        """
        places, inwards = _spread(_in_metres(_box_sides(self.extent, self.frame), self.frame), spacing_m, window)
        if self.extent.shape is None:
            return places, inwards
        lng, lat = self.frame.to_lnglat(*places.T)
        is_in = shapely.intersects_xy(self.extent.shape, lng, lat)
        more, more_inwards = _spread(
            _in_metres(_ring_sides(self.extent.shape, self.frame), self.frame), spacing_m, window
        )
        lng, lat = self.frame.to_lnglat(*more.T)
        is_on = self._gap_to_box(lng, lat, self.frame.shrink(more[:, 1])) > -_ROUNDING_M
        return np.concatenate([places[is_in], more[is_on]]), np.concatenate([inwards[is_in], more_inwards[is_on]])


def _across(extent: Extent) -> tuple[float, float, float, float]:
    """Return the middle and the width of the box in degrees of longitude, and its southern and northern sides."""
    assert extent.box is not None
    west, south, east, north = extent.box
    width = east - west if west <= east else east + 360.0 - west
    return west + width / 2.0, width, south, north


def _box_sides(extent: Extent, frame: LocalFrame) -> FloatArray:
    """Return the sides of the box as `_ring_sides` does; one around the globe has neither a western nor an eastern."""
    middle, width, south, north = _across(extent)
    centre = float(wrap_degrees(np.array([middle - frame.lng0]))[0])
    west, east = centre - width / 2.0, centre + width / 2.0
    sides = [(west, south, east, south), (east, north, west, north)]
    if width < 360.0:
        sides += [(east, south, east, north), (west, north, west, south)]
    return _copies(np.array(sides) - [0.0, frame.lat0] * 2)


def _ring_sides(shape: Any, frame: LocalFrame) -> FloatArray:
    """
    Return the sides of a polygon, the inside on their left.

    Returns
    -------
    float64 array of shape (n_sides, 4), degrees
        x and y of both ends, from the centre of the frame.
    """
    sides = []
    for part in shapely.get_parts(shape):
        turned = shapely.geometry.polygon.orient(part)
        for ring in (turned.exterior, *turned.interiors):
            at = shapely.get_coordinates(ring) - [frame.lng0, frame.lat0]
            sides.append(np.column_stack([at[:-1], at[1:]]))
    return _copies(np.concatenate(sides))


def _copies(sides: FloatArray) -> FloatArray:
    """Return sides wherever they are within 180 degrees of the centre, going around the globe either way."""
    every = np.concatenate([sides + np.array([turn, 0.0, turn, 0.0]) for turn in (-360.0, 0.0, 360.0)])
    west, east = np.minimum(every[:, 0], every[:, 2]), np.maximum(every[:, 0], every[:, 2])
    near: FloatArray = every[(east >= -_HALF_TURN) & (west <= _HALF_TURN)]
    return near


def _in_metres(sides: FloatArray, frame: LocalFrame) -> FloatArray:
    metres: FloatArray = sides * np.array([frame.metres_per_degree_lng, frame.metres_per_degree_lat] * 2)
    return metres


def _spread(sides: FloatArray, spacing_m: float, window: Bounds) -> tuple[FloatArray, FloatArray]:
    """Return places on the parts of sides in a window, and the directions to the left there."""
    start, step = sides[:, :2], sides[:, 2:] - sides[:, :2]
    low, high = np.array(window[:2]), np.array(window[2:])
    moves = step != 0.0
    rate = np.where(moves, step, 1.0)
    begin, end = (low - start) / rate, (high - start) / rate
    is_in = (start >= low) & (start <= high)
    first = np.where(moves, np.minimum(begin, end), np.where(is_in, 0.0, 2.0)).max(axis=1).clip(0.0)
    last = np.where(moves, np.maximum(begin, end), 1.0).min(axis=1).clip(max=1.0)
    some = first < last
    start, step, first, last = start[some], step[some], first[some], last[some]
    length = np.hypot(step[:, 0], step[:, 1])
    counts = np.ceil((last - first) * length / spacing_m).astype(np.int64).clip(1)
    of = np.repeat(np.arange(counts.size), counts)
    share = first[of] + (within_rows(counts) + 0.5) / counts[of] * (last - first)[of]
    left = np.column_stack([-step[:, 1], step[:, 0]]) / length[:, None]
    return start[of] + share[:, None] * step[of], left[of]
