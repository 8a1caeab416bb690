"""
Postcodes and the zones they form, from a table that the user supplies.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, FloatArray, Int64Array
from traveltime_lab._files import as_path, is_file
from traveltime_lab.errors import DataError, MissingFileError

#: Area and district, sector and unit, spelt as in contract 7.7.
_BRITISH: Final = r"^([A-Z]{1,2}[0-9][A-Z0-9]?) ?([0-9][A-Z]{2})$"


@dataclass(frozen=True)
class Zones:
    """
    Postcodes with their places, districts and sectors.

    Attributes
    ----------
    postcodes : list of str
        As the answers show them: upper case with a blank in the United Kingdom.
    lng, lat : float64 arrays of shape (n,)
    districts, sectors : object arrays of shape (n,)
        Lower case without blanks.
    """

    postcodes: list[str]
    lng: FloatArray
    lat: FloatArray
    districts: AnyArray
    sectors: AnyArray

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> Zones:
        """
        Return the zones of a table.

        Parameters
        ----------
        table : DataFrame
            Columns ``postcode``, ``lat``, ``lng``, and optionally ``district`` and ``sector``, which by default are
            read from British postcodes: of ``SW1Y 5BG`` the district is ``sw1y`` and the sector ``sw1y5``.

        Raises
        ------
        DataError
            If a column is missing, a postcode occurs twice or is empty, or a coordinate is missing or out of range.
        """
        missing = [name for name in ("postcode", "lat", "lng") if name not in table.columns]
        if missing:
            raise DataError(f"the table of zones has no column {missing[0]!r}; it needs postcode, lat and lng")
        codes = table["postcode"].astype("string").str.strip().str.upper().str.replace(r"\s+", " ", regex=True)
        # Of British shape, with the blank wherever people put it or not.
        codes = codes.str.replace(_BRITISH, r"\1 \2", regex=True)
        if codes.isna().any() or (codes == "").any():
            raise DataError("the table of zones has rows without a postcode")
        if codes.duplicated().any():
            raise DataError(f"the table of zones has the postcode {codes[codes.duplicated()].iloc[0]!r} twice")
        lat, lng = (pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64) for name in ("lat", "lng"))
        wrong = ~((np.abs(lat) <= 90.0) & (np.abs(lng) <= 180.0))
        if wrong.any():
            raise DataError(f"the table of zones has no usable coordinates for {codes.iloc[int(wrong.argmax())]!r}")
        outward = codes.str.split().str[0].str.lower()
        inward = codes.str.split().str[-1].str.lower()
        has_two = codes.str.contains(r"\s")
        districts = table.get("district", outward)
        sectors = table.get("sector", (outward + inward.str[:1]).where(has_two, outward))
        columns = (
            column.astype("string").str.lower().str.replace(r"\s+", "", regex=True).to_numpy(dtype=object)
            for column in (districts, sectors)
        )
        return cls(codes.tolist(), lng, lat, *columns)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Zones:
        """
        Return the zones of a file: ``.csv`` (also compressed) or ``.parquet``; see `from_table`.

        Raises
        ------
        MissingFileError
            If there is no such file.
        DataError
            If it cannot be read as a table of zones.
        """
        source = as_path(path, "zones")
        if not is_file(source):
            raise MissingFileError(f"no table of zones at {source}")
        try:
            if source.suffix == ".parquet":
                return cls.from_table(pd.read_parquet(source))
            return cls.from_table(pd.read_csv(source, dtype={"postcode": "string"}))
        except (ValueError, OSError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{source} cannot be read as a table of zones: {error}") from error


def statistics(values: Int64Array) -> dict[str, int]:
    """Return smallest, largest, mean and median of travel times, in whole seconds."""
    return {
        "min": int(values.min()),
        "max": int(values.max()),
        "mean": int(np.floor(values.mean() + 0.5)),
        "median": int(np.floor(np.median(values) + 0.5)),
    }
