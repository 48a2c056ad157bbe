"""The smaller parts of install-image."""

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import installation
import pytest
from advice import ADVICE
from block_map import Frame, parse_block_map
from disk import Disk, runs
from failure import Failure
from image_start import refuse_other_formats, refuse_web_page
from parameters import of_image2disk, of_install_image
from patience import Patience
from progress import Progress
from sizes import amount, duration, size
from stream import WebImage
from target import Target
from threads import each

MIB = 1 << 20
DIGEST = "0" * 64


def block_map(frames: list[Any], **changes: Any) -> bytes:
    return json.dumps({"size": 10 * MIB, "frame_size": 4 * MIB, "digest": "x", "frames": frames, **changes}).encode()


def test_block_map_tells_frames_and_zeros() -> None:
    blocks = parse_block_map(block_map([[0, 0, 10, DIGEST], [2, 14, 6, DIGEST]]), 20)
    assert blocks.frames == (Frame(0, 0, 10, DIGEST), Frame(2, 14, 6, DIGEST))
    assert list(blocks.zeros()) == [(4 * MIB, 4 * MIB)]
    assert blocks.raw_length(2) == 2 * MIB
    assert blocks.listed == 6 * MIB
    assert list(parse_block_map(block_map([]), 0).zeros()) == [(0, 10 * MIB)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b"[]",
        block_map([[0, 0, 10, DIGEST], [0, 10, 5, DIGEST]]),
        block_map([[1, 0, 10, DIGEST], [0, 10, 5, DIGEST]]),
        block_map([[3, 0, 10, DIGEST]]),
        block_map([[0, 0, 21, DIGEST]]),
        block_map([[0, 0, 10, DIGEST], [1, 9, 5, DIGEST]]),
        block_map([[0, 0, 0, DIGEST]]),
        block_map([[0, -1, 5, DIGEST]]),
        block_map([[True, 0, 5, DIGEST]]),
        block_map([[0, 0, 5.0, DIGEST]]),
        block_map([[0, 0, 5, "Z" * 64]]),
        block_map([[0, 0, 5, DIGEST + "\n"]]),
        block_map([[0, 0, 5]]),
        block_map([[0, 0, 8 * MIB, DIGEST]]),
        block_map([], size=0),
        block_map([], size=1 << 60),
        block_map([], size="1"),
        block_map([], size=-1),
        block_map([], frame_size=3 * MIB),
        block_map([], frame_size=1 << 40),
        block_map([], frame_size=None),
        block_map({}),  # type: ignore[arg-type]
    ],
)
def test_block_map_that_is_wrong_anywhere_is_refused(content: bytes) -> None:
    with pytest.raises(Failure) as failure:
        parse_block_map(content, 20)
    assert failure.value.reason == "ImageDamaged"


def test_head_and_tail_are_held_back_and_read_as_if_they_were_there(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * (4 * MIB))
    disk = Disk(path)
    target = Target(disk, 1024)
    target.begin()
    image = os.urandom(4 * MIB)
    for place in range(0, 4 * MIB, 64 * 1024):
        target.put(place, image[place : place + 64 * 1024])
    assert target.read(disk, 0, 4 * MIB) == image
    assert path.read_bytes() == bytes(MIB) + image[MIB:-1024] + bytes(1024)
    target.finish(target.head, image[-1024:])
    assert path.read_bytes() == image
    disk.close()


def test_zeros_are_written_over_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(b"\xaa" * (4 * MIB))
    disk = Disk(path)
    disk.write_sparsely(bytes(MIB) + b"x" * MIB + bytes(100), MIB)
    disk.zero(3 * MIB + 1000, 24)
    content = path.read_bytes()
    assert content[MIB : 2 * MIB] == bytes(MIB)
    assert content[2 * MIB : 3 * MIB] == b"x" * MIB
    assert content[3 * MIB : 3 * MIB + 100] == bytes(100)
    assert content[3 * MIB + 1000 : 3 * MIB + 1025] == bytes(24) + b"\xaa"
    disk.close()


def test_runs_of_zeros_are_whole_blocks() -> None:
    block = 64 * 1024
    data = memoryview(bytes(block) + b"x" + bytes(2 * block - 1) + bytes(block) + bytes(10))
    assert list(runs(data)) == [
        (0, block, True),
        (block, 2 * block, False),
        (2 * block, 4 * block, True),
        (4 * block, 4 * block + 10, False),
    ]
    assert list(runs(memoryview(b""))) == []


def test_disk_that_is_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, Path("/dev/null")):
        with pytest.raises(Failure) as failure:
            Disk(path)
        assert failure.value.reason == "DiskNotFound"


def test_patience_ends_after_its_seconds_without_a_byte() -> None:
    now = [0.0]
    said: list[str] = []

    def sleep(seconds: float) -> None:
        now[0] += 100

    patience = Patience(600, clock=lambda: now[0], sleep=sleep, say=said.append)
    for _ in range(6):
        patience.wait("url", "no answer")
    patience.something_came()
    for _ in range(6):
        patience.wait("url", "no answer")
    with pytest.raises(Failure, match="nothing came for 600 seconds") as failure:
        patience.wait("url", "no answer")
    assert failure.value.reason == "DownloadFailed"
    assert len(said) == 2, "the same problem is said once"
    patience.wait("url", "broken", came=True)
    patience.give_up()
    with pytest.raises(Failure):
        patience.wait("url", "broken", came=True)


def test_progress_goes_to_people_and_to_the_worker(tmp_path: Path) -> None:
    now = [0.0]
    said: list[str] = []
    file = tmp_path / "progress"
    file.touch()
    gib = 1 << 30
    progress = Progress(2, interval=3, clock=lambda: now[0], say=said.append, file=str(file))
    progress.begin("writing", 3 * gib)
    for _ in range(6):
        now[0] += 1
        progress.advance(gib // 10)
    assert said == ["writing: 0.3 of 3.0 GiB, 107 MB/s, 0:27 left", "writing: 0.6 of 3.0 GiB, 107 MB/s, 0:24 left"]
    assert file.read_text() == f"{6 * (gib // 10)} {6 * gib} bytes\n"
    progress.begin("reading back", 3 * gib)
    assert file.read_text() == f"{3 * gib} {6 * gib} bytes\n"


def test_progress_without_a_total_tells_what_it_knows(tmp_path: Path) -> None:
    now = [0.0]
    said: list[str] = []
    progress = Progress(2, interval=3, clock=lambda: now[0], say=said.append, file=str(tmp_path / "none"))
    progress.begin("writing", 0)
    now[0] = 4
    progress.advance(400 * MIB)
    assert said == ["writing: 400.0 MiB, 105 MB/s"]
    assert not (tmp_path / "none").exists()


def test_first_exception_ends_all_threads() -> None:
    done: list[int] = []
    told = threading.Event()

    def work(number: int) -> None:
        if number == 3:
            raise Failure("WriteFailed", "no")
        done.append(number)

    with pytest.raises(Failure):
        each(range(10_000), work, 2, told.set)
    assert told.is_set()
    assert len(done) < 10_000
    each([], work, 2)


@pytest.mark.parametrize(
    ("environment", "reason", "words"),
    [
        ({}, "MissingParameter", "IMAGE"),
        ({"IMAGE": "debian-13"}, "MissingParameter", "disk: smallest"),
        ({"IMAGE": "debian-13", "DEST_DISK": "/dev/vda"}, "MissingParameter", "TINKBOX_SERVER"),
        ({"IMAGE": "http://x/y", "DEST_DISK": "/dev/vda", "SEED": "iso"}, "InvalidParameter", "not 'iso'"),
        ({"IMAGE": "http://x/y", "DEST_DISK": "/dev/vda", "SEED": "cidata"}, "MissingParameter", "TINKBOX_METADATA"),
        ({"IMAGE": "http://x/y", "DEST_DISK": "/dev/vda", "GROW": "yes"}, "InvalidParameter", "GROW"),
        ({"IMAGE": "debian-13", "IMG_URL": "http://x/y", "DEST_DISK": "/dev/vda"}, "InvalidParameter", "IMAGE and IMG"),
        ({"IMG_URL": "file:///etc/shadow", "DEST_DISK": "/dev/vda"}, "InvalidParameter", "IMG_URL is no http"),
        ({"IMAGE": "http://x/y", "DEST_DISK": "/dev/vda", "IMG_SHA256": "1"}, "InvalidParameter", "IMG_SHA256"),
        (
            {"IMAGE": "a:1", "DEST_DISK": "/dev/vda", "TINKBOX_SERVER": "http://x", "IMG_SHA256": "1" * 64},
            "InvalidParameter",
            "a:1@sha256",
        ),
    ],
)
def test_variables_that_are_missing_or_wrong_are_named(environment: dict[str, str], reason: str, words: str) -> None:
    with pytest.raises(Failure) as failure:
        of_install_image(environment)
    assert failure.value.reason == reason
    assert words in str(failure.value)


def test_disk_that_the_worker_chose_wins_and_metadata_makes_a_seed() -> None:
    known = {"IMAGE": "http://x/y", "TINKBOX_DISK": "/dev/nvme0n1", "DEST_DISK": "/dev/sda"}
    assert of_install_image(known).disk == Path("/dev/nvme0n1")
    assert of_install_image(known).seed == "none"
    assert of_install_image({**known, "TINKBOX_METADATA": "http://x/metadata/t"}).seed is None
    assert of_install_image({**known, "RETRY_ENABLED": "false"}).patience == 0
    assert of_install_image(known).patience == 600


def test_an_image_of_a_web_server_is_named_by_either_variable() -> None:
    known = {"DEST_DISK": "/dev/sda", "COMPRESSED": "false", "IMG_SIZE": "7", "IMG_SHA256": "SHA256:" + "A" * 64}
    wanted = WebImage(url="http://x/y", compressed=False, size=7, sha256="a" * 64)
    assert of_install_image({**known, "IMG_URL": "http://x/y"}) == of_install_image({**known, "IMAGE": "http://x/y"})
    assert of_install_image({**known, "IMG_URL": "http://x/y"}).web == wanted
    assert of_image2disk({**known, "IMG_URL": "http://x/y"}).web == wanted


def test_image2disk_tries_again_only_when_told_so() -> None:
    known = {"IMG_URL": "http://x/y", "DEST_DISK": "/dev/sda", "RETRY_DURATION_MINUTES": "3"}
    assert of_image2disk(known).patience == 0
    assert of_image2disk({**known, "RETRY_ENABLED": "true"}).patience == 180
    with pytest.raises(Failure, match="IMG_URL"):
        of_image2disk({"DEST_DISK": "/dev/sda"})


def test_only_pages_and_broken_promises_are_refused_as_pages() -> None:
    boot_sector = bytes(510) + b"\x55\xaa"
    refuse_web_page("http://x/a.img", "text/html", "", boot_sector)
    refuse_web_page("http://x/a.img.zst", "text/html", "zstd", b"\x28\xb5\x2f\xfd")
    refuse_web_page("http://x/a.raw", "", "", b"<!--" * 60_000)
    refuse_other_formats(boot_sector)
    for url in ("http://x/a.gz", "http://x/a.XZ?b=c", "http://x/a.bz2#d"):
        with pytest.raises(Failure) as failure:
            refuse_web_page(url, "", "", boot_sector)
        assert failure.value.reason == "ImageDamaged"
    with pytest.raises(Failure, match=r"sent 'text/html', which begins with '<p>'"):
        refuse_web_page("http://x/a.img", "text/html", "", b"<p>")
    refuse_web_page("http://x/a.img", "application/json", "", boot_sector)
    refuse_web_page("http://x/a.img", "text/plain", "", b"a\0")
    refuse_web_page("http://x/a.img", "text/plain", "", b"404: no such file\r\n", suffix_counts=False)
    with pytest.raises(Failure, match=r"is no disk image: the server sent 'text/plain', which begins with '404: no"):
        refuse_web_page("http://x/a.img", "text/plain", "", b"404: no such file\r\n")
    with pytest.raises(
        Failure, match=r"is no disk image: the server sent 'application/json', which begins with .\{'no' \[31m"
    ):
        refuse_web_page("http://x/a.img", "application/json; charset=utf-8", "", b"{'no'\x1b[31m: 1}\n")


def test_every_reason_of_ours_tells_what_can_be_done() -> None:
    folder = Path(installation.__file__).parent
    given = {word for each in folder.glob("*.py") for word in re.findall(r'Failure\(\s*"(\w+)"', each.read_text())}
    # What comes of a boot entry is printed, and ends nothing.
    assert given - set(ADVICE) == {"BootEntryFailed"}


def test_sizes_and_times_are_in_words() -> None:
    assert [size(count) for count in (0, 1023, 1024, 3 << 30)] == ["0 bytes", "1023 bytes", "1.0 KiB", "3.0 GiB"]
    assert amount(MIB, 0) == "1.0 MiB"
    assert [duration(seconds) for seconds in (-1, 43.9, 3723)] == ["0:00", "0:43", "1:02:03"]
