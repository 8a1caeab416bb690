"""
Draw the pictures of the gallery anew: ``python docs/draw_pictures.py [NOTEBOOK ...]``.

Runs the notebooks and keeps in ``docs/pictures`` what their cells draw. A `TravelTimeMap`, which needs a running
kernel, is drawn by `plot` with the areas that it shows at that moment, a `SideBySideMap` by `side_by_side`.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

from gallery import NOTEBOOKS, PICTURES, drawings, picture_name  # noqa: E402
from reduced_colours import reduced  # noqa: E402

#: Runs before the first cell: sets the size of pictures, and makes pictures of the widget's maps.
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
    figure.savefig(file, dpi=96)
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
shell.run_line_magic("config", "InlineBackend.rc = {'savefig.dpi': 96}")
shell.run_line_magic("config", "InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight', 'dpi': 96}")
shell.display_formatter.formatters["image/png"].for_type(tl.TravelTimeMap, picture)
shell.display_formatter.formatters["image/png"].for_type(tl.SideBySideMap, picture_of_two)
del shell
"""


def draw(path: Path) -> list[str]:
    """Run one notebook, write its pictures and return their names."""
    notebook = nbformat.read(path, as_version=4)
    drawn = drawings(notebook)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    names = []
    for number, cell in enumerate(notebook.cells[1:]):
        found = [
            output["data"]["image/png"] for output in cell.get("outputs", []) if "image/png" in output.get("data", {})
        ]
        if bool(found) != (number in drawn):
            raise SystemExit(f"{path.name}: gallery.drawings is wrong about whether this cell draws:\n{cell.source}")
        for text in found[-1:]:
            name = picture_name(path.stem, cell.source)
            small = reduced(Image.open(io.BytesIO(base64.b64decode(text))))
            small.save(PICTURES / name, optimize=True)
            names.append(name)
    return names


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not wanted or path.stem in wanted:
            names = draw(path)
            for old in PICTURES.glob(f"{path.stem}-*.png"):
                if old.name not in names:
                    old.unlink()
            print(path.stem, len(names))
