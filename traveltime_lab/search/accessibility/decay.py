"""
Decay: how much an opportunity counts, by the time that it takes to get there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import numpy as np

from traveltime_lab._arrays import FloatArray
from traveltime_lab._checks import number, one_of, whole
from traveltime_lab.errors import InputError, LimitError
from traveltime_lab.limits import MAX_OPTION_S, MAX_TRAVEL_TIME_S
from traveltime_lab.rounding import half_up

#: Types of decay with the options that each needs, and those that it may have.
_OPTIONS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "step": ((), ("steps",)),
    "linear": ((), ()),
    "exponential": (("scale",), ()),
    "gaussian": (("scale",), ()),
    "logistic": (("midpoint", "scale"), ()),
    "power": (("scale", "exponent"), ()),
}
#: Largest exponent (assumed).
_MOST_EXPONENT: Final = 100.0
#: Smaller weights are 0, so that no quotient of weights overflows.
_LEAST_WEIGHT: Final = 1e-100


@dataclass(frozen=True, slots=True)
class Decay:
    """
    The weight of an opportunity as a function of its travel time, from 1 nearby to 0 far away.

    Parameters
    ----------
    type : {"step", "linear", "exponential", "gaussian", "logistic", "power"}
        With the travel time ``t``:

        - ``"step"``: 1, or with `steps` the weight of the first step that is not shorter than ``t``;
        - ``"linear"``: ``1 - t / travel_time``;
        - ``"exponential"``: ``exp(-t / scale)``;
        - ``"gaussian"``: ``exp(-t**2 / (2 * scale**2))``;
        - ``"logistic"``: ``1 / (1 + exp((t - midpoint) / scale))``;
        - ``"power"``: ``(t / scale)**-exponent``, and 1 for times up to `scale`.

        Beyond the maximum travel time of the search, every weight is 0.
    scale : float, optional
        Seconds, above 0 and up to 86400. A literature value of ``exp(-0.1 * minutes)`` is a scale of 600 s.
    midpoint : float, optional
        Seconds at which the weight is a half, 0 to 86400.
    exponent : float, optional
        Above 0 and up to 100.
    steps : mapping, optional
        Weights from 0 to 1 by the travel time in seconds up to which they apply, such as
        ``{600: 1, 1200: 0.68, 1800: 0.22}``.

    Raises
    ------
    InputError
        If the type is unknown, or an option is missing or does not belong to the type.
    LimitError
        If an option is out of range.

    See Also
    --------
    accessibility : Uses these weights.

    Examples
    --------
    >>> tl.Decay("exponential", scale=600).weights(
    ...     [0, 600, 1200, 2000], travel_time=1800
    ... ).round(3).tolist()
    [1.0, 0.368, 0.135, 0.0]
    >>> tl.Decay("step", steps={600: 1, 1200: 0.68}).weights(
    ...     [600, 601, 1201, None], travel_time=1800
    ... ).tolist()
    [1.0, 0.68, 0.0, 0.0]
    """

    type: Literal["step", "linear", "exponential", "gaussian", "logistic", "power"]
    scale: float | None = None
    midpoint: float | None = None
    exponent: float | None = None
    steps: Mapping[int, float] | None = None

    def __post_init__(self) -> None:
        """Validate the options."""
        needed, optional = _OPTIONS[one_of(self.type, "the type of a decay", tuple(_OPTIONS))]
        given = [item.name for item in fields(self)[1:] if getattr(self, item.name) is not None]
        for name in needed:
            if name not in given:
                msg = f"the decay {self.type!r} needs {' and '.join(needed)}, such as {_example(self.type)}"
                raise InputError(msg)
        for name in given:
            if name not in needed + optional:
                takes = " and ".join(needed + optional) or "no options"
                msg = f"{name} does not belong to the decay {self.type!r}, which takes {takes}"
                raise InputError(msg)
        for name, most in (("scale", MAX_OPTION_S), ("midpoint", MAX_OPTION_S), ("exponent", _MOST_EXPONENT)):
            if name in given:
                value = number(getattr(self, name), name)
                if not (0.0 < value <= most or (name == "midpoint" and value == 0.0)):
                    msg = f"{name} of a decay must be above 0 and at most {most:g}; got {value:g}"
                    raise LimitError(msg)
                object.__setattr__(self, name, value)
        if self.steps is not None:
            object.__setattr__(self, "steps", _checked_steps(self.steps))

    def __hash__(self) -> int:
        """Return a hash of all options."""
        steps = None if self.steps is None else tuple(self.steps.items())
        return hash((self.type, self.scale, self.midpoint, self.exponent, steps))

    def weights(self, times: Any, travel_time: int) -> FloatArray:
        """
        Return the weights of travel times.

        Parameters
        ----------
        times : array-like
            Travel times in seconds, rounded to whole ones; missing if unreachable.
        travel_time : int
            Maximum travel time in seconds, 1 to 14400.

        Returns
        -------
        float64 array of the shape of `times`
            From 0 to 1; 0 if unreachable.
        """
        limit = whole(travel_time, "travel_time", 1, MAX_TRAVEL_TIME_S, "seconds")
        try:
            seconds = np.asarray(times, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"times must be numbers of seconds; got {type(times).__name__}"
            raise InputError(msg) from error
        if (seconds < 0.0).any():
            msg = f"times must be 0 seconds or more; got {np.nanmin(seconds):g}"
            raise InputError(msg)
        rounded = np.fmin(half_up(seconds), limit + 1.0)
        weights: FloatArray = table_of(self, limit)[rounded.astype(np.int64)]
        return weights


def table_of(decay: Decay, limit: int) -> FloatArray:
    """Return the weights of the travel times 0, 1, ... `limit` seconds, and 0 for destinations out of reach."""
    t = np.arange(limit + 1, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        weights = _weights_of(decay, t, limit)
    weights[weights < _LEAST_WEIGHT] = 0.0
    return np.append(weights, 0.0)


def _weights_of(decay: Decay, t: FloatArray, limit: int) -> FloatArray:
    """Return the weights of travel times within the limit."""
    scale = decay.scale or 1.0
    if decay.type == "linear":
        return 1.0 - t / limit
    if decay.type == "exponential":
        return np.exp(-t / scale)
    if decay.type == "gaussian":
        return np.exp(-(t**2) / (2.0 * scale**2))
    if decay.type == "logistic":
        return np.asarray(1.0 / (1.0 + np.exp((t - (decay.midpoint or 0.0)) / scale)))
    if decay.type == "power":
        return np.asarray(np.maximum(t / scale, 1.0) ** -(decay.exponent or 0.0))
    if decay.steps is None:
        return np.ones(t.size)
    step = np.searchsorted(np.array(list(decay.steps)), t)
    return np.append(list(decay.steps.values()), 0.0)[step]


def _checked_steps(steps: Any) -> dict[int, float]:
    """Validate steps and return them in increasing order."""
    if not isinstance(steps, Mapping) or not steps:
        msg = f"steps must map seconds to weights, as {{600: 1, 1200: 0.68}}; got {steps!r}"
        raise InputError(msg)
    checked = {}
    for end, weight in steps.items():
        value = number(weight, "each weight of steps")
        if not 0.0 <= value <= 1.0:
            msg = f"each weight of steps must be from 0 to 1; got {value:g}"
            raise LimitError(msg)
        checked[whole(end, "each key of steps", 0, MAX_TRAVEL_TIME_S, "seconds")] = value
    return dict(sorted(checked.items()))


def _example(kind: str) -> str:
    """Return an example with the options that a type needs."""
    values = {"scale": 600, "midpoint": 1200, "exponent": 2}
    return f"Decay({kind!r}, {', '.join(f'{name}={values[name]}' for name in _OPTIONS[kind][0])})"


def as_decay(value: Any) -> Decay:
    """Return a decay given as an object, as the name of its type or as a mapping of its options."""
    if isinstance(value, Decay):
        return value
    if isinstance(value, str):
        name: Any = value  # which `Decay` checks
        return Decay(name)
    if isinstance(value, Mapping):
        known = [item.name for item in fields(Decay)]
        unknown = [name for name in value if name not in known]
        if unknown or "type" not in value:
            msg = f"a decay as a mapping has 'type' and the options {', '.join(known[1:])}; got {dict(value)!r}"
            raise InputError(msg)
        return Decay(**value)
    msg = f"decay must be a Decay, the name of its type or a mapping; got {value!r}"
    raise InputError(msg)
