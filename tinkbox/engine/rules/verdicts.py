"""What a verdict may say, and what follows from it.  Pure.

Rule 1: each kind of hold has its verdicts (`model.breakpoint.VERDICTS`); any other is refused, and the refusal names them.
Rule 2: an end that contradicts the verdict is no end of a held action: without one it cannot succeed.
Rule 3: what nobody knows the end of is never run again by itself.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from tinkbox.model.breakpoint import Hold, Kind, Verb, Verdict, failed_at_breakpoint, verdicts
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import MAX_WHY, MAX_WORDS

MAX_WARNING = 300
LOST = Outcome(
    state=State.FAILED,
    reason=Reason.BREAKPOINT_LOST,
    message="the machine booted again while this action was held, and what was held is gone",
)


def judged(verdict: Verdict, hold: Hold) -> Verdict:
    """The verdict as it counts on this hold: a retry that cannot happen in the container happens in a new one.

    Raises Conflict when it is none on a hold of this kind, Invalid when it asks for what only a retry does, or for
    what no process can be given.
    """
    if verdict.verb not in verdicts(hold.kind):
        where = {Kind.BEFORE: "before it begins", Kind.FAILURE: "because it failed", Kind.AFTER: "after its end"}
        raise Conflict(
            f"{verdict.verb} is no verdict on an action that is held {where[hold.kind]}: "
            f"there is {', '.join(verdicts(hold.kind))}"
        )
    changes = verdict.command is not None or bool(verdict.environment)
    if verdict.verb is not Verb.RETRY and (verdict.fresh or changes):
        raise Invalid(f"{verdict.verb} runs nothing: a fresh container, a command or an environment is for retry")
    if verdict.command is not None and not 0 < len(verdict.command) <= MAX_WORDS:
        raise Invalid(f"a command has between 1 and {MAX_WORDS} words, not {len(verdict.command)}")
    if any("\0" in word for word in (*(verdict.command or ()), *verdict.environment, *verdict.environment.values())):
        raise Invalid("a command and an environment are text without NUL")
    wrong = [name for name in verdict.environment if not name or "=" in name]
    if wrong:
        raise Invalid(f"{wrong[0]!r} is no name in an environment")
    fresh = verdict.verb is Verb.RETRY and (verdict.fresh or not hold.in_place)
    return replace(verdict, fresh=fresh, why=verdict.why[:MAX_WHY])


def excuses(verdict: Verdict, hold: Hold) -> bool:
    """Whether the verdict makes a success of a failure, which nobody should do without saying why."""
    return verdict.verb is Verb.CONTINUE and hold.outcome is not None and hold.outcome.state is not State.SUCCESS


def resumes(hold: Hold) -> bool:
    """Whether the action runs in its container once the verdict is carried out."""
    if hold.verdict is None:
        return False
    verb = hold.verdict.verb
    return verb is Verb.RETRY or (verb is Verb.CONTINUE and hold.kind is Kind.BEFORE)


def may_end(hold: Hold, outcome: Outcome) -> bool:
    """Whether a held action may end so."""
    if outcome.state is not State.SUCCESS:
        return True
    if hold.verdict is None:
        return False
    if hold.verdict.verb is Verb.RETRY:
        return hold.outcome is not None and hold.outcome.state is State.SUCCESS
    return hold.verdict.verb in {Verb.CONTINUE, Verb.SKIP} and not resumes(hold)


def runs_again(verdict: Verdict, outcome: Outcome) -> bool:
    """Whether a verdict has the action tried again after its attempt ended so, whatever its retries are."""
    return verdict.verb is Verb.RETRY and outcome.reason != LOST.reason and outcome.state is not State.CANCELED


def warned_at(hold: Hold) -> datetime:
    """When to say that a hold is about to end by itself."""
    return hold.deadline - timedelta(seconds=min(hold.timeout / 5, MAX_WARNING))


def unconfirmed(hold: Hold) -> Outcome:
    """How an attempt ended of which the worker never said that the verdict was carried out."""
    assert hold.verdict is not None, "there is nothing to confirm"
    if hold.verdict.verb is Verb.FAIL:
        return failed_at_breakpoint(hold.outcome, hold.verdict)
    return replace(LOST, message=f"its worker did not say that the verdict ({hold.verdict.verb}) was carried out")
