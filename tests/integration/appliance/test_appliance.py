"""The appliance as it is put together: `tinkbox serve` on two networks at once, asked by hosts on both."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from examples.demo.appliance import Appliance
from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host
from tests.machine.lab import hardware, mac, until
from tinkbox.model.boot import Stage

SECOND = "second"
HERE, THERE = 1, 2
CONFIGURATION = f"""
interface: [{BRIDGE}, {SECOND}]
node: {{syslog_port: 5140}}
"""
TEMPLATE = """
version: "0.1"
name: both
global_timeout: 600
tasks:
  - name: one
    worker: "{{.device_1}}"
    actions: [{name: it, image: "shell:v1", timeout: 60}]
  - name: two
    worker: "{{.device_2}}"
    actions: [{name: it, image: "shell:v1", timeout: 60}]
"""


@dataclass(frozen=True)
class Both:
    appliance: Appliance
    hosts: dict[int, Host]
    urls: dict[int, str]

    def script(self, number: int, *, at: int) -> str:
        """What the host of machine `at` gets as the boot script of machine `number`."""
        path = f"/boot/{mac(number).replace(':', '-')}/script.ipxe"
        return self.hosts[at].run("curl", "-s", "-m", "20", self.urls[at] + path).decode()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    work = tmp_path_factory.mktemp("both")
    osie = work / "none"
    osie.mkdir()
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        network.run(["ip", "link", "add", SECOND, "type", "bridge", "forward_delay", "0"])
        network.run(["ip", "address", "add", "172.31.0.1/24", "dev", SECOND])
        network.run(["ip", "link", "set", SECOND, "up"])
        appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, osie, CONFIGURATION)
        hosts = {
            HERE: stack.enter_context(Host(network, [(BRIDGE, "172.30.0.21")])),
            THERE: stack.enter_context(Host(network, [(SECOND, "172.31.0.22")])),
        }
        until(appliance.ready, "the appliance to answer")
        there = {"address": "172.31.0.22", "netmask": "255.255.255.0"}
        for number, more in ((HERE, {}), (THERE, {"ip": there})):
            file = work / f"hardware{number}.json"
            file.write_text(json.dumps(hardware(number, **more)))  # type: ignore[arg-type]
            appliance.command("hardware", "push", "--file", file)
        file = work / "template.yaml"
        file.write_text(TEMPLATE)
        appliance.command("template", "create", "-n", "both", "--file", file)
        devices = {"device_1": mac(HERE), "device_2": mac(THERE)}
        appliance.command("workflow", "create", "-t", "both", "-r", json.dumps(devices))
        yield Both(appliance, hosts, {HERE: "http://172.30.0.1", THERE: "http://172.31.0.1"})


@pytest.mark.parametrize("number", [HERE, THERE])
def test_a_machine_is_told_the_addresses_of_the_network_that_it_is_on(both: Both, number: int) -> None:
    script = both.script(number, at=number)
    own, other = both.urls[number], both.urls[HERE + THERE - number]
    assert f"kernel {own}/boot/osie/x86_64/vmlinuz" in script
    assert f"tinkbox.server={own} " in script
    assert f"tinkbox.syslog={own.removeprefix('http://')}:5140" in script
    assert other not in script


def test_the_credential_leads_to_the_door_on_the_machines_own_network(both: Both) -> None:
    path = f"/boot/{mac(THERE).replace(':', '-')}/credential.cpio"
    ramdisk = both.hosts[THERE].run("curl", "-s", "-m", "20", both.urls[THERE] + path)
    assert b'http://172.31.0.1"' in ramdisk
    assert b'"172.31.0.1"' in ramdisk


def test_no_machine_gets_anothers_script(both: Both) -> None:
    assert "no boot script for this machine at this address" in both.script(THERE, at=HERE)
    assert "no boot script for this machine at this address" in both.script(HERE, at=THERE)


def test_a_loader_comes_from_the_machines_own_network_and_stands_in_its_timeline(both: Both) -> None:
    got = both.hosts[THERE].run("curl", "-s", "-m", "30", "tftp://172.31.0.1/undionly.kpxe")
    assert len(got) > 50_000
    until(lambda: any(each["stage"] == Stage.LOADER for each in both.appliance.timeline(mac(THERE))), "the sighting")


def test_what_a_machine_says_by_syslog_stands_in_its_timeline(both: Both) -> None:
    say = (
        "import socket; socket.socket(type=socket.SOCK_DGRAM)"
        ".sendto(b'<11>Nov 21 19:00:00 osie kernel: no disk found', ('172.30.0.1', 5140))"
    )
    until(lambda: _said(both, say), "the line")


def _said(both: Both, say: str) -> bool:
    both.hosts[HERE].run(sys.executable, "-c", say)
    return "no disk found" in both.appliance.command("hardware", "get", mac(HERE))


def test_the_ports_on_which_metadata_is_answered_are_those_that_it_listens_on(both: Both) -> None:
    file = both.appliance.data / "asking.yaml"
    action = "{name: it, image: 'shell:v1', environment: {A: 'http://172.30.0.1:8088/2009-04-04', B: 'http://172.30.0.1:7172'}}"
    file.write_text(
        f"version: '0.1'\nname: asking\ntasks:\n  - {{name: one, worker: '{{{{.device_1}}}}', actions: [{action}]}}\n"
    )
    both.appliance.command("template", "create", "--file", file)
    words = ["workflow", "plan", "-t", "asking", "-r", json.dumps({"device_1": mac(HERE)}), "-o", "json"]
    line = both.appliance.command_line(*words)
    (plan,) = json.loads(subprocess.run(line, capture_output=True, timeout=300, check=False).stdout)
    other, ours = [each["text"] for each in plan["notes"]]
    assert "for metadata at http://172.30.0.1:8088/2009-04-04: port 8088 is not answered" in other
    assert "for metadata at http://172.30.0.1:7172: its document has no metadata.instance" in ours
