"""Read the objects of an OpenStreetMap file by their tags: nodes as points, ways as lines, areas as polygons."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import osmium
import shapely

from traveltime_lab.readers.osm.extract import OsmFile

#: Values to select, by key; None selects all but "no".
Requested = Mapping[str, frozenset[str] | None]


class Feature(NamedTuple):
    """
    An object of a file.

    Attributes
    ----------
    osm_type : {"node", "way", "relation"}
    osm_id : int
    tags : dict
    geometry : Point, LineString or MultiPolygon
        In EPSG:4326.
    """

    osm_type: str
    osm_id: int
    tags: dict[str, str]
    geometry: Any


def read_features(path: str | os.PathLike[str], requested: Requested) -> list[Feature]:
    """
    Return the objects that have one of the tags, in the order of type and id.

    Closed ways and the relations ``type=multipolygon`` and ``type=boundary`` are areas, as far as their rings are
    whole: where the file ends within one, it is left out. Other relations are left out.

    Parameters
    ----------
    path : path-like
    requested : mapping
        An object needs one of the keys with one of its values; several values of a tag are separated by semicolons.

    Raises
    ------
    MissingFileError, DataError
        As for `OsmFile`.
    """
    with OsmFile(path) as file, file.reading_text():
        file.header()
        return _read(file, requested)


def _read(file: OsmFile, requested: Requested) -> list[Feature]:
    keys = osmium.filter.KeyFilter(*requested)
    to_wkb = osmium.geom.WKBFactory()
    found: dict[tuple[int, int], Feature] = {}
    with file.decoding():
        item: Any
        for item in osmium.FileProcessor(file.sorted_source()).with_areas(keys).with_filter(keys):
            tags = dict(item.tags)
            if item.deleted or not is_requested(tags, requested):
                continue
            if item.is_node():
                if item.location.valid():
                    point = shapely.Point(item.location.lon, item.location.lat)
                    found[0, item.id] = Feature("node", item.id, tags, point)
            elif item.is_area():
                kind, number = (1, "way") if item.from_way() else (2, "relation")
                shape = _shape(to_wkb.create_multipolygon, item)
                if shape is not None:
                    found[kind, item.orig_id()] = Feature(number, item.orig_id(), tags, shape)
            elif item.is_way() and (1, item.id) not in found:
                shape = _shape(to_wkb.create_linestring, item)
                if shape is not None:
                    found[1, item.id] = Feature("way", item.id, tags, shape)
    return [found[key] for key in sorted(found)]


def is_requested(tags: Mapping[str, str], requested: Requested) -> bool:
    """Return whether an object has one of the tags."""
    for key, values in requested.items():
        if key in tags:
            given = {value.strip() for value in tags[key].split(";")}
            if given != {"no"} if values is None else not values.isdisjoint(given):
                return True
    return False


def _shape(create: Any, item: Any) -> Any:
    """Return the geometry of a way or an area, None if nodes or rings are missing."""
    try:
        shape = shapely.from_wkb(create(item))
    except (RuntimeError, osmium.InvalidLocationError):
        return None
    return None if shape.is_empty else shape
