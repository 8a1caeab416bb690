"""Build and open OSRM and Valhalla for one OSM extract, offline, from their Python wheels.

Runs in an environment of its own (`pip install osrm-bindings pyvalhalla numpy pandas osmium osmnx`, Python 3.12 or
3.13); it never imports `traveltime_lab`. Both wheels ship the tools that prepare data: `python -m osrm
extract|contract|partition| customize` with the Lua profiles under `osrm/share/profiles`, and
`valhalla_build_tiles`.

Everything built goes to a work folder, one sub-folder per extract (named by a digest of its content) and engine,
and is reused the next time.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

MODES = ("walking", "cycling", "driving")
OSRM_PROFILES = {"walking": "foot", "cycling": "bicycle", "driving": "car"}
VALHALLA_COSTINGS = {"walking": "pedestrian", "cycling": "bicycle", "driving": "auto"}
UNLIMITED = 1_000_000_000


def folder_of(workdir, pbf, name):
    """Return the folder for one thing built from this extract, making it if need be."""
    digest = hashlib.sha256(Path(pbf).read_bytes()).hexdigest()[:16]
    folder = Path(workdir) / digest / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run(command, log):
    with log.open("ab") as out:
        done = subprocess.run([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[2] if len(command) > 2 else command} failed; see {log}")


def build_osrm(pbf, mode, workdir, *, algorithm="CH", threads=2):
    """Prepare OSRM data with the profile the wheel ships; return the path prefix for `osrm.OSRM`."""
    import osrm

    profile = Path(osrm.__file__).parent / "share" / "profiles" / f"{OSRM_PROFILES[mode]}.lua"
    folder = folder_of(workdir, pbf, f"osrm_{OSRM_PROFILES[mode]}_{algorithm.lower()}")
    prefix, done, log = folder / "map.osrm", folder / "done", folder / "build.log"
    if done.exists():
        return prefix
    source = folder / "map.osm.pbf"
    shutil.copyfile(pbf, source)
    tool = [sys.executable, "-m", "osrm"]
    _run([*tool, "extract", "-t", threads, "-p", profile, source], log)
    steps = ("contract",) if algorithm == "CH" else ("partition", "customize")
    for step in steps:
        _run([*tool, step, "-t", threads, prefix], log)
    source.unlink()
    done.touch()
    return prefix


def open_osrm(pbf, mode, workdir, *, algorithm="CH"):
    """Open OSRM with the size limits of the table lifted and an unlimited snapping radius."""
    import osrm

    prefix = build_osrm(pbf, mode, workdir, algorithm=algorithm)
    return osrm.OSRM(
        storage_config=str(prefix),
        algorithm=algorithm,
        use_shared_memory=False,
        max_locations_distance_table=UNLIMITED,
        default_radius="unlimited",
    )


def build_valhalla(pbf, workdir, *, threads=2):
    """Build Valhalla tiles without elevation, administrative areas, time zones or transit; return the configuration."""
    from valhalla import PYVALHALLA_DIR
    from valhalla.config import get_config

    folder = folder_of(workdir, pbf, "valhalla")
    tiles, done, log = folder / "tiles", folder / "done", folder / "build.log"
    tiles.mkdir(exist_ok=True)
    config = get_config(tile_extract="", tile_dir=tiles)
    for absent in ("admin", "timezone", "landmarks", "traffic_extract", "transit_dir", "transit_feeds_dir"):
        config["mjolnir"][absent] = ""
    config["mjolnir"]["concurrency"] = threads
    config["additional_data"]["elevation"] = ""
    for limits in config["service_limits"].values():
        if isinstance(limits, dict):
            for name in ("max_matrix_distance", "max_matrix_location_pairs", "max_distance"):
                if name in limits:
                    limits[name] = UNLIMITED
    path = folder / "valhalla.json"
    path.write_text(json.dumps(config))
    if not done.exists():
        _run([PYVALHALLA_DIR / "bin" / "valhalla_build_tiles", "-c", path, pbf], log)
        done.touch()
    return config


def open_valhalla(pbf, workdir):
    """Open a Valhalla actor on the tiles of this extract."""
    from valhalla import Actor

    return Actor(build_valhalla(pbf, workdir))
