"""
Memory and time of reading an OpenStreetMap file in which most nodes are corners of buildings, as in that of a country.

    python benchmarks/reading.py streets.osm.pbf --buildings 2000000 \
        --addresses 1000000

Writes a copy of the file with more buildings of five corners, every second one with an address, and with more nodes
that have an address; then builds a network of the file and of the copy, each in a process of its own. Prints edges,
nodes in the file, places, processor seconds and the most memory of the process. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import osmium

#: Corners of a building, in degrees from its first one.
CORNERS = ((0.0, 0.0), (1e-4, 0.0), (1e-4, 1e-4), (0.0, 1e-4), (-5e-5, 5e-5))

BUILD = """
import json, resource, sys, time, warnings
import traveltime_lab as tl
warnings.simplefilter("ignore")
begin = time.process_time()
network = tl.build_network(sys.argv[1])
facts = network.tables.report
print(json.dumps({
    "edges": network.n_edges, "nodes": facts["nodes_in_file"], "places": facts["places"],
    "seconds": time.process_time() - begin, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


def enlarge(source: Path, target: Path, n_buildings: int, n_addresses: int) -> None:
    """Write a copy of a file with more buildings and addresses near its nodes."""
    node, way = osmium.osm.mutable.Node, osmium.osm.mutable.Way
    places: list[tuple[float, float]] = []
    last = {"n": 0, "w": 0}
    with osmium.SimpleWriter(str(target), overwrite=True) as writer:
        first = None
        for item in osmium.FileProcessor(str(source)):
            if item.is_node() and item.id % 10 == 0:
                places.append((item.location.lon, item.location.lat))
            if not item.is_node() and first is None:
                first = last["n"] + 1
                for number in range(n_buildings):
                    lng, lat = places[number % len(places)]
                    for corner, (east, north) in enumerate(CORNERS):
                        at = lng + 3e-4 + east, lat + north
                        writer.add_node(node(id=first + len(CORNERS) * number + corner, location=at))
                beyond = first + len(CORNERS) * n_buildings
                for number in range(n_addresses):
                    lng, lat = places[7 * number % len(places)]
                    tags = {"addr:housenumber": str(number % 200), "addr:street": f"Street {number % 5000}"}
                    writer.add_node(node(id=beyond + number, location=(lng, lat + 1e-4), tags=tags))
            if item.is_relation() and first is not None and n_buildings:
                for number in range(n_buildings):
                    corners = [first + len(CORNERS) * number + corner for corner in range(len(CORNERS))]
                    address = {"addr:housenumber": str(number % 300), "addr:street": f"Road {number % 7000}"}
                    tags = {"building": "yes", **(address if number % 2 else {})}
                    writer.add_way(way(id=last["w"] + 1 + number, nodes=[*corners, corners[0]], tags=tags))
                n_buildings = 0
            last["n" if item.is_node() else "w"] = item.id
            writer.add(item)


def main() -> None:
    """Print one line per file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm", type=Path, help="a .osm.pbf file with nodes, ways and relations, sorted")
    parser.add_argument("--buildings", type=int, default=2_000_000)
    parser.add_argument("--addresses", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        larger = Path(folder) / "larger.osm.pbf"
        enlarge(options.osm, larger, options.buildings, options.addresses)
        for path in (options.osm, larger):
            done = subprocess.run([sys.executable, "-c", BUILD, str(path)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            found = json.loads(done.stdout)
            print(
                f"{found['edges']:,} edges, {found['nodes']:,} nodes in the file, {found['places']:,} places: "
                f"{found['seconds']:.1f} s, {found['memory'] / 1e9:.2f} GB",
                flush=True,
            )


if __name__ == "__main__":
    main()
