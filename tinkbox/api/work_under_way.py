"""What runs on a machine whose credential is voided, or may be."""

from typing import TypedDict

from tinkbox.api.json_values import Time, time
from tinkbox.engine.workflows.deadlines import AtWork


class AtWorkDocument(TypedDict):
    """An action that runs, or is `held`; with its machine's credential voided it ends at the next worker of that machine, else at `ends_at`."""

    workflow_id: str
    held: bool
    ends_at: Time | None


class AtWorkField(TypedDict):
    """`at_work` is null where no action runs on the machine."""

    at_work: AtWorkDocument | None


def at_work_document(work: AtWork | None) -> AtWorkDocument | None:
    if work is None:
        return None
    return {"workflow_id": work.workflow_id, "held": work.held, "ends_at": time(work.ends_at)}
