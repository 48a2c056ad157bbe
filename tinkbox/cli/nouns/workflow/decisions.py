"""`tinkbox workflow cancel`, `retry`, `takeover` and `delete`."""

import argparse
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from tinkbox.cli.flags import Verbs, add_confirmation, add_keys, add_verb, add_yes
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Document
from tinkbox.cli.output.printable import clean
from tinkbox.cli.selection import confirm_keys
from tinkbox.cli.wording.workflows import workflow_name
from tinkbox.model.key_kinds import KeyKind

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator


UNFINISHED: Final = "PENDING,RUNNING,STOPPING"  # of the workflows that labels select, what can be canceled
# Said of each verb, for a name that several workflows have.
MEANT: Final = "A machine means its newest workflow; a name that several workflows have is refused."


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    story = f"{MEANT} At a terminal it asks first."
    verb = add_keys(
        add_verb(verbs, "cancel", cancel, "stop workflows that are not over", story), KeyKind.WORKFLOW, state=UNFINISHED
    )
    verb.add_argument(
        "--force",
        action="store_true",
        help="also end it when its machine does not answer; what it began may still run there",
    )
    add_yes(verb)
    verb = add_keys(
        add_verb(verbs, "retry", retry, "resume failed workflows at the failed action", MEANT), KeyKind.WORKFLOW
    )
    verb.add_argument(
        "--from", dest="first", metavar="ACTION", help="ACTION or TASK/ACTION, the failed one or an earlier one"
    )
    add_confirmation(verb)
    add_keys(
        add_verb(verbs, "takeover", takeover, "go on from what machines did that the store has lost", MEANT),
        KeyKind.WORKFLOW,
    )
    story = f"Their events, logs and data go with them. {MEANT} At a terminal it asks first."
    add_yes(add_keys(add_verb(verbs, "delete", delete, "forget workflows that do not run", story), KeyKind.WORKFLOW))


def cancel(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Cancel", KeyKind.WORKFLOW, _named)

    def told(canceled: Document) -> None:
        # What runs is told to stop first.
        done = "Canceling Workflow: " if canceled["state"] == "STOPPING" else "Canceled Workflow: "
        print(done, canceled["id"], flush=True)
        if canceled["state"] == "STOPPING":
            short = canceled["id"][:8]
            way = f"if it is off, `tinkbox workflow cancel --force {short}` does not wait for it"
            print(clean(f"tinkbox: the machine is told to stop what runs; {way}"), file=sys.stderr, flush=True)

    return change_each(chosen, lambda operator, key: operator.workflows.cancel(key, force=chosen.force), told)


def retry(chosen: argparse.Namespace) -> int:
    def once_more(operator: "Operator", key: str) -> Awaitable[Document]:
        return operator.workflows.retry(key, chosen.first, confirm_wipe=chosen.confirm_wipe)

    return change_each(chosen, once_more, lambda retried: print("Retried Workflow: ", retried["id"], flush=True))


def takeover(chosen: argparse.Namespace) -> int:
    return change_each(
        chosen,
        lambda operator, key: operator.workflows.take_over(key),
        lambda taken: print("Took Over Workflow: ", taken["id"], flush=True),
    )


def delete(chosen: argparse.Namespace) -> int:
    confirm_keys(chosen, "Forget", KeyKind.WORKFLOW, _named)
    return change_each(
        chosen,
        lambda operator, key: operator.workflows.delete(key),
        lambda deleted: tell_deleted(chosen, "Workflow", deleted["id"]),
    )


async def _named(operator: "Operator", key: str) -> tuple[str, str]:
    """The key and the name of what is asked about.

    A machine means another workflow once it has a newer one, so it becomes the id.  A name stays: it is refused where
    several have it.
    """
    state = await operator.workflows.state(key)
    workflow_id = state["workflow_id"]
    by_name = state["name"] == key and not workflow_id.startswith(key)
    return key if by_name else workflow_id, workflow_name({**state, "id": workflow_id})
