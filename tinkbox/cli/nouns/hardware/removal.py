"""`tinkbox hardware delete` and `discard-history`."""

import argparse
from typing import TYPE_CHECKING

from tinkbox.cli.flags import Verbs, add_keys, add_verb, add_yes
from tinkbox.cli.meant_keys import registered_at
from tinkbox.cli.nouns.hardware.retirement import tell_canceled
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import logged
from tinkbox.cli.selection import confirm_keys
from tinkbox.model.key_kinds import KeyKind, ToChange

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    story = "`hardware retire` keeps their record instead. At a terminal it asks first."
    verb = add_verb(verbs, "delete", delete, "forget machines", story)
    add_keys(verb, KeyKind.MACHINE, to_change=ToChange.DELETE)
    verb.add_argument(
        "--force",
        action="store_true",
        help="also when it waits in a rollout; cancel workflows that are not over and need it, on their other machines as well",
    )
    add_yes(verb)
    about = "let what a machine did that the store lost count for nothing"
    story = "What the store takes for still to be done is done again, from its first action on. At a terminal it asks first."
    add_yes(add_keys(add_verb(verbs, "discard-history", discard_history, about, story), KeyKind.MACHINE))


def delete(chosen: argparse.Namespace) -> int:
    what = "Forget"
    if chosen.force:
        what, chosen.to_change = "Cancel what runs there, and forget", ToChange.ANY
    confirm_keys(chosen, what, KeyKind.MACHINE, careful=chosen.force)

    def told(deleted: Document) -> None:
        if chosen.as_2020:
            print(logged(f"Hardware data with id {deleted['id']} deleted successfully"), flush=True)
        tell_deleted(chosen, "Hardware", " ".join(str(each) for each in (deleted["id"], deleted.get("name")) if each))
        tell_canceled(deleted)

    def deleted(operator: "Operator", key: str) -> "Awaitable[Document]":
        return operator.hardware.delete(key, force=chosen.force, created_at=registered_at(chosen, key))

    return change_each(chosen, deleted, told)


def discard_history(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Discard the history of", KeyKind.MACHINE)
    return change_each(
        chosen,
        lambda operator, key: operator.hardware.discard_history(key),
        lambda discarded: print("Discarded History: ", discarded["id"], flush=True),
    )
