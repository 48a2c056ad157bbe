"""`tinkbox image load`: images from archives."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import stay_connected
from tinkbox.cli.flags import Verbs, add_verb
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.nouns.image.importing import require_file
from tinkbox.model.errors import NotFound
from tinkbox.model.text import so_many

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "load",
        load,
        "load container images and system images from archives",
        "Archives of container images are written by `docker save`, those of system images by `tinkbox image fetch --save`.",
    )
    verb.add_argument("files", metavar="FILE", nargs="+", type=Path)


def load(chosen: argparse.Namespace) -> None:
    done = 0

    def so_far() -> str:
        total = len(chosen.files)
        return f"{so_many(done, total, 'archive')} loaded" if total > 1 else ""

    async def loaded(operator: "Operator") -> None:
        nonlocal done
        for path in chosen.files:
            require_file(path, "name an archive that `docker save` or `tinkbox image fetch --save` made")
            try:
                names = await operator.images.load(path)
            except OSError as error:
                raise NotFound(f"cannot read {path}: {error.strerror}") from None
            done += 1
            for name in names:
                print(f"Loaded Image:  {name}", flush=True)

    with told_how_far(so_far):
        stay_connected(chosen, loaded)
