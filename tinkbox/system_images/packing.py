"""Packing: a disk image's file in, an OCI archive out."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID, uuid5

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.images.references import TAG
from tinkbox.model.images.system_image import (
    FRAME,
    ID,
    LATEST,
    MAX_DISK,
    MAX_ID,
    MAX_WORDS,
    SOURCE_DIGEST,
    USER,
    USER_FORM,
    USUAL_MAX_DISK,
    About,
    Architecture,
    Compression,
    Config,
    Format,
    Progress,
    Source,
    Stage,
    SystemImage,
)
from tinkbox.model.sizes import show_size
from tinkbox.model.text import one_line
from tinkbox.system_images.frames import Frames, Piece, too_large
from tinkbox.system_images.layout import Layout
from tinkbox.system_images.reading_process import Content, opened
from tinkbox.system_images.recognition import (
    FOOTER_SIZE,
    QCOW,
    START,
    compression_of,
    firmware_of,
    format_of,
    refuse_cut,
    refuse_footer,
    refuse_no_disk,
)
from tinkbox.system_images.room import require, require_folder, room_needed, whole_file
from tinkbox.wire.disk.bootable_disk import FIND_SYSTEM, Loaders, disk, disk_size
from tinkbox.wire.system_images import digest_of, encode_block_map, encode_config, index_text, manifest_text

Said = Callable[[Progress], None]
_HASHED: Final = 4 << 20
# How large zstd's frames become of a disk, and of what was compressed harder; and how large a disk becomes of that.
_PACKED, _LOOSER, _UNPACKED = 0.5, 1.5, 3.0
_SECTOR: Final = 512
# Of which the identities of disks are made that are made of tars, with the tar's digest: the same tar is the same disk.
_IDENTITIES: Final = UUID("3d0a4e0e-52c6-4c0a-9a37-7a1c0c3f5b11")
# On UEFI alone, what update-grub of GRUB 2.12 writes asks fwsetup by an option whether it is there.  The GRUB of Debian 12, which may
# be ours, knows no option, and would go to the firmware's setup at once.
_ESP_GRUB_CFG: Final = FIND_SYSTEM + "set grub_platform=\nconfigfile ($root)/boot/grub/grub.cfg\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What is packed, where it may lie meanwhile, and who is told."""

    name: str
    scratch: Path
    max_disk: int
    said: Said
    loaders: Callable[[], Loaders] | None


def pack(
    source: Path,
    about: About,
    output: Path,
    *,
    scratch: Path,
    said: Said,
    max_disk: int = USUAL_MAX_DISK,
    loaders: Callable[[], Loaders] | None = None,
) -> SystemImage:
    """Make the OCI archive `output` of the disk image `source`; blocks until it is done, and says how far it is.

    `scratch` is a folder for what has to lie on the disk meanwhile.  `loaders` gives what a disk starts with that is made of a
    tar; without them a tar is refused.  Raises Invalid for what is no disk image, or not the one
    that `about.source` tells of, TooLarge above `max_disk` raw bytes, NotFound, and Unavailable where there is no room or the file cannot be read.
    """
    check_names(about)
    require_folder(scratch)
    require_folder(output.parent)
    task = _Task(name=source.name, scratch=scratch, max_disk=min(max_disk, MAX_DISK), said=said, loaders=loaders)
    with _file(source) as file:
        before = os.fstat(file.fileno())
        start = _read(file, START, 0, task.name)
        compression = compression_of(start)
        # Said before anything is read for minutes.  Only a qcow2 has a little more than its disk.
        if before.st_size > task.max_disk + (task.max_disk >> 3 if start.startswith(QCOW) else 0):
            raise too_large(task.max_disk)
        if compression is Compression.NONE:
            format_of(start, task.name)
        known = _checked(file, before.st_size, about.source, task)
        taken = min(before.st_size, before.st_blocks * 512 or before.st_size)
        with whole_file(output) as archive:
            if compression is Compression.NONE:
                kind = format_of(start, task.name)
                if kind is Format.RAW:
                    refuse_footer(_read(file, FOOTER_SIZE, max(0, before.st_size - FOOTER_SIZE), task.name), task.name)
                require(output.parent, int(taken * _PACKED))
                image = _opened(file, kind, _filled(about, known, kind, compression), archive, task)
            else:
                require(output.parent, int(taken * _LOOSER))
                image = _decompressed(file, before.st_size, compression, about, known, archive, task)
            after = os.fstat(file.fileno())
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise Invalid(f"{task.name} changed while it was read: import it again when nothing writes to it")
    return image


def check_names(about: About) -> None:
    """Raise Invalid for an id, a version or a default user that the registry does not keep."""
    if not ID.match(about.id) or len(about.id) > MAX_ID:
        raise Invalid(
            f"{about.id[:100]!r} is no id of an image: write lower case, digits and dashes, such as lab-debian"
        )
    if not TAG.match(about.version) or about.version == LATEST:
        raise Invalid(
            f"{about.version[:100]!r} is no version of an image: write letters, digits, dots and dashes, such as 20261101"
        )
    if about.default_user and not USER.match(about.default_user):
        raise Invalid(f"{about.default_user[:100]!r} is no name of a user: write {USER_FORM}, such as debian")


def _read(file: BinaryIO, length: int, place: int, name: str) -> bytes:
    """Raises Unavailable where the disk that it lies on does not give it."""
    try:
        return os.pread(file.fileno(), length, place)
    except OSError as error:
        raise Unavailable(f"{name} cannot be read: {error.strerror}: the disk that it lies on may be faulty") from None


def _file(path: Path) -> BinaryIO:
    try:
        # A pipe without a writer would never be opened.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}: name the file of a disk image") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotFound(f"{path} is no regular file: copy the disk into one first")
    return os.fdopen(handle, "rb")


def _checked(file: BinaryIO, size: int, told: Source, task: _Task) -> Source:
    """The source with its digest and its size; raises Invalid where they are not those that were told."""
    if told.digest and not SOURCE_DIGEST.match(told.digest):
        raise Invalid(f"{told.digest[:150]!r} is no digest: write sha256: or sha512: and its hexadecimal digits")
    if told.size and told.size != size:
        raise Invalid(f"{task.name} has {size} bytes, and should have {told.size}: download it again")
    algorithm = told.digest.partition(":")[0] or "sha256"
    hashing, place = hashlib.new(algorithm), 0
    while piece := _read(file, _HASHED, place, task.name):
        hashing.update(piece)
        place += len(piece)
        task.said(Progress(stage=Stage.CHECKING, done=place, total=size))
    digest = f"{algorithm}:{hashing.hexdigest()}"
    if told.digest and told.digest != digest:
        raise Invalid(
            f"{task.name} is not what it should be: its digest is {digest}, not {told.digest}; download it again"
        )
    return replace(told, digest=digest, size=size)


def _decompressed(
    file: BinaryIO, size: int, compression: Compression, about: About, known: Source, archive: BinaryIO, task: _Task
) -> SystemImage:
    """Pack what a compressed file holds: a raw disk as it comes, a qcow2 from the scratch folder, for it is read in any order."""
    with opened(file, compression, task.name) as content:
        # The process reads by the same open file, so where that is tells how far it is.
        pieces = _telling(
            content.pieces, Stage.UNPACKING, size, task, lambda _: os.lseek(file.fileno(), 0, os.SEEK_CUR)
        )
        start, pieces = _peek(pieces, START)
        kind = format_of(start, task.name)
        if kind is Format.RAW:
            filled = _filled(about, known, kind, compression)
            return _packed(Content(0, pieces), filled, archive, replace(task, said=_unheard))
        require(task.scratch, int(size * _UNPACKED))
        with tempfile.TemporaryFile(dir=task.scratch) as spool:
            with room_needed(task.scratch):
                _spool(pieces, spool, task)
            return _opened(spool, kind, _filled(about, known, kind, compression), archive, task)


def _opened(file: BinaryIO, kind: Format, about: About, archive: BinaryIO, task: _Task) -> SystemImage:
    """Pack what is in a file that is not compressed."""
    if kind is not Format.TAR:
        with opened(file, kind, task.name) as content:
            return _packed(content, about, archive, task)
    if task.loaders is None:
        raise Invalid(f"{task.name} is a tar, not a disk: `tinkbox image import` makes a disk of a root file system")
    if about.architecture is not Architecture.X86_64:
        raise Invalid(
            f"{task.name} is a tar, and disks are made of tars of {Architecture.X86_64} systems only: "
            "import the disk image (qcow2 or raw) of that system"
        )
    loaders = task.loaders()
    with opened(file, kind, task.name, identity=uuid5(_IDENTITIES, about.source.digest)) as root:
        found = root.found
        assert found is not None
        if disk_size(root.size) > task.max_disk:
            raise too_large(task.max_disk)
        configured = _ESP_GRUB_CFG.format(file_system=found.file_system).encode()
        loaders = replace(loaders, efi={**loaders.efi, "grub/grub.cfg": configured})
        made = disk(root.pieces, root.size, found.identities, loaders)
        image = _packed(Content(disk_size(root.size), made), about, archive, task)
    return replace(image, warnings=[one_line(each, MAX_WORDS) for each in found.warnings])


def _spool(pieces: Iterator[Piece], spool: BinaryIO, task: _Task) -> None:
    written = 0
    for piece in pieces:
        written += piece if isinstance(piece, int) else len(piece)
        if written > task.max_disk:
            raise too_large(task.max_disk)
        if isinstance(piece, int):
            spool.seek(written)  # a hole
        else:
            spool.write(piece)
    spool.truncate(written)


def _packed(content: Content, about: About, archive: BinaryIO, task: _Task) -> SystemImage:
    if content.size > task.max_disk:
        raise too_large(task.max_disk)
    start, pieces = _peek(content.pieces, FRAME)
    refuse_no_disk(start, task.name)
    pieces = _telling(pieces, Stage.PACKING, content.size, task, lambda done: done)
    layout = Layout(archive)
    layout.begin()
    workers = len(os.sched_getaffinity(0))
    with Frames(layout.write, workers=workers, max_disk=task.max_disk) as frames:
        block_map = frames.take(pieces)
    disk = layout.end()
    size = block_map.raw.size
    if content.size and size != content.size:
        raise Invalid(f"{task.name} is damaged: its disk has {size} bytes, and should have {content.size}")
    refuse_cut(start, size, task.name)
    about = replace(
        about,
        firmware=tuple(about.firmware) or firmware_of(start),
        least_disk=max(about.least_disk, -(-size // _SECTOR) * _SECTOR),
    )
    config = Config(about=about, raw=block_map.raw)
    return _closed(layout, config, disk, encode_block_map(block_map), frames.filled)


def _closed(layout: Layout, config: Config, disk: tuple[str, int], block_map: bytes, filled: int) -> SystemImage:
    about, written = config.about, encode_config(config)
    layout.add_blob(written)
    layout.add_blob(block_map)
    manifest = manifest_text(
        written,
        disk,
        block_map,
        {
            "org.opencontainers.image.title": about.title or about.id,
            "org.opencontainers.image.version": about.version,
        },
    )
    layout.add_blob(manifest)
    layout.close(index_text(manifest, (f"{about.id}:{about.version}", f"{about.id}:{LATEST}")))
    return SystemImage(config=config, digest=digest_of(manifest), stored=layout.stored, written=filled)


def _filled(about: About, known: Source, kind: Format, compression: Compression) -> About:
    """What is known, with what was found; texts become such as the image's readers take."""
    source = replace(
        known,
        format=kind,
        compression=compression,
        url=one_line(known.url, MAX_WORDS),
        file=one_line(known.file, MAX_WORDS),
        signer=one_line(known.signer, MAX_WORDS),
    )
    return replace(
        about,
        title=one_line(about.title, MAX_WORDS) or about.id,
        licence=one_line(about.licence, MAX_WORDS),
        source=source,
    )


def _peek(pieces: Iterator[Piece], amount: int) -> tuple[bytes, Iterator[Piece]]:
    """The first bytes, and all pieces."""
    held: list[Piece] = []
    start = bytearray()
    for piece in pieces:
        held.append(piece)
        start += bytes(min(piece, amount)) if isinstance(piece, int) else piece
        if len(start) >= amount:
            break

    def everything() -> Iterator[Piece]:
        yield from held
        held.clear()
        yield from pieces

    return bytes(start[:amount]), everything()


def _telling(
    pieces: Iterator[Piece], stage: Stage, total: int, task: _Task, shown: Callable[[int], int]
) -> Iterator[Piece]:
    """The same pieces; how far they are is told."""
    done = told = 0
    for piece in pieces:
        yield piece
        done += piece if isinstance(piece, int) else len(piece)
        if done - told >= FRAME:
            told = done
            task.said(Progress(stage=stage, done=shown(done), total=total))


def _unheard(_: Progress) -> None:
    return None


def described(image: SystemImage) -> str:
    """An image in one line: its name, its digest, how large its disk is, and in how much it is kept."""
    raw = image.config.raw
    return f"{image.reference} ({image.digest}, {show_size(raw.size)} in {show_size(image.stored)})"
