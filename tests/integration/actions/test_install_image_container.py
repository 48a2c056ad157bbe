"""The image of install-image, as `make images` built it, in a Docker engine: with a file as the disk."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.actions.system_images import GPT, MIB, Artifact, raw_image, registry
from tests.integration.docker_engine import DockerEngine

IMAGE = Path(__file__).parents[3] / "build" / "images" / "install-image.tar"


@pytest.mark.docker
def test_image_has_all_that_an_installation_needs(docker_engine: DockerEngine, tmp_path: Path) -> None:
    if not IMAGE.exists():
        pytest.skip("build it with `make images`")
    docker_engine.cli("load", "--input", IMAGE)
    raw = raw_image(tmp_path / "raw", GPT)
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xaa" * (64 * MIB))
    progress = tmp_path / "progress"
    progress.touch()
    with registry() as appliance:
        appliance.has(Artifact(raw))
        metadata = appliance.has_metadata(meta_data=b"instance-id: i-1\n", user_data=b"#cloud-config\n")
        settings = {"IMAGE": "debian-13", "DEST_DISK": "/dev/disk/it", "TINKBOX_SERVER": appliance.url}
        options = [word for pair in settings.items() for word in ("--env", "=".join(pair))]
        done = docker_engine.cli(
            *("run", "--rm", "--network=host", f"--env=TINKBOX_METADATA={metadata}", *options),
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
