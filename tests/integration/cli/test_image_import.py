"""`tinkbox image import` against a real appliance, and what any client of the registry gets of it."""

import hashlib
import json
import subprocess
from pathlib import Path
from urllib.request import Request, urlopen

import zstandard

from tests.integration.cli.serving import Configuration, Ended, run_here
from tests.root_tars import VERSION, system, tar
from tests.system_disks import convert, raw_disk
from tinkbox.wire.system_images import decode_block_map, decode_config


def got(appliance: Configuration, path: str, **headers: str) -> bytes:
    with urlopen(Request(f"http://127.0.0.1:{appliance.http_port}/v2/lab-debian/{path}", headers=headers)) as answer:
        return bytes(answer.read())


def tinkbox(appliance: Configuration, *words: str) -> Ended:
    return run_here("--data", str(appliance.data), *words)


def test_an_imported_image_is_the_raw_disk_to_anybody_with_http_and_zstd(
    appliance: Configuration, tmp_path: Path
) -> None:
    raw = raw_disk(tmp_path / "disk.raw")
    image = convert(tmp_path / "disk.raw", tmp_path / "disk.qcow2", "-c")
    digest = f"sha256:{hashlib.sha256(image.read_bytes()).hexdigest()}"
    words = ("image", "import", str(image), "--id", "lab-debian", "--scratch", str(tmp_path))
    ended = tinkbox(appliance, *words, "--version", "1", "--digest", digest, "--default-user", "debian")
    assert (ended.status, ended.err) == (0, ""), ended.err
    manifest = got(appliance, "manifests/latest")
    assert got(appliance, "manifests/1") == manifest
    assert f"sha256:{hashlib.sha256(manifest).hexdigest()}" in ended.out
    assert ended.out.startswith("Imported lab-debian:1 (sha256:")
    document = json.loads(manifest)
    disk, block_map = (each["digest"] for each in document["layers"])
    blob = got(appliance, f"blobs/{disk}")
    assert subprocess.run(["zstd", "-dc"], input=blob, capture_output=True, check=True).stdout == raw
    frames = decode_block_map(got(appliance, f"blobs/{block_map}"))
    last = frames.frames[-1]
    part = got(appliance, f"blobs/{disk}", Range=f"bytes={last.offset}-{last.offset + last.length - 1}")
    plain = subprocess.run(["zstd", "-dc"], input=part, capture_output=True, check=True).stdout
    assert plain == raw[last.index * frames.raw.frame_size :]
    config = decode_config(got(appliance, f"blobs/{document['config']['digest']}"))
    assert (config.about.source.digest, config.about.source.verified, config.raw.size) == (digest, "typed", len(raw))
    listed = json.loads(tinkbox(appliance, "image", "list", "--format", "json").out)
    assert {(each["tag"], each["kind"]) for each in listed} == {("1", "system"), ("latest", "system")}
    again = tinkbox(appliance, *words, "--version", "1")
    assert (again.status, "is here already" in again.err) == (1, True)
    assert [each.name for each in tmp_path.iterdir() if each.name not in ("disk.raw", "disk.qcow2")] == []


def test_what_is_no_disk_is_told_in_one_line_and_leaves_nothing(appliance: Configuration, tmp_path: Path) -> None:
    page = tmp_path / "debian.qcow2"
    page.write_text("<!DOCTYPE html><title>404</title>")
    ended = tinkbox(appliance, "image", "import", str(page), "--id", "page", "--scratch", str(tmp_path))
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "web page" in ended.err
    assert list(tmp_path.iterdir()) == [page]


def test_a_tar_of_a_root_file_system_is_imported_as_a_disk(appliance: Configuration, tmp_path: Path) -> None:
    root = tmp_path / "root.tar.zst"
    root.write_bytes(zstandard.compress(tar(system(files={"usr/bin/cloud-init": None}))))
    words = ("image", "import", str(root), "--id", "lab-tar", "--default-user", "debian", "--scratch", str(tmp_path))
    ended = tinkbox(appliance, *words)
    assert (ended.status, ended.out.startswith("Imported lab-tar:")) == (0, True), ended.err
    assert ended.err.startswith("tinkbox: warning: root.tar.zst: it has no cloud-init")
    told = tinkbox(appliance, "image", "show", "lab-tar").out
    rows = (line.split(":", 1) for line in told.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in rows}
    assert fields["Source Format"] == "tar of a root file system, zstd"
    assert (fields["Source"], fields["Firmware"], fields["Default User"]) == ("root.tar.zst", "bios, uefi", "debian")
    assert [each.name for each in tmp_path.iterdir()] == ["root.tar.zst"]
    container = tmp_path / "container.tar"
    container.write_bytes(tar(system(files={f"boot/vmlinuz-{VERSION}": None})))
    failed = tinkbox(appliance, "image", "import", str(container), "--id", "lab-container", "--scratch", str(tmp_path))
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert failed.err.startswith("tinkbox: container.tar: it has no kernel in /boot")
