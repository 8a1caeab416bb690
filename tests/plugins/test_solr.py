"""
The Solr plugin: its own tests, run by Maven.

They start several versions of Solr and take minutes, so they are run only when they are asked for::

    python -m pytest -m solr tests/plugins/test_solr.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import ROOT

PLUGIN = ROOT / "plugins" / "solr"
COMMAND = "python -m pytest -m solr tests/plugins/test_solr.py"
MOST_BYTES = 2_000_000
#: Major version of class files for each generation of Solr: Java 8, and Java 11 for Solr 9.
CLASS_VERSIONS = {"6": 52, "7": 52, "8": 52, "9": 55}


@pytest.fixture(scope="module")
def verified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the plugin after ``mvn -q verify``."""
    if "solr" not in str(request.config.option.markexpr):
        pytest.skip(f"takes minutes; run it with: {COMMAND}")
    maven = shutil.which("mvn")
    if maven is None or shutil.which("java") is None:
        pytest.skip("Java and Maven are not installed")
    # Maven's process is short: what better code would save is less than what making it costs.
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {os.environ.get('MAVEN_OPTS', '')}"
    # Once for all versions, which would otherwise write the same queries and answers themselves.
    cases = tmp_path_factory.mktemp("solr") / "cases.json"
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, PLUGIN / "it" / "oracle.py", cases], env=environment, check=True)
    done = subprocess.run(
        [maven, "-q", "-B", "verify", f"-Dtraveltime.python={sys.executable}", f"-Dtraveltime.cases={cases}"],
        cwd=PLUGIN, env={**os.environ, "MAVEN_OPTS": options},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode and "Could not resolve" in done.stdout:
        pytest.skip(f"Maven cannot get what it needs: {done.stdout[:500]}")
    assert done.returncode == 0, done.stdout[-20_000:]
    return PLUGIN


@pytest.mark.solr
@pytest.mark.parametrize("generation", CLASS_VERSIONS)
def test_jar(verified: Path, generation: str) -> None:
    """One small file that the oldest Java of that Solr can run, with nothing but the plugin in it."""
    jar = verified / f"solr-{generation}" / "target" / f"traveltime-solr-{generation}.jar"
    assert jar.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(jar) as archive:
        classes = [name for name in archive.namelist() if name.endswith(".class")]
        assert classes and all(name.startswith("traveltimelab/") for name in classes)
        # The core, which all generations share, is Java 8.
        versions = {int.from_bytes(archive.read(name)[6:8], "big") for name in classes}
        assert max(versions) == CLASS_VERSIONS[generation]


@pytest.mark.solr
def test_every_version_was_tried(verified: Path) -> None:
    reports = sorted(path.parents[2].name for path in verified.glob("it/*/target/failsafe-reports/*SameAnswersIT.xml"))
    assert len(reports) >= 3, reports
