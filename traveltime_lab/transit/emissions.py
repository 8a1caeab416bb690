"""
The emissions of journeys by transit: the lengths of `traveltime_lab.transit.lengths` times grams per kilometre.

Milligrams are whole numbers, as centimetres are, so that matrices and routes agree exactly. `UNKNOWN_MG` stands for
journeys with a part by a mode without a factor; it is the largest number of the lower half of a label.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from traveltime_lab._arrays import FloatArray, IndexArray, Int64Array, indptr_of
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.unreached import UNREACHED
from traveltime_lab.modes.costs import Costs
from traveltime_lab.streets import labels as label_parts
from traveltime_lab.transit.lengths import Fastest, JourneyLengths
from traveltime_lab.transit.query import TransitQuery
from traveltime_lab.transit.route_types import modes_of
from traveltime_lab.transit.timetable import Timetable

UNKNOWN_MG: Final = (1 << 32) - 1


def milligrams(cm: Int64Array, grams_per_km: FloatArray | float) -> Int64Array:
    """
    Return the milligrams of CO2e of ways, rounded half up.

    Parameters
    ----------
    cm : int64 array
        Lengths.
    grams_per_km : float64 array or float
        NaN where it is not known.

    Returns
    -------
    int64 array
        -1 for ways of some length by a mode without a factor.
    """
    factors = np.broadcast_to(np.asarray(grams_per_km, np.float64), cm.shape)
    is_unknown = np.isnan(factors) & (cm > 0)
    mg = np.floor(cm * np.where(np.isnan(factors), 0.0, factors) / 100.0 + 0.5)
    return np.where(is_unknown, -1, np.minimum(mg, UNKNOWN_MG - 1)).astype(np.int64)


def factor(costs: Costs, mode: str) -> float:
    """Return the grams of CO2e per passenger and kilometre of a mode, NaN if they are not known."""
    grams = costs.grams_per_km(mode)
    return np.nan if grams is None else grams


def trip_factors(timetable: Timetable, costs: Costs) -> FloatArray:
    """Return the factor of each trip of a timetable."""
    by_route = np.array([factor(costs, mode) for mode in modes_of(timetable.routes)], np.float64)
    return by_route[timetable.hot.trip_route]


def street_labels_in_grams(labels: Int64Array, grams_per_km: float) -> Int64Array:
    """Return labels with milligrams instead of centimetres, for ways on streets by one mode."""
    mg = milligrams(label_parts.cm(labels), grams_per_km)
    found = label_parts.from_ms(label_parts.ms(labels)) + np.where(mg < 0, UNKNOWN_MG, mg)
    return np.where(labels == UNREACHED, UNREACHED, found)


def of_walks(query: TransitQuery, labels: Int64Array) -> Int64Array:
    """Return the labels of walks all the way in the unit of a query."""
    if not query.in_grams:
        return labels
    return street_labels_in_grams(labels, factor(costs_of(query), query.transportation.egress.base))


class JourneyGrams(JourneyLengths):
    """The emissions of the journeys of one query: milligrams of CO2e in the place of centimetres."""

    @functools.cached_property
    def _of_trips(self) -> FloatArray:
        """The factor of each trip."""
        return trip_factors(self.query.layer.timetable, costs_of(self.query))

    def of_journeys(self, found: Fastest, at: IndexArray) -> Int64Array:
        """Return the milligrams of CO2e of some journeys, `UNKNOWN_MG` where they are not known."""
        legs = self.legs_of(found, at)
        costs, means = costs_of(self.query), self.query.transportation
        walking, access = factor(costs, means.egress.base), factor(costs, means.access.base)
        near, far = (walking, access) if self.query.is_arrival else (access, walking)
        ridden = milligrams(legs.calls[:, 3], self._of_trips[legs.calls[:, 0]])
        joints = milligrams(legs.joint_cm, np.where(legs.forest.before < 0, near, walking))
        links = milligrams(legs.link_cm, far)

        def total(rides: Int64Array, joint: Int64Array, link: Int64Array) -> Int64Array:
            own = np.diff(indptr_of(rides)[legs.indptr]) + joint
            sums: Int64Array = ride_lines.summed(legs.forest.before, own)
            return sums[legs.forest.last] + link

        mg = total(*(np.maximum(each, 0) for each in (ridden, joints, links)))
        n_unknown = total(*((each < 0).astype(np.int64) for each in (ridden, joints, links)))
        return np.where(n_unknown > 0, UNKNOWN_MG, np.minimum(mg, UNKNOWN_MG - 1))


def lengths_of(query: TransitQuery) -> type[JourneyLengths]:
    """Return what measures the journeys of a query: in centimetres, or in milligrams of CO2e."""
    return JourneyGrams if query.in_grams else JourneyLengths


def costs_of(query: TransitQuery) -> Costs:
    """Return the costs of a query for emissions."""
    assert query.question.costs is not None
    return query.question.costs
