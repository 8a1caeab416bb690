"""What tests and benchmarks share: small worlds, feeds, timetables, oracles, clients of services and browsers."""

from __future__ import annotations

from pathlib import Path

#: The folder of the repository.
ROOT = Path(__file__).parents[2]
