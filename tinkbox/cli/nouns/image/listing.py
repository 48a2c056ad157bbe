"""`tinkbox image list` and `delete`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, ask_each
from tinkbox.cli.flags import Verbs, add_keys, add_listing, add_verb
from tinkbox.cli.output.formats import Column, Document, show
from tinkbox.cli.output.printable import moment

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

COLUMNS: Sequence[Column] = (
    Column("Image", "reference"),
    Column("Kind", lambda image: image.get("kind", "")),
    Column("Digest", "digest"),
    Column("Size", "size"),
    Column("Created At", "pushed_at", moment),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "list", show_list, "every image"))
    add_keys(add_verb(verbs, "delete", delete, "forget images"))


def show_list(chosen: argparse.Namespace) -> None:
    images = [
        {"reference": _reference(image), **image} for image in ask(chosen, lambda operator: operator.images.all())
    ]
    show(chosen, images, COLUMNS, key="reference")


def delete(chosen: argparse.Namespace) -> None:
    async def deleted(operator: "Operator", key: str) -> None:
        await operator.images.delete(key)
        print(f"Deleted image: {key}", flush=True)

    ask_each(chosen, deleted)


def _reference(image: Document) -> str:
    """What `image delete` and a template call an image; one whose tag moved on has only its digest."""
    return f"{image['name']}:{image['tag']}" if image["tag"] else f"{image['name']}@{image['digest']}"
