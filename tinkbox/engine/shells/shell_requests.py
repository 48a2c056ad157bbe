"""What somebody wants to run in a held container, and whether there is one."""

from tinkbox.model.errors import Conflict, Forbidden, Invalid
from tinkbox.model.secret import asks_for_secret
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import FINAL, PlannedAction, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def is_plain(wish: ShellWish) -> bool:
    """Whether it is for just a shell, as the action would have it: one shell can serve all who want that."""
    return wish.tty and not (wish.command or wish.user or wish.folder or wish.environment)


def check(wish: ShellWish) -> None:
    """Raises Invalid for what no process can be given."""
    if not wish.tty and not wish.command:
        raise Invalid("without a terminal there must be a command")
    words = (*wish.command, wish.user, wish.folder, wish.term, *wish.environment, *wish.environment.values())
    if any("\0" in word for word in words):
        raise Invalid("a command, a user, a folder and an environment are text without NUL")
    if any(map(asks_for_secret, words)):
        raise Invalid(
            "a shell is given no secrets: its container has those of its action already, and `tinkbox breakpoint retry --fresh` "
            "makes another one"
        )
    wrong = [name for name in wish.environment if not name or "=" in name]
    if wrong:
        raise Invalid(f"{wrong[0]!r} is no name in an environment")
    if wish.folder and not wish.folder.startswith("/"):
        raise Invalid(f"{wish.folder!r} is no folder of the container: it begins with a slash")


def held_attempt(tables: Tables, workflow: Workflow) -> tuple[Attempt, PlannedAction]:
    """The workflow's held attempt that has a container; raises Conflict or Forbidden, with the way out."""
    current = workflow.current()
    attempt = tables.workflows.attempt(current.attempt) if current and current.attempt else None
    if workflow.state in FINAL or current is None:
        raise Conflict(
            f"workflow {workflow.id} is over ({workflow.state}), nothing of it is held: "
            f"tinkbox breakpoint arm before tinkbox workflow retry holds it the next time"
        )
    name = f"action {current.action.task}/{current.action.spec.name}"
    if attempt is not None and not attempt.debug and current.state is not State.PENDING:
        raise Forbidden(f"{name} runs on a machine whose worker was started with --no-debug: it opens no shells")
    hold = tables.holds.open_of(current.attempt)
    if attempt is None or hold is None:
        raise Conflict(
            f"{name} of workflow {workflow.id} is {current.state}, not held: "
            "tinkbox breakpoint arm says where it is to be, and a shell opens when it is"
        )
    if not hold.container:
        raise Conflict(
            f"{name} of workflow {workflow.id} is held, but it has no container to open a shell in: "
            "decide with tinkbox breakpoint retry, fail or continue"
        )
    return attempt, current.action
