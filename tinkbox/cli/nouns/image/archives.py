"""`tinkbox image load`: images from archives, OCI layouts and standard input."""

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb, filled
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.importing import require_file
from tinkbox.cli.nouns.image.transfers import STANDARD, called, counted, in_thread, packed, send, shown
from tinkbox.model.errors import Invalid
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.registry.manifests.manifests import Descriptor

_WAY_OUT = "name an archive that `docker save` or `tinkbox image save` made, or the folder of an `image export`"


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "load",
        load,
        "load container images and system images from archives or folders",
        "Archives are what `docker save`, `tinkbox image save` and `tinkbox image fetch --save` write, plain or compressed by gzip,\n"
        "xz or zstd; folders are OCI layouts, such as those of `tinkbox image export`: what the appliance has is not sent again.",
    )
    verb.add_argument(
        "files", metavar="FILE", nargs="+", type=Path, help="an archive, a folder, or - for standard input"
    )
    verb.add_argument(
        "--name", type=filled, metavar="NAME", help="name of the only image in FILE, such as one that has none"
    )


def load(chosen: argparse.Namespace) -> None:
    done = 0
    _check(chosen)

    def so_far() -> str:
        total = len(chosen.files)
        return f"{so_many(done, total, 'archive')} loaded" if total > 1 else ""

    async def loaded(operator: "Operator") -> None:
        nonlocal done
        from tinkbox.client.refusals import Unanswered, Unreachable

        for path in chosen.files:
            if path != STANDARD and not path.is_dir():
                require_file(path, _WAY_OUT)
            try:
                async for names, is_last in _loading(operator, path, chosen.name or ""):
                    done += is_last
                    for name in names:
                        print(f"Loaded Image:  {name}", flush=True)
            except Unanswered as error:
                raise Unreachable(f"{error.what}: when the appliance runs again, load {called(path)} again") from None

    with told_how_far(so_far):
        stay_connected(chosen, loaded)


def _check(chosen: argparse.Namespace) -> None:
    if chosen.name and len(chosen.files) > 1:
        chosen.usage_error("--name names one image: load one FILE with it")
    if chosen.files.count(STANDARD) > 1:
        chosen.usage_error("standard input can be read once: give - once")
    if STANDARD in chosen.files and sys.stdin.isatty():
        chosen.usage_error("standard input is a terminal: pipe an archive into it, such as docker save NAME | …")


async def _loading(operator: "Operator", path: Path, name: str) -> AsyncIterator[tuple[Sequence[str], bool]]:
    """The names of what is loaded, as it is loaded, and whether that is all."""
    if path != STANDARD and path.is_dir():
        entries = _named(path, name)
        for number, (each, entry) in enumerate(entries, start=1):
            yield await _from_folder(operator, path, each, entry), number == len(entries)
        return
    size = path.stat().st_size if path != STANDARD else 0
    with shown(f"Loading {path}") as told:
        try:
            names = await operator.images.load(counted(in_thread(packed(path)), size, told), name)
        except Invalid as error:
            raise Invalid(f"{called(path)}: {error}", error.problems, error.more) from None
    yield names, True


def _named(path: Path, name: str) -> "Sequence[tuple[str, Descriptor]]":
    """What the index of a layout names, or its only image under this name."""
    from tinkbox.registry.archives.layout_folders import LayoutFolder
    from tinkbox.registry.archives.layouts import named, names_of, only_tags

    entries = LayoutFolder(path).images()
    if name and len({each.digest for each in entries}) > 1:
        raise Invalid(
            f"{path} has {len(entries)} images, and --name names one: leave it out, or copy them into folders one by one"
        )
    found = [(each, entry) for entry in entries for each in ([named(name, entry)] if name else names_of(entry))]
    if not entries:
        raise Invalid(f"{path} holds no image")
    if not found:
        raise Invalid(f"{path} names no image{only_tags(entries)}: load it with `--name NAME`")
    return found[:1] if name else found


async def _from_folder(operator: "Operator", path: Path, name: str, entry: "Descriptor") -> Sequence[str]:
    from tinkbox.registry.archives.layout_folders import LayoutFolder
    from tinkbox.registry.archives.layouts import tagged
    from tinkbox.registry.archives.writing import Saved
    from tinkbox.registry.manifests.image_trees import tree_of

    folder = LayoutFolder(path)
    saved = Saved(name=tagged(name), tree=await tree_of(entry, folder.read))
    with shown(f"Loading {name}") as told:
        return await send(saved, folder.blob, operator, told, says_way_out=True)
