"""What is in programs, libraries and kernel modules, read from their files (System V ABI, chapters 4 and 5).

So that a foreign one need not be run.
"""

import struct
from pathlib import Path
from typing import Final

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_ENTRY: Final = struct.Struct("<qQ")
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRINGS = 0, 1, 5


def is_elf(path: Path) -> bool:
    """Whether it is a program or a library of the kind that `needed` reads."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def machine(content: bytes) -> int:
    """The number of the processor that it is for, such as 62 for x86_64.  Raises ValueError when it is cut off."""
    if len(content) < _HEADER.size:
        raise ValueError("a damaged ELF file (too short)")
    return int(_HEADER.unpack_from(content)[2])


def needed(content: bytes) -> tuple[str, ...]:
    """The names of the libraries that a program or library is linked with; none for a static one.

    Raises ValueError when it is not a whole ELF file of 64 bits.
    """
    if not content.startswith(_MAGIC):
        raise ValueError("no ELF file of 64 bits")
    try:
        header = _HEADER.unpack_from(content)
        place, size, count = header[5], header[9], header[10]
        segments = [_SEGMENT.unpack_from(content, place + number * size) for number in range(count)]
        entries: dict[int, list[int]] = {}
        for segment in segments:
            if segment[0] == _DYNAMIC:
                for tag, value in _ENTRY.iter_unpack(content[segment[2] : segment[2] + segment[5] // 16 * 16]):
                    if tag == _END:
                        break
                    entries.setdefault(tag, []).append(value)
        if _NEEDED not in entries:
            return ()
        strings = _offset(segments, entries[_STRINGS][0])
        return tuple(_text(content, strings + name) for name in entries[_NEEDED])
    except (struct.error, KeyError) as error:
        raise ValueError(f"a damaged ELF file ({error})") from None


def section(content: bytes, name: str) -> bytes:
    """What a section holds, such as `.modinfo` of a kernel module; empty when there is none of that name.

    Raises ValueError when it is not a whole ELF file of 64 bits.
    """
    if not content.startswith(_MAGIC):
        raise ValueError("no ELF file of 64 bits")
    try:
        header = _HEADER.unpack_from(content)
        place, size, count, of_names = header[6], header[11], header[12], header[13]
        sections = [_SECTION.unpack_from(content, place + number * size) for number in range(count)]
        names = sections[of_names][4] if count else 0
        for found in sections:
            if _text(content, names + found[0]) == name:
                return content[found[4] : found[4] + found[5]]
    except (struct.error, IndexError) as error:
        raise ValueError(f"a damaged ELF file ({error})") from None
    return b""


def _offset(segments: list[tuple[int, ...]], address: int) -> int:
    """Where in the file the memory at `address` comes from."""
    for kind, _, offset, begin, _, size, _, _ in segments:
        if kind == _LOAD and begin <= address < begin + size:
            return offset + address - begin
    raise ValueError("a damaged ELF file (its names are nowhere)")


def _text(content: bytes, begin: int) -> str:
    end = content.find(b"\0", begin)
    if end < 0:
        raise ValueError("a damaged ELF file (a name without an end)")
    return content[begin:end].decode(errors="replace")
