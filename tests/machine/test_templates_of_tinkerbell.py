"""Templates in the shape in which Tinkerbell's users write them, unchanged to their end: the installed system asks by address.

They name another registry's images, write where cloud-init asks, and know nothing of tinkbox: no `reboot: true`, no token.
"""

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import pytest

from examples.lab.machine import empty_disk
from tests.machine.installing import GIB, Site, site
from tests.machine.lab import GATE_PORT, address, built, hostname, mac, until
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, pytest.mark.campaign, pytest.mark.timeout(2400)]
HUB: Final = "hub.example.net/actions"
DISK: Final = 4 * GIB
IMAGE: Final = "debian.raw.gz"
STAND_INS: Final = f"""\
images:
  instead:
    {HUB}/image2disk: image2disk:v1
    {HUB}/writefile: writefile:v1
    {HUB}/kexec: kexec:v1
    "writefile:v1.0.0": writefile:v1
    "image2disk:v1.0.0": image2disk:v1
    "kexec:v1.0.0": kexec:v1
"""
# As of 2020 and 2021: short names, Hegel's port, and from the disk by kexec.
HEGEL: Final = """\
version: "0.1"
name: by-kexec
global_timeout: 6000
tasks:
  - name: system
    worker: "{{.device_1}}"
    volumes:
      - /dev:/dev
      - /dev/console:/dev/console
      - /lib/firmware:/lib/firmware:ro
    actions:
      - name: stream
        image: image2disk:v1.0.0
        timeout: 1200
        environment:
          IMG_URL: http://172.30.0.1:8080/debian.raw.gz
          DEST_DISK: /dev/nvme0n1
          COMPRESSED: true
      - name: datasource
        image: writefile:v1.0.0
        timeout: 90
        environment:
          DEST_DISK: /dev/nvme0n1p1
          FS_TYPE: ext4
          DEST_PATH: /etc/cloud/cloud.cfg.d/10_metadata.cfg
          UID: 0
          GID: 0
          MODE: 0600
          DIRMODE: 0700
          CONTENTS: |
            datasource:
              Ec2:
                metadata_urls: ["http://172.30.0.1:50061"]
                strict_id: false
      - name: identity
        image: writefile:v1.0.0
        timeout: 90
        environment:
          DEST_DISK: /dev/nvme0n1p1
          FS_TYPE: ext4
          DEST_PATH: /etc/cloud/ds-identify.cfg
          UID: 0
          GID: 0
          MODE: 0600
          DIRMODE: 0700
          CONTENTS: |
            datasource: Ec2
      - name: start
        image: kexec:v1.0.0
        timeout: 90
        pid: host
        environment:
          BLOCK_DEVICE: /dev/nvme0n1p1
          FS_TYPE: ext4
"""
# As of today: names of another registry, the machine's own document, Tootles' port, a static address.
TOOTLES: Final = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Template
metadata:
  name: by-tootles
spec:
  data: |
    version: "0.1"
    name: by-tootles
    global_timeout: 6000
    tasks:
      - name: system
        worker: "{{.device_1}}"
        volumes: ["/dev:/dev"]
        actions:
          - name: stream
            image: hub.example.net/actions/image2disk:latest
            timeout: 1200
            environment:
              IMG_URL: "http://{{ .artifacts }}/debian.raw.gz"
              DEST_DISK: {{ index .Hardware.Disks 0 }}
              COMPRESSED: true
          - name: address
            image: hub.example.net/actions/writefile:latest
            timeout: 90
            environment:
              DEST_DISK: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              FS_TYPE: ext4
              DEST_PATH: /etc/netplan/50-static.yaml
              UID: 0
              GID: 0
              MODE: 0600
              DIRMODE: 0755
              CONTENTS: |
                network:
                  version: 2
                  ethernets:
                    first:
                      match: {macaddress: "{{ (index .Hardware.Interfaces 0).DHCP.MAC }}"}
                      addresses:
                        - {{ (index .Hardware.Interfaces 0).DHCP.IP.Address }}/{{ netmaskToCIDR (index .Hardware.Interfaces 0).DHCP.IP.Netmask }}
          - name: no network of cloud-init's
            image: hub.example.net/actions/writefile:latest
            timeout: 90
            environment:
              DEST_DISK: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              FS_TYPE: ext4
              DEST_PATH: /etc/cloud/cloud.cfg.d/99-network.cfg
              UID: 0
              GID: 0
              MODE: 0600
              DIRMODE: 0700
              CONTENTS: "network: {config: disabled}"
          - name: datasource
            image: hub.example.net/actions/writefile:latest
            timeout: 90
            environment:
              DEST_DISK: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              FS_TYPE: ext4
              DEST_PATH: /etc/cloud/cloud.cfg.d/10_metadata.cfg
              UID: 0
              GID: 0
              MODE: 0600
              DIRMODE: 0700
              CONTENTS: |
                datasource_list: [Ec2]
                datasource:
                  Ec2:
                    metadata_urls: ["http://{{ .tootles }}"]
                    strict_id: false
          - name: start
            image: hub.example.net/actions/kexec:latest
            timeout: 90
            pid: host
            environment:
              BLOCK_DEVICE: {{ formatPartition ( index .Hardware.Disks 0 ) 1 }}
              FS_TYPE: ext4
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Site]:
    with site(configured=STAND_INS) as made:
        for name in ("image2disk", "writefile", "kexec"):
            made.lab.load(built(f"build/images/{name}.tar"))
        yield made


def serve(home: Site, system: str) -> None:
    """Have the operator's web server offer a system as these templates expect it: raw and packed."""
    raw = home.lab.work / "system.raw"
    image = built(f"build/system-images/{system}.qcow2")
    subprocess.run(["qemu-img", "convert", "-O", "raw", image, raw], check=True, timeout=300)
    with raw.open("rb") as source, gzip.open(home.lab.work / "gate" / IMAGE, "wb", compresslevel=1) as packed:
        shutil.copyfileobj(source, packed, 1 << 20)
    raw.unlink()


def hardware(home: Site, number: int, disk: str) -> dict[str, Any]:
    """The machine as `kind: Hardware`, with the operator's key where Tinkerbell has it."""
    return {
        "apiVersion": "tinkerbell.org/v1alpha1",
        "kind": "Hardware",
        "metadata": {"name": hostname(number)},
        "spec": {
            "disks": [{"device": disk}],
            "metadata": {
                "instance": {
                    "id": mac(number),
                    "hostname": hostname(number),
                    "ssh_keys": [home.operator.public_key.read_text().strip()],
                }
            },
            "interfaces": [
                {
                    "dhcp": {
                        "mac": mac(number),
                        "hostname": hostname(number),
                        "arch": "x86_64",
                        "ip": {"address": address(number), "netmask": "255.255.255.0", "gateway": "172.30.0.1"},
                    },
                    "netboot": {"allowPXE": True, "allowWorkflow": True},
                }
            ],
        },
    }


def created(home: Site, template: str, number: int, disk: str, **more: str) -> str:
    """A workflow of this text for machine `number`; returns its id."""
    appliance, work = home.lab.appliance, home.lab.work
    document, text = work / "hardware.yaml", work / "template.yaml"
    document.write_text(json.dumps(hardware(home, number, disk)))
    text.write_text(template)
    appliance.command("hardware", "push", "--file", document)
    name = appliance.command("template", "create", "-n", f"template-{number}", "--file", text).split()[-1]
    devices = json.dumps({"device_1": mac(number), **more})
    return appliance.command("workflow", "create", "-t", name, "-r", devices).split()[-1]


def installed(home: Site, workflow: str, number: int, port: int) -> list[str]:
    """See the workflow to its end, and what it left behind to its login; returns what is told there."""
    lab = home.lab
    line = lab.ended(workflow)
    assert line.state is State.SUCCESS, (line.failure, home.logs(workflow)[-2000:])
    until(lambda: Stage.METADATA in lab.stages(number), "the installed system to ask for its metadata")
    told = home.on(
        number,
        "hostname; findmnt --noheadings --output SOURCE /; sudo cloud-init status --wait >/dev/null; "
        "sudo grep -o DataSourceEc2 /run/cloud-init/result.json | head -1; sudo grep -rhc dhcp4 /etc/netplan | sort -u; "
        f"sudo grep -c 'http://172.30.0.1:{port}/2009-04-04' /var/log/cloud-init.log | grep -qv '^0$' && echo asked",
    ).splitlines()
    assert told[0] == hostname(number)
    assert told[2] == "DataSourceEc2"
    assert told[-1] == "asked"
    stages = lab.stages(number)
    # It came by kexec: no firmware, and none of the appliance's boot scripts, in between.
    assert stages.count(Stage.SCRIPT) == 1
    assert Stage.LOCAL_DISK not in stages
    return told


def test_a_template_of_2020_asks_hegels_port(home: Site) -> None:
    number = 51
    serve(home, "debian-12")
    disk = empty_disk(home.lab.work / "nvme.raw", DISK)
    nvme = ("-drive", f"if=none,id=nvme,format=raw,file={disk}", "-device", "nvme,drive=nvme,serial=nvme")
    workflow = created(home, HEGEL, number, "/dev/nvme0n1")
    with home.machine(number, extra=nvme) as machine:
        machine.power_on()
        told = installed(home, workflow, number, 50061)
    assert told[1] == "/dev/nvme0n1p1"
    shown = home.lab.json("workflow", "get", workflow)
    assert [each["image"] for each in shown["actions"]] == ["image2disk:v1", "writefile:v1", "writefile:v1", "kexec:v1"]


def test_a_template_of_today_asks_tootles_port_and_keeps_its_own_network(home: Site) -> None:
    number = 52
    serve(home, "debian-13")
    more = {"artifacts": f"172.30.0.1:{GATE_PORT}", "tootles": "172.30.0.1:7080"}
    workflow = created(home, TOOTLES, number, "/dev/vda", **more)
    with home.machine(number) as machine:
        machine.power_on()
        told = installed(home, workflow, number, 7080)
    assert told[1] == "/dev/vda1"
    # The file that the template wrote is all there is.
    assert told[3] == "0"
