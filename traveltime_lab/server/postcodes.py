"""
Postcodes and the zones they form, from a table that the user supplies.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import os
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from traveltime_lab._arrays import AnyArray, FloatArray, Int64Array
from traveltime_lab._csv import read_csv
from traveltime_lab._files import as_path, is_file
from traveltime_lab._parquet import check_size
from traveltime_lab.errors import DataError, MissingFileError, TravelTimeError
from traveltime_lab.rounding import half_up
from traveltime_lab.search.geocoding.gazetteer import postcode_score, prefix_quality, tokens_of

#: Area and district, sector and unit, spelt as in docs/contract.md, 7.7.
_BRITISH: Final = r"^([A-Z]{1,2}[0-9][A-Z0-9]?) ?([0-9][A-Z]{2})$"
#: Most words of a postcode (assumed; British, Dutch and Canadian ones have two).
_MOST_WORDS: Final = 3
#: Most postcodes that begin with a text, in their order (assumed: four times the most results of a search).
_MOST_FOUND: Final = 200


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
            read from British postcodes: ``SW1Y 5BG`` is in the district ``sw1y`` and the sector ``sw1y5``.

        Raises
        ------
        DataError
            If a column is missing, a postcode occurs twice or is empty, or a coordinate is missing or out of range.
        """
        missing = [name for name in ("postcode", "lat", "lng") if name not in table.columns]
        if missing:
            raise DataError(f"the table of zones has no column {missing[0]!r}; it needs postcode, lat and lng")
        codes = table["postcode"].astype("string").str.strip().str.upper().str.replace(r"\s+", " ", regex=True)
        # British postcodes, with the blank anywhere or without it.
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
                check_size(source)
                return cls.from_table(pd.read_parquet(source))
            return cls.from_table(read_csv(source, dtype={"postcode": "string"}))
        except TravelTimeError:
            raise
        except Exception as error:  # of pandas and pyarrow, about the content of a column or of the metadata
            reason = str(error) or type(error).__name__
            raise DataError(f"{source} cannot be read as a table of zones: {reason}") from error

    @functools.cached_property
    def _by_code(self) -> tuple[list[str], list[int]]:
        """Postcodes without blanks and hyphens in lower case, sorted, and their positions."""
        plain = ["".join(tokens_of(code)) for code in self.postcodes]
        order = sorted(range(len(plain)), key=plain.__getitem__)
        return [plain[i] for i in order], order

    def find(self, query: str) -> dict[int, float]:
        """
        Return the postcodes in a text, or that begin with it.

        Parameters
        ----------
        query : str
            Any text, such as ``"SW1Y 5BG, London"`` or ``"sw1y5"``.

        Returns
        -------
        dict of int to float
            Scores by position, as those of `traveltime_lab.geocode`.
        """
        codes, order = self._by_code
        tokens = tokens_of(query)
        found: dict[int, float] = {}
        for first, n in itertools.product(range(len(tokens)), range(1, _MOST_WORDS + 1)):
            text = "".join(tokens[first : first + n])
            if first + n > len(tokens) or not any(letter.isdigit() for letter in text):
                continue
            begin = bisect.bisect_left(codes, text)
            end = bisect.bisect_right(codes, text + "\U0010ffff" if n == len(tokens) else text)
            for i in range(begin, min(end, begin + _MOST_FOUND)):
                quality = prefix_quality(len(text), len(codes[i])) * n / len(tokens)
                found[order[i]] = max(found.get(order[i], 0.0), postcode_score(quality))
        return found


def statistics(values: Int64Array) -> dict[str, int]:
    """Return smallest, largest, mean and median of travel times, in whole seconds."""
    return {
        "min": int(values.min()),
        "max": int(values.max()),
        "mean": int(half_up(values.mean())),
        "median": int(half_up(np.median(values))),
    }
