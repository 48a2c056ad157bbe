"""`tinkbox workflow cancel`, `retry`, `takeover` and `delete`."""

import argparse
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from tinkbox.cli.connection import ask_each
from tinkbox.cli.flags import Verbs, add_confirmation, add_keys, add_verb
from tinkbox.cli.output.formats import Document

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_keys(add_verb(verbs, "cancel", cancel, "stop workflows that are not over"))
    verb = add_keys(add_verb(verbs, "retry", retry, "resume failed workflows at the failed action"))
    verb.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    add_confirmation(verb)
    add_keys(add_verb(verbs, "takeover", takeover, "go on from what machines did that the store has lost"))
    add_keys(add_verb(verbs, "delete", delete, "forget workflows that do not run"))


def cancel(chosen: argparse.Namespace) -> None:
    for canceled in ask_each(chosen, lambda operator, key: operator.workflows.cancel(key)):
        # What runs is told to stop first.
        print("Canceled Workflow: " if canceled["state"] == "CANCELED" else "Canceling Workflow: ", canceled["id"])


def retry(chosen: argparse.Namespace) -> None:
    def once_more(operator: "Operator", key: str) -> Awaitable[Document]:
        return operator.workflows.retry(key, chosen.first, confirm_wipe=chosen.confirm_wipe)

    for retried in ask_each(chosen, once_more):
        print("Retried Workflow: ", retried["id"])


def takeover(chosen: argparse.Namespace) -> None:
    for taken in ask_each(chosen, lambda operator, key: operator.workflows.take_over(key)):
        print("Took Over Workflow: ", taken["id"])


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, lambda operator, key: operator.workflows.delete(key))
