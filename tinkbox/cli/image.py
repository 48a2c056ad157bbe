"""`tinkbox image`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, moment, show
from tinkbox.client.operator import Operator
from tinkbox.model.errors import NotFound

COLUMNS: Sequence[Column] = (
    ("Image", lambda image: image["name"]),
    ("Digest", lambda image: image["digest"]),
    ("Size", lambda image: image["size"]),
    ("Created At", lambda image: moment(image["created_at"])),
)


def load(chosen: argparse.Namespace) -> None:
    async def loaded(operator: Operator) -> None:
        for path in chosen.files:
            if not path.is_file():
                raise NotFound(f"no file {path}: name an archive that `docker save` made")
            for name in await operator.load_images(path):
                print(f"Loaded image: {name}", flush=True)

    ask(chosen, loaded)


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, Operator.images), COLUMNS, key="name")


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, Operator.delete_image)
