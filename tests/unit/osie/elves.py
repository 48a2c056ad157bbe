"""The smallest ELF files that name the libraries they are linked with."""

import struct

X86_64, AARCH64 = 62, 183
_AT = 0x40_0000  # where the file is mapped: addresses are not offsets


def elf(*needed: str, machine: int = X86_64) -> bytes:
    """One that is linked with these; with none it is static."""
    strings, entries = b"\0", []
    for name in needed:
        entries.append((1, len(strings)))
        strings += name.encode() + b"\0"
    segments = 2 if needed else 1
    tables = 64 + 56 * segments
    entries += [(5, _AT + tables + 16 * (len(entries) + 2)), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *entry) for entry in entries)
    body = dynamic + strings if needed else b"static"
    size = tables + len(body)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 3, machine, 1, _AT, 64, 0, 0, 64, 56, segments, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, _AT, _AT, size, size, 4096)
    link = struct.pack("<IIQQQQQQ", 2, 6, tables, _AT + tables, _AT + tables, len(dynamic), len(dynamic), 8)
    return header + load + (link if needed else b"") + body


def kernel_module(*firmware: str) -> bytes:
    """A kernel module whose `.modinfo` names these firmware files."""
    modinfo = b"license=GPL\0" + b"".join(b"firmware=" + name.encode() + b"\0" for name in firmware)
    names = b"\0.shstrtab\0.modinfo\0"
    place = 64 + len(names) + len(modinfo)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, X86_64, 1, 0, 0, place, 0, 64, 0, 0, 64, 3, 1)
    sections = [
        (0, 0, 0, 0, 0, 0),
        (1, 3, 0, 0, 64, len(names)),
        (11, 1, 0, 0, 64 + len(names), len(modinfo)),
    ]
    table = b"".join(struct.pack("<IIQQQQIIQQ", *each, 0, 0, 1, 0) for each in sections)
    return header + names + modinfo + table
