"""Time cafein's searches from stops, in an environment of its own (`pip install cafein numpy`).

Called by ``bench_raptor.py --peer PYTHON`` with a folder that holds ``question.json``: feeds, footpaths (from, to, s),
origins (stop_ids, as cafein spells them), departure and rides. Prints JSON: processor seconds per origin, and times.
"""

import json
import sys
import time
from pathlib import Path

from cafein.network import TransportNetwork

query = json.loads((Path(sys.argv[1]) / "question.json").read_text("utf-8"))
begin = time.process_time()
network = TransportNetwork.from_gtfs(query["feeds"], trip_distances=False, leg_geometries=False)
network.set_transfers([(a, b, s, float(s)) for a, b, s in query["footpaths"]])
answer = {"build_s": time.process_time() - begin}
for way in ("departure", "arrival"):
    took, found = [], []
    for stop in query["origins"]:
        spans = []
        for _ in range(2):
            begin = time.process_time()
            times = network.travel_times_from_stop(stop, **{way: query["moment"]}, max_rides=query["rides"])
            spans.append(time.process_time() - begin)
        took.append(min(spans))
        found.append(times)
    answer[way] = {"took_s": took, "times": found}
print(json.dumps(answer))
