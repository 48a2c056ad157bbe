"""A machine that nobody knows: it boots, tells what it is, is accepted, and works without booting again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from examples.lab.machine import Machine, empty_disk
from examples.lab.network import BRIDGE
from tests import rotation
from tests.machine.hosts import Host, give_addresses
from tests.machine.lab import Lab, laboratory, mac, shell, until
from tests.machine.management import controller
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ONE = 1
DISCOVERING = """
dhcp: {mode: pool, pool: 172.30.0.100-172.30.0.199}
unknown_machines: discover
"""
BESIDE = """
dhcp: {mode: proxy}
unknown_machines: discover
"""
RULE = """
discovery:
  rules:
    - {match: {mac: "*"}, template: none-such}
    - match: {manufacturer: "Seed*", serial: "M-1?", memory: ">=2G", disk: ">=1G"}
      name: "node-{{serial}}"
      template: install
      devices: {target: "{{mac}}"}
"""
IDENTITY = "type=1,manufacturer=Seed Works,product=Model 1,serial=M-17"
CONTROLLER = "172.30.9.17"
# Who accepts the machine: each a boot, of which a run takes one.
PERSON, A_RULE, BESIDE_ANOTHER = ACCEPTED_BY = ("person", "rule", "person, beside another DHCP server")


@contextmanager
def stranger(configured: str, shell_archive: Path) -> Iterator[tuple[Lab, Machine]]:
    """A lab that discovers, and a machine, off, that nobody knows: it has a serial number, a controller, two disks, two cards."""
    with laboratory(configured=configured) as lab:
        lab.load(shell_archive)
        disk = empty_disk(lab.work / "second.raw", 3 << 30)
        second = ("-drive", f"if=none,id=second,format=raw,file={disk}")
        serial = ("-device", "virtio-blk-pci,drive=second,serial=DISK-17")
        card = ("-nic", "none", "-device", "e1000,mac=08:00:27:00:01:01,romfile=")
        management = controller(lab.network, lab.work / "controller", CONTROLLER)
        yield lab, lab.machine(ONE, processors=2, extra=("-smbios", IDENTITY, *second, *serial, *card, *management))


def template(lab: Lab, device: str = "device_1") -> None:
    text = lab.work / "install.yaml"
    script = "test -b /dev/vdb && echo installed $(cat /sys/block/vdb/serial)"
    text.write_text(
        "version: '0.1'\nname: install\nglobal_timeout: 1800\ntasks:\n"
        f"  - name: install\n    worker: '{{{{.{device}}}}}'\n    actions: [{shell('write', script)}]\n"
    )
    lab.appliance.command("template", "create", "-n", "install", "--file", text)


def found(lab: Lab) -> dict[str, Any] | None:
    """The machine as it waits, None until it does."""
    listed = [each for each in lab.appliance.discovered() if each["standing"] == "waiting"]
    return listed[0] if listed else None


def works(lab: Lab, machine: Machine, workflow: str) -> None:
    """It runs its workflow to success in the boot that it was discovered in."""
    assert lab.ended(workflow).state is State.SUCCESS
    said = lab.appliance.command("workflow", "logs", workflow)
    assert "installed DISK-17" in said
    stages = lab.stages(ONE)
    assert stages.count(Stage.DISCOVERY) == stages.count(Stage.KERNEL) == stages.count(Stage.WORKER) == 1
    assert stages.index(Stage.DISCOVERY) < stages.index(Stage.WORKER)
    assert machine.running


@rotation.mark(PERSON, ACCEPTED_BY)
def test_discovered_machine_works_without_another_boot(
    shell_archive: Path,
) -> None:
    with stranger(DISCOVERING, shell_archive) as (lab, machine):
        template(lab)
        machine.power_on()
        waiting = until(lambda: found(lab), "the machine to tell what it is")
        told = waiting["inventory"]
        assert (waiting["mac"], waiting["port"]) == (mac(ONE), lab.network.interface)
        assert (told["manufacturer"], told["product"], told["serial"]) == ("Seed Works", "Model 1", "M-17")
        assert (told["firmware"], told["secure_boot"], told["architecture"]) == ("bios", False, "x86_64")
        # A kernel gives up a controller that answers late, as QEMU's does on a busy host, and says so.
        given_up = any("There appears to be no BMC" in each for each in machine.console.lines)
        assert (told["memory"], told["processors"], told["bmc"]) == (2 << 30, 2, "" if given_up else CONTROLLER)
        assert [(each["device"], each["size"], each["serial"]) for each in told["disks"]] == [
            ("/dev/vda", 1 << 30, ""),
            ("/dev/vdb", 3 << 30, "DISK-17"),
        ]
        assert {each["mac"]: each["driver"] for each in told["cards"]} == {
            mac(ONE): "virtio_net",
            "08:00:27:00:01:01": "e1000",
        }
        assert {each["mac"]: each["link"] for each in told["cards"]}[mac(ONE)] is True
        # That is noted when what it told is on disk.
        until(lambda: Stage.INVENTORY in lab.stages(ONE), "the appliance to keep what the machine told")
        lab.appliance.kill()
        lab.appliance.start_again()
        words = lab.appliance.command("hardware", "accept", mac(ONE), "--name", "node-1", "--template", "install")
        works(lab, machine, words.split()[-1])
        known = lab.json("hardware", "get", "node-1")
        assert [each["mac"] for each in known["interfaces"]] == [mac(ONE), "08:00:27:00:01:01"]
        assert known["inventory"]["serial"] == "M-17"
        assert lab.json("hardware", "discovered") == []


@rotation.mark(A_RULE, ACCEPTED_BY)
def test_rule_accepts_a_machine_and_binds_its_template(shell_archive: Path) -> None:
    with stranger(DISCOVERING + RULE, shell_archive) as (lab, machine):
        template(lab, "target")
        machine.power_on()
        until(lambda: lab.appliance.snapshot().workflows, "the rule to accept the machine")
        (workflow,) = lab.appliance.snapshot().workflows
        works(lab, machine, workflow.id)
        assert Stage.INVENTORY in lab.stages(ONE)
        known = lab.json("hardware", "get", "node-m-17")
        assert known["inventory"]["disks"][1]["serial"] == "DISK-17"


@rotation.mark(BESIDE_ANOTHER, ACCEPTED_BY)
@pytest.mark.timeout(1200)
def test_machine_is_discovered_beside_another_dhcp_server(shell_archive: Path) -> None:
    with laboratory(configured=BESIDE) as lab, Host(lab.network, [(BRIDGE, "172.30.0.3")]) as other:
        give_addresses(other, "172.30.0.200", "172.30.0.220", lab.work / "other.log")
        lab.load(shell_archive)
        machine = lab.machine(ONE, "uefi", memory=3072)
        machine.power_on()
        waiting = until(lambda: found(lab), "the machine to tell what it is")
        assert (waiting["inventory"]["firmware"], waiting["inventory"]["secure_boot"]) == ("uefi", False)
        lab.appliance.command("hardware", "refuse", mac(ONE))
        (refused,) = lab.json("hardware", "discovered")
        assert refused["standing"] == "refused"
        lab.appliance.command("hardware", "accept", mac(ONE))
        workflow = lab.workflow(ONE, shell("install", "echo done"))
        assert lab.ended(workflow).state is State.SUCCESS
        assert lab.stages(ONE).count(Stage.DISCOVERY) == 1


@pytest.mark.campaign
def test_machine_that_is_pushed_while_it_waits_boots_again_by_itself_and_works(shell_archive: Path) -> None:
    with laboratory(configured=DISCOVERING) as lab:
        lab.load(shell_archive)
        machine = lab.machine(ONE)
        machine.power_on()
        until(lambda: found(lab), "the machine to tell what it is")
        lab.push(ONE)
        workflow = lab.workflow(ONE, shell("install", "echo done"))
        assert lab.ended(workflow).state is State.SUCCESS
        assert machine.running
