"""
Reasons why a destination is not reached on streets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from traveltime_lab.kernels.street.nearest import DETOUR_M
from traveltime_lab.limits import FOREVER_S, MAX_TRAVEL_TIME_S
from traveltime_lab.modes.table import BASE_MODES, SPEED_OPTIONS, applies, with_ferry
from traveltime_lab.modes.transportation import Transportation
from traveltime_lab.moments import are_same
from traveltime_lab.question import Question
from traveltime_lab.rounding import whole_seconds
from traveltime_lab.search.explain.obstacles import OPTIONS, obstacles_in_the_way, with_more_obstacles
from traveltime_lab.search.explain.questions import changed_options, cost, walks
from traveltime_lab.search.explain.reasons import Reason, distance, duration, parts_words
from traveltime_lab.search.explain.relaxations import Pair
from traveltime_lab.search.explain.stress import stress_in_the_way, with_more_stress
from traveltime_lab.search.pairs import component_of
from traveltime_lab.streets.snapping import OUTSIDE, SNAPPED, crosses_motorway, on_closed_streets

#: Options that are kept for a different type that has them too.
_KEPT: Final = (
    "traffic_model",
    "time_dependent",
    "max_stress",
    "step_free",
    "max_incline",
    "min_width",
    "avoid",
    *SPEED_OPTIONS,
)
#: A street this much farther away than the nearest one is worth mentioning (assumed).
_MOVED_M: Final = 3.0


@dataclass
class Findings:
    """Reasons with the parameters to change, and questions that reach the destination, nearest first."""

    reasons: list[tuple[str, Reason]] = field(default_factory=list)
    candidates: list[Question] = field(default_factory=list)
    #: The question whose itinerary takes longer than the limit.
    slow: Question | None = None

    def add(self, parameter: str, code: str, sentence: str, side: str | None = None, **data: Any) -> None:
        """Add a reason."""
        self.reasons.append((parameter, Reason(code, sentence, side, data)))

    def has(self, *codes: str) -> bool:
        """Return whether a reason has one of the given codes."""
        return any(reason.code in codes for _, reason in self.reasons)

    def parameters_of(self, given: Question, best: Question | None) -> set[str]:
        """Return the parameters that the best question changes."""
        if best is None:
            return set()
        options = changed_options(given.transportation, best.transportation)
        used = {"max_changes", "exclude_roads", "max_stress", *OPTIONS} & set(options)
        used |= {"ways"} if any(name in options for name in walks(given)) else set()
        used |= {"travel_time"} if "direct_walking_time" in options else set()
        used |= {"vehicles"} if {"type", "modes"} & set(options) else set()
        used |= {"travel_time"} if given.limit != best.limit else set()
        used |= set() if are_same(given.moment, best.moment) else {"moment"}
        return used | ({"snapping"} if given.snapping != best.snapping else set())

    def add_over_limit(
        self, given: Question, ms: int, parts: Mapping[str, int], n_changes: int, lead: str = ""
    ) -> None:
        """Add the reason that an itinerary takes longer than the limit."""
        takes = whole_seconds(ms)
        over = takes - given.limit
        what = f" It is made of {parts_words(parts, n_changes)}." if len(parts) > 1 else ""
        if list(parts) == ["walk"]:
            what = " All of it is walking."
        self.add(
            "travel_time", "over_limit",
            f"{lead or 'It takes'} {duration(takes)}, which is {duration(over)} too long: the limit is "
            f"{duration(given.limit)}.{what}",
            travel_time=takes, over_by=over, limit=given.limit, parts=dict(parts), n_changes=n_changes,
        )  # fmt: skip


def on_streets(pair: Pair, question: Question) -> Findings:
    """Return the reasons why a destination is not reached on streets."""
    findings = Findings()
    add_unsnapped(findings, pair, question)
    every = [(cost(question, each), each) for each in street_questions(pair, question)]
    findings.candidates = [each for _, each in sorted(every, key=lambda one: one[0])]
    thresholds = pair.thresholds(question)
    if not thresholds:
        return findings
    snapped = replace(question, snapping=replace(question.snapping, threshold=thresholds[0]))
    ms = pair.milliseconds(replace(snapped, limit=FOREVER_S))
    if ms is None:
        _add_disconnected(findings, pair, snapped)
    elif whole_seconds(ms) > question.limit:
        findings.slow = snapped
        lead = "" if snapped == question else "Even with a street it takes"
        findings.add_over_limit(question, ms, {}, 0, lead)
    if question.transportation.exclude_roads:
        open_to = snapped.using(exclude_roads=())
        shorter = pair.milliseconds(replace(open_to, limit=FOREVER_S))
        if shorter is not None and (ms is None or shorter < ms):
            excluded = ", ".join(question.transportation.exclude_roads)
            findings.add(
                "exclude_roads", "excluded_roads",
                f"Without exclude_roads ({excluded}) it takes {duration(whole_seconds(shorter))}.",
                travel_time=whole_seconds(shorter), exclude_roads=question.transportation.exclude_roads,
            )  # fmt: skip
    in_the_way = stress_in_the_way(pair, snapped, ms)
    if in_the_way is not None:
        findings.add("max_stress", "traffic_stress", in_the_way[0], **in_the_way[1])
    add_obstacles(findings, obstacles_in_the_way(pair, snapped, ms))
    return findings


def add_obstacles(findings: Findings, found: tuple[str, dict[str, Any]] | None) -> None:
    """Add the reason that obstacles for wheelchairs, or ways to avoid, are in the way, if there are any."""
    if found is not None:
        findings.add(next(name for name in OPTIONS if name in found[1]), "obstacles", found[0], **found[1])


def street_questions(pair: Pair, question: Question) -> list[Question]:
    """Return questions on streets that reach the destination, with other thresholds, roads and travel times."""
    variants = [question]
    if question.transportation.street.has_road_options and question.snapping.accept_roads != "any_drivable":
        variants.append(replace(question, snapping=replace(question.snapping, accept_roads="any_drivable")))
    if question.transportation.exclude_roads:
        variants += [variant.using(exclude_roads=()) for variant in variants]
    variants += [freer for variant in variants for freer in with_more_stress(variant)]
    variants += [freer for variant in variants for freer in with_more_obstacles(variant)]
    found = []
    for variant in variants:
        for threshold in pair.thresholds(variant):
            each = replace(variant, snapping=replace(variant.snapping, threshold=threshold))
            ms = pair.milliseconds(replace(each, limit=MAX_TRAVEL_TIME_S))
            if ms is not None:
                found.append(replace(each, limit=max(question.limit, whole_seconds(ms))))
    return found


def add_unsnapped(findings: Findings, pair: Pair, question: Question) -> None:
    """Add the reasons for sides that are not snapped, with the distance to the nearest street."""
    threshold = question.snapping.threshold
    for side, snaps in zip(("origin", "destination"), pair.snaps(question), strict=True):
        status = int(snaps.status[0])
        if status == SNAPPED:
            continue
        metres = min(pair.street_distances(question, side))
        how = pair.means(question, side).street.how
        needed = math.floor(metres) + 1 if metres < pair.farthest_m(question, side) else None
        code = f"{side}_outside_network" if status == OUTSIDE else f"{side}_not_snapped"
        where = "lies outside the network" if status == OUTSIDE else "is not near a street"
        sentence = f"The {side} {where}: there is no street {how} at all."
        if math.isfinite(metres):
            would_do = f"; {needed} would do" if needed is not None else ""
            sentence = (
                f"The {side} {where}: the nearest one {how} is {distance(metres)} away, and the threshold is "
                f"{distance(threshold)}{would_do}."
            ).replace("network: the nearest one", "network: the nearest street")
        across = pair.nearest_distance(question, side)
        if math.isfinite(across):
            sentence += f" A street {distance(across)} away is on the other side of water or of a motorway."
        findings.add(
            "snapping", code, sentence, side, distance=metres if math.isfinite(metres) else None,
            threshold=threshold, needed=needed,
        )  # fmt: skip


def add_moved(findings: Findings, pair: Pair, question: Question) -> None:
    """Add the sides that are not snapped to the nearest street, and those whose walk crosses a motorway."""
    if pair.is_on_island(question):
        return
    for side, snaps in zip(("origin", "destination"), pair.snaps(question), strict=True):
        if int(snaps.status[0]) != SNAPPED:
            continue
        metres, nearest_m = float(snaps.distance_m[0]), pair.nearest_distance(question, side)
        if crosses_motorway(pair.network.streets, snaps)[0]:
            findings.add(
                "snapping", f"{side}_across_motorway",
                f"The {side} uses a street {distance(metres)} away on the other side of a motorway, because there is "
                f"none on this side that is less than {distance(DETOUR_M)} farther away than the nearest one.",
                side, distance=metres,
            )  # fmt: skip
            continue
        if metres <= nearest_m + _MOVED_M:
            continue
        main_m, any_m = pair.street_distances(question, side)
        why = "is on an island of the network, or leads the wrong way"
        if any_m > nearest_m + _MOVED_M:
            why = "is on the other side of water or of a motorway"
        findings.add(
            "snapping", f"{side}_moved",
            f"The {side} uses a street {distance(metres)} away, because the nearest one, {distance(nearest_m)} away, "
            f"{why}.",
            side, distance=metres, nearest_distance=nearest_m, main_distance=main_m if math.isfinite(main_m) else None,
        )  # fmt: skip


def _add_disconnected(findings: Findings, pair: Pair, question: Question) -> None:
    """Add the reason why origin and destination are not connected, and the side that it applies to."""
    starts, ends = pair.snaps(question)
    topology = pair.query(question).graph.topology
    first, last = (int(component_of(topology, snaps.edge)[0]) for snaps in (starts, ends))
    how = question.transportation.street.how
    side: str | None = None
    for end, snaps in (("origin", starts), ("destination", ends)):
        if on_closed_streets(topology, snaps)[0]:
            findings.add(
                "snapping", f"{end}_street_closed",
                f"A change of the network has closed the street at the {end} to {question.transportation.base}.", end,
                main_distance=_main_distance(pair, question, end),
            )  # fmt: skip
            return
    if first != last:
        sizes = np.bincount(topology.component)
        if sizes[first] != sizes[last]:
            side = "origin" if sizes[first] < sizes[last] else "destination"
        blame = f": the {side} is on an island of the network" if side else ""
        findings.add(
            "snapping", "other_component", f"No streets join origin and destination {how}{blame}.", side,
            main_distance=_main_distance(pair, question, side),
        )  # fmt: skip
        return
    if not topology.can_leave[starts.edge[0]]:
        side, sentence = "origin", f"The street at the origin leads nowhere {how}"
    elif not topology.can_arrive[ends.edge[0]]:
        side, sentence = "destination", f"Nothing leads to the street at the destination {how}"
    else:
        sentence = f"Nothing leads from the origin to the destination {how}"
    sentence += ": one-way streets or forbidden turns are in the way."
    back = pair.turned().milliseconds(replace(question, limit=FOREVER_S))
    if back is not None:
        sentence += f" The other way around it takes {duration(whole_seconds(back))}."
    findings.add(
        "snapping", "one_way_trap", sentence, side, way_back=None if back is None else whole_seconds(back),
        main_distance=_main_distance(pair, question, side),
    )  # fmt: skip


def _main_distance(pair: Pair, question: Question, side: str | None) -> float | None:
    """Return the distance in metres from a side to the nearest street of the main network."""
    metres = math.inf if side is None else pair.street_distances(question, side)[0]
    return metres if math.isfinite(metres) else None


def by_other_means(pair: Pair, question: Question) -> list[Question]:
    """Return questions that reach the destination with a different type of transportation, nearest first."""
    means = question.transportation
    kinds: list[str] = [kind for kind in BASE_MODES if kind != means.type]
    by_ferry = with_ferry(means.mode)
    if by_ferry is not None:
        kinds.insert(0, by_ferry.name)
    found = []
    for kind in kinds:
        kept = {name: getattr(means, name) for name in _KEPT if applies(name, kind)}
        other = replace(question, transportation=Transportation(kind, **kept), window=0)
        found += [(cost(question, each), each) for each in street_questions(pair, other)]
    return [each for _, each in sorted(found, key=lambda one: one[0])]
