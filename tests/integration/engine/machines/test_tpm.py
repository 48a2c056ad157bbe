"""The TPM of a machine: the same one in each boot, proven; the first one accepted by itself or by a person."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, Clock, appliance, mac
from tests.integration.engine.discovery.test_discovery import pxe, what
from tests.integration.engine.machines.test_sessions import ELSEWHERE, HERE, boot_ticket, boots, seen
from tests.tpm import SoftwareTpm, software_tpm
from tests.workers import opening
from tinkbox.engine.machines.sessions import CHALLENGES
from tinkbox.engine.machines.tpm_challenges import fingerprint
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Forbidden, Invalid, TooMany
from tinkbox.model.hardware import Interface
from tinkbox.model.session import TicketRefusal, TpmRule
from tinkbox.wire.messages.inventory import Told
from tinkbox.wire.messages.session import Challenge, Opening

WHO = "anna"


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Appliance]:
    """One that takes only TPMs that a person accepted."""
    async with appliance(tmp_path / "strict.db", tpm_rule=TpmRule.ACCEPTED) as box:
        yield box


@pytest.fixture(scope="module")
def chips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SoftwareTpm, SoftwareTpm]]:
    folder = tmp_path_factory.mktemp("tpms")
    with software_tpm(folder / "one") as one, software_tpm(folder / "two") as two:
        yield one, two


async def fingerprint_of(chip: SoftwareTpm) -> str:
    told = await chip.worker.shown_in(opening("any"))
    assert told.tpm is not None
    return fingerprint(told.tpm.endorsement_key)


async def begin(box: Appliance, ticket: str, chip: SoftwareTpm | None, at: str = HERE) -> Opening:
    """Begin as a worker on a machine with this TPM does; returns the opening that counted."""
    told = opening(ticket, instance="")
    if chip is None:
        await box.machines.sessions.exchange(ticket, replace(told, no_tpm="there is none"), at)
        return told
    worker = chip.worker
    told = await worker.shown_in(told)
    answer = await box.machines.sessions.exchange(ticket, told, at)
    if isinstance(answer, Challenge):
        told = await worker.proven_in(told, answer)
        assert isinstance(await box.machines.sessions.exchange(ticket, told, at), str)
    return told


async def boot(box: Appliance, chip: SoftwareTpm | None) -> Opening:
    boots(box)
    return await begin(box, boot_ticket(box), chip)


async def refused_why(box: Appliance) -> tuple[object, object]:
    *_, newest = await seen(box, Stage.TICKET_REFUSED)
    return newest.facts["why"], newest.facts.get("tpm")


async def test_the_first_tpm_that_a_machine_shows_is_the_one_that_it_shows_from_then_on(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    own, other = [await fingerprint_of(each) for each in chips]
    await boot(box, chips[0])
    status = await box.machines.get(worker)
    assert (status.tpm, status.tpm_accepted) == (own, own)
    await boot(box, chips[0])
    *_, begun = await seen(box, Stage.SESSION)
    assert begun.facts["tpm"] == own
    assert f"TPM {own[:16]}" in begun.detail
    with pytest.raises(Forbidden, match="not the one that was accepted"):
        await boot(box, chips[1])
    assert await refused_why(box) == (TicketRefusal.OTHER_TPM, other)
    with pytest.raises(Forbidden, match="showed no TPM"):
        await boot(box, None)
    *_, newest = await seen(box, Stage.TICKET_REFUSED)
    assert (newest.facts["why"], newest.facts["no_tpm"]) == (TicketRefusal.NO_TPM, "there is none")
    await boot(box, chips[0])


async def test_a_host_with_a_tpm_shuts_no_machine_out_that_works_without_one(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    await boot(box, None)
    with pytest.raises(Forbidden, match="was not accepted yet"):
        await boot(box, chips[0])
    await boot(box, None)
    # It was switched on since, and a person knows that.
    await box.machines.accept_tpm(worker, "", WHO)
    await boot(box, chips[0])
    assert (await box.machines.get(worker)).tpm_accepted == await fingerprint_of(chips[0])


async def test_a_worker_of_a_release_that_shows_no_tpm_is_no_machine_without_one(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    await box.machines.sessions.exchange(ticket, opening(ticket, instance=""), HERE)
    await boot(box, chips[0])
    assert (await box.machines.get(worker)).tpm_accepted == await fingerprint_of(chips[0])


async def test_what_a_ticket_that_counts_for_nothing_says_of_a_tpm_is_not_noted(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    shown = await chips[0].worker.shown_in(opening(ticket, instance=""))
    await box.machines.rotate(worker, "s", "r", WHO)
    assert shown.tpm is not None
    with pytest.raises(Forbidden, match="it is void"):
        await box.machines.sessions.exchange(ticket, replace(shown, tpm=replace(shown.tpm, proof=b"g" * 32)), HERE)
    assert await refused_why(box) == (TicketRefusal.VOID, None)


async def test_a_refused_boot_goes_on_with_the_same_ticket_once_a_person_accepts_its_tpm(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    other = await fingerprint_of(chips[1])
    await boot(box, chips[0])
    boots(box)
    ticket = boot_ticket(box)
    with pytest.raises(Forbidden, match="not the one"):
        await begin(box, ticket, chips[1])
    await box.machines.accept_tpm(worker, f" {other.upper()}\n", WHO)
    await begin(box, ticket, chips[1])
    assert (await box.machines.get(worker)).tpm_accepted == other
    (decided,) = await seen(box, Stage.TPM_DECIDED)
    assert (decided.facts["tpm"], decided.detail) == (other, f"{other[:16]}, by {WHO}")
    with pytest.raises(Forbidden):
        await boot(box, chips[0])


async def test_after_it_is_forgotten_the_next_tpm_counts_as_the_first(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    await boot(box, chips[0])
    await box.machines.accept_tpm(worker, "", WHO)
    await boot(box, chips[1])
    assert (await box.machines.get(worker)).tpm_accepted == await fingerprint_of(chips[1])


async def test_a_tpm_can_be_accepted_before_the_machine_was_ever_seen(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    await box.machines.accept_tpm(worker, await fingerprint_of(chips[0]), WHO)
    assert (await box.machines.get(worker)).stage is None, "a decision is nowhere that a machine is"
    with pytest.raises(Forbidden, match="not the one"):
        await boot(box, chips[1])
    await boot(box, chips[0])


@pytest.mark.parametrize("text", ["x", "a" * 63, "g" * 64, "a" * 65, "ä" * 64])
async def test_what_is_no_fingerprint_is_refused_with_what_it_is(box: Appliance, text: str) -> None:
    worker = await box.machine(1)
    with pytest.raises(Invalid, match="SHA-256 of its endorsement key"):
        await box.machines.accept_tpm(worker, text, WHO)


async def test_a_rule_can_take_only_tpms_that_a_person_accepted(
    strict: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    box = strict
    worker = await box.machine(1)
    own = await fingerprint_of(chips[0])
    with pytest.raises(Forbidden, match="was not accepted yet"):
        await boot(box, chips[0])
    assert await refused_why(box) == (TicketRefusal.NEW_TPM, own)
    with pytest.raises(Forbidden, match="showed no TPM"):
        await boot(box, None)
    await box.machines.accept_tpm(worker, own, WHO)
    await boot(box, chips[0])


async def test_nobody_is_asked_for_a_tpm_with_a_credential_by_hand(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    worker = await box.machine(1)
    await boot(box, chips[0])
    for chip in (chips[1], None):
        await begin(box, (await box.machines.credential(worker, "s", "r", "ann")).token, chip)
    assert (await box.machines.get(worker)).tpm == ""
    with pytest.raises(Forbidden):
        await boot(box, None)


async def test_nobody_is_asked_for_a_tpm_where_that_is_off_and_what_was_accepted_is_kept(
    tmp_path: Path, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    path, numbers, clock = tmp_path / "store.db", count(1), Clock()
    async with appliance(path, clock, numbers) as before:
        worker = await before.machine(1)
        await boot(before, chips[0])
    async with appliance(path, clock, numbers, TpmRule.OFF) as off:
        await boot(off, chips[1])
        await boot(off, None)
    async with appliance(path, clock, numbers) as after:
        assert (await after.machines.get(worker)).tpm_accepted == await fingerprint_of(chips[0])
        with pytest.raises(Forbidden):
            await boot(after, chips[1])


async def test_who_shows_another_machines_tpm_cannot_prove_it(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    await box.machine(1)
    await boot(box, chips[0])
    boots(box)
    ticket = boot_ticket(box)
    shown = await chips[0].worker.shown_in(opening(ticket, instance=""))
    challenge = await box.machines.sessions.exchange(ticket, shown, HERE)
    assert isinstance(challenge, Challenge)
    assert (await chips[1].worker.proven_in(shown, challenge)).tpm is None
    assert shown.tpm is not None
    with pytest.raises(Forbidden, match="could not prove"):
        await box.machines.sessions.exchange(ticket, replace(shown, tpm=replace(shown.tpm, proof=b"g" * 32)), HERE)
    assert (await refused_why(box))[0] == TicketRefusal.UNPROVEN_TPM
    # The machine itself is not hurt.
    await begin(box, ticket, chips[0])


async def test_challenges_without_end_are_not_made(box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]) -> None:
    await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    shown = await chips[0].worker.shown_in(opening(ticket, instance=""))
    for _ in range(CHALLENGES.burst):
        await box.machines.sessions.exchange(ticket, shown, HERE)
    with pytest.raises(TooMany):
        await box.machines.sessions.exchange(ticket, shown, HERE)
    box.clock.forward(60)
    await begin(box, ticket, chips[0])


async def test_a_proof_counts_for_one_session_of_one_ticket(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    await box.machine(1)
    used = await boot(box, chips[0])
    boots(box)
    ticket = boot_ticket(box)
    for replayed in (used, replace(used, secret="x" * 43), replace(used, secret=opening(ticket).secret)):
        with pytest.raises(Forbidden):
            await box.machines.sessions.exchange(ticket, replayed, HERE)


async def test_who_reads_a_proof_on_the_wire_gets_no_session_of_his_own_for_it(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    await box.machine(1)
    boots(box)
    ticket, worker = boot_ticket(box), chips[0].worker
    shown = await worker.shown_in(opening(ticket, instance=""))
    challenge = await box.machines.sessions.exchange(ticket, shown, HERE)
    assert isinstance(challenge, Challenge)
    proven = await worker.proven_in(shown, challenge)
    with pytest.raises(Forbidden, match="could not prove"):
        await box.machines.sessions.exchange(ticket, replace(proven, secret="t" * 43), HERE)
    assert isinstance(await box.machines.sessions.exchange(ticket, proven, HERE), str)


async def test_the_same_worker_begins_again_with_its_session_and_its_tpm(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    await box.machine(1)
    boots(box)
    ticket = boot_ticket(box)
    first = await begin(box, ticket, chips[0])
    again = replace(first, instance="2-two")
    assert isinstance(await box.machines.sessions.exchange(ticket, again, HERE), str)
    session = box.machines.sessions.of(box.machines.known.holder(mac(1)))
    assert session is not None
    assert (session.tpm, session.instance) == (await fingerprint_of(chips[0]), "2-two")


async def test_who_accepts_an_unknown_machine_accepts_its_tpm(
    box: Appliance, chips: tuple[SoftwareTpm, SoftwareTpm]
) -> None:
    box.neighbours[ELSEWHERE] = mac(7)
    assert box.discovery.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    ticket = box.discovery.credential(mac(7), "http://a", "a", ELSEWHERE).token
    await begin(box, ticket, chips[0], ELSEWHERE)
    await box.discovery.told(mac(7), Told(boot_id="boot-1", inventory=what(7)))
    enrolled = await box.discovery.accept(mac(7))
    status = await box.machines.get(enrolled.hardware.id)
    assert status.tpm_accepted == await fingerprint_of(chips[0])
