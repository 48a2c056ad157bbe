"""What `tinkbox install` says when it cannot be done: the reason, and what to do."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo.appliance import ApplianceFailed
from tests import rotation
from tests.machine.installing import GIB, Site, second_disk, site, token_on
from tests.machine.lab import hostname, mac, neighbour, until
from tests.system_images import system_image
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, pytest.mark.timeout(2400)]
NO_SYSTEM = "no-system"
# Of those that take a boot of the OSIE and no first boot, a run takes one: beside the demo, which installs, that is enough.
SHORT = NO_PHONE_HOME, NO_DISK, NO_IMAGE = "no phone-home", "no disk", "no image"


@pytest.fixture(scope="module")
def home() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.fixture
def nothing(home: Site, tmp_path: Path) -> Site:
    """With a system image that is small and boots nothing, but wants a disk like another."""
    archive = tmp_path / "image.tar"
    system_image(archive, NO_SYSTEM)
    home.lab.load(archive)
    return home


@rotation.mark(NO_PHONE_HOME, SHORT)
def test_a_disk_without_a_system_never_phones_home(nothing: Site) -> None:
    number = 1
    nothing.lab.push(number)
    parameters = {"device_1": mac(number), "image": NO_SYSTEM, "disk": "only", "seed": "none", "boot_timeout": "30"}
    with nothing.machine(number, memory=1536) as machine:
        workflow = nothing.creates(parameters)
        machine.power_on()
        ended = nothing.lab.ended(workflow)
    assert ended.state is State.FAILED
    told = nothing.lab.appliance.command("workflow", "state", workflow)
    assert "NeverPhonedHome" in told
    assert f"workflow retry {workflow[:8]} --from ACTION" in told


@rotation.mark(NO_DISK, SHORT)
def test_a_disk_that_cannot_be_the_right_one_is_refused_and_stays_as_it_is(nothing: Site) -> None:
    number = 11
    nothing.lab.push(number)
    right, more = second_disk(nothing.lab.work, "right", 4 * GIB)
    small, also = second_disk(nothing.lab.work, "small", GIB)
    command = nothing.begins(NO_SYSTEM, number)
    with nothing.machine(number, memory=1536, extra=(*more, *also), disk_size=4 * GIB) as machine:
        machine.power_on()
        refused = nothing.fails(command, machine)
        assert "DiskAmbiguous" in refused
        assert all(name in refused for name in ("/dev/vda", "/dev/vdb", "/dev/vdc", "right", "small")), refused
        assert "serial=" in refused

        # The worker is there and waits: no boot is needed for the next.
        refused = nothing.fails(nothing.begins(NO_SYSTEM, number, "--disk", "serial=small"), machine)
        assert "DiskTooSmall" in refused
        assert "use a larger disk" in refused
        refused = nothing.fails(nothing.begins(NO_SYSTEM, number, "--disk", "serial=none"), machine)
        assert "NoSuchDisk" in refused
    # Nothing was ever written: the files have no block.
    assert [each.stat().st_blocks for each in (machine.disk, right, small)] == [0, 0, 0]


@rotation.mark(NO_IMAGE, SHORT)
def test_an_image_that_is_not_there_is_named_and_one_that_is_needed_stays(nothing: Site) -> None:
    number = 21
    nothing.lab.push(number)
    waits = nothing.begins(NO_SYSTEM, number)
    needed = rf"\({nothing.workflow(waits)[:8]} of template \S+\) is not over and needs {NO_SYSTEM} "
    with pytest.raises(ApplianceFailed, match=needed):
        nothing.forget(NO_SYSTEM)
    nothing.lab.appliance.command("workflow", "cancel", nothing.workflow(waits))
    nothing.over(waits, None)
    refused = nothing.fails(nothing.begins("nothing", number))
    assert "no system image 'nothing' is kept here" in refused
    # A workflow made by hand names an image that only its machine can ask for.
    workflow = nothing.creates({"device_1": mac(number), "image": "nothing", "disk": "only", "seed": "none"})
    with nothing.machine(number, memory=1536) as machine:
        machine.power_on()
        assert nothing.lab.ended(workflow).state is State.FAILED
    told = nothing.lab.appliance.command("workflow", "state", workflow)
    assert "ImageNotFound" in told
    assert "image fetch nothing" in " ".join(told.split())
    assert machine.disk.stat().st_blocks == 0


@pytest.mark.campaign
def test_a_token_that_another_machine_shows_is_refused_and_both_are_told_of_it(home: Site) -> None:
    """The token of a machine of several disks, of which one is named."""
    number = 31
    home.add("debian-13")
    home.lab.push(number)
    right, more = second_disk(home.lab.work, "the-right", 4 * GIB)
    command = home.begins("debian-13", number, "--disk", "serial=the-right")
    with home.machine(number, extra=more) as machine:
        machine.power_on()
        until(lambda: "is on /dev/" in home.logs(home.workflow(command)), "the image on its disk")
    home.lab.appliance.command("workflow", "cancel", home.workflow(command))
    home.over(command, None)
    # The other one has no block: nothing was ever written there.
    assert machine.disk.stat().st_blocks == 0
    assert right.stat().st_blocks > 0
    home.lab.push(number + 1)
    with neighbour(home.lab, number + 1) as other:
        assert other.ask(f"/metadata/{token_on(right)}/user-data").status == 403
    assert any(Stage.METADATA_REFUSED in each for each in home.timeline(number + 1))
    assert any(Stage.METADATA_STOLEN in each for each in home.timeline(number))


@pytest.mark.campaign
def test_a_module_of_cloud_init_that_fails_is_named(home: Site, tmp_path: Path) -> None:
    number = 41
    home.add("debian-13")
    home.lab.push(number)
    user_data = tmp_path / "user-data"
    user_data.write_text("#cloud-config\nruncmd: [[sh, -c, 'exit 1']]\n")
    command = home.begins("debian-13", number, "--user-data", user_data)
    with home.machine(number) as machine:
        machine.power_on()
        refused = home.fails(command, machine)
        assert "CloudInitFailed" in refused
        assert re.search("scripts.user", refused)
        assert "/var/log/cloud-init-output.log" in refused
        assert home.on(number, "hostname") == hostname(number)


@pytest.mark.campaign
def test_a_system_without_network_never_phones_home(home: Site) -> None:
    number = 51
    home.add("debian-13")
    home.lab.push(number)
    user_data = (
        "#cloud-config\nbootcmd: [[sh, -c, 'for card in /sys/class/net/e*; do ip link set ${card##*/} down; done']]\n"
    )
    parameters = {"device_1": mac(number), "image": "debian-13", "user_data": user_data, "boot_timeout": "150"}
    workflow = home.creates(parameters)
    with home.machine(number) as machine:
        machine.power_on()
        assert home.lab.ended(workflow).state is State.FAILED
    told = home.lab.appliance.command("workflow", "state", workflow)
    assert "NeverPhonedHome" in told
    assert "told to boot its disk" in told
