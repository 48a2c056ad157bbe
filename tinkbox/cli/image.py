"""`tinkbox image`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, Document, moment, show
from tinkbox.client.operator import Operator
from tinkbox.model.errors import NotFound

COLUMNS: Sequence[Column] = (
    ("Image", lambda image: image["reference"]),
    ("Digest", lambda image: image["digest"]),
    ("Size", lambda image: image["size"]),
    ("Created At", lambda image: moment(image["pushed_at"])),
)


def load(chosen: argparse.Namespace) -> None:
    async def loaded(operator: Operator) -> None:
        for path in chosen.files:
            if not path.is_file():
                raise NotFound(f"no file {path}: name an archive that `docker save` made")
            try:
                names = await operator.images.load(path)
            except OSError as error:
                raise NotFound(f"cannot read {path}: {error.strerror}") from None
            for name in names:
                print(f"Loaded image: {name}", flush=True)

    ask(chosen, loaded)


def show_list(chosen: argparse.Namespace) -> None:
    images = [
        {"reference": _reference(image), **image} for image in ask(chosen, lambda operator: operator.images.all())
    ]
    show(chosen, images, COLUMNS, key="reference")


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, lambda operator, key: operator.images.delete(key))


def _reference(image: Document) -> str:
    """What `image delete` and a template call an image; one whose tag moved on has only its digest."""
    return f"{image['name']}:{image['tag']}" if image["tag"] else f"{image['name']}@{image['digest']}"
