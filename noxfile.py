"""
The checks of this project, each of which runs by name: ``nox -l`` lists them, ``nox -s lint types`` runs two.

Each session creates an environment of its own in ``.nox/``, with uv where that is installed. ``-R`` uses the existing
one; ``--no-venv`` runs ``lint``, ``imports``, ``types``, ``demo``, ``tests``, ``slow``, ``thorough``, ``mutations`` and
``plugin`` in the active environment. Arguments after ``--`` are passed on, as in ``nox -s tests -- -k snap``. `.ci/run`
calls these sessions.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "imports", "types", "demo", "tests"]

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
#: The Pythons that pyproject.toml names, and the next one, for which packages may lack wheels.
NAMED = nox.project.python_versions(PROJECT)
PYTHONS = [*NAMED, f"3.{int(NAMED[-1].partition('.')[2]) + 1}"]

#: Asks the service for ``/``, with one thread, so that no second process compiles kernels that are not used here.
PAGE = """
import urllib.request
import traveltime_lab as tl
from traveltime_lab.settings import settings
with settings.override(threads=1), tl.serve(tl.sample_network()) as url:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(url.page, timeout=120) as answer:
        page = answer.read().decode()
assert "<title>" in page, page
print("the service answers at /")
"""


def requirement(name: str) -> str:
    """Return the requirement of the extra `test` for a package, such as ``ruff>=0.9``."""
    (found,) = [text for text in PROJECT["project"]["optional-dependencies"]["test"] if text.startswith(f"{name}>")]
    return str(found)


def has_own_environment(session: nox.Session) -> bool:
    """Return whether a session has an environment of its own, which is not so with ``--no-venv``."""
    return session.virtualenv.venv_backend != "none"


def install(session: nox.Session, *requirements: str) -> None:
    """Install into the environment of a session, if it has one of its own."""
    if has_own_environment(session):
        session.install(*requirements)


def new_environment(session: nox.Session, folder: str, *requirements: str) -> str:
    """Create a second environment with the Python of the session, and return the path of its Python."""
    python = os.path.join(folder, "Scripts" if sys.platform == "win32" else "bin", "python")
    if session.virtualenv.venv_backend == "uv":
        base = shutil.which("python", path=session.bin)
        session.run_install("uv", "venv", "--quiet", "--python", str(base), folder, external=True)
        session.run_install("uv", "pip", "install", "--quiet", "--python", python, *requirements, external=True)
    else:
        session.run_install("python", "-m", "venv", folder)
        session.run_install(python, "-m", "pip", "install", "--quiet", *requirements, external=True)
    return python


@nox.session
def lint(session: nox.Session) -> None:
    """Check lint and format with ruff."""
    install(session, requirement("ruff"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def imports(session: nox.Session) -> None:
    """Check that packages import downwards only."""
    install(session, requirement("import-linter"), "--editable", ".")
    session.run("lint-imports", "--no-cache")


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy, strictly."""
    install(session, "--editable", ".[test]")
    session.run("mypy", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Run the README's first command."""
    install(session, "--editable", ".")
    with tempfile.TemporaryDirectory() as folder:
        session.run("traveltime-lab", "demo", "--out", folder)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the README's second command: tests and notebooks."""
    install(session, "--editable", ".[test]")
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Run the tests with the mark `slow`, which `tests` leaves out."""
    install(session, "--editable", ".[test]")
    session.run("python", "-m", "pytest", "-n", "auto", "-m", "slow", "--durations=5", *session.posargs)


@nox.session
def thorough(session: nox.Session) -> None:
    """Run the tests with the mark `thorough`, which `.ci/run` leaves out, too; takes half an hour or more."""
    install(session, "--editable", ".[test]")
    options = ("--more-examples=1", "--durations=5")
    session.run("python", "-m", "pytest", "-n", "auto", "-m", "thorough", *options, *session.posargs)


@nox.session
def mutations(session: nox.Session) -> None:
    """Read 5,000 mutations of every kind of file and body; takes an hour."""
    install(session, "--editable", ".[test]")
    session.run("python", "-m", "pytest", "-m", "mutations", *(session.posargs or ["tests"]))


@nox.session
def new_examples(session: nox.Session) -> None:
    """Run the tests with new random examples, ten times as many; takes an hour or more."""
    install(session, "--editable", ".[test]")
    more = ("--hypothesis-profile=new-examples", "--more-examples=10")
    session.run("python", "-m", "pytest", "-n", "auto", *more, *(session.posargs or ["tests"]))


def demo_and_quick_tests(session: nox.Session, *options: str) -> None:
    """
    Run demo and quick tests with packages that `options` of the installer choose.

    With a `-m` of its own after ``--``, as `.ci/run` has, other tests run: those with the mark `pythons`.
    """
    try:
        session.install("--only-binary", ":all:", *options, "--editable", ".[test]")
    except nox.command.CommandFailed:
        if session.python in NAMED:
            raise
        session.skip(f"packages lack wheels for Python {session.python}, which pyproject.toml does not name")
    # Two versions of numba must not share compiled kernels.
    own = Path(session.virtualenv.location)
    session.env["NUMBA_CACHE_DIR"] = str(own / "numba")
    session.env["TRAVELTIME_LAB_CACHE"] = str(own / "cache")
    with tempfile.TemporaryDirectory() as folder:
        session.run("traveltime-lab", "demo", "--out", folder)
    session.run("python", "-m", "pytest", "-m", "quick and not slow and not thorough", "-q", *session.posargs)


@nox.session(python=PYTHONS)
def quick(session: nox.Session) -> None:
    """Run demo and quick tests with the newest packages."""
    demo_and_quick_tests(session)


@nox.session(python=PYTHONS, venv_backend="uv")
def oldest(session: nox.Session) -> None:
    """Run demo and quick tests with the oldest packages that pyproject.toml allows; needs uv."""
    demo_and_quick_tests(session, "--resolution", "lowest-direct")


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site in docs/_build/html or the given folder."""
    session.install("--editable", ".[docs]")
    html = Path(session.posargs[0] if session.posargs else "docs/_build/html")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(html))
    session.log(f"{len(list(html.rglob('*.html')))} pages in {html}")


@nox.session
def distributions(session: nox.Session) -> None:
    """Build sdist and wheel, try the wheel elsewhere, and put both into dist/ or the given folder."""
    has_uv = session.virtualenv.venv_backend == "uv"
    session.install("build[uv]" if has_uv else "build", "twine")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "dist")
        session.run("python", "-m", "build", *(["--installer", "uv"] if has_uv else []), "--outdir", str(built), ".")
        session.run("twine", "check", "--strict", *map(str, built.iterdir()))
        (wheel,) = built.glob("*.whl")
        python = new_environment(session, str(Path(folder, "venv")), f"{wheel}[server]")
        with session.chdir(folder):
            where = "import sysconfig; print(sysconfig.get_path('purelib'))"
            installed = str(session.run(python, "-c", where, silent=True, external=True)).strip()
            # The wheel takes what was compiled here before from the same sources with the same packages, to save time.
            for path in (ROOT / "traveltime_lab").rglob("*.nbc"):
                copy = installed / path.relative_to(ROOT)
                copy.parent.mkdir(exist_ok=True)
                shutil.copy2(path, copy)
            command = str(Path(python).parent / "traveltime-lab")
            session.run(command, "demo", "--out", str(Path(folder, "demo")), external=True)
            session.run(python, "-c", PAGE, external=True)
        out = Path(session.posargs[0] if session.posargs else ROOT / "dist")
        out.mkdir(parents=True, exist_ok=True)
        for path in built.iterdir():
            shutil.copy2(path, out)
        session.log(f"{', '.join(sorted(path.name for path in built.iterdir()))} in {out}")


@nox.session(python=PYTHONS)
def ready_wheel(session: nox.Session) -> None:
    """Build the wheel of this platform and a Python that has its kernels with it, and try it elsewhere; minutes."""
    has_uv = session.virtualenv.venv_backend == "uv"
    session.install("build[uv]" if has_uv else "build", ".")
    with tempfile.TemporaryDirectory() as folder:
        kernels, built = Path(folder, "kernels.zip"), Path(folder, "dist")
        with session.chdir(folder):
            session.run("traveltime-lab", "compile", "--baseline", "--out", str(kernels))
        session.run(
            "python", "-m", "build", "--wheel", *(["--installer", "uv"] if has_uv else []), "--outdir", str(built), ".",
            env={"TRAVELTIME_LAB_KERNELS": str(kernels)},
        )  # fmt: skip
        (wheel,) = built.glob("*.whl")
        python = new_environment(session, str(Path(folder, "venv")), f"{wheel}[server]")
        cache = Path(folder, "numba")
        with session.chdir(folder):
            command = str(Path(python).parent / "traveltime-lab")
            own = {"NUMBA_CACHE_DIR": str(cache)}
            session.run(command, "demo", "--out", str(Path(folder, "demo")), external=True, env=own)
            session.run(python, "-c", PAGE, external=True, env=own)
        if left := [path.name for path in cache.rglob("*.nbc")]:
            session.error(f"kernels were compiled that the wheel should have: {', '.join(left)}")
        out = Path(session.posargs[0] if session.posargs else ROOT / "dist")
        out.mkdir(parents=True, exist_ok=True)
        shutil.copy2(wheel, out)
        session.log(f"{wheel.name} in {out}")


@nox.session
def plugin(session: nox.Session) -> None:
    """Run the tests of the Solr plugin, which start several versions of Solr; needs Java and Maven."""
    if not (shutil.which("java") and shutil.which("mvn")):
        session.skip("the Solr plugin is not verified: Java or Maven is not installed")
    install(session, "--editable", ".[test]")
    session.run("python", "-m", "pytest", "-m", "solr", "-q", "tests/plugins", *session.posargs)
