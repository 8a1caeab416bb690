"""
Run notebooks and store what they print and draw: ``python notebooks/refresh.py [NAME ...]``.

Text of cells with ``NBVAL_CHECK_OUTPUT`` is kept, so that a reader sees numbers and nbval has something to compare. So
is a picture of each map and chart, with few but true colours, so that a reader sees it before running anything. A
`TravelTimeMap`, which needs a running kernel, is drawn by `plot` with the areas that it shows at that moment, a
`SideBySideMap` by `side_by_side`. A picture that looks the same as the stored one is not replaced.
"""

from __future__ import annotations

import base64
import io
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
sys.path.insert(0, str(FOLDER.parent / "docs" / "_extensions"))

from gallery import content, digest, drawings, pictures
from looks import looks_the_same
from reduced_colours import reduced

# What is stored does not depend on what had to be compiled.
os.environ["TRAVELTIME_LAB_PROGRESS"] = "0"

#: Runs before the first cell: sets the size of pictures, and draws maps of the widget.
FIRST = """
import io

import geopandas as gpd
from IPython import get_ipython
from matplotlib import pyplot

import traveltime_lab as tl


def points_of(widget):
    rows = [(origin.name, origin.lng, origin.lat) for origin in widget.state.origins]
    names, lng, lat = zip(*rows)
    return gpd.GeoSeries.from_xy(lng, lat, index=list(names), crs="EPSG:4326")


def content_of(figure):
    file = io.BytesIO()
    figure.savefig(file, dpi=DPI)
    pyplot.close(figure)
    return file.getvalue()


def picture(widget):
    return content_of(tl.plot(widget.network, widget.areas, points_of(widget)).figure)


def picture_of_two(widget):
    maps = widget.before, widget.after
    networks, areas = [each.network for each in maps], [each.areas for each in maps]
    points = points_of(widget)
    return content_of(tl.side_by_side(networks[0], *areas, points, network_after=networks[1], titles=widget.titles))


shell = get_ipython()
shell.run_line_magic("matplotlib", "inline")
shell.run_line_magic("config", "InlineBackend.rc = {'savefig.dpi': DPI}")
shell.run_line_magic("config", "InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight', 'dpi': DPI}")
shell.display_formatter.formatters["image/png"].for_type(tl.TravelTimeMap, picture)
shell.display_formatter.formatters["image/png"].for_type(tl.SideBySideMap, picture_of_two)
del shell
""".replace("DPI", "80")


def stored(drawn: bytes, before: Any) -> str:
    """Return a picture as it is stored, in base64; the former one if it looks the same."""
    if before is not None and looks_the_same(drawn, content(before)):
        return str(before["data"]["image/png"])
    small = io.BytesIO()
    reduced(Image.open(io.BytesIO(drawn))).save(
        small, "PNG", optimize=True
    )
    return base64.b64encode(small.getvalue()).decode()


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with texts joined that came in several parts."""
    found: list[Any] = []
    for output in outputs:
        before = found[-1] if found else {}
        if output.get("name", "") == before.get("name", None):
            before["text"] += output["text"]
        else:
            found.append(output)
    return found


def refresh(path: Path) -> None:
    """Run one notebook and write it back."""
    notebook = nbformat.read(path, as_version=4)
    drawn, before = drawings(notebook), pictures(notebook)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST))
    NotebookClient(
        notebook,
        timeout=300,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    del notebook.cells[0]
    count = 0
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        count += 1
        where = f"{path.name}, cell {count}"
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise SystemExit(f"{where}: {output.text}")
        cell.outputs = joined(cell.outputs)
        made = next(
            iter(
                pictures(
                    nbformat.v4.new_notebook(cells=[cell])
                ).values()
            ),
            None,
        )
        if (made is not None) != (number in drawn):
            raise SystemExit(
                f"{where}: gallery.drawings is wrong about whether it draws"
            )
        cell.execution_count = count
        cell.metadata = {
            key: value
            for key, value in cell.metadata.items()
            if key == "tags"
        }
        if (
            "# NBVAL_CHECK_OUTPUT" not in cell.source
            or made is not None
        ):
            cell.outputs = []
        if made is not None:
            data = {
                "image/png": stored(content(made), before.get(number))
            }
            cell.outputs = [
                nbformat.v4.new_output(
                    "display_data",
                    data,
                    metadata={"source": digest(notebook, number)},
                )
            ]
    own = "traveltime_lab"  # read by conftest.py
    notebook.metadata = {
        **(
            {own: notebook.metadata[own]}
            if own in notebook.metadata
            else {}
        ),
        "kernelspec": {
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


if __name__ == "__main__":
    names = sys.argv[1:]
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names or path.name in names:
            refresh(path)
            print(path.name)
