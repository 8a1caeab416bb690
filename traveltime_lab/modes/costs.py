"""
Costs of trips: grams of CO2e and money per kilometre.

The factors of emissions are in ``emission_factors.csv``, each with its source. Factors of *operation* are those of fuel
and electricity, with their production; those of the *life cycle* also those of the manufacture, maintenance and end of
life of vehicles. Neither counts roads and rails.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

from traveltime_lab.errors import InputError
from traveltime_lab.modes.options import guess, number, one_of
from traveltime_lab.modes.table import BASE_MODES, DRIVING
from traveltime_lab.modes.transportation import ROUTE_MODES

Basis = Literal["life cycle", "operation"]
BASES: Final = ("life cycle", "operation")
#: Modes that factors and running costs are for: those on streets, and those of routes.
COST_MODES: Final = (*BASE_MODES, *ROUTE_MODES)
#: Largest factor in grams per kilometre, and largest price (assumed): larger ones are mistakes of units.
_MOST_GRAMS: Final = 100_000.0
_MOST_MONEY: Final = 1e6
_MOST_PEOPLE: Final = 100.0
#: Where the factors of ADEME are published.
_ADEME: Final = "https://impactco2.fr, https://github.com/incubateur-ademe/impactco2"


class _Factor(NamedTuple):
    """A row of the table of factors; grams per kilometre."""

    unit: str
    operation: float
    vehicle: float
    edition: str
    region: str
    source: str

    def grams(self, basis: str) -> float:
        """Return the factor of a basis."""
        return self.operation if basis == "operation" else round(self.operation + self.vehicle, 6)


@functools.cache
def _factors() -> dict[str, _Factor]:
    """Return the factors with a source, by mode."""
    with (Path(__file__).parent / "emission_factors.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["mode"]: _Factor(
                row["unit"], float(row["operation"]), float(row["vehicle"]), row["edition"], row["region"],
                row["source"] + (f" ({_ADEME})" if row["edition"] else ""),
            )
            for row in csv.DictReader(file)
        }  # fmt: skip


class _Fixed(Mapping[str, float | None]):
    """
    Numbers by mode, which cannot be changed.

    `given` are those that replace the table of factors, so that another basis fills the others.
    """

    def __init__(self, values: Mapping[str, float | None], given: Mapping[str, float | None] | None = None) -> None:
        self._values = dict(values)
        self.given = self._values if given is None else dict(given)

    def __getitem__(self, mode: str) -> float | None:
        """Return the number of a mode."""
        return self._values[mode]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the modes."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return the number of modes."""
        return len(self._values)

    def __repr__(self) -> str:
        """Return the numbers as those of a dict."""
        return repr(self._values)


@dataclass(frozen=True)
class Costs:
    """
    Grams of CO2e and money for each kilometre, for the properties ``emissions`` and ``cost``.

    Parameters
    ----------
    basis : {"life cycle", "operation"}, default "life cycle"
        Parts that the factors of emissions count: ``"operation"`` fuel and electricity with their production, ``"life
        cycle"`` also the manufacture, maintenance and end of life of vehicles. Neither counts roads and rails.
    emissions : mapping of str to float or None, optional
        Factors that replace those of the table, in grams of CO2e per kilometre and passenger, of ``"driving"`` per
        vehicle; None for not known. Keys are ``"walking"``, ``"cycling"``, ``"driving"`` and the modes of routes:
        ``"tram"``, ``"subway"``, ``"rail"``, ``"bus"``, ``"ferry"``, ``"cable_tram"``, ``"aerial_lift"``,
        ``"funicular"``, ``"trolleybus"``, ``"monorail"``, ``"coach"``, ``"air"``, ``"taxi"`` and ``"other"``.
    occupancy : float, default 1.0
        People in a car, 1 to 100, who share its emissions, running costs and tolls.
    running_cost : mapping of str to float, optional
        Money per kilometre of ``"cycling"`` and ``"driving"``, of a car as a whole. There are no defaults: the cost of
        a trip by bicycle or car is not known without them. Walking costs nothing.
    toll_per_km : float, optional
        Money per kilometre of streets with a toll, of a car as a whole. OpenStreetMap has the streets, but no prices:
        without this, the cost of a trip on one is not known.
    currency : str, optional
        ISO 4217 code of all costs, such as ``"EUR"``; needed with `running_cost` and `toll_per_km`. Fares in another
        currency are not known. Default: that of the fares of the timetable, if it is one.

    Attributes
    ----------
    emissions : dict of str to float or None
        The factors of all modes.

    Raises
    ------
    InputError
        If a mode or argument is unknown, or `currency` is missing.
    LimitError, ModeError
        If a number is out of range, or none.

    See Also
    --------
    routes : Routes with their emissions and costs.

    Notes
    -----
    The factors are those of ADEME, the French agency for ecological transition [1]_; `factors_frame` lists them with
    their sources. Trains, trams and underground railways in France run on electricity of low carbon: replace these
    factors elsewhere. Modes without a source have no factor, and trips with them no emissions (NA).

    References
    ----------
    .. [1] ADEME, Impact CO2, edition 2025. https://impactco2.fr

    Examples
    --------
    >>> costs = tl.Costs(emissions={"bus": 80})
    >>> costs.emissions["bus"], costs.emissions["walking"]
    (80.0, 0.0)
    >>> costs.emissions["ferry"] is None
    True
    """

    basis: Basis = "life cycle"
    emissions: Mapping[str, float | None] | None = None
    occupancy: float = 1.0
    running_cost: Mapping[str, float] | None = None
    toll_per_km: float | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        """Check and normalise every field."""
        basis = one_of(self.basis, BASES, "basis")
        grams: dict[str, float | None] = dict.fromkeys(COST_MODES)
        grams |= {mode: row.grams(basis) for mode, row in _factors().items()}
        replaced: dict[str, float | None] = {}
        given = self.emissions.given if isinstance(self.emissions, _Fixed) else self.emissions
        for mode, value in _mapping(given, "emissions", COST_MODES).items():
            unit = "grams of CO2e per km"
            replaced[mode] = None if value is None else number(value, f"emissions[{mode!r}]", unit, 0.0, _MOST_GRAMS)
        money = {
            mode: number(value, f"running_cost[{mode!r}]", "money per km", 0.0, _MOST_MONEY)
            for mode, value in _mapping(self.running_cost, "running_cost", ("cycling", "driving")).items()
        }
        toll = self.toll_per_km
        if toll is not None:
            toll = number(toll, "toll_per_km", "money per km", 0.0, _MOST_MONEY)
        if self.currency is None and (money or toll is not None):
            msg = "running_cost and toll_per_km need currency, the ISO 4217 code of both, such as currency='EUR'"
            raise InputError(msg)
        currency = self.currency
        if currency is not None and not (
            isinstance(currency, str) and len(currency) == 3 and currency.isascii() and currency.isalpha()
        ):
            raise InputError(f"currency must be an ISO 4217 code of three letters, such as 'EUR'; got {currency!r}")
        values = {
            "basis": basis, "emissions": _Fixed(grams | replaced, replaced), "running_cost": _Fixed(money),
            "toll_per_km": toll, "occupancy": number(self.occupancy, "occupancy", "people", 1.0, _MOST_PEOPLE),
            "currency": None if currency is None else currency.upper(),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        """Return the same number for equal costs; the mappings have none."""
        assert self.emissions is not None and self.running_cost is not None
        mappings = (frozenset(self.emissions.items()), frozenset(self.running_cost.items()))
        return hash((self.basis, *mappings, self.occupancy, self.toll_per_km, self.currency))

    def grams_per_km(self, mode: str) -> float | None:
        """
        Return the grams of CO2e of one passenger and kilometre.

        Parameters
        ----------
        mode : str
            A key of `emissions`.

        Returns
        -------
        float or None
            None if the mode has no factor.

        Examples
        --------
        >>> tl.Costs(emissions={"driving": 200}, occupancy=2).grams_per_km(
        ...     "driving"
        ... )
        100.0
        """
        assert self.emissions is not None
        factor = self.emissions[one_of(mode, COST_MODES, "mode")]
        return factor if factor is None or mode != DRIVING.name else factor / self.occupancy

    def money_per_km(self, mode: str) -> float | None:
        """
        Return the running costs of one traveller and kilometre on streets.

        Parameters
        ----------
        mode : {"walking", "cycling", "driving"}

        Returns
        -------
        float or None
            None if they are not known.

        Examples
        --------
        >>> tl.Costs(
        ...     running_cost={"driving": 0.3}, currency="EUR"
        ... ).money_per_km("driving")
        0.3
        """
        assert self.running_cost is not None
        if one_of(mode, BASE_MODES, "mode") == BASE_MODES[0]:
            return 0.0
        price = self.running_cost.get(mode)
        return price if price is None or mode != DRIVING.name else price / self.occupancy

    def factors_frame(self) -> pd.DataFrame:
        """
        Return the factors of emissions as a table, with their sources.

        Returns
        -------
        DataFrame
            Indexed by mode: ``grams_per_km`` (Float64, g CO2e; NA if not known), ``unit`` (``"passenger-km"``, or
            ``"vehicle-km"`` of cars), ``basis``, ``edition`` and ``region`` of the source, and ``source``, which is
            ``"given"`` for factors that were passed in and ``""`` for those that are not known.

        Examples
        --------
        >>> tl.Costs(basis="operation").factors_frame()["grams_per_km"].dropna()
        mode
        walking        0.0
        cycling        0.0
        driving    176.893
        tram           3.8
        subway         4.2
        rail          22.9
        bus          113.5
        coach        33.14
        Name: grams_per_km, dtype: Float64
        """
        assert self.emissions is not None
        rows: list[tuple[float | None, str, str, str, str, str]] = []
        for mode, grams in self.emissions.items():
            known = _factors().get(mode)
            unit = "vehicle-km" if mode == DRIVING.name else "passenger-km"
            if known is not None and grams == known.grams(self.basis):
                rows.append((grams, unit, self.basis, known.edition, known.region, known.source))
            else:
                rows.append((grams, unit, self.basis, "", "", "" if grams is None else "given"))
        columns = ["grams_per_km", "unit", "basis", "edition", "region", "source"]
        frame = pd.DataFrame(rows, columns=columns, index=pd.Index(list(self.emissions), name="mode"))
        return frame.astype({"grams_per_km": "Float64"})


def as_costs(value: Any) -> Costs:
    """Return `Costs` from a mapping of its fields, None for the defaults, or `Costs`."""
    if value is None:
        return Costs()
    if isinstance(value, Costs):
        return value
    known = tuple(field.name for field in fields(Costs))
    return Costs(**_mapping(value, "costs", known))


def _mapping(value: Any, name: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping with known keys."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a mapping, such as {{{known[0]!r}: ...}}; got {type(value).__name__}")
    for key in value:
        if not isinstance(key, str) or key not in known:
            raise InputError(f"{name} has no {key!r}. {guess(key, known)}")
    return dict(value)
