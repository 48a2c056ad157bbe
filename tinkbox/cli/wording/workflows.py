"""What people call a workflow, in words that fit into a question.  Pure."""

from tinkbox.cli.output.formats import Document, short
from tinkbox.wire.messages.named_machines import machines_of


def workflow_name(workflow: Document) -> str:
    """The beginning of its id, its name and where it runs: `1b2c3d4e (ubuntu on node3)`."""
    where = machines_of(workflow)
    return f"{short(workflow['id'])} ({workflow['name']}{f' on {where}' if where else ''})"
