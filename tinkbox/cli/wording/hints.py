"""What a person can do about a workflow that failed, with commands that can be typed as they stand."""

from tinkbox.cli.output.formats import Document, short
from tinkbox.model.command_lines import about
from tinkbox.model.reasons import never_ran, to_do
from tinkbox.model.workflow import State
from tinkbox.wire.messages.named_machines import machine_name


def hint_of(stands: Document, workflow: str) -> str:
    """The hint of where the workflow of this id stands."""
    machines = stands.get("machines", ())
    machine = machine_name(machines[0]) if len(machines) == 1 else ""
    service = stands.get("service", "")  # earlier releases do not tell it
    template = stands.get("template_name", "")  # nor this
    return about(stands["hint"], workflow=short(workflow), machine=machine, service=service, template=template)


def advice_of(stands: Document, workflow: str) -> str:
    """The same as a line that says whose advice it is; empty where there is none."""
    return to_do(stands["reason"], stands["hint"], hint_of(stands, workflow)) if stands["hint"] else ""


def may_have_printed(stands: Document, program: str) -> bool:
    """Whether the action that it stands at printed something, or may have, where an earlier release does not tell that.

    `program` is how the commands begin in what the appliance told.
    """
    if (printed := stands.get("output_bytes")) is not None:
        return bool(printed)
    return stands.get("current_action_state") != State.PENDING and not never_ran(
        stands["reason"], stands["hint"], program
    )
