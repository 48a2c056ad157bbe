"""What the firmware's tables say of memory."""

import pytest

from tinkbox.worker.host.smbios import installed_memory

END = bytes((127, 4, 0xFF, 0xFE)) + b"\0\0"


def structure(kind: int, formatted: bytes, *texts: bytes) -> bytes:
    strings = b"".join(text + b"\0" for text in texts) or b"\0"
    return bytes((kind, 4 + len(formatted), 0, 0)) + formatted + strings + b"\0"


def memory(size: int, large: int = 0) -> bytes:
    formatted = bytes(8) + size.to_bytes(2, "little") + bytes(14) + large.to_bytes(4, "little")
    return structure(17, formatted, b"DIMM 0", b"QEMU")


IDENTITY = structure(1, bytes(23), b"QEMU", b"Standard PC", b"17")


@pytest.mark.parametrize(
    ("tables", "size"),
    [
        (b"", 0),
        (IDENTITY + END, 0),
        (IDENTITY + memory(2048) + END, 2 * 2**30),
        (memory(0x4000) + IDENTITY + memory(0x4000) + END, 32 * 2**30),
        (memory(0x7FFF, 64 * 1024) + END, 64 * 2**30),
        (memory(0x8000 | 512) + END, 512 * 2**10),
        (memory(0xFFFF) + memory(0) + memory(1024) + END, 2**30),
        (END + memory(1024), 0),
    ],
)  # fmt: skip
def test_the_memory_of_all_devices_is_added_up(tables: bytes, size: int) -> None:
    assert installed_memory(tables) == size


def test_no_cut_and_no_nonsense_harms() -> None:
    whole = IDENTITY + memory(2048) + END
    for length in range(len(whole)):
        assert installed_memory(whole[:length]) in (0, 2 * 2**30)
    assert installed_memory(b"\0" * 100) == 0
    assert installed_memory(b"\xff" * 100) == 0
