"""A workflow's ephemeral data as bytes: a tar of regular files, directories and symbolic links.

The same files make the same bytes, so that what did not change need not travel.  Archives come from
other machines: what would leave the folder, devices, and absurd sizes are refused.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES, MAX_DEPTH

_HEADER: Final = 512
# In bytes.  Linux takes paths of up to 4095, to which the folder that it is written below belongs (limits.h).
_MAX_PATH: Final = 3072
_MAX_NAME: Final = 255
_MAX_LINK: Final = 4095
# Where a header says what it is, and those that belong to the next one: pax's and GNU's for a long name or link.
_TYPE: Final = slice(156, 157)
_LONGER: Final = frozenset({tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK})
_NEVER: Final = frozenset({tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_SPARSE})
_MAX_LONGER: Final = 4 * 4096
_SPARSE: Final = b" GNU.sparse."


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
    entries: list[Entry] = []
    for path, header, tar in _members(archive):
        if header.issym():
            entries.append(Entry(path=path, link=header.linkname))
        elif header.isdir():
            entries.append(Entry(path=path, mode=header.mode & 0o777))
        else:
            reader = tar.extractfile(header)
            content = reader.read() if reader else b""
            entries.append(Entry(path=path, mode=header.mode & 0o777, content=content))
    return entries


def check(archive: bytes) -> None:
    """Raise what `decode` would raise, without having the files in memory."""
    if archive:
        for _ in _members(archive):
            pass


def _members(archive: bytes) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    """What is in an archive, each with its path; raises Invalid or TooLarge."""
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise TooLarge(
            f"the archive of the ephemeral data is {len(archive)} bytes, at most {MAX_ARCHIVE_BYTES} are kept"
        )
    ends: set[str] = set()
    folders: list[str] = []
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:", tarinfo=_Header) as tar:
            for header in tar:
                path = _path_of(header)
                # A sparse file says a size that its few bytes in the archive do not show.
                total += header.size
                if total > MAX_DATA_BYTES:
                    raise TooLarge(f"the ephemeral data exceeds {MAX_DATA_BYTES} bytes with {path}")
                if not (header.isreg() or header.isdir() or header.issym()):
                    raise Invalid(f"ephemeral data: {path} is neither file, directory nor link")
                if path.count("/") + header.isdir() > MAX_DEPTH:
                    raise Invalid(f"ephemeral data: folders are nested more than {MAX_DEPTH} deep: {path[:100]}…")
                if header.isdir():
                    folders.append(path)
                elif path in ends:
                    # Written again, a link would lead what is written out of the folder.
                    raise Invalid(f"ephemeral data: {path[:100]!r} is there twice")
                else:
                    ends.add(path)
                yield path, header, tar
                header.pax_headers = {}  # tarfile keeps every header
    except (tarfile.TarError, OSError, ValueError, EOFError) as error:
        raise Invalid(f"ephemeral data: not an archive: {error}") from None
    for path in (*ends, *folders):
        if not ends.isdisjoint(_folders(path)):
            raise Invalid(f"ephemeral data: {path[:100]!r} is said to be in what is no folder")
    if not ends.isdisjoint(folders):
        raise Invalid("ephemeral data: what is a folder is said to be none as well")


class _Header(tarfile.TarInfo):
    """A header, and before it those that say what does not fit into it.

    Of a few megabytes in them, or of the map of a sparse file, tarfile makes a hundred.
    """

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        cls._look(tarfile)
        return super().fromtarfile(tarfile)

    @classmethod
    def _fromtarfile(cls, tarfile: tarfile.TarFile, **more: bool) -> Self:
        # Since Python's mends of 2025 a header that follows another one is read by this.
        cls._look(tarfile)
        return super()._fromtarfile(tarfile, **more)  # type: ignore[misc,no-any-return]

    @classmethod
    def _look(cls, tarfile: tarfile.TarFile) -> None:
        """Raise Invalid for a header that comes, when it is none of an archive that we take."""
        file = tarfile.fileobj
        assert file is not None
        at = file.tell()
        said = file.read(_HEADER)
        if said[_TYPE] in _NEVER:
            raise Invalid("ephemeral data: the archive has a header for all files, or a sparse file")
        size = cls.frombuf(said, tarfile.encoding or "utf-8", tarfile.errors or "strict").size
        if size < 0:
            # tarfile would go back by as much and find the same headers for ever, or take this for the end.
            raise Invalid(f"ephemeral data: a file of {size} bytes")
        if said[_TYPE] in _LONGER:
            if size > _MAX_LONGER:
                raise Invalid(
                    f"ephemeral data: a header of the archive has {size} bytes, at most {_MAX_LONGER} are taken"
                )
            if _SPARSE in file.read(size):
                raise Invalid("ephemeral data: the archive has a sparse file")
        file.seek(at)


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


def _path_of(header: tarfile.TarInfo) -> str:
    """Where a member is to be written; raises Invalid for what would leave the folder, or what no system takes."""
    name, link = header.name, header.linkname
    path = "/".join(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in path.split("/") or not path or "\0" in name:
        raise Invalid(f"ephemeral data: {name[:100]!r} would leave its folder")
    if _bytes(path) > _MAX_PATH or max(map(_bytes, path.split("/"))) > _MAX_NAME:
        raise Invalid(
            f"ephemeral data: {name[:100]!r}… cannot be written: a name has at most {_MAX_NAME} bytes, a path {_MAX_PATH}"
        )
    if header.issym() and (not link or "\0" in link or _bytes(link) > _MAX_LINK):
        raise Invalid(f"ephemeral data: the link {path[:100]!r} cannot be written: it leads to 1 to {_MAX_LINK} bytes")
    return path


def _bytes(name: str) -> int:
    return len(name.encode(errors="surrogateescape"))
