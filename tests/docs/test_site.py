"""The documentation site: the code of its pages runs, its reference and gallery are complete."""

from __future__ import annotations

import argparse
import ast
import base64
import inspect
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import numpy as np
import pytest
from PIL import Image, ImageDraw

import traveltime_lab as tl
from tests.support import ROOT
from tests.support.combinations import first_of
from tests.support.feeds import feed
from tests.support.osm_files import osm_xml
from traveltime_lab import cli

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

    from traveltime_lab.network.network import Network

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))
sys.path.insert(0, str(ROOT / "notebooks"))

import commands  # noqa: E402
import gallery  # noqa: E402
import links  # noqa: E402
import looks  # noqa: E402
import members  # noqa: E402
import offline  # noqa: E402
import reduced_colours  # noqa: E402

#: Pages whose code runs; that of large jobs needs files and clusters, and notebooks/13-large-jobs.ipynb runs it.
PAGES = [
    path
    for path in sorted([ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])
    if path.stem != "large-jobs"
]
FENCES = {
    path.relative_to(ROOT).as_posix(): found
    for path in PAGES
    if (found := re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL))
}
#: Pages whose code takes several seconds each; notebooks run most of it, too.
LONG = ("docs/guide/observed.md", "docs/guide/reliability.md")
#: The calls of "Coming from another package".
CALLS = re.findall(r"`((?:tl|network)\.[^`]*\))`", (DOCS / "coming-from.md").read_text("utf-8"))

#: Four streets around a block of Porto Alegre, a school, and a bus that stops at two of its corners.
BLOCK = osm_xml(
    {1: (-51.218, -30.039), 2: (-51.214, -30.039), 3: (-51.214, -30.035), 4: (-51.218, -30.035), 5: (-51.216, -30.037)},
    [(10, "1 2 3 4 1", "highway=primary|name=Avenida Ipiranga")],
    node_tags={5: "amenity=school|name=Escola"},
)
BUS = {
    "agency": "agency_id,agency_name,agency_url,agency_timezone\nA,Buses,https://example.org,America/Sao_Paulo",
    "calendar": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
    "daily,1,1,1,1,1,1,1,20190101,20191231",
    "stops": "stop_id,stop_name,stop_lat,stop_lon\na,A,-30.039,-51.218\nb,B,-30.035,-51.214",
    "routes": "route_id,route_short_name,route_type\nR,1,3",
    "trips": "route_id,service_id,trip_id\nR,daily,t",
    "stop_times": "trip_id,stop_sequence,stop_id,arrival_time,departure_time\n"
    "t,0,a,08:05:00,08:05:00\nt,1,b,08:09:00,08:09:00",
}


@pytest.fixture(scope="module")
def city(porto_alegre: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a city that the pages take for granted."""
    import osmium
    import rasterio

    folder = tmp_path_factory.mktemp("city")
    (folder / "city.osm").write_bytes(BLOCK)
    for name in ("city.osm.pbf", "country.osm.pbf", "north.osm.pbf", "south.osm.pbf"):
        with osmium.SimpleWriter(str(folder / name)) as writer:
            for item in osmium.FileProcessor(str(folder / "city.osm")):
                # A part of the same town, as a file is not given twice.
                if item.is_node() or name != "south.osm.pbf":
                    writer.add(item)
    for name, kind in (("buses.zip", 3), ("metro.zip", 1)):
        feed(folder, name, **{**BUS, "routes": f"route_id,route_short_name,route_type\nR,1,{kind}"})
    west, south, east, north = porto_alegre.bounds
    wide, high = (east - west) / 80, (north - south) / 80
    place = rasterio.Affine(wide, 0, west - 10 * wide, 0, -high, north + 10 * high)
    profile = {"driver": "GTiff", "width": 100, "height": 100, "count": 1, "dtype": "int16", "crs": "EPSG:4326"}
    with rasterio.open(folder / "elevation.tif", "w", transform=place, **profile) as file:
        file.write(np.add.outer(np.zeros(100), np.arange(100)).astype(np.int16), 1)
    shutil.copyfile(folder / "elevation.tif", folder / "population.tif")
    porto_alegre.save(folder / "city.network")
    return folder


@pytest.fixture(scope="module")
def around_two_places(porto_alegre: Network) -> GeoDataFrame:
    """Areas that the pages take for granted."""
    return tl.time_map(porto_alegre, tl.sample_points().iloc[:2], travel_time=600)


@pytest.fixture
def names(
    porto_alegre: Network,
    helsinki: Network,
    city: Path,
    around_two_places: GeoDataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """What the pages take for granted: a network, points, areas, an osmnx graph and files of a city."""
    import osmnx
    import requests

    shutil.copytree(city, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    networks = {None: porto_alegre, "porto_alegre": porto_alegre, "helsinki": helsinki}
    monkeypatch.setattr(tl, "sample_network", lambda name=None: networks[name])
    graph = osmnx.graph_from_xml("city.osm", simplify=False)
    monkeypatch.setattr(osmnx, "graph_from_place", lambda *_arguments, **_options: graph)
    nodes, edges = osmnx.graph_to_gdfs(graph)
    places, zones = tl.sample_points(), tl.sample_points(kind="zones")
    found = {"places": places, "homes": places.iloc[:3], "work": places.iloc[3:6], "zones": zones}
    found["homes"] = found["homes"].assign(people=[50, 20, 30], income=[900, 400, 700], district=["a", "b", "a"])
    found["schools"] = places.iloc[4:].assign(pupils=100)
    found["areas"] = around_two_places.copy()
    return {
        "tl": tl,
        "network": porto_alegre,
        "graph": graph,
        "nodes": nodes,
        "edges": edges,
        "requests": requests,
    } | found


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=[] if page == "README.md" else pytest.mark.thorough if page in LONG else pytest.mark.slow
        )
        for page in FENCES
    ],
)
def test_the_code_of_a_page_runs(page: str, names: dict[str, Any]) -> None:
    for fence in FENCES[page]:
        exec(compile(fence, page, "exec"), names)


@pytest.mark.thorough
def test_every_call_for_users_of_other_packages_runs(names: dict[str, Any]) -> None:
    assert len(CALLS) > 35
    for call in CALLS:
        eval(call, dict(names))


def test_the_reference_has_every_public_name_once() -> None:
    listed: list[str] = []
    for page in (DOCS / "reference").glob("*.md"):
        for block in re.findall(
            r"^\.\. autosummary::\n   :toctree: api/\n(?:   :signatures: none\n)?\n((?:   \w+\n)+)",
            page.read_text("utf-8"),
            re.M,
        ):
            listed += block.split()
    assert sorted(listed) == [name for name in tl.__all__ if not name.startswith("__")]


def test_the_page_of_commands_has_every_option() -> None:
    """And the commands at the top of the page are commands with options that there are."""
    parser = cli._parser()
    page = commands.page(parser)
    known = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction)).choices
    assert re.findall(r"^## (\S+)$", page, re.MULTILINE) == list(known)
    for name, section in zip(known, re.split(r"^## ", page, flags=re.MULTILINE)[1:], strict=True):
        for action in known[name]._actions:
            shown = action.option_strings[0] if action.option_strings else str(action.metavar)
            assert action.dest == "help" or re.search(rf"^\| `[^`]*{re.escape(shown)}\b", section, re.MULTILINE), shown
    text = (DOCS / "commands.md").read_text("utf-8")
    assert f"\n{commands.MARK}\n" in text
    for line in re.findall(r"^traveltime-lab (.*)$", text.replace("\\\n", " "), re.MULTILINE):
        parser.parse_args(shlex.split(line))


def test_the_pages_name_public_names_only() -> None:
    for page in [*PAGES, DOCS / "large-jobs.md"]:
        for name in set(re.findall(r"\btl\.(\w+)", page.read_text("utf-8"))):
            assert name in tl.__all__, f"{page.name}: tl.{name}"


@pytest.mark.parametrize("path", sorted(gallery.NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_have_a_picture_of_every_map(path: Path) -> None:
    """A cell that has changed, or one before it, needs a new picture: ``python notebooks/refresh.py NOTEBOOK``."""
    notebook = nbformat.read(path, as_version=4)
    found = gallery.pictures(notebook)
    assert found
    assert set(found) == set(gallery.drawings(notebook))
    for number, output in found.items():
        assert output.metadata.get("source") == gallery.digest(notebook, number), notebook.cells[number].source
        assert len(notebook.cells[number].outputs) == 1
    nbformat.validate(notebook)
    texts = [cell.source for cell in gallery.shown(path).cells]
    assert texts.count(gallery.STILL) == sum(gallery.drawings(notebook).values())
    assert not any("NBVAL" in text for text in texts)


def test_the_gallery_has_a_card_for_every_notebook() -> None:
    notebooks = sorted(gallery.NOTEBOOKS.glob("*.ipynb"))
    assert list(gallery.TITLES) == [path.stem for path in notebooks]
    text = gallery.cards()
    for path in notebooks:
        assert f":link: notebooks/{path.stem}\n" in text
        assert f":img-top: notebooks/{path.stem}.png\n" in text
    assert f"\n{gallery.MARK}\n" in (DOCS / "gallery.md").read_text("utf-8")


def test_the_site_is_built_beside_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of checkpoints stay, former copies go, and a notebook that is not for the site is named."""
    monkeypatch.setattr(gallery, "COPIES", tmp_path / "copies")
    monkeypatch.setattr(gallery, "NOTEBOOKS", tmp_path)
    (tmp_path / "copies" / ".ipynb_checkpoints").mkdir(parents=True)
    (tmp_path / "copies" / "00-former.ipynb").write_text("", "utf-8")
    name = next(iter(gallery.TITLES))
    shutil.copyfile(ROOT / "notebooks" / f"{name}.ipynb", tmp_path / f"{name}.ipynb")
    gallery._copy(None)
    assert {path.name for path in (tmp_path / "copies").iterdir()} == {
        ".ipynb_checkpoints", f"{name}.ipynb", f"{name}.png",
    }  # fmt: skip

    heading = nbformat.v4.new_markdown_cell("# What is it?")
    faults = {
        "scratch": ([heading], "scratch.ipynb has no title; add one to TITLES"),
        "02-isochrones": (
            [heading],
            "02-isochrones.ipynb has no picture; run python notebooks/refresh.py 02-isochrones",
        ),
        "03-traffic": ([], "03-traffic.ipynb does not begin with a heading"),
    }
    for stem, (cells, message) in faults.items():
        path = tmp_path / f"{stem}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        for build in (gallery.cards, lambda: gallery._copy(None)):
            with pytest.raises(ValueError, match=f"notebooks/{message}.*, or move the notebook to another folder"):
                build()
        path.unlink()


@pytest.mark.parametrize("code", ["", "# a remark", "%matplotlib inline\n!ls"])
def test_cells_without_code_draw_nothing(code: str) -> None:
    assert gallery.drawings(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])) == {}


@pytest.mark.parametrize(
    "path",
    first_of(2, sorted(gallery.NOTEBOOKS.glob("*.ipynb")), mark=pytest.mark.thorough),
    ids=lambda path: path.stem,
)
def test_thumbnails_have_the_colours_of_the_picture(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    thumbnail = gallery.thumbnail(notebook)
    assert thumbnail.size == gallery.THUMBNAIL

    def frequent(picture: Image.Image) -> list[tuple[int, int, int]]:
        """Return the colours of at least one in fifty pixels."""
        colours = picture.convert("RGB").getcolors(picture.width * picture.height)
        return [colour for count, colour in colours if 50 * count > picture.width * picture.height]

    known = np.array(
        [colour for output in gallery.pictures(notebook).values() for colour in frequent(_opened(output))], int
    )
    assert frequent(thumbnail)
    for colour in frequent(thumbnail):
        assert (np.abs(known - colour).max(axis=1) <= 2).any(), f"no picture has {colour}"


def _opened(output: Any) -> Image.Image:
    return Image.open(io.BytesIO(gallery.content(output)))


def test_remote_parts_of_a_page_are_found() -> None:
    harmless = '<a href="https://example.org">x</a> <img src="map.png"> <script src="_static/a.js"></script>'
    assert not offline.remote_parts(harmless + '<link rel="canonical" href="https://example.org/">')
    for part in (
        '<script async src="https://example.org/a.js">',
        '<img alt="x" src="//example.org/a.png">',
        '<link href="https://example.org/a.css" rel="stylesheet">',
        "@import url(https://example.org/a.css)",
        "src: url('https://example.org/font.woff2')",
    ):
        assert offline.remote_parts(part), part


@pytest.mark.thorough
def test_pictures_have_the_colours_of_the_original(helsinki: Network) -> None:
    """With a scale of 256 steps; most pixels keep their colour, bands and steps of the scale all of them."""
    cells = tl.h3_cells(helsinki, (24.9414, 60.1711), travel_time=900, resolution=10, transportation="walking")
    file = io.BytesIO()
    tl.plot(helsinki, cells, column="mean").figure.savefig(file, dpi=96)
    original = Image.open(file).convert("RGB")
    small = reduced_colours.reduced(original)
    assert small.mode == "P" and small.size == original.size
    differs = np.abs(np.asarray(small.convert("RGB"), int) - np.asarray(original, int)).max(axis=2)
    assert differs.max() <= reduced_colours.FARTHEST and (differs == 0).mean() > 0.75
    # The orange of the report: averaged with its neighbours by palettes of volumes.
    colours, number = np.unique(np.asarray(original).reshape(-1, 3), axis=0, return_counts=True)
    frequent = {tuple(each) for each in colours[np.argsort(-number)][: reduced_colours.FREQUENT // 2]}
    assert frequent <= {tuple(each) for each in np.asarray(small.convert("RGB")).reshape(-1, 3)}


def test_colours_that_a_palette_cannot_hold_are_refused() -> None:
    steps = np.arange(0, 256, 32, dtype=np.uint8)
    every = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    with pytest.raises(ValueError, match="a colour of the picture is 32 from its palette; at most 20 is accepted"):
        reduced_colours.reduced(Image.fromarray(every))
    few = reduced_colours.reduced(Image.fromarray(every[:, :200]))
    assert (np.asarray(few.convert("RGB")) == every[:, :200]).all()


def _stored_pictures() -> dict[str, bytes]:
    """Return the pictures of the repository by their names."""
    found = {path.name: path.read_bytes() for path in (ROOT / "pictures").glob("*.png")}
    for path in gallery.NOTEBOOKS.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for number, output in gallery.pictures(notebook).items():
            found[f"{path.stem}, cell {number}"] = gallery.content(output)
    return found


def test_no_picture_is_stored_twice() -> None:
    contents: dict[bytes, str] = {}
    for name, picture in _stored_pictures().items():
        first = contents.setdefault(picture, name)
        assert first == name, f"{name} is the same picture as {first}"


def test_stored_pictures_have_few_bytes_and_enough_colours() -> None:
    """Palettes of 64 colours, which Pillow chose, had none of the steps of a scale."""
    for name, content in _stored_pictures().items():
        picture = Image.open(io.BytesIO(content))
        assert picture.mode == "P" and len(picture.getcolors()) > 200, name
        assert len(content) < 250_000, name


def test_pictures_that_look_the_same() -> None:
    def png(*, size: int = 600, shift: int = 0, colour: str = "white") -> bytes:
        picture = Image.new("RGB", (size, size), "white")
        ImageDraw.Draw(picture).ellipse((100 + shift, 100, 400 + shift, 400), "teal", "black", 3)
        ImageDraw.Draw(picture).rectangle((500, 500, 560, 560), colour)
        file = io.BytesIO()
        picture.resize((480, 480)).save(file, "PNG")
        return file.getvalue()

    assert looks.looks_the_same(png(), png())
    assert looks.looks_the_same(png(), png(shift=1))
    assert not looks.looks_the_same(png(), png(shift=30))
    assert not looks.looks_the_same(png(), png(colour="orange"))
    assert not looks.looks_the_same(png(), png(size=500))


@pytest.mark.thorough
def test_cells_with_a_picture_have_to_draw(tmp_path: Path) -> None:
    """Also where MPLBACKEND is exported. A cell of a widget has to show one; its picture is a still."""
    from matplotlib.figure import Figure

    file = io.BytesIO()
    figure = Figure()
    figure.subplots().bar([1, 2], [1, 2])
    figure.savefig(file, bbox_inches="tight")
    picture = {"image/png": base64.b64encode(file.getvalue()).decode()}
    codes = [
        "import types\n\nimport ipywidgets\nfrom matplotlib import pyplot",
        "pyplot.bar([1, 2], [1, 2])",
        "pyplot.bar([1, 2], [2, -1]);",
        "1 + 1",
        "tl = types.SimpleNamespace(TravelTimeMap=ipywidgets.Label)\ntl.TravelTimeMap('a')",
        "tl = types.SimpleNamespace(TravelTimeMap=str)\ntl.TravelTimeMap('a')",
        "ipywidgets.Label('a')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each, execution_count=1) for each in codes])
    for cell in notebook.cells[1:]:
        cell.outputs = [nbformat.v4.new_output("display_data", picture)]
    for name in (
        "notebooks/conftest.py",
        "notebooks/looks.py",
        *map("docs/_extensions/{}.py".format, ("gallery", "reduced_colours")),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    nbformat.write(notebook, tmp_path / "notebooks" / "some.ipynb")
    options = "--import-mode=importlib", "--nbval-lax", "--nbval-current-env", "-rA", "-p", "no:cacheprovider"
    own = {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir=.", *options, "notebooks"],
        cwd=tmp_path, env={**os.environ, **own}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    found = dict(reversed(each) for each in re.findall(r"^(PASSED|FAILED) .*::(Cell \d)", done.stdout, re.MULTILINE))
    assert [found.get(f"Cell {i}") == "PASSED" for i in range(7)] == [True, True, False, False, True, False, False], (
        done.stdout
    )
    assert "a picture is stored with the cell, which draws nothing; run: python notebooks/refresh.py" in done.stdout


#: Public names as the reference has them, with two methods and a class that describes its attributes.
NAMES = {name: f"traveltime_lab.{name}" for name in [*tl.__all__, "Network.save", "Network.report", "Network.prepare"]}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("time_map", ["time_map"]),
        ("tl.time_map", ["tl.time_map"]),
        ('time_filter(..., form="matrix")', ["time_filter"]),
        ("tl.union(tl.time_map(network, homes))", ["tl.union", "tl.time_map"]),
        ("network.report()", ["network.report"]),
        ("Network.save", ["Network.save"]),
        ("prepare", ["prepare"]),
        ("city.areas, Route.fares", ["Route.fares"]),
        ("scenario.save(path)", ["scenario.save"]),
        ("InputError: a text", ["InputError"]),
        ("result.attrs", []),
        ("ox.plot_graph(graph)", []),
        ('"routes"', []),
        ("routes.txt", []),
        ("/v4/routes", []),
        ("travel_time <= 900", []),
        ("network.bounds", []),
    ],
)
def test_public_names_in_a_sentence_are_found(code: str, found: list[str]) -> None:
    kinds = links.variables("scenario = network.prepare('walking')\nareas = tl.time_map(network, homes)\n", NAMES)
    assert kinds == {"network": "Network", "scenario": "Network"}
    assert [code[start:end] for start, end, _ in links.targets(code, NAMES, kinds)] == found


def test_keys_and_variables_are_no_public_names() -> None:
    assert not list(links.targets("routes", NAMES, {}, plain=False))
    assert links.assigned("places = tl.sample_points()\nif places == 1: f(places=2)\n") == {"places"}


def test_names_in_blocks_of_code_are_links() -> None:
    def block(inner: str) -> str:
        return f'<span class="n">tl</span><div class="highlight"><pre>{inner}</pre></div>'

    dot = '<span class="o">.</span>'
    call = f'<span class="n">tl</span>{dot}<span class="n">time_map</span>'
    other = f'<span class="n">np</span>{dot}<span class="n">routes</span>'
    comment = '<span class="c1"># or tl.nearest()</span>'
    address = {"time_map": "a.html#traveltime_lab.time_map", "routes": "r.html#r", "nearest": "n.html#n"}
    html = links.link_block(block(call + other + comment), NAMES, {}, address)
    assert html == block(
        f'<span class="n">tl</span>{dot}<a class="reference internal" href="a.html#traveltime_lab.time_map" '
        f'title="traveltime_lab.time_map"><span class="n">time_map</span></a>{other}<span class="c1"># or tl.'
        f'<a class="reference internal" href="n.html#n" title="traveltime_lab.nearest">nearest</a>()</span>'
    )


def test_missing_and_broken_links_are_found(tmp_path: Path) -> None:
    """The build fails on these: see `links`."""
    text = (
        "<p><code>time_map()</code> <code>nearest</code> <code>tl.snap(network, homes)</code></p>"
        '<pre>network<span>.</span><span>save</span>("x")\nplaces = tl.places()</pre><code>homes</code>'
    )
    page = links.Page(text)
    assert page.without_link(NAMES) == {"time_map", "nearest", "snap", "Network.save", "places"}
    assert page.without_link(NAMES, plain=False) == {"snap", "Network.save", "places"}
    linked = "".join(f'<a href="r.html#traveltime_lab.{name}">' for name in ("time_map", "nearest", "snap", "places"))
    assert links.Page(text + linked).without_link(NAMES) == {"Network.save"}
    other = links.Page('<a id="traveltime_lab.time_map"></a><a href="#gone"></a><a href="https://example.org/x"></a>')
    (tmp_path / "r.html").write_text("", encoding="utf-8")
    pages = {tmp_path / "p.html": links.Page(linked + '<a href="none.html">'), tmp_path / "r.html": other}
    assert links.broken_links(pages) == [
        *(f"p.html: r.html#traveltime_lab.{name}" for name in ("nearest", "snap", "places")),
        "p.html: none.html",
        "r.html: #gone",
    ]


#: An argument that has to be False.
NO_EXAMPLE = {"disable_border_crossing"}


def _codes() -> list[str]:
    """Return the code of pages and notebooks: blocks, calls in tables, and cells."""
    found = [fence for fences in FENCES.values() for fence in fences] + CALLS
    found += re.findall(
        r"^```python\n(.*?)^```$", (DOCS / "large-jobs.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for path in gallery.NOTEBOOKS.glob("*.ipynb"):
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        found += [re.sub(r"^[%!].*$", "", cell, flags=re.MULTILINE) for cell in cells]
    return found


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _methods() -> list[str]:
    """Return the names of the public methods of a network."""
    return [
        name.removeprefix("Network.")
        for name, kind in members.kinds().items()
        if kind == "method" and name.startswith("Network.")
    ]


def test_the_reference_has_the_public_members_of_classes() -> None:
    """Those of a network are the ones that completion lists, of which some are described by the class itself."""
    public = {name for name in dir(tl.Network) if name[0] != "_"} - tl.Network._internal
    listed = [name for group in members.MEMBERS["Network"].values() for name in group]
    assert sorted(listed) == sorted(public)
    page = (DOCS / "reference" / "networks.md").read_text("utf-8")
    named = set(re.findall(r"`Network\.(\w+)`", page))
    assert named == set(_methods())
    for name, kind in members.kinds().items():
        owner, member = name.split(".")
        assert (getattr(getattr(tl, owner), member).__doc__ or "").strip(), name
        assert kind in ("method", "property")
    widget = {
        name for cls in tl.TravelTimeMap.__mro__ if cls.__module__.startswith("traveltime_lab") for name in vars(cls)
    }
    listed = [name for group in members.MEMBERS["TravelTimeMap"].values() for name in group]
    assert sorted(listed) == sorted(name for name in widget if name[0] != "_" and name != "folder")


def test_guide_or_notebooks_show_every_public_name() -> None:
    """Functions and what users create are in code; results and errors are mentioned, and link to the reference."""
    nodes = [node for code in _codes() for node in ast.walk(ast.parse(code))]
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    texts = "".join(path.read_text("utf-8") for path in [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])
    for name in tl.__all__:
        if name in members.NOT_CONSTRUCTED or _is_error(getattr(tl, name)):
            assert f"`{name}`" in texts, f"no page mentions {name}"
        elif not name.startswith("__"):
            assert name in used, f"no example uses {name}"
    for name in _methods():
        assert name in used, f"no example uses Network.{name}"


def test_guide_or_notebooks_show_every_argument() -> None:
    """
    By keyword in some call, by position, or as a key of a mapping such as ``options``.

    An argument that several functions share, as `snapping`, needs one example.
    """
    nodes = [node for code in _codes() for node in ast.walk(ast.parse(code))]
    shown = {word.arg for node in nodes if isinstance(node, ast.Call) for word in node.keywords}
    shown |= {
        key.value for node in nodes if isinstance(node, ast.Dict) for key in node.keys if isinstance(key, ast.Constant)
    }
    by_position: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            by_position[node.func.attr] = max(by_position.get(node.func.attr, 0), len(node.args))
    public = {
        name: getattr(tl, name)
        for name in tl.__all__
        if not name.startswith("__") and name not in members.NOT_CONSTRUCTED
    }
    public |= {name: getattr(tl.Network, name) for name in _methods()}
    missing = []
    for name, value in public.items():
        if _is_error(value):
            continue
        parameters = [each for each in inspect.signature(value).parameters.values() if each.name != "self"]
        for number, each in enumerate(parameters):
            positional = each.kind != each.KEYWORD_ONLY and number < by_position.get(name, 0)
            variadic = each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
            if not (variadic or positional or each.name in shown | NO_EXAMPLE):
                missing.append(f"{name}({each.name})")
    assert not missing, ", ".join(missing)
