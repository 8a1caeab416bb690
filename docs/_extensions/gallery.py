"""
Brings the notebooks into the site, with a thumbnail of each for the gallery.

Notebooks are stored with pictures of what their cells draw (``notebooks/refresh.py``). A map of ipyleaflet needs a
running kernel, so that its picture is a still one, and the site says so.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from PIL import Image, ImageOps
from reduced_colours import reduced

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
NOTEBOOKS = DOCS.parent / "notebooks"
#: Copies of the notebooks and their thumbnails, which the build makes.
COPIES = DOCS / "notebooks"
#: Names of the widgets, of which notebooks store still pictures.
WIDGETS = ("TravelTimeMap", "SideBySideMap")
#: Follows the picture of a widget.
STILL = "*A still picture of the map. In the running notebook its markers and controls can be moved.*"
#: Width and height of thumbnails: twice those of a card, for screens with small pixels.
THUMBNAIL = (480, 360)
#: Line of the gallery in whose place the cards are.
MARK = "<!-- notebooks -->"
#: Titles of the notebooks in the gallery. Their own titles are the questions that they answer.
TITLES = {
    "01-quick-start": "Quick start",
    "02-isochrones": "Isochrones",
    "03-traffic": "Traffic",
    "04-matrices": "Matrices",
    "05-public-transport": "Public transport",
    "06-distance-maps": "Distance maps",
    "07-cells": "Cells",
    "08-accessibility": "Accessibility",
    "09-http-service": "HTTP service",
    "10-protocol-buffers": "Protocol Buffers",
    "11-bring-your-own-city": "Bring your own city",
    "12-limits-and-errors": "Limits and errors",
    "13-large-jobs": "Large jobs",
    "14-scenarios": "Scenarios",
    "15-calibration": "Calibration",
    "16-study": "A whole study",
    "17-real-days": "Real days",
    "18-step-free": "Without steps",
}
#: Tag of the cell whose picture is the thumbnail, if that is not the first one.
TAG = "thumbnail"


def drawings(notebook: Any) -> dict[int, bool]:
    """
    Return the numbers of the cells that draw, and for each whether it shows the widget.

    A cell draws if it calls something named ``plot`` or ``side_by_side``, or if it ends with one of `WIDGETS` or its
    variable.
    """
    widgets: set[str] = set()
    found: dict[int, bool] = {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        tree = ast.parse(re.sub(r"^[%!].*$", "", cell.source, flags=re.MULTILINE))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _calls(node.value, *WIDGETS):
                widgets |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            if _calls(node, "plot", "side_by_side"):
                found[number] = False
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            shown = tree.body[-1].value
            if _calls(shown, *WIDGETS) or (isinstance(shown, ast.Name) and shown.id in widgets):
                found[number] = True
    return found


def _calls(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def digest(notebook: Any, number: int) -> str:
    """
    Return a digest of a cell and the code before it.

    It is stored with the picture of the cell, and tells whether something has changed since.
    """
    codes = [cell.source for cell in notebook.cells[: number + 1] if cell.cell_type == "code"]
    return hashlib.sha256("\0".join(codes).encode()).hexdigest()[:16]


def pictures(notebook: Any) -> dict[int, Any]:
    """Return the outputs that are pictures, by the number of their cell."""
    return {
        number: output
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    }


def content(output: Any) -> bytes:
    """Return a picture as a PNG file."""
    return base64.b64decode(output["data"]["image/png"])


def thumbnail(notebook: Any) -> Image.Image:
    """Return the middle of a picture of a notebook, scaled down, with few but true colours."""
    found = pictures(notebook)
    tagged = [number for number in found if TAG in notebook.cells[number].metadata.get("tags", ())]
    picture = Image.open(io.BytesIO(content(found[(tagged or list(found))[0]]))).convert("RGB")
    small = ImageOps.fit(picture, THUMBNAIL, Image.Resampling.HAMMING)  # others make halos
    try:
        return reduced(small)
    except ValueError:  # of colours that a palette cannot hold
        return small


def notebooks() -> list[Path]:
    """
    Return the notebooks of the site in the order of the gallery.

    Raises
    ------
    ValueError
        If one has no title in `TITLES`, no heading or no picture, such as a scratch notebook.
    """
    found = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in found:
        notebook = nbformat.read(path, as_version=4)
        faults = {
            f"has no title; add one to TITLES in {Path(__file__).name}": path.stem not in TITLES,
            "does not begin with a heading": not _heading(notebook),
            f"has no picture; run python notebooks/refresh.py {path.stem}": not pictures(notebook),
        }
        for fault in (each for each, is_there in faults.items() if is_there):
            msg = f"notebooks/{path.name} {fault}, or move the notebook to another folder if it is not for the site"
            raise ValueError(msg)
    return found


def _heading(notebook: Any) -> str:
    """Return the question that a notebook answers: the heading that it begins with, or an empty text."""
    first = notebook.cells[0].source if notebook.cells else ""
    return str(first.partition("\n")[0].removeprefix("# ")) if first.startswith("# ") else ""


def cards() -> str:
    """Return a grid of the notebooks in Markdown: a thumbnail, a title and a question, which lead to the notebook."""
    found = []
    for path in notebooks():
        question = _heading(nbformat.read(path, as_version=4))
        found.append(
            f":::{{grid-item-card}} {TITLES[path.stem]}\n"
            f":link: notebooks/{path.stem}\n:link-type: doc\n"
            f":img-top: notebooks/{path.stem}.png\n:img-alt: A picture of this notebook\n"
            f":class-card: notebook\n\n{question}\n:::"
        )
    return "\n\n".join(["::::{grid} 1 2 3 3\n:gutter: 3", *found, "::::"])


def shown(path: Path) -> Any:
    """Return a notebook as the site shows it: with a link to the notebook itself, and remarks below still pictures."""
    notebook = nbformat.read(path, as_version=4)
    stills = {number for number, is_widget in drawings(notebook).items() if is_widget}
    cells = []
    for number, cell in enumerate(notebook.cells):
        cells.append(cell)
        if number in stills:
            cells.append(nbformat.v4.new_markdown_cell(STILL))
        cell.source = cell.source.replace("# NBVAL_CHECK_OUTPUT\n", "")
    link = f"{{download}}`Download this notebook <../../notebooks/{path.name}>` and run it on your own machine."
    cells.insert(1, nbformat.v4.new_markdown_cell(link))
    notebook.cells = cells
    return notebook


def _copy(app: Sphinx) -> None:
    COPIES.mkdir(exist_ok=True)
    made = set()
    for path in notebooks():
        small = io.BytesIO()
        thumbnail(nbformat.read(path, as_version=4)).save(small, "PNG", optimize=True)
        for name, new in ((path.name, nbformat.writes(shown(path)).encode()), (f"{path.stem}.png", small.getvalue())):
            copy = COPIES / name
            made.add(copy)
            if not copy.exists() or copy.read_bytes() != new:  # Sphinx reads what is newer
                copy.write_bytes(new)
    for old in set(COPIES.iterdir()) - made:
        if not old.is_dir():  # as that of checkpoints, which Jupyter makes
            old.unlink()


def _insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    if f"\n{MARK}\n" in source[0]:
        source[0] = source[0].replace(MARK, cards())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _copy)
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
