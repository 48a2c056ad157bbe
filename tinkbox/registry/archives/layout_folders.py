"""OCI layouts in folders, such as one on a disk that is carried to another site: what one holds, and what is added to it.

A blob has its name when it is whole and has its digest; one that was broken off lies in `.incoming`, and is resumed there.  What
a folder says was written by others: a digest leads to a file in it alone, and no link is followed.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from tinkbox.folder_sync import sync_folder
from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Unavailable
from tinkbox.model.images.references import ALGORITHMS, DIGEST, algorithm_of, digest_of
from tinkbox.registry.archives.oci_index import REF_NAME, Listing, blob_name, listing_of, written_with
from tinkbox.registry.archives.writing import INDEX, LAYOUT_FILE, OCI_LAYOUT, Saved, checked, index_entry
from tinkbox.registry.blobs.blobs import PIECE
from tinkbox.registry.manifests.image_trees import ImageTree, refuse_other, tree_of
from tinkbox.registry.manifests.manifests import MAX_LISTED, MAX_MANIFEST, OCI_INDEX, Descriptor, parse_manifest

INCOMING: Final = ".incoming"
_ASIDE: Final = f"{INDEX}.damaged"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
# A blob from some byte on.
Content = Callable[[str, int], AsyncIterator[bytes]]


class Unwritable(Unavailable):
    """The folder's disk takes nothing more."""


class LayoutFolder:
    """One of them, by its path; making it touches nothing."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def images(self) -> tuple[Descriptor, ...]:
        """What its index lists, with annotations; raises Invalid for a folder that is no layout, and for a damaged index."""
        try:
            with self._open(INDEX) as file:
                content = file.read(MAX_MANIFEST + 1)
        except NotFound:
            raise Invalid(
                f"{self._root} is no OCI layout, for it has no {INDEX}: name a folder that `tinkbox image export` or "
                "`skopeo copy … oci:DIR` made, or an archive"
            ) from None
        try:
            return parse_manifest(content, OCI_INDEX).manifests
        except Invalid as error:
            raise Invalid(
                f"{self._root}/{INDEX} is damaged ({error}): export the images into {self._root} again, which makes a new one"
            ) from None

    def listing(self) -> Listing:
        """The same, with what refers to what; raises as `images`."""

        def content(listed: Descriptor) -> bytes:
            try:
                found = self._manifest(listed)
                refuse_other(listed.digest, digest_of(found, algorithm_of(listed.digest)).partition(":")[2])
            except (NotFound, Unavailable):  # is told when it is taken
                return b""
            return found

        return listing_of(self.images(), content)

    def place(self, digest: str) -> Path:
        """Where the folder has a blob, or would have it; raises Invalid for what is no digest."""
        return self._root / _file_of(digest)

    async def tree(self, listed: Descriptor) -> ImageTree:
        """What an image of the index consists of; raises as `tree_of`, and NotFound where manifests of it went since it was exported.

        Likewise where nothing is there of what an index lists, unless its writer tells that it was so.
        """
        tree = await tree_of(listed, self._read)
        lost = written_with(listed) - len(tree.manifests)
        if lost > 0:
            members = {each.digest: each for _, manifest in tree.manifests.values() for each in manifest.manifests}
            lacking = [blob_name(each) for each in members if not self.place(each).exists()]
            told = lacking[0] if len(lacking) == 1 else f"{lost} of {written_with(listed)} manifests"
            raise NotFound(f"{self._root} lacks {told}: export it again")
        if not written_with(listed):  # nobody tells that it was sparse when it was written
            for digest, (_, manifest) in tree.manifests.items():
                if manifest.manifests and not any(self.place(each.digest).exists() for each in manifest.manifests):
                    raise NotFound(f"{self._root} lacks everything that its index {digest} lists: write it again")
        return tree

    async def whole_tree(self, listed: Descriptor) -> ImageTree:
        """The same of what is small, such as a signature; raises Damaged, or NotFound, also where a blob of it is."""
        tree = await self.tree(listed)
        for digest, size in tree.needed.items():
            async for _ in checked(digest, size, self.blob(digest)):
                pass
        return tree

    async def _read(self, listed: Descriptor) -> bytes:
        """A manifest; raises NotFound."""
        return self._manifest(listed)

    def _manifest(self, listed: Descriptor) -> bytes:
        with self._open(_file_of(listed.digest)) as file:
            return file.read(MAX_MANIFEST + 1)

    async def blob(self, digest: str) -> AsyncIterator[bytes]:
        """A blob; raises NotFound."""
        with self._open(_file_of(digest)) as file:
            while piece := file.read(PIECE):
                yield piece

    @contextmanager
    def growing(self) -> Iterator[Sequence[Problem]]:
        """What is added is added meanwhile: the folder is made, and is nobody else's; gives what a person is told of it.

        An index that is damaged is put aside, for a new one of what is added.
        Raises Conflict for a folder of something else, and where somebody else adds to it.
        """
        with self._told():
            self._root.mkdir(parents=True, exist_ok=True)
            place = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._lock(place)
            with self._told():
                for name in ("blobs", *(f"blobs/{each}" for each in ALGORITHMS), INCOMING):
                    if (self._root / name).is_symlink():
                        raise Conflict(f"{self._root / name} is a link: name a folder that an export made")
                if not (self._root / LAYOUT_FILE).exists():
                    if any(self._root.iterdir()) and not self._is_layout():
                        raise Conflict(f"{self._root} has other files: name a new folder, or one of an earlier export")
                    self._write(LAYOUT_FILE, OCI_LAYOUT)
                notes = self._put_damaged_aside()
            yield notes
        finally:
            os.close(place)

    def _is_layout(self) -> bool:
        """Whether it is one in which only `oci-layout` is missing; its blobs and its index tell."""
        try:
            return bool(self.images()) and (self._root / "blobs").is_dir()
        except (Invalid, Unavailable):
            return False

    def _put_damaged_aside(self) -> Sequence[Problem]:
        try:
            self.images()
        except Invalid:
            if not os.path.lexists(self._root / INDEX):
                return []
            (self._root / INDEX).replace(self._root / _ASIDE)
            sync_folder(self._root)
            return [
                Problem(
                    text=f"{self._root}/{INDEX} was damaged, and is {_ASIDE} now: the new one lists the images that are exported "
                    "from now on, so export all that belong there"
                )
            ]
        return []

    async def add(self, image: Saved, content: Content, arrived: Callable[[int], None]) -> None:
        """Add an image, of its blobs those that are missing; `arrived` hears of bytes that need not come any more.

        What is here already is hashed.  Raises Unavailable for what is not what its digest says, Unwritable where the disk is full
        or fails.
        """
        tree = image.tree
        for digest, size in tree.sizes.items():
            with self._told():
                await self._take(tree, digest, size, content)
            arrived(size)
        with self._told():
            self._list(image)

    async def _take(self, tree: ImageTree, digest: str, size: int, content: Content) -> None:
        place = self.place(digest)
        if self._holds(place, digest, size):
            return
        if digest in tree.manifests:
            self._write(_file_of(digest), tree.manifests[digest][0])
            return
        part = self._root / INCOMING / digest.replace(":", "-")
        self._make(part.parent)
        try:
            await self._fetch(part, digest, size, content)
        except NotFound as error:
            part.unlink(missing_ok=True)
            if digest in tree.needed:
                raise Unavailable(str(error)) from None
            return
        self._make(place.parent)
        part.replace(place)
        sync_folder(place.parent)

    async def _fetch(self, part: Path, digest: str, size: int, content: Content) -> None:
        """Fetch what is missing of a blob, and check all of it."""
        hashed = hashlib.new(digest.partition(":")[0])
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644), "r+b") as file:
            while piece := file.read(PIECE):
                hashed.update(piece)
            done = file.tell()
            if done < size or size == 0:
                async for piece in content(digest, done):
                    file.write(piece)
                    hashed.update(piece)
            file.flush()
            os.fsync(file.fileno())
        try:
            refuse_other(digest, hashed.hexdigest())
        except Unavailable:
            part.unlink()
            raise

    def _holds(self, place: Path, digest: str, size: int) -> bool:
        try:
            with _opened(place) as file:
                if os.fstat(file.fileno()).st_size != size:
                    return False
                return hashlib.file_digest(file, digest.partition(":")[0]).hexdigest() == digest.partition(":")[2]
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):  # nothing, or a link, whose place the blob takes
                return False
            raise

    def _list(self, image: Saved) -> None:
        """Name an image in the index, in the place of what had its name."""
        document: dict[str, Any] = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}
        if (self._root / INDEX).exists():
            self.images()  # refuses what was damaged meanwhile
            with self._open(INDEX) as file:
                document = read_json(file.read())
        entry = index_entry(image)
        document["manifests"] = [each for each in document["manifests"] if not _takes_place(entry, each)] + [entry]
        content = json.dumps(document, indent=1).encode()
        if len(content) > MAX_MANIFEST or len(document["manifests"]) > MAX_LISTED:
            raise Invalid(
                f"{self._root}/{INDEX} would list more than {MAX_LISTED} images and signatures, or have more than {MAX_MANIFEST} "
                "bytes: use another folder as well"
            )
        self._write(INDEX, content)

    def _write(self, name: str, content: bytes) -> None:
        place, part = self._root / name, self._root / INCOMING / Path(name).name
        self._make(part.parent)
        self._make(place.parent)
        part.unlink(missing_ok=True)
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
        sync_folder(place.parent)

    def _make(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    def _lock(self, place: int) -> None:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another export writes into {self._root}: wait until it is done") from None
        except OSError:
            return  # a file system without locks

    def _open(self, name: str) -> BufferedReader:
        try:
            return _opened(self._root / name)
        except FileNotFoundError:
            raise NotFound(f"{self._root} lacks {name}: export it again") from None
        except OSError as error:
            raise Unavailable(f"cannot read {self._root}/{name}: {error.strerror}") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns an error of the disk into Unavailable."""
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise Unwritable(
                    f"the disk of {self._root} is full: make room, and type the same again: it resumes where it stopped"
                ) from None
            if error.errno == errno.EFBIG:
                raise Unwritable(
                    f"the file system of {self._root} takes no file so large: use another one, such as ext4 or exFAT"
                ) from None
            raise Unwritable(f"cannot write to {error.filename or self._root}: {error.strerror}") from None


def _file_of(digest: str) -> str:
    if not DIGEST.match(digest):
        raise Invalid(f"not a sha256 or sha512 digest: {digest[:140]!r}")
    return blob_name(digest)


def _opened(path: Path) -> BufferedReader:
    """A regular file; raises FileNotFoundError for what is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "no regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _takes_place(new: Any, old: Any) -> bool:
    """Whether an entry of the index stands for another: it has the same name, or neither has one and they are the same."""
    name, other = ((each.get("annotations") or {}).get(REF_NAME, "") for each in (new, old))
    return bool(name == other and (name or new["digest"] == old["digest"]))
