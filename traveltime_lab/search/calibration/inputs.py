"""
Measured trips as receipts keep them: columns of numbers and texts.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray
from traveltime_lab.crs import WGS84
from traveltime_lab.search.calibration.trips import Measured
from traveltime_lab.search.receipts.inputs import InputTable

_ENDS = ("origin", "destination")


def input_trips(measured: Measured) -> InputTable:
    """Return measured trips with longitudes and latitudes, seconds, and moments as texts."""
    columns: dict[str, AnyArray] = {}
    for name, points in zip(_ENDS, (measured.starts, measured.ends), strict=True):
        columns |= {f"{name}_lng": points.lng.copy(), f"{name}_lat": points.lat.copy()}
    columns["travel_time"] = measured.seconds.copy()
    moments = [_text(moment) for moment in measured.moments]
    if any(moment is not None for moment in moments):
        columns["departure_time"] = np.array(moments, object)
    return InputTable(measured.labels, None, None, columns)


def as_observed(trips: pd.DataFrame) -> pd.DataFrame:
    """Return the table that `calibrate_speeds` takes for trips of a receipt; any other table unchanged."""
    if f"{_ENDS[0]}_lng" not in trips.columns:
        return trips
    points = {
        name: gpd.GeoSeries.from_xy(trips[f"{name}_lng"], trips[f"{name}_lat"], index=trips.index, crs=WGS84)
        for name in _ENDS
    }
    return trips.drop(columns=[f"{name}_{axis}" for name in _ENDS for axis in ("lng", "lat")]).assign(**points)


def _text(moment: Any) -> str | None:
    """Return a moment as text, None if it is missing."""
    if pd.isna(moment):
        return None
    if isinstance(moment, np.datetime64):
        moment = pd.Timestamp(moment)
    return moment.isoformat() if isinstance(moment, dt.date) else str(moment)
