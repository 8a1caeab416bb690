"""
Digests of prepared values, so that a change of the package that computes other ones raises their version.

Files of the same version keep their values, whatever else changes in the package. The digests in
``prepared_values.json`` are written by ``python -m tests.network.test_prepared_values`` after the version was raised.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import traveltime_lab as tl
from tests.support.worlds import with_slopes
from traveltime_lab import Transportation
from traveltime_lab.network import prepared_file
from traveltime_lab.network.prepared import name_of
from traveltime_lab.network.prepared_columns import names_of_parts
from traveltime_lab.streets.layer import StreetLayer
from traveltime_lab.transit.layer import TransitLayer

STORED = Path(__file__).with_name("prepared_values.json")
MEANS = (
    "walking",
    "cycling+ferry",
    "driving",
    Transportation("walking", walking_speed=3.5),
    Transportation("cycling", max_stress=2),
    Transportation("cycling", max_stress=2, push_above_stress=True),
    Transportation("walking", step_free="lenient"),
    Transportation("walking", step_free="strict", max_incline=9, min_width=1.2),
    Transportation("walking", avoid=("unlit", "unpaved")),
    Transportation("driving", include_roads=("track",)),
)
BY_TIMETABLE = (
    "public_transport",
    "cycling+public_transport",
    "driving+public_transport",
    Transportation("bus", walking_speed=3.5),
    Transportation("train", step_free="lenient"),
    Transportation("train", avoid=("unpaved",)),
)


def rounded(value: Any) -> Any:
    """Return numbers that are equal on processors whose last bits of sines and cosines differ."""
    return np.floor(np.asarray(value) * 1e4 + 0.123)  # not halfway between two integers where values are round


def described(value: Any) -> Any:
    """Return a value as JSON, with digests in place of arrays."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(rounded(value) if value.dtype.kind == "f" else value)
        return [value.dtype.str, value.shape, hashlib.blake2b(array.data, digest_size=8).hexdigest()]
    if isinstance(value, float):
        return rounded(value).item()
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, StreetLayer | TransitLayer):
        return type(value).__name__
    if type(value) is tuple:
        return [described(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return [type(value).__name__, *(described(getattr(value, name)) for name in names_of_parts(value))]


def digests(network: tl.Network, means: tuple[str | Transportation, ...]) -> dict[str, str]:
    """Return a digest of the prepared values of each kind and their keys."""
    found: dict[str, list[str]] = {}
    for use in network.prepare(*means)._prepared.values:
        found.setdefault(name_of(use), []).append(json.dumps(described((use.key, use.value))))
    return {
        # Threads that prepare beside each other finish in any order.
        kind: hashlib.blake2b("".join(sorted(values)).encode(), digest_size=8).hexdigest()
        for kind, values in sorted(found.items())
    }


def recorded() -> dict[str, Any]:
    """Return the fingerprints of networks, the digests of their prepared values, and the version of these."""
    # Not the networks that tests share, which one of them may have prepared.
    files = {town: tl.sample_files(town) for town in ("porto_alegre", "helsinki")}
    feeds = [files["porto_alegre"][name] for name in ("buses", "metro")]
    networks = {
        "porto_alegre": tl.build_network(files["porto_alegre"]["streets"], gtfs=feeds),
        "helsinki": tl.build_network(files["helsinki"]["streets"]),
    }
    slopes = with_slopes(networks["helsinki"].streets.tables, 1)
    networks["slopes"] = tl.build_network(slopes, timezone="UTC")
    means = {"porto_alegre": (*MEANS, *BY_TIMETABLE), "helsinki": MEANS, "slopes": MEANS[:2]}
    return {
        "made_with": prepared_file.MADE_WITH,
        "networks": {name: network.fingerprint for name, network in networks.items()},
        "values": {name: digests(network, means[name]) for name, network in networks.items()},
    }


@pytest.mark.slow
def test_other_values_have_another_version() -> None:
    stored, found = json.loads(STORED.read_text("utf-8")), recorded()
    version = prepared_file.VERSION
    if stored["made_with"] == found["made_with"] and stored["networks"] == found["networks"]:
        assert found["values"] == stored["values"], (
            f"prepared values differ from those of version {version}: raise VERSION of network/prepared_file.py, "
            "so that saved networks are prepared again, then run python -m tests.network.test_prepared_values"
        )
    assert found == stored, "run python -m tests.network.test_prepared_values"


if __name__ == "__main__":
    STORED.write_text(json.dumps(recorded(), indent=1) + "\n", "utf-8")
