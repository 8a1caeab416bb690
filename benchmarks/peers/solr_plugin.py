"""
The hosted service's plugin for Solr beside ours, against `traveltime-lab serve`, on random queries.

Needs Java 17, Maven, and the jar of the hosted service's plugin for Solr 9.4 or later, which is not part of this
repository: a release of traveltime-dev/traveltime-solr-plugin on GitHub, or what its own build makes::

    python solr_plugin.py --published PUBLISHED.jar

Two processes run Solr 9.10 as `plugins/solr/it` does, with its documents, in the sample city, and its configuration:
one with the classes of ours, one with the same names in the package of the published plugin. Queries go over both
parsers, seven modes, both directions, limits, two spellings of the origin, raw and local parameters, all types of
caches cold and filled, two filters in one request, `weight`, the plugin as main query, `filtering_disabled`, values of
time and distance as fields and in `sort`, values without the filter, and queries that must fail. Each answer is held
against `time_filter`, given the coordinates that the messages carry: documents, seconds, metres, scores, order, and the
status of errors. Ends with code 1 where ours differs, or where the published plugin does in a way that `NAMED` lacks.
"""

import argparse
import collections
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from search_plugins import IT, ROOT, Process, draw_documents, expect, oracle, serve

import traveltime_lab as tl

DEPENDENCIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
PACKAGES = {"ours": "traveltimelab.solr.", "published": "com.traveltime.plugin.solr."}
#: Each parser of the configuration: prefix of its raw parameters, and its value sources if it has a cache of full size.
PARSERS = {
    "traveltime": ("traveltime_", "time", "dist"), "all": ("traveltime_", "time", "dist"),
    "fuzzy": ("fuzzy_", "fuzzy_time", "fuzzy_dist"), "small": ("small_",), "uncached": ("uncached_",),
    "failing": ("traveltime_",), "failing_json": ("json_",),
    "json": ("json_", "json_time", "json_dist"), "json_fuzzy": ("json_fuzzy_", "json_fuzzy_time", "json_fuzzy_dist"),
}  # fmt: skip
MODES = ("pt", *oracle.MODES)
TRANSIT = {"type": "public_transport"}
MAIN_QUERIES = {"*:*": 1.0, "kind:even^=2": 2.0}
N_ORIGINS = 25  # few, so that caches get the same origin again
SCORE_TOLERANCE = 1e-5  # scores are floats of 32 bits
#: Changes that make a good query wrong: other parameters, None for left out, and {} for arrival or departure.
WRONG_FAST = [
    *({name: None} for name in ("origin", "field", "limit", "mode", "country")),
    {"origin": "here!"}, {"origin": "91,0"}, {"origin": "0,0"}, {"field": "kind"}, {"field": "nowhere"},
    {"field": "locations"}, {"limit": "-1"}, {"limit": "1.5"}, {"limit": "90000"}, {"mode": "flying"},
    {"country": "xx"}, {"requestType": "ALL"}, {"distances": "maybe"}, {"weight": "2"}, {"weight": "heavy"},
]  # fmt: skip
WRONG_JSON = [
    *({name: None} for name in ("field", "travel_time", "transportation", "{}_time", "{}_location")),
    {"transportation": "driving"}, {"transportation": '{"type":"flying"}'}, {"transportation": "{}"},
    {"{}_location": '{"lat":-30}'}, {"{}_location": '{"lat":0,"lng":0}'}, {"{}_time": "tomorrow"},
    {"travel_time": "-1"}, {"travel_time": "90000"}, {"range": "1"}, {"weight": "2"},
    {"arrival_time": oracle.MOMENT, "departure_time": oracle.MOMENT},
]  # fmt: skip
#: Uses of a filter ({}) that are none of its own.
INSIDE = {
    "alone as q": [("q", "{}")], "negated": [("q", "*:*"), ("fq", '-_query_:"{}"')],
    "in filter()": [("q", "*:*"), ("fq", 'filter(_query_:"{}")')],
    "facet.query": [("q", "*:*"), ("facet", "true"), ("facet.query", "{}")],
}  # fmt: skip
#: Faults of the published plugin: what and why, and whether a case and what is wrong with its answer are of that kind.
NAMED = [
    ("distances over JSON: 500 if a document is unreachable, and none in the cache (JsonFetcher leaves them null)",
     lambda case, wrong: asks_json_distances(case) and wrong[0] in ("status 500 for 200", "metres")),
    ("values: those of later documents, after one without a place or requested twice (TravelTimeValueSource, advance)",
     lambda case, wrong: ("()" in case["sort"] and wrong == ["order"]) or
                         (case["what"] == "values alone" and {*wrong} <= {"seconds", "metres"})),
    ("main query beside its filter: scored before the filter has times, 500 where the cache has no entry yet",
     lambda case, wrong: "main query" in case["what"] and wrong[0] in {"order", "score", "status 500 for 200"}),
    ("FuzzyRequestCache: a secondary_size below the number of documents loses documents, as its README says",
     lambda case, wrong: case["parser"] == "small" and wrong == ["documents"]),
    ("a limit of 0 is refused, which its README allows", lambda case, wrong: case["what"] == "limit 0"),
    ("inside of other queries: 500, or only what the cache has", lambda case, wrong: case["what"] in INSIDE),
    ("500 for what is wrong with a query or what the service refuses (here 400), and for a stopped service (here 503)",
     lambda case, wrong: case["status"] >= 400 and wrong[0].startswith("status 500")),
    ("a field of several locations and distances=maybe are accepted",
     lambda case, wrong: case["what"] in ("field=locations", "distances=maybe") and wrong == ["status 200 for 400"]),
]  # fmt: skip


class Solr(Process):
    """Solr with one of the plugins and the documents."""

    def __init__(self, java, classpath, folder, package, jar, service):
        library = folder / "documents" / "lib"
        library.mkdir(parents=True)
        if jar is not None:
            shutil.copy(jar, library)
        config = (
            (IT / "src/test/resources/core/conf/solrconfig.xml").read_text("utf-8").replace(PACKAGES["ours"], package)
        )
        config = config.replace('<str name="country">uk</str>', "")  # an option that only ours has
        (folder / "config.xml").write_text(config)
        settings = {"service": service.address, "failing": "http://127.0.0.1:1", "solr.version": "LATEST"}
        opens = (part for name in ("lang", "util") for part in ("--add-opens", f"java.base/java.{name}=ALL-UNNAMED"))
        flags = ["-Xmx1g", *opens, *(f"-D{name}={value}" for name, value in settings.items())]
        command = [java, *flags, "-cp", classpath, "traveltimelab.it.Solr", folder, folder / "config.xml"]
        super().__init__(command, r"Listening at (\S+)")

    def fill(self, documents):
        """Index the documents, in several segments."""
        for begin in range(0, len(documents), 500):
            data = json.dumps(documents[begin : begin + 500])
            status, answer = self.send("update?commit=true&wt=json", "application/json", data)
            if status != 200:
                raise RuntimeError(answer)

    def ask(self, parameters):
        """Return the status and the answer to a query."""
        return self.send("select", "application/x-www-form-urlencoded", urllib.parse.urlencode(parameters))


class Draw:
    """Random queries, each with what it must answer."""

    def __init__(self):
        self.random, zones, self.documents, self.lats, self.lngs, self.ids = draw_documents()
        self.network = tl.sample_network()
        picked = zones.iloc[self.random.choice(len(zones), N_ORIGINS, replace=False)]
        self.origins = [(round(y, 6), round(x, 6)) for y, x in zip(picked.y, picked.x, strict=True)]

    def pick(self, *values):
        """Return one of the values."""
        return values[int(self.random.integers(len(values)))]

    def chance(self, share):
        """Return whether a thing of this probability happens."""
        return bool(self.random.random() < share)

    def filter(self, parser):
        """Return the parameters of a filter, and the seconds and metres of the documents that it must find, by id."""
        found = {}
        while not found:  # The service refuses places without a street nearby, for which the library has empty answers.
            place, limit, reverse = self.pick(*self.origins), int(self.pick(*oracle.LIMITS)), self.chance(0.5)
            make = self.by_json if parser.startswith("json") else self.fast
            options, found = make(place, limit, reverse)
        return options, {str(self.ids[i]): value for i, value in found.items()}

    def fast(self, place, limit, reverse):
        """Return a filter over Protocol Buffers, and what it finds by position."""
        mode, origin = self.pick(*MODES), f"{place[0]},{place[1]}"
        if self.chance(0.3):
            origin, *place = oracle.geohash(*place, 9)
        options = {"origin": origin, "field": "location", "limit": str(limit), "mode": mode}
        options["country"] = self.pick("uk", "fr", "ie")
        if reverse or self.chance(0.3):
            options["requestType"] = "MANY_TO_ONE" if reverse else "ONE_TO_MANY"
        if self.chance(0.5):
            options["distances"] = "true"
        return options, expect(self.network, mode, place, limit, reverse, self.lats, self.lngs)

    def by_json(self, place, limit, reverse):
        """Return a filter over JSON, and what it finds by position."""
        transportation, side = self.pick(*oracle.JSON_OPTIONS, TRANSIT), "arrival" if reverse else "departure"
        moment = "2019-05-14T14:00:00Z" if transportation is TRANSIT else oracle.MOMENT  # the timetable is of 2019
        options = {
            "field": "location", "travel_time": str(limit), "transportation": json.dumps(transportation),
            f"{side}_time": moment, f"{side}_location": json.dumps({"lat": place[0], "lng": place[1]}),
        }  # fmt: skip
        if transportation is not TRANSIT and self.chance(0.25):
            options["range"] = json.dumps({"enabled": True, "max_results": 2, "width": 600})
        if self.chance(0.1):
            options["distances"] = "true"
        found = oracle.answers(
            self.network, place, self.lats, self.lngs, reverse=reverse, travel_time=limit,
            transportation=transportation, **{f"{side}_time": moment},
        )  # fmt: skip
        return options, found

    def good(self):
        """Return queries that must succeed: a filter cold, with what the caches have, and values without the filter."""
        parser = self.pick(*[name for name in PARSERS if not name.startswith(("failing", "small"))] * 5, "small")
        prefix, *values = PARSERS[parser]
        options, found = self.filter(parser)
        limit = int(options.get("limit") or options["travel_time"])
        how, weight = self.pick("raw", "raw", "local", "both"), float(self.pick(0, 0, 0.25, 1))
        parameters, local = write(parser, options, how)
        if weight and self.chance(0.5):
            local = f"{local[:-1]} weight={weight}}}"
        elif weight:
            parameters.append((f"{prefix}weight", str(weight)))
        if parser == "all":
            found = {str(i): found.get(str(i), (-1, -1)) for i in self.ids}
        is_main = bool(values) and how == "raw" and self.chance(0.1)
        query = "{!" + parser + "}" if is_main else self.pick(*MAIN_QUERIES)
        is_whole = query == "*:*"
        if query.startswith("kind") or self.chance(0.3):
            found = {name: value for name, value in found.items() if int(name) % 2 == 0}
            parameters += [] if query.startswith("kind") else [("fq", "kind:even")]
            is_whole = False
        if self.chance(0.15):  # a second filter, of the other endpoint
            other = "traveltime" if parser.startswith("json") else "json"
            more, also = self.filter(other)
            rest, second = write(other, more, "raw")
            parameters += [*rest, ("fq", second)]
            found = {name: value for name, value in found.items() if name in also}
            is_whole = False
        shown = dict(zip(("seconds", "metres"), values[: 1 + ("distances" in options)], strict=False))
        shown = {} if how == "local" else shown
        sorts = ["id asc", "score desc, id asc", "score desc"]
        sorts += [f"{values[0]}() asc, id asc"] if shown else []
        sort, rows = self.pick(*sorts), self.pick(5000, 5000, 20)
        fields = ",".join(["id", "score", *(f"{name}:{function}()" for name, function in shown.items())])
        parameters += [("q", query), ("fl", fields), ("sort", sort), ("rows", str(rows))]
        expected = {}
        for name, (seconds, metres) in found.items():
            base = (limit / (limit + seconds) if seconds >= 0 else 0.0) if is_main else MAIN_QUERIES[query]
            share = (limit - seconds + 1) / (limit + 1) if seconds >= 0 else 0.0
            score = (1 - weight) * base + weight * share
            # Unless it sorts by score alone, Solr sorts by this score, but shows that of the main query.
            expected[name] = {"seconds": seconds, "metres": metres, "rank": -score}
            expected[name]["score"] = score if sort == "score desc" else base
        case = {
            "parser": parser, "what": "main query" if is_main else "filter", "status": 200, "expected": expected,
            "shown": list(shown), "sort": sort, "rows": rows, "parameters": [*parameters, ("fq", local)],
        }  # fmt: skip
        cases = [case]
        if self.chance(0.3):  # once more, but not from the caches of Solr
            cases.append(case | {"what": f"{case['what']} again", "parameters": [*case["parameters"], ("fq", "id:*")]})
        if is_whole and shown and self.chance(0.2):
            cases.append(self.values(case))
        return cases

    def values(self, case):
        """Return a query without its filter: all documents, with the values that the cache has."""
        kept = [pair for pair in case["parameters"] if pair[0] not in ("sort", "rows", "fq")]
        nothing = {"seconds": -1, "metres": -1}
        every = {d["id"]: case["expected"].get(d["id"], nothing) | {"score": 1.0} for d in self.documents}
        case = case | {"what": "values alone", "expected": every, "sort": "id asc", "rows": 5000}
        return case | {"parameters": [*kept, ("sort", "id asc"), ("rows", "5000")]}

    def bad(self):
        """Return a query that must fail, or one with a limit of 0."""
        parser = self.pick("traveltime", "fuzzy", "uncached", "json", "json_fuzzy")
        is_json = parser.startswith("json")
        options, found = self.filter(parser)
        case = {"status": 400, "shown": [], "sort": "id asc", "rows": 5000, "expected": {}}
        what = self.pick("parameter", "parameter", "parameter", "inside", "inside", "stopped", "values", "zero")
        fields, uses = "id", [("q", "*:*"), ("fq", "{}")]
        if what == "parameter":
            changes = self.pick(*(WRONG_JSON if is_json else WRONG_FAST))
            side = "arrival" if "arrival_time" in options else "departure"
            changes = {name.format(side): value for name, value in changes.items()}
            options = {name: value for name, value in (options | changes).items() if value is not None}
            what = " ".join(f"{name}={value}" if value else f"no {name}" for name, value in changes.items())
        elif what == "zero":
            what, case["status"] = "limit 0", 200
            options["travel_time" if is_json else "limit"] = "0"
            case["expected"] = {name: {} for name, value in found.items() if value[0] == 0}
        elif what == "inside":
            what, uses = self.pick(*INSIDE.items())
        elif what == "stopped":
            what, case["status"], parser = "a stopped service", 503, "failing_json" if is_json else "failing"
        parameters, local = write(parser, options, "raw")
        if what == "values":
            what, fields, parameters = "values without parameters", f"id,t:{'json_' * is_json}time()", []
            local = write(parser, options, "local")[1]
        parameters += [("fl", fields), ("sort", "id asc"), ("rows", "5000")]
        parameters += [(name, value.replace("{}", local)) for name, value in uses]
        return [case | {"parser": parser, "what": what, "parameters": parameters}]


def write(parser, options, how):
    """Return raw parameters and the local ones of a filter; local ones win over raw ones."""
    prefix = PARSERS[parser][0]
    limit = "limit" if "limit" in options else "travel_time"
    wrong = {"raw": {}, "local": {limit: "1"}, "both": {}}[how]
    parameters = [(prefix + name, value) for name, value in (options | wrong).items()]
    inside = {"raw": (), "local": options, "both": (limit,)}[how]
    local = "".join(f" {name}='{options[name]}'" for name in inside if name != "distances")
    return parameters, "{!" + parser + local + "}"


def asks_json_distances(case):
    """Return whether a query requests distances over JSON."""
    return any(pair in case["parameters"] for pair in (("json_distances", "true"), ("json_fuzzy_distances", "true")))


def faults(case, status, answer):
    """Return what is wrong with an answer, by the library: words, or nothing."""
    if status != case["status"]:
        return [f"status {status} for {case['status']}"]
    if status != 200:
        return []
    expected, documents = case["expected"], {d["id"]: d for d in answer["response"]["docs"]}
    if not documents.keys() <= expected.keys() or answer["response"]["numFound"] != len(expected):
        return ["documents"]
    wrong = set()
    for name, document in documents.items():
        wrong |= {value for value in case["shown"] if document[value] != expected[name][value]}
        if "score" in document and not is_close(document["score"], expected[name]["score"]):
            wrong.add("score")
    keys = {"id": lambda name: name, "score": lambda name: expected[name]["rank"]}
    key = keys.get(case["sort"].split()[0], lambda name: expected[name]["seconds"])
    best = sorted(map(key, expected))[: case["rows"]]
    if len(best) != len(documents) or not all(map(is_close, best, map(key, documents))):
        wrong.add("order")
    return sorted(wrong)


def is_close(a, b):
    """Return whether two sort keys or scores are the same but for rounding."""
    return a == b if isinstance(a, str) else math.isclose(a, b, rel_tol=SCORE_TOLERANCE, abs_tol=1e-6)


def compare(peers, cases):
    """Query both, print where they differ; return whether ours is right and all faults of the other are named."""
    rows, named, others = collections.defaultdict(lambda: [0, 0, 0, 0]), collections.Counter(), []
    for case in cases:
        answers = {name: peer.ask(case["parameters"]) for name, peer in peers.items()}
        found = {name: faults(case, *answer) for name, answer in answers.items()}
        row = rows[case["parser"]]
        row[0] += 1
        row[1] += not any(found.values())
        row[2] += bool(found["ours"])
        row[3] += bool(found["published"])
        reasons = [reason for reason, has in NAMED if found["published"] and has(case, found["published"])]
        if found["ours"] or (found["published"] and not reasons):
            others.append((case, found, answers))
        else:
            named.update(reasons[:1])
    print(f"{'parser':12} queries equal  wrong: ours published")
    for parser, row in [*sorted(rows.items()), ("all", [sum(column) for column in zip(*rows.values(), strict=True)])]:
        print(f"{parser:12} {row[0]:7} {row[1]:5} {row[2]:12} {row[3]:9}")
    for reason, count in named.most_common():
        print(f"{count:4} published: {reason}")
    for case, found, answers in others:
        print(f"NOT NAMED: {case['parser']}, {case['what']}: {found}\n     {case['parameters']}")
        for name, (status, answer) in answers.items():
            words = answer["error"].get("msg") if "error" in answer else f"{answer['response']['numFound']} documents"
            print(f"     {name}: {status} {words}; right: {case['status']}, {len(case['expected'])} documents")
    return not others


def main():
    """Package ours, start all, query, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", type=Path, required=True, help="jar of traveltime-solr-plugin for Solr 9.4 on")
    parser.add_argument("--queries", type=int, default=240)
    parser.add_argument("--mvn", default="mvn")
    parser.add_argument("--java", default="java")
    options = parser.parse_args()
    draw, processes, cases = Draw(), [], []
    while len(cases) < options.queries:
        cases += draw.bad() if draw.chance(0.1) else draw.good()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = Path(folder) / "classpath.txt"
        subprocess.run(
            [options.mvn, "-q", "-B", "-f", ROOT / "plugins/solr/pom.xml", "-pl", "it/solr-9.10", "-am", "package",
             DEPENDENCIES, "-DskipTests", f"-Dmdep.outputFile={written}"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        classpath = f"{IT / 'solr-9.10/target/test-classes'}{os.pathsep}{written.read_text('utf-8')}"
        try:
            processes.append(serve())
            for name, jar in {"ours": None, "published": options.published.resolve()}.items():
                home = Path(folder) / name
                processes.append(Solr(options.java, classpath, home, PACKAGES[name], jar, processes[0]))
                processes[-1].fill(draw.documents)
            is_right = compare(dict(zip(PACKAGES, processes[1:], strict=True)), cases[: options.queries])
        finally:
            for process in processes:
                process.stop()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
