"""Tells by its first bytes that something is no disk image, before any of it is written."""

import re
from urllib.parse import urlsplit

from failure import Failure

# As many bytes as the questions below look at.
LONGEST = 8192
_SUFFIXES = {
    ".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".zs": "zstd", ".bz2": "bzip2", ".bzip2": "bzip2", ".lzma": "lzma",
}  # fmt: skip
_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# What a server says of its own words: no disk image was ever sent as one of these.
_DATA_TYPES = frozenset({"application/json", "application/problem+json", "application/xml", "text/xml"})
_TEXT = bytes(range(0x20, 0x7F)) + b"\t\n\r"
_TOLD = 60  # characters of what came that are shown
_IMPORT = "import it on the appliance with `tinkbox image import`, which turns it into a system image"
_FORMATS = {
    b"QFI\xfb": f"a qcow2 image, not a raw disk: {_IMPORT}",
    b"KDMV": "a VMDK image, not a raw disk: convert it with `qemu-img convert -O raw`",
    b"vhdxfile": "a VHDX image, not a raw disk: convert it with `qemu-img convert -O raw`",
    b"conectix": "a VHD image, not a raw disk: convert it with `qemu-img convert -O raw`",
    b"PK\x03\x04": "a zip archive, not a disk image: unpack it first",
}


def refuse_web_page(url: str, content_type: str, kind: str, start: bytes, *, suffix_counts: bool = True) -> None:
    """Raises Failure for what a server sends instead of the image at `url`.

    `kind` is the compression that `start`, the first bytes as they came, was found to have.  Without `suffix_counts`
    the address may end like that of a compressed image and lead to a raw one, and all is taken that is no web page.
    """
    if kind:
        return
    start = start[:LONGEST]
    named = content_type.partition(";")[0].strip().lower()
    sent = f"the server sent {_shown(named)}, which begins with {_shown(start[:_TOLD].decode(errors='replace'))}"
    if _PAGE.match(start) or (named in _PAGE_TYPES and not has_partition_table(start)):
        raise Failure("NotAnImage", f"{url} is a web page, not a disk image: {sent}")
    words = named in _DATA_TYPES or (named.startswith("text/") and not start.translate(None, _TEXT))
    if suffix_counts and words and not has_partition_table(start):
        raise Failure("NotAnImage", f"{url} is no disk image: {sent}")
    for suffix, expected in _SUFFIXES.items() if suffix_counts else ():
        if urlsplit(url).path.lower().endswith(suffix):
            raise Failure(
                "ImageDamaged",
                f"{url} ends with {suffix}, but this is no {expected} stream: {sent}",
                "Open the address with curl and look at what the server sends",
            )


def _shown(text: str) -> str:
    """What a server sent, as a short quotation; nothing of it steers a terminal."""
    return (
        repr("".join(letter if letter.isprintable() else " " for letter in text)[:_TOLD].strip()) if text else "no type"
    )


def refuse_other_formats(start: bytes) -> None:
    """Raises Failure for a disk image that is not raw; `start` are its first bytes, uncompressed."""
    for magic, name in _FORMATS.items():
        if start.startswith(magic):
            raise Failure("NotAnImage", f"this is {name}")
    if start[257:262] == b"ustar":
        raise Failure("NotAnImage", "this is a tar archive, not a disk image: unpack it first")


def has_partition_table(start: bytes) -> bool:
    """Whether a disk that begins so has an MBR or a GPT."""
    return start[510:512] == b"\x55\xaa" or start[512:520] == b"EFI PART" or start[4096:4104] == b"EFI PART"
