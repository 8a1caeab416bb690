"""What tags allow and how fast, as tables: tags on the left, the expected answer on the right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traveltime_lab.readers.osm.tag_values import parse_duration_s, parse_maxspeed_kph
from traveltime_lab.readers.osm.tags import RELEVANT_KEYS, WayUse, interpret, node_flags
from traveltime_lab.streets.tables import (
    ACCESS_DESTINATION,
    ACCESS_NO,
    ACCESS_PRIVATE,
    ACCESS_YES,
    NODE_BLOCKS_CYCLING,
    NODE_BLOCKS_DRIVING,
    NODE_BLOCKS_WALKING,
    NODE_CROSSING,
    NODE_CROSSING_SIGNALS,
    NODE_GIVE_WAY,
    NODE_LEVEL_CROSSING,
    NODE_SIGNALS,
    NODE_STOP,
    NODE_TRAFFIC_CALMING,
    USE_DTYPES,
)

pytestmark = pytest.mark.quick

NO, YES, DESTINATION, PRIVATE = ACCESS_NO, ACCESS_YES, ACCESS_DESTINATION, ACCESS_PRIVATE
STAIRS = 5 / 3
BLOCKS_ALL = NODE_BLOCKS_WALKING | NODE_BLOCKS_CYCLING | NODE_BLOCKS_DRIVING


def tags_of(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(" ") if pair)


def use_of(text: str, **options: float) -> WayUse:
    use = interpret(tags_of(text), **options)
    assert use is not None
    return use


def speeds(use: WayUse, mode: str) -> tuple[float, float]:
    return getattr(use, f"{mode}_kph_forward"), getattr(use, f"{mode}_kph_backward")


def test_fields_are_the_columns_of_the_tables():
    assert WayUse._fields == tuple(USE_DTYPES)


@pytest.mark.parametrize(
    ("text", "walking", "cycling", "driving"),
    [
        ("highway=residential", 5, 15, 25),
        ("highway=motorway oneway=no", 0, 0, 90),
        ("highway=trunk", 5, 15, 85),
        ("highway=trunk motorroad=yes", 0, 0, 85),
        ("highway=secondary_link", 5, 15, 25),
        ("highway=living_street", 5, 15, 10),
        ("highway=service", 5, 15, 15),
        ("highway=service service=parking_aisle", 5, 15, 7.5),
        ("highway=residential service=alley", 5, 15, 25),
        ("highway=pedestrian motor_vehicle=yes maxspeed=50", 5, 4, 10),
        ("highway=service service=emergency_access", 5, 15, 0),
        ("highway=footway", 5, 4, 0),
        ("highway=path", 5, 13, 0),
        ("highway=cycleway", 5, 15, 0),
        ("highway=corridor", 5, 0, 0),
        ("highway=steps", STAIRS, 0, 0),
        ("highway=steps ramp:bicycle=yes", STAIRS, STAIRS, 0),
        ("highway=steps bicycle=dismount", STAIRS, STAIRS, 0),
        ("highway=pedestrian", 5, 4, 0),
        ("highway=pedestrian bicycle=yes", 5, 15, 0),
        ("highway=pedestrian vehicle=no", 5, 4, 0),
        ("highway=pedestrian motor_vehicle=delivery", 5, 4, 0),
        ("highway=pedestrian motor_vehicle=destination", 5, 4, 10),
        ("highway=busway bicycle=yes", 0, 15, 0),
        ("railway=platform", 5, 4, 0),
        ("public_transport=platform", 5, 4, 0),
        ("man_made=pier", 5, 4, 0),
        # surfaces
        ("highway=path surface=gravel", 3.75, 6, 0),
        ("highway=residential surface=cobblestone maxspeed=50", 5, 7, 30),
        ("highway=primary smoothness=very_bad", 5, 8, 20),
        ("highway=path surface=mud", 2.5, 3, 0),
        ("highway=path surface=woodchips", 5, 4, 0),
        ("highway=path surface=woodchips foot=no", 0, 3, 0),
        ("highway=path smoothness=horrible", 5, 4, 0),
        ("highway=path smoothness=horrible foot=no", 0, 4, 0),
        ("highway=path smoothness=very_horrible", 5, 4, 0),
        ("highway=path smoothness=impassable", 5, 0, 0),
        ("highway=elevator bicycle=yes", 1, 1, 0),
        ("highway=unclassified tracktype=grade5 maxspeed=90", 5, 15, 20),
        # limits
        ("highway=secondary maxspeed=50", 5, 15, 40),
        ("highway=secondary maxspeed:type=IT:urban", 5, 15, 40),
        ("highway=secondary source:maxspeed=sign", 5, 15, 55),
        ("highway=secondary maxspeed=signals", 5, 15, 55),
        ("highway=living_street maxspeed=walk", 5, 7, 5.6),
        # access
        ("highway=residential bicycle=use_sidepath foot=no", 0, 0, 25),
        ("highway=residential bicycle=dismount", 5, 4, 25),
        ("highway=residential access=no foot=yes", 5, 0, 0),
        ("highway=residential vehicle=no", 5, 0, 0),
        ("highway=residential vehicle=no motorcar=yes", 5, 0, 25),
        ("highway=residential motor_vehicle=agricultural;forestry", 5, 15, 0),
        ("highway=residential motor_vehicle=agricultural;destination", 5, 15, 25),
        ("highway=residential access=unheard_of", 5, 15, 25),
        ("highway=footway access=yes", 5, 4, 0),
        ("highway=footway bicycle=designated", 5, 15, 0),
        ("highway=footway bicycle=no", 5, 0, 0),
        ("highway=footway foot=no bicycle=yes", 0, 15, 0),
        ("highway=pedestrian area=yes motor_vehicle=yes", 5, 4, 0),
    ],
)
def test_speeds_both_ways(text, walking, cycling, driving):
    use = use_of(text)
    assert speeds(use, "walking") == pytest.approx((walking, walking))
    assert speeds(use, "cycling") == pytest.approx((cycling, cycling))
    assert speeds(use, "driving") == pytest.approx((driving, driving))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "building=yes",
        "highway=construction construction=residential",
        "highway=proposed",
        "highway=raceway",
        "highway=bus_guideway",
        "highway=residential access=no",
        "highway=footway foot=no",
        "railway=tram",
        "route=bus",
        "highway=rest_area",
        "highway=residential access=military",
    ],
)
def test_not_for_anyone(text):
    assert interpret(tags_of(text)) is None


@pytest.mark.parametrize(
    ("text", "walking", "cycling", "driving"),
    [
        ("highway=residential", YES, YES, YES),
        ("highway=residential access=private", PRIVATE, PRIVATE, PRIVATE),
        ("highway=residential access=private foot=permissive", YES, PRIVATE, PRIVATE),
        ("highway=residential motor_vehicle=destination", YES, YES, DESTINATION),
        ("highway=residential motor_vehicle=customers", YES, YES, DESTINATION),
        ("highway=residential motor_vehicle=delivery", YES, YES, DESTINATION),
        ("highway=residential vehicle=permit", YES, PRIVATE, PRIVATE),
        ("highway=footway access=private", PRIVATE, PRIVATE, NO),
        ("highway=motorway", NO, NO, YES),
        ("highway=elevator", YES, NO, NO),
        ("highway=residential oneway=-1 vehicle:backward=private", YES, PRIVATE, PRIVATE),
        ("highway=track motor_vehicle=forestry", YES, YES, NO),
        ("highway=residential motor_vehicle:forward=no motor_vehicle:backward=destination", YES, YES, DESTINATION),
    ],
)
def test_access(text, walking, cycling, driving):
    use = use_of(text)
    assert (use.walking_access, use.cycling_access, use.driving_access) == (walking, cycling, driving)


@pytest.mark.parametrize(
    ("text", "cycling", "driving"),
    [
        ("oneway=yes", "->", "->"),
        ("oneway=1", "->", "->"),
        ("oneway=-1", "<-", "<-"),
        ("oneway=reverse", "<-", "<-"),
        ("oneway=no", "<->", "<->"),
        ("oneway=alternating", "<->", "<->"),
        ("oneway=reversible", "", ""),
        ("oneway=reversible cycleway=opposite bicycle:backward=yes", "", ""),
        ("junction=roundabout", "->", "->"),
        ("junction=circular", "->", "->"),
        ("junction=roundabout oneway=-1", "<-", "<-"),
        ("junction=roundabout oneway=no", "<->", "<->"),
        ("oneway=yes oneway:bicycle=no", "<->", "->"),
        ("oneway=no oneway:bicycle=yes", "->", "<->"),
        ("oneway=yes cycleway=opposite", "<->", "->"),
        ("oneway=yes cycleway=opposite_lane", "<->", "->"),
        ("oneway=yes cycleway:left=opposite_track", "<->", "->"),
        ("oneway=yes cycleway:left=lane cycleway:left:oneway=-1", "<->", "->"),
        ("oneway=yes cycleway:both=lane", "->", "->"),
        ("oneway=yes cycleway:right=track cycleway:right:oneway=no", "<->", "->"),
        ("oneway=-1 cycleway=opposite", "<->", "<-"),
        ("oneway=-1 cycleway:left=lane cycleway:left:oneway=yes", "<->", "<-"),
        ("oneway=-1 cycleway:left=lane cycleway:left:oneway=-1", "<-", "<-"),
        ("oneway=-1 cycleway:right=track cycleway:right:oneway=no", "<->", "<-"),
        ("oneway=yes cycleway:right=lane cycleway:right:oneway=yes", "->", "->"),
        ("oneway=yes cycleway=track cycleway:oneway=no", "<->", "->"),
        ("oneway=-1 oneway:bicycle=no", "<->", "<-"),
        ("oneway=-1 bicycle:forward=yes", "<->", "<-"),
        ("oneway=-1 bicycle:backward=yes", "<-", "<-"),
        ("oneway:motor_vehicle=yes", "<->", "->"),
        ("oneway:motorcar=-1", "<->", "<-"),
        ("oneway:vehicle=yes", "->", "->"),
        ("oneway:vehicle=yes oneway:bicycle=no", "<->", "->"),
        ("oneway=yes oneway:motor_vehicle=no", "->", "<->"),
        ("oneway=yes oneway:motor_vehicle=yes oneway:bicycle=no", "<->", "->"),
        ("junction=roundabout oneway:bicycle=no", "<->", "->"),
        ("oneway=yes bicycle:backward=yes", "<->", "->"),
        ("motor_vehicle:backward=no", "<->", "->"),
        ("vehicle:forward=no", "<-", "<-"),
        ("vehicle:forward=no bicycle=yes", "<->", "<-"),
    ],
)
def test_directions(text, cycling, driving):
    use = use_of(f"highway=residential {text}")
    arrows = {(True, True): "<->", (True, False): "->", (False, True): "<-", (False, False): ""}
    assert arrows[use.cycling_kph_forward > 0, use.cycling_kph_backward > 0] == cycling
    assert arrows[use.driving_kph_forward > 0, use.driving_kph_backward > 0] == driving
    assert speeds(use, "walking") == (5, 5), "one-way streets are not for walkers"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("highway=footway oneway:foot=yes", (5, 0)),
        ("highway=footway oneway:foot=-1", (0, 5)),
        ("highway=footway oneway=yes", (5, 5)),
        ("highway=footway foot:backward=no", (5, 0)),
        ("highway=steps conveying=forward", (STAIRS, 0)),
        ("highway=steps conveying=backward", (0, STAIRS)),
        ("highway=steps conveying=reversible", (STAIRS, STAIRS)),
    ],
)
def test_walking_directions(text, expected):
    assert speeds(use_of(text), "walking") == pytest.approx(expected)


@pytest.mark.parametrize("oneway", ["yes", "-1"])
@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("highway=steps oneway:foot={}", "walking"),
        ("highway=cycleway foot=no oneway:bicycle={}", "cycling"),
        ("highway=motorway oneway={}", "driving"),
    ],
)
def test_one_direction_of_one_mode_is_enough(text, mode, oneway):
    use = use_of(text.format(oneway))
    open_to = [speed > 0 for each in ("walking", "cycling", "driving") for speed in speeds(use, each)]
    assert open_to.count(True) == 1
    assert speeds(use, mode)[oneway == "-1"] > 0


def test_motorways_are_one_way_unless_they_say_no():
    assert speeds(use_of("highway=motorway"), "driving") == (90, 0)
    assert speeds(use_of("highway=motorway_link"), "driving") == (45, 0)
    assert speeds(use_of("highway=motorway_link oneway=no"), "driving") == (45, 45)


def test_limits_by_direction():
    use = use_of("highway=primary maxspeed=100 maxspeed:backward=50")
    assert speeds(use, "driving") == (80, 40)


@pytest.mark.parametrize(
    ("text", "is_track", "kph"),
    [
        ("highway=track", True, 10),
        ("highway=track access=yes", True, 10),
        ("highway=track motor_vehicle=private", True, 10),
        ("highway=track motor_vehicle=yes", False, 10),
        ("highway=track motorcar=destination", False, 10),
        ("highway=track motor_vehicle=no", True, 0),
        ("highway=unclassified tracktype=grade5", False, 20),
    ],
)
def test_tracks(text, is_track, kph):
    use = use_of(text)
    assert use.is_track is is_track
    assert use.driving_kph_forward == kph


@pytest.mark.parametrize(
    ("text", "is_toll"),
    [
        ("toll=yes", True),
        ("toll=no", False),
        ("", False),
        ("toll:motorcar=yes", True),
        ("toll=yes toll:motorcar=no", False),
    ],
)
def test_tolls(text, is_toll):
    assert use_of(f"highway=primary {text}").is_toll is is_toll


@pytest.mark.parametrize(
    ("text", "is_barrier"),
    [
        ("highway=motorway", True),
        ("highway=motorway_link layer=0", True),
        ("highway=trunk motorroad=yes", True),
        ("highway=trunk motorroad=yes foot=yes", False),
        ("highway=trunk motorroad=yes foot=yes oneway:foot=yes", False),
        ("highway=trunk", False),
        ("highway=motorway bridge=yes", False),
        ("highway=motorway tunnel=yes", False),
        ("highway=motorway layer=1", False),
        ("highway=motorway bridge=no layer=0", True),
    ],
)
def test_motorways_at_ground_level_are_barriers(text, is_barrier):
    assert use_of(text).is_barrier is is_barrier


def test_roundabouts_are_marked():
    assert use_of("highway=primary junction=roundabout").is_roundabout
    assert not use_of("highway=primary junction=yes").is_roundabout


@pytest.mark.parametrize(
    ("text", "walking", "cycling", "driving"),
    [
        ("", YES, YES, YES),
        ("foot=yes", YES, NO, NO),
        ("foot=yes bicycle=yes", YES, YES, NO),
        ("bicycle=yes", YES, YES, NO),
        ("foot=yes motor_vehicle=yes", YES, NO, YES),
        ("motor_vehicle=no", YES, YES, NO),
        ("foot=no motorcar=yes", NO, NO, YES),
        ("access=private", PRIVATE, PRIVATE, PRIVATE),
    ],
)
def test_who_ferries_take(text, walking, cycling, driving):
    use = use_of(f"route=ferry {text}")
    assert use.is_ferry
    assert use.highway == "ferry"
    assert (use.walking_access, use.cycling_access, use.driving_access) == (walking, cycling, driving)


def test_ferry_speed_is_length_by_duration():
    use = use_of("route=ferry duration=00:30", length_m=10_000)
    assert speeds(use, "driving") == pytest.approx((20, 20))
    assert speeds(use_of("route=ferry duration=00:30"), "driving") == (5, 5), "length unknown"
    assert speeds(use_of("route=ferry", length_m=10_000), "driving") == (5, 5), "duration unknown"
    assert speeds(use_of("route=ferry oneway=yes"), "walking") == (5, 0)
    assert speeds(use_of("route=ferry duration=00:01", length_m=10_000), "walking") == (107, 107), "impossible"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:35", 2100),
        ("1:05", 3900),
        ("00:05:30", 330),
        ("2:00:30", 7230),
        ("1:00:00:00", 86_400),
        ("1:02:03:04", 93_784),
        ("20", 1200),
        ("7.5", 450),
        ("PT35M", 2100),
        ("PT1H30M", 5400),
        ("P1DT2H", 93_600),
        ("pt45s", 45),
        ("", None),
        (None, None),
        ("0", None),
        ("P", None),
        ("about an hour", None),
        ("10-20", None),
        ("1:x", None),
        ("x:30", None),
        ("1:2:3:4:5", None),
    ],
)
def test_durations(text, seconds):
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "kph"),
    [
        ("50", 50),
        ("50 km/h", 50),
        ("30 mph", 48.28),
        ("30mph", 48.28),
        ("10 knots", 18.52),
        ("walk", 7),
        ("none", 140),
        ("50;30", 30),
        ("80|60", 60),
        ("50; signals", 50),
        ("IT:urban", 50),
        ("it:urban", 50),
        ("FR:rural", 80),
        ("RU:living_street", 20),
        ("GB:nsl_single", 96.56),
        ("UK:nsl_dual", 112.65),
        ("BE-VLG:rural", 70),
        ("BE-VLG:motorway", 120),
        ("DE:zone:30", 30),
        ("DE:zone30", 30),
        ("zone:30", 30),
        ("zone30", 30),
        ("GB:zone20", 32.19),
        ("XX:motorway", 130),
        ("signals", None),
        ("variable", None),
        ("0", None),
        ("rural", None),
        ("XX:unheard_of", None),
        ("", None),
        (None, None),
        ("-5", None),
        ("50 @ (22:00-06:00)", None),
    ],
)
def test_speed_limits(text, kph):
    assert parse_maxspeed_kph(text) == (None if kph is None else pytest.approx(kph, abs=0.01))


@pytest.mark.parametrize(
    ("text", "kph"),
    [
        ("maxspeed=RO:urban", 50),
        ("maxspeed=RO:trunk", 100),
        ("maxspeed:type=RO:urban", 50),
        ("source:maxspeed=DE:rural", 100),
        ("maxspeed:type=sign source:maxspeed=DE:rural", 100),
        ("maxspeed:forward=FR:rural", 80),
        # A stated limit wins over where it comes from.
        ("maxspeed=70 source:maxspeed=DE:rural", 70),
        ("maxspeed=signals source:maxspeed=DE:rural", None),
        # No country, no limit: the default of the class.
        ("maxspeed=rural", None),
        ("maxspeed:type=rural", None),
        ("source:maxspeed=zone30", None),
    ],
)
def test_country_words_are_limits_in_every_key_of_theirs(text, kph):
    default = use_of("highway=secondary").driving_kph_forward
    expected = default if kph is None else kph * 0.8
    assert use_of(f"highway=secondary {text}").driving_kph_forward == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", 0),
        ("highway=traffic_signals", NODE_SIGNALS),
        ("highway=stop direction=forward", NODE_STOP),
        ("highway=give_way", NODE_GIVE_WAY),
        ("highway=crossing crossing=traffic_signals", NODE_CROSSING | NODE_CROSSING_SIGNALS),
        ("railway=level_crossing", NODE_LEVEL_CROSSING),
        ("traffic_calming=hump", NODE_TRAFFIC_CALMING),
        ("traffic_calming=no", 0),
        ("highway=crossing bicycle=no", NODE_CROSSING),
        ("barrier=bollard", NODE_BLOCKS_DRIVING),
        ("barrier=bollard bollard=rising", 0),
        ("barrier=bollard motor_vehicle=yes", 0),
        ("barrier=gate", 0),
        ("barrier=gate access=private", 0),
        ("barrier=gate access=no", BLOCKS_ALL),
        ("barrier=gate access=no foot=yes bicycle=yes", NODE_BLOCKS_DRIVING),
        ("barrier=gate vehicle=no", NODE_BLOCKS_CYCLING | NODE_BLOCKS_DRIVING),
        ("barrier=lift_gate", 0),
        ("barrier=wall", BLOCKS_ALL),
        ("barrier=stile", NODE_BLOCKS_CYCLING | NODE_BLOCKS_DRIVING),
        ("barrier=kerb kerb=lowered", 0),
        ("barrier=kerb kerb=raised", NODE_BLOCKS_DRIVING),
        ("barrier=height_restrictor maxheight=2.2", 0),
        ("barrier=height_restrictor maxheight=1.8", NODE_BLOCKS_DRIVING),
        ("barrier=toll_booth", 0),
        ("barrier=cycle_barrier highway=crossing", NODE_BLOCKS_DRIVING | NODE_CROSSING),
    ],
)
def test_nodes(text, flags):
    assert node_flags(tags_of(text)) == flags


VALUES = st.sampled_from(
    [
        *("yes", "no", "private", "destination", "delivery", "dismount", "designated", "permissive", "customers"),
        *("-1", "1", "reversible", "opposite", "lane", "roundabout", "ferry", "platform", "track", "00:20", "x;y"),
        *("gravel", "mud", "woodchips", "grade3", "very_bad", "very_horrible", "impassable"),
        *("3", "30", "walk", "IT:urban"),
    ]
)
WAY_TAGS = st.dictionaries(st.sampled_from(RELEVANT_KEYS), VALUES, max_size=8)
HIGHWAYS = st.sampled_from(
    [
        *("motorway", "primary", "residential", "service", "track", "path", "footway", "pedestrian", "steps"),
        *("platform", "elevator"),
    ]
)


@given(WAY_TAGS, HIGHWAYS)
def test_any_tags_give_a_coherent_use(tags, highway):
    use = interpret({**tags, "highway": highway})
    if use is None:
        return
    for mode in ("walking", "cycling", "driving"):
        access, (forward, backward) = getattr(use, f"{mode}_access"), speeds(use, mode)
        assert access in (NO, YES, DESTINATION, PRIVATE)
        assert 0 <= forward <= 140
        assert 0 <= backward <= 140
        assert (access == NO) == (forward == backward == 0)


@given(WAY_TAGS, HIGHWAYS)
def test_cyclists_are_not_slower_than_pushing(tags, highway):
    """Where people walk, a bicycle moves at 4 km/h or at their speed; where it may not be, it does not move."""
    use = interpret({**tags, "highway": highway})
    if use is None:
        return
    for on_foot, cycling in zip(speeds(use, "walking"), speeds(use, "cycling"), strict=True):
        assert cycling == 0 or cycling >= min(on_foot, 4.0)


@given(WAY_TAGS, HIGHWAYS)
@pytest.mark.slow
def test_a_way_drawn_the_other_way_round_is_the_same_street(tags, highway):
    tags = {**tags, "highway": highway}
    there, back = interpret(tags), interpret(_reversed(tags))
    if any(key.startswith("cycleway") for key in tags):
        return  # left and right of a way are not mirrored here
    if there is None or highway == "motorway" or "junction" in tags:
        return
    assert back is not None
    for mode in ("walking", "cycling", "driving"):
        assert speeds(there, mode) == speeds(back, mode)[::-1]


def _reversed(tags: dict[str, str]) -> dict[str, str]:
    flipped = {}
    for key, value in tags.items():
        if key.startswith("oneway"):
            value = {"yes": "-1", "1": "-1", "-1": "yes"}.get(value, value)
        if key.endswith(":forward"):
            key = key.replace(":forward", ":backward")
        elif key.endswith(":backward"):
            key = key.replace(":backward", ":forward")
        flipped[key] = value
    return flipped
