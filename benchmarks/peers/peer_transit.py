"""Time ferrobus or cafein on timetables, in an environment of its own (`pip install ferrobus cafein numpy`).

Called by `transit_speed.py` with the peer's name and a folder that holds `question.json` and `points.npz`; waits for
the names of tasks on its input and answers each with a line of JSON: seconds by the clock and of the processor. Points
are coordinates; what a peer needs to take them up (a snapped point each, for ferrobus) is part of the time.
"""

import datetime as dt
import json
import sys
import time
from pathlib import Path

import numpy as np

FOLDER = Path(sys.argv[2])
QUESTION = json.loads((FOLDER / "question.json").read_text("utf-8"))
POINTS = dict(np.load(FOLDER / "points.npz"))
MOMENT = dt.datetime.fromisoformat(QUESTION["moment"])
WALK_S, CHANGES = QUESTION["walking_time"], QUESTION["max_changes"]


class Ferrobus:
    """ferrobus: doors with all stops within the walk; times as seconds of the day."""

    def __init__(self):
        import ferrobus

        self.bus = ferrobus
        self.model = ferrobus.create_transit_model(
            QUESTION["osm"], QUESTION["filled_feeds"], MOMENT.date(), QUESTION["change_walk"]
        )
        self.second = MOMENT.hour * 3600 + MOMENT.minute * 60
        self.index = ferrobus.create_isochrone_index(self.model, QUESTION["area"], QUESTION["h3_resolution"], WALK_S)

    def _doors(self, points):
        made = []
        for lng, lat in points:
            try:
                made.append(self.bus.create_transit_point(lat, lng, self.model, WALK_S, 10_000))
            except ValueError:
                made.append(None)
        return [door for door in made if door is not None]

    def one_to_many(self, n):
        """1 x n doors."""
        here, *doors = self._doors(np.vstack([POINTS["origin"], POINTS[f"destinations_{n}"]]))
        return self.bus.find_routes_one_to_many(self.model, here, doors, self.second, CHANGES)

    def many_to_many(self):
        """100 x 100 doors; one set against itself is all there is."""
        return self.bus.travel_time_matrix(self.model, self._doors(POINTS["rows"]), self.second, CHANGES)

    def isochrone(self, minutes):
        """Hexagons within a travel time, over an index built before."""
        (here,) = self._doors(POINTS["origin"])
        return self.bus.calculate_isochrone(self.model, here, self.second, CHANGES, minutes * 60, self.index)


class Cafein:
    """
    cafein: doors, both directions and windows.

    ``compute_tbtr_transfers`` makes the transfers of the day ready, as its documentation advises for many questions of
    one date; its router "auto" then uses them. It is the quicker router by far, and part of getting ready, like our
    reading of the saved network.
    """

    has_transfers = True

    def __init__(self):
        import pandas as pd
        from cafein.network import TransportNetwork

        self.pd = pd
        self.network = TransportNetwork.from_gtfs(
            QUESTION["feeds"], osm_pbf=QUESTION["osm"], trip_distances=False, leg_geometries=False,
            max_walking_time=WALK_S / 60,
        )  # fmt: skip
        if self.has_transfers:
            self.network.compute_tbtr_transfers(MOMENT.date().isoformat())
        self.moment = MOMENT.strftime("%Y-%m-%d %H:%M")
        self.options = {"max_rides": CHANGES + 1, "max_walking_time": WALK_S / 60}

    def _frame(self, name):
        points = POINTS[name]
        return self.pd.DataFrame({"id": [str(i) for i in range(len(points))], "lon": points[:, 0], "lat": points[:, 1]})

    def _matrix(self, origins, destinations, **when):
        import geopandas as gpd

        frames = [
            gpd.GeoDataFrame(table[["id"]], geometry=gpd.points_from_xy(table["lon"], table["lat"]), crs="EPSG:4326")
            for table in (self._frame(origins), self._frame(destinations))
        ]
        return self.network.travel_time_matrix(frames[0], destinations=frames[1], **when, **self.options)

    def one_to_many(self, n):
        """1 x n doors."""
        return self._matrix("origin", f"destinations_{n}", departure=self.moment)

    def many_to_many(self):
        """100 x 100 doors."""
        return self._matrix("rows", "columns", departure=self.moment)

    def many_arriving(self):
        """100 x 100 doors, arriving."""
        return self._matrix("rows", "columns", arrival=self.moment)

    def median(self):
        """100 x 100 doors, the median of 60 minutes."""
        return self._matrix("rows", "columns", departure=self.moment, departure_time_window=60, percentiles=[50])


class CafeinWithoutTransfers(Cafein):
    """cafein as it was measured until its transfers were known to us: with its router RAPTOR."""

    has_transfers = False


def main():
    """Answer tasks until the input ends."""
    begin = time.perf_counter()
    peer = {"ferrobus": Ferrobus, "cafein": Cafein, "cafein-raptor": CafeinWithoutTransfers}[sys.argv[1]]()
    print(json.dumps({"seconds": time.perf_counter() - begin, "processor": time.process_time()}), flush=True)
    for line in sys.stdin:
        name, *arguments = line.split()
        begin, used = time.perf_counter(), time.process_time()
        found = getattr(peer, name)(*map(int, arguments))
        seconds, used = time.perf_counter() - begin, time.process_time() - used
        print(json.dumps({"seconds": seconds, "processor": used, "size": len(found)}), flush=True)


if __name__ == "__main__":
    main()
