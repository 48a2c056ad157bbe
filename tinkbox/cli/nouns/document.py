"""`tinkbox document`: documents of Tinkerbell that are kept as they were given."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.flags import add_filters, add_listing, add_verb, add_verbs, add_watch, add_yes, filled
from tinkbox.cli.output.changes import change_each, tell_deleted
from tinkbox.cli.output.formats import Column, Document
from tinkbox.cli.output.lists import List
from tinkbox.cli.output.printable import age
from tinkbox.cli.output.tables import Fit
from tinkbox.cli.terminal.watched_list import show_found
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import show_labels

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

STORY: Final = """\
Look at the documents that `tinkbox apply` keeps as they are: rules for unknown
machines (WorkflowRuleSet, Policy), and Machine, Job and Task for power
control. `tinkbox export` prints them."""
COLUMNS: Sequence[Column] = (
    Column("ID", "id", wide=True),
    Column("Kind", "kind"),
    Column("Namespace", "namespace", fit=Fit(rank=2)),
    Column("Name", "name", fit=Fit(least=12)),
    Column("Age", "created_at", age),
    Column("Labels", "labels", show_labels, Fit(least=8, rank=1)),
)

LISTED = List(columns=COLUMNS, key="key", sort="kind")


def declare(noun: argparse.ArgumentParser) -> None:
    noun.description = STORY
    verbs = add_verbs(noun)
    verb = add_listing(add_verb(verbs, "list", show_list, "what is kept"))
    add_filters(verb, "label", sorts=("kind", "name", "namespace", "created_at"), age="created_at")
    add_watch(verb)
    verb = add_verb(
        verbs, "delete", delete, "forget documents", "What came of them stays. At a terminal it asks first."
    )
    verb.add_argument(
        "keys", nargs="+", metavar="KIND/NAME", help="such as workflowruleset/rack7, or with an id for the name"
    )
    verb.add_argument("--namespace", type=filled, metavar="NAME", help="of this namespace (default: any)")
    add_yes(verb)


def show_list(chosen: argparse.Namespace) -> int:
    return show_found(chosen, lambda operator: operator.files, LISTED)


def delete(chosen: argparse.Namespace) -> int:
    for each in chosen.keys:
        kind, slash, name = each.partition("/")
        if not (kind and slash and name):
            raise Invalid(
                f"{each[:80]!r} is no KIND/NAME, such as workflowruleset/rack7: `tinkbox document list -q` prints them"
            )

    from tinkbox.cli.terminal.questions import confirm

    confirm(chosen, f"Delete {', '.join(chosen.keys)}")

    async def forget(operator: "Operator", key: str) -> Document:
        kind, _, name = key.partition("/")
        return await operator.files.forget(kind, name, chosen.namespace or "")

    return change_each(chosen, forget, lambda deleted: tell_deleted(chosen, deleted["kind"], deleted["name"]))
