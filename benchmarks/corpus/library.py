"""
Calls of the public functions, as source text, made from the tables of the package: types of transportation and their
options, properties, forms, limits, and the choices and keywords that the signatures have.
"""

from __future__ import annotations

import dataclasses
import inspect
import random
import re
from collections.abc import Iterator
from typing import Any

import traveltime_lab as tl
from benchmarks.corpus.cases import Case, case
from benchmarks.corpus.tables import (
    OTHERS,
    POINTS,
    PROPERTIES_OF,
    SEARCHES,
    SNAPPINGS,
    TUESDAY,
    TYPES,
    VALUES_OF,
    WRONG_SNAPPINGS,
)
from tests.support.odd import VALUES
from traveltime_lab import limits
from traveltime_lab.modes import table, transportation
from traveltime_lab.search.time_filter import FORMS

__all__ = ["TUESDAY", "TYPES", "call", "cases", "code", "values_of_option"]

#: A trip by timetable.
_RIDE = {"transportation": "'public_transport'", "departure_time": TUESDAY}
#: Keywords that are tried by timetable, too, and those that need a window.
_RIDDEN = (
    "window", "percentiles", "percentile", "max_results", "arrival_time", "departure_time", "travel_time",
)  # fmt: skip
_WINDOWED = ("percentiles", "percentile", "max_results")
#: Values that say something else each time, or whose names are addresses in memory.
_NOT_DRAWN = ("endless", "generator", "an exception", "a function", "object()")


def call(name: str, places: str, /, **keywords: str) -> Case:
    """Return a case that calls a public function."""
    options = ", ".join(f"{key}={value}" for key, value in keywords.items())
    text = f"tl.{name}({', '.join(filter(None, (places, options)))})"
    if name == "matrix_frame":
        text = f"{text}.compute()"
    elif name in ("plot", "side_by_side"):
        text = f"svg({text})"
    elif name == "serve":
        text = f"type({text}).__name__"
    return code(f"{name}/{options or 'alone'}", text, files="write_" in name)


def code(name: str, text: str, *, files: bool = False) -> Case:
    """Return a case of source text; with the files that it writes into its folder."""
    return case(f"call/{name}", "call", {"code": text, **({"files": True} if files else {})})


def cases() -> Iterator[Case]:
    """Yield all calls."""
    yield from _types()
    yield from _options()
    yield from _snappings()
    yield from _keywords()
    yield from _properties()
    yield from _points()
    yield from _odd_values()


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(getattr(tl, name)).parameters)


def _types() -> Iterator[Case]:
    """Yield each search with each type, at each kind of moment, in both directions."""
    for name, (city, centre, needed) in SEARCHES.items():
        known = _parameters(name)
        if "transportation" not in known:
            continue
        moments: list[dict[str, str]] = [{}]
        if "departure_time" in known:
            moments += [
                {"departure_time": TUESDAY}, {"arrival_time": "'2019-05-14T09:00:00'"},
                {"departure_time": "'weekday_morning'"}, {"arrival_time": "'weekday_morning'"},
                {"departure_time": "'2019-05-12T22:10:00'"}, {"departure_time": TUESDAY, "arrival_time": TUESDAY},
            ]  # fmt: skip
        for kind in TYPES:
            given = {"transportation": repr(kind), **needed}
            rides = kind in table.TIMETABLE_TYPES
            for moment in moments:
                yield call(name, city if rides or len(moment) == 2 else centre, **given, **moment)
            yield call(name, centre if rides else city, **given, **moments[1 % len(moments)])
            if rides and "window" in known:
                yield call(name, city, **given, **moments[1], window="1200")
                yield call(name, city, **given, **moments[2], window="900")
            for key, value in (("percentiles", "[10, 90]"), ("percentile", "80")):
                if rides and key in known:
                    yield call(name, city, **given, **moments[1], window="1200", **{key: value})
            for form in FORMS if "form" in known else ():
                for moment in moments[1:3]:
                    yield call(name, city, **given, **moment, form=repr(form))
            if "engine" in known and not rides and name != "write_matrix":
                for engine in ("dijkstra", "hierarchy", "pandana"):
                    yield call(name, centre, **given, engine=repr(engine))


def values_of_option(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """Return values of an option of `Transportation`, of which the last ones are refused."""
    special = {
        "traffic_model": (*map(repr, transportation.TRAFFIC_MODELS), "'none'"),
        "include_roads": ("('track',)", "['restricted', 'track']", "'track'", "('path',)"),
        "exclude_roads": ("('toll',)", "('ferry',)"),
        "disable_border_crossing": ("True", "'no'"),
        "max_changes": (
            "0", "1", "{'enabled': True, 'limit': 0}", "{'enabled': False}", "-1", f"{limits.MAX_CHANGES + 1}",
            "{'limit': 1}",
        ),
        "headways": (*map(repr, transportation.HEADWAYS), "'half'"),
        "headway_draws": ("20", "0", f"{limits.MAX_DRAWS + 1}"),
        "headway_seed": ("0", "1", f"{limits.MAX_SEED + 1}"),
        "walking_speed": ("3.0", "8", "0.4", "20.5", "'fast'"),
        "cycling_speed": ("12.0", "25", "3.9", "61"),
        "push_above_stress": ("False", "True", "1"),
        "time_dependent": ("False", "True", "'yes'"),
        "step_free": ("None", "False", "True", "'lenient'", "'strict'", "'maybe'"),
        "max_incline": ("8.3", "0", "101", "'steep'"),
        "min_width": ("1.2", "0.2", "6", "'wide'"),
        "avoid": ("()", "('unlit',)", "['unpaved', 'unlit']", "'unlit'", "('dark',)"),
        "max_stress": ("1", "2", "4", "0", "5", "'low'"),
        "modes": (*(f"('{mode}',)" for mode in transportation.ROUTE_MODES), "('bus', 'rail')", "('boat',)"),
    }  # fmt: skip
    return special.get(field.name, ("0", "60", "1200", "-1", f"{limits.MAX_OPTION_S + 1}", "60.5"))


def _options() -> Iterator[Case]:
    """Yield each option with each type: answers where it applies, else the error."""
    for field in dataclasses.fields(tl.Transportation):
        if field.name == "type":
            continue
        values = values_of_option(field)
        for kind in TYPES:
            made = f"option/{kind} {field.name}", f"tl.Transportation({kind!r}, {field.name}={{}})"
            means = f"{{{{'type': {kind!r}, '{field.name}': {{}}}}}}"
            if not table.applies(field.name, table.ALIASES.get(kind, kind)):
                yield code(made[0], made[1].format(values[0]))
                given = means.format(values[0])
                yield call("time_filter", "POA, A, B", travel_time="900", transportation=given)
                continue
            for value in values:
                yield code(f"{made[0]} {value}", made[1].format(value))
                for moment in ({"departure_time": TUESDAY}, {"arrival_time": TUESDAY}):
                    given = means.format(value)
                    yield call("time_filter", "POA, A, B", travel_time="3000", transportation=given, **moment)
            for name in ("time_map", "routes", "h3_cells", "explain"):
                city, _, needed = SEARCHES[name]
                given = means.format(values[1 % len(values)])
                yield call(name, city, **needed, transportation=given, departure_time=TUESDAY)
    shown = (
        "[t, repr(t), t.base, t.uses_ferry, t.uses_timetable, t.vehicles, t.access, t.egress, t.access_time, "
        "t.access_penalty]"
    )
    for kind in TYPES:
        yield code(f"option/{kind} parts", f"t = tl.Transportation({kind!r})\n{shown}")
    for word in ("", "boat", "Walking", *table._SYNONYMS):
        yield code(f"option/name {word}", f"tl.Transportation({word!r})")
    for text in ("tl.Transportation()", "tl.Snapping()", "tl.Transportation(5)", "tl.Transportation(kind='bus')"):
        yield code(f"option/{text}", text)


def _snappings() -> Iterator[Case]:
    """Yield options of snapping in each search, on foot, by bicycle and by car."""
    for snapping in (*SNAPPINGS, *WRONG_SNAPPINGS):
        yield code(f"option/snapping {snapping}", f"tl.Snapping(**{snapping})")
        for name, (_, centre, needed) in SEARCHES.items():
            if "snapping" not in _parameters(name):
                continue
            if "AREAS" not in centre:
                centre = centre.replace("HA", "NEARBY").replace("HONE", "NEARBY.iloc[[1]]")
            for kind in ("walking", "cycling", "driving"):
                yield call(name, centre, **needed, transportation=repr(kind), snapping=snapping)


def _keywords() -> Iterator[Case]:
    """Yield each value of each keyword of each function, and each choice that a signature has."""
    for name in (*SEARCHES, *OTHERS):
        if name in SEARCHES:
            city, centre, needed = SEARCHES[name]
        else:
            (centre, needed), city = OTHERS[name], ""
        yield call(name, centre, **needed)
        yield call(name, centre, **needed, nothing_like_this="1")
        yield call(name, "", **needed)
        for key, parameter in _parameters(name).items():
            if name in OTHERS and parameter.kind is not parameter.KEYWORD_ONLY and key not in needed:
                continue
            literal = re.search(r"Literal\[([^]]*)\]", str(parameter.annotation))
            choices = [item for item in literal[1].split(", ") if item.startswith("'")] if literal else []
            for value in dict.fromkeys((*VALUES_OF.get(key, ()), *choices)):
                yield call(name, centre, **{**needed, key: value})
                if city and key in _RIDDEN:
                    given = {**needed, **_RIDE, **({"window": "900"} if key in _WINDOWED else {}), key: value}
                    if key == "arrival_time":
                        given.pop("departure_time")
                    yield call(name, city, **given)


def _properties() -> Iterator[Case]:
    """Yield properties: each one, all, none, and wrong ones; on streets and by timetable, in each form."""
    for name, known in PROPERTIES_OF.items():
        city, centre, needed = SEARCHES[name]
        chosen: list[tuple[str, ...]] = [*((each,) for each in known), known, tuple(reversed(known)), ()]
        chosen += [(known[0], known[0]), ("speed",), (known[0], "fares")]
        chosen += [tuple(random.Random(i).sample(known, 2)) for i in range(4)]
        for properties in dict.fromkeys(chosen):
            for form in FORMS if "form" in _parameters(name) else ("",):
                given = {**needed, "properties": repr(properties), **({"form": repr(form)} if form else {})}
                yield call(name, centre, **given, transportation="'cycling'")
                yield call(name, city, **given, **_RIDE)
                if "window" in _parameters(name):
                    yield call(name, city, **given, transportation="'bus'", arrival_time=TUESDAY, window="600")
                if "percentiles" in _parameters(name):
                    yield call(name, city, **given, **_RIDE, window="600", percentiles="[50]")
        for text in ("'travel_time'", "5", "['travel_time', 5]", "None"):
            yield call(name, centre, **needed, properties=text)


def _points() -> Iterator[Case]:
    """Yield points in each form, at both ends of each search."""
    for name, (_, centre, needed) in SEARCHES.items():
        network, *places = centre.split(", ", 2)
        for form in POINTS:
            for position in range(min(len(places), 2)):
                if not places[position].startswith(("FOLDER", "AREAS")):
                    given = [*places[:position], form, *places[position + 1 :]]
                    yield call(name, ", ".join((network, *given)), **needed, transportation="'walking'")


def _odd_values() -> Iterator[Case]:
    """Yield odd values for every argument of every function, drawn with a fixed seed."""
    dice = random.Random(34)
    odd = [name for name in VALUES if name not in _NOT_DRAWN]
    for name in (*SEARCHES, *OTHERS):
        places, needed = (SEARCHES[name][1], SEARCHES[name][2]) if name in SEARCHES else OTHERS[name]
        given = places.split(", ") if name in SEARCHES else []
        for position, (key, parameter) in enumerate(_parameters(name).items()):
            # Pictures of odd sizes are slow, and paths may be anywhere.
            if key in ("executor", "progress", "path", "ax", "size"):
                continue
            for text in (f"odd({value!r})" for value in dice.sample(odd, 6)):
                if parameter.kind is parameter.KEYWORD_ONLY:
                    yield call(name, places, **{**needed, key: text})
                elif given:
                    yield call(name, ", ".join([*given[:position], text, *given[position + 1 :]]), **needed)
