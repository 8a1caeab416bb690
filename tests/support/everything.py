"""
Two made-up towns in which every option of a search makes a difference.

Coordinates are metres. West has a river with one bridge and a ferry, and lakes. A motorway without pedestrians leads to
it from the far west, beside an ordinary road; there are a private road and a track, too, to places that no other street
is near. East is five kilometres on, by a road, by a quicker toll road, and by buses, coaches and trains::

    far -- motorway -- west | river | west -- road, toll road -- east

Each kind of vehicle has a slow line, and two quick ones with a change in the middle.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from tests.support.towns import clock
from traveltime_lab.crs import LocalFrame
from traveltime_lab.network.build import build_network
from traveltime_lab.network.network import Network

#: In the middle of Romania, far from the sea and from borders.
FRAME = LocalFrame(25.5, 46.0)

#: Places, each near a street but for the last ones: those of the fields are some 500 m from one.
POINTS: dict[str, tuple[float, float]] = {
    "west": (20.0, 615.0), "bank": (905.0, 640.0), "far": (-4000.0, 625.0), "east": (7010.0, 615.0),
    "farm": (7600.0, 15.0), "end": (-6590.0, 610.0), "private": (-4490.0, -700.0), "track": (-4490.0, 2000.0),
    "west field": (150.0, -500.0), "bank field": (1200.0, -400.0), "far field": (-4000.0, 1300.0),
}  # fmt: skip

#: Streets that step-free walks, and those that avoid unlit ways, pass or not by their options, and others that they
#: always pass.
SLOPED = "highway=residential|incline=4%|width=1|lit=no"
PAVED = "highway=residential|surface=asphalt"
STREETS: list[tuple[list[tuple[float, float]], str]] = [
    # West of the river.
    *(([(0, y), (300, y)], f"{PAVED}|name=West {y}") for y in (0, 300, 600, 900, 1200)),
    *(([(x, y) for y in (0, 300, 600, 900, 1200)], f"{SLOPED}|lanes=4|name=Bank {x}") for x in (0, 300)),
    ([(300, 1200), (900, 1200)], "highway=tertiary|bridge=yes|name=Bridge"),
    ([(300, 600), (900, 600)], "route=ferry|duration=00:02|foot=yes|bicycle=yes|motor_vehicle=yes"),
    # East of it, around the lake.
    *(([(900, y), (1500, y), (2100, y)], f"{PAVED}|name=Lake {y}") for y in (0, 600, 1200)),
    *(([(x, 0), (x, 600), (x, 1200)], f"{SLOPED}|name=Shore {x}") for x in (900, 1500, 2100)),
    # In the far west a quick main street and a short side street, of which the traffic decides which is quicker.
    ([(-4500, 600), (-5250, 1260), (-6000, 600)], "highway=secondary|toll=yes|maxspeed=50|name=Main Street"),
    ([(-4500, 600), (-6000, 600)], "highway=residential|maxspeed=30|name=Side Street"),
    ([(-6000, 600), (-6400, 600), (-6600, 600)], "highway=residential|bridge=yes|name=Far End"),
    ([(-4500, 600), (-4500, -1000)], "highway=residential|access=private|name=Mine"),
    ([(-4500, 700), (-4500, 2200)], "highway=track|name=Mud"),
    ([(-6400, 600), (-6400, 400)], "highway=residential|oneway=yes"),
    # From there to West.
    ([(-4500, 600), (-4500, 700)], "highway=residential"),
    ([(-4500, 600), (0, 600)], "highway=motorway|oneway=no|foot=no|bicycle=no|maxspeed=120|name=A 1"),
    ([(-4500, 700), (0, 900)], "highway=tertiary|name=Old Road"),
    # To East.
    ([(2100, 1200), (7000, 1200)], "highway=tertiary|maxspeed=60|name=Long Road"),
    ([(2100, 600), (7000, 600)], "highway=primary|toll=yes|maxspeed=90|name=Toll Road"),
    *(([(7000, y), (7600, y)], f"{SLOPED if y == 600 else PAVED}|name=East {y}") for y in (0, 600, 1200)),
    *(
        ([(x, 0), (x, 600), (x, 1200)], f"{SLOPED if x == 7000 else PAVED}|name=End {x}")
        for x in (7000, 7600)
    ),
]  # fmt: skip
WATER: list[list[tuple[float, float]]] = [
    [(450, -3000), (750, -3000), (750, 4000), (450, 4000)],
    [(-6300, -3000), (-6150, -3000), (-6150, 4000), (-6300, 4000)],
    [(1050, 150), (1350, 150), (1350, 450), (1050, 450)],
    [(75, 675), (225, 675), (225, 825), (75, 825)],
    [(-3800, 800), (-3650, 800), (-3650, 950), (-3800, 950)],
    [(7150, 750), (7450, 750), (7450, 1050), (7150, 1050)],
]
#: Names of places, and what they are.
PLACES: dict[tuple[float, float], str] = {
    (150.0, 610.0): "place=town|name=Springfield",
    (7100.0, 610.0): "place=town|name=Springfield East|addr:postcode=54321",
    (7300.0, 700.0): "amenity=cafe|name=Springfield Cafe|addr:street=East 600|addr:housenumber=7|addr:city=Springfield",
    (250.0, 610.0): "amenity=cafe|name=Springfield Cafe",
    (7300.0, 5000.0): "amenity=cafe|name=Springfield Cafe",
    (3000.0, 900.0): "place=country|name=Springfield Country",
}
STOPS = {"a": (0.0, 0.0), "b": (900.0, 600.0), "m": (4000.0, 900.0), "e": (7000.0, 600.0)}
#: Of each line the seconds from its first stop.
LINES = {
    "slow": {"a": 0, "b": 400, "e": 1000},
    "one": {"a": 0, "b": 300, "m": 400},
    "two": {"m": 0, "e": 100},
    "back": {"e": 0, "b": 600, "a": 1000},
}
#: Route types of GTFS, and what the lines are late by.
VEHICLES = {"bus": (3, 0), "coach": (200, 10), "train": (2, 20)}
#: When vehicles leave: every minute for an hour and a half.
FIRST, LAST, HEADWAY = 28_800 - 1800, 28_800 + 3600, 60


def at(place: tuple[float, float]) -> dict[str, float]:
    """Return a place as the service writes it."""
    lng, lat = FRAME.to_lnglat(*place)
    return {"lat": round(float(lat), 7), "lng": round(float(lng), 7)}


def write_osm(path: Path) -> Path:
    """Write the streets, the water and the places."""
    numbers: dict[tuple[float, float], int] = {}
    ways = []
    closed = [([*ring, ring[0]], "natural=water") for ring in WATER]
    for n, (line, tags) in enumerate([*STREETS, *closed], 1000):
        refs = [str(numbers.setdefault((float(x), float(y)), len(numbers) + 1)) for x, y in line]
        ways.append((n, " ".join(refs), tags))
    named = {numbers.setdefault(place, len(numbers) + 1): tags for place, tags in PLACES.items()}
    nodes = {
        number: (float(lng), float(lat))
        for place, number in numbers.items()
        for lng, lat in [FRAME.to_lnglat(*place)]
    }  # fmt: skip
    path.write_bytes(osm_xml(nodes, ways, node_tags=named))
    return path


def write_timetable(folder: Path) -> Path:
    """Write the stops and the lines, with a fare."""
    stops = ["stop_id,stop_name,stop_lat,stop_lon"]
    for name, place in STOPS.items():
        lng, lat = FRAME.to_lnglat(*place)
        stops.append(f"{name},{name},{float(lat):.7f},{float(lng):.7f}")
    routes, trips = ["route_id,route_short_name,route_type"], ["route_id,service_id,trip_id"]
    times = ["trip_id,stop_sequence,stop_id,arrival_time,departure_time"]
    for vehicle, (number, late) in VEHICLES.items():
        for line, calls in LINES.items():
            routes.append(f"{vehicle} {line},{line},{number}")
            for leaves in range(FIRST, LAST, HEADWAY):
                trip = f"{vehicle} {line} {leaves}"
                trips.append(f"{vehicle} {line},daily,{trip}")
                for k, (stop, after) in enumerate(calls.items()):
                    when = clock(leaves + late + after)
                    times.append(f"{trip},{k},{stop},{when},{when}")
    return feed(
        folder,
        stops="\n".join(stops),
        routes="\n".join(routes),
        trips="\n".join(trips),
        stop_times="\n".join(times),
        fare_attributes="fare_id,price,currency_type,payment_method,transfers\nf,1.50,EUR,0,",
        fare_rules="fare_id,route_id\n" + "\n".join(f"f,{row.partition(',')[0]}" for row in routes[1:]),
    )


def everything(folder: Path) -> Network:
    """Return the towns with their timetable."""
    return build_network(write_osm(folder / "towns.osm"), gtfs=write_timetable(folder), timezone="UTC")
