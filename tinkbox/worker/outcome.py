"""How an attempt ended, in one outcome.  Pure.

Where the worker knows the cause it is the reason, and the action's own words are appended to the message.
Otherwise the action's reason stands, and only without one a general word.
"""

import errno
import os
import re
import signal
from dataclasses import replace

from tinkbox.model.breakpoint import DEADLINE, Verb, Verdict, failed_at_breakpoint
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.reasons import MAX_REASON, AnyReason, Reason, ReasonText, is_reason
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, Ended
from tinkbox.runtime.engine_messages import bad_command
from tinkbox.runtime.exit_codes import KILLED, signal_of
from tinkbox.wire.messages.worker import MAX_MESSAGE, Order
from tinkbox.worker.files.failure_files import Told
from tinkbox.worker.files.helper_files import StartFailure

_TOLD_TO_END = frozenset({128 + signal.SIGTERM, KILLED})
_UNKNOWN_CODE = 255  # what Docker says of a container that ended while it was not looking
# Or what containerd, when it is first to look, says of one whose supervisor it finds dead: SIGKILL.
_LOST_WITH_THE_ENGINE = frozenset({_UNKNOWN_CODE, KILLED})
# Printed by runc in the program's place, so that it is all the output there is.
_NO_PROGRAM = re.compile(r"exec (?P<program>\S+): (?P<why>exec format error|no such file or directory)\Z")
_NO_PROGRAM_CODES = frozenset({1, 126, 127, _UNKNOWN_CODE})
_MAX_LINE = 300

Tail = tuple[str, ...]


def succeeded(told: Told, tail: Tail) -> Outcome:
    """Exit status 0: what the action wrote to /dev/message is information, a reason for a failure it has none."""
    return Outcome(state=State.SUCCESS, exit_code=0, message=told.message, tail=tail)


def failed(ended: Ended, told: Told, tail: Tail, *, engine_was_away: bool) -> Outcome:
    """It ran, and ended with another exit status than 0."""
    code = ended.exit_code
    name = "" if ended.killed is False else signal_of(code)
    if ended.out_of_memory:
        reason, message = Reason.OUT_OF_MEMORY, "the kernel killed the action, or a part of it, because memory ran out"
    elif code in _LOST_WITH_THE_ENGINE and engine_was_away and ended.killed is not False:
        reason, message = Reason.ENGINE_RESTARTED, "the Docker engine ended, and the action with it"
    elif (no_program := _no_program(code, tail)) and not told.both:
        return refused(ContainerFailed(Reason.BAD_COMMAND, no_program), told, tail)
    else:
        return _in_its_own_words(code, name, told, tail)
    return Outcome(
        state=State.FAILED, exit_code=code, signal=name, reason=reason, message=_with(message, told), tail=tail
    )


def refused(error: ContainerFailed, told: Told, tail: Tail) -> Outcome:
    """The engine would not run it, or lost it."""
    return Outcome(state=State.FAILED, reason=error.reason, message=_with(str(error), told), tail=tail)


def no_engine(why: str) -> Outcome:
    """No engine answered that could begin it; `why` is what was seen of one, empty where that was told before."""
    message = f"the action was not begun: {why or 'no Docker engine answers'}"
    return Outcome(state=State.FAILED, reason=Reason.ENGINE_GONE, message=message[:MAX_MESSAGE])


def data_refused(error: Invalid | TooLarge, told: Told, tail: Tail) -> Outcome:
    """It ended well, but what it left in /workflow cannot be kept."""
    return Outcome(
        state=State.FAILED, exit_code=0, reason=data_reason(error), message=_with(str(error), told), tail=tail
    )


def data_reason(error: Invalid | TooLarge) -> Reason:
    """The reason when ephemeral data cannot be packed or unpacked."""
    return Reason.DATA_TOO_LARGE if isinstance(error, TooLarge) else Reason.DATA_INVALID


def stopped(order: Order, missing: Reason | None, told: Told, tail: Tail) -> Outcome:
    """It was stopped; `missing` is the reason of what was waited for when that was not the action itself."""
    reason = Reason.CANCELED if order.state is State.CANCELED else missing or Reason.TIMEOUT
    return Outcome(state=order.state, reason=reason, message=_with(order.message, told), tail=tail)


def not_begun(program: str, failure: StartFailure) -> ContainerFailed:
    """The helper could not execute the action's program: said as the engine says it of one without a helper."""
    if failure.interpreter or failure.number == errno.ENOEXEC:
        why = "exec format error" if failure.number == errno.ENOEXEC else "no such file or directory"
        return ContainerFailed(Reason.BAD_COMMAND, _no_program_said(program, why))
    if failure.number == errno.ENOENT:
        return bad_command(program, "no such file" if "/" in program else "$PATH")
    return bad_command(program, "permission denied" if failure.number == errno.EACCES else os.strerror(failure.number))


def continued(outcome: Outcome, ruled: Verdict) -> Outcome:
    """It counts as success, whatever it was; how it ended is kept."""
    if outcome.state is State.SUCCESS:
        return outcome
    message = f"{ruled.who} let it count as success{_why(ruled)}"
    return replace(outcome, state=State.SUCCESS, message=_joined(message, f"it had ended so: {outcome.message}"))


def given_up(outcome: Outcome, ruled: Verdict) -> Outcome:
    """It fails by verdict: as its process did, or where that was no failure as the verdict has it."""
    if outcome.state is State.SUCCESS:
        return failed_at_breakpoint(outcome, ruled)
    said = "nobody decided before the deadline" if ruled.who == DEADLINE else f"{ruled.who} let it fail{_why(ruled)}"
    return replace(outcome, message=_joined(outcome.message, said))


def not_run(ruled: Verdict) -> Outcome:
    """It was held before it began, and never did."""
    if ruled.verb is Verb.SKIP:
        return Outcome(state=State.SUCCESS, message=f"{ruled.who} let it be skipped{_why(ruled)}")
    return failed_at_breakpoint(None, ruled)


def noted(outcome: Outcome, *notes: str) -> Outcome:
    """The same with more in its message."""
    return replace(outcome, message="; ".join(filter(None, (outcome.message, *notes)))[:MAX_MESSAGE])


def went_with_the_machine(ended: Ended, *, engine_was_away: bool) -> bool:
    """Whether an action of which the machine goes away ended as one does when the machine does."""
    unseen = ended.exit_code == _UNKNOWN_CODE and engine_was_away
    told_to_end = ended.exit_code in _TOLD_TO_END and not ended.out_of_memory
    return ended.exit_code == 0 or told_to_end or unseen


def _in_its_own_words(code: int, name: str, told: Told, tail: Tail) -> Outcome:
    message = told.message
    reason: AnyReason = ReasonText(told.reason)
    if reason and not is_reason(reason):
        rule = f"one CamelCase word, of at most {MAX_REASON} letters and digits"
        said = f"the action's reason {told.reason!r} is not {rule}: {Reason.INVALID_REASON} stands in its place"
        message = _joined(said, message)
        reason = Reason.INVALID_REASON
    if not message:
        message = (
            f"the action was ended by {name}" if name else f"the action ended with exit code {code}{_passed_on(code)}"
        )
        if tail:
            message = f"{message}; the last it printed: {tail[-1][:_MAX_LINE]}"
    generic = Reason.SIGNAL if name else Reason.NON_ZERO_EXIT
    return Outcome(
        state=State.FAILED, exit_code=code, signal=name, reason=reason or generic, message=message, tail=tail
    )


def _no_program(code: int, tail: Tail) -> str:
    found = _NO_PROGRAM.match(tail[0]) if len(tail) == 1 and code in _NO_PROGRAM_CODES else None
    return "" if found is None else _no_program_said(found["program"], found["why"])


def _no_program_said(program: str, why: str) -> str:
    if why == "exec format error":
        return f"{program} is made for another processor, or is a script that does not begin with #!"
    return f"the interpreter that {program} names in its first line is not in the image"


def _why(ruled: Verdict) -> str:
    return f" ({ruled.why})" if ruled.why else ""


def _passed_on(code: int) -> str:
    """What an exit code that no signal gave looks like, if it does."""
    name = signal_of(code)
    return f", as a shell does whose command {name} ended" if name else ""


def _with(message: str, told: Told) -> str:
    return _joined(message, f"the action said: {told.both}" if told.both else "")


def _joined(message: str, more: str) -> str:
    return f"{message}; {more}"[:MAX_MESSAGE] if more else message[:MAX_MESSAGE]
