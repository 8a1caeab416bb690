"""
Accessibility beside the plain matrix and beside PySAL's `access`: time, peak memory, and equality.

Usage: python benchmarks/accessibility.py CITY HEXGRID.csv [--points 20000] [--travel-time 1800] [--only NAME ...]

CITY is a .osm.pbf file or a saved network, HEXGRID.csv a table with the columns lon, lat, population and jobs, around
whose points origins and opportunities are drawn at random. Each case runs in a fresh process; its peak is that of the
process, network and import included. The case ``pysal`` compares the sums with those of `access` on a hundredth of the
pairs; it needs ``pip install access``, which no extra installs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

CASES = ("matrix", "opportunities", "gaussian", "three limits", "nearest", "2sfca", "3sfca", "pysal")


def main() -> int:
    """Print one line per case; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("city")
    parser.add_argument("table")
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--travel-time", type=int, default=1800)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(run(given)))
        return 0
    import traveltime_lab as tl

    is_wrong = False
    with tempfile.TemporaryDirectory() as folder:
        city = given.city
        if not city.endswith(".network"):
            city = str(Path(folder) / "city.network")
            tl.build_network(given.city).save(city)
        for case in given.only:
            command = [sys.executable, __file__, city, given.table, "--case", case]
            command += ["--points", str(given.points), "--travel-time", str(given.travel_time)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            is_wrong |= done.returncode != 0
            print(f"{case:14}", done.stdout.strip() or done.stderr.strip().splitlines()[-1], flush=True)
    return int(is_wrong)


def run(given: argparse.Namespace) -> dict[str, object]:
    """Return the time, the processor time and the peak of a case."""
    import numpy as np

    import traveltime_lab as tl

    network = tl.load_network(given.city)
    n = given.points // 10 if given.case == "pysal" else given.points
    homes, jobs = around(given.table, n, 1), around(given.table, n, 2)
    few = homes.iloc[:5]
    tl.time_filter(network, few, few, travel_time=300, transportation="walking", form="matrix")
    how = {"travel_time": given.travel_time, "transportation": "walking"}
    decay = tl.Decay("gaussian", scale=600)
    begin, spent = time.perf_counter(), time.process_time()
    more: dict[str, object] = {}
    if given.case == "matrix":
        table = tl.time_filter(network, homes, jobs, form="matrix", **how)
        more["reached"] = round(float(np.isfinite(table.to_numpy()).mean()), 3)
    elif given.case == "pysal":
        more["largest_relative_difference"] = beside_pysal(network, homes, jobs, decay, how)
    else:
        options = {
            "opportunities": {"values": "jobs"},
            "gaussian": {"values": "jobs", "decay": decay},
            "three limits": {"values": "jobs", "travel_time": [given.travel_time // 3 * i for i in (1, 2, 3)]},
            "nearest": {"measure": "nearest", "k": 3},
            "2sfca": {"values": "jobs", "measure": "2sfca", "demand": "population"},
            "3sfca": {"values": "jobs", "measure": "3sfca", "demand": "population", "decay": decay},
        }[given.case]
        found = tl.accessibility(network, homes, jobs, **{**how, **options})
        more["mean"] = float(found.iloc[:, 1].mean())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "processor_seconds": round(time.process_time() - spent, 1),
        "peak_gb": round(peak, 2),
        **more,
    }


def around(path: str, n: int, seed: int):
    """Return random points within 200 m of the points of a table, with their amounts."""
    import geopandas as gpd
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    table = pd.read_csv(path).dropna().sample(n, replace=True, random_state=seed).reset_index(drop=True)
    step = rng.uniform(-1, 1, (n, 2)) * 0.0018
    points = gpd.points_from_xy(table["lon"] + step[:, 0], table["lat"] + step[:, 1])
    return gpd.GeoDataFrame(table[["population", "jobs"]] + 1, geometry=points, crs="EPSG:4326")


def beside_pysal(network, homes, jobs, decay, how) -> dict[str, float]:
    """Return the largest relative difference to `access` for each measure."""
    import numpy as np
    from access import fca, weights

    import traveltime_lab as tl

    times = tl.time_filter(network, homes, jobs, form="sparse", **how)
    cost = times.rename(columns={"origin": "from", "destination": "to", "travel_time": "cost"}).astype("int64")
    ends = {"cost_origin": "from", "cost_dest": "to", "cost_name": "cost"}
    names = {"demand_index": True, "demand_name": "population", "supply_name": "jobs"}
    people, places = (frame[[column]].rename_axis("geoid") for frame, column in ((homes, "population"), (jobs, "jobs")))
    weight = weights.gaussian(decay.scale)
    theirs = {
        "opportunities": fca.weighted_catchment(
            places, cost, cost_source="to", cost_dest="from", cost_cost="cost", loc_index=True, loc_value="jobs",
            weight_fn=weight,
        ),
        "e2sfca": fca.two_stage_fca(people, places, cost, weight_fn=weight, **ends, **names),
        "3sfca": fca.three_stage_fca(people, places, cost.copy(), None, weight_fn=weight, **ends, **names),
    }  # fmt: skip
    found = {}
    for measure, values in theirs.items():
        shared = {} if measure == "opportunities" else {"demand": "population"}
        mine = tl.accessibility(network, homes, jobs, values="jobs", measure=measure, decay=decay, **shared, **how)
        mine, values = mine["jobs"].dropna(), values.reindex(mine["jobs"].dropna().index).fillna(0.0)
        apart = np.abs(mine - values) / np.maximum(values, 1e-300)
        found[measure] = float(apart[mine != values].max()) if (mine != values).any() else 0.0
    return found


if __name__ == "__main__":
    sys.exit(main())
