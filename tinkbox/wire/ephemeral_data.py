"""A workflow's ephemeral data as bytes: a tar of regular files, directories and symbolic links.

The same files make the same bytes, so that what did not change need not travel.  Archives come from
other machines: what would leave the folder, devices, and absurd sizes are refused.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES

_HEADER: Final = 512
_MAX_NAME: Final = 4096  # Linux takes no longer path


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
    if buffer.tell() > MAX_ARCHIVE_BYTES:
        raise _too_large(sizes)
    return buffer.getvalue()


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Raise TooLarge, naming the largest files, when files of these sizes make no archive that is kept."""
    if sum(sizes.values()) > MAX_DATA_BYTES or len(sizes) * _HEADER > MAX_ARCHIVE_BYTES:
        raise _too_large(sizes)


def decode(archive: bytes) -> list[Entry]:
    """The files of an archive, safe to write below a folder.  Raises Invalid or TooLarge."""
    if not archive:
        return []
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise TooLarge(
            f"the archive of the ephemeral data is {len(archive)} bytes, at most {MAX_ARCHIVE_BYTES} are kept"
        )
    entries: list[Entry] = []
    ends: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for header in tar:
                path = _inside(header.name, ends)
                # A sparse file says a size that its few bytes in the archive do not show.
                total += header.size
                if total > MAX_DATA_BYTES:
                    raise TooLarge(f"the ephemeral data exceeds {MAX_DATA_BYTES} bytes with {path}")
                if not header.isdir():
                    ends.add(path)
                if header.issym():
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


def fingerprint(entry: Entry) -> str:
    """What tells a file from what may be, or may have been, at its path."""
    content = b"" if entry.content is None else b"%d:" % len(entry.content) + entry.content
    link = b"" if entry.link is None else b">" + entry.link.encode(errors="surrogateescape")
    return hashlib.sha256(b"%o " % entry.mode + link + b"\0" + content).hexdigest()[:32]


def overlaid(below: Iterable[Entry], above: Iterable[Entry]) -> list[Entry]:
    """Both folders in one: where they disagree, `above` is right, also about what is a folder and what is not."""
    files = {entry.path: entry for entry in above}
    folders = {folder for path in files for folder in _folders(path)}
    ends = {path for path, entry in files.items() if not _is_folder(entry)}
    for entry in below:
        blocked = entry.path in folders and not _is_folder(entry)
        if not blocked and ends.isdisjoint(_folders(entry.path)):
            files.setdefault(entry.path, entry)
    return list(files.values())


def _is_folder(entry: Entry) -> bool:
    return entry.content is None and entry.link is None


def _folders(path: str) -> Iterator[str]:
    """Every folder that the path is in."""
    parts = path.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _too_large(sizes: Mapping[str, int]) -> TooLarge:
    largest = sorted(sizes, key=lambda path: sizes[path], reverse=True)[:3]
    named = ", ".join(f"{path} ({sizes[path]} bytes)" for path in largest)
    return TooLarge(
        f"the ephemeral data is {sum(sizes.values())} bytes in {len(sizes)} files, at most {MAX_DATA_BYTES} bytes are "
        f"kept, {MAX_ARCHIVE_BYTES} as an archive; largest: {named}"
    )


def _inside(name: str, ends: set[str]) -> str:
    path = "/".join(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in path.split("/") or not path or "\0" in name or len(name) > _MAX_NAME:
        raise Invalid(f"ephemeral data: {name[:100]!r} would leave its folder")
    if not ends.isdisjoint(_folders(path)):
        raise Invalid(f"ephemeral data: {name[:100]!r} is said to be in what is no folder")
    return path
