"""`tinkbox hardware delete` and `discard-history`."""

import argparse

from tinkbox.cli.connection import ask_each
from tinkbox.cli.flags import Verbs, add_keys, add_verb
from tinkbox.cli.output.printable import logged


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_keys(add_verb(verbs, "delete", delete, "forget machines"))
    add_keys(
        add_verb(
            verbs, "discard-history", discard_history, "let what a machine did that the store lost count for nothing"
        )
    )


def delete(chosen: argparse.Namespace) -> None:
    for deleted in ask_each(chosen, lambda operator, key: operator.hardware.delete(key)):
        print(logged(f"Hardware data with id {deleted['id']} deleted successfully"))


def discard_history(chosen: argparse.Namespace) -> None:
    for discarded in ask_each(chosen, lambda operator, key: operator.hardware.discard_history(key)):
        print("Discarded History: ", discarded["id"])
