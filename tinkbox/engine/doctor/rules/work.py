"""The doctor's rules about a workflow: what it waits for, its images and services, and how it failed.

What a machine's worker and kernel do to a running action is in `silence` and `kernel`.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from tinkbox.engine.doctor.case import AwaitedService, Case, Finding, Work, moment
from tinkbox.engine.doctor.rules.engine import remedy_of
from tinkbox.engine.doctor.rules.silence import lasted
from tinkbox.engine.machines.boot_plan import freeing
from tinkbox.model.command_lines import about, not_ours, service_key
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.reasons import (
    DOCKER_ENGINE,
    NO_PROGRAM_TO_CHECK,
    Giver,
    Reason,
    advises_retry,
    hint,
    in_a_sentence,
    is_hint_of,
    known,
    never_ran,
)
from tinkbox.model.text import counted, one_line, quoted, shortened
from tinkbox.model.workflow import FINAL, State

TOLD_FOR: Final = timedelta(days=1)
MOST_IMAGES: Final = 5
LONGEST: Final = 300
QUIET: Final = timedelta(seconds=60)  # what an action may be silent without a word of that
LONGEST_LINE: Final = 120
# As tar, gzip, xz, zstd, unzip and busybox say of what is none.
_NO_ARCHIVE: Final = re.compile(
    r"invalid (?:magic|tar magic)|not in gzip format|does not look like a tar archive|[Ff]ile format not recognized|unsupported format|"
    r"End-of-central-directory signature not found|not a zip file"
)
_BAD: Final = (State.FAILED, State.TIMEOUT)
_DID_NOT_COME: Final = (Reason.IMAGE_PULL_FAILED, Reason.REGISTRY_UNREACHABLE)


def image_missing(case: Case) -> Iterator[Finding]:
    """An image that the workflow needs still, and that nothing can have: it is missing, or it is damaged."""
    work = case.work
    if work is None or work.state in FINAL:
        return
    for problem in work.images[:MOST_IMAGES]:
        what, way_out = _seen_and_to_do(problem)
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"Workflow {quoted(work.name)} cannot have an image that it needs: {what}.",
            evidence=(f"{moment(case.now)} the registry was asked: {what}", _stands(case, work)),
            remedy=_sentence(way_out) or "Push the image again, or load it with `tinkbox image load`.",
            subject=problem.partition(": ")[0],
        )


def other_worker(case: Case) -> Iterator[Finding]:
    """A worker of another version than the appliance, while it is in touch and has something to do."""
    work, heard = case.work, case.worker_heard
    if work is None or heard is None or not work.other_version or work.state in FINAL:
        return
    version = one_line(work.other_version, LONGEST)
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The worker on the machine is of another version than the appliance, {version}: what one of the two can do, the other may not know.",
        evidence=(f"{moment(heard)} the worker was heard of last; it said that it is of tinkbox {version}",),
        remedy="Boot the machine again when its workflow is over. If it comes back with the same version, build the OSIE of this one first: "
        "`tinkbox osie build`. A worker that you started by hand: start it again with this version's program.",
    )


def service_not_ready(case: Case) -> Iterator[Finding]:
    """A service that its workflow waits for, and that has trouble or takes long."""
    work = case.work
    if work is None or work.state is not State.PENDING:
        return
    for each in work.services:
        waited = case.now - each.begun_at if each.begun_at else timedelta()
        late = bool(each.timeout) and waited > each.timeout / 2
        fails = NO_PROGRAM_TO_CHECK in each.message
        if each.begun_at is None or not (each.reason or each.restarts or late or fails):
            continue
        away = each.reason == Reason.ENGINE_GONE
        yield Finding(
            gravity=Gravity.FAULT if away else Gravity.SUSPECT,
            cause=f"Service {each.name} of workflow {quoted(work.name)} is not ready"
            + (
                f": the container engine of its host, {each.host}, does not answer."
                if away
                else f": {in_a_sentence(each.reason)}."
                if each.reason
                else ": its health check calls a program that its image has not."
                if fails
                else ", and the workflow waits for it."
            ),
            evidence=tuple(_service_evidence(case, each)),
            remedy=_sentence(hint(Reason.SERVICE_NOT_READY, each.message)) if fails else remedy_of(work.id, each),
            subject=each.name,
        )


def running(case: Case) -> Iterator[Finding]:
    """An action that runs and prints nothing, as it may."""
    work = case.work
    if work is None or work.printed is None or work.since is None or case.now - work.since < QUIET:
        return
    printed = work.printed
    # What it printed before this appliance began has no time.
    quiet_since = printed.at or (max(work.since, case.since) if printed.anything else work.since)
    if case.now - quiet_since < QUIET:
        return
    key, quiet = work.id[:8], lasted(case.now - quiet_since)
    silence = f"printed nothing for {quiet}" if printed.anything else "printed nothing yet"
    last = f"; its last line: {quoted(printed.last, LONGEST_LINE)}" if printed.last else ""
    ends = work.since + work.timeout if work.timeout is not None else None
    until = f"It ends as Timeout at {moment(ends)} UTC; " if ends is not None else "It has no timeout; "
    waits = " If it waits for what its last line names, see to that." if printed.last else ""
    yield Finding(
        gravity=Gravity.HARMLESS,
        cause=f"Action {work.action} of workflow {quoted(work.name)} runs for {lasted(case.now - work.since)}, and {silence}{last}.",
        evidence=(
            f"{moment(work.since)} the action began" + (f"; it has until {moment(ends)}" if ends is not None else ""),
            *([f"{moment(printed.at)} it printed last"] if printed.at is not None else []),
        ),
        remedy=f"Nothing to do while it works.{waits} {until}`tinkbox workflow cancel {key}` ends it now.",
    )


def waiting(case: Case) -> Iterator[Finding]:
    """A workflow that waits, as it should: for its machine, another workflow, a service or a person."""
    work = case.work
    if work is None or not work.waits:
        return
    if work.action_state is State.HELD:
        remedy = (
            f"Decide: `tinkbox breakpoint list`, then `tinkbox breakpoint continue {work.id[:8]}` or another verdict."
        )
    elif work.before:
        remedy = (
            f"It begins when that one is over. `tinkbox doctor {work.before[0][:8]}` examines that one; if it cannot end, "
            f"`tinkbox workflow cancel {work.before[0][:8]}` has this one begin."
        )
    elif work.services:
        key = service_key(work.id[:8], work.services[0].name)
        remedy = (
            f"Nothing to do: it begins when its services are ready. `tinkbox service logs {key}` shows what one prints."
        )
    elif work.parked:
        remedy = (
            "It waits in vain until the machine may boot again. `tinkbox doctor MACHINE` says what to mend; then "
            f"{freeing('MACHINE')}, or "
            f"cancel this workflow (`tinkbox workflow cancel {work.id[:8]}`) and create a new one: the machine then boots."
        )
    else:
        remedy = (
            "Nothing to do if the machine is on its way, or its worker asks: the workflow goes on by itself. Else switch the machine on, "
            "and let it boot from the network. A worker that asks and begins nothing tells why on its machine's console."
        )
    yield Finding(
        gravity=Gravity.HARMLESS,
        cause=f"Workflow {quoted(work.name)} waits for {work.waits}.",
        evidence=(f"{moment(work.created_at)} the workflow was created", _stands(case, work)),
        remedy=remedy,
    )


def workflow_failed(case: Case) -> Iterator[Finding]:
    """A workflow that failed; of many machines at once those of the last day."""
    work = case.work
    if work is None or not has_failed(work) or work.ended_at is None:
        return
    if case.surveyed and not told_lately(case, work):
        return
    action = f" at action {work.action}" if work.action else ""
    told, ours, advice = _ended(work)
    key = work.id[:8]
    yield Finding(
        gravity=grave_failure(case, work),
        cause=f"Workflow {quoted(work.name)} ended as {work.state}{action}{told}.",
        evidence=(
            f"{moment(work.ended_at)} workflow {key} was {work.state}",
            *(f"it printed: {not_ours(one_line(each, LONGEST))}" for each in work.tail),
            *advice,
        ),
        remedy=" ".join(filter(None, (_sentence(ours), _of_no_archive(work), _logs_and_retry(work)))),
    )


def _of_no_archive(work: Work) -> str:
    """What to do where a program says that what it was to unpack is none, as servers answer with a page to log in."""
    if known(work.reason) is not Reason.NON_ZERO_EXIT or not any(map(_NO_ARCHIVE.search, work.tail)):
        return ""
    return "What it unpacked is no archive: look what the server that it came from answers (`curl -I URL`), which may be a page that wants a login."


def _logs_and_retry(work: Work) -> str:
    key = work.id[:8]
    logs = f"`tinkbox workflow logs {key}` shows what it printed" if _may_have_printed(work) else ""
    if work.overtaken:
        return f"{logs}{'. ' if logs else ''}It is not retried: {work.overtaken}"
    changed = f" But {work.changed}." if work.changed else ""
    return f"{logs}{', ' if logs else ''}`tinkbox workflow retry {key}` resumes at this action, with the text that the template had.{changed}"


def _may_have_printed(work: Work) -> bool:
    """Whether it printed something; of what the appliance alone says that is not known."""
    if never_ran(work.reason, work.hint) or work.action_state is State.PENDING:
        return False
    ours = known(work.reason)
    return bool(work.tail) or (ours is not None and ours.givers == Giver.APPLIANCE)


def once_more(work: Work) -> str:
    """What follows when what a failed workflow lacked is there, as a sentence."""
    return (
        f"It is not retried: {work.overtaken}." if work.overtaken else f"Then `tinkbox workflow retry {work.id[:8]}`."
    )


def has_failed(work: Work) -> bool:
    """Whether it ended otherwise than it should."""
    return work.state in _BAD and work.ended_at is not None


def failed_to_fetch(work: Work) -> bool:
    """Whether it failed as an image did not come.  An action may spell a word of its own as our reason: its hint is another one."""
    return has_failed(work) and known(work.reason) in _DID_NOT_COME and is_hint_of(work.reason, work.hint)


def failed_for_engine(work: Work) -> bool:
    """Whether it failed for a service whose host had no container engine, as the message of that says."""
    return has_failed(work) and bool(work.service) and DOCKER_ENGINE in work.message


def told_lately(case: Case, work: Work) -> bool:
    """Whether it ended so lately that a survey tells of it."""
    return work.ended_at is not None and case.now - work.ended_at <= TOLD_FOR


def grave_failure(case: Case, work: Work) -> Gravity:
    """How grave it is that it failed: a fault of what was asked for, while that is news."""
    return Gravity.SUSPECT if case.surveyed or not told_lately(case, work) else Gravity.FAULT


def _ended(work: Work) -> tuple[str, str, tuple[str, ...]]:
    """(why it ended, as the end of a sentence; our own advice; the action's as evidence): an action's words stand in quotes."""
    reason, message = known(work.reason), one_line(work.message, LONGEST)
    ours = hint(work.reason, work.message)
    if reason is not None and is_hint_of(reason, work.hint):
        # What comes from a machine stands in quotes, whatever it is.
        said = message if reason.givers == Giver.APPLIANCE or not message else quoted(message, LONGEST)
        # Where its output is, and that it is not retried, the remedy says of every failure.
        is_said = reason is Reason.NON_ZERO_EXIT or (work.overtaken and advises_retry(ours))
        advice = "" if is_said else about(ours, workflow=work.id[:8], service=work.service)
        return f": {': '.join(filter(None, (reason.value, said)))}", advice, ()
    # An action may spell a word of its own as a reason of ours, and mean something else by it.
    words = ": ".join(filter(None, (one_line(work.reason, LONGEST), message)))
    # The worker says so much of such a word itself.
    its_own = work.hint != "" and not is_hint_of(Reason.NON_ZERO_EXIT, work.hint)
    advised = (f"the action advises: {quoted(work.hint, LONGEST)}",) if its_own else ()
    return f": the action says {quoted(words, LONGEST)}" if words else "", "", advised


def _service_evidence(case: Case, service: AwaitedService) -> Iterator[str]:
    if service.begun_at is not None:
        waited = (case.now - service.begun_at).total_seconds()
        until = f" of {service.timeout.total_seconds():.0f} s" if service.timeout else ""
        yield f"{moment(service.begun_at)} {service.host} began with it, {waited:.0f} s{until} ago"
    restarts = f", {counted(service.restarts, 'restart')}" if service.restarts else ""
    yield f"{moment(case.now)} it is {service.phase}{restarts}"
    if service.message:
        yield f"its host says: {shortened(one_line(service.message, 2 * LONGEST), LONGEST)}"
    yield from (f"it printed: {not_ours(one_line(each, LONGEST))}" for each in service.tail)


def _stands(case: Case, work: Work) -> str:
    """Where a workflow stands, as evidence."""
    at = f", at action {work.action} ({work.action_state})" if work.action else ""
    return f"{moment(case.now)} workflow {work.id[:8]} is {work.state}{at}"


def _seen_and_to_do(problem: str) -> tuple[str, str]:
    """What is wrong with an image, and what to do about it, which stands behind the last colon."""
    what, _, way_out = problem.rpartition(": ")
    return (what, way_out) if what else (problem, "")


def _sentence(text: str) -> str:
    """A hint as a sentence."""
    if not text:
        return ""
    first = text if text.startswith("`") else text[:1].upper() + text[1:]
    return first if first.endswith((".", "?")) else f"{first}."
