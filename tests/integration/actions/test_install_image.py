"""install-image as it runs in its container: environment in, a registry at the other end, a file as the disk."""

import io
import lzma
import os
import platform
import re
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import download
import failure
import install_image
import patience
import pytest
import zstandard
from disk import Disk

from tests.authority import Authority
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
from tinkbox.model.images.system_image import About, Architecture, Source
from tinkbox.system_images import pack

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


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(patience, "PAUSE_SECONDS", 0)


def install(appliance: Registry, disk: Path, image: str = "debian-13", **environment: str) -> Done:
    """Run the action in this process, which is quicker than starting one."""
    former = dict(os.environ)
    settings = {"TINKBOX_SERVER": appliance.url, "IMAGE": image, "DEST_DISK": str(disk), **environment}
    stdout, stderr = io.StringIO(), io.StringIO()
    os.environ.update(settings)
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr):
            status = failure.run(install_image.main)
    finally:
        for name in settings.keys() - former.keys():
            del os.environ[name]
        os.environ.update(former)
    return Done(status, stdout.getvalue(), stderr.getvalue())


def failed(done: Done, reason: str) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"failed: {reason}: " in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def does_not_boot(disk: Path) -> bool:
    """There is no boot sector: neither boot code, nor what firmware demands before it looks for a GPT."""
    with disk.open("rb") as file:
        return not any(file.read(512))


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
    # In the superblock, for not every dumpe2fs takes an offset.
    with disk.open("rb") as content:
        content.seek(ROOT_AT + 1024)
        superblock = content.read(32)
    blocks, shift = struct.unpack_from("<I", superblock, 4)[0], struct.unpack_from("<I", superblock, 24)[0]
    return int(blocks) * (1024 << shift)


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


@pytest.mark.parametrize(
    ("habits", "reason"),
    [
        (["wrong bytes"] * 3, "ImageDamaged"),
        (["whole"], "DownloadRefused"),
        (["wrong range"], "DownloadFailed"),
        (["404"], "ImageNotFound"),
        (["403"], "DownloadRefused"),
        (["good", "whole"], "DownloadRefused"),
    ],
)
def test_registry_that_lies_is_found_out(
    habits: list[str], reason: str, images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    appliance.has(Artifact(images["gpt"]))
    appliance.habits = list(habits)
    failed(install(appliance, disk, RETRY_ENABLED="false"), reason)
    if habits[0] != "good":
        assert disk.read_bytes() == b"\xaa" * DISK_SIZE, "the first frame was no good, so nothing was written"
    else:
        assert does_not_boot(disk)


def test_connections_that_break_go_on_at_the_frame(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    disk.write_bytes(b"\xaa" * len(images["gpt"]))
    appliance.has(Artifact(images["gpt"]))
    appliance.habits = ["good", "breaks", "wrong bytes", "503"]
    done = install(appliance, disk, GROW="false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert disk.read_bytes() == images["gpt"]
    assert "trying again" in done.stdout


def test_blob_that_is_cut_off_is_refused(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    artifact = Artifact(images["gpt"])
    artifact.blob = artifact.blob[: artifact.frames[-1][1] + 5]
    appliance.has(artifact)
    failed(install(appliance, disk), "ImageDamaged")
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


@pytest.mark.parametrize("checksum", [True, False])
def test_image_that_is_not_what_its_map_says_is_refused(
    checksum: bool, images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    artifact = Artifact(images["gpt"], checksum=checksum)
    artifact.frames[-1][3] = "0" * 64
    appliance.has(artifact)
    failed(install(appliance, disk), "ImageDamaged")
    assert does_not_boot(disk)
    place = artifact.frames[-1][0] * FRAME
    written = disk.read_bytes()[place : place + FRAME] == images["gpt"][place : place + FRAME]
    assert written is checksum, "without a checksum a frame is compared before it is written"


def test_disk_that_forgets_what_it_was_given_is_found_out(
    images: dict[str, bytes], appliance: Registry, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = Artifact(images["gpt"])
    appliance.has(artifact)
    lost = artifact.frames[-1][0] * FRAME
    write = Disk.write

    def forgets(self: Disk, data: bytes | memoryview, place: int) -> None:
        if place != lost:
            write(self, data, place)

    monkeypatch.setattr(Disk, "write", forgets)
    assert f"at byte {lost} " in failed(install(appliance, disk, GROW="false"), "DiskLies")
    assert does_not_boot(disk)


def test_digest_pins_the_image(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    artifact = Artifact(images["gpt"])
    appliance.has(artifact)
    (pinned,) = [path for path in artifact.documents() if path.startswith("manifests/sha256:")]
    name = f"debian-13@{pinned.removeprefix('manifests/')}"
    assert install(appliance, disk, name).returncode == 0
    appliance.contents[f"/v2/debian-13/{pinned}"] += b" "
    assert "has the digest" in failed(install(appliance, disk, name), "ImageDamaged")


def test_image_that_is_missing_is_told_with_the_command_that_fetches_it(appliance: Registry, disk: Path) -> None:
    assert "tinkbox image fetch ubuntu" in failed(install(appliance, disk, "ubuntu:24.04"), "ImageNotFound")


def test_image_for_another_processor_is_refused(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    appliance.has(Artifact(images["gpt"], config={"architecture": "riscv64"}))
    failed(install(appliance, disk), "WrongArchitecture")


def test_image_whose_system_lays_out_its_disk_gets_neither_seed_nor_growth(
    images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    appliance.has(Artifact(images["gpt"], config={"data_source": "talos"}))
    done = install(appliance, disk, TINKBOX_METADATA=appliance.has_metadata(meta_data=META_DATA))
    assert done.returncode == 0, done.stdout + done.stderr
    assert file_system_is_whole(disk) == 16 * MIB
    assert len(partitions(disk)) == 3


def test_configuration_drive(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    appliance.has(Artifact(images["gpt"]))
    metadata = appliance.has_metadata()
    for name, content in {"meta_data.json": b'{"uuid": "1"}', "user_data": USER_DATA}.items():
        appliance.contents[f"/metadata/token/openstack/latest/{name}"] = content
    done = install(appliance, disk, TINKBOX_METADATA=metadata, SEED="config-2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert seeded(disk, partitions(disk)[-1][0]) == {
        "label": b"config-2",
        "openstack/latest/meta_data.json": b'{"uuid": "1"}',
        "openstack/latest/user_data": USER_DATA,
    }


def test_seed_that_leads_to_the_appliance(images: dict[str, bytes], appliance: Registry, disk: Path) -> None:
    appliance.has(Artifact(images["mbr"]))
    metadata = appliance.has_metadata(meta_data=META_DATA)
    done = install(appliance, disk, TINKBOX_METADATA=metadata, SEED="url")
    assert done.returncode == 0, done.stdout + done.stderr
    assert seeded(disk, partitions(disk)[-1][0]) == {
        "label": b"CIDATA",
        "meta-data": f'instance-id: "i-1"\nseedfrom: "{metadata}/"\n'.encode(),
        "user-data": b"",
    }


@contextmanager
def over_tls(authority: Authority, *names: str) -> Iterator[Registry]:
    """The same by HTTPS, with a certificate for these names."""
    with registry() as server:
        server.socket = authority.server(*names).wrap_socket(server.socket, server_side=True)
        yield server


@pytest.mark.parametrize("kind", ["cidata", "url"])
def test_images_and_metadata_come_by_https_alone_where_the_worker_says_so(
    images: dict[str, bytes], appliance: Registry, disk: Path, tmp_path: Path, kind: str
) -> None:
    authority = Authority(tmp_path)
    (tmp_path / "ca.crt").write_text(authority.pem)
    with over_tls(authority, "127.0.0.1") as secured:
        secured.has(Artifact(images["gpt"]))
        secured.has_metadata(meta_data=META_DATA, user_data=USER_DATA)
        done = install(
            appliance, disk, TINKBOX_METADATA=f"{appliance.url}/metadata/token", SEED=kind,
            TINKBOX_HTTPS_SERVER=secured.url.replace("http:", "https:"), TINKBOX_CA=str(tmp_path / "ca.crt"),
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    assert secured.requests
    assert not appliance.requests
    told = seeded(disk, partitions(disk)[-1][0])["meta-data"]
    # The installed system has no authority of ours, so it is led to the plain URL.
    expected = (
        META_DATA if kind == "cidata" else f'instance-id: "i-1"\nseedfrom: "{appliance.url}/metadata/token/"\n'.encode()
    )
    assert told == expected


def test_an_impostor_gives_no_image_away(
    images: dict[str, bytes], appliance: Registry, disk: Path, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text(Authority(tmp_path).pem)
    appliance.has(Artifact(images["gpt"]))
    with over_tls(Authority(tmp_path), "127.0.0.1") as impostor:
        impostor.has(Artifact(images["gpt"]))
        trusting = {
            "TINKBOX_HTTPS_SERVER": impostor.url.replace("http:", "https:"),
            "TINKBOX_CA": str(tmp_path / "ca.crt"),
        }
        failed(install(appliance, disk, **trusting), "CertificateRefused")
        failed(install(appliance, disk, **{**trusting, "TINKBOX_CA": str(tmp_path / "none")}), "InvalidParameter")
    assert not impostor.requests
    assert not appliance.requests, "and it does not go back to plain HTTP"
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_metadata_that_is_missing_fails_before_anything_is_written(
    images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    appliance.has(Artifact(images["gpt"]))
    said = failed(install(appliance, disk, TINKBOX_METADATA=f"{appliance.url}/metadata/other"), "MetadataNotFound")
    assert "/metadata/…/meta-data" in said, "no token in what everybody may read"
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


@pytest.mark.parametrize("suffix", ["img", "img.zst", "img.xz"])
def test_image_from_an_address_is_installed_like_one_of_the_appliance(
    suffix: str, images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    pack = {"img": bytes, "img.zst": zstandard.ZstdCompressor().compress, "img.xz": lzma.compress}[suffix]
    appliance.contents[f"/disk.{suffix}"] = pack(images["gpt"])
    metadata = appliance.has_metadata(meta_data=META_DATA)
    done = install(appliance, disk, f"{appliance.url}/disk.{suffix}", TINKBOX_METADATA=metadata)
    assert done.returncode == 0, done.stdout + done.stderr
    *_, root, seed = partitions(disk)
    assert file_system_is_whole(disk) == root[1]
    assert seeded(disk, seed[0])["meta-data"] == META_DATA


@pytest.mark.parametrize(
    ("content", "reason", "words"),
    [
        (b"<html>no such file</html>", "NotAnImage", "is a web page"),
        (b"QFI\xfb\0\0\0\3" + bytes(4000), "NotAnImage", "tinkbox image import"),
        (bytes(257) + b"ustar", "NotAnImage", "tar archive"),
        (b"", "ImageEmpty", "is empty"),
    ],
)
def test_address_of_something_else_is_refused_before_anything_is_written(
    content: bytes, reason: str, words: str, appliance: Registry, disk: Path
) -> None:
    appliance.contents["/disk.img"] = content
    assert words in failed(install(appliance, disk, f"{appliance.url}/disk.img"), reason)
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><title>Log in</title>", b"Not here.\n"])
def test_what_a_server_sends_instead_of_a_compressed_image_is_refused(
    page: bytes, appliance: Registry, disk: Path
) -> None:
    appliance.contents["/disk.img.zst"] = page
    done = install(appliance, disk, "", IMG_URL=f"{appliance.url}/disk.img.zst")
    assert done.returncode == 1
    assert ("is a web page" if page.startswith(b"<") else "no zstd stream") in done.stderr
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_page_of_another_form_is_known_by_its_content_type(appliance: Registry, disk: Path) -> None:
    appliance.contents["/disk.img"] = b"<p>log in first</p>"
    appliance.types["/disk.img"] = "text/html; charset=utf-8"
    failed(install(appliance, disk, f"{appliance.url}/disk.img"), "NotAnImage")


# Runs the action, and kills it as a power cut would at the write with this number.
KILLED = """
import os, runpy, signal, sys
from disk import Disk
left, last = [int(sys.argv[1])], []
def counted(name):
    method = getattr(Disk, name)
    def instead(self, *arguments):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments)
    setattr(Disk, name, instead)
for name in ("write", "zero", "sync"):
    counted(name)
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def killed_at(number: int, appliance: Registry, disk: Path, **environment: str) -> bool:
    """Whether it was killed; it ends by itself when it writes less often."""
    action = ACTIONS / "install-image"
    done = subprocess.run(
        [sys.executable, "-B", "-c", KILLED, str(number), action / "install_image.py"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ACTIONS}:{action}",
            "TINKBOX_SERVER": appliance.url,
            "IMAGE": "debian-13",
            "DEST_DISK": str(disk),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in {0, -9}, done.stdout + done.stderr
    return done.returncode == -9


def test_installation_cut_anywhere_does_not_boot_and_goes_on_to_the_same_disk(
    images: dict[str, bytes], appliance: Registry, disk: Path
) -> None:
    appliance.has(Artifact(images["gpt"]))
    environment = {"TINKBOX_METADATA": appliance.has_metadata(meta_data=META_DATA, user_data=USER_DATA)}
    disk.write_bytes(b"\xaa" * (40 * MIB))
    assert install(appliance, disk, **environment).returncode == 0
    wanted = partitions(disk)
    cuts = number = 0
    before = disk.read_bytes()
    while killed_at(number, appliance, disk, **environment):
        cuts += 1
        assert does_not_boot(disk) or disk.read_bytes()[MIB:-MIB] == before[MIB:-MIB], f"cut at write {number}"
        number += number // 3 + 1
    assert cuts >= 10
    assert partitions(disk) == wanted
    assert file_system_is_whole(disk) == wanted[-2][1]
    assert seeded(disk, wanted[-1][0])["user-data"] == USER_DATA


@pytest.mark.parametrize("size", [24 * MIB, 24 * MIB + 1000])
def test_system_image_that_tinkbox_packed_is_installed(
    size: int, images: dict[str, bytes], appliance: Registry, disk: Path, tmp_path: Path
) -> None:
    raw = images["mbr"].ljust(size, b"x")
    (tmp_path / "raw").write_bytes(raw)
    about = About(
        id="debian-13",
        version="1",
        architecture=Architecture(platform.machine()),
        source=Source(file="raw"),
    )
    packed = pack(tmp_path / "raw", about, tmp_path / "image.tar", scratch=tmp_path, said=lambda _: None)
    with tarfile.open(tmp_path / "image.tar") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.startswith("blobs/sha256/"):
                digest = member.name.removeprefix("blobs/sha256/")
                appliance.contents[f"/v2/debian-13/blobs/sha256:{digest}"] = content.read()
    appliance.contents["/v2/debian-13/manifests/1"] = appliance.contents[f"/v2/debian-13/blobs/{packed.digest}"]
    done = install(appliance, disk, "debian-13:1", GROW="false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert disk.read_bytes()[:size] == raw
    assert len(appliance.ranges) <= 4
