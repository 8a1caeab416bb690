"""Errors about unknown names, labels and ids suggest similar ones."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import traveltime_lab as tl
from traveltime_lab._checks import did_you_mean
from traveltime_lab._elsewhere import ATTRIBUTES, FUNCTIONS

if TYPE_CHECKING:
    from traveltime_lab.network.network import Network


@pytest.mark.quick
@pytest.mark.parametrize(
    ("wanted", "known", "meant"),
    [
        ("populaton", ["population", "jobs"], "'population'"),
        ("Jobs", ["population", "jobs"], "'jobs'"),
        ("T4", ["T4 ", "T44", "X"], "'T4 ' or 'T44'"),
        (np.int64(454586886), np.array([454586885, 12, 285297327]), "454586885"),
        (17, [1, 2, 3], ""),
        ("x", [], ""),
        (None, ["none", "other"], "'none'"),
        (("a", 1), [("a", 2), "b"], "('a', 2)"),
        ("STRASSE", ["Straße", "x"], "'Straße'"),
    ],
)
def test_similar_names_are_suggested(wanted: Any, known: Any, meant: str) -> None:
    assert did_you_mean(wanted, known) == (f"; did you mean {meant}?" if meant else "")


def _calls() -> dict[str, tuple[Callable[[Network], Any], str]]:
    places, zones = tl.sample_points(), tl.sample_points(kind="zones")

    def matrix(network: Network) -> pd.DataFrame:
        return tl.time_filter(network, places, places, travel_time=900, transportation="walking")

    def changed(change: Any) -> Callable[[Network], Any]:
        return lambda network: network.with_changes(change)

    def ways(network: Network) -> list[int]:
        return [int(network.edges_frame()["way_id"].max()) + 1]

    pairs = pd.DataFrame({"origin": ["Beira Rio"], "destination": ["PUCRS"]})
    return {
        "route": (changed(tl.RemoveRoutes("T12x")), "'T12'"),
        "stop": (changed(tl.RemoveStops("42200")), "'4220'"),
        "feed": (changed(tl.RemoveRoutes("T12", feed="bus")), "'buses'"),
        "way": (lambda network: network.with_changes(tl.CloseStreets(ways=ways(network))), "did you mean"),
        "class": (lambda network: tl.add_speeds(network, classes={"residental": 20}), "'residential'"),
        "speed of a way": (lambda network: tl.add_speeds(network, ways={ways(network)[0]: 20}), "did you mean"),
        "label": (
            lambda network: tl.time_filter(network, places, places, travel_time=900, pairs=pairs),
            "'Beira-Rio'",
        ),
        "column of opportunities": (
            lambda network: tl.accessibility(network, places, zones, travel_time=900, values="job"),
            "'jobs'",
        ),
        "column of a layer": (
            lambda network: tl.TravelTimeMap(network, places.iloc[[0]]).add_layer(zones, column="Population"),
            "'population'",
        ),
        "scheme": (lambda network: tl.plot(network, points=zones, column="jobs", scheme="quantile"), "'Quantiles'"),
        "colours": (lambda network: tl.plot(network, points=zones, column="jobs", cmap="virdis"), "'viridis'"),
    }


@pytest.mark.parametrize("case", list(_calls()))
def test_every_unknown_name_suggests_similar_ones(case: str, porto_alegre: Network) -> None:
    call, meant = _calls()[case]
    with pytest.raises(tl.InputError) as error:
        call(porto_alegre)
    assert "did you mean" in str(error.value) and meant in str(error.value)


def _suggested(owner: Any, wrong: str) -> list[str]:
    """Return the names that the error about an attribute suggests."""
    try:
        getattr(owner, wrong)
    except AttributeError as error:
        return re.findall("'([^']*)'", str(error).partition("did you mean ")[2])
    return []


def test_names_that_are_suggested_exist(porto_alegre: Network) -> None:
    """For slips in every name of other packages."""
    n_suggested = 0
    for owner, table in ((tl, FUNCTIONS), (porto_alegre, ATTRIBUTES)):
        for name in table:
            for wrong in (name[:-1], f"{name}_", f"{name}x", name.replace("_", ""), name.upper()):
                for found in _suggested(owner, wrong):
                    n_suggested += 1
                    is_of_package = found.partition(".")[0] in ("traveltime_lab", *tl.__all__)
                    start = tl if owner is tl or is_of_package else owner
                    operator.attrgetter(found.removeprefix("traveltime_lab."))(start)
    assert n_suggested > 100
    assert _suggested(tl, "explor") == ["TravelTimeMap"]
    assert _suggested(tl, "graph_to_gdf") == ["Network.nodes_frame"]


def test_a_name_in_another_normalisation_is_explained() -> None:
    """Two texts that look the same are not suggested without a word."""
    wanted = unicodedata.normalize("NFD", "Pitkäsilta")
    hint = did_you_mean(wanted, ["Pitkäsilta", "Pitkäkatu"])
    assert hint.startswith("; did you mean 'Pitkäsilta'") and "another Unicode normalisation" in hint
    assert "Unicode" not in did_you_mean("pitkasilta", ["Pitkäsilta"])


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name", ["Pitkäsilta", "PITKÄSILTA"])
def test_streets_are_named_in_any_normalisation(helsinki: Network, name: str, form: Any) -> None:
    known = helsinki.with_changes(tl.CloseStreets(streets="Pitkäsilta"))
    found = helsinki.with_changes(tl.CloseStreets(streets=unicodedata.normalize(form, name)))
    assert found.fingerprint == known.fingerprint != helsinki.fingerprint
    assert found.history.facts == known.history.facts


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_places_are_found_in_any_normalisation(helsinki: Network, form: Any) -> None:
    found = tl.geocode(helsinki, unicodedata.normalize(form, "Pitkäsilta"))
    assert found["name"].tolist() == tl.geocode(helsinki, "Pitkäsilta")["name"].tolist() != []


def test_names_of_routes_are_recognised_in_any_normalisation(porto_alegre: Network) -> None:
    routes = porto_alegre.routes_frame()
    name = next(each for each in routes["long_name"] if unicodedata.normalize("NFD", each) != each)
    wanted = unicodedata.normalize("NFD", name)
    for call in (
        lambda: porto_alegre.with_changes(tl.RemoveRoutes(wanted)),
        lambda: porto_alegre.trips_frame(routes=wanted),
    ):
        with pytest.raises(tl.InputError, match="it is the name of"):
            call()
