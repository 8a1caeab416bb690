"""Slow, obvious twins of the measures of accessibility: dictionaries, loops and `math.fsum` over a matrix of times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

Weight = Callable[[float], float]


def in_reach(row: pd.Series) -> dict[object, float]:
    """Return the times of a row that are known."""
    return {place: time for place, time in row.items() if not np.isnan(time)}


def weighted(times: pd.DataFrame, amounts: Mapping[object, float], weight: Weight) -> list[float]:
    """Return the weighted sum of the amounts that each origin has in reach."""
    return [math.fsum(weight(t) * amounts[j] for j, t in in_reach(row).items()) for _, row in times.iterrows()]


def nearest(times: pd.DataFrame, counts: Mapping[object, int], k: int) -> list[float]:
    """Return the time to the k-th nearest opportunity, NaN if there are fewer."""
    found = []
    for _, row in times.iterrows():
        each = sorted(t for j, t in in_reach(row).items() for _ in range(int(counts[j])))
        found.append(each[k - 1] if len(each) >= k else math.nan)
    return found


def catchments(
    times: pd.DataFrame,
    supply: Mapping[object, float],
    demand: Mapping[object, float],
    weight: Weight,
    measure: str,
) -> list[float]:
    """Return the floating catchment areas of all origins, step by step as the papers write them."""
    weights = {i: {j: weight(t) for j, t in in_reach(row).items()} for i, row in times.iterrows()}
    used = weights
    if measure == "3sfca":
        used = {}
        for i, row in weights.items():
            total = math.fsum(w for j, w in row.items() if supply[j] > 0)
            used[i] = {j: w / total * w if total > 0 and supply[j] > 0 else 0.0 for j, w in row.items()}
    ratio = {}
    for j in times.columns:
        needed = math.fsum(used[i][j] * demand[i] for i in times.index if j in used[i])
        ratio[j] = supply[j] / needed if needed > 0 else 0.0
    # `w**2` is not always the product rounded once, as `w * w` is.
    squares = measure == "m2sfca"
    return [math.fsum((w * w if squares else w) * ratio[j] for j, w in used[i].items()) for i in times.index]


def decay(kind: str, options: Mapping[str, float], limit: int) -> Weight:
    """Return the weight of a travel time in seconds, one at a time."""

    def weight(t: float) -> float:
        if t > limit:
            return 0.0
        if kind == "linear":
            return 1 - t / limit
        if kind == "exponential":
            return float(np.exp(-t / options["scale"]))
        if kind == "gaussian":
            return float(np.exp(-(t**2) / (2 * options["scale"] ** 2)))
        if kind == "logistic":
            return float(1 / (1 + np.exp((t - options["midpoint"]) / options["scale"])))
        if kind == "power":
            return float(max(t / options["scale"], 1.0) ** -options["exponent"])
        steps: Sequence[tuple[int, float]] = sorted(options.get("steps", {limit: 1.0}).items())
        return next((w for end, w in steps if t <= end), 0.0)

    return weight
