"""A small Overpass and Nominatim on 127.0.0.1 that answers osmnx from a real extract."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import osmium
import shapely

PLACE = "Keskusta, Helsinki"


class Extract:
    """
    Ways with a highway or a ferry route and their nodes, as Overpass JSON elements.

    Parameters
    ----------
    path : Path
        OpenStreetMap file.
    around : tuple of float
        Longitude and latitude.
    within : float
        Ways farther from there in longitude or latitude are left out, since osmnx takes its time.
    """

    def __init__(self, path: Path, around: tuple[float, float], within: float) -> None:
        self.ways: list[dict[str, Any]] = []
        near = {
            node.id
            for node in osmium.FileProcessor(str(path), osmium.osm.NODE)
            if max(abs(node.lon - around[0]), abs(node.lat - around[1])) < within
        }
        wanted: set[int] = set()
        for way in osmium.FileProcessor(str(path), osmium.osm.WAY):
            tags = dict(way.tags)
            if "highway" in tags or tags.get("route") == "ferry":
                refs = [node.ref for node in way.nodes]
                if near.isdisjoint(refs):
                    continue
                self.ways.append({"type": "way", "id": way.id, "nodes": refs, "tags": tags})
                wanted.update(refs)
        self.nodes: dict[int, dict[str, Any]] = {}
        for node in osmium.FileProcessor(str(path), osmium.osm.NODE):
            if node.id in wanted:
                self.nodes[node.id] = {"type": "node", "id": node.id, "lat": node.lat, "lon": node.lon}
                if len(node.tags):
                    self.nodes[node.id]["tags"] = dict(node.tags)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east, north."""
        lngs = [node["lon"] for node in self.nodes.values()]
        lats = [node["lat"] for node in self.nodes.values()]
        return min(lngs), min(lats), max(lngs), max(lats)

    def answer(self, query: str) -> dict[str, Any]:
        """Answer the two shapes of query that osmnx sends: ``way[...](poly:"lat lng ...")``, recursed to nodes."""
        coords = [float(text) for text in re.search(r"poly:['\"]([^'\"]+)['\"]", query).group(1).split()]
        area = shapely.Polygon(list(zip(coords[1::2], coords[::2], strict=True)))
        shapely.prepare(area)
        key, _, value = re.search(r'\["(\w+)"(="(\w+)")?\]', query).groups()
        ways, refs = [], set()
        for way in self.ways:
            known = [ref for ref in way["nodes"] if ref in self.nodes]
            if key not in way["tags"] or (value and way["tags"][key] != value):
                continue
            if any(area.covers(shapely.Point(self.nodes[ref]["lon"], self.nodes[ref]["lat"])) for ref in known):
                ways.append({**way, "nodes": known})
                refs.update(known)
        return {"elements": [self.nodes[ref] for ref in sorted(refs)] + ways}

    def geocode(self) -> list[dict[str, Any]]:
        """Answer Nominatim's search with the box of the extract."""
        west, south, east, north = self.bounds
        return [
            {
                "place_id": 1,
                "osm_type": "relation",
                "osm_id": 1,
                "lat": str((south + north) / 2),
                "lon": str((west + east) / 2),
                "boundingbox": [str(south), str(north), str(west), str(east)],
                "importance": 1.0,
                "class": "boundary",
                "type": "administrative",
                "display_name": PLACE,
                "name": PLACE,
                "geojson": json.loads(shapely.to_geojson(shapely.box(west, south, east, north))),
            }
        ]


@contextlib.contextmanager
def serve(extract: Extract) -> Iterator[str]:
    """Serve the extract on a free port and yield the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def _reply(self, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._reply(extract.answer(form["data"][0]))

        def do_GET(self) -> None:
            query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
            self._reply(extract.geocode() if query.get("q") == [PLACE] else [])

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
