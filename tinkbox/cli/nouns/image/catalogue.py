"""`tinkbox image catalogue` and `update`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinkbox.cli.called_as import told
from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.nouns.image.fetch import add_files, catalogue_folders, chosen_catalogue
from tinkbox.cli.nouns.image.show import PROOFS, latest_of
from tinkbox.cli.output.formats import Column, Document, fields, for_people, show
from tinkbox.cli.output.printable import clean
from tinkbox.cli.output.refusals import tell_refusal
from tinkbox.cli.output.tables import Fit
from tinkbox.model.errors import NotFound, Refusal, Unavailable
from tinkbox.model.images.system_image import Verified
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.catalogue.entries import Entry
    from tinkbox.catalogue.layers import Catalogue
    from tinkbox.catalogue.resolving import Found

COLUMNS: Sequence[Column] = (
    Column("Image", "id"),
    Column("Title", "title", fit=Fit(least=16, rank=2)),
    Column("Arch", "architecture", fit=Fit(rank=4)),
    Column("Firmware", lambda entry: ", ".join(entry["firmware"]), fit=Fit(rank=1)),
    Column("Least Disk", "least_disk", show_size, Fit(rank=3)),
    Column("Signed", lambda entry: "yes" if entry["proof"] == Verified.SIGNED else "no", fit=Fit(rank=5)),
    Column("Proof", "proof", lambda proof: PROOFS[proof], wide=True),
    Column("Kept", "kept", fit=Fit(least=8)),
)


def _size(size: int) -> str:
    return show_size(size) if size else ""


UPDATES: Sequence[Column] = (
    Column("Image", "id"),
    Column("Kept", lambda each: each["kept"]["version"], fit=Fit(least=8)),
    Column("Newest", lambda each: each["newest"]["version"], fit=Fit(least=8)),
    Column("Size", lambda each: each["newest"]["size"], _size),
    Column("Verified", lambda each: PROOFS[each["newest"]["verified"]], fit=Fit(least=6)),
    Column("Digest", lambda each: each["newest"]["digest"], wide=True),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "catalogue", catalogue, "system images that can be fetched")
    verb.add_argument("ids", metavar="ID", nargs="*", help="these only, with everything that is known of them")
    verb.add_argument(
        "--install", metavar="FILE|URL", help="install a newer signed catalogue (with FILE.sig beside it)"
    )
    add_files(add_listing(verb))
    verb = add_verb(
        verbs,
        "update",
        update,
        "compare the system images here with the newest",
        "It changes nothing: `image fetch` fetches them.",
    )
    verb.add_argument(
        "ids", metavar="ID", nargs="*", help="these only (default: all that are here and in the catalogue)"
    )
    add_files(add_listing(verb))


def catalogue(chosen: argparse.Namespace) -> int:
    if chosen.install:
        _install(chosen.install)
        return 0
    found = chosen_catalogue(chosen)
    entries, refused = _entries(found, chosen.ids) if chosen.ids else (list(found.entries.values()), False)
    if not entries and refused:
        return 1
    try:
        kept = latest_of(ask(chosen, lambda operator: operator.images.systems()))
    except Unavailable as error:
        kept = {}
        print(clean(f"tinkbox: what is kept is not shown: {error}"), file=sys.stderr)
    documents = [_entry_document(entry, kept) for entry in entries]
    if chosen.ids and for_people(chosen):
        for document in documents:
            print(fields(chosen, _told(document), ("Field Name", "Value")), end="")
    else:
        show(chosen, documents, COLUMNS)
    return int(refused)


def _entries(found: "Catalogue", ids: Sequence[str]) -> "tuple[Sequence[Entry], bool]":
    """Those of the catalogue that are named, and whether others are not in it, which are told."""
    entries: list[Entry] = []
    for each in ids:
        try:
            entries.append(found.entry(each))
        except NotFound as refusal:
            tell_refusal(refusal)
    return entries, len(entries) < len(ids)


def update(chosen: argparse.Namespace) -> int:
    from asyncio import run

    found = chosen_catalogue(chosen)
    kept = latest_of(ask(chosen, lambda operator: operator.images.systems()))
    entries, refused = _entries(found, chosen.ids or [each for each in kept if each in found.entries])
    if not entries and refused:
        return 1
    if not entries and for_people(chosen):
        print(told("No image of the catalogue is here: `tinkbox image catalogue` lists what can be fetched."))
        return 0
    newest, failed = run(_newest_of(entries))
    documents = [_update_document(each, kept.get(each.entry.id)) for each in newest]
    show(chosen, documents, UPDATES)
    changed = [each["id"] for each in documents if each["changed"]]
    if changed and for_people(chosen):
        print(told(f"To fetch: `tinkbox image fetch {' '.join(changed)}`"))
    for refusal in failed:
        tell_refusal(refusal)
    return 1 if failed or refused else 0


async def _newest_of(entries: "Sequence[Entry]") -> "tuple[Sequence[Found], Sequence[Refusal]]":
    """The newest of each, and why of others it cannot be told."""
    from tinkbox.catalogue.resolving import Resolver
    from tinkbox.catalogue.transport import Web

    newest: list[Found] = []
    failed: list[Refusal] = []
    async with Web() as web:
        resolver = Resolver(web, datetime.now(UTC), catalogue_folders().keys)
        for entry in entries:
            try:
                newest.append(await resolver.told(await resolver.newest(entry)))
            except Refusal as refusal:
                failed.append(refusal)
    return newest, failed


def _install(place: str) -> None:
    from asyncio import run

    from tinkbox.catalogue.layers import install

    content, signature = run(_issue(place))
    folders = catalogue_folders()
    issue = install(content, signature, folders, place)
    print(f"Installed catalogue {issue.serial} with {counted(len(issue.entries), 'image')} in {folders.own}")


async def _issue(place: str) -> tuple[bytes, bytes]:
    from tinkbox.catalogue.layers import MAX_SIGNATURE
    from tinkbox.catalogue.reading import MAX_FILE
    from tinkbox.catalogue.transport import Web

    if not place.startswith(("https://", "http://")):
        try:
            return Path(place).read_bytes(), Path(f"{place}.sig").read_bytes()
        except OSError as error:
            raise NotFound(f"cannot read {error.filename}: {error.strerror}") from None
    async with Web() as web:
        # It is signed, so it does not matter how it comes.
        content = await web.document(place, limit=MAX_FILE, plain=True)
        return content.content, (await web.document(f"{place}.sig", limit=MAX_SIGNATURE, plain=True)).content


def _entry_document(entry: "Entry", kept: Mapping[str, Document]) -> dict[str, Any]:
    from dataclasses import asdict

    document = {**asdict(entry), "proof": entry.proof}
    document["resolver"] = {"kind": type(entry.resolver).__name__.lower(), **document["resolver"]}
    document["end_of_life"] = entry.end_of_life.isoformat() if entry.end_of_life else ""
    document["kept"] = kept[entry.id]["config"]["version"] if entry.id in kept else ""
    return document


def _told(entry: Document) -> Sequence[tuple[str, object]]:
    """Everything that is known of an entry, for people."""
    resolver = entry["resolver"]
    pairs = [
        ("Image", entry["id"]),
        ("Title", entry["title"]),
        ("Architecture", entry["architecture"]),
        ("Firmware", ", ".join(entry["firmware"]) or "as its partitions say"),
        ("Least Disk", show_size(entry["least_disk"])),
        ("Default User", entry["default_user"]),
        ("Data Source", entry["data_source"]),
        ("Growth", entry["growth"]),
        ("Format", f"{entry['format']}, compression {entry['compression']}"),
        ("Found By", f"{resolver['kind']}: {resolver.get('page') or resolver.get('sums') or resolver['file']}"),
        ("Proof", PROOFS[entry["proof"]]),
        *(("Key", key) for key in (entry["signature"] or {"keys": ()})["keys"]),
        ("Note", entry["note"]),
        ("Licence", entry["licence"]),
        ("End Of Life", entry["end_of_life"]),
        ("Checked", "yes" if entry["checked"] else "no: not fetched with this version yet"),
        ("Layer", entry["layer"]),
        ("Kept", entry["kept"]),
    ]
    return [(name, value) for name, value in pairs if value]


def _update_document(found: "Found", kept: Document | None) -> dict[str, Any]:
    source = kept["config"]["source"] if kept else {"digest": "", "size": 0, "verified": ""}
    version = kept["config"]["version"] if kept else ""
    return {
        "id": found.entry.id,
        "changed": version != found.version,
        "kept": {"version": version, **{name: source[name] for name in ("digest", "size", "verified")}},
        "newest": {
            "version": found.version,
            "digest": found.digest,
            "size": found.size,
            "verified": str(Verified.SIGNED if found.image_signature else found.verified),
            "url": found.url,
        },
    }
