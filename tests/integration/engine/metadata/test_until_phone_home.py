"""Actions that wait for the installed system: `until: phone-home`."""

from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tests.integration.engine.metadata.installing import INSTALL, KEYS, UP, Installed, going
from tinkbox.engine.rules.first_boot import SETTLING
from tinkbox.model.boot import Boot, Stage
from tinkbox.model.errors import Denied
from tinkbox.model.reasons import Reason

SETTLED = SETTLING.total_seconds()


def netboot(box: Appliance) -> Boot | None:
    plan = box.dhcp_plan(1)
    return plan.boot if plan else None


async def test_a_boot_that_is_seen_ends_the_session_and_nothing_else(box: Appliance) -> None:
    worker = await box.machine(1)
    secret = await box.session(worker)
    system = await going(box)
    assert netboot(box) is Boot.LOCAL_DISK
    await box.is_back(1)
    assert await system.states() == ["RUNNING", "SUCCESS", "LEAVING"]
    with pytest.raises(Denied):
        box.machines.authenticate(secret, "", "127.0.0.1")
    for _ in range(2):
        assert netboot(box) is Boot.LOCAL_DISK, "however often it boots"
        await box.is_back(1)


@pytest.mark.parametrize("seen", [True, False], ids=["seen booting", "never seen booting"])
async def test_phoning_home_completes_it_with_address_and_host_key(box: Appliance, seen: bool) -> None:
    system = await going(box)
    if seen:
        await box.is_back(1)
    await system.phone_home()
    assert await system.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]
    assert (await system.outcome())[1] == UP
    assert netboot(box) is Boot.LOCAL_DISK
    stages = [(each.stage, each.detail) for each in await box.machines.timeline.of(mac(1))]
    assert (Stage.PHONED_HOME, UP) in stages
    events = [
        each for each in await box.workflows.events(system.offer.workflow_id) if each.kind == "machine.phoned-home"
    ]
    assert [each.data["message"] for each in events] == [UP]


async def test_phoning_home_again_changes_nothing(box: Appliance) -> None:
    system = await going(box)
    for _ in range(3):
        await system.phone_home()
        box.clock.forward(60)
    kinds = [each.kind for each in await box.workflows.events(system.offer.workflow_id)]
    assert kinds.count("machine.phoned-home") == 1
    assert [each.stage for each in await box.machines.timeline.of(mac(1))].count(Stage.PHONED_HOME) == 1


async def test_a_system_that_reports_is_waited_for_until_its_last_report(box: Appliance) -> None:
    system = await going(box)
    await system.report("modules-final", ended=False)
    await system.phone_home()
    assert await system.states() == ["RUNNING", "SUCCESS", "LEAVING"]
    await system.report("modules-final")
    assert await system.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]


async def test_its_last_report_is_not_waited_for_longer_than_a_moment(box: Appliance) -> None:
    system = await going(box)
    await system.report("init-network")
    await system.phone_home()
    box.clock.forward(SETTLED - 1)
    await box.deadlines.look()
    assert await system.states() == ["RUNNING", "SUCCESS", "LEAVING"]
    box.clock.forward(1)
    await box.deadlines.look()
    assert await system.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]
    assert (await system.outcome())[1] == UP


async def test_a_failed_module_fails_the_action_with_its_name_and_that_the_system_is_up(box: Appliance) -> None:
    system = await going(box)
    await system.report("modules-config/config-locale", "WARN", "odd locale")
    await system.report("modules-final/config-scripts_user", "FAIL", "running config-scripts_user")
    await system.phone_home()
    await system.report("modules-final", "FAIL", "1 failed modules: scripts_user")
    reason, message = await system.outcome()
    assert reason == Reason.CLOUD_INIT_FAILED
    assert message == f"cloud-init failed in scripts_user (modules-final): 'running config-scripts_user'; {UP}"
    details = [each.detail for each in await box.machines.timeline.of(mac(1)) if each.stage is Stage.CLOUD_INIT]
    assert "scripts_user (modules-final) failed: running config-scripts_user" in details
    told = [each for each in await box.machines.timeline.of(mac(1)) if each.stage is Stage.CLOUD_INIT]
    assert {each.facts["workflow"] for each in told} == {system.offer.workflow_id}


async def test_a_system_whose_host_keys_are_empty_files_is_not_called_well(box: Appliance) -> None:
    system = await going(box)
    await system.report("modules-config")
    await system.phone_home(lost=True)
    await system.report("modules-final")
    reason, message = await system.outcome()
    assert reason == Reason.CLOUD_INIT_FAILED
    assert message.startswith(
        "cloud-init failed in ssh (init-network): 'its host keys are empty files, so you cannot log in"
    )


async def test_a_system_whose_cloud_init_ends_without_a_phone_home_is_up_as_well(box: Appliance) -> None:
    system = await going(box)
    await system.report("modules-final")
    assert await system.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]
    assert (await system.outcome())[1] == "machine-1 is up at 172.30.0.11; it told no host key"


async def test_a_system_that_never_phones_home_fails_with_how_far_it_came(box: Appliance) -> None:
    system = await going(box)
    box.booting.saw(mac(1), Stage.LOCAL_DISK)
    await box.machines.progress.save()
    box.clock.forward(301)
    await box.deadlines.look()
    reason, message = await system.outcome()
    assert reason == Reason.NEVER_PHONED_HOME
    assert "told to boot its disk at 03:00:00 UTC" in message
    assert "300 seconds" in message


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (None, "not seen booting"),
        (Stage.DISK_BOOTED, "never for its metadata"),
        (Stage.METADATA, "asked for 'user-data' at"),
        (Stage.CLOUD_INIT, "was 'user-data' at"),
    ],
)
async def test_the_reason_says_where_to_look(box: Appliance, stage: Stage | None, words: str) -> None:
    system = await going(box)
    if stage is not None:
        box.booting.saw(mac(1), stage, "user-data")
        await box.machines.progress.save()
    box.clock.forward(301)
    await box.deadlines.look()
    assert words in (await system.outcome())[1]


async def test_a_machine_that_boots_the_osie_again_has_failed(box: Appliance) -> None:
    system = await going(box)
    assert await box.offer(system.worker, "boot-2") is None
    assert await system.states() == ["FAILED", "SUCCESS", "FAILED"]
    assert (await system.outcome())[0] == Reason.NEVER_PHONED_HOME


async def test_a_retry_waits_for_the_new_system_and_not_for_what_the_old_one_told(box: Appliance) -> None:
    system = await going(box)
    await system.report("modules-final/config-ntp", "FAIL", "no")
    await system.report("modules-final", "FAIL")
    assert await system.states() == ["FAILED", "SUCCESS", "FAILED"]
    await box.workflows.retry(system.offer.workflow_id, "image")
    for _ in range(2):
        offer = await box.offer(system.worker, "boot-2")
        assert offer is not None
        if not offer.action.spec.reboot:
            await box.report(system.worker, offer, boot_id="boot-2")
    await box.leave(system.worker, offer, "boot-2")
    again = Installed(box, offer, system.worker)
    assert again.token == system.token
    assert await again.states() == ["RUNNING", "SUCCESS", "LEAVING"]
    await again.phone_home()
    assert await again.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]


async def test_another_workflow_of_the_machine_waits_behind_the_first_boot(box: Appliance) -> None:
    system = await going(box)
    await box.workflow(INSTALL)
    assert netboot(box) is Boot.LOCAL_DISK
    await system.phone_home()
    assert netboot(box) is Boot.OSIE


async def test_a_restart_in_between_loses_nothing(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        system = await going(box)
        await system.report("modules-config/config-ntp", "FAIL", "no")
        await system.phone_home()
        offer, worker, now = system.offer, system.worker, box.clock
    async with appliance(tmp_path / "db", now) as box:
        system = Installed(box, offer, worker)
        assert netboot(box) is Boot.LOCAL_DISK
        box.clock.forward(SETTLED)
        await box.deadlines.look()
        reason, message = await system.outcome()
        assert (reason, "ntp" in message, KEYS[0].fingerprint in message) == (Reason.CLOUD_INIT_FAILED, True, True)


async def test_what_a_system_tells_of_a_workflow_that_is_over_is_noted_and_changes_nothing(box: Appliance) -> None:
    system = await going(box)
    await box.workflows.cancel(system.offer.workflow_id)
    assert netboot(box) is Boot.LOCAL_DISK
    await system.phone_home()
    assert (await system.states())[0] == "CANCELED"
    assert Stage.PHONED_HOME in [each.stage for each in await box.machines.timeline.of(mac(1))]


async def test_a_retry_succeeds_at_once_where_the_system_phoned_home_too_late(box: Appliance) -> None:
    system = await going(box)
    box.clock.forward(301)
    await box.deadlines.look()
    assert await system.states() == ["FAILED", "SUCCESS", "FAILED"]
    await system.phone_home()
    await box.workflows.retry(system.offer.workflow_id)
    assert await system.states() == ["SUCCESS", "SUCCESS", "SUCCESS"]
    assert (await system.outcome())[1] == UP
    assert netboot(box) is Boot.LOCAL_DISK
    offer = await box.workflow(INSTALL) and await box.offer(system.worker, "boot-2")
    assert offer is not None, "its worker goes on with the next workflow"


async def test_a_retry_that_writes_the_image_anew_forgets_that_the_old_system_phoned_home(box: Appliance) -> None:
    system = await going(box)
    box.clock.forward(301)
    await box.deadlines.look()
    await system.phone_home()
    workflow = system.offer.workflow_id
    await box.workflows.retry(workflow, "image")
    offer = await box.offer(system.worker, "boot-2")
    assert offer is not None
    await box.report(system.worker, offer, boot_id="boot-2")
    await box.workflows.cancel(workflow)
    await box.workflows.retry(workflow)
    assert (await system.states())[0] == "PENDING"


@pytest.mark.parametrize("told", ["nothing", "a failure"])
async def test_a_machine_boots_its_disk_after_a_first_boot_that_failed_and_the_osie_after_a_retry(
    box: Appliance, told: str
) -> None:
    system = await going(box)
    if told == "a failure":
        await system.report("modules-final/config-scripts_user", "FAIL", "no")
        await system.report("modules-final", "FAIL", "no")
    box.clock.forward(301)
    await box.deadlines.look()
    assert await system.states() == ["FAILED", "SUCCESS", "FAILED"]
    assert netboot(box) is Boot.LOCAL_DISK
    await box.workflows.retry(system.offer.workflow_id, "image")
    assert netboot(box) is Boot.OSIE
