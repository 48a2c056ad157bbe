"""The process that takes a disk image apart, from outside: what it may do, and what is believed of it."""

import io
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tinkbox.confinement.giving_up import CONFINED
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.images.system_image import Compression, Format
from tinkbox.system_images import reading_process
from tinkbox.system_images.reading import (
    CPU_SECONDS,
    DATA,
    END,
    FOUND,
    MEMORY_BYTES,
    RECORD,
    SIZE,
    WRONG,
    ZEROS,
    answer,
)
from tinkbox.system_images.reading_process import opened

ROOT = Path(__file__).parents[3]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes rights away from root")


def content(path: Path, kind: Format | Compression) -> tuple[int, bytes]:
    with path.open("rb") as file, opened(file, kind, path.name) as found:
        return found.size, b"".join(bytes(each) if isinstance(each, int) else each for each in found.pieces)


def test_holes_of_a_raw_disk_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "disk.raw"
    with path.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"x")
    with path.open("rb") as file, opened(file, Format.RAW, path.name) as found:
        pieces = list(found.pieces)
    filled = [each for each in pieces if isinstance(each, bytes)]
    assert sum(each if isinstance(each, int) else len(each) for each in pieces) == 1 << 40
    assert sum(map(len, filled)) <= 1 << 20
    assert b"x" in filled[0]


def test_what_is_wrong_with_a_file_is_told_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "disk.qcow2"
    path.write_bytes(b"QFI\xfb\0\0\0\2")
    with pytest.raises(Invalid, match=r"disk\.qcow2: it is truncated within the header"):
        content(path, Format.QCOW2)


def test_damage_of_any_kind_is_called_damage() -> None:
    script = (
        "import sys\n"
        "from tinkbox.system_images import reading\n"
        "reading._opened = lambda *words: [][3]\n"
        "reading.answer('raw', 0, sys.stdout.buffer)"
    )
    with Path("/dev/null").open("rb") as nothing:
        said = subprocess.run([sys.executable, "-c", script], stdin=nothing, capture_output=True, check=True).stdout
    text = b"it is damaged, or tinkbox has a fault: it cannot be read (IndexError('list index out of range'))"
    assert said == CONFINED + record(WRONG, len(text), text)


@needs_root
def test_it_has_no_rights_no_files_and_little_memory(tmp_path: Path) -> None:
    """It is looked at while it waits for its output to be taken."""
    path = tmp_path / "disk.raw"
    path.write_bytes(bytes(8 << 20))
    with (
        path.open("rb") as file,
        subprocess.Popen(
            [*BEFORE, PYTHON, "-m", "tinkbox", "--read-image", "raw"], stdin=file, stdout=subprocess.PIPE, cwd=ROOT
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(len(CONFINED)) == CONFINED
        known = dict(
            line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":" in line
        )
        limits = dict(re.findall(r"^Max (.{21}) (\S+)", Path(f"/proc/{process.pid}/limits").read_text(), re.MULTILINE))
        process.kill()
    assert {int(known[each], 16) for each in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert (known["NoNewPrivs"].strip(), known["Seccomp"].strip()) == ("1", "2")
    assert "0" not in known["Uid"].split() + known["Gid"].split()
    assert [int(limits[each.ljust(21)]) for each in ("cpu time", "file size", "open files")] == [CPU_SECONDS, 0, 0]
    assert MEMORY_BYTES < int(limits["address space".ljust(21)]) < MEMORY_BYTES + (1 << 30)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Callable[[], bytes]]:
    """A process that says something else."""

    def said(*records: bytes, then: str = "") -> Callable[[], bytes]:
        script = f"import sys, os, time; sys.stdout.buffer.write({b''.join(records)!r}); sys.stdout.flush(); {then}"
        monkeypatch.setattr(reading_process, "_program", lambda _: [sys.executable, "-c", script])
        path = tmp_path / "disk"
        path.write_bytes(b"x")
        return lambda: content(path, Format.RAW)[1]

    return said


Says = Callable[..., Callable[[], bytes]]


def record(letter: bytes, number: int, more: bytes = b"") -> bytes:
    return RECORD.pack(letter, number) + more


BEGIN = CONFINED + record(SIZE, 3)


def test_what_it_says_is_taken(says: Says) -> None:
    assert says(BEGIN, record(DATA, 2, b"ab"), record(ZEROS, 1), record(END, 0))() == b"ab\0"


STRANGE = {
    "nothing of a beginning": [b"Hello, world, "],
    "data before the size": [CONFINED, record(DATA, 1, b"x")],
    "an endless size": [CONFINED, record(SIZE, 1 << 63)],
    "a large piece": [BEGIN, record(DATA, 1 << 40)],
    "endless zeros": [BEGIN, record(ZEROS, (1 << 64) - 1)],
    "an unknown letter": [BEGIN, record(b"\xff", 0)],
    "a size again": [BEGIN, record(SIZE, 1)],
}


@pytest.mark.parametrize("name", STRANGE)
def test_nothing_strange_that_it_says_is_believed(says: Says, name: str) -> None:
    with pytest.raises(Invalid, match="hostile or damaged"):
        says(*STRANGE[name])()


@pytest.mark.parametrize(
    "records",
    [
        [record(END, 0)],
        [record(FOUND, 1 << 40)],
        [record(FOUND, 2, b"{}")],
        [record(FOUND, 3, b"no!")],
    ],
    ids=["nothing found", "too much found", "half of it found", "no document"],
)
def test_nothing_strange_that_is_found_of_a_tar_is_believed(says: Says, tmp_path: Path, records: list[bytes]) -> None:
    says(BEGIN, *records)
    with pytest.raises(Invalid, match="hostile or damaged"):
        content(tmp_path / "disk", Format.TAR)


def test_its_complaint_is_one_line_of_a_length(says: Says) -> None:
    complaint = b"it is\n\x1b[2J bad" + b"x" * 50_000
    with pytest.raises(Invalid) as refused:
        says(BEGIN, RECORD.pack(WRONG, 1 << 50), complaint)()
    assert str(refused.value).startswith("disk: it is  [2J bad")
    assert len(str(refused.value)) < 5000


@pytest.mark.parametrize(
    ("then", "text"),
    [
        ("os.kill(os.getpid(), 9)", "ended by the kernel"),
        ("sys.exit(3)", r"failed \(status 3\)"),
        ("os.close(1); time.sleep(99)", "hostile"),
    ],
)
def test_a_process_that_is_gone_too_early_is_told(
    says: Says, monkeypatch: pytest.MonkeyPatch, then: str, text: str
) -> None:
    monkeypatch.setattr(reading_process, "_LAST_SECONDS", 0.5)
    with pytest.raises((Invalid, Unavailable), match=text):
        says(BEGIN, record(DATA, 5, b"ab"), then=then)()


def test_a_process_that_says_nothing_is_ended(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_process, "STALL_SECONDS", 0.2)
    with pytest.raises(Unavailable, match="nothing came of it"):
        says(BEGIN, then="time.sleep(99)")()


def test_a_process_that_is_not_confined_reads_nothing(says: Says) -> None:
    with pytest.raises(Unavailable, match="cannot be confined: no seccomp here"):
        says(b"refused\nno seccomp here")()


def test_no_process_is_left_when_its_pieces_are_not_wanted_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(reading_process.subprocess, "Popen", Popen)
    path = tmp_path / "disk.raw"
    path.write_bytes(bytes(8 << 20))
    with path.open("rb") as file, opened(file, Format.RAW, path.name) as found:
        next(iter(found.pieces))
    assert [each.returncode for each in started] == [-9]


def test_a_huge_disk_of_nothing_is_told_quickly(tmp_path: Path) -> None:
    path = tmp_path / "disk.qcow2"
    size, bits = 16 << 40, 16
    tables = size // ((1 << bits) * (1 << bits) // 8)
    head = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, bits, size, 0, tables, 1 << bits, 0, 0, 0, 0)
    with path.open("wb") as file:
        file.write(head)
        file.truncate((1 << bits) + tables * 8)
    with path.open("rb") as file, opened(file, Format.QCOW2, path.name) as found:
        assert found.size == size
        assert sum(each for each in found.pieces if isinstance(each, int)) == size


def test_a_kind_that_is_not_read_is_refused() -> None:
    with pytest.raises(Invalid, match="'floppy' is no kind of disk image: raw, qcow2, tar, gzip"):
        answer("floppy", 0, io.BytesIO())
