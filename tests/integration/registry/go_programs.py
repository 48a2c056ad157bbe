"""Programs in Go that speak to registries, built of their modules.

Modules come from a module proxy.  Where there is no Go, or none that can build them, or no proxy that has them, the tests are
skipped and say what the host lacks.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.online.real_go import PLACES


def program(package: str, version: str, folder: Path) -> Path:
    """Build a program of a module, named after its package, and once for a folder."""
    return _built(package, version, folder, "build")


def program_of_tests(package: str, version: str, folder: Path) -> Path:
    """Build the tests of a package as a program."""
    return _built(package, version, folder, "test", "-c")


def _built(package: str, version: str, folder: Path, *how: str) -> Path:
    place = folder / package.rpartition("/")[2]
    path = place / "program"
    if not path.exists():
        place.mkdir(exist_ok=True)
        (place / "go.mod").write_text("module tests\n")
        _go(place, "get", f"{package}@{version}")
        _go(place, *how, "-o", str(path), package)
    return path


def _go(folder: Path, *arguments: str) -> None:
    go = shutil.which("go") or shutil.which("go", path=PLACES)
    if go is None:
        pytest.skip("no Go on this host: install the package golang-go")
    done = subprocess.run(
        [go, *arguments],
        cwd=folder,
        env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"this host cannot build {arguments[-1]}: {done.stderr.strip()[-500:]}")
