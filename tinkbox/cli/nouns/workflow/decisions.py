"""`tinkbox workflow cancel`, `retry`, `takeover` and `delete`."""

import argparse
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from tinkbox.cli.called_as import called_as, told
from tinkbox.cli.flags import Verbs, add_confirmation, add_keys, add_verb, add_yes
from tinkbox.cli.meant_keys import run_of
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean
from tinkbox.cli.selection import confirm_keys
from tinkbox.model.key_kinds import KeyKind, ToChange

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


UNFINISHED: Final = "PENDING,RUNNING,STOPPING"  # of the workflows that labels select, what can be canceled
RETRIABLE: Final = "FAILED,TIMEOUT,CANCELED"  # what of them can be retried
# Said of each verb, for a name that several workflows have.
MEANT: Final = "A machine means its newest workflow; a name that several workflows have is refused."


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    story = "A machine means the only one of its workflows that is not over, a name the only one so called. At a terminal it asks first."
    verb = add_keys(
        add_verb(verbs, "cancel", cancel, "stop workflows that are not over", story),
        KeyKind.WORKFLOW,
        state=UNFINISHED,
        to_change=ToChange.UNFINISHED,
    )
    verb.add_argument(
        "--force",
        action="store_true",
        help="also end it when its machine does not answer; what it began may still run there",
    )
    add_yes(verb)
    story = f"{MEANT} What -l selects is asked about at a terminal."
    verb = add_keys(
        add_verb(verbs, "retry", retry, "resume failed workflows at the failed action", story),
        KeyKind.WORKFLOW,
        state=RETRIABLE,
    )
    verb.set_defaults(newest_first=True)  # of a machine's several the newest is taken up, and the others are refused
    verb.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    add_confirmation(verb)
    add_yes(verb)
    add_keys(
        add_verb(verbs, "takeover", takeover, "go on from what machines did that the store has lost", MEANT),
        KeyKind.WORKFLOW,
        state=UNFINISHED,
    )
    story = f"Their events, logs and data go with them. {MEANT} At a terminal it asks first."
    verb = add_verb(verbs, "delete", delete, "forget workflows that do not run", story)
    add_yes(add_keys(verb, KeyKind.WORKFLOW, to_change=ToChange.DELETE))


def cancel(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Cancel", KeyKind.WORKFLOW)

    def tell(canceled: Document) -> None:
        # What runs is told to stop first.
        done = "Canceling Workflow: " if canceled["state"] == "STOPPING" else "Canceled Workflow: "
        print(done, canceled["id"], flush=True)
        said, runs_on = list[str](), canceled.get("runs_on")  # earlier releases do not tell it
        if runs_on or canceled["state"] == "STOPPING":
            said.append(runs_on or "the machine is told to stop what runs")
        if canceled["state"] == "STOPPING":
            way = f"`{called_as(chosen)} workflow cancel --force {canceled['id'][:8]}` does not wait for it"
            said.append(way if runs_on else f"if it is off, {way}")
        if said:
            print(clean(f"tinkbox: {'; '.join(said)}"), file=sys.stderr, flush=True)

    def canceled(operator: "Operator", key: str) -> Awaitable[Document]:
        return operator.workflows.cancel(key, force=chosen.force, run=run_of(chosen, key))

    return change_each(chosen, canceled, tell)


def retry(chosen: argparse.Namespace) -> int:
    if chosen.label is not None:  # labels of machines select their whole past
        confirm_keys(chosen, "Retry", KeyKind.WORKFLOW)

    def once_more(operator: "Operator", key: str) -> Awaitable[Document]:
        return operator.workflows.retry(key, chosen.first, confirm_wipe=chosen.confirm_wipe, run=run_of(chosen, key))

    def tell(retried: Document) -> None:
        print("Retried Workflow: ", retried["id"], flush=True)
        if changed := retried.get("template_changed"):
            print(told(f"tinkbox: {changed}"), file=sys.stderr, flush=True)

    return change_each(chosen, once_more, tell)


def takeover(chosen: argparse.Namespace) -> int:
    return change_each(
        chosen,
        lambda operator, key: operator.workflows.take_over(key),
        lambda taken: print("Took Over Workflow: ", taken["id"], flush=True),
    )


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.WORKFLOW)
    return change_each(
        chosen,
        lambda operator, key: operator.workflows.delete(key, run_of(chosen, key)),
        lambda deleted: tell_deleted(chosen, "Workflow", deleted["id"]),
    )
