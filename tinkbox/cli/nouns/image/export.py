"""`tinkbox image export`: images into an OCI layout on a disk."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.transfers import shown, tree_here
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
        "The folder is an OCI layout, which `tinkbox image load DIR` and skopeo read.  What it holds already is checked and left as\n"
        "it is; type the same again to resume an export that was interrupted.",
    )
    verb.add_argument("keys", metavar=KeyKind.IMAGE, nargs="*", help=f"{TYPED[KeyKind.IMAGE]}; without one: --all")
    verb.add_argument("folder", metavar="DIR", type=Path, help="a new folder, or one of an earlier export")
    verb.add_argument("--all", action="store_true", help="all images that have a tag")


def export(chosen: argparse.Namespace) -> int:
    if chosen.all == bool(chosen.keys):
        chosen.usage_error("name the images and a folder, or --all and a folder")
    done = total = failed = 0

    async def exported(operator: "Operator") -> None:
        nonlocal done, total, failed
        from tinkbox.client.operator import Unreachable
        from tinkbox.registry.archives.layout_folders import LayoutFolder, Unwritable
        from tinkbox.registry.archives.writing import Saved

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
                    name, tree = await tree_here(operator, key)
                except Refusal as error:
                    leave_out(key, error)
                    continue
                if not is_open:  # so that nothing is made where there is nothing to export
                    show_notes({"notes": [asdict(each) for each in opened.enter_context(folder.growing())]})
                    is_open = True
                try:
                    await _add(operator, folder, Saved(name=name, tree=tree))
                except Refusal as error:
                    leave_out(key, error)
                    continue
                done += 1
                print(clean(f"Exported Image:  {name or key}"), flush=True)
        if not keys:
            print("tinkbox: no image has a tag: nothing is exported", file=sys.stderr)

    def so_far() -> str:
        return f"{so_many(done, total, 'image')} exported: type the same again to resume" if total else ""

    with told_how_far(so_far):
        stay_connected(chosen, exported)
    return int(failed > 0)


async def _all(operator: "Operator") -> list[str]:
    return [f"{each['name']}:{each['tag']}" for each in await operator.images.all() if each["tag"]]


async def _add(operator: "Operator", folder: "LayoutFolder", saved: "Saved") -> None:
    done, total = 0, sum(saved.tree.sizes.values())
    with shown(f"Exporting {saved.name}") as told:

        def arrived(size: int) -> None:
            nonlocal done
            done += size
            told(done, total)

        await folder.add(saved, operator.images.blob, arrived)
