"""What a worker does next, and what follows from the end of an action.  Pure."""

from enum import Enum

from tinkbox.engine.rules.verdicts import runs_again
from tinkbox.model.breakpoint import Verdict
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.workflow import BEGUN, DONE, FINAL, ActionStatus, Outcome, State, Workflow, WorkflowStatus, full_name


class Turn(Enum):
    """What a worker that asks for work is to do."""

    WAIT = "wait"
    START = "start"
    RESUME = "resume"
    LOST = "lost"  # the machine booted in the middle of its action
    RETURNED = "returned"  # the machine booted, as its action wanted it to


def turn(workflow: WorkflowStatus, worker: str, boot_id: str, attempt_boot_id: str) -> tuple[Turn, ActionStatus | None]:
    """Whose turn it is in the first workflow of the queue of `worker`.

    Tasks run strictly in order, also across machines, and none begins before every service is ready.  An
    action that runs since before the machine last booted (`attempt_boot_id`) is lost, unless it said that
    the machine would go away.
    """
    current = workflow.current()
    if current is None or current.action.worker != worker or workflow.awaited():
        return Turn.WAIT, None
    if current.state is State.PENDING:
        return (Turn.WAIT, None) if workflow.state is State.STOPPING else (Turn.START, current)
    if current.state not in BEGUN:
        return Turn.WAIT, None
    if boot_id == attempt_boot_id:
        return Turn.RESUME, current
    return (Turn.RETURNED if current.state is State.LEAVING else Turn.LOST), current


def tries_again(
    workflow: WorkflowStatus, status: ActionStatus, outcome: Outcome, verdict: Verdict | None = None
) -> bool:
    """Whether the action is tried again after an attempt that ended so: as a verdict says, else as the template does."""
    if workflow.state is not State.RUNNING:
        return False
    if verdict is not None:
        return runs_again(verdict, outcome)
    return outcome.state in {State.FAILED, State.TIMEOUT} and status.failures < status.action.spec.retries


def workflow_ends(workflow: WorkflowStatus, position: int, ended: State) -> State | None:
    """How the workflow ends when the action at `position` does, or None when it goes on."""
    if workflow.state is State.STOPPING:
        return workflow.stop_into
    if ended is not State.SUCCESS:
        return ended
    others = (each.state in DONE for each in workflow.actions if each.action.index != position)
    return State.SUCCESS if all(others) else None


def handed_over(workflow: WorkflowStatus, position: int) -> list[str]:
    """The machines that the end of the action at `position` concerns while the workflow goes on: its own, and the next."""
    own = workflow.actions[position].action.worker
    following = (each.action.worker for each in workflow.actions[position + 1 :] if each.state not in DONE)
    return list(dict.fromkeys([own, next(following, own)]))


def first_to_retry(workflow: Workflow, name: str | None) -> int:
    """The index of the action that a retry begins at: the one of this name, or the first that is not done.

    `name` is an action's, or `task/action`.  Raises Conflict when the workflow cannot be retried from
    there, NotFound when there is no such action.
    """
    if workflow.state not in FINAL:
        raise Conflict(f"workflow {workflow.id} is {workflow.state}: only one that is over can be retried")
    if workflow.state is State.SUCCESS:
        raise Conflict(f"workflow {workflow.id} succeeded: to run it once more create a new one")
    undone = next((each.action for each in workflow.actions if each.state not in DONE), None)
    if name is None:
        if undone is None:
            raise Conflict(f"every action of workflow {workflow.id} is done: name the one to begin with")
        return undone.index
    first = find_action(workflow, name).action
    if undone is not None and first.index > undone.index:
        raise Conflict(f"{name} comes after {full_name(undone)}, which is not done: begin there or earlier")
    return first.index


def find_action(workflow: Workflow, name: str) -> ActionStatus:
    """The action that `name` means, its own or `task/action`; raises NotFound, or Conflict when it means several."""
    found = [each for each in workflow.actions if name in {each.action.spec.name, full_name(each.action)}]
    if not found:
        there = ", ".join(full_name(each.action) for each in workflow.actions)
        raise NotFound(f"workflow {workflow.id} has no action {name}, but {there}")
    if len(found) > 1:
        raise Conflict(f"{len(found)} actions are called {name}: name the task as well, as task/action")
    return found[0]
