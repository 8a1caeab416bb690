"""Shared parts of the two comparisons with plugins of the hosted service: processes, documents, expected answers."""

import collections
import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np

import traveltime_lab as tl

ROOT = Path(__file__).parents[2]
IT = ROOT / "plugins" / "solr" / "it"
sys.path.insert(0, str(IT))
import oracle  # noqa: E402


class Process:
    """A server in a process of its own, which prints its address."""

    def __init__(self, command, pattern):
        roots = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))},
        )  # fmt: skip
        self.said = collections.deque(maxlen=200)
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(pattern, line):
                self.address = found[1]
                threading.Thread(target=self.said.extend, args=(self.process.stdout,), daemon=True).start()
                return
        raise RuntimeError("it did not start:\n" + "".join(self.said))

    def send(self, path, kind, data, method="POST"):
        """Return the status and the answer."""
        request = urllib.request.Request(f"{self.address}/{path}", data.encode(), {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def stop(self):
        """End the process."""
        self.process.kill()
        self.process.wait()


def serve():
    """Return a service of the sample city, which takes the credentials ``it:secret``."""
    command = [sys.executable, "-u", "-m", "traveltime_lab", "serve", "--port", "0", "--quiet"]
    return Process([*command, "--credentials", "it:secret"], r"Serving .* at (http://[^ ]+)")


def expect(network, mode, place, limit, reverse, lats, lngs):
    """Return seconds and metres of the documents that a query of the matrix must find, by position."""
    lat, wire_lats = oracle.on_the_wire(place[0], lats)
    lng, wire_lngs = oracle.on_the_wire(place[1], lngs)
    transportation = {"type": "public_transport" if mode == "pt" else mode}
    if mode.startswith("driving"):
        transportation["traffic_model"] = "peak"
    moment = {"arrival_time" if reverse else "departure_time": "weekday_morning"}
    return oracle.answers(
        network, (lat, lng), wire_lats, wire_lngs, reverse=reverse, travel_time=limit, transportation=transportation,
        **moment,
    )  # fmt: skip


def draw_documents():
    """Return a generator of random numbers, the zones, the documents, and places and numbers of those with a place."""
    random = np.random.default_rng(oracle.SEED)
    zones = tl.sample_points(kind="zones").geometry
    documents, lats, lngs, has_place = oracle.scatter(random, zones)
    ids = np.flatnonzero(has_place)
    return random, zones, documents, lats[ids], lngs[ids], ids
