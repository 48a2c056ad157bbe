"""`tinkbox image fetch`, and what it shares with `catalogue` and `update`."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, stay_connected
from tinkbox.cli.flags import Verbs, add_verb, folder
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.importing import SCRATCH, SCRATCH_PREFIX
from tinkbox.cli.nouns.image.show import PROOFS
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Conflict, Invalid, TooLarge
from tinkbox.model.images.system_image import LATEST
from tinkbox.model.sizes import show_size
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.catalogue.downloading import Download
    from tinkbox.catalogue.entries import Entry
    from tinkbox.catalogue.fetching import Choices
    from tinkbox.catalogue.layers import Catalogue, Folders
    from tinkbox.catalogue.resolving import Found
    from tinkbox.client.operator import Operator

SHARED = Path("/etc/tinkbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where files lie: `scratch` is for packing, `save` takes the archive instead of the appliance."""

    scratch: Path = Path(SCRATCH)
    save: Path | None = None
    keep_download: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What the appliance has: `tags` by id, and of a version of a system image the digest of the file that it was made from."""

    tags: Set[tuple[str, str]]
    digests: Mapping[tuple[str, str], str]


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "fetch",
        fetch,
        "fetch the newest of a system image",
        "It is downloaded here, verified, and loaded into the appliance. What is there already stays as it is.",
    )
    verb.add_argument("ids", metavar="ID", nargs="+", help="an image of the catalogue")
    verb.add_argument("--digest", default="", metavar="sha256:…", help="digest that the file must have; sha512 as well")
    verb.add_argument("--unverified", action="store_true", help="take an image that nothing proves")
    verb.add_argument("--source", default="", metavar="URL", help="fetch the file from here instead")
    verb.add_argument("--keep-download", action="store_true", help="keep the downloaded file in the cache folder")
    verb.add_argument(
        "--save", type=folder, metavar="FILE", help="write an archive for `image load` instead of loading"
    )
    verb.add_argument(
        "--scratch", type=folder, default=Path(SCRATCH), metavar="DIR", help=f"folder for packing (default {SCRATCH})"
    )
    add_files(verb)


def add_files(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--catalogue", type=Path, action="append", default=[], metavar="FILE", help="entries of your own, in YAML"
    )


def fetch(chosen: argparse.Namespace) -> None:
    from tinkbox.catalogue.fetching import Choices

    if len(chosen.ids) > 1 and (chosen.digest or chosen.source or chosen.save):
        chosen.usage_error("--digest, --source and --save are for one image: name one ID")
    found = chosen_catalogue(chosen)
    bring(
        chosen,
        [found.entry(each) for each in chosen.ids],
        Choices(digest=chosen.digest.lower(), unverified=chosen.unverified, source=chosen.source),
        Places(scratch=chosen.scratch, save=chosen.save, keep_download=chosen.keep_download),
    )


def bring(
    chosen: argparse.Namespace,
    entries: "Sequence[Entry]",
    choices: "Choices | None" = None,
    places: Places = Places(),
) -> None:
    """Fetch the newest image of each entry, and load what is not here yet into the appliance."""
    from tinkbox.catalogue.fetching import Choices
    from tinkbox.system_images.room import require_folder

    for place in (places.scratch, *([places.save.parent] if places.save else [])):
        require_folder(place)
    # Asked first: who cannot reach the appliance need not wait for minutes to hear it.
    here = _here(chosen, entries, places)
    total, done = len(entries), 0
    with told_how_far(lambda: f"{so_many(done, total, 'image')} fetched" if total > 1 else ""):
        for entry in entries:
            _bring(chosen, entry, choices or Choices(), places, here)
            done += 1


def _here(chosen: argparse.Namespace, entries: "Sequence[Entry]", places: Places) -> Here:
    """What the appliance has, and nothing where it is not asked.  Raises Conflict where an entry's id is a container image's."""
    kept, systems = ([], []) if places.save else ask(chosen, _kept)
    ids = {each.id for each in entries}
    for image in kept:
        if image["name"] in ids and image.get("kind") == "container":
            raise Conflict(f"{image['name']} is a container image here: delete it, or use an entry with another id")
    return Here(
        tags={(image["name"], image["tag"]) for image in kept},
        digests={(each["id"], each["config"]["version"]): each["config"]["source"]["digest"] for each in systems},
    )


async def _kept(operator: "Operator") -> "tuple[Sequence[Document], Sequence[Document]]":
    return await operator.images.all(), await operator.images.systems()


def _bring(chosen: argparse.Namespace, entry: "Entry", choices: "Choices", places: Places, here: Here) -> None:
    from asyncio import run

    from tinkbox.catalogue.downloading import alone
    from tinkbox.catalogue.fetching import order_of
    from tinkbox.settings import default_cache

    found = run(_newest(entry, choices))
    if _told_if_here(found, here):
        return
    cache = default_cache() / "downloads"
    waits = partial(_wait_for_another, found)
    with alone(cache, order_of(found, choices), waits, keep=places.keep_download):
        # Another command may have loaded it since we asked, whether or not we waited for that.
        here = _here(chosen, [entry], places)
        if _told_if_here(found, here):
            return
        _load(chosen, found, choices, places, here, cache)


def _wait_for_another(found: "Found") -> None:
    print(clean(f"Another command is fetching {found.reference}. Waiting for it; Ctrl-C stops the waiting"), flush=True)


def _load(
    chosen: argparse.Namespace, found: "Found", choices: "Choices", places: Places, here: Here, cache: Path
) -> None:
    """Download, pack and load an image, which the caller has alone."""
    from asyncio import run

    from tinkbox.boot.http.loaders import load_disk_loaders
    from tinkbox.catalogue.downloading import forget
    from tinkbox.catalogue.fetching import about
    from tinkbox.cli.output.progress_line import ProgressLine
    from tinkbox.cli.wording.image_progress import packing
    from tinkbox.system_images.packing import described, pack
    from tinkbox.system_images.room import scratch_folder

    found, download = run(_brought(found, choices, here, cache))
    with scratch_folder(places.scratch, SCRATCH_PREFIX) as place:
        archive = places.save or place / "image.tar"
        with closing(ProgressLine(packing)) as progress:
            told = about(found, download)
            try:
                image = pack(download.path, told, archive, scratch=place, said=progress, loaders=load_disk_loaders)
            except (Invalid, TooLarge):
                # The next run would be refused as well.
                if not places.keep_download:
                    forget(download.path)
                raise
        if places.save is None:

            async def loaded(operator: "Operator") -> None:
                await operator.images.load(archive)

            stay_connected(chosen, loaded)
    if places.keep_download:
        print(f"Kept download: {download.path}")
    else:
        forget(download.path)
    for warning in image.warnings:
        print(clean(f"tinkbox: warning: {found.reference}: {warning}"), file=sys.stderr)
    print(clean(f"{'Saved' if places.save else 'Fetched'} {described(image)}, {_proof(found)}"))


async def _newest(entry: "Entry", choices: "Choices") -> "Found":
    """The newest image of an entry, or the one that is chosen."""
    from tinkbox.catalogue.fetching import decided, given
    from tinkbox.catalogue.resolving import Resolver
    from tinkbox.catalogue.transport import Web

    if choices.complete:
        return given(entry, choices)
    async with Web() as web:
        lenient = choices.unverified or bool(choices.digest)
        resolver = Resolver(web, datetime.now(UTC), catalogue_folders().keys, lenient=lenient)
        return decided(await resolver.newest(entry), choices)


async def _brought(found: "Found", choices: "Choices", here: Here, cache: Path) -> "tuple[Found, Download]":
    """The file of an image, and the image with all that its file proves."""
    from tinkbox.catalogue.downloading import Downloads
    from tinkbox.catalogue.fetching import fetch
    from tinkbox.catalogue.resolving import Resolver
    from tinkbox.catalogue.transport import Web
    from tinkbox.cli.output.progress_line import ProgressLine
    from tinkbox.cli.wording.image_progress import downloading

    now, keys = datetime.now(UTC), catalogue_folders().keys
    async with Web() as web:
        found = await Resolver(web, now, keys).told(found)
        size = f", {show_size(found.size)}" if found.size else ""
        print(clean(f"Fetching {found.reference} from {found.url}{size}"), flush=True)
        downloads = Downloads(web, cache, time.monotonic)
        with closing(ProgressLine(partial(downloading, found.reference))) as progress:
            found, download = await fetch(downloads, found, choices, now, progress, keys)
        ended = found.entry.end_of_life
        late = [f"{found.entry.title} gets no updates since {ended}"] if ended and ended < now.date() else []
        for doubt in (*found.doubts, *_older(found, here), *late):
            print(clean(f"tinkbox: warning: {doubt}"), file=sys.stderr)
        return found, download


def _told_if_here(found: "Found", here: Here) -> bool:
    """Say it where an image is here already, and whether it is.  Raises Conflict for a version that is here as another file."""
    if (found.entry.id, found.version) not in here.tags:
        return False
    _refuse_other(found, here)
    print(f"{found.reference} is here already{_not_latest(found, here)}")
    return True


def _refuse_other(found: "Found", here: Here) -> None:
    """Raise Conflict for a version that is here as another file."""
    kept = here.digests.get((found.entry.id, found.version), "")
    if kept.partition(":")[0] == found.digest.partition(":")[0] and kept != found.digest:
        raise Conflict(
            f"{found.reference} is here, made from another file: its digest was {kept}, and now it is {found.digest}. "
            f"Its publisher replaced it, or one of the two is not from its publisher: to fetch it again, "
            f"`tinkbox image delete {found.reference}` first"
        )


def _older(found: "Found", here: Here) -> Sequence[str]:
    """What to say of a version that is older than one that is here."""
    from tinkbox.catalogue.sums import order_of_version

    versions = [tag for name, tag in here.tags if name == found.entry.id and tag != LATEST]
    newest = max((*versions, found.version), key=order_of_version)
    if newest == found.version:
        return ()
    why = "its publisher took that back, or you are shown a list that is not the newest"
    return (f"{found.reference} is older than {newest}, which is here: {why}",)


def _not_latest(found: "Found", here: Here) -> str:
    if (found.entry.id, LATEST) in here.tags:
        return ""
    return f", and no version is the latest: name it {found.reference}"


def catalogue_folders() -> "Folders":
    from tinkbox.catalogue.layers import Folders
    from tinkbox.settings import own_configuration

    return Folders(shared=SHARED, own=own_configuration())


def chosen_catalogue(chosen: argparse.Namespace) -> "Catalogue":
    from tinkbox.catalogue.layers import load

    return load(catalogue_folders(), chosen.catalogue)


def _proof(found: "Found") -> str:
    return f"{PROOFS[found.verified]}{f' by {found.signer}' if found.signer else ''}"
