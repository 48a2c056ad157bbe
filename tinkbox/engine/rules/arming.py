"""What is armed of a workflow, and how a person changes it.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tinkbox.engine.rules.progress import find_action
from tinkbox.model.breakpoint import MAX_HOLD_SECONDS, ON_EXPIRY, Armed, Breakpoints, Verb
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.workflow import DONE, ActionStatus, PlannedAction, State, Workflow, full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to arm, or to clear; what is None or empty stays as it is.

    `before` and `after` name actions as ACTION or TASK/ACTION.  `timeout` is in seconds; it and `on_expiry` count for
    holds that begin after the change.
    """

    on_failure: bool | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timeout: int | None = None
    on_expiry: Verb | None = None


def armed(breakpoints: Breakpoints, change: Change, workflow: Workflow) -> Breakpoints:
    """The breakpoints with `change` armed as well.

    Raises Invalid when nothing is to change or a value is out of bounds, NotFound for an action that is not there,
    Conflict for one that is done or that the name does not tell from another.
    """
    if change == Change():
        raise Invalid("nothing to arm: on failure, before or after an action, or a timeout")
    if change.timeout is not None and not 0 < change.timeout <= MAX_HOLD_SECONDS:
        raise Invalid(f"a hold lasts between 1 and {MAX_HOLD_SECONDS} seconds, not {change.timeout}")
    if change.on_expiry is not None and change.on_expiry not in ON_EXPIRY:
        raise Invalid(f"a hold ends by itself with {', '.join(ON_EXPIRY)}, not with {change.on_expiry}")
    return Breakpoints(
        on_failure=breakpoints.on_failure if change.on_failure is None else change.on_failure,
        before=_with(breakpoints.before, (_to_come(workflow, name) for name in change.before)),
        after=_with(breakpoints.after, (_to_come(workflow, name) for name in change.after)),
        timeout=breakpoints.timeout if change.timeout is None else change.timeout,
        on_expiry=breakpoints.on_expiry if change.on_expiry is None else change.on_expiry,
    )


def cleared(breakpoints: Breakpoints, change: Change | None, workflow: Workflow) -> Breakpoints:
    """The breakpoints without those of `change`, or None at all; what is not armed is cleared already.

    Raises NotFound and Conflict as `armed` does for names.
    """
    if change is None:
        return Breakpoints()
    return replace(
        breakpoints,
        on_failure=breakpoints.on_failure and not change.on_failure,
        before=_without(breakpoints.before, (find_action(workflow, name) for name in change.before)),
        after=_without(breakpoints.after, (find_action(workflow, name) for name in change.after)),
    )


def armed_of(breakpoints: Breakpoints, action: PlannedAction, failures: int) -> Armed:
    """What may hold an attempt at an action that failed so often: its failure only when no retry follows."""
    return breakpoints.of(action, last_attempt=failures >= action.spec.retries)


def _to_come(workflow: Workflow, name: str) -> str:
    found = find_action(workflow, name)
    if found.state in DONE:
        done = "is skipped" if found.state is State.SKIPPED else "is done already"
        raise Conflict(f"{full_name(found.action)} {done}: nothing holds it any more")
    return full_name(found.action)


def _with(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*names, *more]))


def _without(names: tuple[str, ...], fewer: Iterable[ActionStatus]) -> tuple[str, ...]:
    gone = {full_name(each.action) for each in fewer}
    return tuple(name for name in names if name not in gone)
