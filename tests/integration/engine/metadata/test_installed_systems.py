"""Who may have which metadata, and what is noted of it."""

import pytest

from tests.integration.engine.appliance import Appliance, address, mac
from tests.integration.engine.metadata.installing import going
from tinkbox.engine.metadata.installed_systems import ONCE_IN, client_name
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Forbidden, NotFound, TooMany

SERVER = "http://172.30.0.1"


async def test_a_token_opens_what_its_workflow_and_its_machine_are_told(box: Appliance) -> None:
    system = await going(box)
    told = await box.installed_systems.of_token(system.token, system.address, SERVER)
    assert (told.hostname, told.workflow_id, told.id) == (
        "node7",
        system.offer.workflow_id,
        f"{system.worker}-{system.offer.workflow_id}",
    )
    assert told.user_data.startswith("#cloud-config")
    assert told.url == f"{SERVER}{system.offer.metadata}"


async def test_a_token_is_the_same_for_every_action_and_another_for_every_workflow(box: Appliance) -> None:
    worker = await box.machine(1)
    tokens = []
    for _ in range(2):
        await box.workflow()
        while (offer := await box.offer(worker)) is not None:
            tokens.append(offer.metadata)
            await box.report(worker, offer)
    assert len(tokens) == 4
    assert len(set(tokens)) == 2


@pytest.mark.parametrize(
    "change",
    [lambda each: each[:-1], lambda each: each + "A", lambda each: "B" + each[1:], lambda _: "", lambda _: "é" * 64],
)  # type: ignore[misc]
async def test_a_forged_token_opens_nothing(box: Appliance, change: object) -> None:
    system = await going(box)
    assert callable(change)
    with pytest.raises(NotFound):
        await box.installed_systems.shown(change(system.token), system.address)


async def test_a_token_counts_for_a_while_after_the_end_of_its_workflow(box: Appliance) -> None:
    system = await going(box)
    await system.phone_home()
    box.clock.forward(86_399)
    await system.shown()
    box.clock.forward(2)
    with pytest.raises(NotFound):
        await system.shown()


async def test_a_token_counts_no_longer_once_a_newer_workflow_has_begun(box: Appliance) -> None:
    system = await going(box)
    await system.phone_home()
    await box.workflow()
    await system.shown()
    assert await box.offer(system.worker, "boot-2") is not None
    with pytest.raises(NotFound):
        await system.shown()


async def test_a_deleted_workflow_opens_nothing(box: Appliance) -> None:
    system = await going(box)
    await system.phone_home()
    await box.workflows.delete(system.offer.workflow_id)
    with pytest.raises(NotFound):
        await system.shown()


async def test_another_machine_that_shows_a_token_is_refused_and_both_are_told(box: Appliance) -> None:
    system = await going(box)
    await box.machine(2)
    for _ in range(3):
        with pytest.raises(Forbidden):
            await box.installed_systems.shown(system.token, address(2))
    ours = [each for each in await box.machines.timeline.of(mac(1)) if each.stage is Stage.METADATA_STOLEN]
    theirs = [each for each in await box.machines.timeline.of(mac(2)) if each.stage is Stage.METADATA_REFUSED]
    assert (len(ours), len(theirs)) == (1, 1)
    assert ours[0].detail.startswith("machine-2, 172.30.0.12: was its disk cloned")
    assert theirs[0].detail.startswith("of machine-1: was its disk cloned")


async def test_an_address_that_nobody_has_may_show_a_token(box: Appliance) -> None:
    system = await going(box)
    await box.installed_systems.shown(system.token, "10.9.9.9")


async def test_a_machine_is_known_by_its_address_where_no_other_host_is_seen(box: Appliance) -> None:
    system = await going(box)
    told = await box.installed_systems.of_address(address(1))
    assert (told.hardware.id, told.workflow_id, told.url) == (system.worker, system.offer.workflow_id, "")
    box.neighbours[address(1)] = mac(9)
    with pytest.raises(NotFound):
        await box.installed_systems.of_address(address(1))
    with pytest.raises(NotFound):
        await box.installed_systems.of_address("10.9.9.9")


async def test_what_is_asked_for_is_noted_once_in_a_boot(box: Appliance) -> None:
    hardware = (await box.machines.get(await box.machine(1))).hardware
    note = box.installed_systems.note
    for _ in range(3):
        note(hardware, "user-data", "Cloud-Init/25.1.4", address(1))
        note(hardware, "meta-data", "", address(1))
    noted = [each.detail for each in await box.machines.timeline.of(mac(1))]
    assert noted == ["user-data, cloud-init 25.1.4", "meta-data"]
    box.clock.forward(5)
    box.booting.saw(mac(1), Stage.DISK_BOOTED)
    note(hardware, "user-data", "Cloud-Init/25.1.4", address(1))
    box.clock.forward(ONCE_IN.total_seconds())
    note(hardware, "user-data", "Cloud-Init/25.1.4", address(1))
    assert len(await box.machines.timeline.of(mac(1))) == 5


async def test_who_asks_without_end_is_told_to_wait(box: Appliance) -> None:
    system = await going(box)
    for _ in range(400):
        await system.shown()
    with pytest.raises(TooMany):
        await system.shown()


async def test_what_a_system_tells_without_end_costs_the_timeline_no_boot(box: Appliance) -> None:
    system = await going(box)
    box.booting.saw(mac(1), Stage.SCRIPT)
    for number in range(300):
        await system.report(f"modules-final/config-{number}", "FAIL", "no")
    await box.machines.progress.save()
    stages = [each.stage for each in await box.machines.timeline.of(mac(1))]
    assert Stage.SCRIPT in stages
    assert stages.count(Stage.CLOUD_INIT) == 120
    assert len(await box.workflows.events(system.offer.workflow_id)) < 40


def test_a_clients_name_is_for_people_and_short() -> None:
    assert client_name("Cloud-Init/22.4.2") == "cloud-init 22.4.2"
    assert client_name("curl/8.1 (x)") == "curl/8.1 (x)"
    assert len(client_name("x" * 1000)) <= 40
    assert client_name("") == ""
