"""
Names of arguments in other packages, answered with those here.

Imports nothing heavy: `traveltime_lab.Transportation` is cheap to import.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

from traveltime_lab._elsewhere import ARGUMENTS, INSTEAD
from traveltime_lab.errors import KeywordError
from traveltime_lab.runtime.signals import held

_F = TypeVar("_F", bound=Callable[..., Any])


def meant_by(name: str, known: Collection[str]) -> str | None:
    """Return the argument, of those known, that is called `name` in other packages; None if there is none."""
    requested = name.lower()
    return next((here for here, names in ARGUMENTS.items() if here in known and requested in names.split()), None)


def explained_keywords(target: _F) -> _F:
    """
    Decorate a function, or the constructor of a class, to name the argument that corresponds to an unknown one.

    Signals that arrive while one of its kernels runs are handled afterwards.
    """
    if inspect.isclass(target):
        kind: Any = target
        kind.__init__ = _explained(kind.__init__, kind.__name__)
        return target
    return cast(_F, _explained(target, target.__name__))


def explained_as(shown: str, function: _F) -> _F:
    """Return a function as `explained_keywords` does, under the name of the one whose arguments it has."""
    return cast(_F, _explained(function, shown))


def _explained(function: Callable[..., Any], shown: str) -> Callable[..., Any]:
    every = [item for name, item in inspect.signature(function).parameters.items() if name != "self"]
    known = [item.name for item in every]
    names = frozenset(known)
    ordered = [item.name for item in every if item.kind is not item.KEYWORD_ONLY]
    needed = [item.name for item in every if item.default is item.empty and item.kind is not item.VAR_POSITIONAL]
    is_method = len(known) < len(inspect.signature(function).parameters)
    takes_any = any(item.kind is item.VAR_POSITIONAL for item in every)

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        if not keywords.keys() <= names:
            wrong = next(name for name in keywords if name not in names)
            meant = meant_by(wrong, known)
            if meant is None and (shown, wrong.lower()) in INSTEAD:
                hint = INSTEAD[shown, wrong.lower()]
            elif meant is not None:
                hint = f"Use {meant!r}{', in seconds' if meant == 'travel_time' else ''}."
            else:
                close = difflib.get_close_matches(wrong.lower(), known, n=2)
                hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"It has {', '.join(known)}."
            raise KeywordError(f"{shown}() has no argument {wrong!r}. {hint}")
        n_given = len(arguments) - is_method
        if n_given > len(ordered) and not takes_any:
            named = [name for name in known if name not in ordered]
            what = f"takes {_in_words(ordered)} by position" if ordered else "takes no argument by position"
            more = f"; name the others, such as {named[0]}=" if named else ""
            raise KeywordError(f"{shown}() {what}; got {n_given} arguments{more}")
        again = next((name for name in ordered[:n_given] if name in keywords), None)
        if again is not None:
            more = f"; its arguments are {', '.join(known)}"
            raise KeywordError(f"{shown}() has {again!r} by position and by name{more}")
        missing = [name for name in needed if name not in keywords and name not in ordered[:n_given]]
        if missing:
            raise KeywordError(f"{shown}() needs {_in_words(missing)}. Its arguments are {', '.join(known)}")
        with held():
            return function(*arguments, **keywords)

    return checked


def _in_words(names: list[str]) -> str:
    """Return names as a list with "and"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
