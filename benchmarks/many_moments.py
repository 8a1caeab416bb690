"""
Measure how long 96 quarter hours of 1 x 10,000 pairs and of an area by public transport take, compared with one moment.

Usage: python benchmarks/many_moments.py [NETWORK DATE] [--points 10000] [--repeats 7]

The network is a saved one, by default the sample of Porto Alegre. Points are random in the middle of its bounding box.
Times are medians of the processor time of calls in turn, after one of each. The rows of that moment are compared.
The line of areas, 30 minutes around the middle of the bounding box, also has the time of 96 single calls.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd

import traveltime_lab as tl


def main() -> None:
    """Print a line for each direction and form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", nargs="?")
    parser.add_argument("date", nargs="?", default="2019-05-13")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    network = tl.sample_network() if given.network is None else tl.load_network(given.network)
    rng = np.random.default_rng(1)
    west, south, east, north = network.bounds
    lng = rng.uniform(west + 0.3 * (east - west), east - 0.3 * (east - west), given.points)
    lat = rng.uniform(south + 0.3 * (north - south), north - 0.3 * (north - south), given.points)
    many = gpd.GeoSeries.from_xy(lng, lat, crs="EPSG:4326")
    one = gpd.GeoSeries.from_xy([(west + east) / 2], [(south + north) / 2], crs="EPSG:4326")
    at_eight = f"{given.date}T08:00"
    day = (f"{given.date}T00:00", pd.Timestamp(given.date) + pd.Timedelta(days=1), "15min")
    print(f"{'':14} {'form':8} {'one':>9} {'96':>9} {'ratio':>6}")
    for side, points in (("departure_time", (one, many)), ("arrival_time", (many, one))):
        for form in ("pairs", "matrix", "sparse"):

            def search(moments: object, points: Any = points, side: str = side, form: Any = form) -> pd.DataFrame:
                how = {side: moments, "travel_time": 3600, "transportation": "public_transport", "form": form}
                return tl.time_filter(network, *points, **how)

            first, whole = search(at_eight), search(day)
            here = pd.Timestamp(at_eight).tz_localize(network.timezone)
            if form == "matrix":
                assert first.equals(whole.xs(here, level="moment"))
            else:
                part = whole[whole["moment"] == here]
                assert first["travel_time"].equals(part["travel_time"].reset_index(drop=True))
            seconds: dict[str, list[float]] = {"one": [], "day": []}
            for _ in range(given.repeats):
                for name, moments in (("one", at_eight), ("day", day)):
                    begin = time.process_time()
                    search(moments)
                    seconds[name].append(time.process_time() - begin)
            a, b = (statistics.median(each) for each in seconds.values())
            print(f"{side:14} {form:8} {a * 1000:6.1f} ms {b * 1000:6.1f} ms {b / a:6.1f}", flush=True)
    areas(network, one, given.date, day, given.repeats)


def areas(network: tl.Network, one: gpd.GeoSeries, date: str, day: tuple[object, ...], repeats: int) -> None:
    """Print the line of areas."""

    def draw(moments: object) -> gpd.GeoDataFrame:
        return tl.time_map(
            network, one, departure_time=moments, travel_time=1800, transportation="public_transport"
        )  # fmt: skip

    quarters = [f"{date}T{quarter // 4:02d}:{quarter % 4 * 15:02d}" for quarter in range(96)]
    first, whole = draw(f"{date}T08:00"), draw(day)
    assert whole.geometry.iloc[32].equals(first.geometry.iloc[0])
    seconds: list[list[float]] = [[], [], []]
    for _ in range(repeats):
        for kept, moments in zip(seconds, ([f"{date}T08:00"], [day], quarters), strict=True):
            begin = time.process_time()
            for moment in moments:
                draw(moment)
            kept.append(time.process_time() - begin)
    a, b, c = (statistics.median(each) for each in seconds)
    print(
        f"{'area':14} {'':8} {a * 1000:6.1f} ms {b * 1000:6.1f} ms {b / a:6.1f}; 96 single calls {c * 1000:6.1f} ms, "
        f"{c / b:.2f} times the call for all"
    )


if __name__ == "__main__":
    main()
