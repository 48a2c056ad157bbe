"""A registry that fills its disk: pushes are refused before the last room is touched, and everything else goes on."""

import hashlib
import http.client
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import IO

import pytest

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import Configuration, configure, run_here, serving

MIB = 1 << 20
BLOB = 4 * MIB
HARDWARE = {
    "id": "00000000-0000-0000-0000-000000000001",
    "network": {"interfaces": [{"dhcp": {"mac": "02:00:00:00:00:01", "ip": {"address": "127.0.0.7"}}}]},
}
TEMPLATE = """\
version: "0.1"
name: hello
tasks:
  - {name: one, worker: "{{.device_1}}", actions: [{name: one, image: hello-world, timeout: 60}]}
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Configuration]:
    """An appliance's folder on a disk of 128 MiB."""
    configuration = configure(tmp_path)
    configuration.data.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m,mode=700", "tmpfs", configuration.data], check=True)
    try:
        yield configuration
    finally:
        subprocess.run(["umount", configuration.data], check=True)


def push(configuration: Configuration, content: bytes) -> tuple[int, str]:
    """A blob, as a client of the registry sends one."""
    token = (configuration.data / "operator.token").read_text().strip()
    connection = http.client.HTTPConnection("127.0.0.1", configuration.http_port, timeout=60)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    headers = {"Authorization": f"Bearer {token}"}
    connection.request("POST", f"/v2/x/blobs/uploads/?digest={digest}", content, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def fill(configuration: Configuration) -> tuple[int, int, str]:
    """Push until it is refused: how many were taken, and the refusal."""
    for number in range(64):
        status, text = push(configuration, number.to_bytes(4, "big") * (BLOB // 4))
        if status != 201:
            return number, status, text
    raise AssertionError("it was never refused")


def free(configuration: Configuration) -> int:
    found = os.statvfs(configuration.data)
    return found.f_bavail * found.f_frsize


def test_a_full_registry_refuses_pushes_and_nothing_else(small: Configuration, tmp_path: Path) -> None:
    local = ("--data", str(small.data))
    (tmp_path / "hardware.json").write_text(json.dumps(HARDWARE))
    (tmp_path / "hello.yaml").write_text(TEMPLATE)
    with serving(small):
        pushed, status, refusal = fill(small)
        assert 4 < pushed < 20
        assert status == 507
        (error,) = json.loads(refusal)["errors"]
        told = error["message"]
        assert error["code"] == "UNKNOWN"
        assert "64MiB are reserved for everything else (images.reserve)" in told
        assert "`tinkbox image gc`" in told
        assert free(small) >= 64 * MIB
        assert "room for " in run_here(*local, "image", "list").err
        for command in (
            ("hardware", "push", "--file", str(tmp_path / "hardware.json")),
            ("template", "create", "-n", "hello", "--file", str(tmp_path / "hello.yaml")),
            ("workflow", "create", "-t", "hello", "-r", json.dumps({"device_1": "02:00:00:00:00:01"})),
            ("status",),
        ):
            done = run_here(*local, *command)
            assert done.status == 0, done
        (tmp_path / "one.tar").write_bytes(image_archive("tools/one:v1") + b"\0" * 2 * BLOB)
        loaded = run_here(*local, "image", "load", str(tmp_path / "one.tar"))
        assert (loaded.status, "the registry is full" in loaded.err) == (1, True), loaded
        assert "A load needs room for its archive, and beside it for the images in it" in loaded.err
        kept = run_here(*local, "image", "gc")
        assert kept.out == "Freed:  0 blobs of 0 bytes\n"
        assert f"{pushed} blobs of {pushed * 4}MiB, which no image needs, kept until " in kept.err
        again = json.loads(push(small, b"x" * BLOB)[1])["errors"][0]["message"]
        assert f"`tinkbox image gc --now` frees {pushed} blobs of {pushed * 4}MiB, which no image needs" in again
    # An hour later nobody was promised anything any more.
    (small.data / "registry" / "promised").unlink()
    with serving(small):
        assert push(small, b"x" * BLOB)[0] == 507
        freed = f"{pushed} blobs of {pushed * 4}MiB\n"
        assert run_here(*local, "image", "gc", "--dry-run").out == f"Would Free:  {freed}"
        told = json.loads(run_here(*local, "image", "gc", "--dry-run", "-o", "json").out)
        assert told["freed"] == {"blobs": pushed, "size": pushed * BLOB}
        assert run_here(*local, "image", "gc").out == f"Freed:  {freed}"
        assert push(small, b"x" * BLOB)[0] == 201


def test_a_disk_that_something_else_filled_is_told_by_the_appliance_and_in_its_log_once(small: Configuration) -> None:
    filler = small.data / "osie"
    with serving(small), log_of(small) as log:
        filler.write_bytes(b"x" * (free(small) - 8 * MIB))
        for _ in range(20):
            status, refusal = push(small, b"x" * BLOB)
            assert (status, "the appliance's disk is full" in refusal) == (503, True)
        until(log, "writes are refused: the appliance's disk is full: free room where its data folder is")
        told = run_here("--data", str(small.data), "doctor")
        assert (told.status, "WriteRefused" in told.out) == (1, True), told
        filler.unlink()
        between = until(log, "writes are taken again: what machines hand in, which was refused since ")
        assert [line for line in between if "writes are refused" in line] == []
        assert push(small, b"x" * BLOB)[0] == 201


def test_nothing_that_takes_little_is_to_be_deleted_from_a_disk_that_something_else_filled(
    small: Configuration,
) -> None:
    """Also where OSIEs take more than is short."""
    osie = small.data / "osie" / "x86_64"
    osie.mkdir(parents=True)
    (osie / "vmlinuz").write_bytes(b"x" * 40 * MIB)
    (small.data / "junk").write_bytes(b"x" * (free(small) - 12 * MIB))
    with serving(small):
        assert push(small, b"x" * BLOB)[0] == 503
        found = json.loads(run_here("--data", str(small.data), "doctor", "-o", "json").out)["diagnoses"]
        told = {each["rule"]: each["remedy"] for each in found}
        for each in (told["DiskNearlyFull"], told["WriteRefused"]):
            assert "Something else fills it, for tinkbox has 4" in each
            assert f"`du -xh {small.data} | sort -h | tail` shows what" in each
            assert "delete" not in each


def test_an_image_that_is_larger_than_the_disk_leaves_no_fault_behind(small: Configuration) -> None:
    with serving(small), log_of(small) as log:
        status, refusal = push(small, bytes(100 * MIB))
        assert (status, "the registry is full" in refusal) == (507, True)
        until(log, "writes are taken again: images, which was refused since ")
        assert "WriteRefused" not in run_here("--data", str(small.data), "doctor").out
        assert push(small, b"x" * BLOB)[0] == 201


def test_images_without_room_and_a_full_disk_are_told_apart_and_end_apart(small: Configuration) -> None:
    with small.path.open("a") as more:
        more.write("images: {most: 10MiB}\n")
    filler = small.data / "osie"

    def told() -> dict[str, str]:
        found = json.loads(run_here("--data", str(small.data), "doctor", "-o", "json").out)["diagnoses"]
        return {each["subject"]: each["cause"] for each in found if each["rule"] == "WriteRefused"}

    with serving(small), log_of(small) as log:
        assert fill(small)[1] == 507
        filler.write_bytes(b"x" * (free(small) - 8 * MIB))
        assert push(small, b"y" * BLOB)[0] == 503
        both = told()
        assert both.keys() == {"images", "what machines hand in"}
        assert both["images"].startswith("The registry has no room for more images since ")
        assert both["what machines hand in"].startswith("The file system that the appliance writes to is full since ")
        filler.unlink()
        until(log, "writes are taken again: what machines hand in, which was refused since ")
        assert told().keys() == {"images"}


@contextmanager
def log_of(configuration: Configuration) -> Iterator[IO[str]]:
    """What an appliance logs, as it comes."""
    command = ["tail", "--lines=+1", "--follow", str(configuration.data.parent / "stderr")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reading:
        assert reading.stdout is not None
        yield reading.stdout
        reading.kill()


def until(log: IO[str], told: str) -> list[str]:
    """The lines before the one that says so."""
    return [*takewhile(lambda line: told not in line, log)]


def test_images_take_no_more_than_they_may(small: Configuration) -> None:
    with small.path.open("a") as more:
        more.write("images: {most: 10MiB}\n")
    local = ("--data", str(small.data))
    with serving(small):
        pushed, status, refusal = fill(small)
        assert (pushed, status) == (2, 507)
        told = json.loads(refusal)["errors"][0]["message"]
        assert "the registry holds 8MiB of 10MiB (images.most)" in told
        assert ": free some with `tinkbox image delete`" in told
        listed = run_here(*local, "image", "list")
        assert "2 blobs: 8MiB of 10MiB (images.most), room for a push of 2MiB, or a load of at most 1MiB" in listed.err
