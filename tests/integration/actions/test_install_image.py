"""install-image as it runs in its container: environment in, a registry at the other end, a file as the disk."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.actions.system_images import (
    FRAME,
    GPT,
    MBR,
    MIB,
    ROOT_AT,
    Artifact,
    Registry,
    raw_image,
    registry,
)

ACTIONS = Path(__file__).parents[3] / "examples" / "actions"
DISK_SIZE = 64 * MIB + 12345 * 512
META_DATA = b"instance-id: i-1\nlocal-hostname: node7\n"
USER_DATA = b"#cloud-config\n"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("images")
    return {name: raw_image(folder / name, table) for name, table in (("gpt", GPT), ("mbr", MBR))}


@pytest.fixture
def appliance() -> Iterator[Registry]:
    with registry() as server:
        yield server


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * DISK_SIZE)
    return path


def install(
    appliance: Registry, disk: Path, image: str = "debian-13", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", ACTIONS / "install-image" / "install_image.py"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ACTIONS),
            "TINKBOX_SERVER": appliance.url,
            "IMAGE": image,
            "DEST_DISK": str(disk),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


def failed(done: subprocess.CompletedProcess[str], reason: str) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"failed: {reason}: " in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def does_not_boot(disk: Path) -> bool:
    """Neither boot sector nor table is there, nor a second table that firmware would boot by."""
    with disk.open("rb") as file:
        head = file.read(MIB)
        file.seek(-512, os.SEEK_END)
        return not any(head[:512]) and not file.read().startswith(b"EFI PART")


def partitions(disk: Path) -> list[tuple[int, int]]:
    """Places and lengths of the partitions, as sfdisk reads them, in bytes."""
    verified = subprocess.run(["sfdisk", "--verify", disk], capture_output=True, text=True, check=True)
    assert "No errors detected" in verified.stdout, verified.stdout + verified.stderr
    listed = subprocess.run(["sfdisk", "--dump", disk], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"start= *(\d+), size= *(\d+)", listed)
    return [(int(start) * 512, int(count) * 512) for start, count in found]


def file_system_is_whole(disk: Path) -> int:
    """Its size in bytes."""
    place = f"{disk}?offset={ROOT_AT}"
    checked = subprocess.run(["e2fsck", "-f", "-n", place], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    about = subprocess.run(["dumpe2fs", "-h", place], capture_output=True, text=True, check=True).stdout
    numbers = dict(re.findall(r"^(Block count|Block size): +(\d+)$", about, re.MULTILINE))
    return int(numbers["Block count"]) * int(numbers["Block size"])


def seeded(disk: Path, place: int) -> dict[str, bytes]:
    """The files of the seed partition, as mtools read them."""
    image = f"{disk}@@{place}"
    label = subprocess.run(["mlabel", "-s", "-i", image, "::"], capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["mdir", "-b", "-/", "-i", image, "::/"], capture_output=True, text=True, check=True).stdout
    files = {"label": label.split()[-1].encode()}
    for name in names.split():
        if not name.endswith("/"):
            content = subprocess.run(["mtype", "-i", image, name], capture_output=True, check=True).stdout
            files[name.removeprefix("::/")] = content
    return files


@pytest.mark.parametrize("kind", ["gpt", "mbr"])
def test_image_is_installed_grown_and_seeded(
    kind: str, images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    appliance.has(Artifact(images[kind]))
    metadata = appliance.has_metadata(meta_data=META_DATA, user_data=USER_DATA, network_config=b"version: 2\n")
    done = install(appliance, disk, TINKBOX_METADATA=metadata)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, root, seed = partitions(disk)
    assert root == (ROOT_AT, seed[0] - ROOT_AT)
    assert seed[0] + seed[1] == DISK_SIZE // MIB * MIB - (0 if DISK_SIZE % MIB else MIB)
    assert file_system_is_whole(disk) == root[1]
    assert seeded(disk, seed[0]) == {
        "label": b"CIDATA",
        "meta-data": META_DATA,
        "user-data": USER_DATA,
        "network-config": b"version: 2\n",
    }
    assert disk.read_bytes()[:440] == images[kind][:440]
    assert {agent for path, _, agent in appliance.requests} == {"tinkbox-install-image"}


@pytest.mark.parametrize("kind", ["gpt", "mbr"])
def test_disk_of_the_same_size_holds_the_image_as_it_is(
    kind: str, images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    disk.write_bytes(b"\xaa" * len(images[kind]))
    appliance.has(Artifact(images[kind]))
    done = install(appliance, disk, GROW="false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert disk.read_bytes() == images[kind]


def test_disk_too_small_is_refused_before_anything_is_written(
    images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    disk.write_bytes(b"\xaa" * 20 * MIB)
    appliance.has(Artifact(images["gpt"]))
    said = failed(install(appliance, disk), "DiskTooSmall")
    assert "needs 24.0 MiB" in said
    assert "has 20.0 MiB" in said
    assert disk.read_bytes() == b"\xaa" * 20 * MIB


def test_only_frames_that_are_not_there_are_fetched_again(
    images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    artifact = Artifact(images["gpt"])
    appliance.has(artifact)
    assert install(appliance, disk, GROW="false").returncode == 0
    before = disk.read_bytes()
    place = artifact.frames[-1][0] * FRAME
    with disk.open("r+b") as file:
        file.seek(place)
        file.write(b"damaged")
    appliance.requests.clear()
    assert install(appliance, disk, GROW="false").returncode == 0
    assert disk.read_bytes() == before
    assert len(appliance.ranges) == 2, "the first frame, and the one that is damaged"
