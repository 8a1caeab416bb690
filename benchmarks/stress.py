"""
Compare levels of traffic stress with those of another implementation, way by way.

Usage: python benchmarks/stress.py OSM LEVELS [OSM LEVELS ...]
       python benchmarks/stress.py --cost OSM [OSM ...]

LEVELS is a CSV file with ``osm_way_id`` and ``lts`` (1 to 4, empty where cycling is not possible), such as PyPI's
osm-lts gives for the tags of each way, or ``osm-lts``: the package is then called here, for tags whose speed limits
have units, as it takes plain numbers for miles per hour. Levels of ways are those of the street, the higher one of both
directions, without crossings. Prints the kilometres of each pair of levels, the share that is the same, and the
differences by cause: what the level follows from here, and the class of the street.

``--cost`` compares the processor time of searches with and without `max_stress`, on networks prepared for both, in
turns.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import osmium
import pandas as pd

import traveltime_lab as tl


def with_units(osm: str) -> pd.Series:
    """Return the levels of osm-lts by way, for tags whose speed limits have units."""
    import osm_lts

    found = {}
    for way in osmium.FileProcessor(osm, osmium.osm.WAY).with_filter(osmium.filter.KeyFilter("highway")):
        tags = {tag.k: f"{tag.v} km/h" if tag.k == "maxspeed" and tag.v.isdigit() else tag.v for tag in way.tags}
        level = osm_lts.classify(tags)
        found[way.id] = None if level is None else int(level)
    return pd.Series(found, dtype="float64")


def compared(osm: str, levels: str) -> pd.DataFrame:
    """Return the edges that both have a level for, with ``ours``, ``theirs`` and ``cause``."""
    edges = pd.DataFrame(tl.build_network(osm).edges_frame().drop(columns="geometry"))
    theirs = with_units(osm) if levels == "osm-lts" else pd.read_csv(levels).set_index("osm_way_id")["lts"]
    edges["ours"] = edges[["stress_forward", "stress_backward"]].max(axis=1)
    edges["theirs"] = edges["way_id"].map(theirs)
    both = edges[(edges["ours"] > 0) & edges["theirs"].notna()].copy()
    km = [table["length_m"].sum() / 1000 for table in (edges, both)]
    print(f"{osm}: {km[0]:,.0f} km of street, {km[1]:,.0f} with both levels")
    for name, rows in (("only here", edges["ours"].gt(0) & edges["theirs"].isna()),
                       ("only there", edges["ours"].eq(0) & edges["theirs"].notna())):  # fmt: skip
        km = edges[rows].groupby("highway")["length_m"].sum().sort_values(ascending=False) / 1000
        print(f"{name}: {km.sum():,.0f} km;", ", ".join(f"{each} {value:,.0f}" for each, value in km.head(6).items()))
    both["theirs"] = both["theirs"].astype(int)
    both["cause"] = both["stress_reason"].str.partition(", crossing")[0]
    return both


def cost(osm: str, rounds: int = 15) -> None:
    """Print the medians of the processor time of searches, and their ratios to those without `max_stress`."""
    network = tl.build_network(osm)
    nodes = network.nodes_frame().geometry
    near, far = nodes.sample(50, random_state=1), nodes.sample(5000, random_state=2)
    options = (None, 1, 2, 3, 4)
    few = near.iloc[:5]
    how = {"form": "matrix", "travel_time": 3600}
    means = [tl.Transportation("cycling", max_stress=most) for most in options]
    means.append(tl.Transportation("cycling", max_stress=2, push_above_stress=True))
    for each in means:
        network.prepare(each)
    searches = {
        "50 x 5,000, one hour": lambda means: tl.time_filter(network, near, far, transportation=means, **how),
        "5 areas of 20 minutes": lambda means: tl.time_map(network, few, travel_time=1200, transportation=means),
    }
    for name, search in searches.items():
        seconds: list[list[float]] = [[] for _ in means]
        for turn in range(rounds + 1):
            for times, each in zip(seconds, means, strict=True):
                begin = time.process_time()
                search(each)
                if turn:
                    times.append(time.process_time() - begin)
        medians = [float(np.median(times)) for times in seconds]
        ratios = [float(np.median(np.array(times) / seconds[0])) for times in seconds]
        for option, median, ratio in zip((*options, "2, pushed"), medians, ratios, strict=True):
            print(f"{osm} {name} max_stress={option}: {1000 * median:.0f} ms, {ratio:.2f} times")


def main() -> None:
    """Print the comparison of each pair of files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="pairs of an OSM file and a CSV file")
    parser.add_argument("--causes", type=int, default=15, help="number of causes to list")
    parser.add_argument("--cost", action="store_true", help="compare the processor time of searches")
    arguments = parser.parse_args()
    if arguments.cost:
        for osm in arguments.files:
            cost(osm)
        return
    for osm, levels in zip(arguments.files[::2], arguments.files[1::2], strict=True):
        both = compared(osm, levels)
        km = both["length_m"] / 1000
        table = both.pivot_table("length_m", "ours", "theirs", aggfunc="sum", fill_value=0.0) / 1000
        print(table.round(0).astype(int).to_string())
        same = both["ours"] == both["theirs"]
        near = (both["ours"] - both["theirs"]).abs() <= 1
        low = (both["ours"] <= 2) == (both["theirs"] <= 2)
        shares = [float(np.average(each, weights=km)) for each in (same, near, low)]
        print("same {:.1%}, at most one apart {:.1%}, same side of 2 {:.1%}".format(*shares))
        wrong = both[~same]
        classes = (wrong["length_m"] / 1000).groupby([wrong[name] for name in ("highway", "ours", "theirs")]).sum()
        print(classes.sort_values(ascending=False).head(arguments.causes).round(0).reset_index(name="km").to_string())
        columns = [wrong[name] for name in ("highway", "cause", "ours", "theirs")]
        causes = (wrong["length_m"] / 1000).groupby(columns).sum().sort_values(ascending=False)
        print((causes.head(arguments.causes).round(1).reset_index(name="km")).to_string(index=False), "\n")


if __name__ == "__main__":
    main()
