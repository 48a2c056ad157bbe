"""The doctor's rule about workers that fell silent while their action runs, or while a workflow waits for them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tinkbox.engine.doctor.case import SWITCHED_ON_WITHIN, Case, Finding, Work, line, moment, of, text
from tinkbox.engine.machines.boot_progress import BOOTS
from tinkbox.engine.timeline.sighting_rules import ended_at, is_its_own
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import SILENT_FOR, Gravity
from tinkbox.model.session import TicketRefusal
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import machines_named
from tinkbox.model.workflow import State
from tinkbox.wire.polling import ORDERS_SECONDS, SILENT_SECONDS

# Beside the time between two polls: the pause before the next one, and a slow way.
_MARGIN = timedelta(seconds=SILENT_SECONDS - ORDERS_SECONDS)
# An action that is LEAVING sent its machine away: there nobody is to be heard.
WORKING = (State.RUNNING, State.HELD)
# Whatever else is seen meanwhile, it is one condition.
_ONE_SILENCE: Final = "worker"
# So many polls without a word are no slow way any more.
_CERTAIN = 3
_RETRY = (
    "If it stays silent, the action ends as WorkerSilent; then `tinkbox workflow retry {}` repeats it, if that is safe."
)
# Another boot, and another worker, do not know what the one before did.
_RETRY_REFUSED = "The action ends as WorkerLost then, or as WorkerSilent when its time is up; `tinkbox workflow retry {}` repeats it, if that is safe."


def silent_since(work: Work | None, since: datetime, now: datetime) -> datetime | None:
    """When a worker that is to be heard was heard of last, if that is too long ago; None: it is not silent.

    That is the worker of a running action, or one for whose machine a workflow waits.  Of the time before `since`, when the
    appliance began to listen, nothing counts.
    """
    if work is None or not (work.action_state in WORKING or _is_waited_for(work)):
        return None
    known = [each for each in (work.contact, work.since) if each is not None]
    if not known or now - max(*known, since) <= work.polls + _MARGIN:
        return None
    return max(known)


def silent_worker(case: Case) -> Iterator[Finding]:
    """A worker of which nothing was heard for longer than it polls, while its action runs or a workflow waits for it.

    Of one that was refused after a person revoked its credentials it is told at once.
    """
    work, heard = case.work, silent_since(case.work, case.since, case.now) or _heard_before_it_was_revoked(case)
    if work is None or heard is None:
        return
    again = _booted_since(case, heard)
    if work.action_state not in WORKING:
        # One that boots is on its way, and somebody may be on the way to switch one on that was silent before.
        boots = again or (case.heard_at is not None and case.heard_at > heard)
        was_silent = work.created_at - heard > work.polls + _MARGIN
        if not boots and not (was_silent and case.now - work.created_at < SWITCHED_ON_WITHIN):
            yield _waited_for(case, work, heard)
        return
    refused = _refused_since(case, heard)
    cause, seen, remedy = _refusal(case, refused) if refused else _likeliest(work, again)
    certain = bool(refused or again or work.link or work.answers is False or case.now - heard > _CERTAIN * work.polls)
    yield Finding(
        gravity=Gravity.FAULT if certain else Gravity.SUSPECT,
        cause=f"{SILENT_FOR} {lasted(case.now - heard)} while {work.action} runs: {cause}.",
        evidence=(
            f"{moment(heard)} the worker was heard of last; while it works it asks every {work.polls.total_seconds():.0f} s",
            *map(line, again[:3]),
            *seen,
            *_deadline(work),
        ),
        remedy=f"{remedy} {(_RETRY_REFUSED if refused and not second_host(case, refused[-1]) else _RETRY).format(work.id[:8])}",
        subject=_ONE_SILENCE,
    )


def _heard_before_it_was_revoked(case: Case) -> datetime | None:
    """When a working worker was heard of last that a person revoked since, and that was refused; None: it is not such a one."""
    heard = case.work.contact if case.work is not None and case.work.action_state in WORKING else None
    refused = _refused_since(case, heard) if heard is not None else ()
    return heard if heard and refused and refused[0].stage is Stage.REVOKED and refused[0].at >= heard else None


def _is_waited_for(work: Work) -> bool:
    """Whether a workflow waits for a machine whose worker is there to ask for work, for all that was seen of it."""
    return work.idle and work.action_state is State.PENDING and bool(work.waits) and not work.before


def _waited_for(case: Case, work: Work, heard: datetime) -> Finding:
    """A worker that is silent while no action runs, so that its machine may be switched on and off as one likes."""
    refused = _refused_since(case, heard)
    cause, seen, remedy = _refusal(case, refused) if refused else _likeliest(work, ())
    back = "" if refused else "Then boot the machine again, or start its worker. "
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine's worker, which the workflow waits for, is silent for {lasted(case.now - heard)}: {cause}.",
        evidence=(
            f"{moment(heard)} the worker was heard of last; while it waits for work it asks every {work.polls.total_seconds():.0f} s",
            f"{moment(work.created_at)} the workflow was created",
            *seen,
        ),
        remedy=f"{remedy} {back}The workflow goes on by itself then: no action runs, so nothing is lost.",
        subject=_ONE_SILENCE,
    )


def lasted(span: timedelta) -> str:
    """A span as a clock shows it: 1:46, or 2:00:05 from an hour on."""
    minutes, seconds = divmod(max(0, int(span.total_seconds())), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def second_host(case: Case, refused: Sighting) -> str:
    """The MAC of a host that was seen at the machine's own address when a credential of the machine was refused there; empty: none was.

    The machine itself asked then and something else answered ARP for its address, or that host asked: the two look the same.
    """
    other = text(refused, "neighbour")
    elsewhere = text(refused, "why") == TicketRefusal.ELSEWHERE and other not in ("", str(case.mac or ""))
    return other if elsewhere and is_at_its_own(case, refused) else ""


def at_second_host(refused: Sighting) -> str:
    """A refusal at the machine's own address, beside a second host there, as evidence."""
    address, other = text(refused, "address"), text(refused, "neighbour")
    return f"{moment(ended_at(refused))} a request with this machine's credential came from {address}, and by ARP {other} had that address"


def let_in_since(case: Case, refused: Sighting) -> bool:
    """Whether the machine's worker was in touch after it was refused the last time."""
    since, heard = ended_at(refused), case.worker_heard
    # How an action failed may be the appliance's own word, as that of a worker that is silent.
    worked = [
        each
        for each in of(case.sightings, Stage.SESSION, Stage.WORKER, Stage.ACTION)
        if text(each, "state") in ("", State.SUCCESS)
    ]
    return (heard is not None and heard > since) or any(ended_at(each) > since for each in worked)


def is_at_its_own(case: Case, refused: Sighting) -> bool:
    """Whether that came from the address of the machine: by its document, its lease of then, or the session that it has."""
    leased = [
        found
        for each in of(case.sightings, Stage.LEASED)
        if each.at <= ended_at(refused) and (found := text(each, "address"))
    ]
    own = {text(refused, "exchanged_from"), *leased[-1:]}
    if case.interface is not None and case.interface.address is not None:
        own.add(str(case.interface.address))
    return text(refused, "address") in own - {""}


def _refused_since(case: Case, heard: datetime) -> tuple[Sighting, ...]:
    """What was seen of the worker being refused since it was heard of last, where it is surely that one; empty: it was not."""
    revoked = [each for each in of(case.sightings, Stage.REVOKED) if each.at >= heard - _MARGIN]
    refused = [
        each
        for each in of(case.sightings, Stage.TICKET_REFUSED)
        if ended_at(each) >= heard
        and (is_at_its_own(case, each) or (revoked and text(each, "why") == TicketRefusal.VOID))
    ]
    if not refused or any(each.at > ended_at(refused[-1]) for each in of(case.sightings, Stage.SESSION)):
        return ()
    return (*revoked[-1:], refused[-1])


def _refusal(case: Case, refused: tuple[Sighting, ...]) -> tuple[str, tuple[str, ...], str]:
    """The same as `_likeliest` of a worker that is refused."""
    why = text(refused[-1], "why")
    how = "Boot the machine again, or start its worker with a new credential: `tinkbox hardware credential MACHINE` prints one."
    if refused[0].stage is Stage.REVOKED:
        cause = "a person revoked the credentials of this machine, so the appliance refuses its worker"
    elif other := second_host(case, refused[-1]):
        address = text(refused[-1], "address")
        cause = f"two hosts have the address {address}, and {case.named(other)} answers for it, so the appliance does not let the worker in"
        how = f"Find the host with the MAC {other} (your switch knows its port) and take {address} off it: the worker goes on by itself then."
        return cause, (at_second_host(refused[-1]),), how
    else:
        cause = f"the appliance refuses it: the credential does not count, for {why}"
    return cause, tuple(map(line, refused)), how


def _likeliest(work: Work, again: tuple[Sighting, ...]) -> tuple[str, tuple[str, ...], str]:
    """(why the worker is silent, what else was seen, what to do), the surest sign first."""
    beside = f"silent as well: {machines_named(work.silent_beside)}" if work.silent_beside else ""
    if again:
        how = (
            "How far the action came is not known. If you did not reset the machine, look at its power and its console."
        )
        return "the machine boots again", (), how
    if work.link:
        return (
            f"the appliance cannot reach it, as {work.link}",
            (work.link,),
            "`tinkbox doctor` says how to mend that on the appliance. If a cable leads from it straight to this machine, look at the machine's power.",
        )
    if work.answers:
        return (
            "the machine is on and answers ARP, so its kernel or its worker hangs, its worker ended, or something drops TCP on the way",
            ("its address answers ARP", *filter(None, [beside])),
            "Look at its screen or console: a kernel that panicked, or memory that ran out. A firewall in between lets ARP through.",
        )
    unanswered = ("its address does not answer ARP",) if work.answers is False else ()
    if work.silent_beside:
        are = "is" if len(work.silent_beside) == 1 else "are"
        return (
            f"{machines_named(work.silent_beside)} beside it {are} silent too, so the way to them is likelier to blame",
            (*unanswered, beside),
            "Look at the switch, the cable or the relay that they have in common, and whether they have power.",
        )
    if work.answers is False:
        return (
            "the machine is off, or its cable is out",
            unanswered,
            "Look at its power, its cable and its switch port.",
        )
    return (
        "its worker ended, or the machine is off or hangs, or the way to it is cut",
        (),
        "Look at its power and its console, and at the relay or router between it and the appliance. A worker that you started by hand: start it again.",
    )


def _booted_since(case: Case, heard: datetime) -> tuple[Sighting, ...]:
    """What was seen of a boot of the machine that began after its worker was heard of last."""
    return tuple(
        each for each in case.sightings if each.at > heard and _is_boot(each) and is_its_own(each.stage, each.facts)
    )


def _is_boot(seen: Sighting) -> bool:
    """Whether firmware, a boot loader or another system did that: the OSIE asks for its address anew as well."""
    asks = seen.stage is Stage.DISCOVER and text(seen, "asker") != Asker.SYSTEM.value
    return asks or seen.stage in BOOTS or seen.stage is Stage.DISK_BOOTED


def _deadline(work: Work) -> Iterator[str]:
    if work.since is not None and work.timeout is not None and work.action_state is State.RUNNING:
        yield f"{moment(work.since)} the action began; it has {work.timeout.total_seconds():.0f} s"
