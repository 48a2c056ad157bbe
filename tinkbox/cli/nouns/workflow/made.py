"""What `tinkbox workflow create` tells of what it made, for people and for programs."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.done_so_far import done_so_far
from tinkbox.cli.flags import DOCUMENTS
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.output.created import word_of
from tinkbox.cli.output.formats import Document, json_of, yaml_of
from tinkbox.model.errors import Forbidden

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

FORMATS: Final = ("table", "json", "yaml", "name")
FORMATS_HELP: Final = "of what was made, or would be: table (default), json, yaml; name: ids"


def tell_workflows(chosen: argparse.Namespace, results: Sequence[Document]) -> None:
    """Print what became of each workflow that was to be made (`output.created`), in their order.

    A document is the whole workflow, with its `outcome` where a file was given; for a person who may create workflows and look at none, it has what the
    answer told.
    """

    async def whole(operator: "Operator") -> list[Document]:
        try:
            return [{**await operator.workflows.get(each["id"]), **_outcome(each)} for each in results]
        except Forbidden:
            return [*results]

    with told_how_far(lambda: str(done_so_far())):
        tell_made(chosen, "Workflow", ask(chosen, whole) if chosen.format in DOCUMENTS else results)


def _outcome(result: Document) -> Document:
    return {name: value for name, value in result.items() if name == "outcome"}


def tell_made(chosen: argparse.Namespace, kind: str, results: Sequence[Document]) -> None:
    """Print the workflows or rollouts that were made, or were there already; `kind` is the word for one."""
    if chosen.format in DOCUMENTS:
        print((json_of if chosen.format == "json" else yaml_of)(list(results)), end="", flush=True)
        return
    for each in results:
        before = "" if chosen.format == "name" else f"{word_of(each)} {kind}:  "
        print(f"{before}{each['id']}", flush=True)
