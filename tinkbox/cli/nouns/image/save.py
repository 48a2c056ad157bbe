"""`tinkbox image save`: images into an archive."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.cli.interruptions.breaking_off import ended_in_order
from tinkbox.cli.nouns.image.transfers import STANDARD, shown, sizes_of, tree_here
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Unavailable
from tinkbox.model.key_kinds import TYPED, KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "save",
        save,
        "save images into an archive",
        "`tinkbox image load`, `docker load`, podman and skopeo read it.  What several images share is in it once.",
    )
    verb.add_argument("keys", metavar=KeyKind.IMAGE, nargs="+", help=TYPED[KeyKind.IMAGE])
    verb.add_argument(
        "-o", "--output", required=True, type=Path, metavar="FILE", help="the archive; - for standard output"
    )


def save(chosen: argparse.Namespace) -> None:
    if chosen.output == STANDARD and sys.stdout.isatty():
        chosen.usage_error("an archive is nothing for a terminal: name a file with -o, or pipe it into a command")

    async def saved(operator: "Operator") -> None:
        from tinkbox.registry.archives.writing import Saved, archive_of

        images = []
        for key in dict.fromkeys(chosen.keys):
            name, tree = await tree_here(operator, key)
            images.append(Saved(name=name, tree=tree))
        total, done = sum(sizes_of(images).values()), 0
        with _written(chosen.output) as file, shown("Saving") as told:
            async for piece in archive_of(images, operator.images.blob):
                file.write(piece)
                done += len(piece)
                told(min(done, total), total)
        for key, image in zip(dict.fromkeys(chosen.keys), images, strict=True):
            out = sys.stderr if chosen.output == STANDARD else sys.stdout
            print(clean(f"Saved Image:  {image.name or key}"), file=out, flush=True)

    with ended_in_order():
        stay_connected(chosen, saved)


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """What the archive is written to: a file that has its name when it is whole, a device or a pipe, or standard output."""
    from tinkbox.system_images.room import require_folder, whole_file

    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        require_folder(path.parent)
        with whole_file(path, "name a file on another disk") as file:
            yield file
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}") from None
