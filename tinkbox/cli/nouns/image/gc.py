"""`tinkbox image gc`."""

import argparse

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_format, add_verb
from tinkbox.cli.output.formats import json_of, show_notes, yaml_of
from tinkbox.model.images.room import Amount
from tinkbox.model.text import counted


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "gc",
        collect,
        "free room that no image needs",
        "Parts of pushes that were broken off are freed by themselves within two hours; this frees what can be freed now.\n"
        "What came within the hour, or what a client was told of, stays: a push in progress may need it.",
    )
    verb.add_argument(
        "--now", action="store_true", help="free that as well; pushes in progress then fail, and have to begin again"
    )
    verb.add_argument(
        "--untagged",
        action="store_true",
        help="delete the images without a tag that no workflow and no template needs, such as those whose tag moved on",
    )
    verb.add_argument("--dry-run", action="store_true", help="say what would be freed; nothing is")
    add_format(verb, FORMATS, "a line for people (default), json or yaml")


FORMATS = ("table", "json", "yaml")


def collect(chosen: argparse.Namespace) -> None:
    answer = ask(
        chosen,
        lambda operator: operator.images.collect(dry_run=chosen.dry_run, now=chosen.now, untagged=chosen.untagged),
    )
    show_notes(answer)
    if chosen.format in ("json", "yaml"):
        print((json_of if chosen.format == "json" else yaml_of)(answer), end="")
        return
    freed = Amount(number=answer["freed"]["blobs"], octets=answer["freed"]["size"])
    done = "Would Free" if chosen.dry_run else "Freed"
    images = f"{counted(answer['images'], 'image')}, " if answer.get("images") else ""
    print(f"{done}:  {images}{freed}")
