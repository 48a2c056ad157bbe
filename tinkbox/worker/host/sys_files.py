"""What a file of /sys says, empty where there is none."""

from pathlib import Path
from typing import Final

from tinkbox.model.text import printable

LONGEST: Final = 64  # of what a device says of itself


def text(path: Path) -> str:
    """In one printable line."""
    return clean(octets(path))


def number(path: Path) -> int:
    """0 when it is none."""
    try:
        return int(text(path))
    except ValueError:
        return 0


def octets(path: Path) -> bytes:
    """As it is."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def entries(folder: Path) -> list[Path]:
    """What is in a folder, by name."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def clean(content: bytes) -> str:
    """What a device says of itself, as a line that can be shown."""
    words = " ".join(content.replace(b"\0", b" ").decode(errors="replace").split())
    return printable(words)[:LONGEST].strip()
