"""The program as it runs in its container: environment in, a real web server at the other end, a file as the disk."""

import gzip
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.actions.system_images import GPT, MIB, raw_image

ACTIONS = Path(__file__).parents[3] / "examples" / "actions"
IMAGE = os.urandom(3_000_000)
DISK_SIZE = 4 << 20


class Mirror(BaseHTTPRequestHandler):
    """A web server with the bad habits that `server.habits` lists."""

    protocol_version = "HTTP/1.1"
    server: "MirrorServer"

    def do_GET(self) -> None:
        server = self.server
        server.requests.append(self.headers.get("Range", ""))
        habit = server.habits.pop(0) if server.habits else "good"
        content = server.content
        if habit.isdecimal():
            self.send_error(int(habit))
            return
        start = 0
        if server.ranges and (asked := self.headers.get("Range")) and self.headers.get("If-Range") == server.tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            place = 0 if habit == "wrong range" else start
            self.send_header("Content-Range", f"bytes {place}-{len(content) - 1}/{len(content)}")
        if habit != "no length":
            self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", server.tag)
        self.end_headers()
        body = content[start:]
        self.wfile.write(body[: len(body) // 2] if habit == "breaks" else body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class MirrorServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Mirror)
        self.content = IMAGE
        self.tag = '"1"'
        self.ranges = True
        self.habits: list[str] = []
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/disk.img?download=1"


@pytest.fixture
def mirror() -> Iterator[MirrorServer]:
    with MirrorServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * DISK_SIZE)
    return path


def image2disk(url: str, disk: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", ACTIONS / "install-image" / "image2disk.py"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ACTIONS),
            "IMG_URL": url,
            "DEST_DISK": str(disk),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


def failed(done: subprocess.CompletedProcess[str], reason: str) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"failed: {reason}: " in done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def does_not_boot(disk: Path) -> bool:
    """Neither the old first block nor the new one is there."""
    with disk.open("rb") as file:
        return not any(file.read(1 << 20))


def installed(disk: Path) -> bytes:
    return disk.read_bytes()[: len(IMAGE)]


def test_a_plain_image_is_written_and_the_rest_of_the_disk_left(mirror: MirrorServer, disk: Path) -> None:
    done = image2disk(mirror.url, disk)
    assert done.returncode == 0, done.stderr
    assert installed(disk) == IMAGE
    assert disk.read_bytes()[len(IMAGE) :] == b"\xaa" * (DISK_SIZE - len(IMAGE))
    assert "3000000 bytes downloaded" in done.stdout
    assert "2.9 MiB written and read back" in done.stdout
    assert hashlib.sha256(IMAGE).hexdigest() in done.stdout


def test_an_image_smaller_than_a_block_is_written_whole(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = b"tiny"
    assert image2disk(mirror.url, disk).returncode == 0
    assert disk.read_bytes()[:5] == b"tiny\0"
    assert disk.stat().st_size == DISK_SIZE


def test_a_compressed_image_is_known_though_its_address_does_not_tell(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = gzip.compress(IMAGE)
    digest = hashlib.sha256(mirror.content).hexdigest()
    done = image2disk(mirror.url, disk, COMPRESSED="true", IMG_SHA256=f"sha256:{digest}", IMG_SIZE=str(len(IMAGE)))
    assert done.returncode == 0, done.stderr
    assert installed(disk) == IMAGE


def test_compressed_false_writes_the_bytes_as_they_come(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = gzip.compress(IMAGE)
    assert image2disk(mirror.url, disk, COMPRESSED="false").returncode == 0
    assert disk.read_bytes().startswith(mirror.content)


def test_compressed_true_refuses_a_plain_image(mirror: MirrorServer, disk: Path) -> None:
    failed(image2disk(mirror.url, disk, COMPRESSED="true"), "ImageDamaged")


def test_a_broken_connection_is_resumed_where_it_broke(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["breaks"]
    done = image2disk(mirror.url, disk)
    assert done.returncode == 0, done.stderr
    assert installed(disk) == IMAGE
    assert mirror.requests == ["", "bytes=1500000-"]


def test_where_the_server_knows_no_ranges_the_beginning_is_read_again(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits, mirror.ranges = ["breaks"], False
    done = image2disk(mirror.url, disk)
    assert done.returncode == 0, done.stderr
    assert installed(disk) == IMAGE


def test_another_image_after_the_break_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    class Changing(list[str]):
        def append(self, asked: str) -> None:
            if asked:
                mirror.content, mirror.tag = os.urandom(len(IMAGE)), '"2"'
            super().append(asked)

    mirror.habits, mirror.requests = ["breaks"], Changing()
    failed(image2disk(mirror.url, disk), "ImageChanged")
    assert does_not_boot(disk)


def test_a_range_that_was_not_asked_for_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["breaks", "wrong range"]
    failed(image2disk(mirror.url, disk), "DownloadFailed")


def test_a_download_that_never_comes_to_its_end_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["breaks", "503"]
    assert "503" in failed(image2disk(mirror.url, disk), "DownloadFailed")
    assert does_not_boot(disk)


def test_with_retries_an_unwilling_server_is_asked_again(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["503"]
    failed(image2disk(mirror.url, disk), "DownloadFailed")
    mirror.habits = ["503", "breaks", "500"]
    assert image2disk(mirror.url, disk, RETRY_ENABLED="true").returncode == 0
    assert installed(disk) == IMAGE


def test_an_image_that_is_not_there_is_not_asked_for_again(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["404"]
    failed(image2disk(mirror.url, disk, RETRY_ENABLED="true"), "ImageNotFound")
    assert len(mirror.requests) == 1


def test_the_tools_for_a_whole_system_leave_it_alone(mirror: MirrorServer, disk: Path) -> None:
    environment = {"TINKBOX_SERVER": "http://127.0.0.1:1", "TINKBOX_METADATA": "http://127.0.0.1:1/metadata/t"}
    done = image2disk(mirror.url, disk, GROW="true", SEED="cidata", **environment)
    assert done.returncode == 0, done.stderr
    assert installed(disk) == IMAGE
    assert disk.read_bytes()[len(IMAGE) :] == b"\xaa" * (DISK_SIZE - len(IMAGE))


def test_an_image_of_two_tables_is_written_as_it_is(mirror: MirrorServer, disk: Path, tmp_path: Path) -> None:
    mirror.content = raw_image(tmp_path / "raw", GPT)
    disk.write_bytes(b"\xaa" * (len(mirror.content) + MIB))
    assert image2disk(mirror.url, disk).returncode == 0
    assert disk.read_bytes() == mirror.content + b"\xaa" * MIB


def test_the_disk_that_the_worker_chose_is_taken(mirror: MirrorServer, disk: Path, tmp_path: Path) -> None:
    assert image2disk(mirror.url, tmp_path / "other", TINKBOX_DISK=str(disk)).returncode == 0
    assert installed(disk) == IMAGE


def test_an_empty_image_that_was_packed_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = gzip.compress(b"")
    failed(image2disk(mirror.url, disk), "ImageEmpty")
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_a_wrong_digest_is_a_failure_and_the_disk_does_not_boot(mirror: MirrorServer, disk: Path) -> None:
    failed(image2disk(mirror.url, disk, IMG_SHA256="0" * 64), "ChecksumMismatch")
    assert does_not_boot(disk)


def test_a_wrong_size_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    failed(image2disk(mirror.url, disk, IMG_SIZE="2999999"), "SizeMismatch")
    assert does_not_boot(disk)


def test_an_image_larger_than_the_disk_is_refused_before_anything_is_written(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = os.urandom(DISK_SIZE + 1)
    failed(image2disk(mirror.url, disk), "ImageTooLarge")
    failed(image2disk(mirror.url, disk, IMG_SIZE=str(DISK_SIZE + 1)), "ImageTooLarge")
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_a_packed_image_larger_than_the_disk_never_writes_beyond_it(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = gzip.compress(bytes(DISK_SIZE + 1))
    failed(image2disk(mirror.url, disk), "ImageTooLarge")
    assert disk.stat().st_size == DISK_SIZE


def test_an_end_that_nobody_announced_has_to_be_verified(mirror: MirrorServer, disk: Path) -> None:
    mirror.habits = ["no length"]
    failed(image2disk(mirror.url, disk), "SizeUnknown")
    mirror.habits = ["no length"]
    assert image2disk(mirror.url, disk, IMG_SHA256=hashlib.sha256(IMAGE).hexdigest()).returncode == 0
    mirror.habits = ["no length"]
    assert image2disk(mirror.url, disk, IMG_SIZE=str(len(IMAGE))).returncode == 0


def test_an_empty_image_is_a_failure(mirror: MirrorServer, disk: Path) -> None:
    mirror.content = b""
    failed(image2disk(mirror.url, disk), "ImageEmpty")


def test_what_is_missing_or_wrong_is_named(tmp_path: Path, mirror: MirrorServer, disk: Path) -> None:
    assert "IMG_URL" in failed(image2disk("", disk), "MissingParameter")
    assert "ftp://" in failed(image2disk("ftp://x/y", disk), "InvalidParameter")
    failed(image2disk(mirror.url, disk, IMG_SHA256="abc"), "InvalidParameter")
    failed(image2disk(mirror.url, disk, COMPRESSED="yes"), "InvalidParameter")
    failed(image2disk(mirror.url, tmp_path / "sdz"), "DiskNotFound")
    failed(image2disk(mirror.url, tmp_path), "DiskNotFound")
    assert mirror.requests == []


def test_progress_is_told(mirror: MirrorServer, disk: Path) -> None:
    done = image2disk(mirror.url, disk, PROGRESS_INTERVAL_SECONDS="0")
    assert "writing: 2.9 of 2.9 MiB" in done.stdout
    assert "reading back: 2.9 of 2.9 MiB" in done.stdout


@pytest.mark.parametrize(
    "page", [b"<!DOCTYPE html><html>not found</html>", b"\xef\xbb\xbf\n<?xml version='1.0'?>\n<html lang='en'>"]
)
def test_web_page_is_refused_before_anything_is_written(page: bytes, mirror: MirrorServer, disk: Path) -> None:
    mirror.content = page
    assert "is a web page" in failed(image2disk(mirror.url, disk, COMPRESSED="false"), "NotAnImage")
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_address_of_a_compressed_image_that_sends_something_else_is_refused(mirror: MirrorServer, disk: Path) -> None:
    said = failed(image2disk(mirror.url.replace(".img", ".img.zst"), disk), "ImageDamaged")
    assert "ends with .zst" in said
    assert disk.read_bytes() == b"\xaa" * DISK_SIZE


def test_address_of_a_compressed_image_may_send_a_raw_one_when_told_so(mirror: MirrorServer, disk: Path) -> None:
    assert image2disk(mirror.url.replace(".img", ".img.gz"), disk, COMPRESSED="false").returncode == 0
    assert installed(disk) == IMAGE
