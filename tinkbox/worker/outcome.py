"""How an attempt ended, in one outcome.  Pure.

Where the worker knows the cause it is the reason, and the action's own words are appended to the message.
Otherwise the action's reason stands, and only without one a general word.
"""

import errno
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import replace

from tinkbox.model.breakpoint import DEADLINE, Verb, Verdict, failed_at_breakpoint
from tinkbox.model.errors import Invalid, TooLarge
from tinkbox.model.reasons import (
    CRLF,
    GROUP_LIMIT,
    MAX_REASON,
    TOLD_TO_KILL,
    AnyReason,
    Reason,
    ReasonText,
    is_reason,
    known,
)
from tinkbox.model.text import quoted
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import ContainerFailed, Ended
from tinkbox.runtime.container_events import since_the_start
from tinkbox.runtime.engine_messages import bad_command
from tinkbox.runtime.exit_codes import KILLED, signal_of
from tinkbox.wire.kernel_log import LimitedKill
from tinkbox.wire.messages.worker import MAX_MESSAGE, Order
from tinkbox.worker.files.failure_files import Told
from tinkbox.worker.files.helper_files import StartFailure

_TERMINATED = 128 + signal.SIGTERM  # also of a shell that has a trap for it
_TOLD_TO_END = frozenset({_TERMINATED, KILLED})
_UNKNOWN_CODE = 255  # what Docker says of a container that ended while it was not looking
# Or what containerd, when it is first to look, says of one whose supervisor it finds dead: SIGKILL.  An engine that is told to
# end sends its containers SIGTERM, and SIGKILL ten seconds later.
_LOST_WITH_THE_ENGINE = frozenset({_UNKNOWN_CODE, *_TOLD_TO_END})
# What memory that ran out looks like from here.
_OF_MEMORY = frozenset(
    {
        Reason.NON_ZERO_EXIT,
        Reason.SIGNAL,
        Reason.CONTAINER_LOST,
        Reason.ENGINE_RESTARTED,
        Reason.ENGINE_GONE,
        Reason.ENGINE_FAILED,
        Reason.CREATE_FAILED,
        Reason.START_FAILED,
        Reason.IMAGE_PULL_FAILED,
    }
)
# Of these the engine's end may be the cause.
_OF_THE_ENGINE = _OF_MEMORY - {Reason.NON_ZERO_EXIT, Reason.SIGNAL}
# Printed by runc in the program's place, so that it is all the output there is.
_ALIEN = "exec format error"
_NO_PROGRAM = re.compile(rf"exec (?P<program>\S+): (?P<why>{_ALIEN}|no such file or directory)\Z")
_NO_PROGRAM_CODES = frozenset({1, 126, 127, _UNKNOWN_CODE})
_MAX_LINE = 300

Tail = tuple[str, ...]


_KILLED_BY_SOMEBODY = (
    f"{TOLD_TO_KILL} (docker kill, docker stop, or a program that cleans up containers); memory did not run out"
)


def succeeded(told: Told, tail: Tail) -> Outcome:
    """Exit status 0: what the action wrote to /dev/message is information, a reason for a failure it has none."""
    return Outcome(state=State.SUCCESS, exit_code=0, message=told.message, tail=tail)


class NotExecutable(ContainerFailed):
    """The kernel does not know the format of the program, as of one for another processor."""


def engine_ended_it(remembered: Sequence[str] | None, *, engine_was_away: bool, end_unseen: bool = False) -> bool:
    """Whether the engine ended together with a container that is over, by what it remembers of that.

    `remembered` is as `Runtime.remembered` has it, None where no engine answers that could tell.  An engine that ends has no memory
    in its next life; one that was killed finds the container, and kills it itself before it answers.  One that was killed before it
    had written down that it started the container takes it for one that never was, and starts it again when it is asked to: by then
    the process had ended together with its helper, which is `end_unseen`.
    """
    if remembered is None:
        return True
    newest = since_the_start(remembered)
    if "die" not in newest:
        return True
    if end_unseen and remembered.count("start") == 1 and "create" not in remembered:
        return True
    return engine_was_away and "start" not in newest and "kill" in newest


def engine_was_told_to_kill(remembered: Sequence[str] | None) -> bool:
    """Whether somebody had the engine send the container a signal, such as by `docker kill`; `remembered` is as for `engine_ended_it`."""
    return "kill" in since_the_start(remembered or ())


def failed(
    ended: Ended, told: Told, tail: Tail, *, with_engine: bool, told_to_kill: bool = False, foreign: str = ""
) -> Outcome:
    """It ran, and ended with another exit status than 0; `with_engine`: when the engine did, `told_to_kill`: by the engine.

    `foreign` says that its image is for another processor.
    """
    code = ended.exit_code
    name = "" if ended.killed is False else signal_of(code)
    if ended.out_of_memory:
        reason, message = Reason.OUT_OF_MEMORY, "the kernel killed the action, or a part of it, because memory ran out"
    elif with_engine and code in _LOST_WITH_THE_ENGINE and (ended.killed is not False or code == _TERMINATED):
        reason, message = Reason.ENGINE_RESTARTED, "the Docker engine ended, and the action with it"
    elif (no_program := _no_program(code, tail)) and not told.both:
        error = wrong_platform(foreign) if foreign else ContainerFailed(Reason.BAD_COMMAND, no_program)
        return refused(error, told, tail)
    else:
        own = _in_its_own_words(code, name, told, tail)
        if with_engine:
            return noted(own, "the Docker engine ended at the same time")
        return noted(own, _KILLED_BY_SOMEBODY) if told_to_kill and name else own
    return Outcome(
        state=State.FAILED, exit_code=code, signal=name, reason=reason, message=_with(message, told), tail=tail
    )


def for_lack_of_memory(outcome: Outcome, said: str) -> Outcome:
    """How it ended, when the machine's memory ran out meanwhile: `said` is the kernel's line of that, empty where it did not.

    The reason is memory where nothing else is known for one: the kernel kills the action, the engine, or what either needs.
    """
    if not said or outcome.state not in {State.FAILED, State.TIMEOUT}:
        return outcome
    line = f"its kernel said {quoted(said, _MAX_LINE)}"
    if outcome.reason is Reason.OUT_OF_MEMORY:
        return noted(outcome, line)
    told = f"memory ran out on the machine; {line}"
    if not isinstance(outcome.reason, Reason) or outcome.reason not in _OF_MEMORY:
        return noted(outcome, told)  # an action's own word stands, however it is spelled
    return replace(outcome, reason=Reason.OUT_OF_MEMORY, message=_joined(told, outcome.message))


def for_lack_of_limited_memory(outcome: Outcome, killed: LimitedKill | None, container: str) -> Outcome:
    """The same when a control group ran out of the memory that it may have: that of the `container`, or one above it."""
    if killed is None or outcome.state not in {State.FAILED, State.TIMEOUT}:
        return outcome
    own = bool(container) and container in killed.limit
    limit = "the container's own limit of memory" if own else f"{GROUP_LIMIT} {killed.limit}"
    if outcome.reason is Reason.OUT_OF_MEMORY:
        return outcome if own else noted(outcome, f"it was {limit}, on the machine")
    of_this = _OF_THE_ENGINE if killed.of_engine else _OF_MEMORY
    line = f"its kernel said {quoted(killed.line, _MAX_LINE)}"
    told = f"{limit} was used up, and the kernel killed {'its engine' if killed.of_engine else 'a part of it'}; {line}"
    if not isinstance(outcome.reason, Reason) or outcome.reason not in of_this:
        return outcome if killed.of_engine else noted(outcome, told)
    return replace(outcome, reason=Reason.OUT_OF_MEMORY, message=_joined(told, outcome.message))


def not_executable(code: int, tail: Tail) -> bool:
    """Whether it ended as one without a helper does whose program the kernel cannot execute."""
    found = _NO_PROGRAM.match(tail[0]) if len(tail) == 1 and code in _NO_PROGRAM_CODES else None
    return found is not None and found["why"] == _ALIEN


def wrong_platform(foreign: str) -> ContainerFailed:
    """Its program cannot be executed, for it is another processor's; `foreign` names both."""
    return ContainerFailed(Reason.WRONG_PLATFORM, foreign)


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
        if failure.number == errno.ENOEXEC:
            return NotExecutable(Reason.BAD_COMMAND, _no_program_said(program, _ALIEN))
        return ContainerFailed(Reason.BAD_COMMAND, _no_program_said(program, "no such file or directory"))
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
        state=State.FAILED,
        exit_code=code,
        signal=name,
        reason=reason or generic,
        message=message,
        hint=_own_hint(reason, told),
        tail=tail,
    )


def _own_hint(reason: AnyReason, told: Told) -> str:
    """What the action says can be done; empty where the appliance is to say what helps with a reason of ours."""
    if isinstance(reason, Reason):
        return ""
    # What the appliance says of a reason of ours is of no use for an action's word that only is spelled so.
    return told.hint or (Reason.NON_ZERO_EXIT.hint if known(reason) else "")


def _no_program(code: int, tail: Tail) -> str:
    found = _NO_PROGRAM.match(tail[0]) if len(tail) == 1 and code in _NO_PROGRAM_CODES else None
    return "" if found is None else _no_program_said(found["program"], found["why"])


def _no_program_said(program: str, why: str) -> str:
    if why == _ALIEN:
        return f"{program} is made for another processor, or is a script that does not begin with #!"
    return (
        f"the interpreter that {program} names in its first line is not in the image; {CRLF} names one that is nowhere"
    )


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
