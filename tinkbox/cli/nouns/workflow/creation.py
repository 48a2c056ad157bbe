"""`tinkbox workflow create`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_confirmation, add_verb
from tinkbox.cli.input_documents import read_devices, read_text
from tinkbox.cli.output.formats import show_notes


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "create", create, "bind a template to machines")
    verb.add_argument("-t", "--template", metavar="TEMPLATE")
    verb.add_argument("-r", "--hardware", metavar="JSON", help='{"device_1": "08:00:27:00:00:01"}')
    verb.add_argument("--file", type=Path, metavar="F", help="instead of -t and -r, documents of kind: Workflow")
    verb.add_argument(
        "--breakpoint",
        dest="breakpoints",
        action="append",
        type=_place,
        metavar="WHERE",
        default=[],
        help="on-failure, before=ACTION or after=ACTION; may be repeated (see `tinkbox breakpoint`)",
    )
    add_confirmation(verb)


def _place(text: str) -> tuple[str, str]:
    """An argument that says where to hold: (on-failure, before or after; the action's name)."""
    where, _, action = text.partition("=")
    if text == "on-failure" or (where in ("before", "after") and action):
        return where, action
    raise argparse.ArgumentTypeError(f"{text!r} is not on-failure, before=ACTION or after=ACTION")


def _armed(wanted: Sequence[tuple[str, str]]) -> dict[str, object]:
    """What the `--breakpoint` flags name, empty when there are none."""
    change: dict[str, object] = {"on_failure": True} if ("on-failure", "") in wanted else {}
    named = {word: [name for where, name in wanted if where == word] for word in ("before", "after")}
    return change | {word: names for word, names in named.items() if names}


def create(chosen: argparse.Namespace) -> None:
    if (chosen.template is None) is not (chosen.hardware is None):
        chosen.usage_error("-t and -r go together, or neither of them with a file of Kubernetes documents")
    armed, confirmed = _armed(chosen.breakpoints), chosen.confirm_wipe
    if chosen.template is None:
        text = read_text(chosen.file, "kind: Workflow")
        answer = ask(chosen, lambda operator: operator.workflows.create_from(text, armed, confirm_wipe=confirmed))
        show_notes(answer)
    else:
        devices = read_devices(chosen.hardware)
        answer = ask(
            chosen,
            lambda operator: operator.workflows.create(chosen.template, devices, armed, confirm_wipe=confirmed),
        )
    for created in answer.get("created", [answer]):
        print("Created Workflow: ", created["id"])
