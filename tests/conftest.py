"""Networks and data that tests share, built once per session."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support import shared_data as shared_data_files
from traveltime_lab.settings import settings

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network

# Nothing here is tested on wall time: a first example may compile, and machines are busy. Unless new examples are asked
# for, every run tries the same, so that only a change of the code can change its result.
hypothesis.settings.register_profile("same-examples", deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("new-examples", deadline=None, print_blob=True)
hypothesis.settings.load_profile("same-examples")


def pytest_runtest_teardown() -> None:
    """Close all figures: matplotlib warns of twenty that are open, and many tests share a process."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real extracts and feeds; tests that need it are skipped without it."""
    path = shared_data_files.folder()
    if not path.is_dir():
        pytest.skip(f"no shared data: set {shared_data_files.VARIABLE} to the folder of extracts")
    return path.resolve()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this session, so that no test sees what an older version built."""
    with settings.override(cache_folder=tmp_path_factory.mktemp("cache")):
        yield settings.cache_folder


@pytest.fixture(scope="session", autouse=True)
def parser_of_commands() -> Iterator[None]:
    """The parser of the commands, built once in each process: building takes longer than most commands of tests do."""
    from traveltime_lab import cli

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_parser", functools.cache(cli._parser))
        yield


@pytest.fixture(scope="session")
def porto_alegre(cache_folder: Path) -> Network:
    """The centre of Porto Alegre with its buses and its metro."""
    from traveltime_lab.network.sample import sample_network

    return sample_network("porto_alegre")


@pytest.fixture(scope="session")
def helsinki(cache_folder: Path) -> Network:
    """The centre of Helsinki with every footpath, turn restriction and shore."""
    from traveltime_lab.network.sample import sample_network

    return sample_network("helsinki")


def _built(shared_data: Path, folder: Path, city: str) -> Network:
    from traveltime_lab.network.build import build_network, load_network

    saved = folder / f"{city}.network"
    if not saved.is_file():
        build_network(shared_data / city / "osm.pbf").save(saved)
    return load_network(saved)


@pytest.fixture(scope="session")
def monaco(shared_data: Path, cache_folder: Path) -> Network:
    """Monaco: steep, coastal, full of one-ways."""
    return _built(shared_data, cache_folder, "monaco")


@pytest.fixture(scope="session")
def milan(shared_data: Path, cache_folder: Path) -> Network:
    """Milan, the largest."""
    return _built(shared_data, cache_folder, "milan")
