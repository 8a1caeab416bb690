"""The public surface: what is exported, documented and declared, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import stat
import subprocess
import sys
import tomllib

import pytest

import traveltime_lab as tl
from tests.support import ROOT
from traveltime_lab import errors

pytestmark = pytest.mark.quick

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMES = [name for name in tl.__all__ if not name.startswith("__")]
#: Which module the stub takes each public name from.
HOMES = {
    alias.asname: f"traveltime_lab.{node.module}"
    for node in ast.parse((ROOT / "traveltime_lab" / "__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


@pytest.mark.pythons
def test_all_is_sorted_complete_and_lazy() -> None:
    assert sorted(NAMES) == NAMES
    assert set(NAMES) == set(HOMES)
    assert dir(tl) == sorted(tl.__all__)
    public_errors = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert public_errors <= set(NAMES)


@pytest.mark.pythons
@pytest.mark.parametrize("name", NAMES)
def test_public_names(name: str) -> None:
    value = getattr(tl, name)
    assert value.__module__ == HOMES[name]
    assert (value.__doc__ or "").strip()
    if inspect.isfunction(value):
        documented = inspect.getdoc(value) or ""
        assert "Parameters\n----------" in documented
        assert "Returns\n-------" in documented
        for parameter in inspect.signature(value).parameters:
            assert re.search(rf"\b{parameter}\b", documented), f"{name} does not document {parameter}"


def test_completion_lists_public_attributes_of_a_network(helsinki: tl.Network) -> None:
    """What is public has a docstring of its own or stands under Attributes of the class; the rest works, unlisted."""
    listed = [name for name in dir(helsinki) if not name.startswith("_")]
    assert {"report", "save", "edges_frame", "bounds", "fingerprint", "attribution"} <= set(listed)
    assert not {"memo", "of", "tables", "streets", "transit", "water", "history"} & set(listed)
    attributes = inspect.getdoc(tl.Network).split("Attributes\n----------\n")[1].split("\nExamples\n")[0]
    for name in listed:
        documented = getattr(tl.Network, name).__doc__ if hasattr(tl.Network, name) else None
        assert documented or re.search(rf"^{name} : ", attributes, re.MULTILINE), name
    hidden = {name for name in object.__dir__(helsinki) if not name.startswith("_")} - set(listed)
    assert hidden == tl.Network._internal
    assert all(hasattr(helsinki, name) for name in hidden)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="isochrone"):
        tl.isochrone  # noqa: B018
    assert not hasattr(tl, "__wrapped__")


def test_every_error_is_also_a_builtin() -> None:
    for name in NAMES:
        value = getattr(tl, name)
        if inspect.isclass(value) and issubclass(value, tl.TravelTimeError) and value is not tl.TravelTimeError:
            assert issubclass(value, ValueError | OSError | ImportError | NotImplementedError), name
            assert name in (errors.__doc__ or "")


@pytest.mark.pythons
def test_import_is_cheap() -> None:
    code = (
        "import sys, traveltime_lab as tl; tl.__version__; dir(tl)\n"
        "heavy = {'numpy', 'pandas', 'geopandas', 'numba', 'shapely', 'pyarrow', 'osmium', 'matplotlib', 'osmnx',\n"
        "         'pandana', 'networkx', 'tzfpy', 'pyproj', 'ipyleaflet'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from traveltime_lab import Transportation, ModeError\n"
        "assert not {'numpy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.slow
def test_optional_packages_are_optional() -> None:
    """Everything public but the widget loads when no extra is installed."""
    optional = [
        "osmnx",
        "pandana",
        "matplotlib",
        "ipyleaflet",
        "ipywidgets",
        "traitlets",
        "folium",
        "networkx",
        "rasterio",
        "starlette",
        "uvicorn",
        "msgspec",
        "anyio",
        "cryptography",
        "dask",
        "distributed",
        "duckdb",
        "tqdm",
    ]
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({optional!r}))\n"
        "import traveltime_lab as tl, traveltime_lab.cli\n"
        "for name in set(tl.__all__) - {'TravelTimeMap', 'SideBySideMap'}: getattr(tl, name)\n"
        "try: tl.TravelTimeMap\n"
        "except tl.MissingDependencyError as error: assert \"pip install 'traveltime_lab[notebook]'\" in str(error)\n"
        "else: raise AssertionError('ipyleaflet is needed')\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, cwd=ROOT)


@pytest.mark.pythons
def test_modules_are_documented_and_do_not_print() -> None:
    found = []
    for path in sorted((ROOT / "traveltime_lab").rglob("*.py")):
        if path.stem.endswith("_pb2"):
            continue
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        if text.strip() and not text.startswith('"""'):
            found.append(f"{name} has no docstring")
        if text.count("\n") > 500:
            found.append(f"{name} has more than 500 lines: split the module where it has two subjects")
        if path.name != "cli.py" and path.parent.name != "commands" and re.search(r"^\s*print\(", text, re.MULTILINE):
            found.append(f"{name} prints")
    assert not found


def test_version_is_one() -> None:
    assert PROJECT["project"]["version"] == tl.__version__
    assert f"## {tl.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _requirement(text: str) -> tuple[str, str]:
    name, bound = re.fullmatch(r"([\w.-]+)(.*)", text.strip()).groups()
    conda_names = {"pyosmium": "osmium", "matplotlib-base": "matplotlib", "python-tzdata": "tzdata", "h3-py": "h3"}
    return conda_names.get(name, name), bound


def test_environment_equals_the_extras() -> None:
    project = PROJECT["project"]
    declared = set(map(_requirement, project["dependencies"]))
    for extra in project["optional-dependencies"].values():
        declared |= {_requirement(text) for text in extra if not text.startswith("traveltime_lab[")}
    listed = set(
        map(
            _requirement,
            re.findall(
                r"^ +- ([\w.-]+(?:\[\w+\])?(?:>=[\d.]+)?)$", (ROOT / "environment.yml").read_text("utf-8"), re.MULTILINE
            ),
        )
    )
    assert declared == {item for item in listed if item[0] not in ("python", "pip", "conda-forge")}


def test_every_import_is_declared() -> None:
    """A module imports the standard library, this package, or something that pyproject.toml names."""
    project = PROJECT["project"]
    declared = {_requirement(text)[0] for text in project["dependencies"]}
    for extra in project["optional-dependencies"].values():
        declared |= {_requirement(text)[0] for text in extra if not text.startswith("traveltime_lab[")}
    known = declared | {"google", "traveltime_lab"} | set(sys.stdlib_module_names)
    for path in (ROOT / "traveltime_lab").rglob("*.py"):
        found, text = [], path.read_text(encoding="utf-8")
        # To parse all modules takes a second; lines of text may begin so, too.
        if set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)) <= known:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found += [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.append(str(node.module).partition(".")[0])
        found = ["protobuf" if name == "google" else name for name in found]
        strangers = set(found) - declared - set(sys.stdlib_module_names) - {"traveltime_lab"}
        assert not strangers, f"{path.name} imports {strangers}"


@pytest.mark.skipif(os.name == "nt", reason="no executable bit")
def test_check_script_is_executable() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR


def test_public_names_resolve_from_their_modules() -> None:
    for name, home in HOMES.items():
        assert hasattr(importlib.import_module(home), name)
