"""
The hosted service's plugin for Elasticsearch, unchanged, against `traveltime-lab serve`.

Needs Java 11 or later, Maven, and the jars of the hosted service's plugin for Elasticsearch 7.17 with those it needs,
which are not part of this repository: releases of traveltime-dev/traveltime-elasticsearch-plugin on GitHub have them::

    python elasticsearch_plugin.py --jars FOLDER --workdir WORK

A node in a process of its own takes the documents of `plugins/solr/it/oracle.py`, in the sample city, and answers
queries as users write them: the four modes that the plugin documents, both directions, four spellings of the origin,
alone and as a filter of a larger query, with `prefilter`, `boost`, `output` and `distanceOutput`. The documents found,
their seconds, metres and scores must be those of `time_filter`, given the coordinates that the messages carry. Ends
with code 1 on a difference.
"""

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from search_plugins import Process, draw_documents, expect, oracle, serve

import traveltime_lab as tl

PLUGIN = "com.traveltime.plugin.elasticsearch.TraveltimePlugin"
MODES = ("driving+ferry", "walking+ferry", "cycling+ferry", "pt")
SPELLINGS = ("object", "array", "string", "geohash")
MAPPINGS = {"properties": {"kind": {"type": "keyword"}, "location": {"type": "geo_point"}}}
SCORE_TOLERANCE = 1e-5  # scores are floats of 32 bits


class Node(Process):
    """A node of Elasticsearch with the plugin and the documents."""

    def __init__(self, options, folder, service, key):
        own = options.workdir / "classes", (options.workdir / "classpath.txt").read_text("utf-8")
        classpath = os.pathsep.join(map(str, (*own, options.jars.resolve() / "*")))
        settings = {
            "traveltime.app.id": "it", "traveltime.api.key": key,
            "traveltime.api.uri": f"{service.address}/api/v3/",
            "traveltime.default.mode": "driving+ferry", "traveltime.default.country": "uk",
        }  # fmt: skip
        flags = ["-Xmx1g", "-Dio.netty.noUnsafe=true"]
        command = [options.java, *flags, "-cp", classpath, "traveltimelab.elasticsearch.OneNode", PLUGIN, folder]
        super().__init__([*command, *(f"{name}={value}" for name, value in settings.items())], r"Listening at (\S+)")

    def ask(self, method, path, body):
        """Return the status and the answer."""
        lines = body if isinstance(body, list) else [body]
        data = "".join(json.dumps(line) + "\n" for line in lines)
        kind = "application/x-ndjson" if isinstance(body, list) else "application/json"
        return self.send(path, kind, data, method)

    def fill(self, documents):
        """Index the documents, in several segments of two shards."""
        settings = {"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": -1}
        self.must("PUT", "flats", {"settings": settings, "mappings": MAPPINGS})
        for begin in range(0, len(documents), 500):
            lines = []
            for document in documents[begin : begin + 500]:
                fields = {name: value for name, value in document.items() if name != "id"}
                lines += [{"index": {"_id": document["id"]}}, fields]
            if self.must("POST", "flats/_bulk?refresh=true", lines)["errors"]:
                raise RuntimeError("a document was refused")

    def must(self, method, path, body):
        """Return the answer to a request that must succeed."""
        status, answer = self.ask(method, path, body)
        if status >= 300 or answer.get("_shards", {}).get("failed"):
            raise RuntimeError(f"{method} {path}: {status} {json.dumps(answer)[:2000]}")
        return answer


def write_origin(place, spelling):
    """Return an origin as a user writes it, and the place that Elasticsearch makes of it."""
    lat, lng = place
    if spelling == "geohash":
        text, lat, lng = oracle.geohash(lat, lng, 9)
        # Elasticsearch takes the south-western corner of the cell, which has 22 bits of latitude and 23 of longitude.
        return text, (lat - 90 / 2**22, lng - 180 / 2**23)
    return {"object": {"lat": lat, "lon": lng}, "array": [lng, lat], "string": f"{lat},{lng}"}[spelling], place


def draw(random, network, zones, number, lats, lngs, ids):
    """Return a query, its parts, and the seconds and metres of the documents that it must find, by their ids."""
    zone = zones.iloc[int(random.integers(len(zones)))]
    mode, reverse = MODES[number % len(MODES)], number // len(MODES) % 2 == 1
    limit = int(oracle.LIMITS[random.integers(len(oracle.LIMITS))])
    spelling = SPELLINGS[int(random.integers(len(SPELLINGS)))]
    origin, place = write_origin((round(zone.y, 6), round(zone.x, 6)), spelling)
    query = {"field": "location", "origin": origin, "limit": limit, "output": "seconds"}
    query["requestType"] = "MANY_TO_ONE" if reverse else "ONE_TO_MANY"
    if mode != MODES[0] or number % 3:  # else those of the settings
        query |= {"mode": mode, "country": "uk"}
    if mode != "pt":
        query["distanceOutput"] = "metres"
    is_filter, has_prefilter = number % 5 == 4, number % 3 == 1
    if has_prefilter:
        query["prefilter"] = {"term": {"kind": "even"}}
    if number % 7 == 3:
        query["boost"] = 2.5
    body = {"traveltime": query}
    if is_filter:
        body = {"bool": {"must": {"match_all": {}}, "filter": [body]}}
    found = expect(network, mode, place, limit, reverse, lats, lngs)
    expected = {str(ids[i]): value for i, value in found.items() if not (has_prefilter and ids[i] % 2)}
    score = 1.0 if is_filter else query.get("boost", 1.0)
    case = {"body": body, "limit": limit, "mode": mode, "reverse": reverse, "score": score, "is_filter": is_filter}
    return case, expected


def check(node, case, expected):
    """Return how many documents differ: in being found, in seconds, in metres, in their score."""
    begin = time.perf_counter()
    answer = node.must("POST", "flats/_search", {"query": case["body"], "size": 2000, "_source": False})
    case["took"] = time.perf_counter() - begin
    hits = {hit["_id"]: hit for hit in answer["hits"]["hits"]}
    differ = [len(hits.keys() ^ expected.keys()), 0, 0, 0]
    limit = case["limit"]
    for name in hits.keys() & expected.keys():
        seconds, metres = expected[name]
        fields = hits[name].get("fields", {})
        differ[1] += fields.get("seconds") != [seconds]
        differ[2] += case["mode"] != "pt" and fields.get("metres") != [metres]
        score = 1.0 if case["is_filter"] else case["score"] * (limit - seconds + 1) / (limit + 1)
        differ[3] += not math.isclose(hits[name]["_score"], score, rel_tol=SCORE_TOLERANCE, abs_tol=1e-6)
    scores = [hit["_score"] for hit in answer["hits"]["hits"]]
    if scores != sorted(scores, reverse=True):
        raise RuntimeError("hits are not in the order of their scores")
    return differ


def draw_all(network, number):
    """Return the documents, and queries with what they must find."""
    random, zones, documents, lats, lngs, ids = draw_documents()
    cases = []
    while len(cases) < number:
        case, expected = draw(random, network, zones, len(cases), lats, lngs, ids)
        if expected:  # The service refuses places without a street nearby, for which the library has empty answers.
            cases.append((case, expected))
    return documents, cases


def compare(node, cases, most):
    """Run all queries; print a table; return whether all is equal."""
    rows, took = {}, []
    for case, expected in cases:
        row = rows.setdefault((case["mode"], case["reverse"]), [0, 0, 0, 0, 0, 0])
        added = [1, len(expected), *check(node, case, expected)]
        rows[case["mode"], case["reverse"]] = [a + b for a, b in zip(row, added, strict=True)]
        took.append(case["took"])
    print(f"{'mode':14} {'direction':12} queries documents  differ: found seconds metres scores")
    for (mode, reverse), row in sorted(rows.items()):
        way = "MANY_TO_ONE" if reverse else "ONE_TO_MANY"
        print(f"{mode:14} {way:12} {row[0]:7} {row[1]:9} {row[2]:14} {row[3]:7} {row[4]:6} {row[5]:6}")
    partial = sum(10 < len(expected) < 0.98 * most for _, expected in cases)
    print(f"{partial} of {len(cases)} queries find some documents and not all; median {np.median(took) * 1000:.0f} ms")
    return not any(sum(row[2:]) for row in rows.values())


def warm_up(node, documents):
    """Send queries until all modes answer: the plugin waits 10 s, and a first start on a machine compiles longer."""
    for mode, way in itertools.product(MODES, ("ONE_TO_MANY", "MANY_TO_ONE")):
        options = {"mode": mode, "requestType": way} | ({} if mode == "pt" else {"distanceOutput": "metres"})
        for attempt in range(10):
            status, answer = node.ask("POST", "flats/_search", simple(documents, **options))
            if status == 200:
                break
            print(f"warming up, {mode} {way}, {attempt + 1}: {reason(status, answer)}", flush=True)


def reason(status, answer):
    """Return an error in one line."""
    error = answer.get("error", {})
    cause = error.get("failed_shards", [{}])[0].get("reason", error) if isinstance(error, dict) else error
    while isinstance(cause, dict) and "caused_by" in cause:
        cause = cause["caused_by"]
    return f"{status} {cause.get('type')}: {cause.get('reason')}" if error else f"{status} {json.dumps(answer)[:300]}"


def simple(documents, **more):
    """Return a search around the first document with a place."""
    place = next(document["location"] for document in documents if "location" in document)
    query = {"field": "location", "origin": place, "limit": 900, "mode": "walking+ferry", "country": "uk"}
    return {"query": {"traveltime": query | more}, "size": 1}


def failures(options, node, service, documents, folder):
    """Print what wrong queries, a wrong key and a stopped service are answered; return whether each is an error."""
    wrong = {"an unknown mode": {"mode": "swimming"}, "an unknown country": {"country": "atlantis"}}
    wrong["distances of public transport"] = {"mode": "pt", "distanceOutput": "metres"}
    wrong["an origin that no map covers"] = {"origin": "51.5,-0.1"}
    statuses = []

    def told(label, peer, body):
        status, answer = peer.ask("POST", "flats/_search", body)
        statuses.append(status)
        print(f"{label}: {reason(status, answer)}")

    for label, more in wrong.items():
        told(label, node, simple(documents, **more))
    _, answer = node.ask("POST", "flats/_search", simple(documents, distanceOutput="metres"))
    print(f"distanceOutput without output: fields are {answer['hits']['hits'][0].get('fields')}")
    stranger = Node(options, folder / "stranger", service, "wrong")
    try:
        stranger.fill(documents)
        told("a wrong key", stranger, simple(documents))
    finally:
        stranger.stop()
    service.stop()
    told("a stopped service", node, simple(documents, limit=901))
    return all(status >= 400 for status in statuses)


def main():
    """Compile, start both, run the queries, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, required=True, help="folder of the plugin's jars")
    parser.add_argument("--workdir", type=Path, required=True, help="for what Maven compiles")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--mvn", default="mvn")
    parser.add_argument("--java", default="java")
    options = parser.parse_args()
    options.workdir = options.workdir.resolve()
    pom = Path(__file__).parent / "elasticsearch" / "pom.xml"
    subprocess.run(
        [options.mvn, "-q", "-B", "-f", pom, "compile", f"-Dwork={options.workdir}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    documents, cases = draw_all(tl.sample_network(), options.queries)
    service = serve()
    node = None
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            node = Node(options, Path(folder) / "node", service, "secret")
            node.fill(documents)
            warm_up(node, documents)
            is_same = compare(node, cases, sum("location" in document for document in documents))
            is_told = failures(options, node, service, documents, Path(folder))
            node.stop()
    finally:
        for process in filter(None, (node, service)):
            process.stop()
    print("equal" if is_same else "DIFFERENT", "and" if is_told else "but not", "every failure is an error")
    return 0 if is_same and is_told else 1


if __name__ == "__main__":
    sys.exit(main())
