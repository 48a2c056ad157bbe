"""`tinkbox workflow create`."""

import argparse
import shlex
import sys
from collections.abc import Sequence

from tinkbox.cli.connection import ask
from tinkbox.cli.flags import Verbs, add_confirmation, add_labels, add_require_images, add_strict, add_verb, label
from tinkbox.cli.input_documents import Nothing, input_file, read_devices, read_text
from tinkbox.cli.interruptions.breaking_off import told_to_be_uncertain
from tinkbox.cli.nouns.workflow import for_machines
from tinkbox.cli.nouns.workflow.made import tell_workflows
from tinkbox.cli.output.created import results_of
from tinkbox.cli.output.formats import show_notes

MISSING = (
    'what is to be done is missing: give -t TEMPLATE and MACHINE…, -t TEMPLATE and -r \'{"device_1": "08:00:27:00:00:01"}\', or '
    "--file FILE with kind: Workflow"
)

STORY = (
    "With MACHINE each machine gets a workflow of its own: the template's one device is the machine. Several machines are a "
    "rollout, which `tinkbox rollout` follows, pauses and resumes."
)

_SAFE_AGAIN = "typing the same again is safe, for a workflow that is there is not made a second time"
_LOOK = "look at `tinkbox workflow list` before you type it again"
_GENERATES = "generateName"


def declare(verbs: "Verbs[argparse.ArgumentParser]") -> None:
    verb = add_verb(verbs, "create", create, "bind a template to machines", STORY)
    verb.add_argument("-t", "--template", metavar="TEMPLATE")
    verb.add_argument(
        "-r",
        "--hardware",
        type=read_devices,
        metavar="JSON",
        help='the template\'s devices and parameters: {"device_1": "08:00:27:00:00:01"}; with MACHINE, all but the machine',
    )
    verb.add_argument(
        "--file",
        "-f",
        type=input_file,
        metavar="FILE",
        help="instead of -t and -r, documents of kind: Workflow; - is standard input",
    )
    verb.add_argument(
        "--again",
        action="store_true",
        help="with documents: make another workflow where one of the name is there already",
    )
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
    add_require_images(verb)
    add_strict(verb)
    add_labels(verb, "a label of the workflow (-l selects machines)", read=_label)
    for_machines.add_flags(verb)


def _place(text: str) -> tuple[str, str]:
    """An argument that says where to hold: (on-failure, before or after; the action's name)."""
    where, _, action = text.partition("=")
    if text == "on-failure" or (where in ("before", "after") and action):
        return where, action
    raise argparse.ArgumentTypeError(f"{text!r} is not on-failure, before=ACTION or after=ACTION")


def _label(text: str) -> tuple[str, str]:
    """An argument that sets a label; says how machines are selected where it looks like that."""
    try:
        return label(text)
    except argparse.ArgumentTypeError as error:
        if any(sign in text for sign in (",", "!", " in ", " notin ")):
            raise argparse.ArgumentTypeError(f"{error}; machines are selected with -l {shlex.quote(text)}") from None
        raise


def _armed(wanted: Sequence[tuple[str, str]]) -> dict[str, object]:
    """What the `--breakpoint` flags name, empty when there are none."""
    change: dict[str, object] = {"on_failure": True} if ("on-failure", "") in wanted else {}
    named = {word: [name for where, name in wanted if where == word] for word in ("before", "after")}
    return change | {word: names for word, names in named.items() if names}


def create(chosen: argparse.Namespace) -> int:
    if chosen.again and chosen.template is not None:
        chosen.usage_error("--again is for documents: -t makes another workflow each time")
    if for_machines.is_meant(chosen):
        return for_machines.create(chosen, _armed(chosen.breakpoints))
    if (chosen.template is None) is not (chosen.hardware is None):
        missing = "-t TEMPLATE" if chosen.template is None else "MACHINE or -r JSON"
        hint = "; --label labels the workflow, -l selects machines by their labels" if chosen.labels else ""
        chosen.usage_error(
            f"{missing} is missing: -t and -r go together, or neither of them with a file of documents{hint}"
        )
    if chosen.template is chosen.file is None and (sys.stdin is None or sys.stdin.isatty()):
        chosen.usage_error(MISSING)
    armed, confirmed, labels = _armed(chosen.breakpoints), chosen.confirm_wipe, dict(chosen.labels)
    required = chosen.require_images
    if chosen.template is None:
        try:
            text = read_text(chosen.file, "documents of kind: Workflow")
        except Nothing:
            if chosen.file is not None:
                raise
            chosen.usage_error(MISSING)
        repeats = chosen.again or _GENERATES in text
        with told_to_be_uncertain("the workflows may have been made", _LOOK if repeats else _SAFE_AGAIN):
            answer = ask(
                chosen,
                lambda operator: operator.workflows.create_from(
                    text,
                    armed,
                    confirm_wipe=confirmed,
                    labels=labels,
                    again=chosen.again,
                    require_images=required,
                    strict=chosen.strict,
                ),
            )
    else:
        with told_to_be_uncertain("the workflow may have been made", _LOOK):
            answer = ask(
                chosen,
                lambda operator: operator.workflows.create(
                    chosen.template,
                    chosen.hardware,
                    armed,
                    confirm_wipe=confirmed,
                    labels=labels,
                    require_images=required,
                    strict=chosen.strict,
                ),
            )
    show_notes(answer)
    tell_workflows(chosen, results_of(answer))
    return 0
