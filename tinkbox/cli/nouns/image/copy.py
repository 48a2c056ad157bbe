"""`tinkbox image copy`: an image to another appliance, or under another name."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tinkbox.cli.connection import other_appliance, stay_connected
from tinkbox.cli.flags import Verbs, add_verb, filled
from tinkbox.cli.interruptions.breaking_off import ended_in_order
from tinkbox.cli.nouns.image.transfers import LeftBehind, examining, saved_here, send, shown
from tinkbox.cli.output.formats import show_notes
from tinkbox.cli.output.printable import clean
from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.model.key_kinds import TYPED, KeyKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tinkbox.client.operator import Operator
    from tinkbox.registry.archives.writing import Saved

_MAX_TOKEN = 4096


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "copy",
        copy,
        "copy an image to another appliance, or give it a second name",
        "Signatures and SBOMs go with their image.  What the other appliance has already is not sent.\n"
        "Its token stands in TINKBOX_TO_TOKEN, or in a file.",
    )
    verb.add_argument("key", metavar=KeyKind.IMAGE, help=TYPED[KeyKind.IMAGE])
    verb.add_argument("destination", metavar="DEST", nargs="?", default="", help="its name there (default: the same)")
    verb.add_argument(
        "--to", type=filled, metavar="URL", help="the other appliance, such as https://other:7080 (default: this one)"
    )
    verb.add_argument("--token-file", type=Path, metavar="FILE", help="file with the token of the other appliance")


def copy(chosen: argparse.Namespace) -> int:
    from tinkbox.settings import TO_TOKEN, other_token

    if not chosen.to and not chosen.destination:
        chosen.usage_error("name the other appliance with --to URL, or a second name DEST")
    if not chosen.to and chosen.token_file:
        chosen.usage_error("--token-file is for another appliance: name it with --to URL")
    token, token_place = (
        (_read(chosen.token_file), str(chosen.token_file)) if chosen.token_file else (other_token(), TO_TOKEN)
    )

    async def sent_to_other(
        images: "Sequence[Saved]", operator: "Operator", told: "Callable[[int, int], None]"
    ) -> Sequence[str]:
        async with other_appliance(chosen.to, token, flag="--to", token_place=token_place) as other:
            return await send(images, operator.images.blob, other, told)

    left_behind = LeftBehind()

    async def copied(operator: "Operator") -> None:
        async with examining(operator):
            images = await saved_here(operator, chosen.key, left_behind, chosen.destination)
            with shown(f"Copying {images[0].name}") as told:
                if not chosen.to:
                    names = await send(images, operator.images.blob, operator, told)
                else:
                    names = await sent_to_other(images, operator, told)
        _tell_of_port(chosen)
        for each in names:
            print(clean(f"Copied Image:  {each}"), flush=True)

    with ended_in_order():
        stay_connected(chosen, copied)
    return int(left_behind.number > 0)


def _tell_of_port(chosen: argparse.Namespace) -> None:
    """Tell of a name here that says where another registry is: elsewhere a copy to it would go there."""
    from tinkbox.model.images.references import parse_reference

    host = parse_reference(chosen.destination).host if chosen.destination and not chosen.to else ""
    if ":" in host:
        text = f"{chosen.destination} is a name on this appliance: `--to https://{host}` sends an image to another one"
        show_notes({"notes": [asdict(Problem(text=text))]})


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MAX_TOKEN).strip()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{path} holds no token: it is no text") from None
