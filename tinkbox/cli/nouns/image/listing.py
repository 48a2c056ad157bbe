"""`tinkbox image list` and `delete`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_filters, add_keys, add_listing, add_verb, add_watch, add_yes
from tinkbox.cli.meant_keys import digest_of
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Column, Document, for_people, show_notes
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.selection import confirm_keys
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.errors import NotFound
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted

if TYPE_CHECKING:
    from tinkbox.client.operator import Found, Operator

COLUMNS: Sequence[Column] = (
    Column("Image", "reference", fit=Fit(least=16)),
    Column("Kind", lambda image: _marked(image), in_csv=(Column("Kind", "kind"),)),
    Column("Digest", lambda image: _short_digest(image["digest"]), fit=Fit(rank=1)),
    Column("Digest", "digest", wide=True),
    Column("Size", "size", show_size),
    Column("Age", "pushed_at", age),
    Column("Problem", lambda image: image.get("problem", ""), wide=True),
)
LISTED = List(columns=COLUMNS, key="reference", sort="name")


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_listing(add_verb(verbs, "list", show_list, "images"))
    add_filters(verb, sorts=("name", "size", "pushed_at"), age="pushed_at")
    add_watch(verb)
    verb = add_verb(verbs, "delete", delete, "forget images", "At a terminal it asks first.")
    add_yes(add_keys(verb, KeyKind.IMAGE))


class _Images:
    """The list of images, with the reference of each."""

    def __init__(self, operator: "Operator") -> None:
        self._images = operator.images

    async def found(self, filters: Mapping[str, str]) -> "Found":
        found = await self._images.found(filters)
        return found._replace(documents=[{"reference": _reference(image), **image} for image in found.documents])


def show_list(chosen: argparse.Namespace) -> int:
    status = show_found(chosen, _Images, LISTED)
    if for_people(chosen) and not chosen.watch:
        with suppress(NotFound):  # an earlier appliance, which does not tell
            room = ask(chosen, lambda operator: operator.images.room())
            sys.stdout.flush()
            print(_room(room), file=sys.stderr)
    return status


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.IMAGE)
    gone: set[str] = set()

    async def deleted(operator: "Operator", key: str) -> str:
        digest = digest_of(chosen, key)
        try:
            answer = await operator.images.delete(key, digest)
        except NotFound:
            if digest in gone:  # it went with another name of it
                return key
            raise
        if digest:
            gone.add(digest)
        show_notes(answer)
        return str(answer["name"]) if answer.keys() - {"notes"} else key  # an earlier appliance tells no name

    return change_each(chosen, deleted, lambda name: tell_deleted(chosen, "Image", name))


def _marked(image: Document) -> str:
    return f"{image['kind']}, damaged" if image.get("problem") else str(image["kind"])


def _room(room: Document) -> str:
    """What all images take, for people."""
    most = f" of {show_size(room['most'])} (images.most)" if room["most"] is not None else ""
    more = _more(room["free"], room.get("file_size_limit")) if room["free"] else "no room for more"
    return f"{counted(room['blobs'], 'blob')}: {show_size(room['size'])}{most}, {more}"


def _more(free: int, limit: int | None) -> str:
    """What may still come: in all so many bytes, and in one file no more than the limit; an earlier appliance tells none."""
    load = free // 2  # a load has its archive on the disk, and beside it the blobs that it takes from there
    if limit is None or limit >= free:
        return f"room for a push of {show_size(free)}, or a load of at most {show_size(load)}"
    return (
        f"room for a push of {show_size(free)} in blobs of at most {show_size(limit)}, or a load of at most "
        f"{show_size(min(load, limit))} (file size limit of {show_size(limit)}: `LimitFSIZE=` of tinkbox's unit, or `ulimit -f`)"
    )


def _reference(image: Document) -> str:
    """What `image delete` and a template call an image; one whose tag moved on has only its digest."""
    return f"{image['name']}:{image['tag']}" if image["tag"] else f"{image['name']}@{image['digest']}"


def _short_digest(digest: str) -> str:
    """The beginning of a digest, enough to compare two by eye."""
    return digest.removeprefix("sha256:")[:12]
