"""`tinkbox image`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask, ask_each, stay_connected
from tinkbox.cli.flags import add_keys, add_listing, add_verb, add_verbs
from tinkbox.cli.nouns import image_catalogue, image_fetch, image_import, image_show
from tinkbox.cli.output.formats import Column, Document, show
from tinkbox.cli.output.printable import moment
from tinkbox.model.errors import NotFound

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

COLUMNS: Sequence[Column] = (
    Column("Image", "reference"),
    Column("Kind", lambda image: image.get("kind", "")),
    Column("Digest", "digest"),
    Column("Size", "size"),
    Column("Created At", "pushed_at", moment),
)


def declare(noun: argparse.ArgumentParser) -> None:
    verbs = add_verbs(noun)
    verb = add_verb(
        verbs,
        "load",
        load,
        "load container images and system images from archives",
        "Archives of container images are written by `docker save`, those of system images by `tinkbox image fetch --save`.",
    )
    verb.add_argument("files", metavar="FILE", nargs="+", type=Path)
    image_import.declare(verbs)
    image_catalogue.declare(verbs)
    image_fetch.declare(verbs)
    image_show.declare(verbs)
    add_listing(add_verb(verbs, "list", show_list, "every image"))
    add_keys(add_verb(verbs, "delete", delete, "forget images"))


def load(chosen: argparse.Namespace) -> None:
    async def loaded(operator: "Operator") -> None:
        for path in chosen.files:
            image_import.require_file(path, "name an archive that `docker save` or `tinkbox image fetch --save` made")
            try:
                names = await operator.images.load(path)
            except OSError as error:
                raise NotFound(f"cannot read {path}: {error.strerror}") from None
            for name in names:
                print(f"Loaded image: {name}", flush=True)

    stay_connected(chosen, loaded)


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
