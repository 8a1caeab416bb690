"""
State in a few sentences what matters about a network and what to do, from the facts of its report.

Each finding is a function of the facts with a threshold, in the order of importance. The thresholds are assumed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from traveltime_lab.moments import today

Facts = Mapping[str, Any]

#: Shares and numbers from which a finding is stated; assumed.
STOPS_OFF_STREETS, STOPS_OUTSIDE_THE_EXTRACT = 0.01, 0.1
ROWS_DROPPED = 0.01
WHEELCHAIRS_UNKNOWN = 0.5
ON_ISLANDS = 0.05
WAYS_CUT = 0.01
TIMES_FILLED_IN = 0.5
RESTRICTIONS_DROPPED = 0.2
SURFACE_UNKNOWN = 0.5
WATER_DROPPED = 0.1
#: Share of walkable streets of which it is not known whether wheelchairs pass.
STEP_FREE_UNKNOWN = 0.5
#: Years after which streets are called old, and days before its end at which a timetable ends soon.
OLD_YEARS, SOON_DAYS = 3, 14
#: A city of this many edges has turn restrictions.
EDGES_OF_A_CITY = 1000
#: Sentences about what was found; with two about the size, six at most.
_MOST = 4
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def verdict(facts: Facts, on: dt.date | None = None) -> list[str]:
    """
    Return three to six sentences on the data of a network, the most important findings after its size.

    Parameters
    ----------
    facts : mapping
        Report on a network.
    on : date, optional
        Date from which days count; by default today, in the time zone of the network.

    Returns
    -------
    list of str
        Empty if the facts are not those of a whole report.
    """
    if "modes" not in facts or "timezone" not in facts:
        return []
    day = today(str(facts["timezone"])) if on is None else on
    found = [sentence for finding in FINDINGS if (sentence := finding(facts, day))][:_MOST]
    return [_streets(facts), _timetable(facts), *(found or ["None of the checks of this report found a fault."])]


def _streets(facts: Facts) -> str:
    lengths = [f"{facts['modes'][mode]['street_km']:,.0f} km for {mode}" for mode in ("walking", "cycling", "driving")]
    return f"The network has streets of {lengths[0]}, {lengths[1]} and {lengths[2]}."


def _timetable(facts: Facts) -> str:
    feeds = _feeds(facts)
    if not feeds:
        return "It has no timetable: public transport needs gtfs=, the path of a GTFS feed."
    stops = sum(each["stops_off_streets"]["of"] for each in feeds.values())
    lines = sum(_lines(each) for each in feeds.values())
    served = _counted(lines, "line serves", "lines serve")
    return f"{served} {_counted(stops, 'stop', 'stops')}, in {_counted(len(feeds), 'feed', 'feeds')}."


# Findings ------------------------------------------------------------------------------------------------------------


def _never_runs(facts: Facts, _day: dt.date) -> str | None:
    """Report timetables without a date."""
    never = [name for name, (first, _) in _dates(facts).items() if first is None]
    if not never:
        return None
    return f"No trip of {_listed(never)} ever runs: look at calendar.txt and calendar_dates.txt there."


def _ended(facts: Facts, day: dt.date) -> str | None:
    """Report timetables that have ended."""
    spans = {name: (first, last) for name, (first, last) in _dates(facts).items() if first and last}
    ended = {name: last for name, (_, last) in spans.items() if last < day}
    if not ended:
        return None
    if len(_feeds(facts)) == 1:
        ((first, last),) = spans.values()
        return (
            f"The timetable ended {_counted((day - last).days, 'day', 'days')} ago, on {last}: searches need a "
            f"departure_time from {first} until then, or a typical one such as 'weekday_morning', or a newer feed."
        )
    begin, end = max(first for first, _ in spans.values()), min(last for _, last in spans.values())
    advice = (
        f"searches with all feeds need a departure_time from {begin} to {end}, or newer feeds"
        if begin <= end
        else "on no date do all feeds run; look for newer ones"
    )
    return f"The timetable of {_on_dates(ended, 'ended')}: {advice}."


def _not_begun(facts: Facts, day: dt.date) -> str | None:
    """Report timetables that have not begun."""
    later = {name: first for name, (first, _) in _dates(facts).items() if first is not None and first > day}
    return f"The timetable of {_on_dates(later, 'begins')} only." if later else None


def _ends_soon(facts: Facts, day: dt.date) -> str | None:
    """Report timetables that end soon."""
    last_dates = {name: last for name, (_, last) in _dates(facts).items() if last is not None}
    soon = {name: last for name, last in last_dates.items() if 0 <= (last - day).days <= SOON_DAYS}
    return (
        f"The timetable of {_on_dates(soon, 'ends')}: look for {'a newer feed' if len(soon) == 1 else 'newer feeds'}."
        if soon
        else None
    )


def _stops_off_streets(facts: Facts, _day: dt.date) -> str | None:
    """Report stops too far from streets."""
    every = [each["stops_off_streets"] for each in _feeds(facts).values()]
    number, total = sum(each["number"] for each in every), sum(each["of"] for each in every)
    if not total or number < STOPS_OFF_STREETS * total:
        return None
    begin = f"{number:,} of {total:,} stops are not on these streets"
    if number >= STOPS_OUTSIDE_THE_EXTRACT * total:
        return f"{begin}: the extract is smaller than the timetable; take a larger one for trips across its border."
    return f"{begin}: stops_off_streets() of this report lists them."


def _pathways_broken(facts: Facts, _day: dt.date) -> str | None:
    """Report stations whose pathways are not complete."""
    every = [each["pathways"] for each in _feeds(facts).values() if "pathways" in each]
    number, total = (sum(each.get(name, 0) for each in every) for name in ("linked_straight", "stations"))
    if not number:
        return None
    return (
        f"The pathways of {number:,} of {_counted(total, 'station', 'stations')} are not complete: their platforms are "
        "linked straight to the streets; 'noted' and 'dropped' of each feed say why."
    )


def _not_step_free(facts: Facts, _day: dt.date) -> str | None:
    """Report platforms that cannot be reached without steps."""
    every = [each["pathways"] for each in _feeds(facts).values() if "platforms" in each.get("pathways", {})]
    number, total = (sum(each[name] for each in every) for name in ("platforms_not_step_free", "platforms"))
    if not number:
        return None
    of = _counted(total, "platform", "platforms")
    return f"{number:,} of {of} in stations with pathways have no way without steps."


def _wheelchairs_unknown(facts: Facts, _day: dt.date) -> str | None:
    """Report feeds that say which stops, but not which trips, take wheelchairs, or say it of few stops."""
    parts = []
    for name, each in _feeds(facts).items():
        known = each.get("wheelchairs")
        if not known or known["stops_unknown"] == known["stops"]:
            continue
        for what, of in (("stops", known["stops"]), ("trips", each["trips"])):
            if of and known[f"{what}_unknown"] >= WHEELCHAIRS_UNKNOWN * of:
                parts.append(f"{_percent(known[f'{what}_unknown'] / of)} of the {what} of {name}")
    if not parts:
        return None
    return f"{_listed(parts)} do not say whether they take wheelchairs: step_free='strict' does without them."


def _rows_dropped(facts: Facts, _day: dt.date) -> str | None:
    """Report rows of feeds that cannot be used."""
    feeds = _feeds(facts)
    reasons: dict[str, int] = {}
    for each in feeds.values():
        for why, text in each.get("dropped", {}).items():
            reasons[why] = reasons.get(why, 0) + _rows(text)
    n_rows = sum(each.get("stop_times", 0) for each in feeds.values())
    if not reasons or sum(reasons.values()) < ROWS_DROPPED * n_rows:
        return None
    most = max(reasons, key=lambda why: reasons[why])
    return f"{sum(reasons.values()):,} rows of the timetable were dropped, {reasons[most]:,} of them for {most!r}."


def _on_islands(facts: Facts, _day: dt.date) -> str | None:
    """Report streets that cannot be left or reached."""
    shares = {mode: each.get("island_share", 0.0) for mode, each in facts["modes"].items()}
    mode = max(shares, key=lambda each: shares[each])
    if shares[mode] < ON_ISLANDS:
        return None
    return (
        f"{_percent(shares[mode])} of the streets for {mode} cannot be left or reached, as where an extract is cut: "
        "islands() of this report lists them."
    )


def _no_streets(facts: Facts, _day: dt.date) -> str | None:
    """Report modes without any street."""
    closed = [mode for mode, each in facts["modes"].items() if not each["edges"]]
    return (
        f"No street is open to {' or '.join(closed)}: the extract may have streets of some kinds only."
        if closed
        else None
    )


def _ways_cut(facts: Facts, _day: dt.date) -> str | None:
    """Report ways whose nodes are not in the file."""
    cut = facts.get("ways_cut_at_missing_nodes", 0) + facts.get("ways_dropped_missing_nodes", 0)
    total = facts.get("ways_read", 0)
    if not total or cut < WAYS_CUT * total:
        return None
    return f"{cut:,} of {total:,} ways have nodes outside of the file: take an extract with complete ways."


def _by_headway(facts: Facts, _day: dt.date) -> str | None:
    """Report lines that run by headway."""
    feeds = _feeds(facts)
    lines, number = (
        sum(_lines(each) for each in feeds.values()),
        sum(each.get("lines_by_headway", 0) for each in feeds.values()),
    )
    if not number:
        return None
    return (
        f"{number:,} of {_counted(lines, 'line runs', 'lines run')} by headway, without fixed times: by default they "
        "depart at the beginning of each headway; headways='average' or 'random' of Transportation assume no times."
    )


def _times_filled_in(facts: Facts, _day: dt.date) -> str | None:
    """Report stop times that the feed does not have."""
    feeds = _feeds(facts)
    filled = sum(sum(each.get("times_filled_in", {}).values()) for each in feeds.values())
    total = sum(each.get("stop_times", 0) for each in feeds.values())
    if not total or filled < TIMES_FILLED_IN * total:
        return None
    return f"{_percent(filled / total)} of the stop times are estimates, filled in between the times of the feed."


def _no_restrictions(facts: Facts, _day: dt.date) -> str | None:
    """Report turn restrictions that are missing or unclear."""
    read = facts.get("restrictions_read")
    if read == 0 and facts.get("edges", 0) >= EDGES_OF_A_CITY:
        return "The extract has no turn restrictions: cars turn wherever streets meet."
    dropped = sum(
        n for why, n in facts.get("restrictions_dropped", {}).items() if why not in ("other_vehicles", "cars_exempt")
    )
    if not read or dropped < RESTRICTIONS_DROPPED * read:
        return None
    return f"{dropped:,} of {read:,} turn restrictions could not be used: restrictions_dropped has the reasons."


def _surface_unknown(facts: Facts, _day: dt.date) -> str | None:
    """Report streets without a surface."""
    share = facts.get("surface_unknown_share", 0.0)
    if share < SURFACE_UNKNOWN:
        return None
    return f"The surface of {_percent(share)} of the streets is not known: cycling takes the usual speed there."


def _step_free_unknown(facts: Facts, _day: dt.date) -> str | None:
    """Report streets of which OpenStreetMap does not say whether they are step-free."""
    share = facts["modes"]["walking"].get("step_free", {}).get("unknown_share", 0.0)
    if "surface_unknown_share" not in facts or share < STEP_FREE_UNKNOWN:
        return None
    return (
        f"Whether wheelchairs pass is not known of {_percent(share)} of the streets for walking: step_free='lenient' "
        "uses them, and 'strict' does not."
    )


def _old_streets(facts: Facts, day: dt.date) -> str | None:
    """Report streets of an old date."""
    stamp = _date(str(facts.get("data_timestamp"))[:10])
    if stamp is None or (day - stamp).days < 365.25 * OLD_YEARS:
        return None
    return f"The streets are of {stamp}, {int((day - stamp).days / 365.25)} years ago: take a newer extract."


def _water_dropped(facts: Facts, _day: dt.date) -> str | None:
    """Report lakes whose shores are not in the file."""
    dropped, kept = facts.get("water_areas_dropped_incomplete", 0), facts.get("water_areas", 0)
    if not dropped or dropped < WATER_DROPPED * (dropped + kept):
        return None
    return f"{dropped:,} of {dropped + kept:,} lakes and rivers have shores outside of the file and are left out."


def _weekend(facts: Facts, day: dt.date) -> str | None:
    """Report days of the week without a trip of any feed on the dates to come or, if there are none, on all dates."""
    feeds = _feeds(facts)
    spans = [(first, last) for first, last in _dates(facts).values() if first and last]
    if not spans or not all("last_date_by_weekday" in each for each in feeds.values()):
        return None
    begin, end = min(first for first, _ in spans), max(last for _, last in spans)
    begin = max(begin, day) if day <= end else begin
    idle = []
    for number, name in enumerate(_WEEKDAYS):
        has_come = (number - begin.weekday()) % 7 <= (end - begin).days  # a date of this weekday is in between
        lasts = [_date(each["last_date_by_weekday"][name]) for each in feeds.values()]
        if has_come and not any(last is not None and last >= begin for last in lasts):
            idle.append(name.capitalize())
    return f"No trip runs on {_listed(idle, most=7)}." if idle else None


#: In the order of importance.
FINDINGS: Final[tuple[Callable[[Facts, dt.date], str | None], ...]] = (
    _no_streets, _never_runs, _ended, _not_begun, _ends_soon, _stops_off_streets, _rows_dropped, _on_islands,
    _pathways_broken, _not_step_free, _wheelchairs_unknown,
    _ways_cut, _by_headway, _old_streets, _times_filled_in, _no_restrictions, _water_dropped, _weekend,
    _surface_unknown, _step_free_unknown,
)  # fmt: skip


# Words ---------------------------------------------------------------------------------------------------------------


def _feeds(facts: Facts) -> dict[str, Any]:
    """Return the facts of each feed."""
    feeds: dict[str, Any] = facts.get("timetable", {})
    return feeds


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _rows(text: Any) -> int:
    """Return the number in a finding of a feed such as ``1,204 rows, lines 2, 3, ...``."""
    digits = str(text).partition(" ")[0].replace(",", "")
    return int(digits) if digits.isdecimal() else 0


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _dates(facts: Facts) -> dict[str, tuple[dt.date | None, dt.date | None]]:
    """Return the first and the last date of each feed, None for a feed that never runs."""
    return {name: (_date(each["first_date"]), _date(each["last_date"])) for name, each in _feeds(facts).items()}


def _lines(feed: Mapping[str, Any]) -> int:
    """Return the number of lines of a feed that have trips."""
    number: int = feed.get("lines_with_trips", feed["routes"])
    return number


def _on_dates(dates: Mapping[str, dt.date], verb: str) -> str:
    """Return text such as ``a ended on 2026-01-31 and that of b on 2026-05-01``."""
    (name, date), *others = dates.items()
    parts = [f"{name} {verb} on {date}", *(f"that of {name} on {date}" for name, date in others)]
    return _listed(parts)


def _listed(texts: list[str], most: int = _MOST) -> str:
    """Return texts as a list in words, with the number of those after the first few."""
    shown = texts if len(texts) <= most else [*texts[: most - 1], f"{len(texts) - most + 1:,} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
