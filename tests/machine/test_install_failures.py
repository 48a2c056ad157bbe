"""What `tinkbox install` says when it cannot be done: the reason, and what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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


@rotation.mark(NO_PHONE_HOME, SHORT)
def test_a_disk_without_a_system_never_phones_home(home: Site, tmp_path: Path) -> None:
    """The first failures of one boot: what the appliance itself finds, and what the worker and the action find."""
    number = 1
    home.lab.push(number)
    archive = tmp_path / "image.tar"
    system_image(archive, NO_SYSTEM)
    home.lab.load(archive)
    parameters = {"device_1": mac(number), "image": NO_SYSTEM, "disk": "only", "seed": "none", "boot_timeout": "40"}
    with home.machine(number, memory=1536) as machine:
        workflow = home.creates(parameters)
        machine.power_on()
        ended = home.lab.ended(workflow)
    assert ended.state is State.FAILED
    told = home.lab.appliance.command("workflow", "state", workflow)
    assert "NeverPhonedHome" in told
    assert "retry --from" in told


@rotation.mark(NO_DISK, SHORT)
def test_what_is_wrong_with_image_and_disks_is_said_before_anything_is_written(home: Site) -> None:
    number = 11
    home.add("debian-13")
    home.lab.push(number)
    right, more = second_disk(home.lab.work, "right", 4 * GIB)
    small, also = second_disk(home.lab.work, "small", GIB)
    (image,) = (each for each in home.lab.json("image", "list") if each["name"] == "debian-13")
    waits = home.begins("debian-13", number)
    home.lab.appliance.command("image", "delete", f"debian-13:{image['tag']}")
    with home.machine(number, extra=(*more, *also), disk_size=4 * GIB) as machine:
        machine.power_on()
        refused = home.fails(waits, machine)
        assert "DiskAmbiguous" in refused
        assert all(name in refused for name in ("/dev/vda", "/dev/vdb", "/dev/vdc", "right", "small")), refused
        assert "serial=" in refused

        # The worker is there and waits: no boot is needed for the next.
        assert "no system image 'debian-13' is kept here" in home.fails(home.begins("debian-13", number), machine)
        home.add("debian-13")
        refused = home.fails(home.begins("debian-13", number, "--disk", "serial=small"), machine)
        assert "DiskTooSmall" in refused
        assert "use a larger disk" in refused
        refused = home.fails(home.begins("debian-13", number, "--disk", "serial=none"), machine)
        assert "NoSuchDisk" in refused
        assert [each.stat().st_blocks for each in (machine.disk, right, small)] == [0, 0, 0]

        waits = home.begins("debian-13", number, "--disk", "serial=right")
        until(lambda: "is on /dev/" in home.logs(home.workflow(waits)), "the image on its disk")
        machine.power_off()
        home.lab.appliance.command("workflow", "cancel", home.workflow(waits))
        home.over(waits, None)
    # Nothing was ever written to the others: their files have no block.
    assert [machine.disk.stat().st_blocks, small.stat().st_blocks] == [0, 0]
    assert right.stat().st_blocks > 0

    token = token_on(right)
    home.lab.push(number + 1)
    with neighbour(home.lab, number + 1) as other:
        assert other.ask(f"/metadata/{token}/user-data").status == 403
    assert any(Stage.METADATA_REFUSED in each for each in home.timeline(number + 1))
    assert any(Stage.METADATA_STOLEN in each for each in home.timeline(number))


@rotation.mark(NO_IMAGE, SHORT)
def test_an_image_that_is_gone_when_its_machine_comes_is_named(home: Site) -> None:
    number = 13
    home.add("debian-13")
    home.lab.push(number)
    waits = home.begins("debian-13", number)
    (image,) = (each for each in home.lab.json("image", "list") if each["name"] == "debian-13")
    home.lab.appliance.command("image", "delete", f"debian-13:{image['tag']}")
    with home.machine(number) as machine:
        machine.power_on()
        refused = home.fails(waits, machine)
    assert "ImageNotFound" in refused
    assert "tinkbox image" in refused
    assert machine.disk.stat().st_blocks == 0


@pytest.mark.campaign
def test_a_module_of_cloud_init_that_fails_is_named(home: Site, tmp_path: Path) -> None:
    number = 21
    home.add("debian-13")
    home.lab.push(number)
    user_data = tmp_path / "user-data"
    user_data.write_text("#cloud-config\nruncmd: [[sh, -c, 'exit 1']]\n")
    command = home.begins("debian-13", number, "--user-data", user_data)
    with home.machine(number) as machine:
        machine.power_on()
        refused = home.fails(command, machine)
        assert "CloudInitFailed" in refused
        assert "scripts_user" in refused
        assert "/var/log/cloud-init-output.log" in refused
        assert home.on(number, "hostname") == hostname(number)


@pytest.mark.campaign
def test_a_system_without_network_never_phones_home(home: Site) -> None:
    number = 31
    home.add("debian-13")
    home.lab.push(number)
    user_data = "#cloud-config\nbootcmd: [[sh, -c, 'ip link set eth0 down; ip link set ens3 down; true']]\n"
    parameters = {"device_1": mac(number), "image": "debian-13", "user_data": user_data, "boot_timeout": "150"}
    workflow = home.creates(parameters)
    with home.machine(number) as machine:
        machine.power_on()
        assert home.lab.ended(workflow).state is State.FAILED
    told = home.lab.appliance.command("workflow", "state", workflow)
    assert "NeverPhonedHome" in told
    assert "told to boot its disk" in told
