"""`tinkbox workflow list` and `get`."""

import argparse
import json
from collections.abc import Mapping, Sequence

from tinkbox.cli.connection import ask, ask_each
from tinkbox.cli.flags import Verbs, add_listing, add_verb
from tinkbox.cli.output.formats import Column, show, show_texts
from tinkbox.cli.output.printable import moment
from tinkbox.model.text import briefly

PARAMETER = 40  # letters of each


def _parameters(devices: Mapping[str, str]) -> str:
    """What a workflow was created with, as far as it fits into a table."""
    return json.dumps({name: briefly(value, PARAMETER) for name, value in devices.items()}, ensure_ascii=False)


COLUMNS: Sequence[Column] = (
    Column("Workflow ID", "id"),
    Column("Template ID", "template_id"),
    Column("Hardware Device", "devices", _parameters),
    Column("Created At", "created_at", moment),
    Column("Updated At", "updated_at", moment),
)


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    add_listing(add_verb(verbs, "list", show_list, "every workflow"))
    add_listing(add_verb(verbs, "get", get, "a workflow's rendered template, or the list"), keys="*")


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, lambda operator: operator.workflows.all()), COLUMNS)


def get(chosen: argparse.Namespace) -> None:
    if not chosen.keys:
        show_list(chosen)
        return
    show_texts(chosen, ask_each(chosen, lambda operator, key: operator.workflows.get(key)), COLUMNS, "text")
