"""What the commands share that carry images from one place to another: appliances, archives and folders."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.output.formats import show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid, NotFound, Unavailable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tinkbox.client.operator import Operator
    from tinkbox.client.operator.connection import Document
    from tinkbox.model.images.references import Reference
    from tinkbox.registry.archives.writing import Content, Saved
    from tinkbox.registry.manifests.image_trees import ImageTree
    from tinkbox.registry.manifests.manifests import Descriptor

STANDARD = Path("-")
_MAGIC = 4


@dataclass(slots=True)
class LeftBehind:
    """Tells of what refers to an image, such as a signature, and is damaged: the image goes without it, and that is no success.

    `number` is how many there were.
    """

    number: int = 0

    def tell(self, image: str, digest: str, problem: object) -> None:
        self.number += 1
        print(clean(f"tinkbox: {image}: its signature or SBOM {digest}: {problem}"), file=sys.stderr, flush=True)


@asynccontextmanager
async def examining(operator: "Operator") -> AsyncIterator[None]:
    """Have an appliance look at the disk again where what came of it is damaged: it says and marks what is damaged there."""
    from tinkbox.registry.manifests.image_trees import Damaged

    try:
        yield
    except Damaged as error:
        await operator.images.examine(error.digest)
        raise


async def saved_here(
    operator: "Operator", reference: str, left_behind: LeftBehind, destination: str = ""
) -> "Sequence[Saved]":
    """An image of an appliance, a system image with its version as well, and behind it what refers to it, such as signatures.

    Raises Unavailable for an image of which a part is damaged.  The image has its whole name, with its digest where that names
    it, or is to get that of a `destination`.
    """
    from tinkbox.model.images.references import parse_reference
    from tinkbox.model.images.system_image import ARTIFACT_TYPE
    from tinkbox.registry.archives.oci_index import tagged
    from tinkbox.registry.archives.writing import Saved

    found = await operator.images.described(reference)
    if problem := found.get("problem"):  # an earlier appliance does not tell
        raise Unavailable(f"{found['reference']} is damaged, {problem}")
    name = tagged(destination) if destination else str(found["reference"])
    tree = await _tree(operator, found)
    images = [Saved(name=name, tree=tree)]
    if tree.manifests[tree.top.digest][1].artifact_type == ARTIFACT_TYPE:
        config = (await operator.images.system_image(str(found["reference"])))["config"]
        _refuse_renaming(str(found["reference"]), config, parse_reference(name))
        version = str(replace(parse_reference(name), tag=config["version"], digest=""))
        images += [Saved(name=version, tree=tree)] if version != name else []
    referrers: Sequence[Document] = ()
    with suppress(NotFound):  # an earlier appliance, which does not tell
        referrers = await operator.images.referring(reference)
    for each in referrers:
        if problem := each.get("problem"):
            left_behind.tell(str(found["reference"]), str(each["digest"]), problem)
            continue
        own = _tag_of(each)
        if own and destination:
            own = str(replace(parse_reference(destination), tag=parse_reference(own).tag, digest=""))
        with suppress(NotFound):  # it was deleted meanwhile
            images.append(Saved(name=own, tree=await _tree(operator, each)))
    return images


def _refuse_renaming(reference: str, config: "Document", destination: "Reference") -> None:
    from tinkbox.model.images.system_image import LATEST

    if destination.repository != config["id"] or destination.tag not in ("", LATEST, config["version"]):
        raise Invalid(
            f"{reference} is a system image, and system images keep their names: it is {config['id']}:{config['version']} "
            "everywhere; copy it without DEST (`--to URL`)"
        )


def names_of(images: "Sequence[Saved]") -> Sequence[str]:
    """The names that the first of what `saved_here` gives has there."""
    return [each.name for each in images if each.name and each.tree is images[0].tree]


def _tag_of(described: "Document") -> str:
    """The name of what refers to an image, where that has a tag."""
    name = str(described["reference"])
    return "" if "@" in name else name


async def _tree(operator: "Operator", found: "Document") -> "ImageTree":
    """What an image consists of that an appliance described."""
    from tinkbox.registry.manifests.image_trees import tree_of
    from tinkbox.registry.manifests.manifests import MAX_MANIFEST, Descriptor

    top = Descriptor(
        digest=str(found["digest"]),
        size=int(found["size"]),
        media_type=str(found["media_type"]),
        annotations={},
    )

    async def read(listed: "Descriptor") -> bytes:
        content = bytearray()
        async for piece in operator.images.blob(listed.digest):
            content += piece
            if len(content) > MAX_MANIFEST:
                raise Invalid(f"{listed.digest} has more than {MAX_MANIFEST} bytes, which no manifest may have")
        return bytes(content)

    return await tree_of(top, read)


async def send(
    images: "Sequence[Saved]",
    content: "Content",
    to: "Operator",
    told: "Callable[[int, int], None]",
) -> Sequence[str]:
    """Have an appliance load an image and what refers to it, of which what it has already is not sent; returns the names there.

    What it finds damaged of that while it looks, or has freed meanwhile, is sent after all.  `told` hears how much of how much
    is sent.
    """
    from tinkbox.client.refusals import Unreachable
    from tinkbox.registry.archives.writing import archive_of

    sizes = sizes_of(images)
    absent = await to.images.absent([*sizes])
    # What comes without its manifests would have none.
    manifests = {digest for each in images for digest in each.tree.manifests}
    without = {digest for digest in sizes if digest not in absent and digest not in manifests}
    while True:
        total = sum(size for digest, size in sizes.items() if digest not in without)
        archive = archive_of(images, content, without)
        try:
            return await to.images.load(counted(archive, total, told), tell=show_notes)
        except (Invalid, Unavailable) as error:
            gone = set[str]() if isinstance(error, Unreachable) else await to.images.absent([*without])
            if not gone:
                raise
            without -= gone


async def counted(pieces: AsyncIterator[bytes], total: int, told: "Callable[[int, int], None]") -> AsyncIterator[bytes]:
    """The same pieces; `told` hears how many bytes of `total` came, which is 0 where that is not known."""
    done = 0
    async for piece in pieces:
        yield piece
        done += len(piece)
        told(min(done, total) if total else done, total)


@contextmanager
def shown(doing: str) -> "Iterator[Callable[[int, int], None]]":
    """Hears how much of how much is done, and shows it while it takes long."""
    from contextlib import closing

    from tinkbox.cli.output.progress_line import ProgressLine
    from tinkbox.cli.wording.image_progress import transferring

    def worded(progress: tuple[int, int]) -> str:
        return transferring(doing, *progress)

    with closing(ProgressLine[tuple[int, int]](worded)) as line:
        yield lambda done, total: line((done, total))


def sizes_of(images: "Sequence[Saved]") -> Mapping[str, int]:
    """Everything that several images need, each blob once."""
    return {digest: size for each in images for digest, size in each.tree.sizes.items()}


def packed(path: Path) -> Iterator[bytes]:
    """The bytes of an archive, or of what comes on standard input, in pieces; what is compressed with zstd is decompressed.

    The appliance does without a library for zstd, and reads what else there is by itself.  Raises NotFound for a file that
    cannot be read, Invalid for one that is damaged, without its name.
    """
    from tinkbox.model.images.system_image import Compression
    from tinkbox.system_images.decompression import PIECE, decompressed
    from tinkbox.system_images.recognition import compression_of

    try:
        with _reading(path) as more:
            start = b""
            while len(start) < _MAGIC and (piece := more(PIECE)):
                start += piece
            pending = [start] if start else []

            def read(size: int) -> bytes:
                return pending.pop() if pending else more(size)

            if compression_of(start) is Compression.ZSTD:
                yield from decompressed(read, Compression.ZSTD)
            else:
                yield from iter(lambda: read(PIECE), b"")
    except OSError as error:
        raise NotFound(f"cannot read {called(path)}: {error.strerror}") from None


def called(path: Path) -> str:
    """What people call an archive's file."""
    return "standard input" if path == STANDARD else str(path)


@contextmanager
def _reading(path: Path) -> "Iterator[Callable[[int], bytes]]":
    """What reads a file, or standard input: at most so many bytes, none at its end."""
    if path != STANDARD:
        with path.open("rb") as file:
            yield file.read
        return
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):  # it is no file
        yield sys.stdin.buffer.read
        return
    # Without Python's lock of standard input, which nothing could end the program with while a thread waits for more.
    with open(descriptor, "rb", buffering=0, closefd=False) as raw:
        yield lambda size: raw.read(size) or b""


async def in_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces, each made by a thread while the caller can be interrupted; who goes away leaves the thread behind.

    asyncio's own threads would be waited for at the end of the program, for as long as nobody writes to standard input.
    """
    import asyncio
    from queue import SimpleQueue
    from threading import Thread

    loop = asyncio.get_running_loop()
    wanted: SimpleQueue[asyncio.Future[bytes] | None] = SimpleQueue()

    def work() -> None:
        while (answer := wanted.get()) is not None:
            try:
                piece, problem = next(pieces, b""), None
            except Exception as error:
                piece, problem = b"", error
            try:
                loop.call_soon_threadsafe(_answer, answer, piece, problem)
            except RuntimeError:  # nobody waits any more
                return

    Thread(target=work, daemon=True).start()
    try:
        while True:
            answer: asyncio.Future[bytes] = loop.create_future()
            wanted.put(answer)
            if not (piece := await answer):
                return
            yield piece
    finally:
        wanted.put(None)


def _answer(answer: "asyncio.Future[bytes]", piece: bytes, problem: Exception | None) -> None:
    if answer.done():  # it was cancelled
        return
    if problem is None:
        answer.set_result(piece)
    else:
        answer.set_exception(problem)
