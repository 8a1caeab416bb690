"""
Values of arguments from texts of a command line, by the annotations of the arguments.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

_WHOLE: Final = re.compile(r"[+-]?\d+")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: Longitude and latitude.
_PAIR: Final = re.compile(rf"\s*({_NUMBER.pattern})\s*,\s*({_NUMBER.pattern})\s*")


@dataclass(frozen=True)
class Kind:
    """
    The values that an annotation allows.

    Attributes
    ----------
    single, several : frozenset of str
        Names of types of one value, and of the items of a sequence.
    choices : tuple of str
        Values of ``Literal``.
    """

    single: frozenset[str]
    several: frozenset[str]
    choices: tuple[str, ...]

    @property
    def is_flag(self) -> bool:
        """Whether it is True or False."""
        return "bool" in self.single

    @property
    def letter(self) -> str:
        """The placeholder of a value in usage lines."""
        names = self.single | self.several
        one = "TEXT" if "str" in names else "N" if "int" in names else "X" if "float" in names else "LNG,LAT"
        one = "JSON" if one == "LNG,LAT" and "Mapping" in names else one
        return f"{one},..." if self.several else one


def kind_of(annotation: str) -> Kind:
    """Return the kind of an annotation."""
    single, several, choices = set(), set(), []
    for atom in _atoms(ast.parse(annotation, mode="eval").body):
        name = ast.unparse(atom.value if isinstance(atom, ast.Subscript) else atom).rpartition(".")[2]
        if isinstance(atom, ast.Subscript) and name == "Literal":
            items = atom.slice.elts if isinstance(atom.slice, ast.Tuple) else [atom.slice]
            choices += [str(ast.literal_eval(item)) for item in items]
        elif isinstance(atom, ast.Subscript) and name in ("Sequence", "list", "tuple"):
            item = atom.slice.elts[0] if isinstance(atom.slice, ast.Tuple) else atom.slice
            several |= {ast.unparse(each).rpartition(".")[2] for each in _atoms(item)}
        else:
            single.add(name)
    return Kind(frozenset(single), frozenset(several), tuple(choices))


def _atoms(node: ast.expr) -> list[ast.expr]:
    """Return the alternatives of an annotation."""
    if isinstance(node, ast.BinOp):
        return [*_atoms(node.left), *_atoms(node.right)]
    return [node]


def reader(kind: Kind) -> Callable[[str], Any]:
    """Return the function that reads values of a kind; it raises ArgumentTypeError."""

    def read(text: str) -> Any:
        if "Point" in kind.single and (place := pair(text)) is not None:
            return {"lng": place[0], "lat": place[1]}
        if "Mapping" in kind.single and text.lstrip().startswith("{"):
            return _json(text)
        if not kind.several:
            return _one(text, kind.single)
        items = [_one(item.strip(), kind.several) for item in text.split(",") if item.strip()]
        return items[0] if len(items) == 1 and kind.single & {"int", "float", "str"} else tuple(items)

    return read


def _one(text: str, names: frozenset[str]) -> Any:
    if "int" in names and _WHOLE.fullmatch(text):
        return int(text)
    if "float" in names and _NUMBER.fullmatch(text):
        return float(text)
    if "str" in names:
        return text
    what = "a whole number" if "int" in names else "a number" if "float" in names else "LNG,LAT"
    what = "JSON" if names <= {"Mapping", "None"} else what
    raise argparse.ArgumentTypeError(f"must be {what}; got {text!r}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be JSON; got {text!r} ({error})") from error


def pair(text: str) -> tuple[float, float] | None:
    """Return the place that ``LNG,LAT`` stands for; None for other texts."""
    found = _PAIR.fullmatch(text)
    return None if found is None else (float(found[1]), float(found[4]))
