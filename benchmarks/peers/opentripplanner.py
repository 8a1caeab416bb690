"""
Trips by timetable beside OpenTripPlanner 2.5, door to door: leaving at one moment, and arriving by another.

Its server is one Java archive from Maven Central, 180 MB; it needs a JDK of 21 or later::

    mvn dependency:copy -Dartifact=org.opentripplanner:otp:2.5.0:jar:shaded -DoutputDirectory=WORK
    python opentripplanner.py milan/osm.pbf --gtfs milan/gtfs.zip --date 2014-10-28
        --jar WORK/otp-2.5.0-shaded.jar --java JDK/bin/java --workdir WORK

Both get the same streets, feeds, points, walking speed and limits: 5 km/h, `--walking-time` to the first and from the
last stop, 600 s between vehicles, `--delay` seconds before each boarding (`pt_change_delay`, their `boardSlack`), no
other slack, no time to reach platforms of a metro (`subwayAccessTime`, two minutes by default), any number of
transfers. Points lie on streets, because OpenTripPlanner does not count the way from a point to its street. The least
end time of its itineraries, none filtered out, counts (arriving by: the greatest start time).

Remaining differences: it counts turns and signals on foot, walks where its cost (safety, stairs, turns) is least and
not its time, and counts no way between a stop and its street; untimed stops get times by their number, ours by
distance.
"""

import argparse
import contextlib
import datetime as dt
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

import traveltime_lab as tl

WALKING_KPH = 5.0
CHANGE_WALK_S = 600  # docs/contract.md, 5.4
LIMIT_S = 7200
QUERY = """
query trip($from: InputCoordinates, $to: InputCoordinates, $date: String, $time: String, $back: Boolean,
           $window: Long, $speed: Float, $slack: Int, $modes: [TransportMode]) {
  plan(from: $from, to: $to, date: $date, time: $time, arriveBy: $back, searchWindow: $window, walkSpeed: $speed,
       boardSlack: $slack, alightSlack: 0, minTransferTime: 0, numItineraries: 100,
       transportModes: $modes) {
    itineraries { startTime endTime legs {
      mode startTime endTime distance duration route { shortName } trip { gtfsId }
      from { name stop { gtfsId } } to { name stop { gtfsId } } } } } }
"""


class OpenTripPlanner:
    """A server on this machine, in a process of its own."""

    def __init__(self, options):
        self.options = options
        folder = options.workdir / "opentripplanner"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(options.osm, folder / "streets.osm.pbf")
        for i, feed in enumerate(options.gtfs):
            shutil.copyfile(feed, folder / f"feed{i}.gtfs.zip")
        walk = {"speed": WALKING_KPH / 3.6}
        day = dt.timedelta(days=1)
        settings = {
            "build-config.json": {
                "transitServiceStart": str(options.date - day), "transitServiceEnd": str(options.date + day),
                "maxTransferDuration": f"{CHANGE_WALK_S}s", "subwayAccessTime": 0,
                "transferRequests": [{"modes": "WALK", "walk": walk}],
            },
            "router-config.json": {
                "routingDefaults": {
                    "walk": walk, "transferSlack": "0s", "alightSlack": "0s",
                    "maxDirectStreetDuration": f"{LIMIT_S}s",
                    "accessEgress": {"maxDuration": f"{options.walking_time}s"},
                    "itineraryFilters": {"debug": "list-all"},
                },
            },
        }  # fmt: skip
        for name, content in settings.items():
            (folder / name).write_text(json.dumps(content))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/otp/gtfs/v1"
        self.log = options.workdir / "opentripplanner.log"
        command = [options.java, f"-Xmx{options.memory}", "-jar", options.jar, "--build", "--serve"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*map(str, command), "--bindAddress", "127.0.0.1", "--port", str(port), str(folder)],
                stdout=log, stderr=log,
            )  # fmt: skip

    def wait(self):
        """Wait until it answers."""
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                self._ask("{ feeds { feedId } }", {})
                return
            time.sleep(2)
        raise RuntimeError(f"OpenTripPlanner ended with code {self.process.returncode}; see {self.log}")

    def _ask(self, query, variables):
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = json.load(answer)
        if found.get("errors"):
            raise RuntimeError(found["errors"])
        return found["data"]

    def _plan(self, origin, destination, moment, *, is_arrival, modes):
        variables = {
            "from": {"lat": origin.y, "lon": origin.x}, "to": {"lat": destination.y, "lon": destination.x},
            "date": f"{moment:%Y-%m-%d}", "time": f"{moment:%H:%M}", "back": is_arrival, "window": LIMIT_S,
            "speed": WALKING_KPH / 3.6, "slack": self.options.delay, "modes": [{"mode": mode} for mode in modes],
        }  # fmt: skip
        return self._ask(QUERY, variables)["plan"]["itineraries"]

    def walk(self, line, moment):
        """Return their seconds on foot between the ends of a line."""
        ends = [shapely.Point(line.coords[i]) for i in (0, -1)]
        found = self._plan(*ends, moment, is_arrival=False, modes=["WALK"])
        return f"{sum(leg['duration'] for leg in found[0]['legs']):.0f} s" if found else "none"

    def trips(self, origin, destination, moment, *, is_arrival):
        """Return all itineraries that end, or begin, within the limit."""
        plan = self._plan(origin, destination, moment, is_arrival=is_arrival, modes=["WALK", "TRANSIT"])
        at = moment.timestamp() * 1000
        key = (lambda trip: at - trip["startTime"]) if is_arrival else (lambda trip: trip["endTime"] - at)
        right = [
            {**trip, "seconds": key(trip) / 1000}
            for trip in plan
            if (trip["endTime"] <= at if is_arrival else trip["startTime"] >= at) and key(trip) <= LIMIT_S * 1000
        ]
        return sorted(right, key=lambda trip: trip["seconds"])

    def stop(self):
        """End the process."""
        self.process.terminate()
        self.process.wait(60)


def draw_points(network, number, seed):
    """Return points on streets within 400 m of stops."""
    rng = np.random.default_rng(seed)
    stops = network.timetable.stops
    west, south, east, north = network.bounds
    inside = stops[stops["stop_lon"].between(west, east) & stops["stop_lat"].between(south, north)]
    chosen = inside.iloc[rng.integers(0, len(inside), 2 * number)]
    places = chosen[["stop_lon", "stop_lat"]].to_numpy() + rng.uniform(-0.0036, 0.0036, (2 * number, 2)) * [1.0, 0.9]
    points = gpd.GeoSeries.from_xy(*places.T, crs="EPSG:4326")
    found = tl.snap(network, points, transportation="walking", snapping={"threshold": 200})
    on_street = found[found["status"] == "snapped"].geometry.set_precision(1e-6)
    return on_street.head(number).reset_index(drop=True)


def told(ms, zone):
    """Return the time of day."""
    return f"{dt.datetime.fromtimestamp(ms / 1000, zone):%H:%M:%S}"


def our_trip(network, peer, ends, means, moment, name):
    """Return a route of ours in one line, with their times of our walks."""
    found = tl.routes(
        network, *ends, transportation=means, snapping={"penalty": "disabled"}, **{name: moment}
    )  # fmt: skip
    route = found["route"].iloc[0]
    if route is None:
        return f"no route: {found['reason'].iloc[0]}"
    words = []
    for leg in route.legs:
        if leg.ride is None:
            seconds = leg.travel_time - leg.waiting_time
            words.append(f"walk {leg.distance:.0f} m {seconds} s (theirs {peer.walk(leg.geometry, moment)})")
        else:
            board, alight = leg.ride.board, leg.ride.alight
            words.append(
                f"{leg.ride.line} {board.stop_id} {board.time:%H:%M:%S} > {alight.stop_id} {alight.time:%H:%M:%S}"
            )
    return f"{route.departure_time:%H:%M:%S} {' | '.join(words)} {route.arrival_time:%H:%M:%S}"


def their_trip(trip, zone):
    """Return an itinerary of theirs in one line."""
    words = []
    for leg in trip["legs"]:
        if leg["route"] is None:
            words.append(f"walk {leg['distance']:.0f} m {leg['duration']:.0f} s")
        else:
            ends = [
                f"{leg[end]['stop']['gtfsId'].partition(':')[2]} {told(leg[when], zone)}"
                for end, when in (("from", "startTime"), ("to", "endTime"))
            ]
            words.append(f"{leg['route']['shortName']} {' > '.join(ends)}")
    return f"{told(trip['startTime'], zone)} {' | '.join(words)} {told(trip['endTime'], zone)}"


def compare(network, peer, points, moment, options, *, is_arrival):
    """Search all pairs with both; print the figures and the worst pairs; return a row of figures."""
    zone, name = ZoneInfo(network.timezone), "arrival_time" if is_arrival else "departure_time"
    means = {"type": "public_transport", "walking_time": options.walking_time, "pt_change_delay": options.delay}
    origins, destinations = (half.reset_index(drop=True) for half in (points.iloc[::2], points.iloc[1::2]))
    ours = tl.time_filter(
        network, origins, destinations, pairs="aligned", travel_time=LIMIT_S, transportation=means,
        snapping={"penalty": "disabled"}, **{name: moment},
    )["travel_time"].to_numpy(np.float64, na_value=np.nan)  # fmt: skip
    trips = [peer.trips(*ends, moment, is_arrival=is_arrival) for ends in zip(origins, destinations, strict=True)]
    theirs = np.array([found[0]["seconds"] if found else np.nan for found in trips])
    ratio = ours / theirs
    both = np.isfinite(ratio)
    label = f"{'arriving by' if is_arrival else 'leaving at'} {moment:%H:%M}"
    only = [int((np.isfinite(a) & np.isnan(b)).sum()) for a, b in ((ours, theirs), (theirs, ours))]
    row = {
        "trips": label, "pairs": len(ratio), "answered by both": int(both.sum()), "ours only": only[0],
        "theirs only": only[1], "median ratio": f"{np.median(ratio[both]):.3f}",
        **{f"within {share} %": f"{np.mean(np.abs(ratio[both] - 1) <= share / 100):.1%}" for share in (10, 25)},
    }  # fmt: skip
    order = pd.Series(ratio).dropna().sort_values().index
    chosen = [("ours is longer", i) for i in order[::-1][: options.worst]]
    chosen += [("ours is shorter", i) for i in order[: options.worst]]
    chosen += [("only one answers", i) for i in np.flatnonzero(np.isnan(ours) != np.isnan(theirs))[: options.worst]]
    print(f"\n{label}")
    for side, i in chosen:
        ends = origins.iloc[[i]], destinations.iloc[[i]]
        print(f"{side}: pair {i}, {ours[i]:.0f} s, theirs {theirs[i]:.0f} s, ratio {ratio[i]:.3f}")
        print(f"    from {origins[i].y:.6f},{origins[i].x:.6f} to {destinations[i].y:.6f},{destinations[i].x:.6f}")
        print(f"    ours   {our_trip(network, peer, ends, means, moment, name)}")
        print(f"    theirs {their_trip(trips[i][0], zone) if trips[i] else 'no itinerary'}", flush=True)
    return row


def main():
    """Print a table, and the worst pairs of each side with both routes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osm", type=Path)
    parser.add_argument("--gtfs", type=Path, nargs="+", required=True)
    parser.add_argument("--date", type=dt.date.fromisoformat, required=True)
    parser.add_argument("--leaving", type=dt.time.fromisoformat, default=dt.time(8))
    parser.add_argument("--arriving", type=dt.time.fromisoformat, default=dt.time(9))
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--java", default="java")
    parser.add_argument("--memory", default="6G", help="of the Java process")
    parser.add_argument("--workdir", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=5)
    parser.add_argument("--walking-time", type=int, default=900)
    parser.add_argument("--delay", type=int, default=60, help="seconds before each boarding")
    options = parser.parse_args()
    peer = OpenTripPlanner(options)
    try:
        network = tl.build_network(options.osm, gtfs=options.gtfs)
        peer.wait()
        zone, rows = ZoneInfo(network.timezone), []
        for seed, (hour, is_arrival) in enumerate(((options.leaving, False), (options.arriving, True))):
            points = draw_points(network, 2 * options.pairs, 2 * options.seed + seed)
            moment = dt.datetime.combine(options.date, hour, zone)
            rows.append(compare(network, peer, points, moment, options, is_arrival=is_arrival))
    finally:
        peer.stop()
    print(f"\n{pd.DataFrame(rows).to_string(index=False)}")


if __name__ == "__main__":
    sys.exit(main())
