"""What a person can do about a workflow that failed, with commands that can be typed as they stand."""

from tinkbox.cli.output.formats import Document, short
from tinkbox.model.command_lines import about
from tinkbox.model.reasons import never_ran
from tinkbox.model.workflow import State
from tinkbox.wire.messages.named_machines import machine_name


def hint_of(stands: Document, workflow: str) -> str:
    """The hint of where the workflow of this id stands."""
    machines = stands.get("machines", ())
    machine = machine_name(machines[0]) if len(machines) == 1 else ""
    service = stands.get("service", "")  # earlier releases do not tell it
    return about(stands["hint"], workflow=short(workflow), machine=machine, service=service)


def may_have_printed(stands: Document, program: str) -> bool:
    """Whether the action that it stands at came so far that something of it may have run.

    `program` is how the commands begin in what the appliance told.
    """
    return stands.get("current_action_state") != State.PENDING and not never_ran(
        stands["reason"], stands["hint"], program
    )
