"""Breakpoints: an action held where it is, waiting for a verdict (seed: TEP-0042, reference: its research).

A workflow's breakpoints are run control, not part of what it does: they are armed and cleared while it runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, PlannedAction, State, full_name

DEFAULT_HOLD_SECONDS = 1_800
MAX_HOLD_SECONDS = 7 * 86_400
MAX_HOLDS = 500  # of an attempt: a person tries again and again, a machine for ever
# Who armed what a template has.
THE_TEMPLATE = "the template"
# Who gives the verdict on a hold that nobody else decided in time.
DEADLINE = "deadline"


class Kind(StrEnum):
    """Where in its life an action is held."""

    BEFORE = "before"
    FAILURE = "failure"
    AFTER = "after"


class Verb(StrEnum):
    """What a verdict says; `skip` belongs to a hold before the action, `retry` to one after its end."""

    CONTINUE = "continue"
    SKIP = "skip"
    FAIL = "fail"
    RETRY = "retry"
    ABORT = "abort"


# Which verdicts there are on each kind of hold, the likeliest first.
VERDICTS: Mapping[Kind, tuple[Verb, ...]] = {
    Kind.BEFORE: (Verb.CONTINUE, Verb.SKIP, Verb.FAIL, Verb.ABORT),
    Kind.FAILURE: (Verb.RETRY, Verb.CONTINUE, Verb.FAIL, Verb.ABORT),
    Kind.AFTER: (Verb.CONTINUE, Verb.RETRY, Verb.FAIL, Verb.ABORT),
}
# What may end a hold by itself: whatever its kind, each of these is a verdict on it.
ON_EXPIRY = (Verb.FAIL, Verb.CONTINUE, Verb.ABORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """Which breakpoints apply to one attempt at one action."""

    before: bool = False
    after: bool = False
    on_failure: bool = False

    @property
    def anything(self) -> bool:
        """Whether it may be held at all."""
        return self.before or self.after or self.on_failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoints:
    """What is armed of a workflow.

    `before` and `after` hold full names, `task/action`.  `timeout` is how many seconds after the last
    activity a hold ends by itself, with the verdict `on_expiry`, one of ON_EXPIRY.
    """

    on_failure: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    timeout: int = DEFAULT_HOLD_SECONDS
    on_expiry: Verb = Verb.FAIL

    @property
    def anything(self) -> bool:
        """Whether an action may be held at all."""
        return self.on_failure or bool(self.before) or bool(self.after)

    def of(self, action: PlannedAction, *, last_attempt: bool) -> Armed:
        """Those of one attempt: a failure that the template follows by another attempt is not held."""
        name = full_name(action)
        return Armed(before=name in self.before, after=name in self.after, on_failure=self.on_failure and last_attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a held action: the first one counts.

    `who` decided, `why` is in their words.  A retry happens in the container as it is, or `fresh` in a new one from
    the image; `command` replaces the image's and the template's whole command line, `environment` is laid over both.
    """

    verb: Verb
    who: str
    why: str = ""
    fresh: bool = False
    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What a retry in a fresh container changes, in the words of its verdict."""

    command: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One hold of one attempt; `sequence` counts them from 1.

    `outcome` is how the process ended, None before it began; it is kept for ever.  `container` tells whether there
    is one to look into, `in_place` whether a retry can happen in it.  Times are UTC; `deadline` is when the hold ends
    by itself, `ended_at` is None as long as the action is held.
    """

    attempt: str
    workflow_id: str
    sequence: int
    kind: Kind
    held_at: datetime
    deadline: datetime
    timeout: int
    on_expiry: Verb = Verb.FAIL
    outcome: Outcome | None = None
    container: bool = True
    in_place: bool = True
    warned: bool = False
    verdict: Verdict | None = None
    verdict_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def id(self) -> str:
        """What tells it from all other holds."""
        return f"{self.attempt}/{self.sequence}"

    def lasted(self, now: datetime) -> float:
        """For how many seconds the action was held, up to `now` if it still is."""
        return ((self.ended_at or now) - self.held_at).total_seconds()


def verdicts(kind: Kind) -> tuple[Verb, ...]:
    """The verdicts that there are on this kind of hold, in the order of `Verb`, as documents and refusals list them."""
    return tuple(verb for verb in Verb if verb in VERDICTS[kind])


def failed_at_breakpoint(outcome: Outcome | None, verdict: Verdict) -> Outcome:
    """How an action ends that is to fail: as its process did, or where that was no failure by the verdict."""
    if outcome is not None and outcome.state is not State.SUCCESS:
        return outcome
    expired = verdict.who == DEADLINE
    known = outcome or Outcome(state=State.FAILED)
    why = f": {verdict.why}" if verdict.why else ""
    return replace(
        known,
        state=State.FAILED,
        reason=Reason.BREAKPOINT_EXPIRED if expired else Reason.FAILED_AT_BREAKPOINT,
        message="nobody decided before the deadline" if expired else f"{verdict.who} let it fail at a breakpoint{why}",
    )
