"""Ramdisk archives, as the real cpio reads them."""

import re
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.cpio import archive, entry, trailer


def unpack(content: bytes, into: Path) -> None:
    subprocess.run(["cpio", "-i", "--quiet", "--no-absolute-filenames"], input=content, cwd=into, check=True)


def listing(content: bytes, *options: str) -> list[str]:
    ran = subprocess.run(["cpio", "-t", "--quiet", *options], input=content, capture_output=True, check=True)
    assert ran.stderr == b""
    return ran.stdout.decode().splitlines()


def test_a_file_arrives_with_its_folders_content_and_mode(tmp_path: Path) -> None:
    unpack(archive({"etc/tinkbox/worker.json": b'{"token":"t"}'}), tmp_path)
    file = tmp_path / "etc/tinkbox/worker.json"
    assert file.read_bytes() == b'{"token":"t"}'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o755


def test_folders_come_before_what_is_in_them_and_once(tmp_path: Path) -> None:
    content = archive({"a/b/two": b"", "a/b/one": b"1", "top": b"t"}, mode=0o644)
    assert listing(content) == ["a", "a/b", "a/b/one", "a/b/two", "top"]
    assert all(line.split()[2:4] == ["root", "root"] for line in listing(content, "-v"))
    unpack(content, tmp_path)
    assert stat.S_IMODE((tmp_path / "top").stat().st_mode) == 0o644


@given(st.dictionaries(st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.binary(max_size=300), max_size=5))
def test_every_length_is_padded_so_that_the_next_entry_is_found(files: dict[str, bytes]) -> None:
    content = archive(files)
    assert len(content) % 512 == 0
    position, found = 0, {}
    while True:
        assert position % 4 == 0
        assert content[position : position + 6] == b"070701"
        fields = [int(content[position + 6 + 8 * at : position + 14 + 8 * at], 16) for at in range(13)]
        name_at = position + 110
        name = content[name_at : name_at + fields[11] - 1].decode()
        data_at = -(-(name_at + fields[11]) // 4) * 4
        if name == "TRAILER!!!":
            break
        found[name] = content[data_at : data_at + fields[6]]
        position = -(-(data_at + fields[6]) // 4) * 4
    assert found == files


@pytest.mark.parametrize("size", range(9))
def test_the_real_cpio_finds_what_follows_content_of_any_length(size: int, tmp_path: Path) -> None:
    unpack(archive({"first": b"x" * size, "second" + "s" * size: b"y"}), tmp_path)
    assert (tmp_path / "first").read_bytes() == b"x" * size
    assert (tmp_path / ("second" + "s" * size)).read_bytes() == b"y"


def test_another_archive_can_follow(tmp_path: Path) -> None:
    both = archive({"one": b"1"}) + archive({"two": b"2"})
    assert both[512:518] == b"070701"
    assert listing(both[512:]) == ["two"]


def test_inodes_differ_so_that_nothing_is_taken_for_a_hard_link() -> None:
    inodes = re.findall(rb"070701([0-9A-F]{8})000081", archive({"a": b"1", "b": b"2", "c": b"3"}))
    assert len(set(inodes)) == 3


def test_a_device_node_carries_its_numbers() -> None:
    content = entry("console", stat.S_IFCHR | 0o600, b"", 1, device=(5, 1)) + trailer()
    (line,) = listing(content, "-v")
    assert line.startswith("crw-------")
    assert re.search(r"\b5, +1\b", line)
