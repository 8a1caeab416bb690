"""The corpus of answers in `benchmarks/corpus`: what it calls different, what it replaces, what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from benchmarks.corpus import __main__ as corpus
from benchmarks.corpus import canonical, cases


def table() -> gpd.GeoDataFrame:
    columns = {"seconds": pd.array([300, pd.NA], "Int32"), "metres": [0.1, np.nan], "why": pd.Categorical(["a", None])}
    points = [shapely.Point(24.9, 60.1), None]
    found = gpd.GeoDataFrame(columns, geometry=points, index=pd.Index(["x", "y"], name="id"), crs=4326)
    found.attrs["source"] = "s"
    return found


def with_attrs(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    frame.attrs["more"] = 1
    return frame


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.assign(seconds=t["seconds"].astype("Int64")),
        lambda t: t.assign(metres=np.nextafter(t["metres"], 1.0)),
        lambda t: t.assign(metres=t["metres"].fillna(0.0)),
        lambda t: t.assign(why=t["why"].cat.add_categories("b")),
        lambda t: t.assign(why=t["why"].astype(object)),
        lambda t: t.set_geometry(gpd.GeoSeries([shapely.Point(np.nextafter(24.9, 25), 60.1), None], t.index, crs=4326)),
        lambda t: t.set_crs(3067, allow_override=True),
        lambda t: t.rename_axis("name"),
        lambda t: t.rename(index={"x": "z"}),
        lambda t: t.iloc[::-1],
        lambda t: t[["metres", "seconds", "why", "geometry"]],
        lambda t: t.rename_geometry("shape"),
        lambda t: pd.DataFrame(t),
        with_attrs,
    ],
)
def test_every_part_of_a_table_counts(change: Callable[[gpd.GeoDataFrame], Any]) -> None:
    assert canonical.written(table()) == canonical.written(table())
    assert canonical.written(change(table())) != canonical.written(table())


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ([1], (1,)), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (None, "None")],
)
def test_types_and_order_count(one: Any, other: Any) -> None:
    assert canonical.written(one) != canonical.written(other)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\"modified\": \"2026-11-26T01:25:26+00:00\"", "\"modified\": \"<modified>\""),
        ("\nallow: POST, GET\n", "\nallow: GET, POST\n"),
        ("set-cookie: traveltime_lab_43519=abc; Path=/", "set-cookie: traveltime_lab_<port>=<session>; Path=/"),
        ("no file at /some/folder/case-12/a.csv, /some/folder/b", "no file at <folder>/a.csv, <folder>/b"),
        ("'departure_time': '2026-11-26T01:25:26+00:00'", "'departure_time': '2026-11-26T01:25:26+00:00'"),
    ],
)  # fmt: skip
def test_what_depends_on_the_run_is_replaced(text: str, kept: str) -> None:
    assert canonical.normalised(text.encode(), b"/some/folder").decode() == kept


def test_a_recording_is_the_same_file_each_time(tmp_path: Path) -> None:
    listed = [cases.case("a", "call", {"code": "1 + 1"}), cases.case("a", "call", {"code": "1 + 2"})]
    answers = {each.name: each.request["code"].encode() for each in listed}
    for name in ("one", "two"):
        cases.write(tmp_path / name, listed, answers, {"commit": "c"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert cases.read(tmp_path / "one") == (listed, answers, {"commit": "c"})


def test_differences_are_printed_unless_they_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    listed = [cases.case("a", "call", {"code": "1 + 1"})]
    (name,) = (each.name for each in listed)
    before, after = {name: b"one\ntwo"}, {name: b"one\nthree"}
    assert corpus.report(listed, before, before, [], 9) == 0
    assert corpus.report(listed, before, after, [], 9) == 1
    shown = capsys.readouterr().out
    assert "1 + 1" in shown and "line 2" in shown and "'one\\nthree'" in shown
    assert corpus.report(listed, before, after, [("a-*", "meant")], 9) == 0
    assert "1 named: a-*: meant" in capsys.readouterr().out


@pytest.mark.slow
def test_every_public_function_has_cases() -> None:
    import traveltime_lab as tl

    listed = corpus.all_cases()
    assert len(listed) > 3000
    for each in listed:
        if each.kind == "call":
            compile(each.request["code"], each.name, "exec")
    texts = "\n".join(each.shown() for each in listed)
    functions = [name for name in tl.__all__ if callable(getattr(tl, name)) and not name.endswith(("Error", "Warning"))]
    answers = {
        "Alert",
        "Calibration",
        "Explanation",
        "Fares",
        "Leg",
        "ObservedDays",
        "PreparedPoints",
        "Reason",
        "Replay",
        "Ride",
        "Route",
    }
    answers |= {"Step", "StopCall", "Ticket", "Nominatim"}
    assert [name for name in functions if f"tl.{name}" not in texts and name not in answers] == []
