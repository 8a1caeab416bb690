"""
Find the Pareto-optimal journeys of one pair by time, emissions, money and number of rides: RAPTOR with bags.

A *label* is a journey whose last ride arrives at a stop. Each stop keeps a *bag* of labels of which none is worse than
another in all criteria, and a bag of *entries*: journeys that are ready to board there. Rounds add one ride each, so a
label never has more rides than a later one. Journeys alternate rides and transfers as in
`traveltime_lab.kernels.transit.raptor`.

The first trip instance of a pattern that can be boarded is the best of its *class*: those with the same emissions
between all positions, the same fares and the same continuations. One instance of each class is boarded.

Emissions are compared in whole steps of each ride, as millions of journeys differ by some milligrams.

Money is not a sum over rides: a ticket may cover several. If fares depend on the number of rides only, fewer rides cost
no more. Otherwise two journeys are compared only if their rides have the same *signatures*, all that fares depend on,
in the same order; where tickets expire, also only if every span of time between boardings of the one is no longer, now
and after any further boarding. Then whatever follows costs no more after the one.

References
----------
D. Delling, T. Pajor, R. Werneck, "Round-Based Public Transit Routing", ALENEX 2012, section 4 (McRAPTOR).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traveltime_lab.kernels.compiled import kernel
from traveltime_lab.kernels.transit import ride_lines
from traveltime_lab.kernels.unreached import FORBIDDEN, NEVER

# Columns of labels.
TIME, STEPS, SPENT, RIDES, BEFORE, STOP = 0, 1, 2, 3, 4, 5
BOARD_RUN, BOARD_POSITION, ALIGHT_RUN, ALIGHT_POSITION, BOARD_TIME, SIGNATURE = 6, 7, 8, 9, 10, 11
_NEXT, ALIVE = 12, 13
N_COLUMNS = 14
# Columns of entries: ready to board at a stop after a label, -1 for none.
_READY, _AFTER, _AT, _NEXT_ENTRY, _ENTRY_STEPS, _ENTRY_SPENT, _IS_OPEN = 0, 1, 2, 3, 4, 5, 6
_N_ENTRY_COLUMNS = 7
#: Milligrams, and steps, of journeys with a part whose emissions are not known.
UNKNOWN = 1 << 40


class Tariff(NamedTuple):
    """Emissions of rides, and the facts that fares depend on."""

    grams_per_km: np.ndarray  # float64 (n_runs,), NaN if not known
    run_class: np.ndarray  # int32 (n_runs,), numbered over all patterns
    n_classes: np.ndarray  # int32 (n_patterns,)
    run_signature: np.ndarray  # int64 (n_runs,), -1 for rides whose fare depends on more than this and the zones
    stop_zone: np.ndarray  # int64 (n_stops,)
    n_zones: int
    step_mg: int  # milligrams of a step, in which emissions of rides are compared
    with_signatures: bool  # whether fares depend on more than the number of rides
    with_times: bool  # whether tickets expire


class Access(NamedTuple):
    """Stops at which the traveller is at a time, with emissions in steps and money of the way there."""

    stops: np.ndarray  # int32 (n,)
    times: np.ndarray  # int32 (n,)
    steps: np.ndarray  # int64 (n,)
    spent: np.ndarray  # int64 (n,)


@kernel
def _grown(rows):
    """Return rows with room for as many more."""
    out = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    out[: rows.shape[0]] = rows
    return out


@kernel
def _costs_no_more(labels, one, other, with_times):
    """Return whether whatever follows costs no more after one label than after another, -1 for none."""
    before = np.int64(0)
    while one >= 0 and other >= 0:
        if labels[one, SIGNATURE] != labels[other, SIGNATURE]:
            return False
        later = labels[one, BOARD_TIME] - labels[other, BOARD_TIME]
        if with_times and later < before:
            return False
        before = later
        one, other = labels[one, BEFORE], labels[other, BEFORE]
    return one < 0 and other < 0


@kernel
def milligrams(cm, grams_per_km):
    """Return milligrams rounded half up, `UNKNOWN` if the factor is not known."""
    if np.isnan(grams_per_km):
        return np.int64(UNKNOWN) if cm > 0 else np.int64(0)
    return np.int64(np.floor(cm * grams_per_km / 100.0 + 0.5))


@kernel
def in_steps(mg, step_mg):
    """Return milligrams in whole steps, rounded half up."""
    return np.int64(UNKNOWN) if mg >= UNKNOWN else (2 * mg + step_mg) // (2 * step_mg)


@kernel
def _ride_steps(trips, known, tables, tariff, board_run, board_position, alight_run, alight_position):
    """Return the emissions of a ride in whole steps, rounded half up."""
    instance_trip, stay_instance = tables
    if board_run == alight_run:
        trip = np.int64(instance_trip[board_run])
        cm = ride_lines.ride_cm(trips, known, trip, board_position, alight_position)
        return in_steps(milligrams(cm, tariff.grams_per_km[board_run]), tariff.step_mg)
    ends = np.array([board_run, board_position, alight_run, alight_position], np.int32)
    _, calls = ride_lines.ride_calls(
        trips, known, instance_trip, stay_instance, ends[0:1], ends[1:2], ends[2:3], ends[3:4]
    )
    total, run = np.int64(0), np.int64(board_run)
    for call in range(calls.shape[0]):
        while instance_trip[run] != calls[call, 0]:
            run = np.int64(stay_instance[run])
        total += milligrams(calls[call, 3], tariff.grams_per_km[run])
    return in_steps(total, tariff.step_mg)


@kernel
def pareto_labels(lines, trips, known, tables, tariff, access, egress_ms, limit, max_rides, change_delay, most):
    """
    Return the labels of all Pareto-optimal journeys from access stops to stops with an egress.

    Parameters
    ----------
    lines : Lines
        Forward lines, in milliseconds.
    trips, known : TripLines, KnownLengths
        See `traveltime_lab.kernels.transit.ride_lines`.
    tables : tuple of int32 arrays of shape (n_runs,)
        Trip of each trip instance, and the one that it continues as.
    tariff : Tariff
    access : Access
    egress_ms : int32 array of shape (n_stops,)
        Time from each stop to the destination, `NEVER` if it is too far.
    limit : int
        Latest arrival at the destination.
    max_rides : int
    change_delay : int
    most : int
        Largest number of labels.

    Returns
    -------
    labels : int64 array of shape (n_labels, N_COLUMNS)
        Those with `ALIVE` set are optimal at their stop; `BEFORE` is the label of the ride before.
    is_complete : bool
        False if there are more labels than `most`, or a bag did not fit.
    """
    n_stops = lines.change_time.size
    with_signatures = tariff.with_signatures
    labels = np.zeros((1024, N_COLUMNS), np.int64)
    entries = np.zeros((1024, _N_ENTRY_COLUMNS), np.int64)
    n_labels, n_entries = 0, 0
    bag = np.full(n_stops, -1, np.int64)
    open_bag = np.full(n_stops, -1, np.int64)
    stamp = np.zeros(max(1, tariff.run_class.size), np.int64)
    now = np.int64(0)
    # Labels from which the destination is reached; they prune others if fares have no signatures.
    arrived = np.zeros(256, np.int64)
    n_arrived = 0
    for seed in range(access.stops.size):
        if n_entries == entries.shape[0]:
            entries = _grown(entries)
        entries[n_entries, _READY] = access.times[seed]
        entries[n_entries, _AFTER] = -1
        entries[n_entries, _AT] = access.stops[seed]
        entries[n_entries, _NEXT_ENTRY] = open_bag[access.stops[seed]]
        entries[n_entries, _ENTRY_STEPS] = access.steps[seed]
        entries[n_entries, _ENTRY_SPENT] = access.spent[seed]
        entries[n_entries, _IS_OPEN] = 1
        open_bag[access.stops[seed]] = n_entries
        n_entries += 1
    first_entry, k = 0, 0
    while first_entry < n_entries and k < max_rides:
        k += 1
        first_label, last_entry = n_labels, n_entries
        for entry in range(first_entry, last_entry):
            if entries[entry, _IS_OPEN] == 0:
                continue
            stop, ready, after = entries[entry, _AT], entries[entry, _READY], entries[entry, _AFTER]
            steps_before, spent = entries[entry, _ENTRY_STEPS], entries[entry, _ENTRY_SPENT]
            for e in range(lines.stop_indptr[stop], lines.stop_indptr[stop + 1]):
                p, position = np.int64(lines.stop_pattern[e]), np.int64(lines.stop_boarding[e])
                start = lines.pattern_indptr[p]
                n = lines.pattern_indptr[p + 1] - start
                first_run = lines.instance_indptr[p]
                n_runs = lines.instance_indptr[p + 1] - first_run
                times = lines.time_indptr[p] + position - start
                low, high = np.int64(0), n_runs
                while low < high:
                    middle = (low + high) >> 1
                    if lines.departure[times + middle * n] >= ready:
                        high = middle
                    else:
                        low = middle + 1
                now += 1
                n_seen = 0
                for r in range(low, n_runs):
                    leaves = np.int64(lines.departure[times + r * n])
                    if leaves > limit or n_seen == tariff.n_classes[p]:
                        break
                    board_run = first_run + r
                    kind = tariff.run_class[board_run]
                    if stamp[kind] == now:
                        continue
                    stamp[kind] = now
                    n_seen += 1
                    # Ride to the end of the trip, and stay seated where the vehicle continues.
                    run, q, k_first = board_run, p, position - start + 1
                    while True:
                        begin = lines.pattern_indptr[q]
                        size = lines.pattern_indptr[q + 1] - begin
                        at = lines.time_indptr[q] + (run - lines.instance_indptr[q]) * size
                        is_over = False
                        for j in range(k_first, size):
                            time = np.int64(lines.arrival[at + j])
                            if time > limit:
                                is_over = True
                                break
                            if not lines.can_alight[begin + j]:
                                continue
                            here = np.int64(lines.pattern_stops[begin + j])
                            steps = min(
                                np.int64(UNKNOWN),
                                steps_before
                                + _ride_steps(trips, known, tables, tariff, board_run, position - start, run, j),
                            )
                            signature = np.int64(0)
                            if with_signatures:
                                signature = tariff.run_signature[board_run]
                                if signature < 0 or run != board_run:
                                    signature = np.int64(-2 - n_labels)
                                else:
                                    pair = tariff.stop_zone[stop] * tariff.n_zones + tariff.stop_zone[here]
                                    signature = signature * tariff.n_zones * tariff.n_zones + pair
                            if n_labels == labels.shape[0]:
                                if n_labels >= most:
                                    return labels[:n_labels], False
                                labels = _grown(labels)
                            # Written where the next label belongs, and kept if nothing beats it.
                            new = n_labels
                            labels[new, TIME], labels[new, STEPS], labels[new, SPENT] = time, steps, spent
                            labels[new, RIDES], labels[new, BEFORE], labels[new, STOP] = k, after, here
                            labels[new, BOARD_RUN], labels[new, BOARD_POSITION] = board_run, position - start
                            labels[new, ALIGHT_RUN], labels[new, ALIGHT_POSITION] = run, j
                            labels[new, BOARD_TIME], labels[new, SIGNATURE] = leaves, signature
                            is_beaten = False
                            other = bag[here]
                            while other >= 0:
                                if (
                                    labels[other, TIME] <= time
                                    and labels[other, STEPS] <= steps
                                    and labels[other, SPENT] <= spent
                                    and (not with_signatures or _costs_no_more(labels, other, new, tariff.with_times))
                                ):
                                    is_beaten = True
                                    break
                                other = labels[other, _NEXT]
                            if not is_beaten and not with_signatures:
                                for a in range(n_arrived):
                                    done = arrived[a]
                                    total = labels[done, TIME] + egress_ms[labels[done, STOP]]
                                    if total <= time and labels[done, STEPS] <= steps and labels[done, SPENT] <= spent:
                                        is_beaten = True
                                        break
                            if is_beaten:
                                continue
                            # Labels of earlier rounds have fewer rides; those of this round may be beaten.
                            previous, other = np.int64(-1), bag[here]
                            while other >= 0:
                                following = labels[other, _NEXT]
                                if (
                                    other >= first_label
                                    and time <= labels[other, TIME]
                                    and steps <= labels[other, STEPS]
                                    and spent <= labels[other, SPENT]
                                    and (not with_signatures or _costs_no_more(labels, new, other, tariff.with_times))
                                ):
                                    labels[other, ALIVE] = 0
                                    if previous < 0:
                                        bag[here] = following
                                    else:
                                        labels[previous, _NEXT] = following
                                else:
                                    previous = other
                                other = following
                            labels[new, _NEXT], labels[new, ALIVE] = bag[here], 1
                            bag[here] = new
                            n_labels += 1
                            if egress_ms[here] < NEVER and time + egress_ms[here] <= limit:
                                if n_arrived == arrived.size:
                                    arrived = np.concatenate((arrived, np.empty_like(arrived)))
                                arrived[n_arrived] = new
                                n_arrived += 1
                        if is_over or lines.stay_indptr.size == 1:
                            break
                        if lines.stay_indptr[run] == lines.stay_indptr[run + 1]:
                            break
                        run = np.int64(lines.stay_instance[lines.stay_indptr[run]])
                        q, k_first = np.int64(lines.run_pattern[run]), np.int64(1)
        # Transfers.
        first_entry = n_entries
        for label in range(first_label, n_labels):
            if labels[label, ALIVE] == 0:
                continue
            stop, steps, spent = labels[label, STOP], labels[label, STEPS], labels[label, SPENT]
            time = labels[label, TIME] + change_delay
            begin = lines.transfer_indptr[stop] - 1  # the first is the change at the stop itself
            for e in range(begin, lines.transfer_indptr[stop + 1]):
                if e == begin:
                    if lines.change_time[stop] >= FORBIDDEN:
                        continue
                    at, end = time + lines.change_time[stop], stop
                else:
                    at, end = time + lines.transfer_time[e], np.int64(lines.transfer_stop[e])
                if at > limit:
                    continue
                is_beaten = False
                other = open_bag[end]
                while other >= 0:
                    if (
                        entries[other, _READY] <= at
                        and entries[other, _ENTRY_STEPS] <= steps
                        and entries[other, _ENTRY_SPENT] <= spent
                        and (
                            not with_signatures
                            or _costs_no_more(labels, entries[other, _AFTER], label, tariff.with_times)
                        )
                    ):
                        is_beaten = True
                        break
                    other = entries[other, _NEXT_ENTRY]
                if is_beaten:
                    continue
                if n_entries == entries.shape[0]:
                    if n_entries >= 8 * most:
                        return labels[:n_labels], False
                    entries = _grown(entries)
                entries[n_entries, _READY], entries[n_entries, _AFTER], entries[n_entries, _AT] = at, label, end
                entries[n_entries, _ENTRY_STEPS], entries[n_entries, _ENTRY_SPENT] = steps, spent
                entries[n_entries, _NEXT_ENTRY], entries[n_entries, _IS_OPEN] = open_bag[end], 1
                open_bag[end] = n_entries
                n_entries += 1
    return labels[:n_labels], True
