import struct

from examples.demo.disk import partition_table

MIB = 1 << 20


def test_the_partitions_lie_one_after_the_other_from_the_first_mebibyte_on() -> None:
    table = partition_table([(0xEF, 24 * MIB), (0x83, 16 * MIB)], b"\xfa")
    assert len(table) == 512
    assert table[510:] == b"\x55\xaa"
    entries = [struct.unpack("<B3xB3xII", table[446 + 16 * number : 462 + 16 * number]) for number in range(4)]
    assert entries == [(0x80, 0xEF, 2048, 49152), (0, 0x83, 51200, 32768), (0, 0, 0, 0), (0, 0, 0, 0)]


def test_boot_code_never_reaches_into_the_table() -> None:
    table = partition_table([(0x83, MIB)], b"\xcc" * 600)
    assert table[:440] == b"\xcc" * 440
    assert table[440:446] == b"tbox\0\0"
    assert table[446] == 0x80
