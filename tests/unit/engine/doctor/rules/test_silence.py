"""The doctor's rule about workers that fell silent, and what is seen of their machines."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, MINE, asked, case, osie_boot, seen
from tests.unit.engine.presences import presence_where
from tinkbox.engine.doctor.case import Case, Work
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.presence import AT_ONCE
from tinkbox.engine.doctor.rules.silence import lasted, silent_since, silent_worker
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.session import TicketRefusal
from tinkbox.model.sightings import Fact, Sighting
from tinkbox.model.vitals import Attachment, Vitals
from tinkbox.model.workflow import State
from tinkbox.wire.polling import ORDERS_SECONDS, POLL_SECONDS, SILENT_SECONDS

STARTED = BEGIN + timedelta(seconds=60)
HEARD = BEGIN + timedelta(seconds=100)
SOUND = Vitals(at=HEARD)
OTHER = "08:00:27:00:00:02"
WORK = Work(
    id="w1",
    name="install-7",
    state=State.RUNNING,
    created_at=BEGIN,
    action="os/write",
    action_state=State.RUNNING,
    since=STARTED,
    timeout=timedelta(seconds=600),
    contact=HEARD,
)


def working(silent: float, *more: object, **changes: object) -> Case:
    """A machine whose worker was heard of last so many seconds ago."""
    told = case(*osie_boot(0), *more, work=replace(WORK, **changes))
    return replace(told, now=HEARD + timedelta(seconds=silent))


def test_a_worker_is_silent_when_it_exceeds_a_poll_and_not_before() -> None:
    assert not list(silent_worker(working(SILENT_SECONDS)))
    (found,) = silent_worker(working(SILENT_SECONDS + 1))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause.startswith("The worker is silent for 0:21 while os/write runs: ")
    assert found.evidence == (
        "2026-11-21 03:01:40 the worker was heard of last; while it works it asks every 12 s",
        "2026-11-21 03:01:00 the action began; it has 600 s",
    )
    assert "timeout" not in found.remedy
    (later,) = silent_worker(working(106))
    assert (later.gravity, "silent for 1:46" in later.cause) == (Gravity.FAULT, True)


def test_what_answers_no_arp_is_off_and_what_answers_hangs() -> None:
    (off,) = silent_worker(working(40, answers=False))
    assert off.gravity is Gravity.FAULT
    assert off.cause.endswith("the machine is off, or its cable is out.")
    assert "its address does not answer ARP" in off.evidence
    (hangs,) = silent_worker(working(30, answers=True, silent_beside=("node8",)))
    assert (hangs.gravity, "answers ARP, so its kernel or its worker hangs" in hangs.cause) == (Gravity.SUSPECT, True)
    assert hangs.evidence[1:3] == ("its address answers ARP", "silent as well: machine node8")


def test_where_the_machine_cannot_be_asked_its_worker_may_have_ended_alone() -> None:
    (found,) = silent_worker(working(40))
    assert found.cause.endswith(": its worker ended, or the machine is off or hangs, or the way to it is cut.")
    assert "A worker that you started by hand: start it again." in found.remedy
    (hangs,) = silent_worker(working(40, answers=True))
    assert "its worker ended, or something drops TCP" in hangs.cause


def test_several_that_are_silent_have_the_way_in_common() -> None:
    (found,) = silent_worker(working(40, answers=False, silent_beside=("node8", "node9")))
    assert "2 machines (node8, node9) beside it are silent too" in found.cause
    assert "switch" in found.remedy
    (found,) = silent_worker(working(40, silent_beside=("node8",), link="the appliance's interface lan is down"))
    assert "cannot reach it, as the appliance's interface lan is down" in found.cause


def test_a_machine_that_boots_again_is_told_to_do_so() -> None:
    (found,) = silent_worker(working(60, asked(150), answers=True))
    assert (found.gravity, "the machine boots again" in found.cause) == (Gravity.FAULT, True)
    assert "2026-11-21 03:02:30 asked for an address: PXE" in found.evidence
    # The OSIE's own client, another host, and a boot of before.
    for other in (asked(150, Asker.SYSTEM), asked(150, other_host="aa"), asked(90)):
        assert "boots again" not in next(silent_worker(working(60, other))).cause
    assert "boots again" in next(silent_worker(working(60, seen(150, Stage.DISK_BOOTED)))).cause


@pytest.mark.parametrize("state", [State.LEAVING, State.PENDING, State.SUCCESS, State.FAILED])
def test_nobody_is_to_be_heard_of_an_action_that_does_not_run(state: State) -> None:
    assert not list(silent_worker(working(600, action_state=state)))
    assert not list(silent_worker(case(*osie_boot(0), after=600)))


def test_what_the_appliance_could_not_hear_does_not_count() -> None:
    after_restart = replace(working(600), since=HEARD + timedelta(seconds=580))
    assert not list(silent_worker(after_restart))
    (found,) = silent_worker(replace(after_restart, now=HEARD + timedelta(seconds=620)))
    assert "silent for 10:20" in found.cause
    assert silent_since(replace(WORK, contact=None, since=None), BEGIN, BEGIN + timedelta(hours=1)) is None
    assert silent_since(replace(WORK, contact=None), BEGIN, BEGIN + timedelta(hours=1)) == STARTED


def test_it_is_among_the_rules() -> None:
    assert "SilentWorker" in {each.rule for each in diagnose(working(60))}
    assert (lasted(timedelta(seconds=7205)), lasted(timedelta(seconds=-1))) == ("2:00:05", "0:00")


async def test_only_a_silent_machine_is_asked_and_not_again_at_once() -> None:
    questions: list[IPv4Address] = []

    async def ask(address: IPv4Address, mac: MacAddress) -> bool:
        questions.append(address)
        return mac != MAC

    now = [HEARD]
    presence = presence_where(ask=ask, clock=lambda: now[0])
    healthy = working(10)
    assert await presence.examined(healthy, SOUND) is healthy
    assert not questions
    for seconds in (40, 44, 60):
        now[0] = HEARD + timedelta(seconds=seconds)
        told = (await presence.examined(working(seconds), SOUND)).work
        assert told is not None
        assert (told.answers, told.silent_beside, told.link) == (False, (), "")
    assert len(questions) == 2
    other = replace(working(62, called="node8"), mac=MacAddress("08:00:27:00:00:02"))
    told = (await presence.examined(other, SOUND)).work
    assert told is not None
    assert (told.answers, told.silent_beside) == (True, (MAC,))
    await presence.examined(working(62, contact=now[0]), SOUND)
    told = (await presence.examined(other, SOUND)).work
    assert told is not None
    assert told.silent_beside == ()


async def test_what_was_found_by_another_look_meanwhile_counts_for_one_that_began_before() -> None:
    presence = presence_where(clock=lambda: HEARD + timedelta(seconds=40))
    other = replace(working(42, called="node8"), mac=MacAddress("08:00:27:00:00:02"))
    await presence.examined(other, SOUND)
    work = (await presence.examined(working(40), SOUND)).work
    assert work is not None
    assert work.silent_beside == ("node8",)


async def test_machines_that_fell_silent_minutes_apart_have_nothing_in_common() -> None:
    presence = presence_where(clock=lambda: HEARD + timedelta(seconds=200))
    first = working(200)
    other = replace(
        working(200, called="node8", contact=HEARD + timedelta(seconds=110)), mac=MacAddress("08:00:27:00:00:02")
    )
    for told, beside in ((first, ()), (other, ()), (first, ())):
        work = (await presence.examined(told, SOUND)).work
        assert work is not None
        assert work.silent_beside == beside


async def test_no_more_are_asked_at_once_than_there_is_room_for() -> None:
    async def ask(address: IPv4Address, mac: MacAddress) -> bool:
        if presence._asking < AT_ONCE:
            return await presence.answers(MacAddress(f"08:00:27:00:01:{presence._asking:02x}"), address) is None
        return await presence.answers(MacAddress("08:00:27:00:02:01"), address) is None

    presence = presence_where(ask=ask, clock=lambda: HEARD)
    # The eighth question finds no room for a ninth.
    assert await presence.answers(MAC, IPv4Address("172.30.0.21")) is False
    assert presence._asking == 0


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"present": False}, "is gone"),
        ({"present": True}, "is down"),
        ({"present": True, "up": True, "carrier": False}, "has no link"),
        ({"present": True, "up": True, "carrier": True}, ""),
        ({"present": True, "up": True}, ""),
    ],
)
async def test_our_own_interface_counts_where_the_machine_is_behind_it(state: dict[str, bool], words: str) -> None:
    async def ask(_: IPv4Address, __: MacAddress) -> bool | None:
        return None

    own = IPv4Address("172.30.0.1")
    vitals = Vitals(at=HEARD, attachments=(Attachment(interface="eth1", address=own, **state),))
    told = (await presence_where(ask=ask, clock=lambda: HEARD).examined(working(40), vitals)).work
    assert told is not None
    assert told.link == (words and f"the appliance's interface eth1 {words}")


def test_a_worker_that_is_refused_as_a_person_revoked_its_credentials_is_told_of_at_once() -> None:
    void = TicketRefusal.VOID.value
    revoked = seen(101, Stage.REVOKED, "by ann", who="ann")
    denied = seen(102, Stage.TICKET_REFUSED, void, why=void, address=MINE)
    (found,) = silent_worker(working(3, revoked, denied))
    assert found.gravity is Gravity.FAULT
    assert found.cause.startswith("The worker is silent for 0:03 while os/write runs: a person revoked the credentials")
    # An earlier one is refused beside the worker that is in touch, the next one began, or nothing shows that it was refused.
    for seen_since in (
        (seen(99, Stage.REVOKED, "by ann", who="ann"), denied),
        (revoked, denied, seen(103, Stage.SESSION)),
        (revoked,),
        (denied,),
    ):
        assert not list(silent_worker(working(4, *seen_since)))
    assert not list(silent_worker(working(3, revoked, denied, action_state=State.LEAVING)))


def test_a_worker_that_is_refused_is_silent_for_that() -> None:
    void, address = TicketRefusal.VOID.value, "172.30.0.66"
    revoked = seen(99, Stage.REVOKED, "by ann", who="ann")
    denied = seen(101, Stage.TICKET_REFUSED, void, why=void, address=address)
    (found,) = silent_worker(working(40, revoked, denied))
    assert found.gravity is Gravity.FAULT
    assert found.cause.endswith(
        "a person revoked the credentials of this machine, so the appliance refuses its worker."
    )
    assert "2026-11-21 03:01:39 its credentials were revoked: by ann" in found.evidence
    assert "`tinkbox hardware credential MACHINE` prints one" in found.remedy
    assert "ends as WorkerLost then, or as WorkerSilent when its time is up" in found.remedy
    assert "`tinkbox workflow retry w1`" in found.remedy
    # What another host is refused says nothing of the worker, and one that was let in again is not refused.
    assert "refuses" not in next(silent_worker(working(40, denied))).cause
    assert "refuses" not in next(silent_worker(working(40, revoked, denied, seen(102, Stage.SESSION)))).cause
    own = seen(101, Stage.TICKET_REFUSED, void, why=void, address=MINE)
    assert "the appliance refuses it: the credential does not count" in next(silent_worker(working(40, own))).cause


def elsewhere(second: float, address: str = MINE, **facts: Fact) -> Sighting:
    """A credential of the machine that was refused because its address or MAC is not the machine's."""
    why = TicketRefusal.ELSEWHERE.value
    told: dict[str, Fact] = {"why": why, "address": address, "neighbour": OTHER, **facts}
    return seen(second, Stage.TICKET_REFUSED, f"{why}, from the host {OTHER}", **told)


def test_worker_beside_a_second_host_at_its_address_is_silent_for_that() -> None:
    (found,) = silent_worker(working(40, elsewhere(101, count=3, lasted=20.0)))
    assert found.gravity is Gravity.FAULT
    assert found.cause.endswith(
        f"two hosts have the address {MINE}, and {OTHER} answers for it, so the appliance does not let the worker in."
    )
    assert (
        f"2026-11-21 03:02:01 a request with this machine's credential came from {MINE}, and by ARP {OTHER} had that address"
        in found.evidence
    )
    assert f"Find the host with the MAC {OTHER}" in found.remedy
    assert "credential" not in found.remedy
    # By hand it has an address that nobody gave it.
    bare = {"address": "172.30.0.99", "exchanged_from": "172.30.0.99"}
    assert "two hosts have the address 172.30.0.99" in next(silent_worker(working(40, elsewhere(101, **bare)))).cause
    # What another address was refused is not the worker's, and what the machine's own MAC was refused needs no second host.
    assert "refuse" not in next(silent_worker(working(40, elsewhere(101, "172.30.0.66")))).cause
    assert "the credential does not count" in next(silent_worker(working(40, elsewhere(101, neighbour=MAC)))).cause


def test_refusals_that_go_on_since_the_worker_was_heard_count_whenever_they_began() -> None:
    assert "two hosts" in next(silent_worker(working(40, elsewhere(95, count=9, lasted=30.0)))).cause
    assert "two hosts" not in next(silent_worker(working(40, elsewhere(95)))).cause


def waited_for(silent: float, *more: object, **changes: object) -> Case:
    """A machine for which a workflow waits, and whose idle worker was heard of last so many seconds ago."""
    polls = timedelta(seconds=POLL_SECONDS)
    waits = {"action_state": State.PENDING, "state": State.PENDING, "since": None, "waits": "node7", "idle": True}
    return working(silent, *more, **{**waits, "polls": polls, **changes})


def test_a_silent_worker_that_a_workflow_waits_for_is_told_though_no_action_runs() -> None:
    bound = POLL_SECONDS + SILENT_SECONDS - ORDERS_SECONDS
    assert not list(silent_worker(waited_for(bound)))
    (found,) = silent_worker(waited_for(240, answers=True, created_at=HEARD + timedelta(seconds=60)))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause.startswith(
        "The machine's worker, which the workflow waits for, is silent for 4:00: the machine is on and answers ARP"
    )
    assert "its address answers ARP" in found.evidence
    assert "boot the machine again, or start its worker" in found.remedy
    assert "no action runs, so nothing is lost" in found.remedy
    link = "the appliance's interface lan is down"
    assert link in next(silent_worker(waited_for(240, link=link))).cause
    assert "beside it are silent too" in next(silent_worker(waited_for(240, silent_beside=("node8", "node9")))).cause
    assert diagnose(waited_for(240))[0].rule == "SilentWorker"
    assert diagnose(waited_for(240))[0].leads


def test_a_silent_worker_of_a_machine_that_no_workflow_waits_for_or_that_boots_is_not_told() -> None:
    for changes in (
        {"waits": ""},
        {"idle": False},
        {"before": ("w0",)},
        {"state": State.SUCCESS, "action_state": State.SUCCESS},
    ):
        assert not list(silent_worker(waited_for(240, **changes)))
    assert not list(silent_worker(waited_for(240, asked(150))))
