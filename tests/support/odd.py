"""Odd values for any argument: other types, ends of ranges, things that compare, convert or iterate in odd ways."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import fractions
import io
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

HUGE: Final = 10**400


class Word(str):
    """A text of a type of its own."""


class Whole(enum.IntEnum):
    """A number with a name."""

    FIVE = 5


def timedelta_without_unit() -> np.timedelta64:
    """A duration of which NumPy 2.5 warns that it will be an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return np.timedelta64(600)


def series(*shapes: Any, crs: Any = "EPSG:4326", index: Any = None) -> gpd.GeoSeries:
    return gpd.GeoSeries(list(shapes), crs=crs, index=index)


POINT: Final = shapely.Point(0.501, 0.5)
SQUARE: Final = shapely.box(0.499, 0.499, 0.503, 0.503)
BOW: Final = shapely.Polygon([(0.499, 0.499), (0.503, 0.503), (0.503, 0.499), (0.499, 0.503)])

#: A function for each value, as some can be used only once.
VALUES: Final[dict[str, Callable[[], Any]]] = {
    # Nothing, and truths
    "None": lambda: None,
    "...": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "True": lambda: True,
    "False": lambda: False,
    "np.True_": lambda: np.True_,
    "pd.NA": lambda: pd.NA,
    "pd.NaT": lambda: pd.NaT,
    # Numbers
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "5": lambda: 5,
    "300.0": lambda: 300.0,
    "0.5": lambda: 0.5,
    "-0.0": lambda: -0.0,
    "2147000": lambda: 2_147_000,
    "2**31": lambda: 2**31,
    "-2**31": lambda: -(2**31),
    "2**63": lambda: 2**63,
    "10**400": lambda: HUGE,
    "-10**400": lambda: -HUGE,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e308": lambda: 1e308,
    "1e-320": lambda: 1e-320,
    "1j": lambda: 1j,
    "Decimal nan": lambda: decimal.Decimal("NaN"),
    "Decimal": lambda: decimal.Decimal("1e400"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "np.int8": lambda: np.int8(-128),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.float16": lambda: np.float16("inf"),
    "np.float32": lambda: np.float32("nan"),
    "IntEnum": lambda: Whole.FIVE,
    # Texts
    "''": lambda: "",
    "' '": lambda: " ",
    "NUL": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "formula": lambda: "=1+1",
    "number in words": lambda: "5",
    "walking": lambda: "walking",
    "driving": lambda: "driving",
    "public_transport": lambda: "public_transport",
    "route": lambda: "route",
    "a moment": lambda: "2026-03-02T08:00:00",
    "Word": lambda: Word("travel_time"),
    "long": lambda: "a" * 5000,
    "braces": lambda: "{0} %s %(x)s",
    "bytes": lambda: b"walking",
    "bytearray": lambda: bytearray(b"x"),
    # Containers
    "()": lambda: (),
    "[]": list,
    "{}": dict,
    "set()": set,
    "[5]": lambda: [5],
    "[None]": lambda: [None],
    "['']": lambda: [""],
    "[[]]": lambda: [[]],
    "[nan]": lambda: [float("nan")],
    "['travel_time', 'travel_time']": lambda: ["travel_time", "travel_time"],
    "['distance', 'route']": lambda: ["distance", "route"],
    "[50, 99.9]": lambda: [50, 99.9],
    "(1, 2, 3, 4)": lambda: (1, 2, 3, 4),
    "(nan,) * 4": lambda: (float("nan"),) * 4,
    "(0.4, 0.4, 0.6, 0.6)": lambda: (0.4, 0.4, 0.6, 0.6),
    "pair": lambda: (0.501, 0.5),
    "huge pair": lambda: (HUGE, 0),
    "pairs": lambda: [(0.501, 0.5), (0.502, 0.5)],
    "pairs of huge": lambda: [(0.501, -HUGE)],
    "pair of nan": lambda: (float("nan"), 0.5),
    "pair of NA": lambda: (pd.NA, 0.5),
    "pair of Decimal": lambda: (decimal.Decimal("0.501"), decimal.Decimal("0.5")),
    "{5: 5}": lambda: {5: 5},
    "{'type': None}": lambda: {"type": None},
    "{'type': 'bus', 'max_changes': 10**400}": lambda: {"type": "bus", "max_changes": HUGE},
    "{'threshold': 2**63}": lambda: {"threshold": 2**63},
    "{'threshold': inf}": lambda: {"threshold": float("inf")},
    "{'limit': HUGE}": lambda: {"limit": HUGE},
    "{'scale_type': 'simple'}": lambda: {"scale_type": "simple", "level": "medium"},
    "{'scale_type': None}": lambda: {"scale_type": None, "level": HUGE},
    "{'lat': nan, 'lng': 5}": lambda: {"lat": float("nan"), "lng": 5},
    "{'residential': 5}": lambda: {"residential": 5},
    "{'residential': nan}": lambda: {"residential": float("nan")},
    "{0: HUGE}": lambda: {0: HUGE},
    "{HUGE: 5}": lambda: {HUGE: 5},
    "range": lambda: range(3),
    "generator": lambda: (i for i in (5, "a")),
    "endless": lambda: itertools.repeat("travel_time"),
    "deque": lambda: collections.deque(["travel_time"]),
    "ChainMap": lambda: collections.ChainMap({"type": "walking"}),
    # Moments
    "datetime.min": lambda: dt.datetime.min,
    "datetime.max": lambda: dt.datetime.max,
    "datetime.min, aware": lambda: dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=23))),
    "datetime.max, aware": lambda: dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=23))),
    "year 1": lambda: "0001-01-20T08:00:00",
    "year 9999": lambda: "9999-12-01T08:00:00",
    "in 2026": lambda: dt.datetime(2026, 3, 2, 8, tzinfo=ZoneInfo("Asia/Tokyo")),
    "date": lambda: dt.date(2026, 3, 2),
    "time": lambda: dt.time(8),
    "timedelta": lambda: dt.timedelta(minutes=10),
    "timedelta of half a second": lambda: dt.timedelta(seconds=600.5),
    "timedelta.max": lambda: dt.timedelta.max,
    "timedelta.min": lambda: dt.timedelta.min,
    "pd.Timestamp": lambda: pd.Timestamp("2026-03-02T08:00:00.123456789"),
    "pd.Timestamp.max": lambda: pd.Timestamp.max,
    "pd.Timedelta": lambda: pd.Timedelta("10min"),
    "pd.Period": lambda: pd.Period("2026-03-02T08:00", freq="h"),
    "np.datetime64": lambda: np.datetime64("2026-03-02T08:00:00"),
    "np.datetime64, far": lambda: np.datetime64(2**62, "s"),
    "np.datetime64 NaT": lambda: np.datetime64("NaT", "s"),
    "np.timedelta64": lambda: np.timedelta64(600, "s"),
    "np.timedelta64 NaT": lambda: np.timedelta64("NaT", "s"),
    "np.timedelta64, years": lambda: np.timedelta64(3, "Y"),
    "np.timedelta64 of nothing": timedelta_without_unit,
    # Arrays and tables
    "np.array(5)": lambda: np.array(5),
    "np.array([])": lambda: np.array([]),
    "np.array([300, 600])": lambda: np.array([300, 600]),
    "np.array of texts": lambda: np.array(["travel_time", "distance"]),
    "np.array of objects": lambda: np.array([None, {}], dtype=object),
    "np.ma": lambda: np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    "pd.Index": lambda: pd.Index(["travel_time"]),
    "pd.Series": lambda: pd.Series([0.5, 0.501]),
    "pd.Series of NA": lambda: pd.Series([pd.NA, 5], dtype="Int64"),
    "pd.DataFrame()": pd.DataFrame,
    "DataFrame of pairs": lambda: pd.DataFrame({"origin": [0], "destination": [HUGE]}, dtype=object),
    "DataFrame of labels": lambda: pd.DataFrame({"origin": [0, None], "destination": [0, 0]}),
    "DataFrame of positions": lambda: pd.DataFrame({"lng": [0.5], "lat": [0.5]}),
    "Point": lambda: POINT,
    "Point()": shapely.Point,
    "Point(inf)": lambda: shapely.Point(float("inf"), 0.5),
    "Point(1e300)": lambda: shapely.Point(1e300, 1e300),
    "Point Z": lambda: shapely.Point(0.501, 0.5, 9.0),
    "LineString": lambda: shapely.LineString([(0.5, 0.5), (0.501, 0.5)]),
    "Polygon": lambda: SQUARE,
    "MultiPoint": lambda: shapely.MultiPoint([(0.5, 0.5)]),
    "[Point, None]": lambda: [POINT, None],
    "GeoSeries": lambda: series(POINT, shapely.Point(0.502, 0.5)),
    "GeoSeries()": lambda: series(),
    "GeoSeries of None": lambda: series(None, POINT),
    "GeoSeries without a CRS": lambda: series(POINT, crs=None),
    "GeoSeries far away": lambda: series(shapely.Point(-179.9, 89.9)),
    "GeoSeries in metres": lambda: series(shapely.Point(1e300, -1e300), crs="EPSG:3857"),
    "GeoSeries in feet": lambda: series(shapely.Point(1e6, 2e5), crs="EPSG:2263"),
    "GeoSeries by nan": lambda: series(POINT, POINT, index=[float("nan"), 5]),
    "GeoSeries by nan twice": lambda: series(POINT, POINT, index=[float("nan"), float("nan")]),
    "GeoSeries by tuples": lambda: series(POINT, POINT, index=pd.MultiIndex.from_tuples([(1, "a"), (1, "b")])),
    "GeoSeries by mixed": lambda: series(POINT, POINT, index=pd.Index([dt.date(2026, 1, 1), b"x"], dtype=object)),
    "GeoSeries of polygons": lambda: series(SQUARE, BOW),
    "GeoSeries of everything": lambda: series(POINT, SQUARE, shapely.LineString([(0, 0), (1, 1)]), None),
    "GeoDataFrame": lambda: gpd.GeoDataFrame({"speed": [5.0], "travel_time": [60]}, geometry=[SQUARE], crs=4326),
    "GeoDataFrame of bows": lambda: gpd.GeoDataFrame(
        {"kph": pd.Series([HUGE], dtype=object), "travel_time": [-1]}, geometry=[BOW], crs=4326
    ),
    "GeoDataFrame of nothing": lambda: gpd.GeoDataFrame({"travel_time": [None]}, geometry=[None], crs=4326),
    "GeoDataFrame without geometry": lambda: gpd.GeoDataFrame({"a": [1]}),
    "GeoDataFrame, columns twice": lambda: gpd.GeoDataFrame(
        [[1, 2, POINT]], columns=["a", "a", "geometry"], geometry="geometry", crs=4326
    ),
    # Other objects
    "object()": object,
    "a class": lambda: dict,
    "a function": lambda: len,
    "an exception": lambda: ValueError("x"),
    "Path": lambda: Path("nowhere"),
    "long Path": lambda: Path("a" * 300),
    "BytesIO": io.BytesIO,
    "Ellipsis of slices": lambda: slice(None),
}
