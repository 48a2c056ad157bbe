"""`tinkbox image export`: images into an OCI layout on a disk."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.transfers import LeftBehind, examining, names_of, saved_here, shown, sizes_of
from tinkbox.cli.output.formats import show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Refusal
from tinkbox.model.key_kinds import TYPED, KeyKind
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.registry.archives.layout_folders import LayoutFolder
    from tinkbox.registry.archives.writing import Saved


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "export",
        export,
        "write images into a folder, to carry them to another site",
        "The folder is an OCI layout, which `tinkbox image load DIR` reads; skopeo reads of it images with OCI's media types, not with\n"
        "Docker's.  What it holds already is checked and left as it is; type the same again to resume an export that was interrupted.  Signatures and SBOMs go with their image.",
    )
    verb.add_argument("keys", metavar=KeyKind.IMAGE, nargs="*", help=f"{TYPED[KeyKind.IMAGE]}; without one: --all")
    verb.add_argument("folder", metavar="DIR", type=Path, help="a new folder, or one of an earlier export")
    verb.add_argument("--all", action="store_true", help="all images that have a tag")


def export(chosen: argparse.Namespace) -> int:
    if chosen.all == bool(chosen.keys):
        chosen.usage_error("name the images and a folder, or --all and a folder")
    done = total = failed = 0
    left_behind = LeftBehind()

    async def exported(operator: "Operator") -> None:
        nonlocal done, total, failed
        from tinkbox.client.operator import Unreachable
        from tinkbox.registry.archives.layout_folders import LayoutFolder, Unwritable

        told: set[str] = set()
        keys = await _all(operator) if chosen.all else [*dict.fromkeys(chosen.keys)]
        total, folder = len(keys), LayoutFolder(chosen.folder)

        def leave_out(key: str, error: Refusal) -> None:
            nonlocal failed
            if total == 1 or isinstance(error, (Unreachable, Unwritable)):
                raise error
            failed += 1
            print(clean(f"tinkbox: {key}: {error}"), file=sys.stderr, flush=True)

        with ExitStack() as opened:
            is_open = False
            for key in keys:
                try:
                    async with examining(operator):
                        images = await saved_here(operator, key, left_behind)
                except Refusal as error:
                    leave_out(key, error)
                    continue
                if not is_open:  # so that nothing is made where there is nothing to export
                    show_notes({"notes": [asdict(each) for each in opened.enter_context(folder.growing())]})
                    is_open = True
                try:
                    async with examining(operator):
                        await _add(operator, folder, images)
                except Refusal as error:
                    leave_out(key, error)
                    continue
                done += 1
                _tell(names_of(images), told)
        if not keys:
            print("tinkbox: no image has a tag: nothing is exported", file=sys.stderr)

    def so_far() -> str:
        return f"{so_many(done, total, 'image')} exported: type the same again to resume" if total else ""

    with told_how_far(so_far):
        stay_connected(chosen, exported)
    return int(failed + left_behind.number > 0)


async def _all(operator: "Operator") -> list[str]:
    return [f"{each['name']}:{each['tag']}" for each in await operator.images.all() if each["tag"]]


def _tell(names: Sequence[str], told: set[str]) -> None:
    """Each name once: an image may be asked for by several of its names."""
    for name in names:
        if name not in told:
            told.add(name)
            print(clean(f"Exported Image:  {name}"), flush=True)


async def _add(operator: "Operator", folder: "LayoutFolder", images: "Sequence[Saved]") -> None:
    done, total = 0, sum(sizes_of(images).values())
    with shown(f"Exporting {images[0].name}") as told:

        def arrived(size: int) -> None:
            nonlocal done
            done += size
            told(min(done, total), total)

        for each in images:
            await folder.add(each, operator.images.blob, arrived)
