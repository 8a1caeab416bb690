"""
A slow, obviously right twin of measured speeds by hour: a list of 168 times for each directed edge, in plain Python.

`frozen` makes a network whose free-flow speeds are those of a dictionary, so that a search in it without congestion is
the twin of a search at an hour.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import traveltime_lab as tl
from traveltime_lab.network.network import Network
from traveltime_lab.streets import costs
from traveltime_lab.streets.tables import StreetTables

DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
#: What each word of the column ``day`` means.
OF_WORD = {name: [number] for number, name in enumerate(DAYS)}
OF_WORD |= {"weekday": [0, 1, 2, 3, 4], "weekend": [5, 6], None: [0, 1, 2, 3, 4, 5, 6]}
SIDES = {"forward": [0], "backward": [1], "both": [0, 1], None: [0, 1]}
SIDE_NAMES = ("forward", "backward")


def free_kph(tables: StreetTables, edge: int, side: int) -> float:
    """Return the free-flow speed of cars in one direction."""
    return float(tables.uses[f"driving_kph_{SIDE_NAMES[side]}"].to_numpy()[tables.edge_use[edge]])


def measured(rows: pd.DataFrame) -> dict[tuple[int, int, int], float]:
    """Return the speed by edge, side and hour of the week of the rows of a profile of edges."""
    found = {}
    for row in rows.to_dict("records"):
        direction, word = (None if pd.isna(row[name]) else row[name] for name in ("direction", "day"))
        for side in SIDES[direction]:
            for day in OF_WORD[word]:
                place = int(row["edge"]), side, 24 * day + int(row["hour"])
                assert place not in found
                found[place] = float(np.float32(row["kph"]))
    return found


def week_of_times(tables: StreetTables, speeds: dict[Any, float], edge: int, side: int) -> list[float]:
    """Return the hours that a kilometre takes at each of the 168 hours of the week."""
    share = float(costs.delay_shares(tables.uses["highway"].to_numpy())[tables.edge_use[edge]])
    free = free_kph(tables, edge, side)
    times = []
    for hour in range(168):
        kph = speeds.get((edge, side, hour))
        if kph is None:
            multiplier = float(costs.CONGESTION[hour // 24][hour % 24])
            kph = free / (1.0 + (multiplier - 1.0) * share)
        times.append(1.0 / kph)
    return times


def kph_then(times: list[float], model: str | None, moment: Any) -> float:
    """Return the speed of cars at a moment along a directed edge with 168 times."""
    shortest = min(times)
    if model == "off_peak":
        return 1.0 / shortest
    if isinstance(moment, dt.datetime) and model != "peak":
        there = times[24 * moment.weekday() + moment.hour]
    elif moment is None and model != "peak":
        chosen = [times[24 * day + hour] for day in range(5) for hour in range(7, 20)]
        there = sum(chosen) / len(chosen)
    else:
        there = sum(times[24 * day + 8] for day in range(5)) / 5
    share = {"optimistic": 0.5, "pessimistic": 1.5}.get(model or "", 1.0)
    return 1.0 / (shortest + (there - shortest) * share)


def frozen(network: Network, speeds: dict[tuple[int, int], float]) -> Network:
    """Return the network with speeds of cars by edge and side, and without measured ones."""
    tables = network.tables
    uses = tables.uses.iloc[tables.edge_use].reset_index(drop=True)
    for (edge, side), kph in speeds.items():
        column = f"driving_kph_{SIDE_NAMES[side]}"
        if uses.loc[edge, column] > 0:
            uses.loc[edge, column] = np.float32(kph)
    plain = replace(tables, uses=uses, edge_use=np.arange(len(uses), dtype=np.int32), hourly=None)
    return tl.build_network(plain, timezone=network.timezone)


@st.composite
def profiles(draw: st.DrawFn, n_edges: int, *, is_whole: bool = False) -> pd.DataFrame:
    """
    Draw a profile of edges, also of those that are closed to cars.

    Each edge has one way to write its days and directions; a whole one has every hour of the week.
    """
    speeds = st.sampled_from([7.3, 12.0, 20.0, 33.4, 55.0])
    rows: list[dict[str, Any]] = []
    for edge in range(n_edges):
        if not is_whole and not draw(st.booleans()):
            continue
        words = draw(st.sampled_from([DAYS, ["weekday", "weekend"], [None], ["tuesday", "weekend"]]))
        words = words if not is_whole or len(words) != 2 else ["weekday", "weekend"]
        sides = draw(st.sampled_from([["forward", "backward"], ["both"], [None]]))
        sides = sides if is_whole else sides[: draw(st.integers(1, 2))]
        hours = range(24) if is_whole else draw(st.lists(st.sampled_from([0, 3, 7, 8, 9, 17, 23]), unique=True))
        for word in words:
            for side in sides:
                # One draw for a day: hypothesis bounds the number of draws.
                order = draw(st.lists(speeds, min_size=3, max_size=3))
                rows += [
                    {"edge": edge, "direction": side, "day": word, "hour": hour, "kph": order[hour % 3]}
                    for hour in hours
                ]
    return pd.DataFrame(rows, columns=["edge", "direction", "day", "hour", "kph"])
