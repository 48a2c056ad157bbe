"""`tinkbox image list` and `delete`."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.flags import Verbs, add_filters, add_keys, add_listing, add_verb, add_watch, add_yes
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Column, Document
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.selection import confirm_keys
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.sizes import show_size

if TYPE_CHECKING:
    from tinkbox.client.operator import Found, Operator

COLUMNS: Sequence[Column] = (
    Column("Image", "reference", fit=Fit(least=16)),
    Column("Kind", "kind"),
    Column("Digest", lambda image: _short_digest(image["digest"]), fit=Fit(rank=1)),
    Column("Digest", "digest", wide=True),
    Column("Size", "size", show_size),
    Column("Age", "pushed_at", age),
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
    return show_found(chosen, _Images, LISTED)


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.IMAGE)

    async def deleted(operator: "Operator", key: str) -> str:
        await operator.images.delete(key)
        return key

    return change_each(chosen, deleted, lambda key: tell_deleted(chosen, "Image", key))


def _reference(image: Document) -> str:
    """What `image delete` and a template call an image; one whose tag moved on has only its digest."""
    return f"{image['name']}:{image['tag']}" if image["tag"] else f"{image['name']}@{image['digest']}"


def _short_digest(digest: str) -> str:
    """The beginning of a digest, enough to compare two by eye."""
    return digest.removeprefix("sha256:")[:12]
