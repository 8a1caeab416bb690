"""
Places of an OpenStreetMap file by their tags, as opportunities (`places`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from traveltime_lab._checks import items, one_of, words
from traveltime_lab._keywords import explained_keywords
from traveltime_lab.crs import WGS84
from traveltime_lab.errors import InputError
from traveltime_lab.network.network import Network
from traveltime_lab.readers.osm.features import Feature, Requested, read_features

#: Columns of the result that no tag may have.
_RESERVED: Final = ("osm_type", "osm_id", "geometry")


@explained_keywords
def places(
    osm: str | os.PathLike[str],
    tags: Mapping[str, str | Sequence[str] | Literal[True]],
    *,
    columns: Sequence[str] = (),
    geometry: Literal["points", "polygons"] = "points",
) -> gpd.GeoDataFrame:
    """
    Return the places of an OpenStreetMap file that have certain tags, such as hospitals, schools or districts.

    Parameters
    ----------
    osm : path-like
        File such as the one of `build_network`: ``.osm.pbf``, ``.osm``, ``.osm.gz`` or ``.osm.bz2``. Nothing is
        downloaded.
    tags : mapping
        Keys with a value, a list of values, or True for any value but ``"no"``. A place needs one of them.
    columns : sequence of str, default ()
        Further tags to return as columns, such as ``["operator", "capacity"]``.
    geometry : {"points", "polygons"}, default "points"
        ``"points"`` returns nodes, a point inside each area, and the middle of each line. ``"polygons"`` returns areas
        only, such as those of ``{"boundary": "administrative"}``.

    Returns
    -------
    GeoDataFrame
        One row per place: ``name`` (NA if it has none), a column for each key of `tags` and for each of `columns` (str,
        NA if the place has no such tag), ``osm_type`` (node, way or relation), ``osm_id`` (int64) and the geometry in
        EPSG:4326. Sorted by type and id; no rows if there are no such places.

    Raises
    ------
    MissingFileError
        If the file does not exist.
    DataError
        If the file is invalid, or has an object several times and it is unclear which one counts.
    InputError
        If `tags` is empty or malformed, or `osm` is not a path.

    See Also
    --------
    accessibility : Count the opportunities in reach, such as these places.
    geocode : Find places by name.

    Notes
    -----
    Areas are closed ways and the relations of type multipolygon and boundary. Those whose outline the file does not
    hold, as at the edge of an extract, are left out. A hospital that is mapped twice, as an area and as a node in it,
    is two places. An object that the file has several times, or deleted, is read as by `build_network`.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = '''<osm version="0.6">
    ...   <node id="1" lat="60.17" lon="24.94">
    ...     <tag k="amenity" v="clinic"/><tag k="name" v="Kallio"/>
    ...   </node>
    ...   <node id="2" lat="60.18" lon="24.94">
    ...     <tag k="amenity" v="cafe"/>
    ...   </node>
    ... </osm>'''
    >>> characters = Path("town.osm").write_text(text)
    >>> found = tl.places("town.osm", {"amenity": ["hospital", "clinic"]})
    >>> found[["name", "amenity", "osm_id"]]
         name amenity  osm_id
    0  Kallio  clinic       1
    """
    if isinstance(osm, Network):
        msg = "a network does not keep the tags of places; give places the OpenStreetMap file that it was built from"
        raise InputError(msg)
    requested = _requested(tags)
    more = [words(name, "each of columns") for name in items(columns, "columns", "keys of tags")]
    names = list(dict.fromkeys(["name", *requested, *more]))
    for name in names:
        if name in _RESERVED:
            msg = f"the result has a column {name!r} already; leave the tag out"
            raise InputError(msg)
    one_of(geometry, "geometry", ("points", "polygons"))
    found = read_features(osm, requested)
    if geometry == "polygons":
        found = [item for item in found if isinstance(item.geometry, shapely.MultiPolygon)]
    table: dict[str, Any] = {
        name: pd.array([item.tags.get(name, pd.NA) for item in found], dtype="str") for name in names
    }
    table["osm_type"] = pd.array([item.osm_type for item in found], dtype="str")
    table["osm_id"] = np.array([item.osm_id for item in found], np.int64)
    shapes = [item.geometry if geometry == "polygons" else _point(item) for item in found]
    return gpd.GeoDataFrame(table, geometry=gpd.array.from_shapely(np.array(shapes, dtype=object)), crs=WGS84)


def _point(item: Feature) -> shapely.Point:
    """Return a node, a point inside of an area, or the middle of a line."""
    if isinstance(item.geometry, shapely.LineString):
        return shapely.line_interpolate_point(item.geometry, 0.5, normalized=True)
    return item.geometry if isinstance(item.geometry, shapely.Point) else shapely.point_on_surface(item.geometry)


def _requested(tags: Any) -> Requested:
    """Validate tags."""
    if not isinstance(tags, Mapping) or not tags:
        msg = f"tags must be a mapping of keys to values, as {{'amenity': ['hospital', 'clinic']}}; got {tags!r}"
        raise InputError(msg)
    requested: dict[str, frozenset[str] | None] = {}
    for key, values in tags.items():
        name = words(key, "each key of tags")
        if values is True:
            requested[name] = None
            continue
        given = (values,) if isinstance(values, str) else items(values, f"tags[{name!r}]", "values, or True for any")
        if not given:
            msg = f"tags[{name!r}] is an empty list; give values, or True for any"
            raise InputError(msg)
        requested[name] = frozenset(words(value, f"each of tags[{name!r}]") for value in given)
    return requested
