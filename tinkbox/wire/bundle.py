"""A workflow's ephemeral data as bytes: a tar of regular files, directories and symbolic links.

The same files make the same bytes, so that what did not change need not travel.  Archives come from
other machines: what would leave the folder, devices, and absurd sizes are refused.
"""

import io
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid, TooLarge

MAX_BYTES: Final = 10 * 1024 * 1024
# Each file takes a header, padding, and at times a header for what does not fit into the first.
MAX_ARCHIVE: Final = 12 * 1024 * 1024
_HEADER: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file: `content` for a regular file, `link` for a symbolic link, neither for a directory."""

    path: str
    mode: int = 0o644
    content: bytes | None = None
    link: str | None = None


def encode(entries: Iterable[Entry]) -> bytes:
    """The archive; raises TooLarge, naming the largest files, when contents or archive exceed their limit."""
    listed = sorted(entries, key=lambda entry: entry.path)
    if not listed:
        return b""
    sizes = {entry.path: len(entry.content or b"") for entry in listed}
    check_sizes(sizes)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in listed:
            header = tarfile.TarInfo(entry.path)
            header.mode = entry.mode
            if entry.link is not None:
                header.type, header.linkname = tarfile.SYMTYPE, entry.link
            elif entry.content is None:
                header.type = tarfile.DIRTYPE
            else:
                header.size = len(entry.content)
            tar.addfile(header, io.BytesIO(entry.content or b""))
    if buffer.tell() > MAX_ARCHIVE:
        raise _too_large(sizes)
    return buffer.getvalue()


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Raise TooLarge, naming the largest files, when files of these sizes make no archive that is kept."""
    if sum(sizes.values()) > MAX_BYTES or len(sizes) * _HEADER > MAX_ARCHIVE:
        raise _too_large(sizes)


def decode(archive: bytes) -> list[Entry]:
    """The files of an archive, safe to write below a folder.  Raises Invalid or TooLarge."""
    if not archive:
        return []
    if len(archive) > MAX_ARCHIVE:
        raise TooLarge(f"the archive of the ephemeral data is {len(archive)} bytes, at most {MAX_ARCHIVE} are kept")
    entries: list[Entry] = []
    links: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for header in tar:
                path = _inside(header.name, links)
                # A sparse file says a size that its few bytes in the archive do not show.
                total += header.size
                if total > MAX_BYTES:
                    raise TooLarge(f"the ephemeral data exceeds {MAX_BYTES} bytes with {path}")
                if header.issym():
                    links.add(path)
                    entries.append(Entry(path=path, link=header.linkname))
                elif header.isdir():
                    entries.append(Entry(path=path, mode=header.mode & 0o777))
                elif header.isreg():
                    reader = tar.extractfile(header)
                    content = reader.read() if reader else b""
                    entries.append(Entry(path=path, mode=header.mode & 0o777, content=content))
                else:
                    raise Invalid(f"ephemeral data: {path} is neither file, directory nor link")
    except (tarfile.TarError, OSError, ValueError, EOFError) as error:
        raise Invalid(f"ephemeral data: not an archive: {error}") from None
    return entries


def _too_large(sizes: Mapping[str, int]) -> TooLarge:
    largest = sorted(sizes, key=lambda path: sizes[path], reverse=True)[:3]
    named = ", ".join(f"{path} ({sizes[path]} bytes)" for path in largest)
    return TooLarge(
        f"the ephemeral data is {sum(sizes.values())} bytes in {len(sizes)} files, at most {MAX_BYTES} bytes are kept, "
        f"{MAX_ARCHIVE} as an archive; largest: {named}"
    )


def _inside(name: str, links: set[str]) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    if name.startswith("/") or ".." in parts or not parts or "\0" in name or above & links:
        raise Invalid(f"ephemeral data: {name[:100]!r} would leave its folder")
    return "/".join(parts)
