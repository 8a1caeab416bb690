"""
Numbers for what is not reached have one name each, and one module.
"""

import ast
import re
from pathlib import Path

import pytest

import traveltime_lab
from traveltime_lab.kernels import unreached

PACKAGE = Path(traveltime_lab.__file__).parent
VALUES = {name: value for name, value in vars(unreached).items() if name.isupper()}
OTHERS = sorted(path for path in PACKAGE.rglob("*.py") if path != Path(unreached.__file__))


def faults(source: str) -> list[int]:
    """Return the lines that assign or rename such a name, or write the label as a number."""
    lines: list[int] = []
    if not re.search(rf"\b_*(?:{'|'.join(VALUES)})\b|\b62\b", source):
        return lines
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                is_fault = name.lstrip("_") in VALUES
            case ast.alias(name=name, asname=other):
                is_fault = name in VALUES and other is not None
            case ast.Assign(targets=[ast.Name(id=other)], value=ast.Name(id=name) | ast.Attribute(attr=name)):
                is_fault = name in VALUES and other.isupper()
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                is_fault = isinstance(operand, ast.Name) and operand.id in VALUES
            case ast.BinOp(
                left=ast.Call(), op=ast.LShift(), right=ast.Call(args=[ast.Constant(62)]) | ast.Constant(62)
            ):
                is_fault = True
            case _:
                is_fault = False
        if is_fault:
            lines.append(node.lineno)
    return lines


def test_values_differ_unless_both_are_times() -> None:
    assert len(set(VALUES.values())) == len(VALUES) - 1
    assert VALUES["FORBIDDEN"] == VALUES["NEVER"]


@pytest.mark.slow
def test_other_modules_neither_assign_nor_rename_them() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): faults(path.read_text("utf-8")) for path in OTHERS}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "UNREACHED = 7", "_NEVER: int = 7", "def f():\n    UNREACHED = 7", "from a import UNREACHED as NEVER",
        "A = NEVER", "a = np.int64(1) << np.int64(62)", "a = -NEVER",
    ],
)  # fmt: skip
def test_faults_are_found(source: str) -> None:
    assert faults(source)


@pytest.mark.parametrize(
    "source", ["from a import UNREACHED", "a = b == NEVER", "best = UNREACHED", "A = 1_000_000_000"]
)
def test_other_lines_are_none(source: str) -> None:
    assert not faults(source)
