"""
Arguments of the public functions and fields of their options, with defaults and descriptions, read from the source.

Nothing of what is described is imported: ``traveltime-lab --help`` takes a tenth of the time that an import of pandas
takes.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = Path(__file__).parents[1]
#: Default of an argument that must be given.
REQUIRED: Final = object()
#: Default that the signature has by the name of a constant only; the docstring says what it is.
NAMED: Final = object()


@dataclass(frozen=True)
class Argument:
    """
    An argument of a function, or a field of a class of options.

    Attributes
    ----------
    name : str
    annotation : str
        Its source, with the alternatives of an alias of ``Literal`` in its place.
    default : object
        `REQUIRED` if there is none.
    is_keyword : bool
        Whether it is passed by name only.
    text : str
        Its description in the docstring, as plain text.
    """

    name: str
    annotation: str
    default: Any
    is_keyword: bool
    text: str


@dataclass(frozen=True)
class Described:
    """
    A function or class of options.

    Attributes
    ----------
    name : str
    summary : str
        First line of the docstring.
    arguments : tuple of Argument
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]


@functools.cache
def described(name: str) -> Described:
    """Return a public function or class of options by its name in the package."""
    tree = _tree(_modules()[name])
    node = next(each for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name)
    docstring = ast.get_docstring(node) or ""
    texts, defaults = _texts(docstring)
    literals = {
        target.id: ast.unparse(each.value)
        for each in tree.body
        if isinstance(each, ast.Assign) and ast.unparse(each.value).startswith("Literal[")
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    found = _fields(node) if isinstance(node, ast.ClassDef) else _parameters(node)
    arguments = tuple(
        replace(
            each,
            annotation=literals.get(each.annotation, each.annotation),
            default=_known(each.default, defaults.get(each.name, "")),
            text=texts.get(each.name, ""),
        )
        for each in found
    )
    return Described(name, docstring.partition("\n")[0], tuple(map(_referred, arguments)))


@functools.cache
def _modules() -> dict[str, str]:
    """Return the module of each public name."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    imports = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    return {alias.name: str(each.module) for each in imports for alias in each.names}


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8"))


def _parameters(node: ast.FunctionDef) -> list[Argument]:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    pairs = [(each, default, False) for each, default in zip(positional, defaults, strict=True)]
    pairs += [(each, default, True) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return [
        Argument(each.arg, ast.unparse(each.annotation) if each.annotation else "", _value(default), is_keyword, "")
        for each, default, is_keyword in pairs
    ]


def _fields(node: ast.ClassDef) -> list[Argument]:
    return [
        Argument(each.target.id, ast.unparse(each.annotation), _value(each.value), True, "")
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]


def _value(node: ast.expr | None) -> Any:
    """Return a default; a constant of the module is `NAMED`."""
    if node is None:
        return REQUIRED
    return NAMED if isinstance(node, ast.Name | ast.Attribute) else ast.literal_eval(node)


def _known(default: Any, text: str) -> Any:
    """Return a default, that of the docstring for the name of a constant."""
    return ast.literal_eval(text) if default is NAMED and text else default


def _texts(docstring: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the descriptions of parameters of a numpydoc docstring, and their defaults as texts, by name."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    found: dict[str, str] = {}
    defaults: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else ():
        if line and not line.startswith(" "):
            head, _, kind = line.partition(" : ")
            names = [name.strip() for name in head.split(",")]
            defaults |= {name: kind.partition(", default ")[2] for name in names}
        else:
            found |= {name: f"{found.get(name, '')} {line.strip()}".strip() for name in names}
    return found, defaults


def _referred(argument: Argument) -> Argument:
    """Return an argument with the text that "As in `function`" refers to."""
    reference = re.match(r"As in `(\w+)`[^.]*(?:\.|$)", argument.text)
    if reference is None:
        return argument
    there = next((each for each in described(reference[1]).arguments if each.name == argument.name), None)
    if there is None:
        return argument
    default = there.default if argument.default is NAMED else argument.default
    return replace(argument, default=default, text=f"{there.text}{argument.text[reference.end() :]}")
