"""Deleting workflows in pieces: one transaction deletes a few megabytes, so that those who write meanwhile wait for little.

From the first piece on nobody finds the workflow.  What a restart leaves half-deleted, the retainer deletes.
"""

from typing import Final

from tinkbox.model.workflow import State, Workflow
from tinkbox.store.database import Tables

OCTETS_AT_ONCE: Final = 4 << 20  # what one transaction deletes, with rows counted as `WorkflowTable.empty` does


def begin_deletion(tables: Tables, workflow: Workflow) -> None:
    """Let nobody find a workflow any more, which does not run; that it ran stays known of its machines."""
    tables.journals.mark_deleted(workflow.id)
    tables.workflows.begin_deletion(workflow.id)
    if workflow.state is not State.SUCCESS:  # what did not succeed holds a ticket for the next try
        tables.hardware.withdraw_ticket(workflow.workers(), installed=False)


def delete_piece(tables: Tables, workflow_id: str, most: int) -> int:
    """Delete a workflow of which the deletion began, or as much of it as `most` bytes allow.

    Returns how many bytes may still be deleted in this transaction; 0: the workflow is not gone yet.
    """
    left = most - tables.workflows.empty(workflow_id, most)
    if left <= 0:
        return 0
    tables.workflows.delete(workflow_id)
    return left
