"""
The hundred car trips of several cities that differ most from OSRM and Valhalla, and why.

    python worst_driving.py draw FOLDER --city milan=milan.osm.pbf --city monaco=monaco.osm.pbf ...
    for each city: PEERS/bin/python peer_routes.py CITY.osm.pbf FOLDER/pairs_CITY.csv --workdir WORK
        --out FOLDER/peers_CITY.csv
    python worst_driving.py compare FOLDER --city milan=milan.osm.pbf --city monaco=monaco.osm.pbf ...

The ends lie up to 50 m away from random places on streets for cars. The ways from there to the streets are left out,
and ends may be on motorways and in tunnels (`accept_roads="any_drivable"`), as with both engines. Engines differ in
speeds by some tenths, so times are compared after division by the median ratio of the city, and with the engine that
is nearer to ours: what differs from both engines counts. Trips that only we, or only both engines, answer are counted
apart.

Causes are found by trying, in this order:

- another street: one of our ends lies more than 15 m from that of the nearer engine; `ours is nearer` where that end of
  ours is nearer to the point, so that the engine left out a street (OSRM prefers large components, Valhalla requires 50
  nodes in reach, neither looks at water and motorways);
- access: with roads that are closed to the public (`include_roads=("restricted",)`) ours comes within a tenth;
- turn restrictions: without those of the extract ours comes within a tenth;
- speeds: our length differs from theirs by less than 3 %;
- another way: all others.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd

import traveltime_lab as tl

ENGINES = ("osrm", "valhalla")
LIMIT_S = 14_400
APART_M = 15.0
SNAPPING = {"penalty": "disabled", "accept_roads": "any_drivable"}
CAR = {"type": "driving", "traffic_model": "off_peak"}


def draw(network, number, rng):
    """Return pairs of points up to 50 m away from random places on streets for cars, 500 m apart or more."""
    is_open = network.road_graph(tl.Transportation(**CAR)).topology.is_open
    usable = (is_open[0::2] | is_open[1::2]) & ~network.tables.uses["is_ferry"].to_numpy()[network.tables.edge_use]
    lines = network.edges_frame().geometry[usable].to_crs(network.crs)
    n = 4 * number
    picked = lines.iloc[rng.choice(len(lines), n, p=lines.length / lines.length.sum())]
    places = picked.interpolate(rng.random(n), normalized=True)
    distance, angle = 50.0 * np.sqrt(rng.random(n)), rng.uniform(0.0, 2.0 * np.pi, n)
    x, y = places.x.to_numpy() + distance * np.cos(angle), places.y.to_numpy() + distance * np.sin(angle)
    apart = np.flatnonzero(np.hypot(x[::2] - x[1::2], y[::2] - y[1::2]) > 500)[:number]
    points = gpd.GeoSeries.from_xy(x, y, crs=network.crs).to_crs(4326)
    lng, lat = points.x.to_numpy().round(6), points.y.to_numpy().round(6)
    i = 2 * apart
    return pd.DataFrame({"origin_lng": lng[i], "origin_lat": lat[i], "dest_lng": lng[i + 1], "dest_lat": lat[i + 1]})


def ends_of(pairs):
    """Return origins and destinations."""
    return [gpd.GeoSeries.from_xy(pairs[f"{end}_lng"], pairs[f"{end}_lat"], crs=4326) for end in ("origin", "dest")]


def answers(network, pairs, means=None):
    """Return our seconds and metres, NaN where there is no answer."""
    found = tl.time_filter(
        network, *ends_of(pairs.reset_index(drop=True)), pairs="aligned", travel_time=LIMIT_S,
        transportation=means or CAR, snapping=SNAPPING, properties=("travel_time", "distance"),
    )  # fmt: skip
    return [found[name].to_numpy(np.float64, na_value=np.nan) for name in ("travel_time", "distance")]


def metres(lng, lat, other_lng, other_lat):
    """Return distances between positions."""
    return 111_195 * np.hypot((lng - other_lng) * np.cos(np.radians(lat)), lat - other_lat)


def snapped(network, pairs):
    """Return longitudes and latitudes of our ends."""
    found = []
    for points, role in zip(ends_of(pairs), ("origin", "destination"), strict=True):
        try:
            at = tl.snap(network, points, transportation=CAR, snapping=SNAPPING, role=role)
        except TypeError:  # before snap had a role
            at = tl.snap(network, points, transportation=CAR, snapping=SNAPPING)
        found += [at.geometry.x.to_numpy(), at.geometry.y.to_numpy()]
    return found


def without_turn_restrictions(pbf, folder):
    """Write the extract without its turn restrictions and return the path."""
    import osmium

    path = Path(folder) / "free.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        for item in osmium.FileProcessor(str(pbf)):
            if not (item.is_relation() and str(item.tags.get("type", "")).startswith("restriction")):
                writer.add(item)
    return path


def compare(name, pbf, folder):
    """Return a table of the trips of a city that differ, ours and theirs, and counts of what only one side answers."""
    network = tl.build_network(pbf)
    pairs = pd.read_csv(folder / f"peers_{name}.csv").assign(city=name, pbf=str(pbf))
    pairs["ours_s"], pairs["ours_m"] = answers(network, pairs)
    pairs["ours_lng"], pairs["ours_lat"], pairs["ours_to_lng"], pairs["ours_to_lat"] = snapped(network, pairs)
    theirs = pairs[[f"{engine}_s" for engine in ENGINES]].notna()
    ours = pairs["ours_s"].notna()
    missing = Counter(
        pairs=len(pairs), ours_only=int((ours & ~theirs.any(axis=1)).sum()),
        theirs_only=int((~ours & theirs.all(axis=1)).sum()),
    )  # fmt: skip
    kept = pairs[ours & theirs.all(axis=1)].copy()
    for engine in ENGINES:
        kept[f"{engine}_scale"] = (kept["ours_s"] / kept[f"{engine}_s"]).median()
        kept[f"{engine}_off"] = (kept["ours_s"] / kept[f"{engine}_scale"] - kept[f"{engine}_s"]).abs()
    columns = [f"{engine}_off" for engine in ENGINES]
    kept["off"] = kept[columns].min(axis=1)
    kept["engine"] = np.array(ENGINES)[kept[columns].to_numpy().argmin(axis=1)]
    return kept, missing


def causes(worst):
    """Return the cause of each trip of a city, and what ours is under other rules."""
    pbf = worst["pbf"].iloc[0]
    nearer = {
        name: np.where(worst["engine"] == "osrm", worst[f"osrm_{name}"], worst[f"valhalla_{name}"])
        for name in ("s", "m", "lng", "lat", "to_lng", "to_lat", "scale")
    }

    def explains(seconds):
        return np.abs(seconds / nearer["scale"] / nearer["s"] - 1) < 0.1

    network = tl.build_network(pbf)
    is_access = explains(answers(network, worst, {**CAR, "include_roads": ("restricted",)})[0])
    with tempfile.TemporaryDirectory() as folder:
        free = tl.build_network(without_turn_restrictions(pbf, folder))
        is_turn = explains(answers(free, worst)[0])
    found = np.where(np.abs(worst["ours_m"] / nearer["m"] - 1) < 0.03, "speeds", "another way").astype(object)
    found[is_turn] = "turn restrictions"
    found[is_access] = "access"
    for to, end in (("to_", "dest"), ("", "origin")):
        apart = metres(worst[f"ours_{to}lng"], worst[f"ours_{to}lat"], nearer[f"{to}lng"], nearer[f"{to}lat"])
        ours, theirs = (
            metres(lng, lat, worst[f"{end}_lng"], worst[f"{end}_lat"]).to_numpy()
            for lng, lat in (
                (worst[f"ours_{to}lng"], worst[f"ours_{to}lat"]), (nearer[f"{to}lng"], nearer[f"{to}lat"])
            )
        )  # fmt: skip
        is_apart = (apart > APART_M).to_numpy()
        found[is_apart & (ours <= theirs + 1)] = "another street, ours is nearer"
        found[is_apart & (ours > theirs + 1)] = "another street, theirs is nearer"
    return found


def main():
    """Draw pairs, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("draw", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--city", action="append", required=True, metavar="NAME=PBF", help="may be repeated")
    parser.add_argument("--pairs", type=int, default=1_000, help="of each city")
    parser.add_argument("--worst", type=int, default=100)
    parser.add_argument("--out", type=Path, help="CSV of the worst, with their causes")
    options = parser.parse_args()
    cities = dict(city.split("=", 1) for city in options.city)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.task == "draw":
        for name, pbf in cities.items():
            drawn = draw(tl.build_network(pbf), options.pairs, np.random.default_rng(1))
            drawn.to_csv(options.folder / f"pairs_{name}.csv", index=False)
        return
    tables, missing = zip(*(compare(name, pbf, options.folder) for name, pbf in cities.items()), strict=True)
    everything = pd.concat(tables, ignore_index=True)
    for name, count in zip(cities, missing, strict=True):
        mine = everything[everything["city"] == name]
        scales = ", ".join(f"{engine} {mine[f'{engine}_scale'].iloc[0]:.3f}" for engine in ENGINES)
        print(f"{name}: {dict(count)}, median ratios {scales}, difference {mine['off'].median():.0f} s (median)")
    worst = everything.nlargest(options.worst, "off").copy()
    worst["cause"] = ""
    for name in worst["city"].unique():
        worst.loc[worst["city"] == name, "cause"] = causes(worst[worst["city"] == name])
    print(
        f"the worst {len(worst)}: {worst['off'].min():.0f} to {worst['off'].max():.0f} s, "
        f"{worst['off'].sum():.0f} s in all"
    )
    print(pd.crosstab(worst["cause"], worst["city"], margins=True).to_string())
    columns = ["city", "cause", "off", "engine", "ours_s", "osrm_s", "valhalla_s", "ours_m", "osrm_m", "valhalla_m"]
    columns += ["origin_lng", "origin_lat", "dest_lng", "dest_lat"]
    print(worst[columns].head(25).round(6).to_string(index=False))
    if options.out:
        worst.to_csv(options.out, index=False)


if __name__ == "__main__":
    sys.exit(main())
