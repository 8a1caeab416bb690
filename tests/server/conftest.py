"""Services to ask: in process over both samples, and a really served one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="the extra 'server' is not installed")

from tests.support.door import PAIR, Door, open_door
from traveltime_lab.network.network import Network
from traveltime_lab.server.app import create_app
from traveltime_lab.server.atlas import Atlas
from traveltime_lab.server.auth import Credentials
from traveltime_lab.server.postcodes import Zones
from traveltime_lab.server.serve import Served, serve


@pytest.fixture(scope="session")
def zones() -> Zones:
    """Made-up postcodes around the station of Helsinki."""
    import pandas as pd

    rows = [
        ("HE1 1AA", 60.1711, 24.9414),
        ("HE1 1AB", 60.1700, 24.9430),
        ("HE1 2AA", 60.1690, 24.9383),
        ("HE2 1AA", 60.1679, 24.9524),
        ("HE2 1AB", 61.5, 24.9524),
    ]
    return Zones.from_table(pd.DataFrame(rows, columns=["postcode", "lat", "lng"]))


@pytest.fixture(scope="session")
def door(porto_alegre: Network, helsinki: Network, zones: Zones) -> Iterator[Door]:
    """A service of both samples, in process."""
    atlas = Atlas({"porto_alegre": porto_alegre, "helsinki": helsinki})
    with open_door(create_app(atlas, Credentials([("other", "pair"), PAIR]), None, zones)) as opened:
        yield opened


@pytest.fixture(scope="session")
def secure(porto_alegre: Network, helsinki: Network, zones: Zones) -> Iterator[Served]:
    """A service of both samples on a port of this machine, over https."""
    networks = {"porto_alegre": porto_alegre, "helsinki": helsinki}
    with serve(networks, tls=True, zones=zones, credentials=[PAIR]) as url:
        yield url


@pytest.fixture(scope="session")
def served(porto_alegre: Network, helsinki: Network, zones: Zones) -> Iterator[Served]:
    """The same over http."""
    networks = {"porto_alegre": porto_alegre, "helsinki": helsinki}
    with serve(networks, zones=zones, credentials=[PAIR]) as url:
        yield url
