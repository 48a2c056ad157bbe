"""The images of install-image and of its older names, as `make images` built them, in a Docker engine."""

import gzip
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.actions.system_images import GPT, MBR, MIB, Artifact, raw_image, registry
from tests.integration.docker_engine import DockerEngine

IMAGES = Path(__file__).parents[3] / "build" / "images"


def load(engine: DockerEngine, name: str) -> None:
    if not (IMAGES / f"{name}.tar").exists():
        pytest.skip("build it with `make images`")
    engine.cli("load", "--input", IMAGES / f"{name}.tar")


def options(environment: dict[str, str]) -> list[str]:
    return [word for pair in environment.items() for word in ("--env", "=".join(pair))]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device with an empty ext4."""
    file = tmp_path / "device"
    with file.open("wb") as content:
        content.truncate(8 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", file], check=True)
    made = subprocess.run(["losetup", "--find", "--show", file], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    yield Path(made.stdout.strip())
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@pytest.mark.docker
def test_image_has_all_that_an_installation_needs(docker_engine: DockerEngine, tmp_path: Path) -> None:
    load(docker_engine, "install-image")
    raw = raw_image(tmp_path / "raw", GPT)
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xaa" * (64 * MIB))
    progress = tmp_path / "progress"
    progress.touch()
    with registry() as appliance:
        appliance.has(Artifact(raw))
        metadata = appliance.has_metadata(meta_data=b"instance-id: i-1\n", user_data=b"#cloud-config\n")
        settings = {"IMAGE": "debian-13", "DEST_DISK": "/dev/disk/it", "TINKBOX_SERVER": appliance.url}
        done = docker_engine.cli(
            *("run", "--rm", "--network=host", f"--env=TINKBOX_METADATA={metadata}", *options(settings)),
            *(f"--volume={disk}:/dev/disk/it", f"--volume={progress}:/dev/progress"),
            "install-image:v1",
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "its file system grew to" in done.stdout
    assert "the seed (CIDATA) holds meta-data, user-data" in done.stdout
    verified = subprocess.run(["sfdisk", "--verify", disk], capture_output=True, text=True, check=True)
    assert "No errors detected" in verified.stdout
    told, total, unit = progress.read_text().split()
    assert unit == "bytes"
    assert told == total
    programs = docker_engine.cli("run", "--rm", "--entrypoint=/usr/bin/efibootmgr", "install-image:v1", "--version")
    assert "version" in programs.stdout


@pytest.mark.docker
def test_image2disk_is_the_same_image_by_its_old_name(docker_engine: DockerEngine, tmp_path: Path) -> None:
    load(docker_engine, "image2disk")
    raw = raw_image(tmp_path / "raw", MBR)
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xaa" * (32 * MIB))
    with registry() as server:
        server.contents["/disk.img.gz"] = gzip.compress(raw, 1)
        settings = {"IMG_URL": f"{server.url}/disk.img.gz", "DEST_DISK": "/dev/disk/it", "COMPRESSED": "true"}
        run = ("run", "--rm", "--network=host", *options(settings), f"--volume={disk}:/dev/disk/it", "image2disk:v1")
        done = docker_engine.cli(*run, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert disk.read_bytes() == raw + b"\xaa" * (8 * MIB)
        server.contents["/disk.img.gz"] = b"<!DOCTYPE html><title>Log in</title>"
        refused = docker_engine.cli(*run, check=False)
    assert "failed: NotAnImage" in refused.stderr
    assert disk.read_bytes() == raw + b"\xaa" * (8 * MIB)


@pytest.mark.docker
def test_writefile_is_the_same_image_by_its_old_name(docker_engine: DockerEngine, device: Path) -> None:
    load(docker_engine, "writefile")
    settings = {
        "DEST_DISK": "/dev/it", "FS_TYPE": "ext4", "DEST_PATH": "/etc/motd", "CONTENTS": "hello\n",
        "UID": "1", "GID": "2", "MODE": "0640", "DIRMODE": "0755",
    }  # fmt: skip
    rights = ("--cap-add=SYS_ADMIN", "--security-opt=apparmor=unconfined", f"--device={device}:/dev/it")
    done = docker_engine.cli("run", "--rm", *rights, *options(settings), "writefile:v1", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "/etc/motd written to /dev/it" in done.stdout
    listed = subprocess.run(["debugfs", "-R", "stat /etc/motd", device], capture_output=True, text=True, check=True)
    assert "Mode:  0640" in listed.stdout
    assert "User:     1   Group:     2" in listed.stdout


def test_images_of_older_names_share_the_layer() -> None:
    layers = set()
    for name in ("install-image", "image2disk", "writefile"):
        if not (IMAGES / f"{name}.tar").exists():
            pytest.skip("build it with `make images`")
        with tarfile.open(IMAGES / f"{name}.tar") as archive:
            manifest = archive.extractfile("manifest.json")
            assert manifest is not None
            layers.add(tuple(json.load(manifest)[0]["Layers"]))
    assert len(layers) == 1
