"""`tinkbox image load`: images from archives, OCI layouts and standard input."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb, filled
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.importing import require_file
from tinkbox.cli.nouns.image.transfers import STANDARD, LeftBehind, called, counted, in_thread, packed, send, shown
from tinkbox.cli.output.formats import show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Denied, Full, Invalid, Refusal, TooMany, Unavailable
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator
    from tinkbox.registry.archives.layout_folders import LayoutFolder
    from tinkbox.registry.archives.oci_index import Listing
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


@dataclass(frozen=True, slots=True)
class _Part:
    """What is loaded at once: an archive, or an image of a folder, which is `called` so where its errors do not say it."""

    called: str
    load: Callable[[], Awaitable[Sequence[str]]]


def load(chosen: argparse.Namespace) -> int:
    done = failed = 0
    left_behind = LeftBehind()
    _check(chosen)

    def so_far() -> str:
        total = len(chosen.files)
        return f"{so_many(done, total, 'archive')} loaded" if total > 1 else ""

    def leave_out(name: str, error: Refusal, number: int) -> None:
        """Tell of one of a `number` of parts that is not loaded; raises the error where it is all that is told, or none can be."""
        nonlocal failed
        from tinkbox.client.refusals import Unreachable

        is_all = not name and number == len(chosen.files) == 1
        if is_all or isinstance(error, (Unreachable, Denied, TooMany)):
            raise error
        failed += 1
        print(clean(f"tinkbox: {f'{name}: ' if name else ''}{error}"), file=sys.stderr, flush=True)

    async def loaded(operator: "Operator") -> None:
        nonlocal done
        for path in chosen.files:
            told, before = set[str](), failed
            try:
                parts = _parts(operator, path, chosen.name or "", left_behind)
            except Refusal as error:
                leave_out("", error, 1)
                continue
            for number, each in enumerate(parts, start=1):
                try:
                    names = await each.load()
                except Refusal as error:
                    leave_out(each.called, error, len(parts))
                    continue
                done += number == len(parts) and failed == before
                for name in names:
                    if name not in told:
                        told.add(name)
                        print(f"Loaded Image:  {name}", flush=True)

    with told_how_far(so_far):
        stay_connected(chosen, loaded)
    return int(failed + left_behind.number > 0)


def _check(chosen: argparse.Namespace) -> None:
    if chosen.name and len(chosen.files) > 1:
        chosen.usage_error("--name names one image: load one FILE with it")
    if chosen.files.count(STANDARD) > 1:
        chosen.usage_error("standard input can be read once: give - once")
    if STANDARD in chosen.files and (sys.stdin is None or sys.stdin.isatty()):
        chosen.usage_error(
            "standard input is closed or a terminal: pipe an archive into it, such as docker save NAME | …"
        )


def _parts(operator: "Operator", path: Path, name: str, left_behind: LeftBehind) -> Sequence[_Part]:
    """What a file or folder has, what is damaged and names no image included; raises NotFound and Invalid where it is none that can be loaded."""
    from tinkbox.registry.archives.layout_folders import LayoutFolder

    if path == STANDARD or not path.is_dir():
        if path != STANDARD and not path.is_fifo():
            require_file(path, _WAY_OUT)
        return [_Part("", partial(_from_archive, operator, path, name))]
    folder = LayoutFolder(path)
    listing = folder.listing()
    found = _named(path, listing, name)
    taken = [entry for _, entry in found]
    images = [
        _Part(each, partial(_from_folder, operator, folder, listing, each, entry, left_behind)) for each, entry in found
    ]
    unknown = [each for each in listing.of_unknown_image() if each not in taken]
    return [*images, *(_Part("", partial(_of_unknown_image, folder, each)) for each in unknown)]


async def _from_archive(operator: "Operator", path: Path, name: str) -> Sequence[str]:
    size = path.stat().st_size if path != STANDARD else 0
    with shown(f"Loading {path}") as told:
        try:
            return await operator.images.load(counted(in_thread(packed(path)), size, told), name, tell=show_notes)
        except Invalid as error:
            raise Invalid(f"{called(path)}: {error}", error.problems, error.more) from None
        except Full as error:  # a smaller one may have room
            raise Full(f"{called(path)}: {error}") from None


def _named(path: Path, listing: "Listing", name: str) -> "Sequence[tuple[str, Descriptor]]":
    """What the index of a layout names, or its only image under this name; what refers to an image comes with that."""
    from tinkbox.registry.archives.oci_index import named, names_of, only_tags

    images = [each for each in listing.entries if listing.is_image(each)]
    unknown = listing.of_unknown_image()
    entries = [each for each in images if each not in unknown] or images
    if name and len({each.digest for each in entries}) > 1:
        raise Invalid(
            f"{path} has {len(entries)} images, and --name names one: leave it out where they have names, or push each with `skopeo copy`"
        )
    found = [(each, entry) for entry in entries for each in ([named(name, entry)] if name else names_of(entry))]
    if not entries:
        raise Invalid(f"{path} holds no image")
    if not found:
        way_out = "load it with `--name NAME`"
        if len({each.digest for each in entries}) > 1:
            way_out = f"push each of its images, such as with `skopeo copy --all --preserve-digests oci:{path}:TAG docker://APPLIANCE/NAME:TAG`"
        raise Invalid(f"{path} names no image{only_tags(entries)}: {way_out}")
    return found[:1] if name else found


async def _from_folder(
    operator: "Operator",
    folder: "LayoutFolder",
    listing: "Listing",
    name: str,
    entry: "Descriptor",
    left_behind: LeftBehind,
) -> Sequence[str]:
    from tinkbox.model.images.references import parse_reference
    from tinkbox.registry.archives.oci_index import tag_of, tagged
    from tinkbox.registry.archives.writing import Saved
    from tinkbox.registry.manifests.image_trees import Damaged
    from tinkbox.registry.manifests.referrers import subject_of_tag

    try:
        image = Saved(name=tagged(name), tree=await folder.tree(entry))
        images = [image]
        for each in listing.referring(image.tree.manifests):
            own = replace(parse_reference(name), tag=tag, digest="") if subject_of_tag(tag := tag_of(each)) else ""
            try:
                images.append(Saved(name=str(own), tree=await folder.whole_tree(each)))
            except Refusal as error:
                left_behind.tell(name, each.digest, _in_folder(folder, error))
        with shown(f"Loading {name}") as told:
            return await send(images, folder.blob, operator, told)
    except Damaged as error:
        raise _in_folder(folder, error) from None


async def _of_unknown_image(folder: "LayoutFolder", entry: "Descriptor") -> Sequence[str]:
    """Refuse what has no name of its own, and is damaged, so that it does not tell any more what it refers to."""
    place = folder.place(entry.digest)
    raise Unavailable(
        f"{place} is {'damaged' if place.exists() else 'missing'}, which may be the signature or SBOM of an image: export its image "
        "again"
    )


def _in_folder(folder: "LayoutFolder", error: Refusal) -> Refusal:
    """The same, where it tells of something damaged with the file of that."""
    from tinkbox.registry.manifests.image_trees import Damaged

    if not isinstance(error, Damaged):
        return error
    return Unavailable(f"{folder.place(error.digest)} is damaged, {error.how}: export its image again")
