"""Packets that are shared by those who fetch the same file at once."""

import gc
import struct

import pytest

from tinkbox.boot.tftp.packet_layouts import MAX_LAYOUTS, Layouts
from tinkbox.wire.tftp import Blocks

FILE = bytes(range(256)) * 20  # ten blocks of 512, and an empty one


def packet(number: int, content: bytes) -> bytes:
    return struct.pack("!HH", 3, number) + content


@pytest.mark.parametrize("size", [8, 512, 1468])
@pytest.mark.parametrize("window", [1, 4])
def test_the_packets_are_those_of_the_file(size: int, window: int) -> None:
    blocks, count = Layouts().cut(FILE, size), len(FILE) // size + 1
    sent = [each for at in range(0, count, window) for each in blocks.packets(at, min(at + window, count))]
    assert sent == [packet(at + 1, FILE[at * size : (at + 1) * size]) for at in range(count)]


def test_those_who_fetch_a_file_at_once_are_sent_the_very_same_packets() -> None:
    layouts = Layouts()
    first, second = layouts.cut(FILE, 512), layouts.cut(FILE, 512)
    assert first.packets(0, 3)[2] is second.packets(2, 3)[0]
    assert layouts.cut(FILE, 1024).packets(0, 1) != first.packets(0, 1)


def test_numbers_begin_again_after_65535() -> None:
    content = bytes(512 * 65_536)
    assert Layouts().cut(content, 512).packets(65_534, 65_537) == [
        packet(65_535, bytes(512)),
        packet(0, bytes(512)),
        packet(1, b""),
    ]


def test_nothing_is_kept_when_the_last_has_finished() -> None:
    layouts = Layouts()
    blocks = layouts.cut(FILE, 512)
    assert len(layouts) == 1
    del blocks
    gc.collect()
    assert len(layouts) == 0


def test_another_file_in_the_place_of_one_that_is_gone_is_not_taken_for_it() -> None:
    layouts = Layouts()
    for number in range(100):
        content = bytes([number]) * 600
        assert layouts.cut(content, 512).packets(0, 1) == [packet(1, content[:512])]


def test_whoever_asks_for_ever_other_block_sizes_has_no_further_copies_made() -> None:
    layouts = Layouts()
    held = [layouts.cut(FILE, 512 + each) for each in range(100)]
    assert len(layouts) == MAX_LAYOUTS
    assert all(blocks.packets(0, 1) == [packet(1, FILE[: 512 + each])] for each, blocks in enumerate(held))


def test_tiny_blocks_and_files_that_are_read_as_they_are_sent_are_not_kept() -> None:
    layouts = Layouts()
    held = [layouts.cut(FILE, 8), layouts.cut(_OnDisk(), 512)]
    assert len(layouts) == 0
    assert [each.packets(0, 1) for each in held] == [[packet(1, FILE[:8])], [packet(1, b"d" * 512)]]


class _OnDisk:
    def __len__(self) -> int:
        return 600

    def __getitem__(self, piece: slice) -> bytes:
        return (b"d" * 600)[piece]


def test_blocks_without_a_layout_are_the_same() -> None:
    assert Blocks(FILE, 1000).packets(3, 6) == Layouts().cut(FILE, 1000).packets(3, 6)
