"""
Put compiled kernels into a wheel.

Without the variable ``TRAVELTIME_LAB_KERNELS`` the wheel is pure: it runs on every platform and compiles its kernels.
With it, the archive that it names (``traveltime-lab compile --baseline --out FILE``) becomes a part of the wheel, which
is then for the platform, the Python and the minor version of Numba of the archive.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Tags of platforms by the names that `sysconfig.get_platform` has for them. The code of an archive calls the C library
#: only through Numba, so the tag is that of the wheels of Numba.
_PLATFORMS = {"linux-x86_64": "manylinux_2_17_x86_64", "linux-aarch64": "manylinux_2_17_aarch64"}


class KernelsHook(BuildHookInterface):
    """Add the archive of compiled kernels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the file, the tag and the version of Numba of the wheel."""
        path = os.environ.get("TRAVELTIME_LAB_KERNELS")
        if version == "editable" or not path:
            return
        try:
            with zipfile.ZipFile(path) as archive:
                manifest = json.loads(archive.read("manifest.json"))
            tag, numba, *_ = manifest["versions"]
        except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
            raise ValueError(
                f"TRAVELTIME_LAB_KERNELS must name an archive of kernels. {path} is none: {error}. Make one with "
                "`traveltime-lab compile --baseline --out FILE`."
            ) from error
        python = tag.replace("cpython-", "cp")
        platform = manifest["platform"]
        of_platform = _PLATFORMS.get(platform, platform.replace("-", "_").replace(".", "_"))
        build_data["force_include"][path] = "traveltime_lab/kernels/ready.zip"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{of_platform}"
        build_data["dependencies"].append(f"numba=={numba}.*")
