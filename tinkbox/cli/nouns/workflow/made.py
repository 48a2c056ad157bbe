"""What `tinkbox workflow create` tells of what it made, for people and for programs."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tinkbox.cli.connection import ask
from tinkbox.cli.done_so_far import done_so_far
from tinkbox.cli.flags import DOCUMENTS
from tinkbox.cli.interruptions.breaking_off import told_how_far
from tinkbox.cli.output.formats import Document, json_of, yaml_of
from tinkbox.model.errors import Forbidden

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

FORMATS: Final = ("table", "json", "yaml", "name")
FORMATS_HELP: Final = "of what was made, or would be: table (default), json, yaml; name: ids"


def tell_workflows(chosen: argparse.Namespace, made: Sequence[Document], existing: Sequence[Document] = ()) -> None:
    """Print the workflows that were made, behind them those that were there already.

    Of whoever may create them and look at none, a document has the id alone.
    """

    async def whole(operator: "Operator") -> list[Document]:
        try:
            return [await operator.workflows.get(each["id"]) for each in (*made, *existing)]
        except Forbidden:
            return [*made, *existing]

    with told_how_far(lambda: str(done_so_far())):
        if chosen.format in DOCUMENTS:
            tell_made(chosen, "Workflow", ask(chosen, whole))
        else:
            tell_made(chosen, "Workflow", made, existing)


def tell_made(
    chosen: argparse.Namespace, kind: str, made: Sequence[Document], existing: Sequence[Document] = ()
) -> None:
    """Print the workflows or rollouts that were made, and those that were there already; `kind` is the word for one."""
    if chosen.format in DOCUMENTS:
        print((json_of if chosen.format == "json" else yaml_of)([*made, *existing]), end="", flush=True)
        return
    for word, listed in (("Created", made), ("Existing", existing)):
        before = "" if chosen.format == "name" else f"{word} {kind}:  "
        for each in listed:
            print(f"{before}{each['id']}", flush=True)
