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
from tinkbox.cli.nouns.image.transfers import STANDARD, LeftBehind, examining, names_of, saved_here, shown, sizes_of
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Unavailable
from tinkbox.model.key_kinds import TYPED, KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.registry.archives.writing import Saved


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "save",
        save,
        "save images into an archive",
        "`tinkbox image load`, `docker load`, podman and skopeo read it.  What several images share is in it once.\n"
        "Signatures and SBOMs go with their image.",
    )
    verb.add_argument("keys", metavar=KeyKind.IMAGE, nargs="+", help=TYPED[KeyKind.IMAGE])
    verb.add_argument(
        "-o", "--output", required=True, type=Path, metavar="FILE", help="the archive; - for standard output"
    )


def save(chosen: argparse.Namespace) -> int:
    if chosen.output == STANDARD and sys.stdout.isatty():
        chosen.usage_error("an archive is nothing for a terminal: name a file with -o, or pipe it into a command")

    left_behind = LeftBehind()

    async def saved(operator: "Operator") -> None:
        from tinkbox.registry.archives.writing import archive_of

        names: list[str] = []
        found: dict[tuple[str, str], Saved] = {}
        async with examining(operator):
            for key in dict.fromkeys(chosen.keys):
                carried = await saved_here(operator, key, left_behind)
                names += names_of(carried)
                found |= {(each.name, each.tree.top.digest): each for each in carried}
            images = [*found.values()]
            total, done = sum(sizes_of(images).values()), 0
            with _written(chosen.output) as file, shown("Saving") as told:
                async for piece in archive_of(images, operator.images.blob):
                    file.write(piece)
                    done += len(piece)
                    told(min(done, total), total)
        for each in dict.fromkeys(names):
            out = sys.stderr if chosen.output == STANDARD else sys.stdout
            print(clean(f"Saved Image:  {each}"), file=out, flush=True)

    with ended_in_order():
        stay_connected(chosen, saved)
    return int(left_behind.number > 0)


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """What the archive is written to: a file that has its name when it is whole, a device or a pipe, or standard output."""
    from tinkbox.system_images.room import require_folder, whole_file

    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        path = path.resolve() if path.is_symlink() else path  # the link stays
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        require_folder(path.parent)
        with whole_file(path, "name a file on another disk") as file:
            yield file
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}") from None
