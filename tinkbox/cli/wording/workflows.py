"""What people call a workflow, in words that fit into a question.  Pure."""

from tinkbox.cli.output.formats import Document, short
from tinkbox.cli.wording.machines import machine_name
from tinkbox.model.text import counted


def machines_of(workflow: Document) -> str:
    """The name of the only one, else how many they are; empty for none."""
    machines = workflow["machines"]
    return machine_name(machines[0]) if len(machines) == 1 else counted(len(machines), "machine") if machines else ""


def workflow_name(workflow: Document) -> str:
    """The beginning of its id, its name and where it runs: `1b2c3d4e (ubuntu on node3)`."""
    where = machines_of(workflow)
    return f"{short(workflow['id'])} ({workflow['name']}{f' on {where}' if where else ''})"
