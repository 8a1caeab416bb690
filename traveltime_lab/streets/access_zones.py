"""
Find the streets that can only be reached, or only be left, over destination-only streets.

Public streets may lie behind a street that is open to destinations only, such as the streets of a housing estate behind
a gate. A trip may begin and end there, but no trip may pass through. So these streets are treated as part of the
destination-only zone that they lie behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traveltime_lab._arrays import BoolArray, Int32Array
from traveltime_lab.kernels.street import reading
from traveltime_lab.streets.chains import distinct
from traveltime_lab.streets.components import order_by_row, strong, weak


@dataclass(frozen=True)
class AccessZones:
    """
    Directed edges that trips may use at their ends only.

    Attributes
    ----------
    is_destination : bool array of shape (n_directed,)
        Destination-only streets.
    ends_behind : bool array of shape (n_directed,)
        Public streets that are reached from the rest of the network over destination-only streets alone.
    begins_behind : bool array of shape (n_directed,)
        Public streets from which the rest of the network is reached over destination-only streets alone.
    """

    is_destination: BoolArray
    ends_behind: BoolArray
    begins_behind: BoolArray

    @property
    def is_inside(self) -> BoolArray:
        """Return the directed edges that have a state for trips that came from outside."""
        return self.is_destination | self.ends_behind | self.begins_behind

    def enters(self, source: Int32Array, target: Int32Array) -> BoolArray:
        """Return which turns of a trip that has not entered a zone do enter one."""
        begins = self.is_destination | self.begins_behind
        return ~begins[source] & begins[target]

    def stays(self, source: Int32Array, target: Int32Array) -> BoolArray:
        """Return which turns remain for a trip that has entered a zone from outside."""
        inside = self.is_inside
        is_public_dead_end = self.begins_behind & ~self.ends_behind
        goes_on = self.is_destination[target] | self.ends_behind[target]
        goes_on |= is_public_dead_end[source] & is_public_dead_end[target]
        return inside[source] & goes_on


def access_zones(
    source: Int32Array, target: Int32Array, is_open: BoolArray, is_destination: BoolArray, chain: Int32Array
) -> AccessZones:
    """
    Find the zones behind destination-only streets.

    Parameters
    ----------
    source, target : int32 arrays of shape (n_turns,)
        Directed edges before and after each allowed turn.
    is_open, is_destination : bool arrays of shape (n_directed,)
        Directed edges that are open to the mode, and those of them that are open to destinations only.
    chain : int32 array of shape (n_directed,)
        Chain of each directed edge, see `traveltime_lab.streets.chains`.

    Notes
    -----
    In each connected part of the network, the rest of the network is the largest set of public streets that lead to one
    another without destination-only streets, and the public streets between them. The size is the number of chains and
    directions, so that it does not matter where ways are cut. Sets of equal size count alike.
    """
    nothing = np.zeros(is_open.size, np.bool_)
    if not is_destination.any():
        return AccessZones(is_destination, nothing, nothing)
    n = is_open.size
    public_turns = ~is_destination[source] & ~is_destination[target]
    public_source, public_target = source[public_turns], target[public_turns]
    n_parts, part = weak(source, target, n)
    indptr, order = order_by_row(public_source, n)
    n_groups, group = strong(indptr, public_target[order])
    is_public = is_open & ~is_destination
    # The largest groups of each part. Which group has which number is of no importance, so equal ones are all taken.
    sizes = distinct(group[is_public], chain[is_public], n_groups)
    part_of_group = np.zeros(n_groups, part.dtype)
    part_of_group[group[is_public]] = part[is_public]
    largest_size = np.zeros(n_parts, sizes.dtype)
    np.maximum.at(largest_size, part_of_group, sizes)
    is_largest = sizes == largest_size[part_of_group]
    largest = is_public & is_largest[group]
    return AccessZones(
        is_destination,
        is_public & _reached(source, target, largest) & ~_reached(public_source, public_target, largest),
        is_public & _reached(target, source, largest) & ~_reached(public_target, public_source, largest),
    )


def _reached(source: Int32Array, target: Int32Array, start: BoolArray) -> BoolArray:
    """Return which directed edges can be reached from some of them."""
    indptr, order = order_by_row(source, start.size)
    found: BoolArray = reading.reach(indptr, target[order].astype(np.int32), start)
    return found
