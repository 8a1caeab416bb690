"""
Shapes in the six formats of the contract, and the choice between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

import msgspec
import numpy as np
import shapely

from traveltime_lab._arrays import FloatArray
from traveltime_lab.runtime.interrupts import checkpoint
from traveltime_lab.server.contract.errors import plain_failure
from traveltime_lab.surfaces import polygons as shapes

JSON: Final = "application/json"
WKT: Final = "application/vnd.wkt+json"
WKT_NO_HOLES: Final = "application/vnd.wkt-no-holes+json"
GEOJSON: Final = "application/geo+json"
BOXES: Final = "application/vnd.bounding-boxes+json"
KML: Final = "application/kml+xml"
GOOGLE_KML: Final = "application/vnd.google-earth.kml+xml"

#: Characters that XML 1.0 cannot hold at all.
_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Formats of shapes. Source: docs/contract.md, 3.3.
SHAPE_FORMATS: Final = (JSON, WKT, WKT_NO_HOLES, GEOJSON, BOXES, KML, GOOGLE_KML)
FAST_SHAPE_FORMATS: Final = (JSON, WKT, WKT_NO_HOLES, GEOJSON, BOXES)


@dataclass(frozen=True)
class ShapeResult:
    """A shape in EPSG:4326 under the id of its search, union or intersection."""

    search_id: str
    shape: shapely.MultiPolygon
    properties: Mapping[str, Any]


def negotiate(accept: str | None, known: tuple[str, ...] = (JSON,)) -> str:
    """
    Return the media type to answer with.

    Parameters
    ----------
    accept : str, optional
        The header.
    known : tuple of str
        Formats of the endpoint, the default first.

    Raises
    ------
    Failure
        406 if it can produce none of the requested formats.
    """
    requested, refused = [], set()
    for i, item in enumerate((accept or "").split(",")):
        media, *parameters = (part.strip().lower() for part in item.split(";"))
        if not media:
            continue
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        if quality > 0.0:
            requested.append((-quality, i, media))
        else:
            refused.add(media)
    left = [media for media in known if media not in refused]
    if not requested and not refused and left:
        return left[0]
    for _, _, media in sorted(requested):
        if media in left:
            return media
        if media in ("*/*", "application/*") and left:
            return left[0]
    raise plain_failure(406, f"This endpoint answers with {', '.join(known)}; the request accepts none of them")


def encode(media: str, results: Iterable[ShapeResult]) -> bytes:
    """Return shapes in a format, sorted by search id."""
    listed = sorted(results, key=lambda result: result.search_id)
    if media in (KML, GOOGLE_KML):
        return _kml(listed).encode()
    if media == GEOJSON:
        return msgspec.json.encode({"type": "FeatureCollection", "features": [_feature(item) for item in listed]})
    write = {JSON: _plain, WKT: _wkt, WKT_NO_HOLES: _wkt_no_holes, BOXES: _boxes}[media]
    return msgspec.json.encode({"results": [write(item) for item in listed]})


def _points(ring: shapely.LinearRing) -> list[dict[str, float]]:
    checkpoint()
    return [{"lat": lat, "lng": lng} for lng, lat in shapely.get_coordinates(ring).tolist()]


def _plain(result: ShapeResult) -> dict[str, Any]:
    """Return the JSON form, with shells clockwise and holes counter-clockwise as the service draws them."""
    parts = shapely.orient_polygons(shapely.get_parts(result.shape), exterior_cw=True)
    drawn = [{"shell": _points(part.exterior), "holes": [_points(hole) for hole in part.interiors]} for part in parts]
    return {"search_id": result.search_id, "shapes": drawn, "properties": result.properties}


def _feature(result: ShapeResult) -> dict[str, Any]:
    checkpoint()
    coordinates = [
        [shapely.get_coordinates(ring).tolist() for ring in (part.exterior, *part.interiors)]
        for part in result.shape.geoms
    ]
    return {
        "type": "Feature",
        "geometry": {"type": "MultiPolygon", "coordinates": coordinates},
        "properties": {"search_id": result.search_id},
    }


def _decimal(value: float) -> str:
    """Return a number without an exponent, with all its digits."""
    text = repr(value)
    return np.format_float_positional(value, trim="0") if "e" in text else text


def _pairs(ring: shapely.LinearRing, between: str) -> list[str]:
    checkpoint()
    return [f"{_decimal(x)}{between}{_decimal(y)}" for x, y in shapely.get_coordinates(ring).tolist()]


def wkt_text(shape: shapely.MultiPolygon, *, with_holes: bool = True) -> str:
    """Return well-known text, longitude first: a POLYGON for one polygon, a MULTIPOLYGON for several or none."""
    polygons = []
    for part in shape.geoms:
        rings = (part.exterior, *part.interiors) if with_holes else (part.exterior,)
        polygons.append("(" + ", ".join(f"({', '.join(_pairs(ring, ' '))})" for ring in rings) + ")")
    if not polygons:
        return "MULTIPOLYGON EMPTY"
    return f"POLYGON {polygons[0]}" if len(polygons) == 1 else f"MULTIPOLYGON ({', '.join(polygons)})"


def _wkt(result: ShapeResult) -> dict[str, Any]:
    return {"search_id": result.search_id, "shape": wkt_text(result.shape), "properties": result.properties}


def _wkt_no_holes(result: ShapeResult) -> dict[str, Any]:
    text = wkt_text(result.shape, with_holes=False)
    return {"search_id": result.search_id, "shape": text, "properties": result.properties}


def _boxes(result: ShapeResult) -> dict[str, Any]:
    found = [
        {"envelope": _box(envelope), "boxes": [_box(box) for box in boxes]}
        for envelope, boxes in shapes.bounding_boxes(result.shape)
    ]
    return {"search_id": result.search_id, "bounding_boxes": found, "properties": result.properties}


def _box(bounds: FloatArray) -> dict[str, float]:
    west, south, east, north = (float(value) for value in bounds)
    return {"min_lat": south, "max_lat": north, "min_lng": west, "max_lng": east}


def _kml(results: list[ShapeResult]) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>'
        + "".join(map(_placemark, results))
        + "</Document></kml>"
    )


def _placemark(result: ShapeResult) -> str:
    def boundary(name: str, ring: shapely.LinearRing) -> str:
        text = " ".join(_pairs(ring, ","))
        return f"<{name}><LinearRing><coordinates>{text}</coordinates></LinearRing></{name}>"

    polygons = "".join(
        "<Polygon>"
        + boundary("outerBoundaryIs", part.exterior)
        + "".join(boundary("innerBoundaryIs", hole) for hole in part.interiors)
        + "</Polygon>"
        for part in result.shape.geoms
    )
    name = escape(_NOT_XML.sub("\ufffd", result.search_id))
    return f"<Placemark><name>{name}</name><MultiGeometry>{polygons}</MultiGeometry></Placemark>"
