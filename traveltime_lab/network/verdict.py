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
ON_ISLANDS = 0.05
WAYS_CUT = 0.01
TIMES_FILLED_IN = 0.5
RESTRICTIONS_DROPPED = 0.2
SURFACE_UNKNOWN = 0.5
WATER_DROPPED = 0.1
#: Years after which streets are called old, and days before its end at which a timetable ends soon.
OLD_YEARS, SOON_DAYS = 3, 14
#: A city of this many edges has turn restrictions.
EDGES_OF_A_CITY = 1000
#: Sentences about what was found; with two about the size, six at most.
_MOST = 4


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
    lines = sum(each["routes"] for each in feeds.values())
    served = _counted(lines, "line serves", "lines serve")
    return f"{served} {_counted(stops, 'stop', 'stops')}, in {_counted(len(feeds), 'feed', 'feeds')}."


# Findings ------------------------------------------------------------------------------------------------------------


def _ended(facts: Facts, day: dt.date) -> str | None:
    """Report timetables that have ended, that end soon or that have not begun."""
    feeds = _feeds(facts)
    dates = {name: (_date(each["first_date"]), _date(each["last_date"])) for name, each in feeds.items()}
    never = [name for name, (_, last) in dates.items() if last is None]
    ended = {name: last for name, (_, last) in dates.items() if last is not None and last < day}
    if never:
        return f"No trip of {_some(never, 'feed')} ever runs: look at calendar.txt and calendar_dates.txt of the feed."
    if ended:
        last = max(ended.values())
        ago = _counted((day - last).days, "day", "days")
        what = "The timetable ended" if len(feeds) == 1 else f"{len(ended)} of {len(feeds)} feeds ended, the last"
        return (
            f"{what} {ago} ago, on {last}: searches need a departure_time until then, or a typical one such as "
            "'weekday_morning', or a newer feed."
        )
    later = {name: first for name, (first, _) in dates.items() if first is not None and first > day}
    if later:
        return f"The timetable of {_some(list(later), 'feed')} begins on {min(later.values())} only."
    soon = {name: last for name, (_, last) in dates.items() if last is not None and (last - day).days <= SOON_DAYS}
    if soon:
        return f"The timetable of {_some(list(soon), 'feed')} ends on {min(soon.values())}: look for a newer feed."
    return None


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


def _rows_dropped(facts: Facts, _day: dt.date) -> str | None:
    """Report rows of feeds that cannot be used."""
    feeds = _feeds(facts)
    reasons = {why: _rows(text) for each in feeds.values() for why, text in each.get("dropped", {}).items()}
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
        sum(each["routes"] for each in feeds.values()),
        sum(each.get("lines_by_headway", 0) for each in feeds.values()),
    )
    if not number:
        return None
    return (
        f"{number:,} of {_counted(lines, 'line runs', 'lines run')} by headway, without fixed times: departures are "
        "assumed from the beginning of each headway; percentiles over a departure window show the spread."
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


def _weekend(facts: Facts, _day: dt.date) -> str | None:
    """Report days of the week without service."""
    weeks = [each["trips_per_weekday"] for each in _feeds(facts).values()]
    idle = [day for day in (weeks[0] if weeks else ()) if not any(week[day] for week in weeks)]
    if not idle or len(idle) == 7:
        return None
    return f"No trip runs on {' and '.join(day.capitalize() for day in idle)}."


#: In the order of importance.
FINDINGS: Final[tuple[Callable[[Facts, dt.date], str | None], ...]] = (
    _no_streets, _ended, _stops_off_streets, _rows_dropped, _on_islands, _ways_cut, _by_headway, _old_streets,
    _times_filled_in, _no_restrictions, _water_dropped, _weekend, _surface_unknown,
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


def _some(names: list[str], what: str) -> str:
    """Return a name, or how many there are."""
    return names[0] if len(names) == 1 else f"{len(names):,} {what}s"
