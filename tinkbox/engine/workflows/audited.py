"""What the audit is told of workflows: the digest that stands for one, and who asks for it within the transaction of a change."""

from collections.abc import Callable

from tinkbox.model.audit import digest_of
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Tables

Told = Callable[[Tables, Workflow | None, Workflow], None]
"""Called within the transaction that changes a workflow, with what it was, None: it is new, and what it is."""


def workflow_digest(workflow: Workflow) -> str:
    """What stands for a workflow: what was rendered, and its state."""
    return digest_of({"text": workflow.text, "state": workflow.state})
