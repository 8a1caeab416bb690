"""Notebooks are tests: nbval runs them, and here a cell fails that warns, or no longer draws what its picture shows."""

from __future__ import annotations

import base64
import functools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
sys.path.insert(0, str(FOLDER.parent / "docs" / "_extensions"))

from gallery import drawings
from jupyter_client.provisioning import local_provisioner
from looks import SHARE, difference

from tests.support import forked_kernels, shared_data

#: Type of the output that shows a widget.
WIDGET = "application/vnd.jupyter.widget-view+json"
#: Notebooks whose kernel is not forked.
OWN_START = ("01-quick-start",)


@functools.cache
def _server(session: pytest.Session) -> forked_kernels.Server | None:
    """Return what forks the kernels of this process, None for one or two notebooks."""
    notebooks = {
        item.path
        for item in session.items
        if item.path.suffix == ".ipynb"
    }
    if sys.platform != "linux" or len(notebooks) < 3:
        return None
    server = forked_kernels.Server()
    session.config.add_cleanup(server.close)
    return server


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Mark notebooks as their metadata say, and skip those whose data are not there.

    ``needs`` is a path in the folder of shared data, which the notebook finds by the variable.
    """
    for item in items:
        notebook = getattr(item.parent, "nb", None)
        metadata = {} if notebook is None else notebook.metadata
        own = metadata.get("traveltime_lab", {})
        if mark := own.get("mark"):
            item.add_marker(mark.removeprefix("pytest.mark."))
        if needed := own.get("needs"):
            folder, variable = (
                shared_data.folder(),
                shared_data.VARIABLE,
            )
            if (folder / needed).exists():
                os.environ[variable] = str(folder)
            else:
                reason = f"no {needed}: set {variable} to its folder"
                item.add_marker(pytest.mark.skip(reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[Any]:
    """
    Start kernels without MPLBACKEND, which would keep figures out of the outputs of cells.

    Those of several notebooks are forked on Linux, but for the quick start, whose kernel starts as that of a reader.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MPLBACKEND", raising=False)
        if item.path.stem not in OWN_START and (
            server := _server(item.session)
        ):
            patch.setattr(
                local_provisioner, "launch_kernel", server.launch
            )
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Fail cells that write to stderr, as warnings do, and cells with a picture that shows something else."""
    result = yield
    outputs = getattr(item, "test_outputs", None) or ()
    told = [
        output["text"]
        for output in outputs
        if output.get("output_type") == "stream"
        and output.get("name") == "stderr"
    ]
    if told:
        pytest.fail("the cell warns:\n" + "".join(told), pytrace=False)
    drawn, stored = _picture(outputs), _picture(_stored(item))
    if stored is None:
        return result
    if drawn is None:
        is_shown = any(
            WIDGET in each.get("data", {}) for each in outputs
        )
        if is_shown and _is_widget(item):  # of which a still is stored
            return result
        pytest.fail(
            "a picture is stored with the cell, which draws nothing; run:"
            f" python notebooks/refresh.py {Path(item.path).stem}",
            pytrace=False,
        )
    share = difference(drawn, stored)
    if share > SHARE:
        name = Path(item.path).stem
        pytest.fail(
            f"the stored picture differs from the drawn one in {share:.1%} of"
            f" its squares; run: python notebooks/refresh.py {name}",
            pytrace=False,
        )
    return result


def _stored(item: pytest.Item) -> Iterable[Any]:
    return getattr(getattr(item, "cell", None), "outputs", ())


def _is_widget(item: Any) -> bool:
    """Return whether a cell shows a widget, by its code."""
    notebook = item.parent.nb
    number = next(
        i for i, each in enumerate(notebook.cells) if each is item.cell
    )
    return drawings(notebook).get(number, False)


def _picture(outputs: Iterable[Any]) -> bytes | None:
    """Return the last picture of a cell, as a PNG file."""
    found = [
        output["data"]["image/png"]
        for output in outputs
        if "image/png" in output.get("data", {})
    ]
    return base64.b64decode(found[-1]) if found else None
