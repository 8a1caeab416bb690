"""Calls that are not made from tables: scenarios, receipts, jobs, graphs, pictures, maps of notebooks, and commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus.cases import Case, case
from benchmarks.corpus.library import TUESDAY, TYPES, code
from traveltime_lab.modes import table

#: By function that makes receipts: a call of it, and the points that replay needs.
_ANSWERS = {
    "time_filter": ("HA, HB, travel_time=900, transportation='walking'", "origins=HA, destinations=HB"),
    "time_map": ("HA, travel_time=[200, 300], transportation='walking', level_of_detail='low'", "origins=HA"),
    "distance_map": ("HA, distance=300, transportation='walking', level_of_detail='low'", "origins=HA"),
    "nearest": ("HA, HB, travel_time=900, k=2", "origins=HA, places=HB"),
    "routes": ("HA, HB, transportation='cycling'", "origins=HA, destinations=HB"),
    "h3_cells": ("HA, travel_time=200, resolution=9, transportation='walking'", "origins=HA"),
    "geohash_cells": ("HA, travel_time=200, resolution=7, transportation='walking'", "origins=HA"),
    "accessibility": ("HA, HRANDOM, travel_time=600, values='people'", "origins=HA, opportunities=HRANDOM"),
    "snap": ("HRANDOM", "points=HRANDOM"),
    "calibrate_speeds": ("OBSERVED, classes=['residential']", "observed=OBSERVED"),
}
_TAGS = (
    "{'amenity': True}", "{'amenity': ['cafe', 'restaurant']}", "{'shop': 'supermarket'}", "{'leisure': 'park'}", "{}",
    "{'amenity': 5}",
)  # fmt: skip
_QUERIES = (
    "Rautatieasema", "rautatie", "Forum, Helsinki", "Mannerheimintie 5", "Nowhere at all", "", " ", "00100",
    "Ateneum Museo", "a" * 300,
)  # fmt: skip
_SEARCHED = (
    "", ", limit=2", ", format_name=True", ", format_name=True, exclude_country=True", ", within_country='SE'",
    ", focus={'lat': 60.17, 'lng': 24.95}",
)  # fmt: skip
_SPOTS = (
    "24.9414, 60.1711", "24.9524, 60.1679", "24.94, 60.17", "0, 0", "24.9600, 60.1650", "200, 0", "24.94, 91", "'a', 5",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Yield all of them."""
    texts = sections()
    for name in ("scenario", "receipt", "network", "answer", "answer of two"):
        for text in texts[name]:
            yield code(f"{name}/{text}", text, files="write_" in text)
    yield from _scenarios(texts["change"])
    yield from _receipts()
    yield from _networks()
    yield from _maps(texts["map"], texts["map change"], texts["map export"])
    yield from _commands()


def sections() -> dict[str, list[str]]:
    """Return the source texts of ``calls.txt`` by section."""
    found: dict[str, list[str]] = {}
    for part in (Path(__file__).parent / "calls.txt").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, rest = part.partition("\n")
        found[title.strip()] = [text.strip("\n") for text in rest.split("\n\n") if text.strip()]
    return found


def _scenarios(changes: list[str]) -> Iterator[Case]:
    """Yield changes, what they do to trips by car and by timetable, and their files."""
    for change in changes:
        yield code(f"change/{change}", f"c = {change}\n[repr(c), c.name]")
        made = f"n = POA.with_changes({change})\n"
        asked = f"tl.time_filter(n, A, B, travel_time=3600, departure_time={TUESDAY}, transportation="
        yield code(f"scenario/{change}", f"{made}[n, n.changes, {asked}'driving')]")
        yield code(f"scenario ride/{change}", f"{made}{asked}'public_transport')")
        saved = f"tl.save_changes({change}, FOLDER / 'c.json')\ntl.load_changes(FOLDER / 'c.json')"
        yield code(f"saved change/{change}", saved, files=True)
    for kind in TYPES:
        how = f"transportation={kind!r}, departure_time={TUESDAY}"
        before, after = (f"tl.time_filter({n}, PLACES, PLACES, travel_time=3600, {how})" for n in ("POA", "CHANGED"))
        yield code(f"changed/{kind}", f"tl.compare({before}, {after})")
        yield code(f"changed routes/{kind}", f"tl.routes(CHANGED, A, B, {how})")
        how = f"transportation={kind!r}, arrival_time={TUESDAY}"
        yield code(f"changed areas/{kind}", f"tl.time_map(CHANGED, ONE, travel_time=500, level_of_detail='low', {how})")
    for content in ("", "{}", "[]", "[{}]", '{"format": "traveltime_lab.changes"}', "nonsense"):
        written = f"(FOLDER / 'c.json').write_text({content!r})\ntl.load_changes(FOLDER / 'c.json')"
        yield code(f"changes file/{content}", written)


def _receipts() -> Iterator[Case]:
    """Yield receipts of each kind of answer, and replays on the same network and on another."""
    for name, (asked, points) in _ANSWERS.items():
        made = f"r = tl.{name}(HEL, {asked})\n"
        yield code(f"receipt/{name}", f"{made}x = tl.receipt(r)\n[dict(x), str(x), repr(x)]")
        shown = "[x.function, x.is_same, x.digest, x.differences, repr(x)]"
        yield code(f"replay/{name}", f"{made}x = tl.replay(r, HEL)\n{shown}")
        yield code(f"replay points/{name}", f"{made}x = tl.replay(tl.receipt(r), HEL, {points})\n{shown}\nx.answer")
        yield code(f"replay changed/{name}", f"{made}x = tl.replay(tl.receipt(r), SLOWER, {points})\n{shown}")
        yield code(f"replay no points/{name}", f"{made}tl.replay(tl.receipt(r), HEL)")
        if name != "calibrate_speeds":
            kept = f"r.to_parquet(FOLDER / 'r.parquet')\nx = tl.replay(FOLDER / 'r.parquet', HEL, {points})\n"
            yield code(f"replay file/{name}", f"{made}{kept}{shown}")
            yield code(f"receipt of a part/{name}", f"{made}tl.receipt(r.iloc[:1])")
    for kind in TYPES:
        asked = f"A, B, travel_time=2400, transportation={kind!r}, departure_time={TUESDAY}"
        shown = "[dict(tl.receipt(r)), x.is_same, x.differences]"
        yield code(f"replay/{kind}", f"r = tl.time_filter(POA, {asked})\nx = tl.replay(r, POA)\n{shown}")


def _networks() -> Iterator[Case]:
    """Yield networks as other packages have them, places of the map, and names."""
    for kind in (*table.STREET_TYPES, "bus"):
        yield code(f"networkx/{kind}", f"graph(HEL.to_networkx({kind!r}))")
        yield code(f"osmnx/{kind}", f"graph(HEL.to_osmnx({kind!r}, departure_time='2026-03-02T08:00:00'))")
        yield code(f"pandana/{kind}", f"p = HEL.to_pandana({kind!r})\n[p.nodes_df.iloc[::40], p.edges_df.iloc[::40]]")
        yield code(f"road graph/{kind}", f"type(HEL.road_graph({kind!r})).__name__")
    source = "tl.sample_files('helsinki')['streets']"
    for tags in _TAGS:
        for form in ("points", "polygons"):
            yield code(f"places/{tags} {form}", f"tl.places({source}, {tags}, columns=['name'], geometry={form!r})")
    for query in _QUERIES:
        for more in _SEARCHED:
            yield code(f"geocode/{query[:30]}{more}", f"tl.geocode(HEL, {query!r}{more})")
    for place in _SPOTS:
        for more in ("", ", format_name=True", ", within_country='FI'"):
            yield code(f"reverse/{place}{more}", f"tl.reverse_geocode(HEL, {place}{more})")


def _maps(states: list[str], changes: list[str], exports: list[str]) -> Iterator[Case]:
    """Yield states of the map of notebooks: its exported code, areas, state and page."""
    start = "m = tl.TravelTimeMap(HEL, HA, base_map='none', folder=FOLDER, {})\n"
    at = f"level_of_detail='low', travel_time=600, departure_time={TUESDAY}"
    ride = f"m = tl.TravelTimeMap(POA, ONE, base_map='none', folder=FOLDER, {at}, {{}})\n"
    shown = "[m.code(), m.areas, repr(m.state), m.error]"
    for state in states:
        yield code(f"map/{state}", start.format(state) + shown)
    for kind in TYPES:
        made = (ride if kind in table.TIMETABLE_TYPES else start).format(f"transportation={kind!r}")
        yield code(f"map type/{kind}", made + shown)
        yield code(f"map distance/{kind}", made + "m.distance = 500\n[m.code(), m.error]")
    fewest = "{'type': 'bus', 'max_changes': 0}"
    for kind in ("'public_transport'", fewest, "'driving+train'"):
        for more in ("window=600", "window=600, percentile=50", "rings=2", "combine='union', window=300"):
            made = ride.format("").replace(", )", f", transportation={kind}, {more})")
            yield code(f"map ride/{kind} {more}", made + shown)
    for change in changes:
        yield code(f"map change/{change}", start.format("travel_time=600") + change + "\n" + shown)
    for export in exports:
        for state in ("travel_time=300", "distance=400, combine='union'", "transportation='cycling', rings=1"):
            yield code(f"map export/{export} {state}", start.format(state) + export, files=True)
    sides = "m = tl.SideBySideMap(HEL, SLOWER, HA, base_map='none', {})\n"
    for state in (
        "travel_time=300", "distance=400", "transportation='driving', rings=2", "titles=('a', 'b')", "rings=99",
    ):  # fmt: skip
        yield code(f"two maps/{state}", sides.format(state) + "[m.code(), m.changes, repr(m.state)]")


def _commands() -> Iterator[Case]:
    """Yield help pages of all commands, reports, jobs and wrong uses."""
    from traveltime_lab.cli import _parser

    listed = [[], ["--help"], ["--version"], ["nothing"], ["info", "{saved}"], ["info", "none"]]
    for action in _parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            listed += [[name, word] for name in action.choices for word in ("--help", "--nothing")]
    points, out, time = "{folder}/points.csv", "{folder}/out", ["--travel-time", "600"]
    jobs = (
        ["matrix", "{saved}", points, points, out, "--quiet"],
        ["areas", "{saved}", points, out, "--quiet", "--level-of-detail", "low"],
    )
    for more in (
        time, [*time, "--transportation", "walking"], [*time, "--transportation", "boat"], [*time, "--window", "5"],
        ["--travel-time", "-5"], [], ["--travel-time", "x"], [*time, "--id", "id"], [*time, "--departure-time", "soon"],
        [*time, "--departure-time", "weekday_morning"], [*time, "--workers", "0"], [*time, "--part-size", "3"],
        [*time, "--layer", "a"], [*time, "--properties", "travel_time,distance"], [*time, "--properties", "speed"],
        [*time, "--percentile", "5"], [*time, "--no-holes"], [*time, "--level-of-detail", "-3"],
    ):  # fmt: skip
        listed += [[*job, *more] for job in jobs]
    listed += [
        ["build", "none.osm.pbf", "{folder}/x.network"], ["serve", "none.network"], ["serve", "--body-limit", "0"],
        ["serve", "--certificate", "x"], ["compile", "--baseline"], ["demo", "--sample", "oslo"],
        ["demo", "--sample", "helsinki", "--out", "{folder}/demo"],
    ]  # fmt: skip
    rows = r"id,lng,lat\na,24.9414,60.1711\nb,24.9383,60.169\nc,24.9522,60.1695\n"
    before = f"(FOLDER / 'points.csv').write_text('{rows}')"
    for arguments in listed:
        request = {"arguments": arguments, **({"before": before} if points in arguments else {})}
        yield case(f"command/{' '.join(arguments) or 'none'}", "command", request)
