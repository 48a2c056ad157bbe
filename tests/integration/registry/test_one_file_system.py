"""The folders of the registry on one disk."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tinkbox.model.errors import Unavailable
from tinkbox.registry.blobs.one_file_system import refuse_other_file_systems

ROOT = Path(__file__).parents[3]
NAMES = ("incoming", "blobs", "blobs/sha256", "blobs/sha512", "repositories")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / "registry" / name).mkdir(parents=True)
    return tmp_path / "registry"


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        if Path(folder).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("/dev/shm is on the disk of the tests")
        yield Path(folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_the_registry_on_another_disk_is_refused_with_the_way_out(
    registry: Path, other_disk: Path, name: str
) -> None:
    for each in sorted((registry / name).iterdir()):
        each.rmdir()
    (registry / name).rmdir()
    (registry / name).symlink_to(other_disk)
    with pytest.raises(Unavailable) as refused:
        refuse_other_file_systems(registry)
    assert str(refused.value) == (
        f"{registry / name} is on another file system than {registry}, so nothing could be pushed or loaded: have all of it on "
        f"one. To keep images on another disk, move the whole folder {registry} there, and make {registry} itself a link to "
        "it, or mount the disk there"
    )


def test_the_whole_registry_may_be_on_another_disk(tmp_path: Path, other_disk: Path) -> None:
    (other_disk / "blobs/sha256").mkdir(parents=True)
    (tmp_path / "registry").symlink_to(other_disk)
    refuse_other_file_systems(tmp_path / "registry")


def test_a_link_to_a_folder_on_the_same_disk_is_no_other_file_system(registry: Path, tmp_path: Path) -> None:
    (registry / "repositories").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (registry / "repositories").symlink_to(tmp_path / "elsewhere")
    refuse_other_file_systems(registry)


def test_what_is_missing_is_not_refused(tmp_path: Path) -> None:
    refuse_other_file_systems(tmp_path / "registry")
    (tmp_path / "registry").mkdir()
    refuse_other_file_systems(tmp_path / "registry")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_second_mount_of_the_same_disk_is_refused_since_no_file_can_be_renamed_into_it(
    registry: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    script = (
        f"mount --bind {tmp_path / 'elsewhere'} {registry / 'blobs/sha256'} && {sys.executable} -c '"
        "from pathlib import Path; from tinkbox.registry.blobs.one_file_system import refuse_other_file_systems as look; "
        f'look(Path("{registry}"))\''
    )
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert f"{registry / 'blobs/sha256'} is on another file system than {registry}" in ended.stderr
