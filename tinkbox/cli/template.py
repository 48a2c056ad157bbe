"""`tinkbox template`."""

import argparse
from collections.abc import Sequence

from tinkbox.cli.appliance import ask, ask_each, read_text
from tinkbox.cli.output import Column, moment, show, show_texts
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Invalid

COLUMNS: Sequence[Column] = (
    ("Template ID", lambda template: template["id"]),
    ("Template Name", lambda template: template["name"]),
    ("Created At", lambda template: moment(template["created_at"])),
    ("Updated At", lambda template: moment(template["updated_at"])),
)


def create(chosen: argparse.Namespace) -> None:
    text = read_text(chosen.file, "template")
    created = ask(chosen, lambda operator: operator.create_template(chosen.name, text))
    print("Created Template: ", created["id"])


def show_list(chosen: argparse.Namespace) -> None:
    show(chosen, ask(chosen, Operator.templates), COLUMNS)


def get(chosen: argparse.Namespace) -> None:
    if not chosen.keys:
        show_list(chosen)
        return
    show_texts(chosen, ask_each(chosen, Operator.template), COLUMNS, "data")


def update(chosen: argparse.Namespace) -> None:
    text = read_text(chosen.file, "template") if chosen.file is not None or chosen.name is None else None
    if text is None and chosen.name is None:
        raise Invalid("nothing to update: give --name, --file, or both")
    updated = ask(chosen, lambda operator: operator.update_template(chosen.key, chosen.name, text))
    print("Updated Template: ", updated["id"])


def delete(chosen: argparse.Namespace) -> None:
    ask_each(chosen, Operator.delete_template)


def validate(chosen: argparse.Namespace) -> None:
    text = read_text(chosen.file, "template")
    ask(chosen, lambda operator: operator.validate_template(text))
    print("the template is valid")
