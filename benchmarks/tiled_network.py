"""
Make networks of any size: New York's streets, tiled.

    python benchmarks/tiled_network.py DATA/bench/nyc tiled.network --side 2 --prepare walking driving

The streets are those of the 9th DIMACS implementation challenge (US Census TIGER/Line, public domain): 264,346 nodes
and 366,923 streets in a box of one degree. `--side 2` puts two by two copies side by side (1.06 million nodes),
`--side 4` four by four (4.2 million). Copies keep their longitudes and latitudes but for whole degrees, so that
streets further north are as long in the file as those they are copied from. Neighbouring copies are joined by streets
between the nodes nearest to the border, so that the whole is connected. A name that ends in `.osm.pbf` gives the same
nodes and streets as OpenStreetMap's format, for other engines, with lengths as the crow flies.

With `--prepare`, each stage prints the most memory that the process has needed in it, and the bytes per edge of what it
has computed. The stages are those of the log. Elsewhere than on Linux, the memory is the most so far.

The source says the travel time of a street in a unit of its own, 1.0 to 3.0 times the length by class. Its four
classes become tags with the speeds of this package (assumed: the quickest is a trunk road, 2.5 and 3.0 are
residential streets).
"""

from __future__ import annotations

import argparse
import gzip
import logging
import time
from pathlib import Path

import memory
import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

import traveltime_lab as tl
from traveltime_lab.readers.osm import tags
from traveltime_lab.streets.tables import USE_DTYPES, StreetTables

#: Class of street by the largest ratio of travel time to length.
CLASSES = ((1.2, "trunk"), (1.7, "primary"), (2.2, "secondary"), (np.inf, "residential"))
#: Nodes on either side of a border that are joined to the nearest ones beyond it.
JOINS = 200


def read_streets(folder: Path) -> dict[str, np.ndarray]:
    """Return nodes and streets of New York; a street is listed once."""
    with gzip.open(folder / "USA-road-d.NY.co.gz", "rt") as lines:
        nodes = np.array([line.split()[2:] for line in lines if line[0] == "v"], np.float64) / 1e6
    arcs = []
    for kind in "dt":
        with gzip.open(folder / f"USA-road-{kind}.NY.gr.gz", "rt") as lines:
            arcs.append(np.array([line.split()[1:] for line in lines if line[0] == "a"], np.int64))
    lengths, times = arcs
    assert np.array_equal(lengths[:, :2], times[:, :2])
    once = lengths[:, 0] < lengths[:, 1]
    ratio = times[once, 2] / np.maximum(lengths[once, 2], 1)
    use = np.searchsorted([limit for limit, _ in CLASSES], ratio).astype(np.int32)
    return {
        "lng": nodes[:, 0], "lat": nodes[:, 1], "from": lengths[once, 0] - 1, "to": lengths[once, 1] - 1,
        "length_m": lengths[once, 2] / 10.0, "use": use,
    }  # fmt: skip


def tiled(folder: Path, side: int) -> StreetTables:
    """Return the tables of `side` by `side` copies."""
    one = read_streets(folder)
    n_nodes, n_tiles = one["lng"].size, side * side
    column, row = np.arange(n_tiles) % side, np.arange(n_tiles) // side
    lng = (one["lng"] + column[:, None]).ravel()
    # Centred on the original, so that no copy is far from its latitude.
    lat = (one["lat"] + row[:, None] - (side - 1) / 2).ravel()
    first = n_nodes * np.arange(n_tiles)[:, None]
    begin, end = (first + one["from"]).ravel(), (first + one["to"]).ravel()
    length_m, use = np.tile(one["length_m"], n_tiles), np.tile(one["use"], n_tiles)
    joins = [_joins(one, axis) for axis in (0, 1)]
    for axis, (near, far, metres) in enumerate(joins):
        has_next = (column if axis == 0 else row) < side - 1
        here = n_nodes * np.flatnonzero(has_next)
        beyond = here + n_nodes * (1 if axis == 0 else side)
        begin = np.concatenate([begin, (here[:, None] + near).ravel()])
        end = np.concatenate([end, (beyond[:, None] + far).ravel()])
        length_m = np.concatenate([length_m, np.tile(metres, here.size)])
        use = np.concatenate([use, np.full(here.size * near.size, len(CLASSES) - 1, np.int32)])
    n_edges = begin.size
    return StreetTables(
        node_osm_id=np.arange(1, lng.size + 1),
        node_lng=lng,
        node_lat=lat,
        node_flags=np.zeros(lng.size, np.uint16),
        edge_from=begin.astype(np.int32),
        edge_to=end.astype(np.int32),
        edge_length_m=length_m.astype(np.float64),
        edge_way_id=np.arange(1, n_edges + 1),
        edge_use=use,
        edge_name=np.zeros(n_edges, np.int32),
        coord_indptr=2 * np.arange(n_edges + 1, dtype=np.int64),
        coord_lng=np.column_stack([lng[begin], lng[end]]).ravel(),
        coord_lat=np.column_stack([lat[begin], lat[end]]).ravel(),
        uses=_uses(),
        names=[""],
        report={"source": f"New York's streets (DIMACS), {side} by {side}", "attribution": "US Census TIGER/Line"},
    )


def _joins(one: dict[str, np.ndarray], axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes at the high border, the nodes nearest to them in the next copy, and metres between them."""
    xy = np.column_stack([one["lng"], one["lat"]])
    scale = np.array([np.cos(np.radians(40.8)), 1.0]) * 111_195.0
    near = np.argsort(xy[:, axis])[-JOINS:]
    moved = xy.copy()
    moved[:, axis] += 1.0
    metres, far = cKDTree(moved * scale).query(xy[near] * scale)
    return near, far, metres


def _uses() -> pd.DataFrame:
    """Return what the classes allow."""
    found = [tags.interpret({"highway": name}, length_m=None) for _, name in CLASSES]
    return pd.DataFrame({column: [getattr(use, column) for use in found] for column in USE_DTYPES}).astype(USE_DTYPES)


def write_osm(tables: StreetTables, path: Path) -> None:
    """Write nodes, and a way of two nodes for each street."""
    import osmium

    path.unlink(missing_ok=True)
    with osmium.SimpleWriter(str(path)) as writer:
        for node, *at in zip(tables.node_osm_id, tables.node_lng, tables.node_lat, strict=True):
            writer.add_node(osmium.osm.mutable.Node(id=int(node), version=1, location=(float(at[0]), float(at[1]))))
        ends = tables.node_osm_id[np.stack([tables.edge_from, tables.edge_to], axis=1)].tolist()
        names = [CLASSES[use][1] for use in tables.edge_use.tolist()]
        for way, nodes, name in zip(tables.edge_way_id.tolist(), ends, names, strict=True):
            writer.add_way(osmium.osm.mutable.Way(id=way, version=1, nodes=nodes, tags={"highway": name}))


class Stages(logging.Handler):
    """Prints the peak memory of the process since the line before, at each stage of preparing a network."""

    def __init__(self, n_edges: int) -> None:
        super().__init__(logging.INFO)
        self.n_edges, self.most_gb = n_edges, 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Print the line of a value that is ready."""
        if str(record.msg).startswith("prepared kind="):
            kind, n_bytes = record.args
            self.print(f"prepared: {kind}", int(n_bytes))

    def print(self, stage: str, n_bytes: int) -> None:
        """Print one line."""
        gb = peak_gb()
        self.most_gb = max(self.most_gb, gb)
        print(f"{stage:40} peak {gb:6.2f} GB {n_bytes / self.n_edges:8.0f} bytes per edge", flush=True)


def peak_gb() -> float:
    """Return the most memory that this process has had since the last call."""
    if not Path("/proc/self/clear_refs").exists():
        return memory.peak_gb()
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def main() -> None:
    """Write a network and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of USA-road-d.NY.gr.gz and the others")
    parser.add_argument("out", type=Path)
    parser.add_argument("--side", type=int, default=2)
    parser.add_argument("--prepare", nargs="+", default=(), metavar="MODE")
    arguments = parser.parse_args()
    tables = tiled(arguments.folder, arguments.side)
    if arguments.out.name.endswith(".osm.pbf"):
        write_osm(tables, arguments.out)
        return
    begin = time.perf_counter()
    network = tl.build_network(tables, timezone="America/New_York")
    del tables
    print(f"{network!r} built in {time.perf_counter() - begin:.1f} s")
    stages = Stages(network.n_edges)
    logging.getLogger("traveltime_lab").addHandler(stages)
    logging.getLogger("traveltime_lab").setLevel(logging.INFO)
    stages.print("built", 0)
    if arguments.prepare:
        begin = time.perf_counter()
        network.prepare(*arguments.prepare)
        print(f"prepared in {time.perf_counter() - begin:.1f} s")
    path = network.save(arguments.out)
    stages.print("saved", path.stat().st_size)
    print(f"most memory: {stages.most_gb:.2f} GB, {stages.most_gb * 1e9 / network.n_edges:.0f} bytes per edge")
    print(f"saved, {path.stat().st_size / 1e6:.1f} MB, {path.stat().st_size / network.n_edges:.0f} bytes per edge")


if __name__ == "__main__":
    main()
