"""Boot tickets and sessions: who may work in a machine's name, from where, and what the timeline tells of others."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, address, appliance, hardware, mac
from tests.integration.engine.discovery.test_discovery import pxe, what
from tests.workers import opening
from tinkbox.engine.machines.boot_tickets import BootTicket, Kind, Seal
from tinkbox.model.boot import Boot, Plan, Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, Denied, Forbidden, Unavailable
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.session import TicketRefusal
from tinkbox.model.sightings import OTHER_HOST, STARTED_ELSEWHERE, Sighting
from tinkbox.model.workflow import State
from tinkbox.wire.messages.inventory import Told
from tinkbox.wire.messages.worker import Hello

HERE = address(1)
ELSEWHERE = "172.30.0.66"
THIEF = MacAddress("02:00:00:00:00:66")


def boots(box: Appliance, number: int = 1) -> None:
    """A machine fetches its boot script."""
    box.machines.progress.saw(mac(number), Stage.SCRIPT)


def boot_ticket(box: Appliance, number: int = 1, at: str = HERE) -> str:
    """The ticket that a known machine's boot fetches."""
    plan = Plan(
        boot=Boot.OSIE, hardware_id=box.machines.known.holder(mac(number)), interface=Interface(mac=mac(number))
    )
    return box.credential(plan, "http://a", at).token


async def exchange(box: Appliance, ticket: str, *, at: str = HERE, secret: str = "", **wanted: str) -> str:
    """Exchange a ticket as a worker with a secret of its own; returns its secret."""
    told = replace(opening(ticket, instance=""), **wanted)
    told = replace(told, secret=secret * 40 or told.secret)
    await box.machines.sessions.exchange(ticket, told, at)
    return told.secret


def whose(box: Appliance, secret: str, at: str = HERE, instance: str = "") -> str:
    return box.machines.authenticate(secret, instance, at)


async def seen(box: Appliance, stage: Stage, number: int = 1) -> list[Sighting]:
    return [each for each in await box.machines.timeline.of(mac(number)) if each.stage is stage]


async def test_a_boot_ticket_is_exchanged_once_and_the_timeline_tells_of_both(box: Appliance) -> None:
    worker = await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    secret = await exchange(box, ticket)
    assert whose(box, secret) == worker
    box.neighbours[ELSEWHERE] = THIEF
    with pytest.raises(Forbidden, match="exchanged already"):
        await exchange(box, ticket, at=ELSEWHERE, secret="x")
    assert whose(box, secret) == worker
    (given,), (first,), (second,) = [
        await seen(box, each) for each in (Stage.TICKET, Stage.SESSION, Stage.TICKET_REFUSED)
    ]
    assert (given.facts["address"], first.facts["address"]) == (HERE, HERE)
    assert (second.facts["why"], second.facts["address"]) == (TicketRefusal.USED, ELSEWHERE)
    assert (second.facts["neighbour"], second.facts["exchanged_from"]) == (THIEF, HERE)


async def test_a_boot_has_one_ticket_until_it_is_exchanged_then_none_before_the_next(box: Appliance) -> None:
    await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    assert boot_ticket(box) == ticket
    secret = await exchange(box, ticket)
    with pytest.raises(Conflict, match="exchanged its boot ticket already"):
        boot_ticket(box)
    boots(box)
    following = boot_ticket(box)
    assert following != ticket
    assert await exchange(box, following, boot_id="boot-2")
    with pytest.raises(Denied):
        whose(box, secret)
    with pytest.raises(Forbidden):
        await exchange(box, ticket, secret="y")


async def test_a_ticket_that_another_host_fetched_is_told_as_such_once_and_then_the_machines_own(
    box: Appliance,
) -> None:
    await box.machine(1)
    boots(box)
    for host in (THIEF, MacAddress("02:00:00:00:00:67"), mac(1), THIEF, mac(1)):
        box.neighbours[HERE] = host
        boot_ticket(box)
    first, second = await seen(box, Stage.TICKET)
    assert first.detail == f"at {HERE}, by another host, {THIEF}"
    assert (first.facts[OTHER_HOST], first.facts["neighbour"]) == (THIEF, THIEF)
    assert second.detail == f"at {HERE}"
    assert OTHER_HOST not in second.facts


async def test_the_same_worker_may_exchange_again_and_its_newest_process_is_the_one_that_counts(box: Appliance) -> None:
    worker = await box.machine(1)
    ticket = boot_ticket(box)
    secret = await exchange(box, ticket, instance="9-one")
    assert await exchange(box, ticket, instance="10-two") == secret
    assert whose(box, secret, instance="10-two") == worker
    with pytest.raises(Forbidden, match="another process"):
        whose(box, secret, instance="9-one")
    with pytest.raises(Forbidden, match="another process"):
        await exchange(box, ticket, instance="9-one")
    assert whose(box, secret, instance="10-two") == worker
    assert await seen(box, Stage.TICKET_REFUSED) == []


async def test_a_later_process_than_the_store_knows_exchanges_again_since_the_store_may_have_been_put_back(
    box: Appliance,
) -> None:
    worker = await box.machine(1)
    ticket = boot_ticket(box)
    secret = await exchange(box, ticket, instance="1-one")
    with pytest.raises(Denied, match="exchanged again"):
        whose(box, secret, instance="2-two")
    assert await exchange(box, ticket, instance="2-two") == secret
    assert whose(box, secret, instance="2-two") == worker


async def test_nobody_passes_for_a_machine_behind_a_router_by_not_answering_arp(box: Appliance) -> None:
    worker = await box.machine(1)
    ticket = boot_ticket(box)
    box.attached.add(HERE)
    with pytest.raises(Unavailable, match="ask again"):
        await exchange(box, ticket)
    box.neighbours[HERE] = mac(1)
    assert whose(box, await exchange(box, ticket)) == worker


@pytest.mark.parametrize(
    ("wanted", "why"), [({"boot_id": "boot-2"}, "earlier boot"), ({"at": ELSEWHERE}, "another machine")]
)
async def test_a_stolen_secret_is_worth_nothing_in_another_boot_or_on_another_host(
    box: Appliance, wanted: dict[str, str], why: str
) -> None:
    await box.machine(1)
    ticket = boot_ticket(box)
    secret = await exchange(box, ticket)
    with pytest.raises(Forbidden, match=why):
        await exchange(box, ticket, **wanted)  # type: ignore[arg-type]
    with pytest.raises(Forbidden, match="another machine"):
        whose(box, secret, at=ELSEWHERE)
    told = await seen(box, Stage.TICKET_REFUSED)
    assert {each.facts["exchanged_from"] for each in told} == {HERE}


async def test_another_host_at_the_address_of_a_session_is_refused_at_each_request_and_told(box: Appliance) -> None:
    worker = await box.machine(1)
    box.attached.add(HERE)
    box.neighbours[HERE] = mac(1)
    ticket = boot_ticket(box)
    secret = await exchange(box, ticket)
    box.neighbours[HERE] = THIEF
    for _ in range(2):
        with pytest.raises(Unavailable, match="not that of the machine"):
            whose(box, secret)
    with pytest.raises(Forbidden, match="another machine"):
        await exchange(box, ticket)
    (told,) = await seen(box, Stage.TICKET_REFUSED)
    assert (told.facts["why"], told.facts["neighbour"]) == (TicketRefusal.ELSEWHERE, THIEF)
    assert told.facts["count"] == 3
    box.neighbours[HERE] = mac(1)
    assert whose(box, secret) == worker
    del box.neighbours[HERE]
    assert whose(box, secret) == worker, "who is not seen now is not refused"


async def test_each_card_of_a_machine_may_show_its_session(box: Appliance) -> None:
    document = hardware(1)
    document["network"]["interfaces"].append({"dhcp": {"mac": str(mac(2))}})  # type: ignore[index]
    await box.machines.push(parse_hardware(json.dumps(document)))
    box.neighbours[HERE] = mac(1)
    secret = await exchange(box, boot_ticket(box))
    box.neighbours[HERE] = mac(2)
    assert whose(box, secret)


async def test_which_host_began_a_session_by_hand_is_known_after_a_restart(tmp_path: Path) -> None:
    async with restarted(tmp_path) as box:
        worker = await box.machine(1)
        box.neighbours[ELSEWHERE] = THIEF
        secret = await exchange(box, (await box.machines.credential(worker, "s", "r", "ann")).token, at=ELSEWHERE)
    async with restarted(tmp_path) as box:
        box.neighbours[ELSEWHERE] = MacAddress("02:00:00:00:00:67")
        with pytest.raises(Unavailable):
            whose(box, secret, at=ELSEWHERE)
        box.neighbours[ELSEWHERE] = THIEF
        assert whose(box, secret, at=ELSEWHERE) == worker


async def test_a_session_whose_host_was_not_seen_is_of_the_first_that_is(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await exchange(box, (await box.machines.credential(worker, "s", "r", "ann")).token)
    for _ in range(2):
        box.neighbours[HERE] = THIEF
        assert whose(box, secret) == worker
        box.neighbours[HERE] = MacAddress("02:00:00:00:00:67")
        with pytest.raises(Unavailable):
            whose(box, secret)


async def test_a_machine_that_gets_another_address_goes_on_where_its_mac_is_seen(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await exchange(box, boot_ticket(box))
    box.neighbours[ELSEWHERE] = mac(1)
    assert whose(box, secret, at=ELSEWHERE) == worker


async def test_a_ticket_that_comes_from_another_mac_is_refused(box: Appliance) -> None:
    await box.machine(1)
    ticket = boot_ticket(box)
    box.neighbours[HERE] = THIEF
    with pytest.raises(Forbidden, match="another machine"):
        await exchange(box, ticket)
    box.neighbours[HERE] = mac(1)
    assert await exchange(box, ticket)


async def test_a_credential_by_hand_counts_from_any_host_and_once(box: Appliance) -> None:
    worker = await box.machine(1)
    box.neighbours[ELSEWHERE] = THIEF
    ticket = (await box.machines.credential(worker, "s", "r", "ann")).token
    assert whose(box, await exchange(box, ticket, at=ELSEWHERE), at=ELSEWHERE) == worker
    with pytest.raises(Forbidden):
        await exchange(box, ticket, secret="z")


async def test_a_worker_by_hand_on_another_host_is_told_as_that(box: Appliance) -> None:
    worker = await box.machine(1)

    async def told(address: str) -> object:
        await exchange(
            box, (await box.machines.credential(worker, "s", "r", "ann")).token, secret=address[-4:], at=address
        )
        return (await seen(box, Stage.SESSION))[-1].facts.get(STARTED_ELSEWHERE)

    box.neighbours[ELSEWHERE] = THIEF
    box.neighbours[HERE] = mac(1)
    box.attached.add("172.30.0.77")
    assert await told(ELSEWHERE) == THIEF
    assert await told("10.1.2.3") == "10.1.2.3"
    for at in (HERE, "127.0.0.1", "172.30.0.77"):
        assert await told(at) is None, at


async def test_a_credential_that_was_given_counts_until_it_is_rotated_or_a_newer_one_is_used(box: Appliance) -> None:
    worker, other = await box.machine(1), await box.machine(2)
    sessions = box.machines.sessions

    async def left(who: str) -> list[str]:
        return [each.hardware_id for each in await sessions.given_to(who)]

    for machine in (worker, other):
        await box.machines.credential(machine, "s", "r", "bert")
    assert (await left("bert"), await left("anna")) == ([worker, other], [])
    await box.machines.rotate(other, "s", "r", "anna")
    assert (await left("bert"), await left("anna")) == ([worker], [other])
    used = await exchange(box, (await box.machines.credential(worker, "s", "r", "bert")).token)
    assert await left("bert") == [worker], "his worker works on"
    await box.machines.rotate(worker, "s", "r", "anna")
    with pytest.raises(Denied):
        whose(box, used)
    assert await left("bert") == []
    await box.machines.credential(worker, "s", "r", "bert")
    await exchange(box, (await box.machines.credential(worker, "s", "r", "anna")).token, secret="later")
    assert await left("bert") == []


async def test_rotating_ends_the_session_and_every_earlier_ticket(box: Appliance) -> None:
    worker = await box.machine(1)
    unused = (await box.machines.credential(worker, "s", "r", "ann")).token
    used = (await box.machines.credential(worker, "s", "r", "ann")).token
    secret = await exchange(box, used)
    fresh = (await box.machines.rotate(worker, "s", "r", "anna")).token
    (told,) = await seen(box, Stage.REVOKED)
    assert told.detail == "by anna"
    with pytest.raises(Denied):
        whose(box, secret)
    for void in (unused, used):
        with pytest.raises(Forbidden, match="it is void"):
            await exchange(box, void)
    assert whose(box, await exchange(box, fresh)) == worker


async def test_a_worker_is_in_touch_again_after_each_exchange_and_does_not_count_as_stalled(box: Appliance) -> None:
    worker = await box.machine(1)
    for _ in range(2):
        await exchange(box, (await box.machines.rotate(worker, "s", "r", "anna")).token)
        for _ in range(2):
            await box.attempts.offer(worker, Hello(boot_id="boot-1"))
    told = [each.stage for each in await box.machines.timeline.of(mac(1))]
    assert told == [Stage.REVOKED, Stage.SESSION, Stage.WORKER] * 2
    box.clock.forward(600)
    assert (await box.machines.get(worker)).stalled == ""


async def test_refusals_of_one_host_at_many_addresses_wash_nothing_off_the_timeline(box: Appliance) -> None:
    worker = await box.machine(1)
    void = boot_ticket(box)
    await exchange(box, (await box.machines.rotate(worker, "s", "r", "anna")).token)
    for number in range(2, 250):
        address = f"172.30.1.{number}"
        box.neighbours[address] = THIEF
        with pytest.raises(Forbidden):
            await exchange(box, void, at=address, secret="x")
    (refused,) = await seen(box, Stage.TICKET_REFUSED)
    assert refused.facts["neighbour"] == THIEF
    assert await seen(box, Stage.REVOKED)
    assert await seen(box, Stage.SESSION)


async def test_what_others_do_in_a_machines_name_is_not_where_the_machine_is(box: Appliance) -> None:
    worker = await box.machine(1)
    ticket = (await box.machines.credential(worker, "s", "r", "ann")).token
    await exchange(box, ticket)
    await box.attempts.offer(worker, Hello(boot_id="boot-1"))
    box.neighbours[ELSEWHERE] = THIEF
    with pytest.raises(Forbidden):
        await exchange(box, ticket, at=ELSEWHERE, secret="x")
    assert (await box.machines.get(worker)).stage is Stage.WORKER
    assert await seen(box, Stage.TICKET_REFUSED)
    # Nobody can tell who asked by DHCP; the machine is where its worker is, as soon as that is heard again.
    box.machines.progress.saw(mac(1), Stage.LEASED)
    assert (await box.machines.get(worker)).stage is Stage.LEASED
    await box.attempts.offer(worker, Hello(boot_id="boot-1"))
    box.clock.forward(600)
    status = await box.machines.get(worker)
    assert (status.stage, status.stalled) == (Stage.WORKER, "")


async def test_a_push_voids_tickets_and_leaves_the_session_of_a_machine_that_stays_what_it_is(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await exchange(box, (await box.machines.credential(worker, "s", "r", "ann")).token)
    unused = (await box.machines.credential(worker, "s", "r", "ann")).token
    await box.machine(1)
    assert whose(box, secret) == worker
    with pytest.raises(Forbidden, match="void"):
        await exchange(box, unused)


async def test_a_boot_whose_ticket_a_push_voided_gets_another_at_once(box: Appliance) -> None:
    worker = await box.machine(1)
    boots(box)
    void = boot_ticket(box)
    await box.machine(1)
    with pytest.raises(Forbidden, match="void"):
        await exchange(box, void)
    assert whose(box, await exchange(box, boot_ticket(box))) == worker


async def test_a_push_that_changes_a_mac_or_an_address_ends_the_session(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await exchange(box, boot_ticket(box))
    changed = hardware(1)
    changed["network"]["interfaces"][0]["dhcp"]["ip"]["address"] = address(50)  # type: ignore[index]
    await box.machines.push(parse_hardware(json.dumps(changed)))
    with pytest.raises(Denied):
        whose(box, secret)
    assert whose(box, await exchange(box, boot_ticket(box, at=address(50)), at=address(50)), at=address(50)) == worker


@asynccontextmanager
async def restarted(folder: Path) -> AsyncIterator[Appliance]:
    async with appliance(folder / "db") as box:
        yield box


async def test_a_restart_between_ticket_and_exchange_breaks_no_boot_and_keeps_sessions(tmp_path: Path) -> None:
    async with restarted(tmp_path) as box:
        worker = await box.machine(1)
        boots(box)
        ticket = boot_ticket(box)
    async with restarted(tmp_path) as box:
        assert boot_ticket(box)
        secret = await exchange(box, ticket)
    async with restarted(tmp_path) as box:
        assert whose(box, secret) == worker
        with pytest.raises(Forbidden):
            await exchange(box, ticket, secret="x")


async def test_a_ticket_that_was_exchanged_stays_so_over_a_restart_until_the_machine_boots(tmp_path: Path) -> None:
    async with restarted(tmp_path) as box:
        await box.machine(1)
        boots(box)
        await exchange(box, boot_ticket(box))
        await guest(box)
        await box.machines.progress.save()
    async with restarted(tmp_path) as box:
        with pytest.raises(Conflict, match="exchanged its boot ticket already"):
            boot_ticket(box)
        box.machines.progress.saw(mac(1), Stage.SCRIPT, **{OTHER_HOST: THIEF})
        with pytest.raises(Conflict):
            boot_ticket(box)
        with pytest.raises(Conflict):
            box.discovery.credential(mac(7), "http://a", "a", ELSEWHERE)
        box.clock.forward(1)
        boots(box)
        await box.machines.progress.save()
    async with restarted(tmp_path) as box:
        assert boot_ticket(box), "a boot that had begun goes on"
        with pytest.raises(Conflict):
            box.discovery.credential(mac(7), "http://a", "a", ELSEWHERE)


async def test_a_clock_that_goes_back_makes_no_older_ticket(box: Appliance) -> None:
    worker = await box.machine(1)
    await exchange(box, (await box.machines.credential(worker, "s", "r", "ann")).token)
    box.clock.jump(-3600 * 24 * 365)
    await box.machine(1)
    assert whose(box, await exchange(box, (await box.machines.credential(worker, "s", "r", "ann")).token)) == worker


async def test_no_secret_and_no_ticket_stands_in_the_store(tmp_path: Path) -> None:
    async with restarted(tmp_path) as box:
        await box.machine(1)
        ticket = boot_ticket(box)
        secret = await exchange(box, ticket)
        kept = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
        assert worker_is_in(kept)
        assert secret.encode() not in kept
        assert ticket.encode() not in kept


def worker_is_in(kept: bytes) -> bool:
    return mac(1).encode() in kept


@pytest.mark.parametrize("text", ["", "x", "boot-ticket.", "boot-ticket.e30.x", "boot-ticket.W10."])
async def test_what_is_no_ticket_is_denied(box: Appliance, text: str) -> None:
    await box.machine(1)
    with pytest.raises(Denied):
        await exchange(box, text, secret="x")
    with pytest.raises(Denied):
        whose(box, text)


async def test_a_ticket_of_another_appliance_is_denied(box: Appliance) -> None:
    worker = await box.machine(1)
    forged = Seal(b"another").sealed(BootTicket(kind=Kind.BY_HAND, holder=worker, address=HERE, serial=2**62))
    with pytest.raises(Denied):
        await exchange(box, forged)


async def test_a_worker_of_before_sessions_is_told_what_to_do_and_so_is_the_operator(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Forbidden, match="tinkbox osie build"):
        whose(box, boot_ticket(box))
    box.neighbours[HERE] = THIEF
    with pytest.raises(Forbidden, match="another machine"):
        whose(box, boot_ticket(box))
    assert [each.facts["why"] for each in await seen(box, Stage.TICKET_REFUSED)] == [
        TicketRefusal.OLD_WORKER,
        TicketRefusal.ELSEWHERE,
    ]


async def test_another_worker_of_the_same_boot_takes_up_no_action_it_did_not_begin(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow = await box.workflow()
    await box.session(worker)
    begun = await box.attempts.offer(worker, Hello(boot_id="boot-1"))
    assert begun
    assert await box.attempts.offer(worker, Hello(boot_id="boot-1")) == begun
    await box.machines.rotate(worker, "s", "r", "anna")
    await box.session(worker)
    assert await box.attempts.offer(worker, Hello(boot_id="boot-1")) is None
    lost = await box.workflows.get(workflow)
    outcome = lost.actions[0].outcome
    assert outcome is not None
    assert (lost.state, outcome.reason) == (State.FAILED, "WorkerLost")
    assert "let only one worker run for this machine" in outcome.hint


async def guest(box: Appliance, number: int = 7, at: str = ELSEWHERE) -> tuple[str, str]:
    """The boot ticket and the session of a machine that nobody knows, and that told what it is."""
    box.neighbours[at] = mac(number)
    assert box.discovery.plan(pxe(number), Interface(mac=mac(number)), "eth1")
    ticket = box.discovery.credential(mac(number), "http://a", "a", at).token
    secret = await exchange(box, ticket, at=at)
    await box.discovery.told(mac(number), Told(boot_id="boot-1", inventory=what(number)))
    return ticket, secret


async def test_whoever_waits_in_discovery_does_not_become_the_machine_that_is_pushed(box: Appliance) -> None:
    ticket, secret = await guest(box)
    await box.machine(7)
    with pytest.raises(Denied):
        box.machines.sessions.authenticate(secret, "", ELSEWHERE)
    with pytest.raises(Forbidden, match="is known now"):
        await exchange(box, ticket, at=ELSEWHERE)
    (told,) = await seen(box, Stage.TICKET_REFUSED, 7)
    assert told.facts["why"] == TicketRefusal.KNOWN_NOW


async def test_whoever_a_person_accepts_goes_on_with_the_session_it_has(box: Appliance) -> None:
    ticket, secret = await guest(box)
    with pytest.raises(Denied, match="not accepted"):
        whose(box, secret, at=ELSEWHERE)
    enrolled = await box.discovery.accept(mac(7))
    assert whose(box, secret, at=ELSEWHERE) == enrolled.hardware.id
    assert await exchange(box, ticket, at=ELSEWHERE, instance="1-again") == secret
    assert whose(box, secret, at=ELSEWHERE, instance="1-again") == enrolled.hardware.id


async def test_who_boots_in_the_name_of_one_that_waits_is_not_accepted_in_its_place(box: Appliance) -> None:
    await guest(box)
    box.machines.progress.saw(mac(7), Stage.DISCOVERY)
    other = box.discovery.credential(mac(7), "http://a", "a", ELSEWHERE).token
    secret = await exchange(box, other, at=ELSEWHERE, boot_id="another-boot")
    with pytest.raises(Conflict, match="booted again, and has not told"):
        await box.discovery.accept(mac(7))
    with pytest.raises(Denied):
        whose(box, secret, at=ELSEWHERE)
    await box.discovery.told(mac(7), Told(boot_id="another-boot", inventory=what(7)))
    assert whose(box, secret, at=ELSEWHERE) if (await box.discovery.accept(mac(7))) else False


async def test_a_discovery_ticket_counts_for_nothing_from_another_host(box: Appliance) -> None:
    assert box.discovery.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    box.neighbours[ELSEWHERE] = THIEF
    ticket = box.discovery.credential(mac(7), "http://a", "a", HERE).token
    with pytest.raises(Forbidden, match="another machine"):
        await exchange(box, ticket, at=ELSEWHERE)


async def test_a_machine_that_was_deleted_has_no_session_and_its_tickets_count_for_nothing(box: Appliance) -> None:
    worker = await box.machine(1)
    unused = (await box.machines.credential(worker, "s", "r", "ann")).token
    secret = await exchange(box, unused)
    later = (await box.machines.credential(worker, "s", "r", "ann")).token
    await box.machines.delete(worker)
    with pytest.raises(Denied):
        whose(box, secret)
    with pytest.raises(Denied):
        await exchange(box, later)
    await box.machine(1)
    with pytest.raises(Forbidden):
        await exchange(box, later)


async def test_a_credential_that_a_person_made_stands_on_the_timeline(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machines.credential(worker, "s", "r", "ann")
    (told,) = await seen(box, Stage.CREDENTIAL)
    assert (told.detail, told.facts["who"]) == ("by ann", "ann")
    (status,) = await box.machines.all()
    assert status.stage is None


async def test_ticket_of_another_appliance_is_told_of_the_machine_at_the_senders_address(box: Appliance) -> None:
    await box.machine(1)
    await box.machine(2)
    box.neighbours[HERE] = mac(1)
    ticket = BootTicket(kind=Kind.BY_HAND, holder=box.machines.known.holder(mac(2)), address=address(2), serial=1)
    for text in (Seal(b"another").sealed(ticket), boot_ticket(box)[:-4] + "wxyz", "nothing"):
        with pytest.raises(Denied, match="no boot ticket of this appliance: boot this machine again"):
            await exchange(box, text)
    (told,) = await seen(box, Stage.TICKET_REFUSED)
    assert (told.facts["why"], told.facts["address"], told.facts["neighbour"]) == (
        TicketRefusal.UNREADABLE,
        HERE,
        mac(1),
    )
    assert await seen(box, Stage.TICKET_REFUSED, 2) == [], "what the ticket says of itself counts for nothing"


async def test_ticket_of_another_appliance_from_an_unknown_host_is_told_of_no_machine(box: Appliance) -> None:
    await box.machine(1)
    box.neighbours[ELSEWHERE] = THIEF
    with pytest.raises(Denied):
        await exchange(
            box, Seal(b"another").sealed(BootTicket(kind=Kind.BOOT, holder="x", address=HERE, serial=1)), at=ELSEWHERE
        )
    assert await seen(box, Stage.TICKET_REFUSED) == []
    assert box.machines.timeline.newest(THIEF) is None


async def test_ticket_of_another_appliance_from_another_host_at_the_address_counts_for_no_boot(box: Appliance) -> None:
    await box.machine(1)
    box.neighbours[HERE] = THIEF
    with pytest.raises(Denied):
        await exchange(box, "nothing")
    (told,) = await seen(box, Stage.TICKET_REFUSED)
    assert (told.facts[OTHER_HOST], told.facts["neighbour"]) == (THIEF, THIEF)
