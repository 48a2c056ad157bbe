"""`tinkbox hardware retire` and `return`: out of service, on record, and back."""

import argparse
from typing import TYPE_CHECKING

from tinkbox.cli.flags import Verbs, add_keys, add_verb, add_yes, filled
from tinkbox.cli.meant_keys import registered_at
from tinkbox.cli.output.changes import change_each
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean
from tinkbox.cli.selection import confirm_keys
from tinkbox.model.key_kinds import KeyKind, ToChange

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tinkbox.client.operator import Operator

STORY = (
    "It gets no address and boots nothing, no workflow is created for it, and lists leave it out (`hardware list --retired` "
    "has it). Its name, MACs and address stay its own; its workflows and its timeline stay readable. At a terminal it asks first."
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "retire", retire, "take machines out of service, and keep their record", STORY)
    add_keys(verb, KeyKind.MACHINE, to_change=ToChange.RETIRE)
    verb.add_argument("--reason", type=filled, metavar="TEXT", help="why, for the record")
    verb.add_argument(
        "--force",
        action="store_true",
        help="also when it waits in a rollout; cancel workflows that are not over and need it, on their other machines as well",
    )
    add_yes(verb)
    about = "take retired machines back into service"
    verb = add_verb(verbs, "return", give_back, about, "A note keeps that they were retired.")
    add_keys(verb, KeyKind.MACHINE, state="retired", suggested=KeyKind.RETIRED_MACHINE)


def retire(chosen: argparse.Namespace) -> int:
    what = "Retire"
    if chosen.force:
        what, chosen.to_change = "Cancel what runs there, and retire", ToChange.ANY
    confirm_keys(chosen, what, KeyKind.MACHINE, careful=chosen.force)

    def retired(operator: "Operator", key: str) -> "Awaitable[Document]":
        registered = registered_at(chosen, key)
        return operator.hardware.retire(key, chosen.reason or "", force=chosen.force, created_at=registered)

    return change_each(chosen, retired, lambda done: _tell("Retired", done))


def give_back(chosen: argparse.Namespace) -> int:
    return change_each(
        chosen, lambda operator, key: operator.hardware.give_back(key), lambda done: _tell("Returned to service:", done)
    )


def _tell(what: str, machine: Document) -> None:
    print(clean(f"{what} {machine['name'] or machine['id']}"), flush=True)
    tell_canceled(machine)


def tell_canceled(done: Document) -> None:
    """Name the workflows that were cancelled for it; what runs is told to stop first, as by `workflow cancel`."""
    stopping = done.get("stopping", ())
    for each in done.get("canceled", ()):
        print(clean(f"{'Canceling' if each in stopping else 'Canceled'} Workflow:  {each}"), flush=True)
