"""What `make reproducible` says of two builds: packaging/reproducible.py, without building."""

import importlib.util
import sys
from pathlib import Path

import pytest
import zstandard

from tests.unit.packaging.test_onefile import CODE, ONEFILE, pack
from tinkbox.wire.cpio import archive

SPECIFICATION = importlib.util.spec_from_file_location("reproducible", ONEFILE.parent / "reproducible.py")
assert SPECIFICATION is not None
assert SPECIFICATION.loader is not None
reproducible = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["reproducible"] = reproducible
SPECIFICATION.loader.exec_module(reproducible)


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, Path]:
    """Two builds that are the same."""
    for name in ("one", "other"):
        for made in reproducible.MADE:
            path = tmp_path / name / made
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"the same")
    return tmp_path / "one", tmp_path / "other"


def test_builds_that_are_the_same_are_told_nothing_of(builds: tuple[Path, Path]) -> None:
    assert reproducible.differences(*builds) == []


def test_of_an_executable_the_module_that_differs_is_named(builds: tuple[Path, Path]) -> None:
    for folder, text in zip(builds, (b"one", b"two"), strict=True):
        made = pack.gather({**CODE, "ferry.deck": ("ferry/deck.py", text)}, pack.Binaries({}, {}), {})
        (folder / "dist/tinkbox").write_bytes(text)
        path = folder / reproducible.CARRIED
        path.parent.mkdir(parents=True)
        path.write_bytes(made.index + made.content)
    assert reproducible.differences(*builds) == ["dist/tinkbox differs", "    ferry.deck"]


def test_of_a_ramdisk_the_file_that_differs_is_named(builds: tuple[Path, Path]) -> None:
    for folder, text in zip(builds, (b"one", b"two!!"), strict=True):
        content = archive({"etc/hosts": b"same", "etc/motd": text, "init": b"x"})
        (folder / "build/osie/x86_64/initramfs").write_bytes(zstandard.compress(content) + b"\0" * 100)
    assert reproducible.differences(*builds) == ["build/osie/x86_64/initramfs differs", "    etc/motd"]


def test_a_file_that_one_build_lacks_differs(builds: tuple[Path, Path]) -> None:
    (builds[1] / "build/osie/x86_64/osie.cdx.json").unlink()
    assert reproducible.differences(*builds) == ["build/osie/x86_64/osie.cdx.json differs"]


def test_many_differences_are_told_in_short(builds: tuple[Path, Path]) -> None:
    for folder, text in zip(builds, (b"one", b"two"), strict=True):
        content = archive({f"file{number:02}": text for number in range(25)})
        (folder / "build/osie/x86_64/initramfs").write_bytes(zstandard.compress(content) + b"\0" * 100)
    lines = reproducible.differences(*builds)
    assert len(lines) == 22
    assert lines[-1] == "    and 5 others"
