"""A slow twin of `traveltime_lab.streets.on_ground.drowned`: cells one by one, in dicts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import shapely

from traveltime_lab.streets.on_ground import APART_M, CELL_M, MAX_DENSITY, MIN_CELLS, NEAR_M

Cell = tuple[int, int]


def drowned_slowly(
    areas: Sequence[shapely.Polygon],
    is_water: Sequence[bool],
    nodes: Sequence[tuple[float, float]],
    extent: tuple[float, float, float, float],
) -> set[tuple[int, tuple[float, float, float, float], bool]]:
    """Return the fields of `Drowned` for each area of water that is land."""
    water = [k for k in range(len(areas)) if is_water[k]]
    counts: dict[Cell, Counter[int]] = {}
    for x, y in nodes:
        inside = [k for k in water if areas[k].contains(shapely.Point(x, y))]
        cell = math.floor(x / CELL_M), math.floor(y / CELL_M)
        counts.setdefault(cell, Counter())[max(inside, default=-1)] += 1
    # Land wins ties with water, and the first area those of two areas.
    owner = {cell: max(of, key=lambda k, of=of: (of[k], -k)) for cell, of in counts.items()}
    groups = _groups(set(owner))
    found = set()
    for area in water:
        verdicts = []
        for group in groups:
            wet = {cell for cell in group if owner[cell] == area}
            dry = {cell for cell in group if owner[cell] < 0 and areas[area].dwithin(_centre(cell), NEAR_M)}
            if wet or dry:
                verdicts.append((wet, _is_land(areas, water, area, wet, dry, extent)))
        for wet, is_land in verdicts:
            if is_land:
                columns, rows = zip(*wet, strict=True)
                bounds = min(columns), min(rows), max(columns) + 1, max(rows) + 1
                everywhere = all(each for _, each in verdicts)
                found.add((area, tuple(CELL_M * value for value in bounds), everywhere))
    return found


def _is_land(areas, water, area, wet, dry, extent) -> bool:
    if len(wet) < MIN_CELLS and len(wet) <= len(dry):
        return False
    if not dry:
        return True
    reach = range(-round(NEAR_M / CELL_M), round(NEAR_M / CELL_M) + 1)
    around = {(i + a, j + b) for i, j in wet | dry for a, b in itertools.product(reach, reach)}
    centres = [_centre(cell) for cell in around]
    inside = [p for p in centres if extent[0] <= p.x <= extent[2] and extent[1] <= p.y <= extent[3]]
    n_wet = sum(areas[area].intersects(p) for p in inside)
    n_dry = sum(not any(areas[k].intersects(p) for k in water) for p in inside)
    return len(wet) / max(n_wet, len(wet)) > MAX_DENSITY * len(dry) / max(n_dry, len(dry))


def _groups(cells: set[Cell]) -> list[set[Cell]]:
    """Return cells by connected blocks of `APART_M`."""
    scale = round(APART_M / CELL_M)
    left = {(i // scale, j // scale) for i, j in cells}
    groups = []
    while left:
        queue, blocks = [left.pop()], set()
        while queue:
            i, j = queue.pop()
            blocks.add((i, j))
            beside = {(i + a, j + b) for a, b in itertools.product((-1, 0, 1), repeat=2)} & left
            left -= beside
            queue.extend(beside)
        groups.append({(i, j) for i, j in cells if (i // scale, j // scale) in blocks})
    return groups


def _centre(cell: Cell) -> shapely.Point:
    return shapely.Point((cell[0] + 0.5) * CELL_M, (cell[1] + 0.5) * CELL_M)
