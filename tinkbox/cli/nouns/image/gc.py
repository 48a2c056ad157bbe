"""`tinkbox image gc`."""

import argparse

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_format, add_verb
from tinkbox.cli.output.formats import json_of, show_notes, yaml_of
from tinkbox.model.images.room import Amount


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(
        verbs,
        "gc",
        collect,
        "free room that no image needs",
        "Parts of pushes that were broken off are freed by themselves within two hours; this frees what can be freed now.",
    )
    verb.add_argument("--dry-run", action="store_true", help="say what would be freed; nothing is")
    add_format(verb, FORMATS, "a line for people (default), json or yaml")


FORMATS = ("table", "json", "yaml")


def collect(chosen: argparse.Namespace) -> None:
    answer = ask(chosen, lambda operator: operator.images.collect(dry_run=chosen.dry_run))
    show_notes(answer)
    if chosen.format in ("json", "yaml"):
        print((json_of if chosen.format == "json" else yaml_of)(answer), end="")
        return
    freed = Amount(number=answer["freed"]["blobs"], octets=answer["freed"]["size"])
    done = "Would Free" if chosen.dry_run else "Freed"
    print(f"{done}:  {freed}")
