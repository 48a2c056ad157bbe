"""Programs in Go that speak to registries, built of their modules.

Modules come from a module proxy.  Where there is no Go, or none that can build them, or no proxy that has them, the tests are
skipped and say what the host lacks.
"""

from pathlib import Path

from tests.online.real_go import go


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
        for arguments in (["get", f"{package}@{version}"], [*how, "-o", str(path), package]):
            go(place, *arguments, modules="mod", what=package)
    return path
