"""Where the operator door tells what the doctor's rounds found."""

from dataclasses import replace

from tests.integration.api.door import Door
from tests.integration.api.test_scopes import Rack, rack
from tests.integration.engine.appliance import mac
from tinkbox import __version__
from tinkbox.engine.doctor.rounds import MOST
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.wire.messages.status import Snapshot, decode_snapshot

__all__ = ["rack"]
DISK = Diagnosis(
    rule="DiskNearlyFull",
    gravity=Gravity.FAULT,
    cause="The disk of the data folder is nearly full.",
    evidence=("3 MiB are free",),
    remedy="Free room.",
)
LOADER = Diagnosis(
    rule="SilentLoader",
    gravity=Gravity.SUSPECT,
    cause="The machine is silent since it got its boot loader.",
    evidence=("seen",),
    remedy="Look at its screen.",
    machine=mac(1),
)


async def status(door: Door, place: str) -> Snapshot:
    async with door.local.get(f"http://tinkbox/v1/status?after={place}") as response:
        return decode_snapshot(await response.read())


async def go(door: Door) -> None:
    await door.rounds.round()
    door.box.diagnoses = door.rounds.of_machines()


async def test_the_appliances_own_are_in_the_status_with_since_and_remedy(door: Door) -> None:
    door.found += [DISK, LOADER]
    await door.rounds.round()
    health = (await status(door, "")).health
    assert health.faults == ("DiskNearlyFull",)
    (told,) = health.conditions
    assert (told.rule, told.gravity, told.since, told.cause, told.remedy) == (
        "DiskNearlyFull", Gravity.FAULT, door.box.clock(), DISK.cause, DISK.remedy,
    )  # fmt: skip


async def test_a_machines_line_has_the_cause_as_long_as_it_lasts(door: Door) -> None:
    for number in (1, 2):
        await door.box.machine(number)
    first = await status(door, "")
    assert [each.diagnosis for each in first.machines] == ["", ""]
    door.found.append(LOADER)
    await go(door)
    second = await status(door, first.place)
    assert [(each.mac, each.diagnosis) for each in second.machines] == [(mac(1), LOADER.cause)]
    await go(door)
    assert (await status(door, second.place)).machines == (), "nothing changed"
    door.found.clear()
    for _ in range(2):
        await go(door)
    assert [each.diagnosis for each in (await status(door, second.place)).machines] == [""]


async def test_healthz_tells_all_of_it_to_those_who_ask(door: Door) -> None:
    door.found += [replace(DISK, subject="/data"), LOADER]
    await door.rounds.round()
    assert set(await door.done("GET", "/healthz")) == {"version", "status"}
    for query in ("?verbose", "?verbose=1"):
        told = (await door.done("GET", f"/healthz{query}"))["conditions"]
        assert [(each["rule"], each["gravity"], each["machine"]) for each in told] == [
            ("DiskNearlyFull", "fault", ""),
            ("SilentLoader", "suspect", mac(1)),
        ]
        assert told[0]["evidence"] == ["3 MiB are free"]
        assert [each["subject"] for each in told] == ["/data", ""]
        assert told[0]["since"] == door.box.clock().isoformat()


async def test_healthz_tells_a_token_with_a_scope_that_the_appliance_answers_and_nothing_of_its_health(
    rack: Rack,
) -> None:
    rack.door.found += [DISK, LOADER]
    await rack.door.rounds.round()
    assert await rack.done("GET", "/healthz") == {"version": __version__, "status": "ok"}
    for query in ("?verbose", "?verbose=1", "?verbose="):
        status, problem = await rack.ask("GET", f"/healthz{query}")
        assert status == 403
        assert problem["detail"] == (
            "of-rack-r1 has the scope rack=r1, and `verbose` tells of all machines and the appliance: leave it out to learn "
            "whether that answers, and `tinkbox doctor` (/v1/doctor) examines the machines with these labels"
        )


async def test_metrics_have_a_number_for_each_rule(door: Door) -> None:
    door.found.append(DISK)
    await door.rounds.round()
    async with door.local.get("http://tinkbox/metrics") as response:
        page = (await response.text()).splitlines()
    assert 'tinkbox_condition{rule="DiskNearlyFull",gravity="fault"} 1' in page
    assert 'tinkbox_condition{rule="NoOsie",gravity="fault"} 0' in page


async def test_metrics_count_those_that_are_not_listed(door: Door) -> None:
    door.found += [replace(LOADER, machine=f"08:00:28:00:{each >> 8:02x}:{each & 255:02x}") for each in range(MOST + 9)]
    await door.rounds.round()
    async with door.local.get("http://tinkbox/metrics") as response:
        page = (await response.text()).splitlines()
    assert f'tinkbox_condition{{rule="SilentLoader",gravity="suspect"}} {MOST + 9}' in page
    told = (await door.done("GET", "/healthz?verbose"))["conditions"]
    assert (len(told), told[0]["rule"]) == (MOST + 1, "NotAllKept")
    assert told[0]["cause"] == "9 more machines or workflows have SilentLoader than are listed."
