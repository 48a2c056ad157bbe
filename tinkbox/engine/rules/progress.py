"""What a worker does next, and what follows from the end of an action.  Pure."""

from enum import Enum

from tinkbox.engine.rules.verdicts import runs_again
from tinkbox.model.breakpoint import Verdict
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.workflow import BEGUN, DONE, FINAL, ActionStatus, Outcome, State, Step, Workflow, full_name


class Turn(Enum):
    """What a worker that asks for work is to do."""

    WAIT = "wait"
    START = "start"
    RESUME = "resume"
    LOST = "lost"  # in the middle of its action the machine booted, or another worker took it over
    RETURNED = "returned"  # the machine booted, as its action wanted it to


class Whereabouts(Enum):
    """Where a worker that asks for work stands to the one that began an attempt."""

    SAME_SESSION = "same session"  # the same one, perhaps started again
    OTHER_SESSION = "other session"  # of the same boot, with a credential of its own
    LATER_BOOT = "later boot"


def turn(step: Step | None, worker: str, began: Whereabouts) -> Turn:
    """What `worker` is to do, of which the first workflow in the queue stands at this step; None: it has no actions.

    Tasks run strictly in order, also across machines, and none begins before every service is ready.  An
    action that runs since before the machine last booted is lost, unless it said that the machine would go away; so is
    one that another worker of the same boot began, for nobody knows what that does.
    """
    if step is None or step.status.action.worker != worker or step.awaits:
        return Turn.WAIT
    if step.status.state is State.PENDING:
        return Turn.WAIT if step.state is State.STOPPING else Turn.START
    if step.status.state not in BEGUN:
        return Turn.WAIT
    if began is Whereabouts.SAME_SESSION:
        return Turn.RESUME
    returned = began is Whereabouts.LATER_BOOT and step.status.state is State.LEAVING
    return Turn.RETURNED if returned else Turn.LOST


def tries_again(step: Step, outcome: Outcome, verdict: Verdict | None = None) -> bool:
    """Whether the action is tried again after an attempt that ended so: as a verdict says, else as the template does."""
    if step.state is not State.RUNNING:
        return False
    if verdict is not None:
        return runs_again(verdict, outcome)
    return outcome.state in {State.FAILED, State.TIMEOUT} and step.status.failures < step.status.action.spec.retries


def workflow_ends(step: Step, ended: State) -> State | None:
    """How the workflow ends when the action does, or None when it goes on."""
    if step.state is State.STOPPING:
        return step.stop_into
    if ended is not State.SUCCESS:
        return ended
    return State.SUCCESS if step.others_done else None


def handed_over(step: Step) -> list[str]:
    """The machines that the end of the action concerns while the workflow goes on: its own, and the next."""
    own = step.status.action.worker
    return list(dict.fromkeys([own, step.following or own]))


def first_to_retry(workflow: Workflow, name: str | None) -> int:
    """The index of the action that a retry begins at: the one of this name, or the first that is not done.

    `name` is an action's, or `task/action`.  Raises Conflict when the workflow cannot be retried from
    there, NotFound when there is no such action.
    """
    if workflow.state not in FINAL:
        raise Conflict(f"workflow {workflow.id} is {workflow.state}: only one that is over can be retried")
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
        raise NotFound(f"there is no action {name}: there are {there}")
    if len(found) > 1:
        raise Conflict(f"{len(found)} actions are called {name}: name the task as well, as task/action")
    return found[0]
